//! The theoretical bound: what an Ethernet path can carry at most, and how fast at best, when nodes take
//! no time and cables have no length. What is left is bytes: headers, fragments, tunnels, and Ethernet's
//! framing of each packet. A measurement above it is wrong; the distance below it is what the nodes cost.
//!
//! * [`ethernet`], [`rate`]: bytes and bits on a wire, frames per second
//! * [`packet`]: lengths of IP packets and fragments
//! * [`message`]: how an application's message becomes a transport's packets
//! * [`path`]: links and what the packets look like on each: plain, tunnelled, translated
//! * [`crossing`]: a message's packets on every link of a path
//! * [`throughput`], [`delay`]: what follows from these
//! * [`mechanism`]: the transition mechanisms, as paths
//! * [`table`]: all of them beside each other, for people and as JSON
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

pub use delay::ping_pong;
pub use error::BoundError;
pub use mechanism::{MECHANISMS, Mechanism};
pub use message::{Payload, TcpOptions, Transport};
pub use packet::{Family, Packet};
pub use path::{Capacity, Cutting, Form, Link, Mtu, Path, Stretch, TunnelMtu};
pub use rate::Rate;
pub use table::{Measure, Quantity, Table};
