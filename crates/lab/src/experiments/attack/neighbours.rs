//! Neighbour solicitations for what the gateway answers for.

use std::net::Ipv6Addr;

use isthmus_core::wire::icmpv6::NEIGHBOUR_SOLICITATION;

use super::{Assault, Attack, DNS64, ENGINES, arena::Arena, flood::Rate, outcome::Service};
use crate::{Result, network::plan};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "neighbour-flood",
    finding: "first contact",
    about: "A neighbour on the uplink asks for the Ethernet addresses of a prefix that the gateway answers for, one \
            after another.",
    engines: ENGINES,
    keys: &[super::NAT64, super::POOL, DNS64, NEAR],
    rates: &[Rate::PerSecond(20_000), Rate::PerSecond(100_000)],
    services: &[Service::Echo, Service::Open, Service::Name],
    prepare,
    gain: None,
};

/// A translator whose prefix lies in the network of the uplink.
const NEAR: &str = "[[instance]]\nname = \"near\"\nmechanism = \"siit\"\nprefix = \"2001:db8:4:0:64::/96\"\n\
                    hosts = [\"198.51.100.64/28\"]";
const TARGETS: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 4, 0, 0x64, 0, 0, 0);

fn prepare(_: &Arena) -> Result<Assault> {
    Ok(Assault::from_outside(|number| {
        let target = TARGETS.to_bits() | u128::from(number as u32);
        solicitation(
            plan::HOST4_AS_IPV6,
            plan::GATEWAY4_AS_IPV6,
            Ipv6Addr::from_bits(target),
        )
    }))
}

/// Returns a neighbour solicitation without options (RFC 4861 section 4.3) in an IPv6 packet.
fn solicitation(from: Ipv6Addr, to: Ipv6Addr, target: Ipv6Addr) -> Vec<u8> {
    const ICMPV6: u8 = 58;
    const LENGTH: u8 = 24;
    let mut message = vec![NEIGHBOUR_SOLICITATION, 0, 0, 0, 0, 0, 0, 0];
    message.extend(target.octets());
    let pseudo = [
        &from.octets()[..],
        &to.octets(),
        &[0, LENGTH, 0, ICMPV6],
        &message,
    ]
    .concat();
    let sum: u32 = pseudo
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
        .sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    let header = [0x60, 0, 0, 0, 0, LENGTH, ICMPV6, 255];
    [&header[..], &from.octets(), &to.octets(), &message].concat()
}

#[cfg(test)]
mod tests {
    use etherparse::{Icmpv6Type, NetSlice, SlicedPacket, TransportSlice};

    use super::*;

    #[test]
    fn a_solicitation_is_valid() {
        let [from, to] = [plan::HOST4_AS_IPV6, plan::GATEWAY4_AS_IPV6];
        let packet = solicitation(from, to, TARGETS);
        let sliced = SlicedPacket::from_ip(&packet).unwrap();
        let Some(NetSlice::Ipv6(ip)) = sliced.net else {
            panic!("{packet:?}");
        };
        assert_eq!(ip.header().hop_limit(), 255);
        let Some(TransportSlice::Icmpv6(icmp)) = sliced.transport else {
            panic!("{packet:?}");
        };
        assert!(matches!(icmp.icmp_type(), Icmpv6Type::NeighborSolicitation));
        assert!(icmp.is_checksum_valid(from.octets(), to.octets()));
    }
}
