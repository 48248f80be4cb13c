//! The prefix of a NAT64: its discovery by a CLAT, and its announcement by a NAT64.
//!
//! A CLAT finds it in router advertisements (RFC 8781) or, where none announces it, in what
//! the DNS says of `ipv4only.arpa` (RFC 7050); a NAT64 announces it in router advertisements of its own.
//! [`selection`] and [`schedule`] are all of this but sockets and clock; [`Seeker`] and [`Announcer`] are
//! tasks around them, [`socket`] is how both speak to a link.

mod announcer;
pub mod counter;
pub mod schedule;
mod seeker;
pub mod selection;
pub mod socket;
mod system;

pub use announcer::{Announcement, Announcer};
pub use counter::{Counter, Counters, Kind};
pub use seeker::{Ear, Latest, Seeker};
pub use selection::{Origin, Selected};
