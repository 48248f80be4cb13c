//! Sessions that an engine makes in between, whose [effort](Host::Effort) for the packets themselves opens none.

use super::softwires::{self, FromSoftwire};
use super::{owner_v4, owner_v6};
use crate::address::V6;
use crate::datagrams::FragmentKey;
use crate::encap::four_in_six::Softwire;
use crate::host::Host;
use crate::incoming::{v4, v6};
use crate::mechanism::crossing::{SharesV4, Translator};
use crate::mechanism::passage::Passage as _;
use crate::mechanism::{
    AnyMechanism, Instances, Mechanism as _, Member, Seen, fragments, stateful,
};
use crate::packet::Packet;
use crate::reason::Counter;
use crate::verdict::{Refusal, Slow};
use crate::wire::content::{Content, Messages};
use crate::wire::transport::Transport;
use crate::wire::tuple::Ends;
use crate::wire::{ipv4, ipv6};

/// Makes the session that an IPv6 packet needs, and leaves the packet as it is.
///
/// # Errors
/// There will be no session.
#[inline(always)]
pub fn open_v6<M: Translator + Member, P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
) -> Result<(), Refusal> {
    let header = ipv6::Header::read(packet, 0)?;
    let Some(owner) = owner_v6::<M, _, _>(host, instances, &header) else {
        return Err(Refusal::Drop(Counter::EngineError));
    };
    let transport = v6::read(packet, header)?.transport;
    with_ports(&transport)?;
    let tuple = transport.tuple(header.source(), header.destination());
    let seen = Seen::outer(owner.policy, &tuple, &transport);
    owner.mechanism.to_v4(host, seen).map(|_| ())
}

/// Makes the session that an IPv4 packet in a softwire needs, and leaves the packet as it is.
///
/// # Errors
/// There will be no session.
#[inline(always)]
pub fn open_softwire<M: SharesV4 + Member, P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
) -> Result<(), Refusal> {
    let outer = ipv6::Header::read(packet, 0)?;
    let Some(owner) = owner_v6::<M, _, _>(host, instances, &outer) else {
        return Err(Refusal::Drop(Counter::EngineError));
    };
    let softwire = Softwire::open(packet, &outer)?;
    let header = softwire.header;
    // As in `open_v4`.
    let transport = v4::read(&softwire.inner, header, Messages::WithinV4)?.transport;
    with_ports(&transport)?;
    let tuple = transport.tuple(header.source(), header.destination());
    let seen = Seen::outer(owner.policy, &tuple, &transport);
    let out = FromSoftwire {
        mechanism: owner.mechanism,
        ends: Ends::new(outer.source(), outer.destination()),
    };
    out.pass(host, seen).map(|_| ())
}

/// Makes the session that an IPv4 packet from an inside host needs, and leaves the packet as it is.
///
/// # Errors
/// There will be no session.
#[inline(always)]
pub fn open_v4<P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
) -> Result<(), Refusal> {
    let header = ipv4::Header::read(packet, 0)?;
    let nobody = Refusal::Drop(Counter::EngineError);
    let owner =
        owner_v4::<AnyMechanism, _, _, _>(packet, host, instances, &header).ok_or(nobody)?;
    let nat = owner.mechanism.opening_nat_v4().ok_or(nobody)?;
    if !owner.mechanism.goes_out(header.source()) {
        return Err(Refusal::Slow(Slow::Session));
    }
    // Whoever asks for a session has refused the messages that the mechanism does not carry.
    let transport = v4::read(packet, header, Messages::WithinV4)?.transport;
    with_ports(&transport)?;
    let tuple = transport.tuple(header.source(), header.destination());
    let seen = Seen::outer(owner.policy, &tuple, &transport);
    stateful::out(host, nat, V6::default(), seen).map(|_| ())
}

/// Remembers the ports of the first fragment of an IPv4 datagram for those that follow it, and leaves the fragment as it
/// is. `None` if they will not find it.
#[inline(always)]
pub fn remember_v4<P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
) -> Option<()> {
    let header = ipv4::Header::read(packet, 0).ok()?;
    let owner = owner_v4::<AnyMechanism, _, _, _>(packet, host, instances, &header)?;
    let transport = v4::read(packet, header, Messages::WithinV4).ok()?.transport;
    let remembered = owner.mechanism.datagrams();
    fragments::remember(host, remembered, &FragmentKey::v4(&header), &transport)
}

/// Remembers the ports of the first fragment of an IPv6 datagram likewise.
#[inline(always)]
pub fn remember_v6<P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
) -> Option<()> {
    let header = ipv6::Header::read(packet, 0).ok()?;
    let owner = owner_v6::<AnyMechanism, _, _>(host, instances, &header)?;
    let incoming = v6::read(packet, header).ok()?;
    let key = fragments::key_v6(&incoming);
    let remembered = owner.mechanism.datagrams();
    fragments::remember(host, remembered, &key, &incoming.transport)
}

/// Remembers the ports of the first fragment of an IPv4 datagram in a softwire likewise.
#[inline(always)]
pub fn remember_softwire<P: Packet, H: Host, I: Instances + ?Sized>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
) -> Option<()> {
    let outer = ipv6::Header::read(packet, 0).ok()?;
    let owner = owner_v6::<AnyMechanism, _, _>(host, instances, &outer)?;
    let softwire = Softwire::open(packet, &outer).ok()?;
    let header = softwire.header;
    let transport = v4::read(&softwire.inner, header, Messages::WithinV4)
        .ok()?
        .transport;
    let by_softwire = owner.mechanism.fragments_by_softwire();
    let key = softwires::fragment_key(&header, by_softwire, outer.source());
    fragments::remember(host, owner.mechanism.datagrams(), &key, &transport)
}

/// Refuses a fragment after the first: the session of its datagram has ended, and its ports are elsewhere.
#[inline(always)]
fn with_ports(transport: &Transport) -> Result<(), Refusal> {
    if transport.content == Content::Continuation {
        return Err(Refusal::Slow(Slow::HoldFragment));
    }
    Ok(())
}
