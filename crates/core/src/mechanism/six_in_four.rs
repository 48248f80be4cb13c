//! Tunnels that carry IPv6 over IPv4 (protocol 41): 6in4 (RFC 4213), 6to4 (RFC 3056), 6rd (RFC 5969) and
//! ISATAP (RFC 5214). They differ in how the tunnel endpoint is found.

use super::crossing::V6OverV4;
use super::isatap::{self, Isatap};
use super::{Mechanism, PacketV4, six_to_four};
use crate::address::networks::V6Networks;
use crate::address::sixrd::Domain;
use crate::address::{V4, V6, special};
use crate::host::Host;
use crate::packet::Family;
use crate::reason::Counter;
use crate::verdict::Refusal;
use crate::wire::tuple::Ends;
use crate::wire::{ipv6, protocol};

/// IPv6 packets in IPv4 packets (protocol 41, RFC 4213).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SixInFour {
    /// The address of this end.
    pub local: V4,
    /// The tunnel endpoint.
    pub peer: PeerV4,
    /// The IPv6 destinations behind the tunnel endpoint.
    pub destinations: V6Networks,
    /// Whether they are all addresses, so that routes alone decide for nearer networks.
    pub everything: bool,
}

/// The endpoint of a tunnel over IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, u32)]
pub enum PeerV4 {
    /// One address, whatever the packet (RFC 4213 section 3).
    Fixed(V4),
    /// The one that an IPv6 address of the domain embeds, of 6rd (RFC 5969) or 6to4 (RFC 3056).
    Embedded(Embedded),
    /// The one that an address on the link embeds, or a router (RFC 5214).
    Isatap(Isatap),
}

/// A domain whose IPv6 addresses embed the tunnel endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Embedded {
    /// The prefixes of all CEs.
    pub domain: Domain,
    /// The tunnel endpoint for addresses outside of the domain.
    pub outside: Outside,
    /// The addresses that are in order.
    pub scope: Scope,
}

/// The addresses that are in order in a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Scope {
    /// A provider's domain (6rd), whose IPv4 addresses may be private.
    Provider,
    /// The internet (6to4), with the checks of RFC 3964 section 5.
    Internet,
}

/// The route to addresses outside of a domain, and the packets that come from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, u32)]
pub enum Outside {
    /// The IPv6 routes of this machine: it is a BR, or a relay of 6to4. Packets in the tunnel come from
    /// CEs only.
    Here,
    /// A BR or relay: this machine is a CE. Packets in the tunnel come from the relay, too.
    Relay(V4),
    /// The same, but packets come from any relay, because the other side chooses the relay for the way
    /// back (RFC 3056 section 5.3, RFC 3964 section 3).
    AnyRelay(V4),
}

impl Mechanism for SixInFour {
    type Crossing = V6OverV4;

    const CUSTOMERS: Family = Family::V4;

    /// Whether an IPv4 packet comes out of the tunnel here.
    #[inline(always)]
    fn owns_v4<H: Host>(&self, _host: &H, packet: &PacketV4<impl Fn() -> u8>) -> bool {
        packet.destination.0.0 == self.local.0.0 && (packet.protocol)() == protocol::IPV6
    }

    /// Whether an IPv6 packet goes into the tunnel.
    #[inline(always)]
    fn owns_v6<H: Host>(&self, _host: &H, _source: V6, destination: V6) -> bool {
        self.destinations.contains(destination)
    }
}

impl SixInFour {
    /// Returns the tunnel endpoint for a packet between these addresses.
    ///
    /// # Errors
    /// There is no tunnel endpoint for it.
    #[inline(always)]
    pub fn ends(&self, source: V6, destination: V6) -> Result<Ends<V4>, Refusal> {
        let other = match &self.peer {
            PeerV4::Isatap(link) => isatap::next_hop(link, source, destination)?,
            PeerV4::Fixed(peer) => *peer,
            PeerV4::Embedded(peer) => {
                if let Scope::Internet = peer.scope {
                    six_to_four::check_entry(&peer.domain, self.local, source, destination)?;
                }
                embedded(peer, destination)?
            }
        };
        if other.0.0 == self.local.0.0 {
            return Err(Refusal::Drop(Counter::Loop));
        }
        Ok(Ends::new(self.local, other))
    }

    /// Whether some packet of the tunnel may go to an address.
    #[inline(always)]
    pub fn may_reach(&self, other: V4) -> bool {
        match &self.peer {
            PeerV4::Fixed(peer) => other.0.0 == peer.0.0,
            PeerV4::Embedded(_) | PeerV4::Isatap(_) => true,
        }
    }

    /// Whether `sender` may send a packet with this header through the tunnel.
    ///
    /// # Errors
    /// It may not: RFC 4213 section 3.6 for one configured peer. A packet from the tunnel must
    /// not be for a host behind it.
    #[inline(always)]
    pub fn accept(&self, sender: V4, header: &ipv6::Header) -> Result<(), Refusal> {
        match &self.peer {
            PeerV4::Fixed(peer) => {
                if sender.0.0 != peer.0.0 {
                    return Err(Refusal::Drop(Counter::TunnelSource));
                }
            }
            PeerV4::Embedded(peer) => {
                if !peer.scope.has(sender) {
                    return Err(Refusal::Drop(Counter::TunnelSource));
                }
                if let Scope::Internet = peer.scope {
                    six_to_four::check_addresses(header.source(), header.destination())?;
                }
                return self.consistent(peer, sender, header);
            }
            PeerV4::Isatap(link) => {
                return isatap::accept(link, self.local, &self.destinations, sender, header);
            }
        }
        if !self.everything && self.destinations.contains(header.destination()) {
            return Err(Refusal::Drop(Counter::Loop));
        }
        Ok(())
    }

    /// The checks of RFC 5969 sections 9.2 and 12 and of RFC 3964 section 5: an inner source in the domain
    /// is that of the sender; one outside of it comes from the relay.
    #[inline(always)]
    fn consistent(
        &self,
        peer: &Embedded,
        sender: V4,
        header: &ipv6::Header,
    ) -> Result<(), Refusal> {
        let (source, destination) = (header.source(), header.destination());
        let from_inside = peer.domain.contains(source);
        if from_inside && !peer.domain.is_consistent(source, sender) {
            return Err(Refusal::Drop(Counter::TunnelSpoofed));
        }
        match peer.outside {
            // CEs reach each other directly (RFC 5969 section 7.1.1). A relay is for the outside only.
            Outside::Here if !from_inside => Err(Refusal::Drop(Counter::TunnelSpoofed)),
            Outside::Here if peer.domain.contains(destination) => Err(Refusal::Drop(Counter::Loop)),
            Outside::Relay(relay) if !from_inside && sender.0.0 != relay.0.0 => {
                Err(Refusal::Drop(Counter::TunnelSource))
            }
            // A CE accepts packets for the prefix that its address delegates.
            Outside::Relay(_) | Outside::AnyRelay(_)
                if !peer.domain.is_consistent(destination, self.local) =>
            {
                Err(Refusal::Drop(Counter::Loop))
            }
            _ => Ok(()),
        }
    }
}

impl Scope {
    /// Whether an IPv4 address may be a tunnel endpoint: that of a host (RFC 5969 section 12), on the internet
    /// a global one.
    #[inline(always)]
    const fn has(self, address: V4) -> bool {
        match self {
            Self::Provider => !special::is_illegal_source_v4(address),
            Self::Internet => special::is_global_unicast_v4(address),
        }
    }
}

/// Returns the tunnel endpoint for an address: the one that it embeds (RFC 5969 section 7.1.1, RFC 3056
/// section 5.3), or the relay for the outside.
#[inline(always)]
fn embedded(peer: &Embedded, destination: V6) -> Result<V4, Refusal> {
    let other = match (peer.domain.ce_of(destination), peer.outside) {
        (Some(ce), _) => ce,
        (None, Outside::Relay(relay) | Outside::AnyRelay(relay)) => return Ok(relay),
        (None, Outside::Here) => return Err(Refusal::Drop(Counter::TunnelDestination)),
    };
    if !peer.scope.has(other) {
        return Err(Refusal::Drop(Counter::TunnelDestination));
    }
    Ok(other)
}
