//! How packets cross from one side of a mechanism to the other: the second half of every mechanism, which
//! many share. A type names each crossing, and a trait has the functions of a mechanism with that
//! crossing.

use super::passage::Passed;
use super::{Instances, Mechanism, Seen};
use crate::address::{V4, V6};
use crate::host::Host;
use crate::policy::Policy;
use crate::verdict::Refusal;
use crate::wire::tuple::{Ends, Tuple};

/// The packet changes its family (RFC 7915). The mechanism is a [`Translator`].
#[derive(Debug)]
pub enum Translation {}

/// The packet is IPv4 on both sides of a NAT (RFC 3022). The mechanism is [`Nat44`](super::nat44::Nat44).
#[derive(Debug)]
pub enum Napt44 {}

/// IPv4 packets come out of softwires if they come as IPv6, and go into softwires otherwise. The mechanism
/// [shares addresses](SharesV4).
#[derive(Debug)]
pub enum Softwires {}

/// An IPv6 packet goes into a tunnel over IPv4, and comes out as it was.
#[derive(Debug)]
pub enum V6OverV4 {}

/// An IPv4 packet goes into a tunnel over IPv6, and comes out as it was.
#[derive(Debug)]
pub enum V4OverV6 {}

/// The crossing of the mechanism that is found in an [`AnyMechanism`](super::AnyMechanism).
#[derive(Debug)]
pub enum Any {}

/// A mechanism that maps the addresses and ports of one family to those of the other.
pub trait Translator: Mechanism<Crossing = Translation> {
    /// Whether ports matter, which a fragment after the first does not have.
    const BY_PORTS: bool = true;

    /// Whether it may have application level gateways.
    const HAS_GATEWAYS: bool = false;

    /// The IPv6 tuple of an IPv4 packet.
    ///
    /// # Errors
    /// An address has no counterpart or may not be used, or the NAT refuses the packet.
    fn to_v6<H: Host>(&self, host: &mut H, seen: Seen<'_, V4>) -> Result<Tuple<V6>, Refusal>;

    /// The IPv4 tuple of an IPv6 packet.
    ///
    /// # Errors
    /// An address has no counterpart or may not be used, or the NAT refuses the packet.
    fn to_v4<H: Host>(&self, host: &mut H, seen: Seen<'_, V6>) -> Result<Tuple<V4>, Refusal>;

    /// Maps an IPv4 packet that was an IPv6 packet a moment ago: the second half of a hairpin.
    ///
    /// # Errors
    /// See [`to_v6`](Self::to_v6).
    #[inline(always)]
    fn turn_back<H: Host>(&self, host: &mut H, seen: Seen<'_, V4>) -> Result<Tuple<V6>, Refusal> {
        self.to_v6(host, seen)
    }

    /// Whether a packet whose destination was mapped `from` an IPv6 address to this IPv4 address goes to
    /// another host behind this gateway.
    #[inline(always)]
    fn hairpins<H: Host, I: Instances + ?Sized>(
        &self,
        _host: &H,
        _instances: &I,
        _from: V6,
        _destination: V4,
    ) -> bool {
        false
    }

    /// The IPv6 address of a router or host that sent an ICMPv4 error. Every address that has an IPv6
    /// form is translated, illegal and private ones too, for trouble shooting (RFC 7915 section 4.1).
    fn error_source_v6<H: Host>(&self, host: &H, policy: &Policy, source: V4) -> V6;

    /// The IPv4 address of a router or host that sent an ICMPv6 error; `outside` is the address that the
    /// sender of the packet in error has outside.
    fn error_source_v4<H: Host>(&self, host: &H, policy: &Policy, source: V6, outside: V4) -> V4;
}

/// A mechanism whose hosts or CEs share IPv4 addresses behind softwires.
pub trait SharesV4: Mechanism<Crossing = Softwires> {
    /// Checks whether the source of a packet that came out of a softwire between these ends belongs to the
    /// sender (RFC 7597 section 8.1, RFC 7596 section 6.2).
    ///
    /// # Errors
    /// It does not.
    fn check_sender<H: Host>(
        &self,
        host: &H,
        ends: &Ends<V6>,
        seen: Seen<'_, V4>,
    ) -> Result<(), Refusal>;

    /// The other side of a packet that came out of a softwire between these ends, and whose sender was
    /// checked: where no NAT stands, the packet as it is.
    ///
    /// # Errors
    /// The packet may not pass, or the NAT refuses it.
    #[inline(always)]
    fn decapsulate<H: Host>(
        &self,
        _host: &mut H,
        _ends: &Ends<V6>,
        seen: Seen<'_, V4>,
    ) -> Result<Passed, Refusal> {
        Ok(Passed::by_link(*seen.tuple))
    }

    /// The other side of a packet that came as IPv4.
    ///
    /// # Errors
    /// The packet may not pass, or the NAT refuses it.
    fn encapsulate<H: Host>(&self, host: &mut H, seen: Seen<'_, V4>) -> Result<Passed, Refusal>;

    /// Checks whether a host with this address may send an ICMP error, which came out of a softwire, about a
    /// packet that passed so.
    ///
    /// # Errors
    /// It may not.
    #[inline(always)]
    fn check_reporter(&self, _reporter: V4, _passed: &Passed) -> Result<(), Refusal> {
        Ok(())
    }

    /// Whether a packet that came out of a softwire goes back into one.
    #[inline(always)]
    fn hairpins(&self, _destination: V4) -> bool {
        false
    }
}
