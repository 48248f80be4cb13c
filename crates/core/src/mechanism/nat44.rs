//! Stateful translation within IPv4, for hosts that share the pool's addresses (RFC 3022, with the
//! behaviour of RFC 4787, RFC 5382, RFC 5508 and RFC 6888).

use super::{Part, stateful};
use crate::address::{V4, V6};
use crate::config::Nat44;
use crate::host::Host;
use crate::nat::{Endpoint4, Inside};
use crate::translate::Tuple;
use crate::translate::transport::Transport;
use crate::verdict::Refusal;

/// Which way a packet goes through the NAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From an inside host.
    Out,
    /// To the pool, from anybody else.
    In,
}

/// Whether a packet is the NAT's: from an inside host to one that is not, or to the pool.
#[inline(always)]
pub fn owns(nat44: &Nat44, source: V4, destination: V4) -> bool {
    let out = nat44.inside.contains(source) && !nat44.inside.contains(destination);
    out || nat44.nat.owns(destination)
}

/// The way of a packet that is the NAT's, by its source.
#[inline(always)]
pub fn way(nat44: &Nat44, source: V4) -> Way {
    if nat44.inside.contains(source) {
        Way::Out
    } else {
        Way::In
    }
}

/// The tuple of a packet on the other side.
///
/// # Errors
/// What the NAT decides.
pub fn map<H: Host>(
    host: &mut H,
    nat44: &Nat44,
    way: Way,
    tuple: &Tuple<V4>,
    transport: &Transport,
    part: Part,
) -> Result<Tuple<V4>, Refusal> {
    let source = Endpoint4 {
        address: tuple.source,
        port: tuple.source_port,
    };
    let destination = Endpoint4 {
        address: tuple.destination,
        port: tuple.destination_port,
    };
    let nat = &nat44.nat;
    match way {
        Way::Out => {
            let inside = Inside {
                address: V6::default(),
                v4: source.address,
                port: source.port,
            };
            let outside = stateful::outbound(host, nat, &inside, destination, transport, part)?;
            Ok(Tuple {
                source: outside.address,
                source_port: outside.port,
                ..*tuple
            })
        }
        Way::In => {
            let inside = stateful::inbound(host, nat, destination, source, transport, part)?;
            Ok(Tuple {
                destination: inside.v4,
                destination_port: inside.port,
                ..*tuple
            })
        }
    }
}
