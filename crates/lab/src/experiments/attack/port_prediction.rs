//! A host that foretells the outside ports of others from its own.

use super::{Assault, Attack, ENGINES, Gain, arena::Arena, echo, flood::Rate, flows, predict};
use crate::{
    Result,
    network::{
        cores::{GATEWAY_CPU, cpu, pin},
        plan,
    },
};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "port-prediction",
    finding: "3",
    about: "A host opens 400 flows, and foretells from their outside ports those of the next flows, which are others'.",
    engines: ENGINES,
    keys: &[super::NAT64, "pool = [ { addresses = \"203.0.113.1\" } ]"],
    rates: &[Rate::Still],
    services: &[],
    prepare: |_| Ok(Assault::still()),
    gain: Some(foretold),
};

/// The flows of the host, and those after them.
const OWN: usize = 400;
const NEXT: usize = 20;
/// Chance gives one of 20 in a run of a thousand.
const CHANCE: u64 = 1;

fn foretold(arena: &Arena) -> Result<Gain> {
    let missing = |_| echo::problem("attacker", std::io::ErrorKind::TimedOut.into());
    let open = |count: usize, address| -> Result<Vec<u16>> {
        pin(cpu(GATEWAY_CPU))?;
        let ports = (0..count).map(|_| flows::outside(address).map(|outside| outside.port()));
        ports.collect::<Option<_>>().ok_or(()).map_err(missing)
    };
    let own = arena.attacker()?.enter(|| open(OWN, plan::HOST6))?;
    let others = arena.victim()?.enter(|| open(NEXT, arena.victim))?;
    let foretold = predict::next(&own, NEXT);
    // Each way to foretell them is tried; the best counts.
    let hits = foretold.iter().map(|ports| {
        let pairs = ports.iter().zip(&others);
        pairs
            .filter(|(foretold, port)| predict::is_it(**foretold, **port))
            .count()
    });
    Ok(Gain {
        what: "ports foretold".into(),
        got: hits.max().unwrap_or(0) as u64,
        tried: NEXT as u64,
        most: CHANCE,
    })
}
