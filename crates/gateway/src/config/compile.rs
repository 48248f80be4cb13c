//! From a document to what the data plane takes.

mod policy;

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::Ordering::Relaxed;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use isthmus_core::address::eam::{self, Mapping};
use isthmus_core::address::softwire::{SharedNetworks, Softwire, Softwires};
use isthmus_core::config::{self as core, EamTable, PrefixMapping};
use isthmus_core::datagrams::BorderDatagrams;
use isthmus_core::mechanism::Mechanism as _;
use isthmus_core::nat;
use isthmus_core::table::{FillError, Line, Memory, Secret, Seed};
use isthmus_core::time::Instant;
use isthmus_engine::memory::Region;
use isthmus_engine::ruleset::Ruleset;

use super::composed::{fit_v4, fit_v6};
use super::document::{Document, Mechanism, Nat, PortPolicy, Prefix, Siit};
use super::overlap;
use policy::policy;

/// The random words that strangers must not know.
#[derive(Clone, Copy, Debug)]
pub struct Secrets {
    /// The key of all hashes over what strangers send, constant for as long as the tables live.
    pub tables: Seed,
    /// The key by which ports are chosen.
    pub ports: Secret,
}

impl From<[u64; 8]> for Secrets {
    fn from([a, b, c, d, e, f, ports @ ..]: [u64; 8]) -> Self {
        let tables = [a, b, c, d, e, f];
        Self { tables, ports }
    }
}

impl Secrets {
    /// Secrets for a seed. They need not be secret then, but the same seed must give the same choices (SplitMix64).
    #[must_use]
    pub fn repeated(seed: u64) -> Self {
        let mut state = seed;
        let words: [u64; 8] = std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let word = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ word >> 31
        });
        words.into()
    }
}

/// A configuration as the engines take it.
#[derive(Debug)]
pub struct Compiled {
    /// The instances in their order.
    pub instances: Vec<core::Instance>,
    /// Tables that the packet path only reads.
    pub rules: Vec<Line>,
    /// Lines (64 bytes each) that the tables of path MTUs, bindings and sessions take.
    pub state_lines: u32,
    /// Static bindings, each with the number of its instance.
    pub fixed: Vec<(usize, nat::StaticBinding)>,
    /// Limits of single subscribers, likewise.
    pub own_limits: Vec<(usize, nat::OwnLimits)>,
}

/// Why a document cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The tables of all instances together are larger than can be addressed.
    #[error(
        "the tables of all instances together take more than 2^32 lines of 64 bytes; \
         lower `max-sessions` and `max-bindings`"
    )]
    Memory,
}

impl Document {
    /// Compiles the document for the data plane.
    ///
    /// # Errors
    /// See [`CompileError`].
    pub fn compile(&self, secrets: &Secrets) -> Result<Compiled, CompileError> {
        let mut compiled = Compiled {
            instances: Vec::new(),
            rules: Vec::new(),
            state_lines: BorderDatagrams::LINES.end,
            fixed: Vec::new(),
            own_limits: Vec::new(),
        };
        for (number, instance) in self.instances.iter().enumerate() {
            if let Some(nat) = instance.mechanism.nat() {
                let fixed = nat.static_bindings.iter();
                compiled.fixed.extend(fixed.map(|at| (number, at.value)));
                let own = nat.subscriber_limits.iter();
                compiled.own_limits.extend(own.map(|at| (number, at.value)));
            }
            let mechanism = match &instance.mechanism {
                Mechanism::Siit(siit) => core::AnyMechanism::Siit(compiled.siit(siit)),
                Mechanism::Nat64(nat64) => {
                    let subscriber = nat::Subscriber::v6_prefix(nat64.nat.subscriber_prefix);
                    core::AnyMechanism::Nat64(core::Nat64 {
                        prefix: nat64.prefix.value,
                        inside: fit_v6(&nat64.inside),
                        nat: compiled.nat(&nat64.nat, subscriber, secrets)?,
                    })
                }
                Mechanism::Nat44(nat44) => core::AnyMechanism::Nat44(core::Nat44 {
                    inside: fit_v4(&nat44.inside),
                    exempt: fit_v4(&nat44.exempt),
                    nat: compiled.nat(&nat44.nat, nat::Subscriber::v4_host(), secrets)?,
                }),
                Mechanism::Composed(composed) => {
                    let mut mechanism = composed.mechanism();
                    if let (Some(laid_out), Some((nat, subscriber))) =
                        (mechanism.nat_mut(), &composed.nat)
                    {
                        *laid_out = compiled.nat(nat, *subscriber, secrets)?;
                    }
                    if let Some(datagrams) = mechanism.datagrams_mut() {
                        datagrams.seed = secrets.tables;
                    }
                    if let core::AnyMechanism::Siit(siit) = &mut mechanism
                        && let Some(mapping) = composed.clat().and_then(|clat| clat.mapping())
                    {
                        siit.eam = compiled.eam(&[mapping]);
                    }
                    if let core::AnyMechanism::LwAftr(aftr) = &mut mechanism {
                        aftr.softwires = compiled.softwires(&composed.softwires, &aftr.shared);
                    }
                    mechanism
                }
            };
            compiled.instances.push(core::Instance {
                mechanism,
                policy: policy(instance, &self.link, &self.tun),
            });
        }
        Ok(compiled)
    }
}

impl Compiled {
    /// The instances and their read-only tables, for an engine.
    ///
    /// # Errors
    /// The system has no memory for the tables.
    pub fn ruleset(&self) -> io::Result<Ruleset> {
        // A table of mappings is at most 2^32 lines, see `eam`.
        let region = Region::anonymous(self.rules.len() as u32)?;
        for (index, from) in (0..).zip(&self.rules) {
            let to = region.line(index).ok_or(io::ErrorKind::UnexpectedEof)?;
            for (to, from) in to.iter().zip(from) {
                to.store(from.load(Relaxed), Relaxed);
            }
        }
        Ruleset::new(&self.instances, region).map_err(io::Error::other)
    }

    /// Writes what the configuration says into empty tables: limits of single subscribers, and static bindings.
    ///
    /// # Errors
    /// The first binding that cannot be made, and why not.
    pub fn fill_tables<M: Memory + ?Sized>(
        &self,
        state: &M,
        now: Instant,
    ) -> Result<(), (nat::StaticBinding, nat::StaticError)> {
        for (number, instance) in self.instances.iter().enumerate() {
            let own = self.own_limits.iter().filter(|(of, _)| *of == number);
            let own: Vec<_> = own.map(|(_, limits)| *limits).collect();
            if let Some(config) = instance.mechanism.nat() {
                nat::set_own_limits(state, config, &own);
            }
        }
        for (number, binding) in &self.fixed {
            let instance = self.instances.get(*number).map(|i| &i.mechanism);
            if let Some(config) = instance.and_then(core::AnyMechanism::nat) {
                nat::insert_static(state, config, now, binding)
                    .map_err(|error| (*binding, error))?;
            }
        }
        Ok(())
    }

    fn siit(&mut self, siit: &Siit) -> core::Siit {
        core::Siit {
            prefix: match siit.prefix.as_ref().map(|prefix| prefix.value) {
                None => PrefixMapping::NONE,
                Some(Prefix::Rfc6052(prefix)) => prefix.into(),
                Some(Prefix::Ivi(prefix)) => prefix.into(),
            },
            hosts: fit_v4(&siit.hosts),
            eam: self.eam(&siit.eam.iter().map(|at| at.value).collect::<Vec<_>>()),
            overlap: lie(siit),
            hairpin: siit.hairpin,
        }
    }

    /// Puts a table of mappings behind the rules that are there.
    fn eam(&mut self, mappings: &[Mapping]) -> EamTable {
        self.table(eam::lines_for(mappings.len()), 0, |lines, base| {
            eam::fill(lines, base, mappings)
        })
    }

    /// Puts a table of softwires behind the rules that are there.
    fn softwires(
        &mut self,
        softwires: &[Softwire],
        shared: &SharedNetworks,
    ) -> core::SoftwireTable {
        let mut rows = softwires.to_vec();
        let softwires = Softwires::new(&mut rows, shared);
        let (to_find, blocks) = (softwires.lines_to_find(), softwires.lines_of_blocks());
        self.table(to_find, blocks, |lines, base| softwires.fill(lines, base))
    }

    /// Fills a table of so many lines, or more, and those of what it finds, behind the rules that are
    /// there.
    fn table<T>(
        &mut self,
        mut lines: usize,
        found: usize,
        fill: impl Fn(&[Line], u32) -> Result<T, FillError>,
    ) -> T {
        let base = self.rules.len();
        loop {
            self.rules.truncate(base);
            self.rules.resize_with(base + lines + found, Line::default);
            match fill(&self.rules[base..], base as u32) {
                Ok(table) => return table,
                // The check refused identical keys, so more room is all that helps.
                Err(FillError::Full | FillError::Size | FillError::Duplicate(_)) => lines *= 2,
            }
        }
    }

    /// Lays the tables of a stateful instance out behind those that are there.
    fn nat(
        &mut self,
        nat: &Nat,
        subscriber: nat::Subscriber,
        secrets: &Secrets,
    ) -> Result<nat::NatConfig, CompileError> {
        let limited = nat.subscriber_sessions != 0
            || nat.subscriber_bindings != 0
            || !nat.subscriber_limits.is_empty();
        let blocks = match nat.ports.value {
            PortPolicy::Single if nat.set.sharing().is_whole() => nat::Blocks::None,
            PortPolicy::Single => nat::Blocks::PortSet,
            PortPolicy::Blocks {
                size,
                per_subscriber,
            } => nat::Blocks::Dynamic {
                size,
                per_subscriber,
            },
            PortPolicy::Deterministic { inside, size } => {
                nat::Blocks::Deterministic(deterministic(inside, nat.subscriber_prefix, size))
            }
        };
        let capacity = nat::Capacity {
            sessions: nat.max_sessions,
            bindings: nat.max_bindings,
            permissions: match nat.filtering {
                nat::Filtering::EndpointIndependent => 0,
                nat::Filtering::AddressDependent => nat.max_sessions,
            },
            subscribers: match (limited, nat.ports.value) {
                (false, PortPolicy::Single | PortPolicy::Deterministic { .. }) => 0,
                _ => nat.max_subscribers,
            },
            fragments: nat.max_fragments,
            traffic: nat.count_traffic,
        };
        let layout = nat::Layout::new(self.state_lines, &capacity);
        if layout.end() < self.state_lines {
            return Err(CompileError::Memory);
        }
        self.state_lines = layout.end();
        Ok(nat::NatConfig {
            layout,
            seed: secrets.tables,
            secret: secrets.ports,
            filtering: nat.filtering,
            unsolicited_syn: nat.unsolicited_syn,
            pooling: nat.pooling,
            subscriber,
            limits: nat.limits(),
            own_limits: nat.subscriber_limits.len() as u32,
            blocks,
            timers: nat.timers,
            pool: pool(nat),
        })
    }
}

impl Nat {
    /// The subscriber that has a port of the pool by calculation (RFC 7422); `None` if nobody has, or if the ports are
    /// not calculated.
    #[must_use]
    pub fn subscriber_of(&self, address: Ipv4Addr, port: u16) -> Option<IpNet> {
        let PortPolicy::Deterministic { inside, size } = self.ports.value else {
            return None;
        };
        let rule = deterministic(inside, self.subscriber_prefix, size);
        let first = rule.subscriber_of(&pool(self), address.into(), port)?;
        let (_, low) = first.halves();
        match inside {
            IpNet::V4(_) => Some(Ipv4Net::from(Ipv4Addr::from(low as u32)).into()),
            IpNet::V6(_) => {
                let net = Ipv6Net::new(first.into(), self.subscriber_prefix).ok()?;
                Some(net.into())
            }
        }
    }

    /// The outside address, and the first and the last port, that an inside host has by calculation (RFC 7422); `None`
    /// if it has none, or if the ports are not calculated.
    #[must_use]
    pub fn ports_of(&self, host: IpAddr) -> Option<(Ipv4Addr, u16, u16)> {
        let PortPolicy::Deterministic { inside, size } = self.ports.value else {
            return None;
        };
        let rule = deterministic(inside, self.subscriber_prefix, size);
        let host = match host {
            IpAddr::V4(address) => nat::Inside {
                v4: address.into(),
                ..nat::Inside::default()
            },
            IpAddr::V6(address) => nat::Inside {
                address: address.into(),
                ..nat::Inside::default()
            },
        };
        let (address, first) = nat::block_of(&rule, &pool(self), &host)?;
        Some((address.into(), first, first + (size - 1)))
    }
}

/// Returns the subscribers inside a network, which take the blocks of the pool in order.
fn deterministic(inside: IpNet, subscriber: u8, size: u16) -> nat::Deterministic {
    let bits = inside.prefix_len();
    match inside.network() {
        IpAddr::V6(prefix) => nat::Deterministic::v6(prefix.into(), bits, subscriber, size),
        IpAddr::V4(prefix) => nat::Deterministic::v4(prefix.into(), bits, size),
    }
}

fn pool(nat: &Nat) -> nat::Pool {
    if let (false, [address]) = (nat.set.sharing().is_whole(), nat.pool.as_slice()) {
        return nat::Pool::of_ce(address.addresses.network().into(), nat.set);
    }
    let mut entries: Vec<_> = nat.pool.iter().map(|pool| pool.value).collect();
    entries.sort_by_key(|pool| pool.addresses.network());
    let ranges: Vec<_> = entries
        .iter()
        .map(|pool| {
            let (low, high) = pool.ports;
            let first = pool.addresses.network();
            nat::PoolRange::new(
                first.into(),
                1 << (32 - pool.addresses.prefix_len()),
                low,
                high,
            )
        })
        .collect();
    nat::Pool::new(&ranges).unwrap_or_else(|error| unreachable!("the check let pass: {error:?}"))
}

/// Whether some explicit mappings lie under the prefix.
fn lie(siit: &Siit) -> core::Overlap {
    let under = siit.prefix.as_ref().is_some_and(|prefix| {
        let prefix = overlap::of_prefix(&prefix.value).into();
        let networks = siit
            .eam
            .iter()
            .map(|mapping| overlap::of_mapping(&mapping.value).1);
        networks
            .into_iter()
            .any(|network| overlap::overlap(prefix, network.into()))
    });
    if under {
        core::Overlap::Under
    } else {
        core::Overlap::Apart
    }
}
