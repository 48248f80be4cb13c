//! The addresses of packets in 6to4 tunnels (RFC 3964 section 5), beyond what a tunnel with embedded
//! addresses checks for [every domain](super::six_in_four).

use crate::address::sixrd::Domain;
use crate::address::{V4, V6};
use crate::reason::Counter;
use crate::verdict::Refusal;

/// Checks the addresses of a packet that goes into a tunnel from `local` (RFC 3964 section 5.1): a 6to4
/// source is this router's, so that the other end takes the packet, and one of both addresses is 6to4.
///
/// # Errors
/// They are not in order.
#[inline(always)]
pub(super) fn check_entry(
    domain: &Domain,
    local: V4,
    source: V6,
    destination: V6,
) -> Result<(), Refusal> {
    check_addresses(source, destination)?;
    let in_order = match domain.ce_of(source) {
        Some(site) => site.number() == local.number(),
        None => domain.contains(destination),
    };
    if in_order {
        Ok(())
    } else {
        Err(Refusal::Drop(Counter::TunnelSpoofed))
    }
}

/// Checks that both addresses of a packet are global (RFC 3964 section 5.3.2).
///
/// # Errors
/// One of them is not.
#[inline(always)]
pub(super) const fn check_addresses(source: V6, destination: V6) -> Result<(), Refusal> {
    if is_local(source) {
        Err(Refusal::Drop(Counter::IllegalSource))
    } else if is_local(destination) {
        Err(Refusal::Drop(Counter::IllegalDestination))
    } else {
        Ok(())
    }
}

/// RFC 3964 section 5.3.2: 0::/16, fe80::/10, fec0::/10 and ff00::/8.
#[inline(always)]
const fn is_local(address: V6) -> bool {
    let first = address.0[0].high();
    first == 0 || first >= 0xff00 || first & 0xff80 == 0xfe80
}
