//! The answer: who it was, or why that is unknown.

use std::fmt::Display;
use std::net::IpAddr;
use std::path::PathBuf;

use ipnet::IpNet;
use isthmus_core::nat::Protocol;
use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};

use super::Question;
use super::configured::{self, Computed};
use super::files::ReadError;
use super::missing::Amount;
use super::scan::{End, Owner, Scan, Tenure};
use super::time::later;
use crate::config::{Choice, Loaded};

/// A beginning and an end are recorded within so much time.
const LATE: SignedDuration = SignedDuration::from_secs(2);

/// A configuration that was in force, or may have been.
#[derive(Debug)]
pub struct Configuration {
    /// Its path.
    pub path: PathBuf,
    /// Its content.
    pub loaded: Loaded,
}

/// Whether the question is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It was exactly one subscriber.
    One,
    /// It may have been another one, or nobody.
    Unknown,
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Answer {
    /// From when …
    pub from: Timestamp,
    /// … to when was asked.
    pub to: Timestamp,
    /// Whether it is answered.
    pub verdict: Verdict,
    /// The subscribers that could have had the port.
    pub subscribers: Vec<Subscriber>,
    /// Why it is unknown.
    pub reasons: Vec<String>,
    /// How each of them had it.
    pub uses: Vec<Usage>,
    /// Uses beyond those.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_uses: u64,
    /// Records that are missing until then: suppressed by the gateway, or damaged.
    pub missing: Amount,
    /// The records that were read, if any were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<Records>,
}

/// The address or the prefix of a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subscriber(pub IpNet);

impl Display for Subscriber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.prefix_len() == self.0.max_prefix_len() {
            self.0.addr().fmt(f)
        } else {
            self.0.fmt(f)
        }
    }
}

impl Serialize for Subscriber {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// How a subscriber had the port.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Usage {
    /// The subscriber.
    pub subscriber: Subscriber,
    /// The gateway and its instance.
    pub gateway: String,
    /// The instance.
    pub instance: String,
    /// `binding`, `address` or `port-block` of the records; by calculation `deterministic`, `static`, `map-t`, `map-e`, `lw4o6` or
    /// `eam`.
    pub by: &'static str,
    /// The protocol; none if it is all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<&'static str>,
    /// The host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside_address: Option<IpAddr>,
    /// Its port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside_port: Option<u16>,
    /// Its recorded beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began: Option<Timestamp>,
    /// Its end, or what it was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// Whether the end itself is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_recorded: Option<bool>,
    /// The record or the configuration that says so.
    pub source: String,
}

/// The records that were read.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Records {
    /// The time of the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Timestamp>,
    /// The time of the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
    /// Their files.
    pub files: u64,
    /// Their lines.
    pub lines: u64,
    /// Lines that cannot be read.
    pub damaged: u64,
    /// The first of those, each with file, line and what is wrong.
    pub complaints: Vec<String>,
}

/// Answers a question by configurations and by files of records, each with those that it was before it was rotated.
///
/// # Errors
/// A file cannot be read, or has no records.
pub fn answer(
    question: &Question,
    configurations: &[Configuration],
    records: &[PathBuf],
) -> Result<Answer, ReadError> {
    let scan = Scan::read(question, records)?;
    let mut reasons = Vec::new();
    let computed = by_calculation(question, configurations, &scan, &mut reasons);
    let mut uses: Vec<Usage> = computed.iter().map(|(usage, _)| usage.clone()).collect();
    let mut subscribers = Vec::new();
    for usage in &uses {
        add(&mut subscribers, usage.subscriber);
    }
    for tenure in &scan.tenures {
        let usage = recorded(tenure, configurations);
        if identifies(tenure, &scan.tenures) {
            add(&mut subscribers, usage.subscriber);
        }
        uses.push(usage);
    }
    if computed.is_empty() {
        doubts(question, &scan, &mut reasons);
    }
    match subscribers.as_slice() {
        [] => reasons.insert(0, nobody(configurations, records)),
        [_] => {}
        several => reasons.insert(0, ambiguous(several, &uses, question)),
    }
    let verdict = match (subscribers.as_slice(), reasons.is_empty()) {
        ([_], true) => Verdict::One,
        _ => Verdict::Unknown,
    };
    Ok(Answer {
        from: question.window.from,
        to: question.window.to,
        verdict,
        subscribers,
        reasons,
        uses,
        more_uses: scan.more,
        missing: scan.all_missing(),
        records: (!records.is_empty()).then(|| summary(scan)),
    })
}

/// Adds a subscriber, unless it is there: a host is the subscriber whose prefix it is in.
fn add(subscribers: &mut Vec<Subscriber>, new: Subscriber) {
    for there in &mut *subscribers {
        if there.0.contains(&new.0) {
            return;
        }
        if new.0.contains(&there.0) {
            *there = new;
            return;
        }
    }
    subscribers.push(new);
}

/// Whether a use tells who the subscriber is. Where there are port blocks, those do: their bindings only name the host.
fn identifies(tenure: &Tenure, all: &[Tenure]) -> bool {
    tenure.protocol.is_none()
        || !all
            .iter()
            .any(|other| other.protocol.is_none() && other.owner == tenure.owner)
}

/// The subscribers by calculation under the configurations that were in force, as far as the records tell.
fn by_calculation(
    question: &Question,
    configurations: &[Configuration],
    scan: &Scan<'_>,
    reasons: &mut Vec<String>,
) -> Vec<(Usage, Computed)> {
    let mut found = Vec::new();
    let mut doubts = Vec::new();
    for configuration in configurations {
        let document = &configuration.loaded.document;
        let gateway = &document.gateway.name;
        let turns = scan.configurations(gateway);
        let digest = configuration.loaded.digest();
        if !turns.is_empty() && turns.iter().all(|(_, turn)| *turn != digest) {
            // Another one was in force; whether it is there too is asked below.
            continue;
        }
        for computed in configured::computed(document, question) {
            let source = configuration.path.display().to_string();
            found.push((calculated(&computed, gateway, source), computed));
        }
    }
    let names = configurations
        .iter()
        .map(|one| &one.loaded.document.gateway.name);
    let mut names: Vec<_> = names.collect();
    names.dedup();
    for gateway in names {
        let turns = scan.configurations(gateway);
        let given = |turn: &String| {
            configurations
                .iter()
                .any(|one| one.loaded.digest() == *turn)
        };
        let absent = turns.iter().filter(|(_, turn)| !given(turn));
        doubts.extend(absent.map(|(since, digest)| {
            format!(
                "{}since {since} a configuration of {gateway} was in force that is not given, with digest {digest}",
                if turns.len() > 1 { "two configurations were in force within that time: " } else { "" }
            )
        }));
    }
    // What is recorded does not depend on a configuration.
    if !found.is_empty() || scan.tenures.is_empty() {
        reasons.extend(doubts);
    }
    found
}

fn calculated(computed: &Computed, gateway: &str, source: String) -> Usage {
    Usage {
        subscriber: Subscriber(computed.subscriber),
        gateway: gateway.into(),
        instance: computed.instance.clone(),
        by: computed.by,
        protocol: computed.protocol.map(Protocol::name),
        inside_address: computed.host.map(|(address, _)| address),
        inside_port: computed.host.map(|(_, port)| port),
        began: None,
        ended: None,
        end_recorded: None,
        source,
    }
}

fn recorded(tenure: &Tenure, configurations: &[Configuration]) -> Usage {
    let Owner { gateway, instance } = &tenure.owner;
    let documents = configurations.iter().map(|one| &one.loaded.document);
    let mut its = documents.filter(|document| document.gateway.name == *gateway);
    let subscriber = match its.next() {
        Some(document) => configured::subscriber(document, instance, tenure.inside),
        None => tenure.inside.into(),
    };
    Usage {
        subscriber: Subscriber(subscriber),
        gateway: gateway.clone(),
        instance: instance.clone(),
        by: match tenure.protocol {
            Some(_) => "binding",
            None if tenure.ports == (0, u16::MAX) => "address",
            None => "port-block",
        },
        protocol: tenure.protocol.map(Protocol::name),
        inside_address: Some(tenure.inside),
        inside_port: tenure.inside_port,
        began: tenure.from,
        ended: tenure.to,
        end_recorded: match tenure.end {
            End::Open => None,
            End::Recorded => Some(true),
            End::Unrecorded => Some(false),
        },
        source: tenure.place.to_string(),
    }
}

/// Why what is recorded may not be all.
fn doubts(question: &Question, scan: &Scan<'_>, reasons: &mut Vec<String>) {
    let window = question.window;
    if let Some((first, last)) = scan.span {
        if window.from < first {
            reasons.push(format!("the records begin at {first}, after that time"));
        }
        if later(window.to, LATE) > last {
            reasons.push(format!(
                "the last record is of {last}, and what was at that time is recorded up to two seconds after it"
            ));
        }
    }
    let mut owners: Vec<&Owner> = Vec::new();
    for tenure in scan
        .tenures
        .iter()
        .filter(|one| identifies(one, &scan.tenures))
    {
        if tenure.lacks_beginning() {
            reasons.push(format!(
                "{} had the port, and since when is not recorded ({})",
                tenure.inside, tenure.place
            ));
        }
        // Blocks are always recorded.
        if tenure.protocol.is_some() && !owners.contains(&&tenure.owner) {
            owners.push(&tenure.owner);
        }
    }
    for owner in owners {
        let (suppressed, damaged) = scan.missing(owner);
        if suppressed.bindings > 0 {
            reasons.push(format!(
                "{} records were suppressed since it was certain who had the port, {} of which may have told of others",
                suppressed.records, suppressed.bindings
            ));
        }
        if damaged.records > 0 {
            reasons.push(format!(
                "{} records since then are damaged",
                damaged.records
            ));
        }
    }
    if scan.tenures.is_empty() {
        let missing = scan.all_missing();
        if missing.records > 0 {
            reasons.push(format!(
                "{} records until then are suppressed or damaged, {} of which may have told of the port",
                missing.records, missing.bindings
            ));
        }
    }
}

fn nobody(configurations: &[Configuration], records: &[PathBuf]) -> String {
    match (configurations.is_empty(), records.is_empty()) {
        (true, _) => "no record names who had it".into(),
        (false, true) => {
            "no instance of the configuration gives it to anybody by calculation, and there are no records to read".into()
        }
        (false, false) => {
            "no record names who had it, and no instance of the configuration gives it to anybody by calculation".into()
        }
    }
}

fn ambiguous(several: &[Subscriber], uses: &[Usage], question: &Question) -> String {
    let mut protocols: Vec<_> = uses.iter().filter_map(|usage| usage.protocol).collect();
    protocols.sort_unstable();
    protocols.dedup();
    let advice = if question.protocol.is_none() && protocols.len() > 1 {
        "; it was a port of several protocols: --protocol says which is meant"
    } else {
        ""
    };
    format!(
        "{} subscribers could have had it within that time{advice}",
        several.len()
    )
}

fn summary(scan: Scan<'_>) -> Records {
    Records {
        first: scan.span.map(|(first, _)| first),
        last: scan.span.map(|(_, last)| last),
        files: scan.files,
        lines: scan.lines,
        damaged: scan.damaged,
        complaints: scan.complaints,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
