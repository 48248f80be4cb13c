//! A few gateways to send packets to.

use std::sync::OnceLock;

use isthmus_core::config::Policy;
use isthmus_engine::memory::Region;
use isthmus_engine::offline::UserTranslator;
use isthmus_gateway::config::{self, Compiled};

/// The configurations, small enough that their limits are met soon.
const DOCUMENTS: [&str; 8] = [
    include_str!("../configurations/siit.toml"),
    include_str!("../configurations/eam.toml"),
    include_str!("../configurations/nat64.toml"),
    include_str!("../configurations/nat64-blocks.toml"),
    include_str!("../configurations/nat44.toml"),
    include_str!("../configurations/tunnels.toml"),
    include_str!("../configurations/sharing.toml"),
    include_str!("../configurations/lwaftr.toml"),
];

/// The key of all hashes; the same in every run, so that an input always does the same.
const SECRET: [u64; 8] = [0x0123_4567_89ab_cdef; 8];

fn compiled(number: u8) -> &'static Compiled {
    static COMPILED: OnceLock<Vec<Compiled>> = OnceLock::new();
    let all = COMPILED.get_or_init(|| DOCUMENTS.map(compile).into());
    &all[usize::from(number) % all.len()]
}

fn compile(text: &str) -> Compiled {
    let loaded = config::parse(
        "fuzz.toml",
        "fuzz",
        text.to_owned(),
        "/nonexistent".as_ref(),
    )
    .unwrap_or_else(|report| panic!("{report}"));
    loaded.document.compile(&SECRET.into()).unwrap()
}

/// How the gateway of this number treats headers.
pub(crate) fn policy(number: u8) -> &'static Policy {
    &compiled(number).instances[0].policy
}

/// A new gateway, without any session.
pub(crate) fn gateway(number: u8) -> UserTranslator {
    let compiled = compiled(number);
    let state = Region::anonymous(compiled.state_lines).unwrap();
    UserTranslator::new(compiled.ruleset().unwrap(), state, 1)
}
