//! Strangers on the uplink who use the gateway: its NAT64, and its DNS64 service.

use std::net::SocketAddrV6;

use super::{Assault, Attack, ENGINES, Gain, arena::Arena, echo, flood::Rate, flows, names};
use crate::{Result, network::plan, subjects::isthmus::Engine, traffic::tools::has_answer};

/// The attack on the NAT64.
pub(super) const ATTACK: Attack = Attack {
    name: "open-relay",
    finding: "4",
    about: "A stranger on the uplink sends to the NAT64's prefix, and asks a server by the pool's address.",
    engines: ENGINES,
    keys: &[super::NAT64, super::POOL],
    rates: &[Rate::Still],
    services: &[],
    prepare: |_| Ok(Assault::still()),
    gain: Some(relayed),
};

/// The attack on the DNS64 service.
pub(super) const RESOLVER: Attack = Attack {
    name: "open-resolver",
    finding: "4",
    about: "A stranger on the uplink asks the DNS64 service.",
    engines: &[Engine::User],
    keys: &[super::NAT64, super::POOL, super::DNS64],
    gain: Some(resolved),
    ..ATTACK
};

const QUESTIONS: u32 = 100;

fn relayed(arena: &Arena) -> Result<Gain> {
    let server = echo::from_inside();
    got(
        arena,
        server,
        |number| number.to_be_bytes().into(),
        |_| true,
    )
}

fn resolved(arena: &Arena) -> Result<Gain> {
    let server = SocketAddrV6::new(plan::GATEWAY4_AS_IPV6, names::PORT, 0, 0);
    let question = |number| names::question(number, names::ANSWERED);
    got(arena, server, question, has_answer)
}

fn got(
    arena: &Arena,
    server: SocketAddrV6,
    question: impl Fn(u32) -> Vec<u8> + Send,
    is_wanted: impl Fn(&[u8]) -> bool + Send,
) -> Result<Gain> {
    let problem = |source| echo::problem("stranger", source);
    let got = arena.stranger()?.enter(|| {
        let socket = flows::bind(plan::HOST4_AS_IPV6, server).map_err(problem)?;
        Ok(flows::answers(&socket, QUESTIONS, question, is_wanted))
    })?;
    Ok(Gain {
        what: "answers to a stranger".into(),
        got,
        tried: u64::from(QUESTIONS),
        most: 0,
    })
}
