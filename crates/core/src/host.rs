//! The services of an engine besides the packet: memory, time, random numbers, routes, counters.

use crate::address::eam::{self, EamTable, MappedV4};
use crate::address::softwire::{self, B4Key, SoftwireTable};
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

/// The route of a packet, as the engine knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Bytes of an IP packet that the next link takes.
    pub mtu: u16,
}

/// How far an engine goes to make a session.
pub trait Effort: Copy + Default {
    /// Whether it finds existing sessions. An engine that does not runs only after another found none.
    const RESUMES: bool = true;
    /// Whether it makes sessions at all.
    const OPENS: bool = true;
    /// Whether it lets packets from outside in that have a binding and no session.
    const ADMITS: bool = true;
    /// Whether it looks through all of a pool, and gives subscribers further blocks of ports. The verifier of BPF does
    /// not accept so much: what a short look does not find there, user space looks for.
    const THOROUGH: bool = false;
    /// Whether a pool may be a set of ports, as that of a CE is. User space knows them anyway.
    const PORT_SETS: bool = false;
}

/// Sessions that are there, and [`Slow::Session`] for others: for the BPF program of the common
/// path, which leaves the stack that it takes to make one to another program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Established;

impl Effort for Established {
    const OPENS: bool = false;
}

/// Sessions that are there, and [`Slow::Session`] for all other packets: for the BPF programs of packets that are not
/// [plain](crate::packet::Plain), of mechanisms other than NAT64 and NAT44.
#[derive(Clone, Copy, Debug, Default)]
pub struct Resumed;

impl Effort for Resumed {
    const OPENS: bool = false;
    const ADMITS: bool = false;
}

/// A few tries, then [`Slow::Table`]: for the BPF program that [`Established`] hands packets to, and
/// which hands them back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounded;

impl Effort for Bounded {
    const RESUMES: bool = false;
}

/// [`Bounded`] behind a CE.
#[derive(Clone, Copy, Debug, Default)]
pub struct BoundedInSet;

impl Effort for BoundedInSet {
    const RESUMES: bool = false;
    const PORT_SETS: bool = true;
}

/// Up to 2,048 ports of the first outside address, and of the seven addresses after it: for user space. If none
/// of them is free, the answer is [`Counter::PoolExhausted`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Thorough;

impl Effort for Thorough {
    const THOROUGH: bool = true;
}

/// The services of an engine, for the time of one packet.
pub trait Host {
    /// Memory that holds bindings, sessions and fragments.
    type State: Memory + ?Sized;
    /// Memory that holds the tables of the configuration; written only by the control plane.
    type Rules: Memory + ?Sized;

    /// How far this engine goes to make a session.
    type Effort: Effort;

    /// Bindings, sessions and fragments.
    fn state(&self) -> &Self::State;

    /// Tables of the configuration.
    fn rules(&self) -> &Self::Rules;

    /// The explicit mapping that covers an IPv4 address. An engine may call this search in its own way, but
    /// has no other search.
    fn find_eam_v4(&self, table: &EamTable, address: V4) -> Option<Place> {
        eam::find_v4(self.rules(), table, address)
    }

    /// Maps an IPv6 address by the explicit mappings.
    fn map_eam_v6(&self, table: &EamTable, address: V6) -> Option<MappedV4> {
        let place = eam::find_v6(self.rules(), table, address)?;
        eam::to_v4(self.rules(), place, address)
    }

    /// Finds the block with the softwire of a lwB4.
    fn find_softwire(&self, table: &SoftwireTable, key: B4Key) -> Option<Place> {
        softwire::find(self.rules(), table, key)
    }

    /// The time of this packet.
    fn now(&self) -> Instant;

    /// A random number. It is repeatable if the user gave a seed.
    fn random(&mut self) -> u32;

    /// Whether instances of the mechanism with this number may be configured. Programs of BPF are loaded for those that are,
    /// and their verifier leaves out what is for others.
    #[inline(always)]
    #[must_use]
    fn has<const MECHANISM: usize>() -> bool {
        true
    }

    /// The same words, of which the verifier of BPF knows nothing any more. It goes through code again for each set of
    /// values that it knows, and now no longer for each way that led to these words.
    #[inline(always)]
    fn obscure<const N: usize>(&self, words: [u64; N]) -> [u64; N] {
        words
    }

    /// Sets the instance that the packet belongs to. Counters are its from here on.
    fn select(&mut self, instance: u32);

    /// Counts something that happened to this packet or because of it.
    fn count(&mut self, counter: Counter);

    /// Whether an IPv4 address is one of this machine's own: its kernel has sockets there, and may want a packet that
    /// no session does.
    fn is_local(&self, _address: V4) -> bool {
        false
    }

    /// The route that a translated packet will take. The engine may remember it: the next packet
    /// that it sends is this one. `None` where the engine does not know; the configured MTU holds
    /// then.
    ///
    /// # Errors
    /// [`Slow::Route`], where it knows that it cannot send there.
    fn route(&mut self, to: Destination) -> Result<Option<Route>, Slow>;
}
