//! The configuration that the packet path reads. It is replaced as a whole and never changed, but for the addresses of
//! the machine, which are not its own.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use arc_swap::ArcSwap;
use isthmus_core::address::V4;
use isthmus_core::config::Instance;
use isthmus_core::mechanism::Mechanism as _;
use isthmus_core::mechanism::instances::MOST_INSTANCES;

use crate::counters::Owner;
use crate::fragments::Limits;
use crate::memory::Region;
use isthmus_core::slow::limiter::Limiter;
use isthmus_core::slow::waiting;

/// Datagrams whose fragments may wait where no instance has a table of them.
const FEWEST_DATAGRAMS: usize = 4096;

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
    pub fn new(instances: &[Instance], tables: Region) -> Result<Self, TooManyInstances> {
        if instances.len() > MOST_INSTANCES as usize {
            return Err(TooManyInstances(instances.len()));
        }
        let limiter = |instance: &Instance| Limiter::new(instance.policy.icmp_errors);
        Ok(Self {
            instances: instances.into(),
            limiters: instances.iter().map(limiter).collect(),
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

    /// Returns how long a fragment may wait for others of its datagram, in nanoseconds.
    #[must_use]
    pub fn fragment_wait(&self) -> u64 {
        waiting::time(self.instances.iter())
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
