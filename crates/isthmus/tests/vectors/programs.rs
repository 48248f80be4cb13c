//! ICMP errors, fragments and hairpins that the programs of a hook translate by themselves: in their vectors no packet takes
//! the slow path, but the first of a hairpin between two sessions, one in each direction at most.

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

/// The vectors of packets from one inside host to another: of each mechanism, and how many of their packets user space takes.
/// It makes the session on the other side; where a program knows that a packet turns back before it has mapped it, on this one too.
const HAIRPINS: [(&str, u64); 10] = [
    ("rfc7757-4.2.2-intrinsic-figure-8", 0),
    ("rfc7757-4.2.2-intrinsic-tcp", 0),
    ("rfc7757-4.2.2-intrinsic-just-fits", 0),
    ("rfc6146-3.6-hairpin-udp-goes-on", 1),
    ("rfc4787-6-hairpin-goes-on", 2),
    ("rfc6333-8.1-hairpin-goes-on", 2),
    ("rfc7596-6.2-hairpin", 0),
    ("rfc7597-8.1-customer-to-customer", 0),
    ("rfc7599-12.2-customer-to-customer", 0),
    ("rfc7599-12.2-customer-to-customer-tcp", 0),
];

/// Runs the vectors of ICMP errors in an engine. The error names those with packets that took the slow path.
pub(crate) fn errors(cases: &[Arc<Case>], engine: &str) -> Result<(), String> {
    let of_shared = |case: &Case| OF_SHARED_ADDRESSES.contains(&case.name.as_str());
    check(
        cases,
        engine,
        OF_SHARED_ADDRESSES.len(),
        none_slow(of_shared),
    )?;
    check(cases, engine, LEAST, none_slow(is_of_programs))
}

/// Runs the vectors of fragments likewise.
pub(crate) fn fragments(cases: &[Arc<Case>], engine: &str) -> Result<(), String> {
    let is_one = |case: &Case| FRAGMENTS.contains(&case.name.as_str());
    check(cases, engine, FRAGMENTS.len(), none_slow(is_one))
}

/// Runs the vectors of hairpins likewise.
pub(crate) fn hairpins(cases: &[Arc<Case>], engine: &str) -> Result<(), String> {
    check(cases, engine, HAIRPINS.len(), |case| {
        let mut hairpins = HAIRPINS.into_iter();
        hairpins.find_map(|(name, slow)| (name == case.name).then_some(slow))
    })
}

/// Of these vectors, no packet takes the slow path.
fn none_slow(is_one: impl Fn(&Case) -> bool) -> impl Fn(&Case) -> Option<u64> {
    move |case| is_one(case).then_some(0)
}

/// Runs some vectors, which are this many at least: those for which `expected` says how many packets take the slow path.
fn check(
    cases: &[Arc<Case>],
    engine: &str,
    least: usize,
    expected: impl Fn(&Case) -> Option<u64>,
) -> Result<(), String> {
    let mut checked = 0;
    let mut slow = Vec::new();
    for case in cases {
        let Some(expected) = expected(case) else {
            continue;
        };
        let counted = run::counters(case, engine)?;
        checked += 1;
        let packets = counted.get(Counter::SlowPath.name()).copied();
        let packets = packets.unwrap_or(0);
        if packets != expected {
            slow.push(format!("{}: {packets}, not {expected}", case.name));
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
