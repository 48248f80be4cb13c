//! ICMP errors and fragments that the programs of a hook translate by themselves: in their vectors no packet takes the slow
//! path.

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

/// Others, of mechanisms that share addresses: to and from customers, within softwires too, and some that go nowhere.
const OF_SHARED_ADDRESSES: [&str; 20] = [
    "rfc7596-8.1-error-about-udp",
    "rfc7596-8.1-error-about-echo",
    "rfc7596-8.1-error-about-path-mtu",
    "rfc7596-8.1-error-about-nobodys-packet",
    "rfc7596-8.1-no-errors",
    "rfc7597-8.2-icmp-error-to-a-customer",
    "rfc7599-9-icmp-error-to-a-customer",
    "rfc7596-6.2-error-from-a-lwb4",
    "rfc7596-6.2-error-from-a-foreign-source",
    "rfc7596-6.2-error-about-anothers-packet",
    "rfc7597-8.2-icmp-error-from-a-customer",
    "rfc7597-8.1-icmp-error-back",
    "rfc7597-8.1-icmp-error-out",
    "rfc7599-9-icmp-error-from-a-customer",
    "rfc7599-9-icmp-error-about-anothers-packet",
    "rfc7599-9-icmp-error-back",
    "rfc7599-9-icmp-error-out",
    "rfc6877-6.3-icmp-errors-out-and-back",
    "rfc6333-8.2-icmp-error-in",
    "rfc6333-8.2-icmp-error-out",
];

/// There are more of them; a change of the names must not make the check empty.
const LEAST: usize = 150;

/// The vectors of fragments in order, of datagrams with a checksum: of each mechanism to which ports matter, out and in.
const FRAGMENTS: [&str; 14] = [
    "rfc6146-3.7-fragments-6to4",
    "rfc6146-3.7-fragments-4to6",
    "rfc6146-3.4-fragments-tcp-6to4",
    "rfc4787-11-fragments-in-order",
    "rfc6333-6.3-fragments-out",
    "rfc6333-6.3-fragments-in",
    "rfc7596-5.2-fragments-out-and-back",
    "rfc6877-6.3-fragments-out-and-back",
    "rfc7596-6.2-fragments-to-a-lwb4",
    "rfc7596-6.2-fragments-from-a-lwb4",
    "rfc7597-8.3.2-fragments-to-a-customer",
    "rfc7597-8.3.2-fragments-from-a-customer",
    "rfc7599-10.2-fragments-to-a-customer",
    "rfc7599-10.2-fragments-from-a-customer",
];

/// Runs the vectors of ICMP errors in an engine. The error names those with packets that took the slow path.
pub(crate) fn errors(cases: &[Arc<Case>], engine: &str) -> Result<(), String> {
    let of_shared = |case: &Case| OF_SHARED_ADDRESSES.contains(&case.name.as_str());
    check(cases, engine, OF_SHARED_ADDRESSES.len(), of_shared)?;
    check(cases, engine, LEAST, is_of_programs)
}

/// Runs the vectors of fragments likewise.
pub(crate) fn fragments(cases: &[Arc<Case>], engine: &str) -> Result<(), String> {
    check(cases, engine, FRAGMENTS.len(), |case| {
        FRAGMENTS.contains(&case.name.as_str())
    })
}

/// Runs some vectors, which are this many at least.
fn check(
    cases: &[Arc<Case>],
    engine: &str,
    least: usize,
    is_one: impl Fn(&Case) -> bool,
) -> Result<(), String> {
    let mut checked = 0;
    let mut slow = Vec::new();
    for case in cases.iter().filter(|case| is_one(case)) {
        let counted = run::counters(case, engine)?;
        checked += 1;
        match counted.get(Counter::SlowPath.name()) {
            None | Some(0) => {}
            Some(packets) => slow.push(format!("{}: {packets}", case.name)),
        }
    }
    if checked < least {
        return Err(format!("{checked} vectors; expected {least}"));
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
