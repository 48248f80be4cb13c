//! The common part of the stateful mechanisms: the lookup of a packet in the NAT, for inside hosts of both
//! families.

use super::{Part, Seen};
use crate::address::{V4, V6};
use crate::customer::{Destination, Receiver};
use crate::host::Host;
use crate::nat::{self, Endpoint4, Inside, NatConfig, Passed, Protocol, Side, TcpFlags};
use crate::reason::Counter;
use crate::verdict::{IcmpError, Refusal};
use crate::wire::content::Content;
use crate::wire::protocol;
use crate::wire::transport::Transport;
use crate::wire::tuple::Tuple;

/// The outside endpoint for a packet from `inside` to `remote`.
///
/// # Errors
/// The NAT refuses the packet; for a quoted packet, there is no state.
#[inline(always)]
pub(super) fn outbound<H: Host, A>(
    host: &mut H,
    nat: &NatConfig,
    inside: &Inside,
    remote: Endpoint4,
    seen: Seen<'_, A>,
) -> Result<Endpoint4, Refusal> {
    let flow = flow(seen.transport)?;
    match seen.part {
        Part::Outer => nat::outbound(host, nat, H::Effort::default(), inside, remote, flow),
        Part::Quoted => nat::peek_outbound(host, nat, inside, remote, flow.protocol())
            .ok_or(Refusal::Drop(Counter::NoBinding)),
    }
}

/// The inside endpoint for a packet from outside.
///
/// # Errors
/// No binding, or a filter that does not let the packet in.
#[inline(always)]
pub(super) fn inbound<H: Host>(
    host: &mut H,
    nat: &NatConfig,
    seen: Seen<'_, V4>,
) -> Result<Inside, Refusal> {
    let (outside, remote) = (destination(seen.tuple), source(seen.tuple));
    let flow = flow(seen.transport)?;
    match seen.part {
        Part::Outer => nat::inbound(host, nat, H::Effort::default(), outside, remote, flow),
        Part::Quoted => nat::peek_inbound(host, nat, outside, remote, flow.protocol())
            .ok_or(Refusal::Drop(Counter::NoBinding)),
    }
}

/// A packet from an inside IPv4 host as it is outside. `softwire` is the address of the softwire that
/// the host is behind, zero if it is behind none.
///
/// # Errors
/// See [`outbound`].
#[inline(always)]
pub(crate) fn out<H: Host>(
    host: &mut H,
    nat: &NatConfig,
    softwire: V6,
    seen: Seen<'_, V4>,
) -> Result<Tuple<V4>, Refusal> {
    let inside = Inside {
        address: softwire,
        v4: seen.tuple.source,
        port: seen.tuple.source_port,
    };
    let outside = outbound(host, nat, &inside, destination(seen.tuple), seen)?;
    Ok(Tuple {
        source: outside.address,
        source_port: outside.port,
        ..*seen.tuple
    })
}

/// A packet from outside as it is on the inside of IPv4 hosts, and the address of the softwire that the
/// host is behind, zero if it is behind none.
///
/// # Errors
/// See [`inbound`].
#[inline(always)]
pub(super) fn back<H: Host>(
    host: &mut H,
    nat: &NatConfig,
    seen: Seen<'_, V4>,
) -> Result<(Tuple<V4>, V6), Refusal> {
    let inside = inbound(host, nat, seen)?;
    let tuple = Tuple {
        destination: inside.v4,
        destination_port: inside.port,
        ..*seen.tuple
    };
    Ok((tuple, inside.address))
}

/// The customer who has a port of the pool.
#[inline(always)]
pub(super) fn receiver<H: Host>(host: &H, nat: &NatConfig, to: &Destination) -> Option<Receiver> {
    let protocol = match to.protocol {
        protocol::TCP => Protocol::Tcp,
        protocol::UDP => Protocol::Udp,
        protocol::ICMP => Protocol::Icmp,
        _ => return None,
    };
    let outside = Endpoint4 {
        address: to.address,
        port: to.port?,
    };
    let inside = nat::owner_of(host, nat, outside, protocol)?;
    Some(if inside.address.is(V6::default()) {
        Receiver::V4(inside.v4)
    } else {
        Receiver::V6(inside.address)
    })
}

/// Counts a packet from inside that is on its way, by its tuple outside, where the NAT counts what sessions carry.
#[inline(always)]
pub(crate) fn carried_out<H: Host>(
    host: &H,
    nat: Option<&NatConfig>,
    transport: &Transport,
    tuple: &Tuple<V4>,
) {
    let (outside, remote) = (source(tuple), destination(tuple));
    carried(host, nat, transport, (outside, remote), Side::Inside);
}

/// Counts a packet from outside, likewise.
#[inline(always)]
pub(crate) fn carried_back<H: Host>(
    host: &H,
    nat: Option<&NatConfig>,
    transport: &Transport,
    tuple: &Tuple<V4>,
) {
    let (outside, remote) = (destination(tuple), source(tuple));
    carried(host, nat, transport, (outside, remote), Side::Outside);
}

#[inline(always)]
fn carried<H: Host>(
    host: &H,
    nat: Option<&NatConfig>,
    transport: &Transport,
    (outside, remote): (Endpoint4, Endpoint4),
    from: Side,
) {
    let Some(nat) = nat else {
        return;
    };
    let passed = Passed {
        outside,
        remote,
        protocol: transport.protocol,
        from,
        bytes: transport.length,
    };
    nat::count(host, nat, passed);
}

#[inline(always)]
const fn source(tuple: &Tuple<V4>) -> Endpoint4 {
    Endpoint4 {
        address: tuple.source,
        port: tuple.source_port,
    }
}

#[inline(always)]
const fn destination(tuple: &Tuple<V4>) -> Endpoint4 {
    Endpoint4 {
        address: tuple.destination,
        port: tuple.destination_port,
    }
}

/// The transport of a packet for the NAT. Other protocols are refused as RFC 6146 section 3.4 says.
#[inline(always)]
fn flow(transport: &Transport) -> Result<nat::Transport, Refusal> {
    match (transport.content, transport.protocol) {
        (Content::Tcp, _) => Ok(nat::Transport::Tcp(TcpFlags(transport.tcp_flags))),
        (Content::Continuation, protocol::TCP) => Ok(nat::Transport::Tcp(TcpFlags(0))),
        (Content::Udp, _) | (Content::Continuation, protocol::UDP) => Ok(nat::Transport::Udp),
        (Content::Echo(_) | Content::Query, _) => Ok(nat::Transport::Icmp),
        _ => Err(Refusal::Reply(
            IcmpError::PortUnreachable,
            Counter::UnsupportedProtocol,
        )),
    }
}
