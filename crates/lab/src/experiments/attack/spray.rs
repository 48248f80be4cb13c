//! Packets of many subscribers who are not there.

use std::{net::Ipv6Addr, sync::Arc};

use super::{
    Assault, Attack, ENGINES,
    arena::Arena,
    fill,
    flood::{Packets, Rate},
    outcome::Service,
    packets,
};
use crate::Result;

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "source-spray",
    finding: "7",
    about: "Packets from all the networks of a /47, so that each is a new subscriber's, where subscribers have limits. \
            The victim is a new subscriber each time.",
    engines: ENGINES,
    keys: &[super::NAT64, super::POOL, "subscriber-sessions = 4096"],
    rates: &[Rate::PerSecond(50_000)],
    services: &[Service::Echo, Service::Newcomer],
    prepare,
    gain: None,
};

/// The network, and the number of its subscribers.
const NETWORK: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xa, 0, 0, 0, 0, 6);
const SUBSCRIBERS: u64 = 1 << 17;
/// The rate of the first packets, and their number: more than there is room for.
const RATE: u32 = 40_000;
const FIRST: u64 = 80_000;

fn prepare(arena: &Arena) -> Result<Assault> {
    let packets: Packets = Arc::new(spray);
    let next = fill::until_refused(arena, &packets, RATE, FIRST)?;
    Ok(Assault::from_inside(move |number| packets(next + number)))
}

/// Returns a packet of the subscriber of this number.
pub(super) fn spray(number: u64) -> Vec<u8> {
    let network = u128::from(number % SUBSCRIBERS) << 64;
    let host = Ipv6Addr::from_bits(NETWORK.to_bits() + network);
    packets::outward(host, number / SUBSCRIBERS)
}
