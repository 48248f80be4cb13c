//! The checks that MAP-E and MAP-T share.

use crate::address::map::{MapRule, MapRules, Mismatch};
use crate::address::{V4, V6};
use crate::customer::{Destination, Receiver};
use crate::reason::Counter;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::map::Ports;
    use crate::testing::{v4, v6};
    use crate::wire::protocol;

    /// A rule for 192.0.2.0/24 by which CEs have so many EA bits.
    fn rules(ea_bits: u8) -> MapRules {
        let rule = MapRule::new(
            (v6("2001:db8::"), 40),
            (v4("192.0.2.0"), 24),
            ea_bits,
            Ports::Embedded { offset: 6 },
        );
        let mut rules = MapRules::NONE;
        rules.push(rule.unwrap()).unwrap();
        rules
    }

    fn found(rules: &MapRules, port: Option<u16>) -> Option<Receiver> {
        let to = Destination {
            address: v4("192.0.2.18"),
            protocol: protocol::UDP,
            port,
        };
        receiver(rules, &to)
    }

    /// RFC 7597 appendix A, example 1: of the ports of 192.0.2.18, the CE has 1232 to 1235, 2256 to 2259, and so on.
    #[test]
    fn ports_of_one_set_are_one_receiver() {
        let rules = rules(16);
        let ce = Some(Receiver::V6(v6("2001:db8:12:3400:0:c000:212:34")));
        for port in [1232, 1235, 2256, 64_720, 64_723] {
            assert_eq!(found(&rules, Some(port)), ce, "{port}");
        }
        let next = found(&rules, Some(1236));
        assert!(next.is_some() && next != ce);
        assert_eq!(found(&rules, Some(1023)), None, "in no set");
        assert_eq!(found(&rules, None), None, "of any of them");
    }

    #[test]
    fn later_fragments_to_a_whole_address_have_a_receiver() {
        let rules = rules(8);
        let ce = found(&rules, None);
        assert!(ce.is_some());
        assert_eq!(found(&rules, Some(80)), ce);
    }
}
