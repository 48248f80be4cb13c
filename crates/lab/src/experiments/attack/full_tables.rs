//! Tables and pools that customers fill.

use std::sync::Arc;

use super::{
    Assault, Attack, ENGINES, Gain,
    arena::Arena,
    fill,
    flood::{Packets, Rate},
    outcome::Service,
    packets, spray,
};
use crate::Result;

/// One customer and a pool with limits.
pub(super) const POOL: Attack = Attack {
    name: "one-takes-pool",
    finding: "11",
    about: "The pool has one address, and a customer takes as many of its ports as it gets. \
            Customers have limits, as in the examples. The victim opens sessions.",
    engines: ENGINES,
    keys: &[
        super::NAT64,
        "pool = [ { addresses = \"203.0.113.1\" } ]\nsubscriber-bindings = 4096",
    ],
    rates: &[Rate::PerSecond(100_000)],
    services: &[Service::Echo, Service::Open],
    prepare: take_ports,
    gain: None,
};

/// Many customers and a table that is nearly full.
pub(super) const TABLE: Attack = Attack {
    name: "table-fill",
    finding: "11",
    about: "Many customers fill a table of 65,536 sessions to 95 %. None of their sessions and none of the victim's \
            may be refused.",
    engines: ENGINES,
    keys: &[
        super::NAT64,
        "pool = [ { addresses = \"203.0.113.0/28\" } ]\n\
         max-bindings = 65536\nmax-sessions = 65536",
    ],
    rates: &[Rate::Still],
    services: &[Service::Echo, Service::Newcomer],
    prepare: fill_table,
    gain: Some(refused),
};

/// Flows a second, and all of them.
const RATE: u32 = 40_000;
const FLOWS: u64 = 100_000;
/// 95 of 100 sessions of the table, less those of the victim.
const SESSIONS: u64 = 65_536 * 95 / 100 - 2000;
const TABLE_RATE: u32 = 20_000;

fn take_ports(arena: &Arena) -> Result<Assault> {
    let flows: Packets = Arc::new(packets::new_flow);
    let next = fill::until_refused(arena, &flows, RATE, FLOWS)?;
    Ok(Assault::from_inside(move |number| flows(next + number)))
}

fn fill_table(arena: &Arena) -> Result<Assault> {
    let packets: Packets = Arc::new(|number: u64| spray::spray(number.min(SESSIONS)));
    fill::until_refused(arena, &packets, TABLE_RATE, SESSIONS)?;
    Ok(Assault::still())
}

/// Returns how many packets found no place.
fn refused(arena: &Arena) -> Result<Gain> {
    let refusals = arena.refusals()?;
    let of = |name: &str| refusals.get(name).copied().unwrap_or(0);
    Ok(Gain {
        what: "sessions refused".into(),
        got: of("table-full"),
        tried: SESSIONS,
        most: 0,
    })
}
