//! `pool4`: outside addresses, with ports for each protocol and mark. Ours have ports for all protocols.

use std::net::Ipv4Addr;

use ipnet::{Ipv4Net, Ipv4Subnets};

use super::super::draft::{Draft, quoted};
use super::super::json::{Member, Object};
use super::v4_net;

/// The ports of an entry that names none.
const DEFAULT_PORTS: Ports = (61001, 65535);

type Ports = (u16, u16);

/// A protocol with ports, or with identifiers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Tcp,
    Udp,
    Icmp,
}

impl Protocol {
    const ALL: [Self; 3] = [Self::Tcp, Self::Udp, Self::Icmp];

    pub(super) fn read(member: &Member<'_>) -> Option<Self> {
        const EXPECTED: &str = "\"TCP\", \"UDP\" or \"ICMP\"";
        let text = member.string(EXPECTED)?;
        let all = Self::ALL.into_iter();
        let found = all
            .clone()
            .find(|protocol| text.eq_ignore_ascii_case(protocol.key()));
        if found.is_none() {
            member.wrong(EXPECTED);
        }
        found
    }

    /// Its name in our configuration.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Icmp => "icmp",
        }
    }
}

struct Entry<'j> {
    member: Member<'j>,
    mark: u32,
    protocol: Protocol,
    net: Ipv4Net,
    ports: Ports,
}

/// Neighbours that have the same ports.
struct Run {
    first: Ipv4Addr,
    last: Ipv4Addr,
    ports: Ports,
}

/// Writes the pool. Returns its networks.
pub(super) fn write(top: &Object<'_>, draft: &mut Draft) -> Option<Vec<Ipv4Net>> {
    let given = top.take("pool4");
    let members = given.as_ref().map(Member::array).unwrap_or_default();
    if members.is_empty() {
        top.wrong(
            "has no \"pool4\": Jool takes ports 61001-65535 of the addresses that the machine has; write them there, \
             for each protocol, and import again",
        );
        return None;
    }
    let entries: Option<Vec<Entry<'_>>> = members.into_iter().map(Entry::read).collect();
    let entries = of_one_mark(entries?);
    let runs = runs(&entries);
    for entry in &entries {
        entry.report(&runs);
    }
    if let Some(member) = given {
        report_missing(&member, &entries);
    }
    let nets = |run: &Run| Ipv4Subnets::new(run.first, run.last, 0);
    let line = |run: &Run, net: Ipv4Net| {
        let (first, last) = run.ports;
        let (net, ports) = (quoted(net), quoted(format_args!("{first}-{last}")));
        format!("{{ addresses = {net}, ports = {ports} }}")
    };
    let lines = runs
        .iter()
        .flat_map(|run| nets(run).map(move |net| line(run, net)));
    draft.list("pool", lines);
    Some(runs.iter().flat_map(nets).collect())
}

impl<'j> Entry<'j> {
    fn read(member: Member<'j>) -> Option<Self> {
        let object = member.object()?;
        let mark = object.take("mark");
        let mark = mark.map_or(Some(0), |m| m.number(0..=u32::MAX));
        let protocol = object.require("protocol").and_then(|m| Protocol::read(&m));
        let net = object.require("prefix").and_then(|m| v4_net(&m));
        let ports = object.take("port range");
        let ports = ports.map_or(Some(DEFAULT_PORTS), |m| range(&m));
        if let Some(member) = object.take("max-iterations") {
            member.left_out("a free port is searched for 2048 times; there is nothing to do");
        }
        object.finish();
        Some(Self {
            mark: mark?,
            protocol: protocol?,
            net: net?,
            ports: ports?,
            member,
        })
    }

    fn covers(&self, address: u32) -> bool {
        self.net.contains(&Ipv4Addr::from(address))
    }

    /// Reports the entry if some of its ports are not in the pool.
    fn report(&self, runs: &[Run]) {
        let (first, last) = self.ports;
        let of_it = |run: &&Run| {
            let (network, broadcast) = (self.net.network(), self.net.broadcast());
            run.first <= broadcast && network <= run.last
        };
        let narrower = |run: &&Run| first.max(1) < run.ports.0 || run.ports.1 < last;
        if let Some(run) = runs.iter().filter(of_it).find(narrower) {
            let (first, last) = run.ports;
            self.member.left_out(&format!(
                "an address has one range of ports, for all protocols: here it is {first}-{last}; choose another in \
                 `pool` if this one is too small"
            ));
        }
    }
}

/// `"1000-2000"`, or one port.
fn range(member: &Member<'_>) -> Option<Ports> {
    const EXPECTED: &str = "a range of ports such as \"61001-65535\"";
    let text = member.string(EXPECTED)?;
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let ports = first.trim().parse().ok().zip(last.trim().parse().ok());
    let ports = ports.filter(|(first, last)| first <= last && *last != 0);
    if ports.is_none() {
        member.wrong(EXPECTED);
    }
    ports
}

/// Returns the entries of one mark: of none, if there are such, or else of the first. Reports the others.
fn of_one_mark(entries: Vec<Entry<'_>>) -> Vec<Entry<'_>> {
    let unmarked = entries.iter().any(|entry| entry.mark == 0);
    let mark = if unmarked { 0 } else { entries[0].mark };
    let (kept, others): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| entry.mark == mark);
    for entry in others {
        entry.member.left_out(
            "packets with this mark had a pool of their own; write an `[[instance]]` for their hosts, with a prefix \
             of its own",
        );
    }
    if mark != 0 {
        kept[0].member.left_out(
            "only packets with this mark were translated, and now all are; name the hosts in `inside`",
        );
    }
    kept
}

/// Reports protocols that have no ports at all: here they have those of the others.
fn report_missing(member: &Member<'_>, entries: &[Entry<'_>]) {
    for protocol in Protocol::ALL {
        if entries.iter().all(|entry| entry.protocol != protocol) {
            let name = protocol.key().to_uppercase();
            member.part_left_out(
                format_args!("no {name}"),
                "it was not translated, and now it is: a pool is for all protocols. Have nftables drop it if it must \
                 not pass",
            );
        }
    }
}

/// Cuts the addresses of all entries into runs in which the same entries hold, and chooses their ports.
fn runs(entries: &[Entry<'_>]) -> Vec<Run> {
    let first = |entry: &Entry<'_>| u64::from(u32::from(entry.net.network()));
    let end = |entry: &Entry<'_>| u64::from(u32::from(entry.net.broadcast())) + 1;
    let mut bounds: Vec<u64> = entries.iter().flat_map(|e| [first(e), end(e)]).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let mut runs: Vec<Run> = Vec::new();
    for pair in bounds.windows(2) {
        let [first, end] = [pair[0], pair[1]];
        let (Ok(first), Ok(last)) = (u32::try_from(first), u32::try_from(end - 1)) else {
            continue;
        };
        let Some(ports) = ports_at(entries, first) else {
            continue;
        };
        match runs.last_mut() {
            Some(run)
                if run.ports == ports && u32::from(run.last).checked_add(1) == Some(first) =>
            {
                run.last = last.into();
            }
            _ => runs.push(Run {
                first: first.into(),
                last: last.into(),
                ports,
            }),
        }
    }
    runs
}

/// Returns the ports of an address: the widest range that all its protocols have, or of its first protocol if they have
/// nothing in common. A port that one of them did not have may be a server's.
fn ports_at(entries: &[Entry<'_>], address: u32) -> Option<Ports> {
    let of = |protocol| {
        let entries = entries.iter();
        let here = entries.filter(|entry| entry.protocol == protocol && entry.covers(address));
        joined(here.map(|entry| entry.ports).collect())
    };
    let all: Vec<Vec<Ports>> = Protocol::ALL.into_iter().map(of).collect();
    let mut present = all.iter().filter(|ranges| !ranges.is_empty());
    let first = present.next()?.clone();
    let common = present.fold(first.clone(), |common, ranges| {
        intersection(&common, ranges)
    });
    let ranges = if common.is_empty() { first } else { common };
    // Port 0 is nobody's.
    let ranges = ranges.into_iter().map(|(first, last)| (first.max(1), last));
    ranges.rev().max_by_key(|(first, last)| last - first)
}

/// Joins ranges that touch each other.
fn joined(mut ranges: Vec<Ports>) -> Vec<Ports> {
    ranges.sort_unstable();
    let mut joined: Vec<Ports> = Vec::new();
    for (first, last) in ranges {
        match joined.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    joined
}

fn intersection(left: &[Ports], right: &[Ports]) -> Vec<Ports> {
    let pairs = left.iter().flat_map(|l| right.iter().map(move |r| (l, r)));
    pairs
        .map(|(l, r)| (l.0.max(r.0), l.1.min(r.1)))
        .filter(|(first, last)| first <= last)
        .collect()
}
