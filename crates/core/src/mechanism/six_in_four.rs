//! Tunnels that carry IPv6 over IPv4: who has the other end, and what it may send.

use super::isatap;
use crate::address::{V4, V6, special};
use crate::config::{Embedded, Outside, PeerV4, SixInFour};
use crate::encap::Ends;
use crate::reason::Counter;
use crate::verdict::Refusal;
use crate::wire::{ipv6, protocol};

/// Whether an IPv4 packet comes out of the tunnel here.
#[inline(always)]
pub fn owns_v4(tunnel: &SixInFour, destination: V4, telling_protocol: impl Fn() -> u8) -> bool {
    destination.0.0 == tunnel.local.0.0 && telling_protocol() == protocol::IPV6
}

/// Whether an IPv6 packet goes into the tunnel.
#[inline(always)]
pub fn owns_v6(tunnel: &SixInFour, destination: V6) -> bool {
    tunnel.destinations.contains(destination)
}

/// Where a packet between these addresses goes.
///
/// # Errors
/// Nobody has the other end for it.
#[inline(always)]
pub fn ends(tunnel: &SixInFour, source: V6, destination: V6) -> Result<Ends<V4>, Refusal> {
    let other = match &tunnel.peer {
        PeerV4::Isatap(link) => isatap::next_hop(link, source, destination)?,
        PeerV4::Fixed(peer) => *peer,
        PeerV4::Embedded(peer) => embedded(peer, destination)?,
    };
    if other.0.0 == tunnel.local.0.0 {
        return Err(Refusal::Drop(Counter::Loop));
    }
    Ok(Ends {
        source: tunnel.local,
        destination: other,
    })
}

/// Whether some packet of the tunnel may go to an address.
#[inline(always)]
pub fn may_reach(tunnel: &SixInFour, other: V4) -> bool {
    match &tunnel.peer {
        PeerV4::Fixed(peer) => other.0.0 == peer.0.0,
        PeerV4::Embedded(_) | PeerV4::Isatap(_) => true,
    }
}

/// Who has an address: the one that it tells (RFC 5969 section 7.1.1, RFC 3056 section 5.3), or who
/// has what is outside of the domain.
#[inline(always)]
fn embedded(peer: &Embedded, destination: V6) -> Result<V4, Refusal> {
    let other = match (peer.domain.ce_of(destination), peer.outside) {
        (Some(customer), _) => customer,
        (None, Outside::Relay(relay) | Outside::AnyRelay(relay)) => return Ok(relay),
        (None, Outside::Here) => return Err(Refusal::Drop(Counter::TunnelDestination)),
    };
    // RFC 3964 section 4, RFC 5969 section 12: no broadcast, no loopback, nothing that is no host.
    if special::is_illegal_source_v4(other) {
        return Err(Refusal::Drop(Counter::TunnelDestination));
    }
    Ok(other)
}

/// Whether `sender` may send a packet with this header through the tunnel.
///
/// # Errors
/// It may not: RFC 4213 section 3.6 for one configured peer. What lies behind the tunnel does not
/// come out of it to go back in.
#[inline(always)]
pub fn accept(tunnel: &SixInFour, sender: V4, header: &ipv6::Header) -> Result<(), Refusal> {
    match &tunnel.peer {
        PeerV4::Fixed(peer) => {
            if sender.0.0 != peer.0.0 {
                return Err(Refusal::Drop(Counter::TunnelSource));
            }
        }
        PeerV4::Embedded(peer) => {
            // RFC 3964 section 4: such a sender is no host.
            if special::is_illegal_source_v4(sender) {
                return Err(Refusal::Drop(Counter::TunnelSource));
            }
            return consistent(tunnel, peer, sender, header);
        }
        PeerV4::Isatap(link) => return isatap::accept(tunnel, link, sender, header),
    }
    if !tunnel.everything && tunnel.destinations.contains(header.destination()) {
        return Err(Refusal::Drop(Counter::Loop));
    }
    Ok(())
}

/// The checks of RFC 5969 sections 9.2 and 12 and of RFC 3964 section 5: an inner source in the
/// domain is that of the sender; one outside of it comes from who has the outside.
#[inline(always)]
fn consistent(
    tunnel: &SixInFour,
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
        // Customers reach each other directly (RFC 5969 section 7.1.1): a relay has the outside
        // only.
        Outside::Here if !from_inside => Err(Refusal::Drop(Counter::TunnelSpoofed)),
        Outside::Here if peer.domain.contains(destination) => Err(Refusal::Drop(Counter::Loop)),
        Outside::Relay(relay) if !from_inside && sender.0.0 != relay.0.0 => {
            Err(Refusal::Drop(Counter::TunnelSource))
        }
        // To an edge comes what is for the prefix that its address delegates.
        Outside::Relay(_) | Outside::AnyRelay(_)
            if !peer.domain.is_consistent(destination, tunnel.local) =>
        {
            Err(Refusal::Drop(Counter::Loop))
        }
        _ => Ok(()),
    }
}
