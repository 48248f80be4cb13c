//! Stateful address and port translation (RFC 6146), for NAT64 and NAT44 alike.
//!
//! *Inside* is the side whose hosts share the pool: IPv6 for NAT64. *Outside* is the IPv4 side;
//! an outside endpoint is an address and port of the pool. *Remote* is the outside host that an
//! inside host talks to.
//!
//! A packet passes [`outbound`] or [`inbound`], which find, make and refresh bindings and
//! sessions; the packet inside an ICMP error passes [`peek_outbound`] or [`peek_inbound`], which
//! only look. Nothing in the packet path removes state: [`sweep()`] does, in user space, and tells
//! what happened since it last came by.
//!
//! Four tables, all in the memory of the engine and laid out by [`Layout`]:
//! sessions, found from inside by key and from outside through an index; bindings (the BIB of RFC
//! 6146 section 3.1), found from inside by key and from outside through the *claims*, where an
//! outside endpoint is taken by a single compare-exchange; subscribers, where there are limits or
//! port blocks; and fragmented datagrams.
//!
//! Decisions that RFC 6146 leaves open:
//! - A SYN from outside for which there is no binding, or that address-dependent filtering does
//!   not let in, is dropped silently and not stored (section 3.5.2.2 allows it as security
//!   policy), unless the configuration has it answered (`slow/unexpected.rs`). A simultaneous open still works: the repeated SYN meets the session that the inside
//!   host opened meanwhile.
//! - A packet from outside makes no session. It passes by its binding, if the filtering lets it, and the answer of
//!   the inside host makes the session. So strangers cannot fill the tables (section 5.3). For TCP the SYN-ACK from
//!   inside stands for the SYN that it answers (V4 INIT), and the next segment from outside establishes the session.
//! - A binding whose sessions have all expired is usable until the sweeper comes by. Timers are
//!   lower bounds (RFC 4787 section 4.3).
//! - Address-dependent filtering does not apply to static bindings: they are there to be reached.
//! - Parity and range of ports are kept; the port itself is unpredictable (RFC 7857 section 9, RFC 6056).
//! - Where filtering is endpoint-independent, a packet from an endpoint whose binding is in use needs no session to
//!   pass: it may answer a stranger. It gets one, unless what is left of the rate, the limits or the table is for new
//!   flows. Where subscribers are known, what is left of a table is for networks with few entries (`share.rs`).
//! - A new binding is worth a bounded number of steps. Where no port is found, that is remembered for a
//!   moment (`refusal.rs`), so that the next one does not cost a search.

mod allocate;
mod binding;
mod bound;
mod calculated;
mod capacity;
mod carried;
mod config;
mod deterministic;
mod endpoint;
mod fill;
mod fixed;
mod flow;
mod format;
mod fragment;
mod held;
mod idle;
mod layout;
mod lookup;
mod outcome;
mod own_limits;
mod permission;
mod pool;
mod port;
mod rate;
mod recover;
mod refusal;
mod session;
mod share;
mod subscriber;
mod sweep;
mod tcp;
mod traffic;
mod walk;

pub use bound::Counted;
pub use calculated::block_of;
pub use capacity::{Capacity, MOST_OWN_LIMITS};
pub use carried::{Passed, count};
pub use config::{
    Blocks, Filtering, Limits, NatConfig, Pooling, Subscriber, Timers, UnsolicitedSyn,
};
pub use deterministic::Deterministic;
pub use endpoint::{Endpoint4, Inside, Protocol, TcpFlags, Transport};
pub use fill::{Fill, fills};
pub use fixed::{StaticBinding, StaticError, insert_static, remove_static};
pub use flow::{inbound, is_for_others, outbound};
pub use format::FORMAT;
pub use held::{Held, address_of, hold, release};
pub use layout::Layout;
pub use lookup::{bound_to, is_open, owner_of, peek_inbound, peek_outbound, session_between};
pub use own_limits::{OwnLimits, set_own_limits};
pub use pool::{POOL_RANGES, Pool, PoolError, PoolRange};
pub use recover::{Recovered, recover};
pub use subscriber::subscriber_of;
pub use sweep::{Binding, Block, Event, Session, bindings, sweep};
pub use tcp::{Side, TcpState};
pub use traffic::{Amount, Traffic};
pub use walk::{Occupancy, occupancy, retain, sessions};
