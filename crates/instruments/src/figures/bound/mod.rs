//! The theoretical bound: the highest throughput and the lowest delay of an Ethernet path, if nodes take no time and
//! cables have no length. Only bytes remain: headers, fragments, tunnels, and Ethernet's framing of each packet. A
//! measurement above the bound is wrong; the distance below it is the cost of the nodes.
//!
//! * [`ethernet`], [`rate`]: bytes and bits on a wire, frames per second
//! * [`packet`]: lengths of IP packets and fragments
//! * [`message`]: the packets of an application's message
//! * [`path`]: links, and the form of packets on each: plain, tunnelled, translated
//! * [`crossing`]: a message's packets on every link of a path
//! * [`throughput`], [`delay`]: the results
//! * [`mechanism`]: the transition mechanisms, as paths
//! * [`table`]: all of them in a table, as text and as JSON
//!
//! Nothing here needs root or touches the machine.

pub mod crossing;
pub mod delay;
pub mod error;
pub mod ethernet;
pub mod mechanism;
pub mod message;
pub mod packet;
pub mod path;
pub mod rate;
pub mod table;
pub mod throughput;

pub use error::BoundError;
pub use mechanism::{MECHANISMS, Mechanism};
pub use message::{Payload, TcpOptions, Transport};
pub use packet::{Family, Packet};
pub use path::{Capacity, Cutting, Form, Link, Mtu, Path, Stretch, TunnelMtu};
pub use rate::Rate;
pub use table::{Measure, Quantity, Table};
