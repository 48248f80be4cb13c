//! Flows of one customer that hide those of others from the records.

use std::{collections::BTreeSet, fs, net::SocketAddrV4, thread, time::Duration};

use serde_json::Value;

use super::{Assault, Attack, ENGINES, Gain, arena::Arena, flood::Rate, outcome::Service, packets};
use crate::{LabError, Result};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "record-flood",
    finding: "10",
    about: "A customer opens 5000 flows a second, five times as many as are recorded. \
            Each session that other customers open has to have its binding in the records.",
    engines: ENGINES,
    keys: &[
        super::NAT64,
        "pool = [ { addresses = \"203.0.113.0/31\" } ]\nsubscriber-session-rate = 0",
        "[records]\njson = \"records.jsonl\"\nrate = 1000",
    ],
    rates: &[Rate::PerSecond(5000)],
    services: &[Service::Newcomer],
    prepare: |_| Ok(Assault::from_inside(packets::new_flow)),
    gain: Some(hidden),
};

/// The time after which a session is recorded.
const RECORDED: Duration = Duration::from_secs(3);

/// Returns how many of the victim's sessions have no binding in the records.
fn hidden(arena: &Arena) -> Result<Gain> {
    thread::sleep(RECORDED);
    let path = arena.gateway.directory().join("records.jsonl");
    let text = fs::read_to_string(&path).map_err(LabError::file(&path))?;
    let recorded: BTreeSet<SocketAddrV4> = text.lines().filter_map(binding).collect();
    let opened = arena.take_opened();
    let missing = opened.iter().filter(|outside| !recorded.contains(outside));
    Ok(Gain {
        what: "bindings without a record".into(),
        got: missing.count() as u64,
        tried: opened.len() as u64,
        most: 0,
    })
}

/// Returns the outside endpoint of a binding that was made.
fn binding(line: &str) -> Option<SocketAddrV4> {
    let record: Value = serde_json::from_str(line).ok()?;
    let port = record["outside-port"].as_u64()?.try_into().ok()?;
    let address = record["outside-address"].as_str()?.parse().ok()?;
    (record["event"] == "binding-created").then(|| SocketAddrV4::new(address, port))
}
