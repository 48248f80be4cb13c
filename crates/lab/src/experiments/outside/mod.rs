//! A device outside of the laboratory, between two of the machine's own interfaces.
//!
//! ```text
//! left host ── left interface ═══ device ═══ right interface ── right host
//! ```
//!
//! The hosts are addresses: the tester sends from them, and receives packets to them. Packets from host to host may
//! arrive in the other protocol. An interface belongs to the tester while a test lasts: UDP that arrives there does
//! not reach the machine.
//!
//! * [`interface`]: an interface, and its neighbour on the cable
//! * [`hosts`]: the addresses, and the frames between them
//! * [`figures`]: the tests, and their figures

pub mod figures;
pub mod hosts;
pub mod interface;
mod show;

pub use figures::{Effort, Figures, Test};
pub use hosts::{Direction, Hosts};
pub use interface::{Care, Interface, Neighbour};

/// The reason why a device outside cannot be tested.
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
    /// The cable has no carrier.
    #[error("{0} has no carrier: is a cable plugged in, and the device on?")]
    NoCarrier(String),
    /// It carries the default route of the machine.
    #[error(
        "the default route of this machine leads over {0}, and a test takes the interface for itself: \
         choose another, or insist with --force"
    )]
    DefaultRoute(String),
    /// The device does not answer for its address.
    #[error(
        "no device at {interface} answers for {address}: is it the address of the device there, and has {interface} an \
         address in its network? Or give its Ethernet address, as in --left-device 02:00:5e:10:00:01"
    )]
    NoAnswer {
        /// The interface.
        interface: String,
        /// The address.
        address: std::net::IpAddr,
    },
    /// A host needs an address on the other side, and none was given.
    #[error(
        "{sender} speaks {speaks} and {receiver} is {address}: {option} says what it calls that host"
    )]
    Unnamed {
        /// The sender.
        sender: &'static str,
        /// Its protocol.
        speaks: &'static str,
        /// The receiver.
        receiver: &'static str,
        /// The receiver's own address.
        address: std::net::IpAddr,
        /// The options that help.
        option: &'static str,
    },
    /// An address is of the wrong family for the host that uses it.
    #[error("{option} {address}: the host that calls it so speaks {speaks}")]
    WrongFamily {
        /// The option.
        option: &'static str,
        /// Its value.
        address: std::net::IpAddr,
        /// The protocol of the host.
        speaks: &'static str,
    },
    /// The frame size is invalid.
    #[error("--size: {0}")]
    Size(#[from] crate::traffic::generator::BadFrameSize),
    /// The laboratory's own errors.
    #[error(transparent)]
    Lab(#[from] crate::LabError),
}
