//! Stateful translation for IPv6 clients of IPv4 servers (RFC 6146).

use super::{Part, stateful};
use crate::address::{V4, V6, special};
use crate::config::{Nat64, Policy};
use crate::host::Host;
use crate::nat::{Endpoint4, Inside};
use crate::reason::Counter;
use crate::translate::Tuple;
use crate::translate::transport::Transport;
use crate::verdict::Refusal;

/// From IPv6 to IPv4: the source becomes an address and port of the pool.
///
/// # Errors
/// An address that must not be translated, or what the NAT decides.
#[inline(always)]
pub fn to_v4<H: Host>(
    host: &mut H,
    nat64: &Nat64,
    policy: &Policy,
    tuple: &Tuple<V6>,
    transport: &Transport,
    part: Part,
) -> Result<Tuple<V4>, Refusal> {
    // RFC 6146 section 3.5: a source under the prefix could loop for ever.
    if nat64.prefix.contains(tuple.source) {
        return Err(Refusal::Drop(Counter::Loop));
    }
    let destination = nat64
        .prefix
        .extract(tuple.destination)
        .ok_or(Refusal::prohibited(Counter::UntranslatableDestination))?;
    if special::is_illegal_destination_v4(destination) {
        return Err(Refusal::Drop(Counter::IllegalDestination));
    }
    if policy.forbids(&nat64.prefix, destination) {
        return Err(Refusal::prohibited(Counter::NonGlobalWellKnown));
    }
    let inside = Inside {
        address: tuple.source,
        v4: V4::default(),
        port: tuple.source_port,
    };
    let remote = Endpoint4 {
        address: destination,
        port: tuple.destination_port,
    };
    let outside = stateful::outbound(host, &nat64.nat, &inside, remote, transport, part)?;
    Ok(Tuple {
        source: outside.address,
        destination,
        source_port: outside.port,
        destination_port: tuple.destination_port,
    })
}

/// From IPv4 to IPv6: the destination becomes the host that the binding names.
///
/// # Errors
/// No binding, or a filter that does not let the packet in.
#[inline(always)]
pub fn to_v6<H: Host>(
    host: &mut H,
    nat64: &Nat64,
    policy: &Policy,
    tuple: &Tuple<V4>,
    transport: &Transport,
    part: Part,
) -> Result<Tuple<V6>, Refusal> {
    if policy.forbids(&nat64.prefix, tuple.source) {
        // Silently: nobody outside answers to a private address.
        return Err(Refusal::Drop(Counter::NonGlobalWellKnown));
    }
    let outside = Endpoint4 {
        address: tuple.destination,
        port: tuple.destination_port,
    };
    let remote = Endpoint4 {
        address: tuple.source,
        port: tuple.source_port,
    };
    let inside = stateful::inbound(host, &nat64.nat, outside, remote, transport, part)?;
    Ok(Tuple {
        source: nat64.prefix.embed(tuple.source),
        destination: inside.address,
        source_port: tuple.source_port,
        destination_port: inside.port,
    })
}
