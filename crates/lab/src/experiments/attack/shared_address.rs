//! Datagrams to the free ports of a pool on the router's own address.

use std::net::Ipv4Addr;

use super::{Assault, Attack, ENGINES, arena::Arena, flood::Rate, outcome::Service, packets};
use crate::{
    Result,
    network::{plan, random::Random},
    traffic::packet::Ends,
};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "shared-address",
    finding: "first contact",
    about: "The pool is 10,000 ports of the router's own address. Strangers send to all ports of that address, from \
            millions of addresses: most are nobody's, and the router's kernel is asked about each.",
    engines: ENGINES,
    keys: &[
        super::NAT64,
        "pool = [ { addresses = \"192.0.2.129\", ports = \"20000-29999\" } ]",
    ],
    rates: &[Rate::PerSecond(20_000), Rate::PerSecond(100_000)],
    services: &[Service::Echo, Service::Open],
    prepare,
    gain: None,
};

fn prepare(_: &Arena) -> Result<Assault> {
    Ok(Assault::from_outside(|number| {
        let random = Random::new(number).number();
        // Global addresses all: 32.0.0.0/5.
        let host = Ipv4Addr::from_bits(0x2000_0000 | random as u32 & 0x07ff_ffff);
        let port = 1024 + (random >> 32) as u16 % 60_000;
        packets::datagram(
            Ends::V4(host, plan::EDGE4),
            (port, (random >> 48) as u16),
            &[0; 18],
        )
    }))
}
