//! The configuration that the packet path reads. It is replaced as a whole and never changed, but for the addresses of
//! the machine, which are not its own.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use arc_swap::ArcSwap;
use isthmus_core::address::V4;
use isthmus_core::config::Instance;
use isthmus_core::mechanism::Mechanism as _;
use isthmus_core::mechanism::instances::MOST_INSTANCES;
use isthmus_core::time::Span;

use crate::counters::Owner;
use crate::fragments::Limits;
use crate::memory::Region;
use isthmus_core::slow::limiter::Limiter;

/// FRAGMENT_MIN of RFC 6146 section 4, in units of 2^20 ns.
const SHORTEST_WAIT: Span = Span::from_secs(2);

/// Datagrams whose fragments may wait where no instance has a table of them.
const FEWEST_DATAGRAMS: usize = 4096;

/// One instance with the settings of its engine.
#[derive(Clone, Debug)]
pub struct Member {
    /// The instance for the core.
    pub instance: Instance,
    /// ICMP errors per second that it may send; 0 for none.
    pub icmp_errors: u32,
}

/// The configuration has more instances than a gateway can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} instances are too many: a gateway can have at most {MOST_INSTANCES}")]
pub struct TooManyInstances(pub usize);

/// The instances in their order, and the memory of their tables.
#[derive(Debug)]
pub struct Ruleset {
    instances: Box<[Instance]>,
    limiters: Box<[Limiter]>,
    tables: Region,
    local: ArcSwap<BTreeSet<Ipv4Addr>>,
}

impl Ruleset {
    /// Returns a set of instances whose tables (explicit mappings, pools) lie in `tables`.
    ///
    /// # Errors
    /// [`TooManyInstances`].
    pub fn new(members: &[Member], tables: Region) -> Result<Self, TooManyInstances> {
        if members.len() > MOST_INSTANCES as usize {
            return Err(TooManyInstances(members.len()));
        }
        let limiter = |member: &Member| Limiter::new(member.icmp_errors);
        Ok(Self {
            instances: members.iter().map(|member| member.instance).collect(),
            limiters: members.iter().map(limiter).collect(),
            tables,
            local: ArcSwap::default(),
        })
    }

    /// Returns the instances.
    #[must_use]
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// Returns the memory of the configuration's tables.
    #[must_use]
    pub fn tables(&self) -> &Region {
        &self.tables
    }

    /// Says which outside addresses are this machine's own as well.
    pub fn share(&self, local: BTreeSet<Ipv4Addr>) {
        self.local.store(local.into());
    }

    /// The outside addresses that are this machine's own as well.
    #[must_use]
    pub fn shared(&self) -> BTreeSet<Ipv4Addr> {
        BTreeSet::clone(&self.local.load())
    }

    /// Whether an outside address is this machine's own as well.
    #[must_use]
    pub fn is_local(&self, address: V4) -> bool {
        self.local.load().contains(&address.into())
    }

    /// Returns how long a fragment may wait for others of its datagram, in nanoseconds: as long as the most
    /// patient instance allows, and at least two seconds.
    #[must_use]
    pub fn fragment_wait(&self) -> u64 {
        let wait = |instance: &Instance| match instance.mechanism.nat() {
            Some(nat) => nat.timers.fragment,
            None => SHORTEST_WAIT,
        };
        let longest = self.instances.iter().map(wait).max();
        longest
            .map_or(SHORTEST_WAIT, |wait| wait.max(SHORTEST_WAIT))
            .0
            << 20
    }

    /// Returns the bounds of the store of waiting fragments, which all instances share: as large as their tables
    /// of fragmented datagrams together.
    #[must_use]
    pub fn fragment_limits(&self) -> Limits {
        let tables = self.instances.iter().filter_map(|i| i.mechanism.nat());
        let datagrams = tables.map(|nat| nat.layout.most_fragments() as usize);
        Limits::of_datagrams(datagrams.sum::<usize>().max(FEWEST_DATAGRAMS))
    }

    /// Returns an instance, and its limit for ICMP errors.
    #[must_use]
    pub fn errors_of(&self, owner: Owner) -> Option<(&Instance, &Limiter)> {
        let Owner::Instance(index) = owner else {
            return None;
        };
        let instance = self.instances.get(index as usize)?;
        Some((instance, self.limiters.get(index as usize)?))
    }
}
