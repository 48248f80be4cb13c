//! Stateful translation for IPv6 clients of IPv4 servers (RFC 6146).

use super::Part;
use crate::address::{V4, V6, special};
use crate::config::{Nat64, Policy};
use crate::host::{Host, Sessions};
use crate::nat::{
    self, Bounded, Endpoint4, Established, Exhaustive, FragmentKey, Inside, Ports, TcpFlags,
};
use crate::reason::Counter;
use crate::translate::Tuple;
use crate::translate::transport::{Kind, Transport};
use crate::verdict::{IcmpError, Refusal, Slow};
use crate::wire::protocol;

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
        .ok_or(Refusal::Drop(Counter::UntranslatableDestination))?;
    if special::is_illegal_destination_v4(destination) {
        return Err(Refusal::Drop(Counter::IllegalDestination));
    }
    if policy.forbids(&nat64.prefix, destination) {
        return Err(Refusal::Drop(Counter::NonGlobalWellKnown));
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
    let flow = stateful(transport)?;
    let nat = &nat64.nat;
    let outside = match part {
        Part::Outer => match H::SESSIONS {
            Sessions::Established => nat::outbound(host, nat, Established, &inside, remote, flow)?,
            Sessions::Bounded => nat::outbound(host, nat, Bounded, &inside, remote, flow)?,
            Sessions::Exhaustive => nat::outbound(host, nat, Exhaustive, &inside, remote, flow)?,
        },
        Part::Quoted => nat::peek_outbound(host, nat, &inside, remote, flow.protocol())
            .ok_or(Refusal::Drop(Counter::NoBinding))?,
    };
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
    let flow = stateful(transport)?;
    let nat = &nat64.nat;
    let inside = match part {
        Part::Outer => match H::SESSIONS {
            Sessions::Established => nat::inbound(host, nat, Established, outside, remote, flow)?,
            Sessions::Bounded => nat::inbound(host, nat, Bounded, outside, remote, flow)?,
            Sessions::Exhaustive => nat::inbound(host, nat, Exhaustive, outside, remote, flow)?,
        },
        Part::Quoted => nat::peek_inbound(host, nat, outside, remote, flow.protocol())
            .ok_or(Refusal::Drop(Counter::NoBinding))?,
    };
    Ok(Tuple {
        source: nat64.prefix.embed(tuple.source),
        destination: inside.address,
        source_port: tuple.source_port,
        destination_port: inside.port,
    })
}

/// Remembers the ports of a first fragment, or finds those of another.
///
/// # Errors
/// The first fragment did not come yet.
pub fn ports_of<H: Host>(
    host: &H,
    nat64: &Nat64,
    key: &FragmentKey,
    transport: &Transport,
) -> Result<Ports, Refusal> {
    if transport.kind == Kind::Continuation {
        return nat::recall(host, &nat64.nat, key).ok_or(Refusal::Slow(Slow::HoldFragment));
    }
    let ports = transport.ports();
    nat::remember(host, &nat64.nat, key, ports).map_err(|_| Refusal::Drop(Counter::TableFull))?;
    Ok(ports)
}

/// What the NAT calls a packet. Other protocols are answered as RFC 6146 section 3.4 says.
#[inline(always)]
fn stateful(transport: &Transport) -> Result<nat::Transport, Refusal> {
    match (transport.kind, transport.protocol) {
        (Kind::Tcp, _) => Ok(nat::Transport::Tcp(TcpFlags(transport.tcp_flags))),
        (Kind::Continuation, protocol::TCP) => Ok(nat::Transport::Tcp(TcpFlags(0))),
        (Kind::Udp, _) | (Kind::Continuation, protocol::UDP) => Ok(nat::Transport::Udp),
        (Kind::Echo(_), _) => Ok(nat::Transport::Icmp),
        _ => Err(Refusal::Reply(
            IcmpError::PortUnreachable,
            Counter::UnsupportedProtocol,
        )),
    }
}
