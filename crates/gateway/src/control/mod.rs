//! The control socket: what `isthmus status`, `sessions`, `counters` and `reload` talk to, and other programs.
//!
//! HTTP/1.1 over a UNIX stream socket that only its owner may use; a second one, for a group, only reads. The paths
//! are those of `docs/control.md`. An answer is one or more lines of JSON, the last of which is never a
//! [`Reply::Session`] or [`Reply::Record`], unless the gateway ended meanwhile.

mod answer;
mod client;
mod filter;
mod message;
mod route;
mod server;
mod socket;
mod top;
mod trace;

pub use client::{Client, ClientError, sockets};
pub use filter::{Filter, FilterError, OutsideFilter};
pub use message::{
    AnnouncementStatus, CounterRow, DeleteRequest, End, EngineStatus, HostStatus, How,
    InForceStatus, InstanceStatus, Listed, Outcome, PoolStatus, PrefixStatus, RecordsStatus,
    ReloadRequest, ReloadStatus, Reply, Request, RolledBack, SessionsRequest, Status, TableStatus,
    Wish,
};
pub use server::{Order, Service, Tracing, serve};
pub use socket::{ControlSocket, Lock, SocketError, View};
pub use top::{By, Carried, Most, Top, TopRequest, TopRow};
pub use trace::{PacketForm, Reason, Rule, TraceRequest, TracedPacket};

/// Where control sockets are unless the configuration says otherwise.
pub const DIRECTORY: &str = "/run/isthmus";
