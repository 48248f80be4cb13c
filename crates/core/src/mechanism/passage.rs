//! Mechanisms whose packets are IPv4 on both sides: NATs, and those that share IPv4 addresses over IPv6.
//!
//! Such a packet passes between two sides, each of them a link or a softwire (a tunnel that carries IPv4
//! over IPv6). The mechanism gives the tuple on the other side, and the side itself.

use super::Part;
use crate::address::{V4, V6};
use crate::host::Host;
use crate::nat::{FragmentKey, NatConfig};
use crate::reason::Counter;
use crate::verdict::Refusal;
use crate::wire::ipv4;
use crate::wire::transport::Transport;
use crate::wire::tuple::{Ends, Tuple};

/// The side that a packet leaves on.
#[derive(Clone, Copy, Debug)]
pub enum Exit {
    /// Where the routes lead.
    Link,
    /// Into a softwire between these addresses.
    Softwire(Ends<V6>),
}

/// A packet as it is on the other side.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    /// Addresses and ports.
    pub tuple: Tuple<V4>,
    /// The side that it leaves on.
    pub exit: Exit,
    /// Whether the source is one that stands for others: routers behind it are not seen.
    pub hides: bool,
}

/// One direction of a mechanism.
pub trait Passage {
    /// The counter of a packet that passed.
    const COUNTER: Counter;

    /// The tuple of a packet on the other side, and its exit.
    ///
    /// # Errors The packet may not pass, or the NAT refuses it.
    fn pass<H: Host>(
        &self,
        host: &mut H,
        tuple: &Tuple<V4>,
        transport: &Transport,
        part: Part,
    ) -> Result<Passed, Refusal>;

    /// Checks whether a host with this address may send an ICMP error about a packet that passed so.
    ///
    /// # Errors It may not.
    #[inline(always)]
    fn check_reporter(&self, _reporter: V4, _passed: &Passed) -> Result<(), Refusal> {
        Ok(())
    }

    /// The NAT that makes the tuples, if there is one: it remembers the ports of fragments.
    #[inline(always)]
    fn nat(&self) -> Option<&NatConfig> {
        None
    }

    /// The key that the fragments of a datagram have in common.
    #[inline(always)]
    fn fragment_key(&self, header: &ipv4::Header) -> FragmentKey {
        FragmentKey::v4(header)
    }
}
