//! Mechanisms whose packets are IPv4 on both sides: NATs, and those that share IPv4 addresses over IPv6.
//!
//! Such a packet passes between two sides, each of them a link or a softwire (a tunnel that carries IPv4
//! over IPv6). The mechanism gives the tuple on the other side, and the side itself.

use super::{Remembered, Seen};
use crate::address::{V4, V6};
use crate::datagrams::FragmentKey;
use crate::host::Host;
use crate::nat::NatConfig;
use crate::reason::Counter;
use crate::verdict::Refusal;
use crate::wire::ipv4;
use crate::wire::tuple::{Ends, Tuple};
use crate::word::Word;

/// The side that a packet leaves on.
#[derive(Clone, Copy, Debug)]
pub enum Exit {
    /// Where the routes lead.
    Link,
    /// Into a softwire between these addresses.
    Softwire(Ends<V6>),
}

/// A packet as it is on the other side.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    /// Addresses and ports.
    pub tuple: Tuple<V4>,
    /// The side that it leaves on.
    pub exit: Exit,
    /// Whether the source is one that stands for others: routers behind it are not seen.
    pub hides: bool,
    /// Addresses and ports between the halves of a hairpin.
    pub between: Option<Tuple<V4>>,
}

impl Passed {
    /// A packet that leaves where the routes lead.
    #[inline(always)]
    pub(super) const fn by_link(tuple: Tuple<V4>) -> Self {
        Self {
            tuple,
            exit: Exit::Link,
            hides: false,
            between: None,
        }
    }

    /// A packet that leaves into a softwire between these addresses.
    #[inline(always)]
    pub(super) const fn by_softwire(tuple: Tuple<V4>, ends: Ends<V6>) -> Self {
        Self {
            tuple,
            exit: Exit::Softwire(ends),
            hides: false,
            between: None,
        }
    }

    /// The same packet; its source stands for others if this is so.
    #[inline(always)]
    pub(super) const fn hiding(self, hides: bool) -> Self {
        Self { hides, ..self }
    }
}

/// One direction of a mechanism.
pub trait Passage {
    /// The counter of a packet that passed.
    const COUNTER: Counter;

    /// The tuple of a packet on the other side, and its exit.
    ///
    /// # Errors
    /// The packet may not pass, or the NAT refuses it.
    fn pass<H: Host>(&self, host: &mut H, seen: Seen<'_, V4>) -> Result<Passed, Refusal>;

    /// Checks whether a host with this address may send an ICMP error about a packet that passed so.
    ///
    /// # Errors
    /// It may not.
    #[inline(always)]
    fn check_reporter(&self, _reporter: V4, _passed: &Passed) -> Result<(), Refusal> {
        Ok(())
    }

    /// Whether a packet with this tuple, which a [`Turn`] takes, goes back after this passage.
    #[inline(always)]
    fn turns(&self, _tuple: &Tuple<V4>) -> bool {
        true
    }

    /// The datagrams whose ports the mechanism knows.
    #[inline(always)]
    fn datagrams(&self) -> Option<Remembered<'_>> {
        None
    }

    /// The NAT, if it can count what its sessions carry: one that many hosts share.
    #[inline(always)]
    fn counting_nat(&self) -> Option<&NatConfig> {
        None
    }

    /// The key that the fragments of a datagram have in common.
    #[inline(always)]
    fn fragment_key(&self, header: &ipv4::Header) -> FragmentKey {
        FragmentKey::v4(header)
    }
}

/// Out and in again at once: the passage of a packet from one inside host to another (RFC 4787 section 6).
#[derive(Debug)]
pub struct Turn<'a, O, I> {
    /// The first half.
    pub out: &'a O,
    /// The second half.
    pub into: &'a I,
}

impl<O: Passage, I: Passage> Passage for Turn<'_, O, I> {
    const COUNTER: Counter = O::COUNTER;

    #[inline(always)]
    fn pass<H: Host>(&self, host: &mut H, seen: Seen<'_, V4>) -> Result<Passed, Refusal> {
        let out = self.out.pass(host, seen)?;
        if !self.out.turns(seen.tuple) {
            return Ok(out);
        }
        let between = between_halves(host, &out.tuple);
        let tuple = &between;
        let back = self.into.pass(host, Seen { tuple, ..seen })?;
        Ok(Passed {
            hides: out.hides,
            between: Some(between),
            ..back
        })
    }

    #[inline(always)]
    fn check_reporter(&self, reporter: V4, passed: &Passed) -> Result<(), Refusal> {
        self.out.check_reporter(reporter, passed)
    }

    #[inline(always)]
    fn datagrams(&self) -> Option<Remembered<'_>> {
        self.out.datagrams()
    }

    #[inline(always)]
    fn counting_nat(&self) -> Option<&NatConfig> {
        self.out.counting_nat()
    }

    #[inline(always)]
    fn fragment_key(&self, header: &ipv4::Header) -> FragmentKey {
        self.out.fragment_key(header)
    }
}

/// The tuple between the halves of a hairpin, of which the verifier of BPF forgets what the first half has looked at: it would go
/// through the second once for each outcome.
#[inline(always)]
pub(crate) fn between_halves<H: Host>(host: &H, tuple: &Tuple<V4>) -> Tuple<V4> {
    let addresses = u64::from(tuple.source.0.0) << 32 | u64::from(tuple.destination.0.0);
    let ports = u64::from(tuple.source_port) << 16 | u64::from(tuple.destination_port);
    let [addresses, ports] = host.obscure([addresses, ports]);
    let address = |half: u64| V4(Word(half as u32));
    Tuple {
        source: address(addresses >> 32),
        destination: address(addresses),
        source_port: (ports >> 16) as u16,
        destination_port: ports as u16,
    }
}
