//! From what a configuration says to what the data plane takes.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::Ordering::Relaxed;

use ipnet::{IpNet, Ipv4Net};
use isthmus_core::address::eam::{self, Mapping};
use isthmus_core::address::softwire::{SharedNetworks, Softwire, Softwires};
use isthmus_core::address::{V4, V6, rfc6052};
use isthmus_core::config::{self as core, EamTable, PrefixMapping};
use isthmus_core::encap::path_mtu;
use isthmus_core::nat;
use isthmus_core::table::{FillError, Line, Memory, Seed};
use isthmus_core::time::Instant;
use isthmus_engine::memory::Region;
use isthmus_engine::ruleset::{Member, Ruleset};

use super::composed::fit_v4;
use super::document::{
    Document, Instance, Link, Mechanism, Nat, NonGlobal, PortPolicy, Prefix, Siit, Tun,
};
use super::overlap;

/// The dummy address that stands for nodes without an IPv4 address (RFC 7600 section 4.8).
const DUMMY: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

/// The key of all hashes over what strangers send; random, and the same for as long as the tables
/// live.
pub type Secret = Seed;

/// A configuration as the engines take it.
#[derive(Debug)]
pub struct Compiled {
    /// The instances in their order.
    pub instances: Vec<CompiledInstance>,
    /// Tables that the packet path only reads.
    pub rules: Vec<Line>,
    /// Lines (64 bytes each) that the tables of path MTUs, bindings and sessions take.
    pub state_lines: u32,
    /// Static bindings, each with the number of its instance.
    pub fixed: Vec<(usize, nat::StaticBinding)>,
}

/// One instance as the engines take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompiledInstance {
    /// What the core sees of it.
    pub instance: core::Instance,
    /// ICMP errors per second that it may send; 0: none.
    pub icmp_errors: u32,
}

/// What a document says and the data plane can not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileError {
    /// The tables of all instances together are larger than can be addressed.
    Memory,
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str(
                "the tables of all instances together take more than 2^32 lines of 64 bytes; \
                 lower `max-sessions` and `max-bindings`",
            ),
        }
    }
}

impl std::error::Error for CompileError {}

impl Document {
    /// What the data plane takes.
    ///
    /// # Errors
    /// See [`CompileError`].
    pub fn compile(&self, secret: &Secret) -> Result<Compiled, CompileError> {
        let mut compiled = Compiled {
            instances: Vec::new(),
            rules: Vec::new(),
            state_lines: path_mtu::LINES,
            fixed: Vec::new(),
        };
        for (number, instance) in self.instances.iter().enumerate() {
            if let Some(nat) = instance.mechanism.nat() {
                let fixed = nat.static_bindings.iter();
                compiled.fixed.extend(fixed.map(|at| (number, at.value)));
            }
            let mechanism = match &instance.mechanism {
                Mechanism::Siit(siit) => core::Mechanism::Siit(compiled.siit(siit)),
                Mechanism::Nat64(nat64) => {
                    let subscriber = nat::Subscriber::v6_prefix(nat64.nat.subscriber_prefix);
                    core::Mechanism::Nat64(core::Nat64 {
                        prefix: nat64.prefix.value,
                        nat: compiled.nat(&nat64.nat, subscriber, secret)?,
                    })
                }
                Mechanism::Nat44(nat44) => core::Mechanism::Nat44(core::Nat44 {
                    inside: fit_v4(&nat44.inside),
                    exempt: fit_v4(&nat44.exempt),
                    nat: compiled.nat(&nat44.nat, nat::Subscriber::v4_host(), secret)?,
                }),
                Mechanism::Composed(composed) => {
                    let mut mechanism = composed.mechanism();
                    if let (Some(laid_out), Some((nat, subscriber))) =
                        (mechanism.nat_mut(), &composed.nat)
                    {
                        *laid_out = compiled.nat(nat, *subscriber, secret)?;
                    }
                    if let core::Mechanism::LwAftr(aftr) = &mut mechanism {
                        aftr.softwires = compiled.softwires(&composed.softwires, &aftr.shared);
                    }
                    mechanism
                }
            };
            compiled.instances.push(CompiledInstance {
                instance: core::Instance {
                    mechanism,
                    policy: policy(instance, &self.link, &self.tun),
                },
                icmp_errors: instance.policy.icmp_errors,
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
        let members: Vec<_> = self
            .instances
            .iter()
            .map(|compiled| Member {
                instance: compiled.instance,
                icmp_errors: compiled.icmp_errors,
            })
            .collect();
        Ruleset::new(&members, region).map_err(io::Error::other)
    }

    /// Makes the static bindings in empty tables.
    ///
    /// # Errors
    /// The first one that can not be made, and why not.
    pub fn insert_static<M: Memory + ?Sized>(
        &self,
        state: &M,
        now: Instant,
    ) -> Result<(), (nat::StaticBinding, nat::StaticError)> {
        for (number, binding) in &self.fixed {
            let instance = self.instances.get(*number).map(|i| &i.instance.mechanism);
            if let Some(config) = instance.and_then(core::Mechanism::nat) {
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
            eam: self.eam(siit),
            overlap: lie(siit),
            hairpin: siit.hairpin,
        }
    }

    /// Puts a table of mappings behind the rules that are there.
    fn eam(&mut self, siit: &Siit) -> EamTable {
        let mappings: Vec<Mapping> = siit.eam.iter().map(|mapping| mapping.value).collect();
        self.table(eam::lines_for(mappings.len()), 0, |lines, base| {
            eam::fill(lines, base, &mappings)
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
        secret: &Secret,
    ) -> Result<nat::NatConfig, CompileError> {
        let limited = nat.subscriber_sessions != 0 || nat.subscriber_bindings != 0;
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
            subscribers: match (limited, nat.ports.value) {
                (false, PortPolicy::Single | PortPolicy::Deterministic { .. }) => 0,
                _ => nat.max_subscribers,
            },
            fragments: nat.max_fragments,
        };
        let layout = nat::Layout::new(self.state_lines, &capacity);
        if layout.end() < self.state_lines {
            return Err(CompileError::Memory);
        }
        self.state_lines = layout.end();
        Ok(nat::NatConfig {
            layout,
            seed: *secret,
            filtering: nat.filtering,
            unsolicited_syn: nat.unsolicited_syn,
            pooling: nat.pooling,
            subscriber,
            limits: nat::Limits {
                bindings: nat.subscriber_bindings,
                sessions: nat.subscriber_sessions,
            },
            blocks,
            timers: nat.timers,
            pool: pool(nat),
        })
    }
}

/// The subscribers inside a network, who take the blocks of the pool in turn.
fn deterministic(inside: IpNet, subscriber: u8, size: u16) -> nat::Deterministic {
    let bits = inside.prefix_len();
    match inside.network() {
        IpAddr::V6(prefix) => nat::Deterministic::v6(prefix.into(), bits, subscriber, size),
        IpAddr::V4(prefix) => nat::Deterministic::v4(prefix.into(), bits, size),
    }
}

fn pool(nat: &Nat) -> nat::Pool {
    if let (false, [address]) = (nat.set.sharing().is_whole(), nat.pool.as_slice()) {
        return nat::Pool::of_customer(address.addresses.network().into(), nat.set);
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

fn policy(instance: &Instance, link: &Link, tun: &Tun) -> core::Policy {
    let policy = &instance.policy;
    let own_v4 = own_v4(instance, tun);
    let dummy = Ipv4Net::new_assert(DUMMY, 32);
    let icmp_pool = policy
        .icmp_source_v4
        .as_ref()
        .map_or(dummy, |pool| pool.value);
    core::Policy {
        traffic_class: policy.traffic_class,
        tos: policy.tos,
        lowest_ipv6_mtu: policy.lowest_ipv6_mtu,
        ipv4_mtu: link.ipv4_mtu,
        ipv6_mtu: link.ipv6_mtu,
        zero_udp_checksum: policy.zero_udp_checksum,
        allow_non_global: policy.non_global == NonGlobal::Allow,
        mss_clamp: policy.mss_clamp,
        icmp_pool: (
            icmp_pool.network().into(),
            1 << (32 - icmp_pool.prefix_len()),
        ),
        own_v4,
        own_v6: own_v6(instance, tun, own_v4),
    }
}

/// How the explicit mappings lie to the prefix.
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

/// What is configured, else the end of the tunnel, else an address of the gateway's link, else the
/// dummy address.
fn own_v4(instance: &Instance, tun: &Tun) -> V4 {
    let configured = instance.policy.own_v4.as_ref().map(|at| at.value);
    let end = match &instance.mechanism {
        Mechanism::Composed(composed) => composed.own.0,
        _ => None,
    };
    let of_link = tun.addresses.iter().find_map(|net| match net.addr() {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    });
    configured.or(end).or(of_link).unwrap_or(DUMMY).into()
}

/// What is configured, else an address of the gateway's link, else what represents the IPv4 address
/// of the gateway.
fn own_v6(instance: &Instance, tun: &Tun, own_v4: V4) -> V6 {
    let configured = instance.policy.icmp_source_v6.as_ref().map(|at| at.value);
    let of_link = tun.addresses.iter().find_map(|net| match net.addr() {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => Some(address),
    });
    let embedded = || match &instance.mechanism {
        Mechanism::Siit(siit) => match siit.prefix.as_ref()?.value {
            Prefix::Rfc6052(prefix) => Some(prefix.embed(own_v4)),
            Prefix::Ivi(prefix) => Some(prefix.embed(own_v4)),
        },
        Mechanism::Nat64(nat64) => Some(rfc6052::Prefix::embed(&nat64.prefix, own_v4)),
        Mechanism::Composed(composed) => match (&composed.core, composed.own.1) {
            (_, Some(address)) => Some(address.into()),
            (core::Mechanism::MapTBorder(border), None) => Some(border.prefix.embed(own_v4)),
            (_, None) => None,
        },
        // There is no IPv6 side.
        Mechanism::Nat44(_) => None,
    };
    configured
        .or(of_link)
        .map(V6::from)
        .or_else(embedded)
        .unwrap_or_else(|| Ipv6Addr::UNSPECIFIED.into())
}
