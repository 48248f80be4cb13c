//! ICMP errors that the programs of a hook translate by themselves: in their vectors no packet takes the slow path.

use std::sync::Arc;

use isthmus_core::reason::Counter;
use isthmus_core::wire::content::{Content, Messages};
use isthmus_core::wire::icmp;

use super::case::Case;
use super::run;

/// Names of the vectors about ICMP errors begin with these: of stateless translation, and of sessions, within IPv4 too.
const SECTIONS: [&str; 8] = [
    "rfc7915-4.2-",
    "rfc7915-4.3-",
    "rfc7915-5.2-",
    "rfc7915-5.3-",
    "rfc6146-3.7-",
    "rfc5508-4.1-",
    "rfc5508-4.2-",
    "rfc5508-4.3-",
];

/// In names of the errors among them that user space takes: bytes move or go, the packet that they quote has more than
/// the program has stack for, or they are for an address of the machine.
const IN_USER_SPACE: [&str; 11] = [
    "-extension-",
    "-is-cut-",
    "-inner-gre",
    "-inner-esp",
    "-inner-ipip",
    "-inner-not-ipv4",
    "-udp-without-checksum",
    "-from-the-gateway-itself",
    "-fragment-",
    "-about-a-fragment",
    "-options",
];

/// There are more of them; a change of the names must not make the check empty.
const LEAST: usize = 150;

/// Runs the vectors in an engine. The error names those with packets that took the slow path.
pub(crate) fn check(cases: &[Arc<Case>], engine: &str) -> Result<(), String> {
    let mut checked = 0;
    let mut slow = Vec::new();
    for case in cases.iter().filter(|case| is_of_programs(case)) {
        let counted = run::counters(case, engine)?;
        checked += 1;
        match counted.get(Counter::SlowPath.name()) {
            None | Some(0) => {}
            Some(packets) => slow.push(format!("{}: {packets}", case.name)),
        }
    }
    if checked < LEAST {
        return Err(format!(
            "{checked} vectors are about ICMP errors; expected {LEAST}"
        ));
    }
    if slow.is_empty() {
        Ok(())
    } else {
        Err(format!("packets on the slow path:\n{}", slow.join("\n")))
    }
}

/// Whether all of a vector's packets are for the programs: it is of one of the sections, and has an ICMP error.
fn is_of_programs(case: &Case) -> bool {
    SECTIONS
        .iter()
        .any(|section| case.name.starts_with(section))
        && !IN_USER_SPACE.iter().any(|word| case.name.contains(word))
        && case.steps.iter().any(|step| is_error(&step.input.bytes))
}

/// Whether a packet without options is an ICMP error of a type that is translated.
fn is_error(packet: &[u8]) -> bool {
    let (messages, protocol, message) = match packet.first().map(|byte| byte >> 4) {
        Some(4) => (Messages::V4, packet.get(9), packet.get(20)),
        _ => (Messages::V6, packet.get(6), packet.get(40)),
    };
    let of_family = match messages {
        Messages::V6 => 58,
        Messages::V4 | Messages::WithinV4 => 1,
    };
    protocol == Some(&of_family)
        && message.and_then(|kind| icmp::content(messages, *kind)) == Some(Content::IcmpError)
}
