//! Stateless translation: a prefix and explicit address mappings (RFC 7915 section 6, RFC 6052,
//! RFC 6219, RFC 7757). Ports stay as they are.

use crate::address::{V4, V6, eam, special};
use crate::config::{Hairpin, Overlap, Policy, Siit};
use crate::host::Host;
use crate::reason::Counter;
use crate::translate::Tuple;
use crate::verdict::Refusal;

/// Whether an IPv4 address stands for an IPv6 host.
#[inline(always)]
pub fn owns_v4<H: Host>(host: &H, siit: &Siit, destination: V4) -> bool {
    siit.hosts.contains(destination) || host.find_eam_v4(&siit.eam, destination).is_some()
}

/// Whether an IPv6 packet is for an IPv4 host: under the prefix, or under a mapping of all of IPv4,
/// which is as good as a prefix (RFC 7757 figure 2). The hosts of all other explicit mappings are on
/// the IPv6 side: a packet to one of them is translated only if it comes from an IPv4 host, or if
/// there is no prefix and both sides have mappings.
#[inline(always)]
pub fn owns_v6<H: Host>(host: &H, siit: &Siit, source: V6, destination: V6) -> bool {
    if siit.prefix.contains(destination) {
        return true;
    }
    let from_v4 = siit.prefix.is_none() || siit.prefix.contains(source);
    if !from_v4 && !siit.eam.maps_everything() {
        return false;
    }
    match host.map_eam_v6(&siit.eam, destination) {
        Some(mapped) => from_v4 || mapped.of_everything,
        None => false,
    }
}

/// Whether an explicit mapping says that an IPv4 address is a host behind this translator. One of
/// all of IPv4 does not.
#[inline(always)]
pub fn is_host<H: Host>(host: &H, siit: &Siit, address: V4) -> bool {
    match host.find_eam_v4(&siit.eam, address) {
        Some(place) => !eam::is_of_everything(host.rules(), place),
        None => false,
    }
}

/// The explicit mapping of an IPv4 address.
#[inline(always)]
pub fn explicit_v6<H: Host>(host: &H, siit: &Siit, address: V4) -> Option<V6> {
    let place = host.find_eam_v4(&siit.eam, address)?;
    eam::to_v6(host.rules(), place, address)
}

/// The explicit mapping of an IPv6 address.
#[inline(always)]
pub fn explicit_v4<H: Host>(host: &H, siit: &Siit, address: V6) -> Option<V4> {
    Some(host.map_eam_v6(&siit.eam, address)?.address)
}

/// Explicit mapping first, then the prefix (RFC 7757 section 3.3).
#[inline(always)]
pub fn any_to_v6<H: Host>(host: &H, siit: &Siit, address: V4) -> Option<V6> {
    explicit_v6(host, siit, address).or_else(|| siit.prefix.embed(address))
}

/// Explicit mapping first, then the prefix (RFC 7757 section 3.3).
#[inline(always)]
pub fn any_to_v4<H: Host>(host: &H, siit: &Siit, address: V6) -> Option<V4> {
    if siit.overlap == Overlap::Apart
        && let Some(address) = siit.prefix.extract(address)
    {
        return Some(address);
    }
    explicit_v4(host, siit, address).or_else(|| siit.prefix.extract(address))
}

/// From IPv4 to IPv6.
///
/// # Errors
/// An address without counterpart.
#[inline(always)]
pub fn to_v6<H: Host>(
    host: &H,
    siit: &Siit,
    policy: &Policy,
    tuple: &Tuple<V4>,
) -> Result<Tuple<V6>, Refusal> {
    // RFC 7757 section 4.2.1: a source with an explicit mapping is on its way back from a hairpin,
    // and its correspondent knows it under the prefix. For a quoted packet the tuple is swapped,
    // so that rules 1 and 2 are the same.
    let source = if siit.hairpin == Hairpin::Off {
        any_to_v6(host, siit, tuple.source)
    } else {
        siit.prefix
            .embed(tuple.source)
            .or_else(|| any_to_v6(host, siit, tuple.source))
    };
    let source = source.ok_or(Refusal::prohibited(Counter::UntranslatableSource))?;
    let destination = any_to_v6(host, siit, tuple.destination)
        .ok_or(Refusal::prohibited(Counter::UntranslatableDestination))?;
    let forbidden = |v4, v6| siit.prefix.forbids(policy, v4) && siit.prefix.contains(v6);
    if forbidden(tuple.source, source) || forbidden(tuple.destination, destination) {
        return Err(Refusal::prohibited(Counter::NonGlobalWellKnown));
    }
    Ok(Tuple {
        source,
        destination,
        source_port: tuple.source_port,
        destination_port: tuple.destination_port,
    })
}

/// From IPv6 to IPv4.
///
/// # Errors
/// An address without counterpart, or one that no packet may have.
#[inline(always)]
pub fn to_v4<H: Host>(
    host: &H,
    siit: &Siit,
    policy: &Policy,
    tuple: &Tuple<V6>,
) -> Result<Tuple<V4>, Refusal> {
    let source = any_to_v4(host, siit, tuple.source)
        .ok_or(Refusal::prohibited(Counter::UntranslatableSource))?;
    let destination = any_to_v4(host, siit, tuple.destination)
        .ok_or(Refusal::prohibited(Counter::UntranslatableDestination))?;
    if special::is_illegal_source_v4(source) {
        return Err(Refusal::Drop(Counter::IllegalSource));
    }
    if special::is_illegal_destination_v4(destination) {
        return Err(Refusal::Drop(Counter::IllegalDestination));
    }
    let forbidden = |v4, v6| siit.prefix.forbids(policy, v4) && siit.prefix.contains(v6);
    if forbidden(source, tuple.source) || forbidden(destination, tuple.destination) {
        return Err(Refusal::prohibited(Counter::NonGlobalWellKnown));
    }
    Ok(Tuple {
        source,
        destination,
        source_port: tuple.source_port,
        destination_port: tuple.destination_port,
    })
}
