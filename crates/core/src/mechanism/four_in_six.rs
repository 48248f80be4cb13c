//! Tunnels that carry IPv4 over IPv6 (RFC 2473): 4in6, and the B4 of DS-Lite (RFC 6333).

use super::crossing::V4OverV6;
use super::{Mechanism, PacketV4};
use crate::address::networks::V4Networks;
use crate::address::{V4, V6};
use crate::host::Host;
use crate::packet::Family;
use crate::reason::Counter;
use crate::verdict::Refusal;
use crate::wire::ipv4;
use crate::wire::tuple::Ends;

/// IPv4 packets in IPv6 packets (RFC 2473).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct FourInSix {
    /// The address of this end.
    pub local: V6,
    /// The address of the tunnel endpoint.
    pub remote: V6,
    /// The IPv4 destinations behind the tunnel endpoint.
    pub destinations: V4Networks,
    /// Those among them that are on this side. An engine that takes packets before the machine routes them
    /// needs this list.
    pub exempt: V4Networks,
    /// Whether they are all addresses, so that routes alone decide for nearer networks.
    pub everything: bool,
}

impl Mechanism for FourInSix {
    type Crossing = V4OverV6;

    /// Both ends are known: a packet is its sender's, in either family.
    #[inline(always)]
    fn is_from_customer(&self, _family: Family, _source: V4) -> bool {
        true
    }

    /// Whether an IPv4 packet goes into the tunnel.
    #[inline(always)]
    fn owns_v4<H: Host>(&self, _host: &H, packet: &PacketV4<impl Fn() -> u8>) -> bool {
        self.takes(packet.destination)
    }

    /// Whether an IPv6 packet may come out of the tunnel here.
    #[inline(always)]
    fn owns_v6<H: Host>(&self, _host: &H, _source: V6, destination: V6) -> bool {
        destination.is(self.local)
    }
}

impl FourInSix {
    /// Whether IPv4 packets to this destination go into the tunnel.
    #[inline(always)]
    #[must_use]
    pub fn takes(&self, destination: V4) -> bool {
        self.destinations.contains(destination) && !self.exempt.contains(destination)
    }

    /// Where a packet goes.
    #[inline(always)]
    pub const fn ends(&self) -> Ends<V6> {
        Ends::new(self.local, self.remote)
    }

    /// Whether `sender` may send a packet with this header through the tunnel.
    ///
    /// # Errors
    /// It may not. A packet from the tunnel must not be for a host behind it.
    #[inline(always)]
    pub fn accept(&self, sender: V6, header: &ipv4::Header) -> Result<(), Refusal> {
        if !sender.is(self.remote) {
            return Err(Refusal::Drop(Counter::TunnelSource));
        }
        if !self.everything && self.destinations.contains(header.destination()) {
            return Err(Refusal::Drop(Counter::Loop));
        }
        Ok(())
    }
}
