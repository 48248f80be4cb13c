//! Random traffic through all engines at once: every gateway here gets the same packets in user space, in XDP and
//! in tc, and the same packets have to leave, with the same ports, and the same counters have to count them.
//!
//! Engines may differ in two ways, which [`alike`] and [`counted`] know: in an identification that an engine chooses
//! (RFC 6864), and in who counts that a packet was handed from one engine to another.

mod operation;
mod packet;
mod scenario;
mod sender;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use isthmus_core::reason::{Counter, Kind};
use isthmus_engine::bpf::{Hook, KernelTranslator};
use isthmus_engine::offline::Translator;
use isthmus_gateway::capture;
use isthmus_gateway::config::{self, Document};
use libtest_mimic::{Failed, Trial};
use proptest::test_runner::{Config, RngAlgorithm, RngSeed, TestCaseError, TestRunner};

use super::diff;
use super::run::{self, Loaded, SEED};
use operation::Operation;
use packet::{Ends, Header, IPV4};
use scenario::Scenario;
use sender::{Sender, described};

/// Runs of each gateway, unless `PROPTEST_CASES` says another number.
const CASES: u32 = 12;
/// Microseconds, of the packets' clock, between two packets that follow each other at once.
const AT_ONCE: u64 = 1000;

/// One test for each gateway.
pub(crate) fn trials() -> Vec<Trial> {
    let ignored = !run::is_root();
    if ignored {
        println!(
            "traffic: {} vectors skipped: needs root",
            scenario::all().len()
        );
    }
    let trial = |scenario: Scenario| {
        let name = format!("traffic::{}", scenario.name);
        Trial::test(name, move || compare(&scenario)).with_ignored_flag(ignored)
    };
    scenario::all().into_iter().map(trial).collect()
}

/// Sends random traffic through a gateway. A failing run is made as short as it gets, and shown with its seed.
fn compare(scenario: &Scenario) -> Result<(), Failed> {
    let document = config::parse(
        "traffic.toml",
        "traffic",
        scenario.configuration.clone(),
        Path::new("/nonexistent"),
    )
    .map_err(|report| report.to_string())?
    .document;
    let environment = Config::default();
    let cases = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => environment.cases / 16,
        None => CASES,
    };
    let seed = match environment.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => SEED,
    };
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        rng_algorithm: RngAlgorithm::ChaCha,
        failure_persistence: None,
        max_shrink_iters: 4000,
        ..Config::default()
    };
    let left = Cell::new(0);
    let result = TestRunner::new(config).run(&operation::operations(), |operations| {
        let packets = send(scenario, &document, &operations).map_err(TestCaseError::fail)?;
        left.set(left.get() + packets);
        Ok(())
    });
    result.map_err(|failure| format!("PROPTEST_RNG_SEED={seed}: {failure}"))?;
    match left.get() {
        // A gateway that lets nothing pass would show nothing.
        packets if packets < cases as usize => Err(format!("only {packets} packets left").into()),
        _ => Ok(()),
    }
}

/// Starts all engines, and stops them again. The result is how many packets left.
fn send(
    scenario: &Scenario,
    document: &Document,
    operations: &[Operation],
) -> Result<usize, String> {
    let mut user = capture::user(document, SEED).map_err(|e| e.to_string())?;
    let (mut xdp_programs, mut tc_programs) = (run::loaded(Hook::Xdp), run::loaded(Hook::Tc));
    let mut xdp = in_kernel(document, Hook::Xdp, xdp_programs.take())?;
    let mut tc = in_kernel(document, Hook::Tc, tc_programs.take())?;
    let compared = all(scenario, operations, [&mut user, &mut *xdp, &mut *tc]);
    (*xdp_programs, *tc_programs) = (Some(xdp), Some(tc));
    compared
}

/// Sends the packets of a run through all engines, one after the other, and compares what leaves.
fn all(
    scenario: &Scenario,
    operations: &[Operation],
    engines: [&mut dyn Translator; 3],
) -> Result<usize, String> {
    let [user, xdp, tc] = engines;
    let mut sender = Sender::new(scenario);
    let mut now = 1_000_000;
    for operation in operations {
        if let Operation::Pass { milliseconds } = operation {
            now += u64::from(*milliseconds) * 1000;
        }
        for packet in sender.packets(operation) {
            now += AT_ONCE;
            let expected = out_of(user, &packet, now)?;
            for (engine, translator) in [("xdp", &mut *xdp), ("tc", &mut *tc)] {
                let outputs = out_of(translator, &packet, now)?;
                if !same(&packet, &expected, &outputs) {
                    return Err(report(engine, &packet, &expected, &outputs));
                }
            }
            for output in &expected {
                sender.see(output);
            }
        }
    }
    let expected = counts(user)?;
    for (engine, translator) in [("xdp", xdp), ("tc", tc)] {
        let counts = counts(translator)?;
        if counts != expected {
            return Err(format!(
                "{engine} counts {counts:?}, user space {expected:?}"
            ));
        }
    }
    Ok(sender.seen())
}

/// An engine in the kernel, with programs that stay loaded from run to run.
fn in_kernel(
    document: &Document,
    hook: Hook,
    loaded: Loaded,
) -> Result<Box<KernelTranslator>, String> {
    let translator = capture::kernel(document, SEED, run::programs(hook, loaded));
    translator.map(Box::new).map_err(|e| e.to_string())
}

fn out_of(
    translator: &mut dyn Translator,
    packet: &[u8],
    now: u64,
) -> Result<Vec<Vec<u8>>, String> {
    let mut outputs = Vec::new();
    let mut send = |head: &[u8], tail: &[u8]| outputs.push([head, tail].concat());
    translator
        .translate(packet, now * 1000, &mut send)
        .map_err(|e| e.to_string())?;
    Ok(outputs)
}

/// Whether two engines sent the same packets.
fn same(input: &[u8], one: &[Vec<u8>], other: &[Vec<u8>]) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| alike(input, one, other))
}

/// Whether two packets are the same but for an identification that the engine has chosen.
fn alike(input: &[u8], one: &[u8], other: &[u8]) -> bool {
    one == other || one.len() == other.len() && comparable(input, one) == comparable(input, other)
}

/// A packet without the identification that its engine chose.
fn comparable(input: &[u8], packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    let (Some(came), Some(leaves)) = (Header::of(input), Header::of(&packet)) else {
        return packet;
    };
    let had_none = matches!(came.ends, Ends::V6(..)) && came.protocol != IPV4 && !came.fragment;
    match leaves.ends {
        // RFC 7915 section 5.1, RFC 6864 section 4: an IPv6 packet without a Fragment header has none, and needs
        // one if it may be cut.
        Ends::V4(..) if had_none && packet[6] & 0x40 == 0 => {
            packet[4..6].fill(0);
            packet[10..12].fill(0);
        }
        // RFC 2473 section 7.1: the packet of a softwire is cut, and not the one in it.
        Ends::V6(..) if leaves.fragment && leaves.protocol == IPV4 => packet[44..48].fill(0),
        _ => {}
    }
    packet
}

/// The counters of packets and of state, of an engine and of the one that it hands packets to.
fn counts(translator: &mut dyn Translator) -> Result<BTreeMap<&'static str, u64>, String> {
    translator.finish().map_err(|e| e.to_string())?;
    let counters = translator.counters().map_err(|e| e.to_string())?;
    let counted = counters
        .iter()
        .filter(|(counter, count)| counted(*counter) && *count != 0);
    Ok(counted
        .map(|(counter, count)| (counter.name(), count))
        .collect())
}

/// Whether a counter is of the gateway, and not of one engine: a packet that is handed on counts in both.
fn counted(counter: Counter) -> bool {
    counter.kind() != Kind::Passed || counter == Counter::FragmentHeld
}

fn report(engine: &str, input: &[u8], expected: &[Vec<u8>], outputs: &[Vec<u8>]) -> String {
    let mut text = format!("{}\n{}", described(input), diff::dump(input));
    for (engine, packets) in [("user", expected), (engine, outputs)] {
        let _ = write!(text, "\n{engine} sends {}:", packets.len());
        for packet in packets {
            let _ = write!(text, "\n{}\n{}", described(packet), diff::dump(packet));
        }
    }
    text
}
