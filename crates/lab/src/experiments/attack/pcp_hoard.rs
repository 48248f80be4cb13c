//! The hosts of one subscriber ask for mappings, each for as many as it may have.

use std::{net::Ipv6Addr, sync::Arc};

use super::{
    Assault, Attack, ENGINES,
    arena::Arena,
    fill,
    flood::{Packets, Rate},
    outcome::Service,
    packets, ports,
};
use crate::{Result, network::plan, traffic::packet::Ends};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "pcp-hoard",
    finding: "5",
    about: "A subscriber asks for mappings from all the addresses of its /64, until the 8192 ports of the pool \
            are used up. The victim asks for a mapping, and opens sessions.",
    engines: ENGINES,
    keys: &[
        super::NAT64,
        "pool = [ { addresses = \"203.0.113.1\", ports = \"1024-9215\" } ]\n\
         pcp = { listen = [\"2001:db8:6::1\", \"2001:db8:7::1\"] }",
    ],
    rates: &[Rate::PerSecond(1000)],
    services: &[Service::Mapping, Service::Open],
    prepare,
    gain: None,
};

/// The subscriber's network, behind a router: nobody has to resolve its addresses.
const NETWORK: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xa, 0, 0, 0, 0, 1);
/// The mappings of each of the subscriber's addresses.
const EACH: u64 = 64;
/// The requests a second, and all of them.
const RATE: u32 = 5000;
const REQUESTS: u64 = 15_000;

fn prepare(arena: &Arena) -> Result<Assault> {
    let requests: Packets = Arc::new(request);
    let next = fill::until_refused(arena, &requests, RATE, REQUESTS)?;
    Ok(Assault::from_inside(move |number| requests(next + number)))
}

fn request(number: u64) -> Vec<u8> {
    let host = Ipv6Addr::from_bits(NETWORK.to_bits() + u128::from(number / EACH));
    let port = 10_000 + (number % EACH) as u16;
    let request = ports::request(host, port, ports::LIFETIME);
    packets::datagram(
        Ends::V6(host, plan::GATEWAY6),
        (port, ports::PORT),
        &request,
    )
}
