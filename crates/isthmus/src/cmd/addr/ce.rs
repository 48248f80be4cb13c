//! The address and ports of a MAP CE, for people and as JSON.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::Ipv6Net;
use isthmus_core::address::map::{Assignment, Ce, MapRule, Ports};
use isthmus_core::address::port_set::PortSet;
use serde::Serialize;

/// The number of ranges that are all printed.
const RANGES: usize = 64;
/// Number of ranges in a line.
const IN_A_LINE: usize = 8;

/// A CE.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Answer {
    /// The IPv4 address, or the prefix with its length.
    v4: String,
    /// The end-user IPv6 prefix, as far as the rule determines it.
    prefix: Ipv6Net,
    /// The MAP IPv6 address.
    v6: Ipv6Addr,
    #[serde(flatten)]
    ports: PortsAnswer,
}

/// The ports of a CE.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct PortsAnswer {
    /// Number of CEs that share the address.
    shared_by: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    psid: Option<Psid>,
    ports: u32,
    /// First and last port of each range.
    ranges: Vec<(u16, u16)>,
}

#[derive(Serialize)]
struct Psid {
    value: u16,
    length: u8,
    offset: u8,
}

impl Answer {
    pub(super) fn new(rule: &MapRule, ce: &Ce) -> Self {
        let v4 = Ipv4Addr::from(ce.v4);
        let v6 = Ipv6Addr::from(ce.address);
        let length = rule.v6().1 + rule.ea_bits();
        Self {
            v4: match ce.v4_length {
                32 => v4.to_string(),
                length => format!("{v4}/{length}"),
            },
            prefix: Ipv6Net::new_assert(v6, length).trunc(),
            v6,
            ports: PortsAnswer::new(ce.ports),
        }
    }

    /// Returns lines for people.
    pub(super) fn lines(&self) -> Vec<String> {
        let what = if self.v4.contains('/') {
            "IPv4 prefix"
        } else {
            "IPv4 address"
        };
        let mut lines = vec![format!("{what}: {}{}", self.v4, self.ports.sharers())];
        lines.extend(self.ports.lines());
        lines.push(format!("end-user IPv6 prefix: {}", self.prefix));
        lines.push(format!("MAP IPv6 address: {}", self.v6));
        lines
    }
}

impl PortsAnswer {
    pub(super) fn new(set: PortSet) -> Self {
        let sharing = set.sharing();
        let psid = (!sharing.is_whole()).then(|| Psid {
            value: set.psid(),
            length: sharing.length(),
            offset: sharing.offset(),
        });
        Self {
            shared_by: sharing.ratio(),
            psid,
            ports: set.count(),
            ranges: set.ranges().map(|range| range.into_inner()).collect(),
        }
    }

    /// Returns the text behind an address that is shared.
    pub(super) fn sharers(&self) -> String {
        match self.shared_by {
            1 => String::new(),
            ratio => format!(", shared by {ratio}"),
        }
    }

    /// Returns lines for people: PSID and ranges.
    pub(super) fn lines(&self) -> Vec<String> {
        let Some(psid) = &self.psid else {
            return vec!["ports: all".to_owned()];
        };
        let mut lines = vec![format!(
            "PSID: {:#x} ({} bits, offset {})",
            psid.value, psid.length, psid.offset
        )];
        let count = self.ranges.len();
        let plural = if count == 1 { "range" } else { "ranges" };
        lines.push(format!("ports: {}, in {count} {plural}", self.ports));
        let texts: Vec<_> = self.ranges.iter().map(|&range| text(range)).collect();
        if count <= RANGES {
            lines.extend(
                texts
                    .chunks(IN_A_LINE)
                    .map(|line| format!("  {}", line.join(" "))),
            );
        } else {
            let (first, last) = (texts[..IN_A_LINE].join(" "), texts[count - 2..].join(" "));
            lines.push(format!("  {first} ... {last} (all of them: --json)"));
        }
        lines
    }
}

fn text((first, last): (u16, u16)) -> String {
    if first == last {
        first.to_string()
    } else {
        format!("{first}-{last}")
    }
}

/// Describes the IPv4 address or prefix of every CE of a rule.
pub(super) fn assigned(rule: &MapRule) -> String {
    match rule.assignment() {
        Assignment::Prefix(length) => format!("an IPv4 prefix of {length} bits"),
        Assignment::Address => "an IPv4 address".to_owned(),
        Assignment::Shared(_) => shared(rule),
    }
}

fn shared(rule: &MapRule) -> String {
    let sharing = rule.sharing();
    let ports = sharing.set(0).map_or(0, PortSet::count);
    let mut text = format!(
        "an IPv4 address shared by {}, with {ports} of its ports",
        sharing.ratio()
    );
    if let Ports::Given(set) = rule.ports() {
        let _ = write!(text, " by PSID {:#x}", set.psid());
    }
    if let Some(last) = sharing.first().checked_sub(1) {
        let _ = write!(text, "; the ports 0-{last} belong to no CE");
    }
    text
}
