//! One host fills its outside address, and goes on.

use std::sync::Arc;

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
    name: "full-address",
    finding: "1",
    about: "One host takes all ports of its pool address, and then opens more flows. Nothing bounds the rate \
            of its sessions. The victim has the other address of the pool.",
    engines: ENGINES,
    keys: &[
        super::NAT64,
        "pool = [ { addresses = \"203.0.113.0/31\" } ]\nsubscriber-session-rate = 0",
    ],
    rates: &[
        Rate::PerSecond(200),
        Rate::PerSecond(2000),
        Rate::PerSecond(100_000),
    ],
    services: &[Service::Echo, Service::Open, Service::Fragments],
    prepare,
    gain: None,
};

/// The rate at which the address is filled, and the flows that it takes at most.
const RATE: u32 = 30_000;
const FLOWS: u64 = 160_000;

fn prepare(arena: &Arena) -> Result<Assault> {
    let flows: Packets = Arc::new(packets::new_flow);
    let next = fill::until_refused(arena, &flows, RATE, FLOWS)?;
    Ok(Assault::from_inside(move |number| flows(next + number)))
}
