//! Compares the output with the expectations of the vector.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use isthmus_core::reason::{Counter, Kind};

use super::case::{Case, Packet, Step};
use super::choices::{self, Known};
use super::diff;
use super::pcap::Record;
use super::referee;
use super::run::Outcome;

/// Returns all problems of an outcome.
pub(crate) fn judge(case: &Case, inputs: &[Record], outcome: &Outcome) -> Result<(), String> {
    let packets = judge_packets(case, inputs.len(), &outcome.packets);
    let counters = compare_counters(&case.counters, &outcome.counters).join("\n");
    match (packets, counters) {
        (Ok(()), counters) if counters.is_empty() => Ok(()),
        (Ok(()), counters) => Err(counters),
        (Err(packets), counters) => Err(format!("{packets}\n{counters}")),
    }
}

/// Returns all problems of the packets that the first steps of a vector caused.
pub(crate) fn judge_packets(case: &Case, steps: usize, actual: &[Record]) -> Result<(), String> {
    let mut known = Known::new();
    let mut problems = Vec::new();
    let packets: Vec<&[u8]> = actual.iter().map(|packet| &packet.bytes[..]).collect();
    for problem in referee::check(&packets) {
        problems.push(format!("referee: {problem}"));
    }
    for (number, step) in case.steps.iter().take(steps).enumerate() {
        let own: Vec<&Record> = actual
            .iter()
            .filter(|packet| packet.at == step.at)
            .collect();
        for problem in compare(step, &own, &mut known) {
            problems.push(format!("step {}: {problem}", number + 1));
        }
    }
    for packet in actual {
        if !case.steps.iter().any(|step| step.at == packet.at) {
            let dump = diff::dump(&packet.bytes);
            problems.push(format!(
                "an output at {} µs, when nothing came in:\n{dump}",
                packet.at
            ));
        }
    }
    problems.extend(choices::check(&case.choices, &known));
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("\n"))
    }
}

/// Learns the translator's choices from the first steps.
pub(crate) fn learn(case: &Case, steps: usize, packets: &[Record], known: &mut Known) {
    for step in &case.steps[..steps] {
        let actual: Vec<&Record> = packets
            .iter()
            .filter(|packet| packet.at == step.at)
            .collect();
        compare(step, &actual, known);
    }
}

/// Checks the expected packets of a vector by the referee. Their choices are zero, which is valid.
pub(crate) fn well_formed(case: &Case) -> Result<(), String> {
    let outputs: Vec<&Packet> = case.steps.iter().flat_map(|step| &step.outputs).collect();
    let packets: Vec<&[u8]> = outputs.iter().map(|packet| &packet.bytes[..]).collect();
    let problems = referee::check(&packets);
    if problems.is_empty() {
        Ok(())
    } else {
        Err(format!("{}: {}", case.name, problems.join("; ")))
    }
}

/// Returns the differences in one step.
fn compare(step: &Step, actual: &[&Record], known: &mut Known) -> Vec<String> {
    let mut left = actual.to_vec();
    let mut problems = Vec::new();
    for (number, expected) in step.outputs.iter().enumerate() {
        let fits = |packet: &&Record| {
            let mut trial = known.clone();
            choices::learn(expected, &packet.bytes, &mut trial);
            differences(expected, &packet.bytes, &trial).is_empty()
        };
        let found = if step.any_order {
            left.iter().position(fits).or(Some(0))
        } else {
            Some(0)
        };
        let found = found.filter(|&at| at < left.len());
        if expected.optional && !found.is_some_and(|at| fits(&left[at])) {
            continue;
        }
        let name = format!("output {} of {}", number + 1, step.outputs.len());
        match found {
            None => problems.push(format!(
                "{name} is missing:\n{}",
                diff::dump(&choices::filled(expected, known))
            )),
            Some(at) => {
                let packet = left.remove(at);
                choices::learn(expected, &packet.bytes, known);
                let spans = differences(expected, &packet.bytes, known);
                if !spans.is_empty() {
                    let wanted = choices::filled(expected, known);
                    problems.push(format!(
                        "{name} differs:\n{}",
                        diff::diff(&wanted, &packet.bytes, &spans)
                    ));
                }
                problems
                    .extend(outside(expected, &packet.bytes).map(|text| format!("{name}: {text}")));
            }
        }
    }
    for packet in left {
        problems.push(format!(
            "an output that nobody expects:\n{}",
            diff::dump(&packet.bytes)
        ));
    }
    problems
}

/// Returns the offsets at which a packet is not as expected.
fn differences(expected: &Packet, actual: &[u8], known: &Known) -> Vec<usize> {
    let wanted = choices::filled(expected, known);
    let enough = match expected.shortest {
        Some(shortest) => (shortest..=wanted.len()).contains(&actual.len()),
        None => wanted.len() == actual.len(),
    };
    if !enough {
        return (wanted.len().min(actual.len())..wanted.len().max(actual.len())).collect();
    }
    let mut wrong: Vec<usize> = (0..actual.len())
        .filter(|&at| wanted[at] != actual[at])
        .collect();
    wrong.retain(|&at| {
        !expected
            .free
            .iter()
            .any(|&(start, length)| (start..start + length).contains(&at))
    });
    // A checksum that was adjusted for a choice may have become the other zero.
    for at in expected.choices.iter().flat_map(|place| &place.fix) {
        let word = |bytes: &[u8]| {
            bytes
                .get(*at..*at + 2)
                .map(|w| u16::from_be_bytes([w[0], w[1]]))
        };
        if let (Some(0 | 0xffff), Some(0 | 0xffff)) = (word(&wanted), word(actual)) {
            wrong.retain(|place| place / 2 != at / 2);
        }
    }
    wrong
}

/// Returns the addresses outside their expected prefix.
fn outside<'a>(expected: &'a Packet, actual: &'a [u8]) -> impl Iterator<Item = String> + 'a {
    expected.within.iter().filter_map(move |(at, prefix)| {
        let (network, length) = prefix.split_once('/')?;
        let network: Ipv4Addr = network.parse().ok()?;
        let bytes: [u8; 4] = actual.get(*at..*at + 4)?.try_into().ok()?;
        let shift = 32 - length.parse::<u32>().ok()?;
        let (found, wanted) = (u32::from_be_bytes(bytes), network.to_bits());
        let inside =
            found.checked_shr(shift).unwrap_or(0) == wanted.checked_shr(shift).unwrap_or(0);
        (!inside).then(|| format!("{} is not in {prefix}", Ipv4Addr::from(bytes)))
    })
}

/// Every packet ends in one counter; counters that are not expected must be zero. Events are compared where the
/// vector names them.
fn compare_counters(
    expected: &BTreeMap<String, u64>,
    actual: &BTreeMap<String, u64>,
) -> Vec<String> {
    let mut problems = compare_ends(expected, actual);
    for (name, wanted) in expected {
        let found = actual.get(name).copied().unwrap_or(0);
        match Counter::ALL.iter().find(|counter| counter.name() == name) {
            None => problems.push(format!("there is no counter {name}")),
            Some(counter) if !ends(*counter) && found != *wanted => {
                problems.push(format!("counter {name}: expected {wanted}, found {found}"));
            }
            Some(_) => {}
        }
    }
    problems
}

/// Returns the counters in which packets end.
pub(crate) fn compare_ends(
    expected: &BTreeMap<String, u64>,
    actual: &BTreeMap<String, u64>,
) -> Vec<String> {
    let count = |of: &BTreeMap<String, u64>, counter: &Counter| {
        of.get(counter.name()).copied().unwrap_or(0)
    };
    let all = Counter::ALL.iter().filter(|counter| ends(**counter));
    all.map(|counter| {
        (
            counter.name(),
            count(expected, counter),
            count(actual, counter),
        )
    })
    .filter(|(_, wanted, found)| wanted != found)
    .map(|(name, wanted, found)| format!("counter {name}: expected {wanted}, found {found}"))
    .collect()
}

fn ends(counter: Counter) -> bool {
    matches!(counter.kind(), Kind::Forwarded | Kind::Dropped)
}
