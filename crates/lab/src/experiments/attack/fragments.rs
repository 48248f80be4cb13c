//! Fragments of datagrams that never become whole, and whole packets with a Fragment header.

use std::net::Ipv4Addr;

use super::{Assault, Attack, ENGINES, flood::Rate, outcome::Service, packets};
use crate::{
    network::{plan, random::Random},
    subjects::isthmus::Engine,
    traffic::packet::Ends,
};

/// The attack of strangers.
pub(super) const ATTACK: Attack = Attack {
    name: "fragments",
    finding: "8",
    about: "Strangers send fragments of 28 octets to the pool, first and last ones, whose others never come. \
            The victim sends and receives datagrams of 4000 octets.",
    engines: ENGINES,
    keys: &[super::NAT64, super::POOL],
    rates: &[Rate::PerSecond(600), Rate::PerSecond(10_000)],
    services: &[Service::Echo, Service::Fragments],
    prepare: |_| {
        Ok(Assault::from_outside(|number| {
            lonely_fragment(number, OUTSIDE)
        }))
    },
    gain: None,
};

/// The attack of a customer.
pub(super) const FROM_INSIDE: Attack = Attack {
    name: "fragments-inside",
    about: "The same by a customer, with fragments of 56 octets.",
    prepare: |_| Ok(Assault::from_inside(lonely_inside)),
    ..ATTACK
};

/// The attack of strangers who write to the table of datagrams, as fast as they can.
pub(super) const FIRST: Attack = Attack {
    name: "first-fragments",
    finding: "-",
    about: "Strangers send first fragments of 28 octets to the pool, each of a datagram of its own, which all have to be \
            remembered. Not in user space, which carries no full rate of anything.",
    engines: &[Engine::Xdp, Engine::Tc],
    rates: &[Rate::PerSecond(100_000), Rate::Full],
    prepare: |_| {
        Ok(Assault::from_outside(|number| {
            lonely_fragment(2 * number, OUTSIDE)
        }))
    },
    ..ATTACK
};

/// The attack of strangers whose fragments all wait for a first one.
pub(super) const LATER: Attack = Attack {
    name: "last-fragments",
    about: "Strangers send last fragments of 28 octets to the pool, each of a datagram of its own, and more than user space \
            takes. The victim's fragments have to be cut, so that they go there too. Not in user space, as above.",
    prepare: |_| {
        Ok(Assault::from_outside(|number| {
            lonely_fragment(2 * number + 1, OUTSIDE)
        }))
    },
    ..FIRST
};

/// Whole packets.
pub(super) const ATOMIC: Attack = Attack {
    name: "atomic-fragments",
    about: "A customer sends whole packets with a Fragment header (RFC 6946), in one flow.",
    rates: &[Rate::PerSecond(2000), Rate::PerSecond(20_000)],
    prepare: |_| Ok(Assault::from_inside(atomic)),
    ..ATTACK
};

/// The Fragment header, of IPv6.
const FRAGMENT: u8 = 44;
const UDP: u8 = 17;

/// An address of the pool.
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
/// The end of the datagrams that never become whole, in octets.
const LAST: u16 = 1448;

/// Returns a fragment of 28 octets of a datagram of its own, from a source of its own: of an even number the first one, and of an
/// odd one the last one.
pub fn lonely_fragment(number: u64, to: Ipv4Addr) -> Vec<u8> {
    let source = Random::new(number).number();
    let host = Ipv4Addr::from_bits(0x2000_0000 | source as u32 & 0x07ff_ffff);
    let mut packet = vec![0x45, 0, 0, 28];
    packet.extend((number as u16).to_be_bytes());
    let place = if number.is_multiple_of(2) {
        1 << 13
    } else {
        LAST / 8
    };
    packet.extend(place.to_be_bytes());
    // The kernel fills in the checksum.
    packet.extend([64, UDP, 0, 0]);
    packet.extend(host.octets());
    packet.extend(to.octets());
    packet.extend(udp());
    packet
}

/// Returns the same of the attacker, with the Fragment header of IPv6.
fn lonely_inside(number: u64) -> Vec<u8> {
    let place = if number.is_multiple_of(2) { 1 } else { LAST };
    with_header(place, number as u32, &udp())
}

/// Returns the header of a UDP datagram of [`LAST`] octets and eight more.
fn udp() -> Vec<u8> {
    let fields = [2000, 9, LAST + 8, 1];
    fields.into_iter().flat_map(u16::to_be_bytes).collect()
}

/// Returns a whole packet with a Fragment header.
fn atomic(number: u64) -> Vec<u8> {
    let whole = packets::harmless(0);
    with_header(0, number as u32, &whole[40..])
}

/// Returns a payload behind a Fragment header with this offset in octets, and its lowest bit if there are more.
fn with_header(place: u16, identification: u32, payload: &[u8]) -> Vec<u8> {
    let ends = Ends::V6(plan::HOST6, plan::embed(packets::NOWHERE));
    let mut headers = vec![UDP, 0];
    headers.extend(place.to_be_bytes());
    headers.extend(identification.to_be_bytes());
    ends.carry(FRAGMENT, &[&headers, payload].concat(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_as_short_as_they_get() {
        assert!(
            [lonely_fragment(6, OUTSIDE), lonely_fragment(7, OUTSIDE)]
                .iter()
                .all(|packet| packet.len() == 28)
        );
        // More fragments, and an offset of 181 times eight.
        let [first, last, another] = [6, 7, 8].map(|number| lonely_fragment(number, OUTSIDE));
        assert_eq!((first[6], &last[6..8]), (0x20, &[0, 181][..]));
        assert_ne!(first, another);
        assert_eq!(lonely_inside(7).len(), 56);
        assert_eq!(lonely_inside(7)[4..7], [0, 16, FRAGMENT]);
        assert_eq!(atomic(7).len(), packets::harmless(0).len() + 8);
        // Next header, offset 0 and no more fragments, identification.
        assert_eq!(atomic(7)[40..48], [UDP, 0, 0, 0, 0, 0, 0, 7]);
    }
}
