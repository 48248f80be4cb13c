//! One subscriber opens new flows as fast as its link carries them.

use super::{Assault, Attack, ENGINES, flood::Rate, outcome::Service, packets};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "new-flow-flood",
    finding: "6",
    about: "One subscriber opens flows as fast as it can. There are ports for all of them. \
            The victim opens sessions.",
    engines: ENGINES,
    keys: &[
        super::NAT64,
        "pool = [ { addresses = \"203.0.113.0/26\" } ]\npooling = \"soft\"",
    ],
    rates: &[Rate::PerSecond(10_000), Rate::Full],
    services: &[Service::Echo, Service::Open],
    prepare: |_| Ok(Assault::from_inside(packets::new_flow)),
    gain: None,
};
