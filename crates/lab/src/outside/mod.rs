//! A device outside of the laboratory, between two of the machine's own interfaces.
//!
//! ```text
//! left host ── left interface ═══ device ═══ right interface ── right host
//! ```
//!
//! The hosts are addresses: the tester sends in their names, and receives what comes for them. What is
//! sent from host to host may arrive as the other protocol. An interface is the tester's while a test lasts:
//! UDP that arrives there does not reach the machine.
//!
//! * [`interface`]: an interface, and who is at the other end of its cable
//! * [`hosts`]: from their addresses to frames
//! * [`figures`]: the tests, and what they find

pub mod figures;
pub mod hosts;
pub mod interface;
mod show;

pub use figures::{Effort, Figures, Test};
pub use hosts::{Direction, Hosts};
pub use interface::{Care, Interface, Neighbour};

/// Why a device outside cannot be tested as asked.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// There is no such interface.
    #[error("there is no interface {0}; `ip link` shows those that there are")]
    NoInterface(String),
    /// One interface at both ends.
    #[error("{0} is at both ends: a test needs two interfaces")]
    Same(String),
    /// It is down.
    #[error("{0} is down: `ip link set {0} up`")]
    Down(String),
    /// Nobody is at the other end of its cable.
    #[error("{0} has no carrier: is a cable plugged in, and the device on?")]
    NoCarrier(String),
    /// It is how the machine reaches others.
    #[error(
        "the default route of this machine leads over {0}, and a test takes the interface for itself: \
         choose another, or insist with --force"
    )]
    DefaultRoute(String),
    /// Nobody answers at the device's address.
    #[error(
        "nobody at {interface} answers for {address}: is it the address of the device there, and has {interface} an \
         address in its network? Or give its Ethernet address, as in --left-device 02:00:5e:10:00:01"
    )]
    NoAnswer {
        /// Where it was asked for.
        interface: String,
        /// What was asked for.
        address: std::net::IpAddr,
    },
    /// A host has another name on the other side, and nobody said which.
    #[error(
        "{sender} speaks {speaks} and {receiver} is {address}: {option} says what it calls that host"
    )]
    Unnamed {
        /// Who sends.
        sender: &'static str,
        /// What it speaks.
        speaks: &'static str,
        /// Who is to be reached.
        receiver: &'static str,
        /// Its own address.
        address: std::net::IpAddr,
        /// The options that help.
        option: &'static str,
    },
    /// A name that its user cannot write into a packet.
    #[error("{option} {address}: the host that calls it so speaks {speaks}")]
    WrongFamily {
        /// Which option.
        option: &'static str,
        /// Its value.
        address: std::net::IpAddr,
        /// What its user speaks.
        speaks: &'static str,
    },
    /// The frame size is none.
    #[error("--size: {0}")]
    Size(#[from] crate::generator::BadFrameSize),
    /// The laboratory's own errors.
    #[error(transparent)]
    Lab(#[from] crate::LabError),
}
