//! From IPv4 to IPv4: addresses and ports are rewritten where they are, and options stay (RFC 3022
//! section 4). In user space only.

use super::transport::{ICMP_CHECKSUM, Kind, TCP_CHECKSUM, Transport, UDP_CHECKSUM};
use super::{Hop, Tuple, icmp, mss, mtu, quoted, v4};
use crate::address::V4;
use crate::checksum::{Delta, Sum};
use crate::config::{Instance, Nat44};
use crate::host::{Destination, Host};
use crate::mechanism::{self, Part, nat44};
use crate::nat::FragmentKey;
use crate::packet::{ChecksumKind, Family, Packet, Truncated, Word};
use crate::reason::Counter;
use crate::verdict::{IcmpError, Refusal, Slow, Verdict};
use crate::wire::ipv4;

/// Offset of the checksum in an IPv4 header.
const HEADER_CHECKSUM: usize = 10;
/// The Don't Fragment flag in the second word of a header.
const DONT_FRAGMENT: u32 = 0x4000;

/// Translates a packet that belongs to a NAT44 instance.
///
/// # Errors
/// The packet is not to be sent on; it is unchanged then.
pub fn translate<P: Packet, H: Host>(
    packet: &mut P,
    host: &mut H,
    instance: &Instance,
    nat44: &Nat44,
    header: ipv4::Header,
    hop: Hop,
) -> Result<Verdict, Refusal> {
    if packet.bytes().is_none() {
        return Err(Refusal::Slow(Slow::Mechanism));
    }
    let incoming = v4::read(packet, header)?;
    let transport = &incoming.transport;
    if header.ttl() <= 1 && hop == Hop::Forward {
        return Err(Refusal::Reply(
            IcmpError::TimeExceeded,
            Counter::HopLimitExceeded,
        ));
    }
    let (source, destination) = (header.source(), header.destination());
    let ports = if header.fragment().is_fragment() {
        let identification = header.identification();
        let key = FragmentKey::v4(source, destination, identification, header.protocol());
        mechanism::ports_of(host, instance, &key, transport)?
    } else {
        transport.ports()
    };
    if transport.kind == Kind::IcmpError {
        return quoted::within_v4(packet, host, nat44, &incoming, hop);
    }
    let mss = mss::find(packet, &instance.policy, transport)?;
    let old = Tuple {
        source,
        destination,
        source_port: ports.source,
        destination_port: ports.destination,
    };
    let way = nat44::way(nat44, source);
    let new = nat44::map(host, nat44, way, &old, transport, Part::Outer)?;
    let link = link_mtu(host, instance, &new, header.tos())?;
    let size = mtu::WithinV4 {
        payload: transport.length,
        transport: transport.header,
        headers: header.header_length(),
        dont_fragment: header.dont_fragment(),
        link,
    };
    let split = mtu::within_v4(packet, &size)?;
    let most = mss::within_v4(instance.policy.ipv4_mtu, link);
    (|| {
        let mut flags = header.0[1];
        if split.is_some() {
            flags = Word::from_number(flags.number() & !DONT_FRAGMENT);
        }
        rewrite_header(packet, &header, flags, &new, hop)?;
        let lowered = mss::lower(packet, transport.at, mss, most)?;
        rewrite_transport(packet, transport, &old, &new, lowered)
    })()
    .map_err(|Truncated| Refusal::Drop(Counter::EngineError))?;
    if hop == Hop::Forward {
        host.count(Counter::Translated4To4);
    }
    Ok(Verdict::Forward {
        family: Family::V4,
        split,
    })
}

/// MTU of the link that a packet with these addresses will take.
fn link_mtu<H: Host>(
    host: &mut H,
    instance: &Instance,
    new: &Tuple<V4>,
    tos: u8,
) -> Result<u16, Refusal> {
    let route = host.route(Destination::V4 {
        source: new.source,
        destination: new.destination,
        tos,
    });
    Ok(route?.map_or(instance.policy.ipv4_mtu, |route| route.mtu))
}

/// Writes addresses, TTL and the word with the flags into the header at the front of a packet, and
/// keeps its checksum right.
pub(super) fn rewrite_header<P: Packet>(
    packet: &mut P,
    header: &ipv4::Header,
    flags: Word,
    new: &Tuple<V4>,
    hop: Hop,
) -> Result<(), Truncated> {
    let mut ttl = header.ttl();
    hop.apply(&mut ttl);
    let third = header.0[2].number() & 0x00ff_ffff | u32::from(ttl) << 24;
    let words = [
        flags,
        Word::from_number(third),
        new.source.0,
        new.destination.0,
    ];
    let [_, old @ ..] = &header.0;
    let change = Sum::ZERO.words(&words) - Sum::ZERO.words(old);
    packet.set_words(4, words)?;
    crate::packet::patch_complete(packet, HEADER_CHECKSUM, ChecksumKind::Plain, change)
}

/// The change of the pseudo-header of TCP and UDP: the addresses.
pub(super) fn pseudo_header(old: &Tuple<V4>, new: &Tuple<V4>) -> Delta {
    Sum::ZERO.word(new.source.0).word(new.destination.0)
        - Sum::ZERO.word(old.source.0).word(old.destination.0)
}

/// Adjusts the transport header, of which `changed` has been changed. UDP without a checksum stays
/// without (RFC 3022 section 4.1).
fn rewrite_transport<P: Packet>(
    packet: &mut P,
    transport: &Transport,
    old: &Tuple<V4>,
    new: &Tuple<V4>,
    changed: Delta,
) -> Result<(), Truncated> {
    let (at, first) = (transport.at, transport.first);
    let pseudo = pseudo_header(old, new);
    match transport.kind {
        Kind::Tcp => {
            let content = changed + super::set_ports(packet, at, first, new)?;
            packet.patch_checksum(at + TCP_CHECKSUM, ChecksumKind::Plain, pseudo, content)
        }
        Kind::Udp => {
            let content = super::set_ports(packet, at, first, new)?;
            if transport.zero_checksum {
                return Ok(());
            }
            packet.patch_checksum(at + UDP_CHECKSUM, ChecksumKind::Udp, pseudo, content)
        }
        Kind::Echo(echo) => {
            let identifier = super::changed_identifier(transport, new);
            let content = super::set_echo(packet, at, icmp::echo_v4(echo), first, identifier)?;
            packet.patch_checksum(
                at + ICMP_CHECKSUM,
                ChecksumKind::Plain,
                Delta::NONE,
                content,
            )?;
            super::settle_zero(packet, at)
        }
        Kind::IcmpError | Kind::Other | Kind::Continuation => Ok(()),
    }
}
