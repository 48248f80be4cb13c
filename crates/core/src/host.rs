//! What an engine lends to the core besides the packet: memory, time, chance, routes, counters.

use crate::address::eam::{self, EamTable, MappedV4};
use crate::address::softwire::{self, Customer, SoftwireTable};
use crate::address::{V4, V6};
use crate::reason::Counter;
use crate::table::{Memory, Place};
use crate::time::Instant;
use crate::verdict::Slow;

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

/// The services of an engine, for the time of one packet.
pub trait Host {
    /// Memory that holds bindings, sessions and fragments.
    type State: Memory + ?Sized;
    /// Memory that holds the tables of the configuration; written only by the control plane.
    type Rules: Memory + ?Sized;

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
