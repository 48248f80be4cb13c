//! Stateful translation for IPv6 clients of IPv4 servers (RFC 6146).

use super::crossing::{Translation, Translator};
use super::{Hosts, Instances, Mechanism, Opens, PacketV4, Part, Seen, Stage, stateful};
use crate::address::networks::V6Networks;
use crate::address::rfc6052::Prefix;
use crate::address::{V4, V6, special};
use crate::host::{Effort, Host};
use crate::nat::{self, Endpoint4, Inside, NatConfig, Pool};

use crate::customer::{Destination, Receiver};
use crate::packet::Family;
use crate::policy::Policy;
use crate::reason::Counter;
use crate::verdict::{Refusal, Slow};
use crate::wire::tuple::Tuple;

/// A stateful translator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Nat64 {
    /// Prefix under which IPv6 hosts reach IPv4 hosts.
    pub prefix: Prefix,
    /// The networks of the hosts that it is for; without any it is for all.
    pub inside: V6Networks,
    /// Pool, timers, limits, tables.
    pub nat: NatConfig,
}

impl Mechanism for Nat64 {
    type Crossing = Translation;

    const STAGE: Stage = Stage::Translation;

    const OPENS_IN_BPF: Option<Opens> = Some(Opens::V6);
    const ERRORS_IN_BPF: bool = true;
    const HAIRPINS_IN_BPF: Option<Family> = Some(Family::V6);
    const FRAGMENTS_IN_BPF: bool = true;

    const COUNTS_TRAFFIC: bool = true;

    #[inline(always)]
    fn owns_v4<H: Host>(&self, _host: &H, packet: &PacketV4<impl Fn() -> u8>) -> bool {
        self.nat.owns(packet.destination)
    }

    #[inline(always)]
    fn owns_v6<H: Host>(&self, _host: &H, _source: V6, destination: V6) -> bool {
        self.prefix.contains(destination)
    }

    #[inline(always)]
    fn pool_of_v6(&self) -> Option<&Pool> {
        Some(&self.nat.pool)
    }

    #[inline(always)]
    fn nat(&self) -> Option<&NatConfig> {
        Some(&self.nat)
    }

    #[inline(always)]
    fn receiver<H: Host>(&self, host: &H, to: &Destination) -> Option<Receiver> {
        stateful::receiver(host, &self.nat, to)
    }

    fn nat_mut(&mut self) -> Option<&mut NatConfig> {
        Some(&mut self.nat)
    }

    fn prefix(&self) -> Option<&Prefix> {
        Some(&self.prefix)
    }

    fn hosts(&self) -> Hosts {
        Hosts::V6(self.inside)
    }
}

impl Translator for Nat64 {
    const HAS_GATEWAYS: bool = true;

    /// The source becomes an address and port of the pool.
    #[inline(always)]
    fn to_v4<H: Host>(&self, host: &mut H, seen: Seen<'_, V6>) -> Result<Tuple<V4>, Refusal> {
        let tuple = seen.tuple;
        // RFC 6146 section 3.5: a source under the prefix could loop forever.
        if self.prefix.contains(tuple.source) {
            return Err(Refusal::Drop(Counter::Loop));
        }
        let destination = match seen.part {
            // Others are not this mechanism's.
            Part::Outer => Some(self.prefix.take(tuple.destination)),
            Part::Quoted => self.prefix.extract(tuple.destination),
        };
        if destination.is_some_and(special::is_illegal_destination_v4) {
            return Err(Refusal::Drop(Counter::IllegalDestination));
        }
        // RFC 6146 section 1.2.3: only inside hosts get entries. Silently: the source of a stranger may be
        // forged. A program that makes no sessions finds those of inside hosts only.
        if H::Effort::OPENS && seen.part == Part::Outer && !self.inside.admit(tuple.source) {
            return Err(Refusal::Drop(Counter::NotInside));
        }
        let destination =
            destination.ok_or(Refusal::prohibited(Counter::UntranslatableDestination))?;
        if seen.policy.forbids(&self.prefix, destination) {
            return Err(Refusal::prohibited(Counter::NonGlobalWellKnown));
        }
        let inside = Inside {
            address: tuple.source,
            v4: V4::default(),
            port: tuple.source_port,
        };
        let remote = Endpoint4 {
            address: destination,
            port: tuple.destination_port,
        };
        let outside = stateful::outbound(host, &self.nat, &inside, remote, seen)?;
        Ok(Tuple {
            source: outside.address,
            destination,
            source_port: outside.port,
            destination_port: tuple.destination_port,
        })
    }

    /// The destination becomes the host that the binding names.
    #[inline(always)]
    fn to_v6<H: Host>(&self, host: &mut H, seen: Seen<'_, V4>) -> Result<Tuple<V6>, Refusal> {
        if seen.policy.forbids(&self.prefix, seen.tuple.source) {
            if nat::is_for_others::<H, H::Effort>(host, seen.tuple.destination) {
                return Err(Refusal::Slow(Slow::Table));
            }
            // Silently: no host outside answers to a private address.
            return Err(Refusal::Drop(Counter::NonGlobalWellKnown));
        }
        let inside = stateful::inbound(host, &self.nat, seen)?;
        Ok(Tuple {
            source: self.prefix.embed(seen.tuple.source),
            destination: inside.address,
            source_port: seen.tuple.source_port,
            destination_port: inside.port,
        })
    }

    /// RFC 6146 section 3.8.
    #[inline(always)]
    fn hairpins<H: Host, I: Instances + ?Sized>(
        &self,
        _host: &H,
        instances: &I,
        _from: V6,
        destination: V4,
    ) -> bool {
        instances.pools_own(self, destination)
    }

    #[inline(always)]
    fn error_source_v6<H: Host>(&self, _host: &H, _policy: &Policy, source: V4) -> V6 {
        self.prefix.embed(source)
    }

    /// The address of the binding, unless the sender is an IPv4 host under the prefix (RFC 6146
    /// section 3.6.1).
    #[inline(always)]
    fn error_source_v4<H: Host>(&self, _host: &H, _policy: &Policy, source: V6, outside: V4) -> V4 {
        self.prefix.extract(source).unwrap_or(outside)
    }
}
