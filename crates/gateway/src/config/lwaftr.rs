//! The lwAFTR of `lw4o6`, and its binding table: rows of the document, and of a file of its own, one
//! `b4-address,ipv4,psid` a line.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};
use isthmus_core::address::port_set::Sharing;
use isthmus_core::address::softwire::{SharedNetworks, Softwire};
use isthmus_core::address::special;
use isthmus_core::config as core;
use isthmus_core::datagrams::BorderDatagrams;

use super::composed::{self, Composed, UNICAST};
use super::diagnose::{Diagnostic, Sink};
use super::rows::{self, Files, Rows, Wrong};
use super::source::{At, Span};
use super::table::{Reader, Value};
use super::{map_rules, section};

/// The lwAFTR of lw4o6 (RFC 7596 section 6).
pub(super) fn lwaftr(reader: &Reader<'_>, files: &mut Files<'_>) -> Option<Composed> {
    let local = composed::v6(reader, "local", "\"2001:db8:ffff::1\"");
    let networks = networks(reader);
    let policy = policy(reader);
    let rows = (reader.get("softwires"), reader.get("softwire-file"));
    if let (None, None) = rows {
        let example = "[{ b4 = \"2001:db8:a::1\", v4 = \"192.0.2.18\", psid = 52 }]";
        reader.missing("softwires", example);
    }
    let (local, networks) = (local?, networks?);
    let table = Rules::new(local.value, &networks);
    let mut softwires = section::each(reader, "softwires", "a list of softwires", |value| {
        Some(value.at(in_document(value, &table)?))
    });
    if let Some(value) = rows.1 {
        let kind = Rows {
            what: "softwire",
            example: ROW,
        };
        softwires.extend(rows::file(&value, files, &kind, |row| in_file(row, &table)));
    }
    let borders = table.borders.into_inner();
    refuse_contradictions(&softwires, &borders, reader.sink);
    let core = core::AnyMechanism::LwAftr(core::LwAftr {
        borders,
        shared: table.shared,
        softwires: core::SoftwireTable::default(),
        policy,
        datagrams: BorderDatagrams::default(),
    });
    let mut composed = Composed::new("lw4o6 aftr", core);
    for network in &networks {
        composed.claim(network.v4, "shared addresses", network.span);
    }
    for border in borders.iter().map(Ipv6Addr::from) {
        composed.claim(Ipv6Net::from(border), "end of the softwires", local.span);
    }
    composed.own.1 = Some(local.value);
    plan(&mut composed, &networks, softwires.len(), &policy);
    composed.softwires = softwires.iter().map(|softwire| softwire.value).collect();
    Some(composed)
}

/// Addresses of CEs, and the division of their ports.
#[derive(Clone, Copy)]
struct Network {
    v4: Ipv4Net,
    ports: Sharing,
    span: Span,
}

/// `sharing`: at least one network.
fn networks(reader: &Reader<'_>) -> Option<Vec<Network>> {
    let example = "[{ v4 = \"192.0.2.0/24\", psid-length = 8, psid-offset = 6 }]";
    let given = reader.require("sharing", example)?;
    let networks = section::each(reader, "sharing", "a list of networks", network);
    if networks.is_empty() {
        if !reader.sink.has_errors() {
            given.refuse("is empty", format!("expected networks such as {example}"));
        }
        return None;
    }
    let refuse = |span, problem: String, expected: &str| {
        given.spanning(span).refuse(problem, expected);
    };
    for (index, network) in networks.iter().enumerate() {
        if networks[..index].iter().any(|other| other.v4 == network.v4) {
            let problem = format!("has {} twice", network.v4);
            refuse(network.span, problem, "its ports are divided in one way");
            return None;
        }
    }
    if let Some(excess) = networks.get(SharedNetworks::MOST) {
        let expected = format!("at most {} networks", SharedNetworks::MOST);
        refuse(excess.span, "has too many networks".to_owned(), &expected);
        return None;
    }
    Some(networks)
}

/// `{ v4 = "…", psid-length = …, psid-offset = … }`
fn network(value: Value<'_>) -> Option<Network> {
    let example = "a network such as { v4 = \"192.0.2.0/24\", psid-length = 8, psid-offset = 6 }";
    let reader = value.table("a network that is shared", example)?;
    let v4 = reader.needs("v4", "\"192.0.2.0/24\"", |v| v.ipv4_net());
    let length = match reader.get("psid-length") {
        None => Some(0),
        Some(value) => value.integer(0..=16),
    };
    let offset = map_rules::offset(&reader);
    reader.finish(|_| None);
    let (v4, length, offset) = (v4?, length?, offset?);
    match Sharing::new(offset, length) {
        Ok(ports) => Some(Network {
            v4,
            ports,
            span: value.span,
        }),
        Err(error) => {
            value.refuse(format_args!("is not possible: {error}"), example);
            None
        }
    }
}

fn policy(reader: &Reader<'_>) -> core::LwAftrPolicy {
    let permission = |key| reader.choice(key).unwrap_or(core::Permission::Allow);
    let unbound = |key| reader.choice(key).unwrap_or(core::Unbound::Answer);
    core::LwAftrPolicy {
        hairpin: permission("hairpin"),
        incoming_icmp: permission("incoming-icmp"),
        unbound_v4: unbound("unbound-v4"),
        unbound_v6: unbound("unbound-v6"),
    }
}

/// An example of a row.
const ROW: &str = "2001:db8:a::1,192.0.2.18,52";

/// The context in which rows are read.
struct Rules {
    shared: SharedNetworks,
    /// Its networks, for people.
    listed: String,
    /// The addresses of this end: that of the instance first, then what rows name.
    borders: RefCell<core::Borders>,
}

/// A row as it is written.
struct Written {
    b4: Ipv6Addr,
    v4: Ipv4Addr,
    psid: Option<u16>,
    border: Option<Ipv6Addr>,
}

impl Rules {
    fn new(local: Ipv6Addr, networks: &[Network]) -> Self {
        let listed: Vec<_> = networks.iter().map(|one| one.v4.to_string()).collect();
        let networks: Vec<_> = networks
            .iter()
            .map(|one| (one.v4.network().into(), one.v4.prefix_len(), one.ports))
            .collect();
        let mut borders = core::Borders::default();
        borders.push(local.into());
        Self {
            shared: SharedNetworks::new(&networks).unwrap_or_default(),
            listed: listed.join(" or "),
            borders: RefCell::new(borders),
        }
    }

    /// Returns the softwire of a row, or the problem and the correction.
    fn softwire(&self, row: &Written) -> Result<Softwire, Wrong> {
        let Written {
            b4,
            v4,
            psid,
            border,
        } = *row;
        for address in [Some(b4), border].into_iter().flatten() {
            if special::is_illegal_source_v6(address.into()) {
                return Err((
                    format!("{address} cannot be an end of a tunnel"),
                    UNICAST.to_owned(),
                ));
            }
        }
        let Some(sharing) = self.shared.find(v4.into()) else {
            let problem = format!("{v4} is in none of the networks of `sharing`");
            return Err((problem, format!("expected an address in {}", self.listed)));
        };
        let most = sharing.ratio() - 1;
        let psid = match psid {
            None if !sharing.is_whole() => {
                let problem = format!("it has no PSID, and {v4} has {} port sets", most + 1);
                return Err((problem, format!("expected a PSID from 0 to {most}")));
            }
            psid => psid.unwrap_or(0),
        };
        sharing.set(psid).map_err(|error| {
            let problem = format!("the PSID is {psid}: {error}");
            let expected = if sharing.is_whole() {
                format!("expected none: {v4} is not shared, by `sharing`")
            } else {
                format!("expected a PSID from 0 to {most}")
            };
            (problem, expected)
        })?;
        let border = match border {
            None => 0,
            Some(address) => {
                let number = self.borders.borrow_mut().push(address.into());
                number.ok_or_else(|| {
                    let problem = format!("{address} is one more address of the lwAFTR");
                    let expected = format!("at most {} with `local`", core::Borders::MOST);
                    (problem, expected)
                })?
            }
        };
        Ok(Softwire {
            v4: v4.into(),
            psid,
            border,
            b4: b4.into(),
        })
    }
}

/// `{ b4 = "…", v4 = "…", psid = …, br = "…" }`
fn in_document(value: Value<'_>, rules: &Rules) -> Option<Softwire> {
    let example = "a softwire such as { b4 = \"2001:db8:a::1\", v4 = \"192.0.2.18\", psid = 52 }";
    let reader = value.table("a softwire", example)?;
    let b4 = reader.needs("b4", "\"2001:db8:a::1\"", |v| v.ipv6());
    let v4 = reader.needs("v4", "\"192.0.2.18\"", |v| v.ipv4());
    let psid = reader.get("psid").map(|v| v.integer(0..=u16::MAX));
    let border = reader.get("br").map(|v| v.ipv6());
    reader.finish(|_| None);
    let row = Written {
        b4: b4?,
        v4: v4?,
        psid: match psid {
            None => None,
            Some(psid) => Some(psid?),
        },
        border: match border {
            None => None,
            Some(border) => Some(border?),
        },
    };
    rules
        .softwire(&row)
        .map_err(|(problem, expected)| {
            value.refuse(
                format_args!("has a row that is not a softwire: {problem}"),
                expected,
            );
        })
        .ok()
}

/// One row of a file.
fn in_file(row: &str, rules: &Rules) -> Result<Softwire, Wrong> {
    let mut fields = row.split(',').map(str::trim);
    let mut field = || fields.next().filter(|field| !field.is_empty());
    let (Some(b4), Some(v4)) = (field(), field()) else {
        return Err(("it has fewer than two addresses".to_owned(), expected_row()));
    };
    let (psid, border) = (field(), field());
    if fields.next().is_some() {
        return Err(("it has more than four fields".to_owned(), expected_row()));
    }
    let row = Written {
        b4: address(b4, "IPv6")?,
        v4: address(v4, "IPv4")?,
        psid: psid.map(number).transpose()?,
        border: border.map(|text| address(text, "IPv6")).transpose()?,
    };
    rules.softwire(&row)
}

fn expected_row() -> String {
    format!("expected `{ROW}`: lwB4, IPv4 address, PSID, and optionally the address of this end")
}

fn address<A: std::str::FromStr>(text: &str, family: &str) -> Result<A, Wrong> {
    text.parse().map_err(|_| {
        (
            format!("\"{text}\" is not an {family} address"),
            expected_row(),
        )
    })
}

/// A PSID: decimal, or hexadecimal behind `0x`.
fn number(text: &str) -> Result<u16, Wrong> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| (format!("\"{text}\" is not a PSID"), expected_row()))
}

/// A port set belongs to one softwire, whose lwB4 is at the other end (RFC 7596 section 6.1). A lwB4 may have
/// several (section 5.1).
fn refuse_contradictions(softwires: &[At<Softwire>], borders: &core::Borders, sink: &Sink) {
    let mut sets = HashMap::with_capacity(softwires.len());
    for softwire in softwires {
        let (v4, psid) = (Ipv4Addr::from(softwire.v4), softwire.psid);
        let b4 = Ipv6Addr::from(softwire.b4);
        if borders.contains(softwire.b4) {
            let message = format!("{b4} is an address of the lwAFTR itself");
            let label = "expected the address of a lwB4";
            sink.push(Diagnostic::error(softwire.span, message, label));
        }
        let twice = |first: Span, message: String| {
            let diagnostic = Diagnostic::error(softwire.span, message, "again here");
            sink.push(diagnostic.also(first, "first here"));
        };
        match sets.entry((v4, psid)) {
            Entry::Vacant(entry) => {
                entry.insert(softwire.span);
            }
            Entry::Occupied(entry) => {
                twice(*entry.get(), format!("PSID {psid} of {v4} is given twice"));
            }
        }
    }
}

fn plan(
    composed: &mut Composed,
    networks: &[Network],
    softwires: usize,
    policy: &core::LwAftrPolicy,
) {
    let plan = &mut composed.plan;
    plan.push(match softwires {
        1 => "one softwire".to_owned(),
        n => format!("{n} softwires"),
    });
    for Network { v4, ports, .. } in networks {
        plan.push(if ports.is_whole() {
            format!("each address of {v4} belongs to one CE")
        } else {
            format!(
                "{} CEs share an address of {v4}, by PSIDs of {} bits behind {}",
                ports.ratio(),
                ports.length(),
                ports.offset()
            )
        });
    }
    let action = |unbound| match unbound {
        core::Unbound::Answer => "answered",
        core::Unbound::Drop => "dropped silently",
    };
    plan.push(format!(
        "packets to addresses without a softwire are {}, packets from sources without one are {}",
        action(policy.unbound_v4),
        action(policy.unbound_v6)
    ));
    if policy.hairpin == core::Permission::Drop {
        plan.push("packets between two softwires are refused".to_owned());
    }
    if policy.incoming_icmp == core::Permission::Drop {
        plan.push("no ICMP messages go into softwires".to_owned());
    }
}
