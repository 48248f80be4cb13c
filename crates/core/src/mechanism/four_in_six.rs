//! Tunnels that carry IPv4 over IPv6: who has the other end, and what it may send.

use crate::address::{V4, V6};
use crate::config::FourInSix;
use crate::encap::Ends;
use crate::reason::Counter;
use crate::verdict::Refusal;
use crate::wire::ipv4;

/// Whether an IPv4 packet goes into the tunnel.
#[inline(always)]
pub fn owns_v4(tunnel: &FourInSix, destination: V4) -> bool {
    tunnel.destinations.contains(destination) && !tunnel.exempt.contains(destination)
}

/// Whether an IPv6 packet may come out of the tunnel here.
#[inline(always)]
pub fn owns_v6(tunnel: &FourInSix, destination: V6) -> bool {
    destination.is(tunnel.local)
}

/// Where a packet goes.
#[inline(always)]
pub const fn ends(tunnel: &FourInSix) -> Ends<V6> {
    Ends {
        source: tunnel.local,
        destination: tunnel.remote,
    }
}

/// Whether `sender` may send a packet with this header through the tunnel.
///
/// # Errors
/// It may not. What lies behind the tunnel does not come out of it to go back in.
#[inline(always)]
pub fn accept(tunnel: &FourInSix, sender: V6, header: &ipv4::Header) -> Result<(), Refusal> {
    if !sender.is(tunnel.remote) {
        return Err(Refusal::Drop(Counter::TunnelSource));
    }
    if !tunnel.everything && tunnel.destinations.contains(header.destination()) {
        return Err(Refusal::Drop(Counter::Loop));
    }
    Ok(())
}
