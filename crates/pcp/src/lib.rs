//! The Port Control Protocol (RFC 6887) and its predecessor NAT-PMP (RFC 6886), as a server: hosts
//! ask for ports of an outside address, for a while, so that others can reach them. Where the ports
//! are elsewhere, a [`Proxy`] passes the requests on (RFC 7648).
//!
//! There is neither a socket nor a clock in here: [`Server::answer`] takes a datagram and the time,
//! and gives the datagram to send back. The NAT that has the ports is behind [`Ports`].
//!
//! Left out of the server: the PEER opcode (answered as an unsupported opcode) and the FILTER option (answered as
//! an unsupported option), which would need filters in the NAT; mappings of all ports or of all
//! protocols; mapping updates (section 14.2), where clients are notified to ask again instead. A
//! NAT-PMP mapping does not reserve the same port of the other protocol (RFC 6886 section 3.3).

mod bytes;
mod mapping;
mod nat_pmp;
mod near;
mod pcp;
mod ports;
mod proxy;
mod server;
mod upstream;

pub use mapping::Limits;
pub use near::Near;
pub use ports::{Granted, Host, Internal, Lasting, Ports, Protocol, Refused, Wish};
pub use proxy::{Heard, Passed, Proxy};
pub use server::Server;

/// UDP port of servers.
pub const SERVER_PORT: u16 = 5351;
/// UDP port at which clients listen for announcements.
pub const CLIENT_PORT: u16 = 5350;
