//! The lwAFTR of lw4o6: a table tells which lwB4 has which address and ports (RFC 7596 sections 6 and 8).

use super::Part;
use super::passage::{Exit, Passage, Passed};
use crate::address::port_set::Sharing;
use crate::address::softwire::{self, Customer};
use crate::address::{V4, V6};
use crate::config::{LwAftr, Permission, Unbound};
use crate::encap::Ends;
use crate::host::Host;
use crate::reason::Counter;
use crate::translate::Tuple;
use crate::translate::transport::{Kind, Transport};
use crate::verdict::{IcmpError, Refusal};

/// From a lwB4 to the internet.
pub struct Up<'a> {
    /// The lwAFTR.
    pub aftr: &'a LwAftr,
    /// The ends of the softwire, as the outer header has them.
    pub ends: Ends<V6>,
}

/// From the internet to a lwB4.
pub struct Down<'a>(pub &'a LwAftr);

impl Passage for Up<'_> {
    const COUNTER: Counter = Counter::Decapsulated4In6;

    /// RFC 7596 section 6.2: IPv6 address, IPv4 address and port must match a single softwire.
    #[inline(always)]
    fn pass<H: Host>(
        &self,
        host: &mut H,
        tuple: &Tuple<V4>,
        transport: &Transport,
        _part: Part,
    ) -> Result<Passed, Refusal> {
        let Self { aftr, ends } = self;
        let spoofed = match aftr.policy.unbound_v6 {
            Unbound::Answer => Refusal::Reply(IcmpError::SourcePolicy, Counter::TunnelSpoofed),
            Unbound::Drop => Refusal::Drop(Counter::TunnelSpoofed),
        };
        let (address, port) = (tuple.source, tuple.source_port);
        let bound = find(host, aftr, address, port, transport).ok_or(spoofed)?;
        if !bound.destination.is(ends.source) || !bound.source.is(ends.destination) {
            return Err(spoofed);
        }
        // "The hairpinning policy MUST be configurable."
        if aftr.policy.hairpin == Permission::Drop && aftr.shared.find(tuple.destination).is_some()
        {
            return Err(Refusal::prohibited(Counter::Filtered));
        }
        Ok(Passed {
            tuple: *tuple,
            exit: Exit::Link,
            hides: false,
        })
    }

    /// RFC 7596 section 6.2: the source address of an ICMP error must be the softwire's as well.
    #[inline(always)]
    fn check_reporter(&self, reporter: V4, passed: &Passed) -> Result<(), Refusal> {
        if reporter == passed.tuple.source {
            Ok(())
        } else {
            Err(Refusal::Drop(Counter::TunnelSpoofed))
        }
    }
}

impl Passage for Down<'_> {
    const COUNTER: Counter = Counter::Encapsulated4In6;

    #[inline(always)]
    fn pass<H: Host>(
        &self,
        host: &mut H,
        tuple: &Tuple<V4>,
        transport: &Transport,
        part: Part,
    ) -> Result<Passed, Refusal> {
        let Self(aftr) = self;
        may_come_in(aftr, transport, part)?;
        let (address, port) = (tuple.destination, tuple.destination_port);
        let bound =
            find(host, aftr, address, port, transport).ok_or(match aftr.policy.unbound_v4 {
                Unbound::Answer => {
                    Refusal::Reply(IcmpError::AddressUnreachable, Counter::TunnelDestination)
                }
                Unbound::Drop => Refusal::Drop(Counter::TunnelDestination),
            })?;
        Ok(Passed {
            tuple: *tuple,
            exit: Exit::Softwire(bound),
            hides: false,
        })
    }
}

/// The ICMPv4 messages that come in: echo messages, and errors, of which the quoted packet is seen here
/// (RFC 7596 section 8.1: "the lwAFTR MUST discard all" others); none if the operator says so.
#[inline(always)]
fn may_come_in(aftr: &LwAftr, transport: &Transport, part: Part) -> Result<(), Refusal> {
    let is_icmp = part == Part::Quoted || matches!(transport.kind, Kind::Echo(_) | Kind::Query);
    if is_icmp && aftr.policy.incoming_icmp == Permission::Drop {
        return Err(Refusal::Drop(Counter::Filtered));
    }
    match (part, transport.kind) {
        (Part::Outer, Kind::Query) => Err(Refusal::Drop(Counter::IcmpUntranslatable)),
        _ => Ok(()),
    }
}

/// The ends of the softwire of an address and a port, as a packet to the lwB4 has them.
#[inline(always)]
fn find<H: Host>(
    host: &H,
    aftr: &LwAftr,
    address: V4,
    port: u16,
    transport: &Transport,
) -> Option<Ends<V6>> {
    let sharing = aftr.shared.find(address)?;
    let psid = psid(sharing, port, transport.kind)?;
    let customer = Customer::new(address, psid, sharing);
    let place = host.find_softwire(&aftr.softwires, customer)?;
    let (b4, border) = softwire::read(host.rules(), &aftr.softwires, place, customer)?;
    Some(Ends {
        source: aftr.borders.get(border),
        destination: b4,
    })
}

/// The PSID of who has a port. A packet without a port belongs to nobody who shares an address.
#[inline(always)]
fn psid(sharing: Sharing, port: u16, kind: Kind) -> Option<u16> {
    match kind {
        Kind::Other | Kind::Continuation | Kind::IcmpError if !sharing.is_whole() => None,
        _ => sharing.psid_of(port),
    }
}
