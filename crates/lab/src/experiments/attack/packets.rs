//! The packets of attackers, as octets of IP.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::{
    network::plan,
    traffic::packet::{ETHERNET, Ends, Packet},
};

/// The UDP port of flows that nobody answers (discard, RFC 863).
const NOBODY: u16 = 9;
/// Where nobody answers: addresses behind the server (RFC 2544 appendix C.2.2).
pub(super) const NOWHERE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// Ports that a host uses for its own flows, in this attack.
const PORTS: u64 = 64_000;
const FIRST: u16 = 1024;

/// Returns a UDP datagram in an IP packet.
pub fn datagram(ends: Ends, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let sum = payload
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
        .sum();
    let mut frame = Packet::new(ends, ports).headers(payload.len(), sum, [0; 6], [0; 6]);
    frame.extend(payload);
    frame.split_off(usize::from(ETHERNET))
}

/// Returns a packet of the attacker's flow of this number. It uses more addresses of its network when its ports are
/// used up.
pub(super) fn new_flow(number: u64) -> Vec<u8> {
    let host = plan::HOST6.to_bits() & !0xffff | u128::from(0x1000 + number / PORTS);
    outward(Ipv6Addr::from_bits(host), number)
}

/// Returns a packet from an address inside to where nobody answers.
pub(super) fn outward(host: Ipv6Addr, number: u64) -> Vec<u8> {
    let ends = Ends::V6(host, plan::embed(NOWHERE));
    let port = FIRST + (number % PORTS) as u16;
    datagram(ends, (port, NOBODY), &[0; 18])
}

/// Returns a packet of the one flow that does no harm.
pub(super) fn harmless(_: u64) -> Vec<u8> {
    outward(plan::HOST6, 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn flows_differ() {
        let numbers = [0, 1, PORTS - 1, PORTS, PORTS + 1, 1_000_000];
        let flows: BTreeSet<_> = numbers.into_iter().map(new_flow).collect();
        assert_eq!(flows.len(), numbers.len());
        assert!(flows.iter().all(|packet| packet.len() == 40 + 8 + 18));
    }
}
