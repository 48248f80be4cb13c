//! The messages of the control socket. Keys are stable: scripts read them.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::filter::Filter;
use super::top::{Carried, Top, TopRequest};
use super::trace::{TraceRequest, TracedPacket};
use crate::change::Differences;
use crate::health::Health;
use crate::records::Session;

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The state of the gateway: answered by [`Reply::Status`].
    Status,
    /// All counters: answered by [`Reply::Counters`].
    Counters,
    /// Sessions: answered by [`Reply::Session`] lines and [`Reply::End`], or by
    /// [`Reply::Record`] lines without end.
    Sessions(SessionsRequest),
    /// Those with most sessions: answered by [`Reply::Top`].
    Top(TopRequest),
    /// Follow packets from now on: answered by [`Reply::Packet`] lines without end.
    Trace(TraceRequest),
    /// End the sessions that match a filter: answered by [`Reply::Deleted`].
    Delete(DeleteRequest),
    /// Read the configuration again: answered by [`Reply::Reloaded`], or by [`Reply::Differences`] if it is only tried.
    Reload(ReloadRequest),
    /// Keep the configuration that waits for it: answered by [`Reply::Confirmed`].
    Confirm,
    /// Go back to the configuration before the last reload: answered by [`Reply::RolledBack`].
    Rollback,
}

/// A request to read the configuration again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReloadRequest {
    /// The way in which it is put in force.
    pub how: How,
}

/// The way in which a configuration that is read again is put in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum How {
    /// It is in force from now on.
    #[default]
    Now,
    /// It is in force at once, but undone after this many seconds unless somebody confirms it; at most
    /// [`LONGEST_TRIAL`](Self::LONGEST_TRIAL).
    Confirm(u32),
    /// Nothing changes; what would is told.
    DryRun,
}

impl How {
    /// The most seconds until somebody must have confirmed a configuration: a day.
    pub const LONGEST_TRIAL: u32 = 86_400;
}

/// A request for sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionsRequest {
    /// The conditions that they meet.
    pub filter: Filter,
    /// The form of the answer.
    pub wish: Wish,
    /// Lines at most; 0: all.
    pub limit: u64,
}

/// A request to end sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteRequest {
    /// The conditions that they meet, at least one.
    pub filter: Filter,
}

/// The form in which a client wants the sessions that match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wish {
    /// A line each.
    #[default]
    List,
    /// Their number.
    Count,
    /// A line for each that comes or goes from now on.
    Follow,
}

/// An answer of the gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// The state of the gateway.
    Status(Box<Status>),
    /// All counters that are not zero, or all.
    Counters(Vec<CounterRow>),
    /// One session.
    Session(Listed),
    /// One event, in the form of a line of the JSON records.
    Record(serde_json::Value),
    /// The way of a packet through an engine.
    Packet(TracedPacket),
    /// So many packets were not told, because they came too fast.
    Lost(u64),
    /// An engine whose packets are not told, and why.
    Unseen(String),
    /// There are no more sessions.
    End(End),
    /// Those with most sessions.
    Top(Top),
    /// So many sessions were ended.
    Deleted(u64),
    /// The configuration is in force; what changed, one line each.
    Reloaded(Vec<String>),
    /// The changes that a reload would make.
    Differences(Box<Differences>),
    /// The configuration stays.
    Confirmed,
    /// The configuration before is in force again.
    RolledBack(RolledBack),
    /// The request failed; nothing was changed.
    Error(String),
}

/// A return to an earlier configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RolledBack {
    /// When the configuration that is in force again was read.
    pub read: String,
    /// The changes, one line each.
    pub changes: Vec<String>,
}

/// The state of the gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Status {
    /// Name of the gateway.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// Process number.
    pub process: u32,
    /// Seconds since the start.
    pub uptime: u64,
    /// The configuration file.
    pub configuration: PathBuf,
    /// The configuration in force.
    pub in_force: InForceStatus,
    /// Configurations that took effect since the start.
    pub reloads: u64,
    /// Those that did not.
    pub failed_reloads: u64,
    /// The last of both.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_reload: Option<ReloadStatus>,
    /// Troubles: things that are not as configured, and could not be put back.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub troubles: Vec<String>,
    /// Why sessions end with its process; none if the next process goes on with them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ephemeral: Option<String>,
    /// Its engines.
    pub engines: Vec<EngineStatus>,
    /// The configured mechanisms.
    pub instances: Vec<InstanceStatus>,
    /// Where the DNS64 service listens.
    pub dns64: Vec<String>,
    /// Where the proxy listens.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub proxy: Vec<String>,
    /// The prefixes that are announced to hosts.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub announcements: Vec<AnnouncementStatus>,
    /// Records of sessions and port blocks.
    pub records: RecordsStatus,
    /// The verdict on all of it.
    pub health: Health,
}

/// The configuration in force. Times are in UTC, to the second (RFC 3339).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct InForceStatus {
    /// When it was read.
    pub read: String,
    /// Whether its files say something else by now.
    pub differs: bool,
    /// When the one before it was read, to which a rollback returns.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub before: Option<String>,
    /// When it is undone, unless somebody confirms it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub undone_at: Option<String>,
}

/// A change of the configuration, or an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReloadStatus {
    /// When, in UTC, to the second (RFC 3339).
    pub time: String,
    /// Its outcome.
    pub outcome: Outcome,
    /// Why nothing changed, if it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
}

/// The outcome of a change of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The file is in force.
    Succeeded,
    /// Somebody went back to the configuration before.
    RolledBack,
    /// Nobody confirmed it in time: the configuration before is in force again.
    Undone,
    /// Nothing changed.
    Failed,
}

/// An engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EngineStatus {
    /// `xdp`, `tc` or `user`.
    pub engine: String,
    /// The link that it works on.
    pub interface: String,
    /// How: the XDP mode, the number of queues.
    pub detail: String,
}

/// A configured mechanism and how full its tables are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct InstanceStatus {
    /// Its name.
    pub name: String,
    /// `siit`, `nat64` or `nat44`.
    pub mechanism: String,
    /// Packets translated by it.
    pub translated: u64,
    /// Packets dropped by it.
    pub dropped: u64,
    /// Its tables: name, entries in use, most entries.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tables: Vec<TableStatus>,
    /// Its pool, if it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pool: Option<PoolStatus>,
    /// Its prefix, if that is discovered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prefix: Option<PrefixStatus>,
    /// The machine that it is for, if it is the CLAT of this machine alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<HostStatus>,
}

/// The machine's own CLAT.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HostStatus {
    /// The link to the IPv6 network.
    pub uplink: String,
    /// The IPv4 address of its programs.
    pub address: String,
    /// The IPv6 address that stands for it; absent while the uplink has no network for one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub local: Option<String>,
}

/// A pool and how much of it is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolStatus {
    /// Outside addresses.
    pub addresses: u64,
    /// The ports of all addresses, of each protocol.
    pub ports: u64,
    /// Ports that bindings of TCP have, as counted within the last few seconds.
    pub tcp: u64,
    /// The same of UDP.
    pub udp: u64,
}

/// A prefix that is discovered; all fields are absent until there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct PrefixStatus {
    /// The prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Its source: `DNS`, or `router` and its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Seconds until it expires unless it is announced again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// The prefixes that are announced on a link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AnnouncementStatus {
    /// The link.
    pub interface: String,
    /// The prefixes of NAT64s.
    pub prefixes: Vec<String>,
}

/// How full a table is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TableStatus {
    /// Its name: `sessions`, `bindings`, `subscribers`, `permissions`, `fragments`, `softwires`.
    pub table: String,
    /// Entries in use.
    pub used: u64,
    /// Most entries.
    pub limit: u64,
    /// Entries that found no room, or whose network had its share. Of fragments those that gave way to newer ones.
    #[serde(default)]
    pub refused: u64,
}

/// The numbers of records by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RecordsStatus {
    /// Records written to every sink.
    pub written: u64,
    /// Records suppressed by the rate or a full queue.
    pub suppressed: u64,
}

/// One counter of one instance in one engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CounterRow {
    /// The instance; empty for packets that belong to none.
    pub instance: String,
    /// `xdp`, `tc` or `user`.
    pub engine: String,
    /// Name of the counter.
    pub counter: String,
    /// `forwarded`, `passed`, `dropped` or `event`.
    pub kind: String,
    /// Its value since the start.
    pub value: u64,
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Listed {
    /// Its instance.
    pub instance: Arc<str>,
    /// Its ends.
    #[serde(flatten)]
    pub session: Session,
    /// State of the TCP state machine (RFC 6146 section 3.5.2); `-` for others.
    pub state: Cow<'static, str>,
    /// Seconds until it ends if no packet comes.
    pub expires: u64,
    /// Seconds since it was made.
    pub age: u64,
    /// Seconds since its last packet; `None` after a RST or a long silence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub idle: Option<u64>,
    /// What it carried, where that is counted.
    #[serde(flatten)]
    pub carried: Option<Carried>,
}

/// The end of a list of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct End {
    /// Sessions that match.
    pub matched: u64,
    /// Sessions that were listed.
    pub listed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::samples;

    /// The keys that docs/running.md promises, in their order.
    #[test]
    fn a_listed_session_is_one_flat_object() {
        let listed = Listed {
            instance: "plat".into(),
            session: Session {
                remote_inside: None,
                ..samples::session()
            },
            state: "established".into(),
            expires: 7440,
            age: 60,
            idle: Some(0),
            carried: Some(Carried {
                packets_out: 9,
                bytes_out: 800,
                packets_in: 7,
                bytes_in: 6000,
            }),
        };
        let text = serde_json::to_string(&listed).unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"instance":"plat","protocol":"tcp","#,
                r#""inside-address":"2001:db8:1::7","inside-port":40000,"#,
                r#""outside-address":"203.0.113.1","outside-port":1024,"#,
                r#""remote-address":"192.0.2.80","remote-port":443,"#,
                r#""state":"established","expires":7440,"age":60,"idle":0,"#,
                r#""packets-out":9,"bytes-out":800,"packets-in":7,"bytes-in":6000}"#
            )
        );
        assert_eq!(serde_json::from_str::<Listed>(&text).unwrap(), listed);
        let uncounted = Listed {
            carried: None,
            ..listed
        };
        let text = serde_json::to_string(&uncounted).unwrap();
        assert!(text.ends_with(r#""idle":0}"#), "{text}");
        assert_eq!(serde_json::from_str::<Listed>(&text).unwrap(), uncounted);
    }
}
