//! Shared IPv4 addresses by translation: MAP-T (RFC 7599), with the border relay at one end and the
//! customer's edge, which has the NAT, at the other. An edge without rules is the CLAT of 464XLAT
//! (RFC 6877) for hosts that share its one address.

use super::{Part, softwire, stateful};
use crate::address::map::MapRule;
use crate::address::{V4, V6, special};
use crate::config::{MapTBorder, MapTCustomer};
use crate::host::Host;
use crate::reason::Counter;
use crate::translate::Tuple;
use crate::translate::transport::{Kind, Transport};
use crate::verdict::{IcmpError, Refusal, Slow};

/// From the internet to a customer (RFC 7599 section 8.4).
///
/// # Errors
/// No customer has the address and port.
#[inline(always)]
pub fn down(border: &MapTBorder, tuple: &Tuple<V4>) -> Result<Tuple<V6>, Refusal> {
    let (address, port) = (tuple.destination, tuple.destination_port);
    let rule = border.rules.find_v4(address, port);
    let destination = rule.and_then(|rule| rule.host_address_of(address, port));
    Ok(Tuple {
        source: border.prefix.embed(tuple.source),
        destination: destination.ok_or(Refusal::Reply(
            IcmpError::AddressUnreachable,
            Counter::TunnelDestination,
        ))?,
        source_port: tuple.source_port,
        destination_port: tuple.destination_port,
    })
}

/// From a customer to the internet (RFC 7599 section 8.3).
///
/// # Errors
/// The sender is no customer, or does not have the address and port that it sends from.
#[inline(always)]
pub fn up(border: &MapTBorder, tuple: &Tuple<V6>) -> Result<Tuple<V4>, Refusal> {
    let source = customer(border.rules.find_v6(tuple.source), tuple)?;
    let destination = outside(border.prefix.extract(tuple.destination))?;
    Ok(Tuple {
        source,
        destination,
        source_port: tuple.source_port,
        destination_port: tuple.destination_port,
    })
}

/// The IPv4 address of the customer who sent a packet.
#[inline(always)]
fn customer(rule: Option<&MapRule>, tuple: &Tuple<V6>) -> Result<V4, Refusal> {
    let address = rule.map_or(V4::default(), |rule| rule.host_v4_in(tuple.source));
    softwire::check(rule, tuple.source, address, tuple.source_port)?;
    Ok(address)
}

/// An IPv4 address that a packet may be sent to.
#[inline(always)]
fn outside(address: Option<V4>) -> Result<V4, Refusal> {
    let address = address.ok_or(Refusal::Drop(Counter::UntranslatableDestination))?;
    if special::is_illegal_destination_v4(address) {
        return Err(Refusal::Drop(Counter::IllegalDestination));
    }
    Ok(address)
}

/// From a host behind the edge to the internet (RFC 7599 section 8.1).
///
/// # Errors
/// What the NAT decides.
#[inline(always)]
pub fn out<H: Host>(
    host: &mut H,
    edge: &MapTCustomer,
    tuple: &Tuple<V4>,
    transport: &Transport,
    part: Part,
) -> Result<Tuple<V6>, Refusal> {
    let tuple = stateful::out(host, &edge.nat, V6::default(), tuple, transport, part)?;
    let (address, port) = (tuple.destination, tuple.destination_port);
    let rule = edge.rules.find_v4(address, port);
    let other = rule.and_then(|rule| rule.host_address_of(address, port));
    Ok(Tuple {
        source: edge.local,
        destination: other.unwrap_or_else(|| edge.prefix.embed(address)),
        source_port: tuple.source_port,
        destination_port: tuple.destination_port,
    })
}

/// The UDP port of servers of PCP (RFC 6887 section 19.1).
const PCP: u16 = 5351;

/// Whether a packet may be what a server tells the edge itself, which asks it with its own address (RFC
/// 7648 section 3.3).
#[inline(always)]
fn is_for_edge(tuple: &Tuple<V6>, transport: &Transport, part: Part) -> bool {
    part == Part::Outer && matches!(transport.kind, Kind::Udp) && tuple.source_port == PCP
}

/// From the internet to a host behind the edge (RFC 7599 section 8.2).
///
/// # Errors
/// The sender is neither under the prefix nor another customer, or what the NAT decides.
#[inline(always)]
pub fn back<H: Host>(
    host: &mut H,
    edge: &MapTCustomer,
    tuple: &Tuple<V6>,
    transport: &Transport,
    part: Part,
) -> Result<Tuple<V4>, Refusal> {
    let source = match edge.prefix.extract(tuple.source) {
        Some(address) => address,
        None => match edge.rules.find_v6(tuple.source) {
            None if is_for_edge(tuple, transport, part) => return Err(Refusal::Slow(Slow::Own)),
            rule => customer(rule, tuple)?,
        },
    };
    let outside = Tuple {
        source,
        destination: edge.address,
        source_port: tuple.source_port,
        destination_port: tuple.destination_port,
    };
    let (tuple, _) = stateful::back(host, &edge.nat, &outside, transport, part)?;
    Ok(tuple)
}
