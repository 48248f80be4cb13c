//! Tunnels that carry IPv6 over IPv4: who has the other end, and what it may send.

use crate::address::{V4, V6};
use crate::config::{PeerV4, SixInFour};
use crate::encap::Ends;
use crate::reason::Counter;
use crate::verdict::Refusal;
use crate::wire::{ipv6, protocol};

/// Whether an IPv4 packet comes out of the tunnel here.
#[inline(always)]
pub fn owns_v4(tunnel: &SixInFour, destination: V4, packet_protocol: u8) -> bool {
    packet_protocol == protocol::IPV6 && destination.0.0 == tunnel.local.0.0
}

/// Whether an IPv6 packet goes into the tunnel.
#[inline(always)]
pub fn owns_v6(tunnel: &SixInFour, destination: V6) -> bool {
    tunnel.destinations.contains(destination)
}

/// Where a packet goes.
///
/// # Errors
/// Nobody has the other end for it.
#[inline(always)]
pub fn ends(tunnel: &SixInFour, _destination: V6) -> Result<Ends<V4>, Refusal> {
    let destination = match tunnel.peer {
        PeerV4::Fixed(peer) => peer,
    };
    Ok(Ends {
        source: tunnel.local,
        destination,
    })
}

/// Whether `sender` may send a packet with this header through the tunnel.
///
/// # Errors
/// It may not: RFC 4213 section 3.6 for one configured peer. What lies behind the tunnel does not
/// come out of it to go back in.
#[inline(always)]
pub fn accept(tunnel: &SixInFour, sender: V4, header: &ipv6::Header) -> Result<(), Refusal> {
    match tunnel.peer {
        PeerV4::Fixed(peer) => {
            if sender.0.0 != peer.0.0 {
                return Err(Refusal::Drop(Counter::TunnelSource));
            }
        }
    }
    if tunnel.destinations.contains(header.destination()) {
        return Err(Refusal::Drop(Counter::Loop));
    }
    Ok(())
}
