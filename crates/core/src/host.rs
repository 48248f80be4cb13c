//! What an engine lends to the core besides the packet: memory, time, chance, routes, counters.

use crate::address::eam::{self, MappedV4};
use crate::address::softwire::{self, Customer};
use crate::address::{V4, V6};
use crate::config::{EamTable, Instance, SoftwireTable};
use crate::mechanism;
use crate::reason::Counter;
use crate::table::{Memory, Place};
use crate::time::Instant;
use crate::verdict::Slow;
use crate::wire::ipv4;

/// Where a translated packet will go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To an IPv4 host.
    V4 {
        /// Source of the translated packet.
        source: V4,
        /// Its destination.
        destination: V4,
        /// Its type of service, which routing policy may look at.
        tos: u8,
    },
    /// To an IPv6 host.
    V6 {
        /// Source of the translated packet.
        source: V6,
        /// Its destination.
        destination: V6,
        /// Its traffic class.
        traffic_class: u8,
    },
}

/// What the engine knows of the way there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Bytes of an IP packet that the next link takes.
    pub mtu: u16,
}

/// What an engine does for a packet that has no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sessions {
    /// Nothing: [`Slow::Session`].
    Established,
    /// Makes one, with a few tries for a port, then
    /// [`Slow::Table`].
    Bounded,
    /// Makes one, and looks through whole tables for a port if need be.
    Exhaustive,
}

impl Sessions {
    /// Whether the engine keeps account of subscribers: their limits and port blocks. The verifier
    /// of BPF has no patience for it, so that where there is such an account, user space makes the
    /// sessions.
    #[inline(always)]
    #[must_use]
    pub const fn keeps_subscribers(self) -> bool {
        matches!(self, Self::Exhaustive)
    }
}

/// Which mechanisms an engine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mechanisms(u32);

impl Mechanisms {
    /// Stateless translation.
    pub const SIIT: Self = Self(1);
    /// NAT64.
    pub const NAT64: Self = Self(1 << 1);
    /// NAT44.
    pub const NAT44: Self = Self(1 << 2);
    /// Tunnels without state: 6in4, 6to4, 6rd, 4in6, the B4 of DS-Lite.
    pub const TUNNELS: Self = Self(1 << 3);
    /// The concentrator of DS-Lite.
    pub const AFTR: Self = Self(1 << 4);
    /// The border relay of MAP-E.
    pub const SOFTWIRE_BORDER: Self = Self(1 << 5);
    /// The customer's edge of MAP-E and lw4o6.
    pub const SOFTWIRE_CUSTOMER: Self = Self(1 << 6);
    /// The border relay of MAP-T.
    pub const MAP_T_BORDER: Self = Self(1 << 7);
    /// The customer's edge of MAP-T, a CLAT with one address.
    pub const MAP_T_CUSTOMER: Self = Self(1 << 8);
    /// The lwAFTR of lw4o6.
    pub const LW_AFTR: Self = Self(1 << 9);
    /// Every one.
    pub const ALL: Self = Self(u32::MAX);

    /// Whether all of others are among these.
    #[inline(always)]
    #[must_use]
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

/// The services of an engine, for the time of one packet.
pub trait Host {
    /// Memory that holds bindings, sessions and fragments.
    type State: Memory + ?Sized;
    /// Memory that holds the tables of the configuration; written only by the control plane.
    type Rules: Memory + ?Sized;

    /// The mechanisms that this engine does: an instance of another one is none of its own. A BPF
    /// program that does one of them is looked at by the verifier for that one alone.
    const MECHANISMS: Mechanisms = Mechanisms::ALL;

    /// How far this engine goes to make a session.
    const SESSIONS: Sessions = Sessions::Exhaustive;

    /// Bindings, sessions and fragments.
    fn state(&self) -> &Self::State;

    /// Tables of the configuration.
    fn rules(&self) -> &Self::Rules;

    /// The explicit mapping that covers an IPv4 address. An engine may have its own way to call the
    /// search, not its own search.
    fn find_eam_v4(&self, table: &EamTable, address: V4) -> Option<Place> {
        eam::find_v4(self.rules(), table, address)
    }

    /// What the explicit mappings make of an IPv6 address.
    fn map_eam_v6(&self, table: &EamTable, address: V6) -> Option<MappedV4> {
        let place = eam::find_v6(self.rules(), table, address)?;
        eam::to_v4(self.rules(), place, address)
    }

    /// The block that has a customer's softwire.
    fn find_softwire(&self, table: &SoftwireTable, customer: Customer) -> Option<Place> {
        softwire::find(self.rules(), table, customer)
    }

    /// The time of this packet.
    fn now(&self) -> Instant;

    /// A random number. Repeatable where the user asked for a seed.
    fn random(&mut self) -> u32;

    /// From here on the packet belongs to the instance with this number: what is counted is
    /// counted for it.
    fn select(&mut self, instance: u32);

    /// Counts something that happened to this packet or because of it.
    fn count(&mut self, counter: Counter);

    /// The route that a translated packet will take. The engine may remember it: the next packet
    /// that it sends is this one. `None` where the engine does not know; the configured MTU holds
    /// then.
    ///
    /// # Errors
    /// [`Slow::Route`], where it knows that it can not send there.
    fn route(&mut self, to: Destination) -> Result<Option<Route>, Slow>;
}

/// The instances of a configuration, as an engine keeps them.
pub trait Instances {
    /// The instance with this number; `None` past the last.
    fn get(&self, index: u32) -> Option<&Instance>;

    /// The first instance that a packet with this header belongs to, with what
    /// [`telling_protocol`](crate::encap::tunnel_error::telling_protocol) says of it. An engine may have
    /// its own way to call the search, not its own search.
    fn find_v4<H: Host>(
        &self,
        host: &H,
        header: &ipv4::Header,
        protocol: impl Fn() -> u8,
    ) -> Option<u32> {
        let (source, destination) = (header.source(), header.destination());
        first(self, |instance| {
            mechanism::owns_v4(host, instance, source, destination, &protocol)
        })
    }

    /// The first instance that a packet between two IPv6 addresses belongs to.
    fn find_v6<H: Host>(&self, host: &H, source: V6, destination: V6) -> Option<u32> {
        first(self, |instance| {
            mechanism::owns_v6(host, instance, source, destination)
        })
    }

    /// Whether an IPv4 address is in the pool of one of them.
    fn pools_own(&self, destination: V4) -> bool {
        any_pool_owns(self, destination)
    }
}

/// Whether an IPv4 address is in the pool of one of the instances (RFC 6146 section 3.8).
#[inline(always)]
pub fn any_pool_owns<I: Instances + ?Sized>(instances: &I, destination: V4) -> bool {
    first(instances, |instance| {
        mechanism::pool_owns(instance, destination)
    })
    .is_some()
}

#[inline(always)]
fn first<I: Instances + ?Sized>(instances: &I, owns: impl Fn(&Instance) -> bool) -> Option<u32> {
    for index in 0..MOST_INSTANCES {
        if owns(instances.get(index)?) {
            return Some(index);
        }
    }
    None
}

/// The most instances that one gateway has.
pub const MOST_INSTANCES: u32 = 16;

impl Instances for [Instance] {
    #[inline(always)]
    fn get(&self, index: u32) -> Option<&Instance> {
        <[Instance]>::get(self, index as usize)
    }
}
