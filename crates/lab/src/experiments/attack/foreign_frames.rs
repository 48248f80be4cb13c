//! Frames on the gateway's link that are for another machine.

use super::{Assault, Attack, ENGINES, Gain, arena::Arena, echo, flood::Rate, flows};
use crate::{
    Result,
    network::{
        plan,
        topology::{HOST_INTERFACE, mac},
    },
};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "foreign-frames",
    finding: "9",
    about: "Frames on the gateway's link to the address of another machine, and to the broadcast address, \
            with packets that the gateway would translate.",
    engines: ENGINES,
    keys: &[super::NAT64, super::POOL],
    rates: &[Rate::Still],
    services: &[],
    prepare: |_| Ok(Assault::still()),
    gain: Some(translated),
};

/// The Ethernet addresses of another machine, and of all.
const OTHERS: [&str; 2] = ["02:00:00:00:77:77", "ff:ff:ff:ff:ff:ff"];
const QUESTIONS: u32 = 100;

fn translated(arena: &Arena) -> Result<Gain> {
    let problem = |source| echo::problem("attacker", source);
    let attacker = arena.attacker()?;
    let mut got = 0;
    for other in OTHERS {
        address_frames_to(arena, other)?;
        got += attacker.enter(|| {
            let server = echo::from_inside();
            let socket = flows::bind(plan::HOST6, server).map_err(problem)?;
            let question = |number: u32| number.to_be_bytes().into();
            Ok(flows::answers(&socket, QUESTIONS, question, |_| true))
        })?;
    }
    address_frames_to(arena, &mac(0, 1))?;
    Ok(Gain {
        what: "foreign frames translated".into(),
        got,
        tried: OTHERS.len() as u64 * u64::from(QUESTIONS),
        most: 0,
    })
}

/// Makes the attacker send what is for the gateway to this Ethernet address.
fn address_frames_to(arena: &Arena, address: &str) -> Result<()> {
    let gateway = plan::GATEWAY6;
    arena.attacker()?.ip(&[format!(
        "neigh replace {gateway} lladdr {address} dev {HOST_INTERFACE} nud permanent"
    )])
}
