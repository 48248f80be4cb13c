//! Jool's file of one instance: `jool file handle FILE`, `jool_siit file handle FILE`.
//!
//! A key that is absent has Jool's default, which is written where ours is another.

mod bib;
mod common;
mod nat64;
mod pool4;
mod siit;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

use ipnet::{Ipv4Net, Ipv6Net};
use serde_json::Value;

use super::draft::{self, Draft};
use super::json::{Member, Object};
use super::sink::Sink;

/// The program that the file is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `jool`
    Nat64,
    /// `jool_siit`
    Siit,
}

/// Keys that one of them has alone, at the top.
const NAT64: [&str; 2] = ["pool4", "bib"];
const SIIT: [&str; 3] = ["eamt", "denylist4", "blacklist4"];

/// Reads a file, and writes what it says.
pub(super) fn import(path: &Path, text: &str, sink: &Sink) -> Option<Draft> {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => {
            sink.mistake(
                sink.line(error.line()),
                format_args!("this is not JSON: {error}"),
            );
            return None;
        }
    };
    let top = Member::root(&value, sink).object()?;
    let empty = Value::Object(serde_json::Map::new());
    let global = match top.take("global") {
        Some(member) => member.object()?,
        None => Member::root(&empty, sink).object()?,
    };
    let kind = kind(&top, &global)?;
    let mut draft = Draft::default();
    draft.comment(&format!(
        "Written by `isthmus import jool {}`.",
        path.display()
    ));
    draft.comment(
        "User space translates what comes over any link, as Jool does. XDP and tc are faster: see `[[interface]]`.",
    );
    framework(&top);
    common::logging(&global, &mut draft);
    if kind == Kind::Nat64 {
        nat64::records(&global, &mut draft);
    }
    draft.heading("[[instance]]");
    draft.quote("name", name(&top));
    match kind {
        Kind::Nat64 => nat64::write(&top, &global, &mut draft)?,
        Kind::Siit => siit::write(&top, &global, &mut draft),
    }
    top.finish();
    global.finish();
    Some(draft)
}

/// Returns which program the file is for. It says so by its keys only.
fn kind(top: &Object<'_>, global: &Object<'_>) -> Option<Kind> {
    let nat64 = top.has(&NAT64) || global.has(nat64::KEYS);
    let siit = top.has(&SIIT) || global.has(siit::KEYS);
    match (nat64, siit) {
        (true, false) => Some(Kind::Nat64),
        (false, true) => Some(Kind::Siit),
        (true, true) => {
            top.wrong("has keys of `jool` and of `jool_siit`; a file is for one of them");
            None
        }
        (false, false) => {
            top.wrong(
                "could be for `jool` or for `jool_siit`; write \"pool4\" with the addresses of the machine and their \
                 ports if it is for `jool`, \"eamt\": [] if it is for `jool_siit`",
            );
            None
        }
    }
}

fn name(top: &Object<'_>) -> String {
    let Some(member) = top.take("instance") else {
        return "jool".to_owned();
    };
    let given = member.string("the name of the instance").unwrap_or("jool");
    let name = draft::name(given);
    if name != given {
        member.left_out(&format!(
            "names are letters, digits, `-`, `_` and `.`; it is called \"{name}\""
        ));
    }
    name
}

/// Netfilter's hook takes every packet, as the routes of the gateway do.
fn framework(top: &Object<'_>) {
    let Some(member) = top.take("framework") else {
        return;
    };
    match member.string("\"netfilter\" or \"iptables\"") {
        Some("iptables") => member.left_out(
            "rules with `-j JOOL` or `-j JOOL_SIIT` chose the packets; remove them: destinations choose now, and \
             `inside` and `side = \"outside\"` may narrow it",
        ),
        Some("netfilter") | None => {}
        Some(_) => member.wrong("\"netfilter\" or \"iptables\""),
    }
}

/// A network whose length may be missing, and which has no bits behind it.
fn v4_net(member: &Member<'_>) -> Option<Ipv4Net> {
    let expected = "an IPv4 network such as \"192.0.2.0/24\"";
    let text = member.string(expected)?;
    let host = text.parse::<Ipv4Addr>().ok().map(Ipv4Net::from);
    let net = host.or_else(|| text.parse().ok());
    let net = net.filter(|net: &Ipv4Net| net.trunc() == *net);
    if net.is_none() {
        member.wrong(expected);
    }
    net
}

/// The same of IPv6.
fn v6_net(member: &Member<'_>) -> Option<Ipv6Net> {
    let expected = "an IPv6 network such as \"2001:db8::/96\"";
    let text = member.string(expected)?;
    let host = text.parse::<Ipv6Addr>().ok().map(Ipv6Net::from);
    let net = host.or_else(|| text.parse().ok());
    let net = net.filter(|net: &Ipv6Net| net.trunc() == *net);
    if net.is_none() {
        member.wrong(expected);
    }
    net
}
