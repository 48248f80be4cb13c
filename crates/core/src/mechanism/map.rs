//! The checks that MAP-E and MAP-T share.

use crate::address::map::{MapRule, MapRules, Mismatch};
use crate::address::{V4, V6};
use crate::reason::Counter;
use crate::slow::customer::{Destination, Receiver};
use crate::verdict::{IcmpError, Refusal};
use crate::wire::tuple::Tuple;

/// The refusal of a packet to an address and port that no CE has.
pub(super) const NOBODY: Refusal =
    Refusal::Reply(IcmpError::AddressUnreachable, Counter::TunnelDestination);

/// Checks that the CE with a MAP IPv6 address may send from an IPv4 address and port (RFC 7597 section
/// 8.1, RFC 7599 section 8).
///
/// # Errors
/// No rule covers the sender, or the address and port are not its own.
#[inline(always)]
pub(super) fn check(
    rule: Option<&MapRule>,
    sender: V6,
    address: V4,
    port: u16,
) -> Result<(), Refusal> {
    let rule = rule.ok_or(Refusal::Drop(Counter::TunnelSource))?;
    rule.check(sender, address, port)
        .map_err(|_: Mismatch| Refusal::Drop(Counter::TunnelSpoofed))
}

/// The IPv4 address of the CE that sent a packet, checked.
///
/// # Errors
/// See [`check`]; a CE that uses what is not its own is told (RFC 7599 sections 8.2 and 8.3).
#[inline(always)]
pub(super) fn ce_of(rule: Option<&MapRule>, tuple: &Tuple<V6>) -> Result<V4, Refusal> {
    let address = rule.map_or(V4::default(), |rule| rule.host_v4_in(tuple.source));
    match check(rule, tuple.source, address, tuple.source_port) {
        Ok(()) => Ok(address),
        Err(Refusal::Drop(spoofed @ Counter::TunnelSpoofed)) => {
            Err(Refusal::Reply(IcmpError::SourcePolicy, spoofed))
        }
        Err(refusal) => Err(refusal),
    }
}

/// The CE that has a port. A later fragment finds the CE of a whole address.
#[inline(always)]
pub(super) fn receiver(rules: &MapRules, to: &Destination) -> Option<Receiver> {
    let port = to.port.unwrap_or(0);
    let rule = rules.find_v4(to.address, port)?;
    if to.port.is_none() && !rule.sharing().is_whole() {
        return None;
    }
    rule.address_of(to.address, port).map(Receiver::V6)
}
