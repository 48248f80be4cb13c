//! Values that the translator chose: read where they first appear, and filled in everywhere else.

use std::collections::BTreeMap;

use super::case::{Packet, Parity, Place, Rule};

/// Name and value of every known choice.
pub(crate) type Known = BTreeMap<String, u16>;

/// Whether all choices of a packet are known.
pub(crate) fn complete(packet: &Packet, known: &Known) -> bool {
    packet
        .choices
        .iter()
        .all(|place| known.contains_key(&place.name))
}

/// Learns the choices of an expected packet from the actual one.
pub(crate) fn learn(expected: &Packet, actual: &[u8], known: &mut Known) {
    for place in &expected.choices {
        if let Some(value) = read(actual, place) {
            known.entry(place.name.clone()).or_insert(value);
        }
    }
}

/// Returns the bytes of a packet with its choices filled in and its checksums adjusted. Unknown choices stay
/// zero.
pub(crate) fn filled(packet: &Packet, known: &Known) -> Vec<u8> {
    let mut bytes = packet.bytes.clone();
    for place in &packet.choices {
        let value = known.get(&place.name).copied().unwrap_or(0);
        let shifted = if place.size == 1 && place.at % 2 == 0 {
            value << 8
        } else {
            value
        };
        let end = place.at + place.size;
        bytes[place.at..end].copy_from_slice(&value.to_be_bytes()[2 - place.size..]);
        for &at in &place.fix {
            let old = u16::from_be_bytes([bytes[at], bytes[at + 1]]);
            bytes[at..at + 2].copy_from_slice(&grown(old, shifted).to_be_bytes());
        }
    }
    bytes
}

/// Returns a checksum after the data that it covers grew by `delta` (RFC 1624, equation 3).
fn grown(checksum: u16, delta: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(delta);
    !((sum & 0xffff) as u16 + (sum >> 16) as u16)
}

fn read(bytes: &[u8], place: &Place) -> Option<u16> {
    let found = bytes.get(place.at..place.at + place.size)?;
    Some(
        found
            .iter()
            .fold(0, |value, &byte| value << 8 | u16::from(byte)),
    )
}

/// Returns the violated conditions of the chosen values.
pub(crate) fn check(rules: &BTreeMap<String, Rule>, known: &Known) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, rule) in rules {
        let Some(&value) = known.get(name) else {
            continue;
        };
        if !(rule.low..=rule.high).contains(&value) {
            problems.push(format!(
                "choice {name}: {value} is not in {}..={}",
                rule.low, rule.high
            ));
        }
        let parity = if value % 2 == 0 {
            Parity::Even
        } else {
            Parity::Odd
        };
        if rule.parity.is_some_and(|wanted| wanted != parity) {
            problems.push(format!("choice {name}: {value} is not {:?}", rule.parity));
        }
        for other in &rule.differs {
            if known.get(other) == Some(&value) {
                problems.push(format!("choice {name}: {value}, the same as {other}"));
            }
        }
    }
    problems
}
