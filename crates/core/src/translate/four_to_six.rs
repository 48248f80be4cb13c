//! From IPv4 to IPv6 (RFC 7915 section 4).

use super::headers_v6::{Outgoing, headers, icmpv6_pseudo_header, link_mtu};
use super::{Hop, mss, mtu, patch_transport, pseudo_header, quoted};
use crate::address::{V4, V6};
use crate::checksum::{Change, ChecksumKind, Delta, Sum};
use crate::datagrams::FragmentKey;
use crate::host::Host;
use crate::incoming::v4;
use crate::mechanism::crossing::Translator;
use crate::mechanism::{Seen, fragments, stateful};
use crate::packet::{Family, Packet, Truncated};
use crate::policy::{Policy, ZeroUdpChecksum};
use crate::reason::Counter;
use crate::verdict::{Refusal, Slow, Split, Verdict};
use crate::wire::content::{Content, Echo, Messages};
use crate::wire::transport::Transport;
use crate::wire::tuple::Tuple;
use crate::wire::{icmp, ipv4, protocol};
use crate::word::Word;

/// Translates a packet that belongs to an instance.
///
/// # Errors
/// The packet is not to be sent on; it is unchanged then.
#[inline(always)]
pub fn translate<P: Packet, H: Host, M: Translator>(
    packet: &mut P,
    host: &mut H,
    mechanism: &M,
    policy: &Policy,
    header: ipv4::Header,
    hop: Hop,
) -> Result<Verdict, Refusal> {
    let incoming = v4::read(packet, header, Messages::V4)?;
    let transport = &incoming.transport;
    if header.ttl() <= 1 && hop == Hop::Forward {
        return Err(Refusal::hop_limit());
    }
    let fragmented = header.fragment().is_fragment();
    if transport.zero_checksum {
        without_checksum::<M>(policy, fragmented)?;
    }
    let ports = if fragmented && M::BY_PORTS {
        let key = || FragmentKey::v4(&header);
        fragments::ports_of::<P, _>(host, mechanism.datagrams(), key, transport)?
    } else {
        transport.ports()
    };
    if transport.content == Content::IcmpError {
        return quoted::apart::<P, _>(|| {
            quoted::to_v6(packet, host, mechanism, policy, &incoming, hop)
        });
    }
    // A gateway that is at hand looks at the packet afterwards.
    let by_others = M::HAS_GATEWAYS && !P::ABILITIES.application_gateways;
    if by_others && policy.alg.takes(transport) {
        return Err(Refusal::Slow(Slow::Application));
    }
    let mss = mss::find(packet, policy, transport)?;
    let old = ports.between(header.source(), header.destination());
    let new = hop.map(host, mechanism, Seen::outer(policy, &old, transport))?;
    let ends = (new.source, new.destination);
    let mut out = headers(policy, &header, ends, transport.length);
    hop.apply(&mut out.fields.hop_limit);
    let link = link_mtu(host, policy, &out.fields)?;
    let split = check_size(packet, link, policy, &header, &out, transport)?;

    // UDP without a checksum needs one over the whole payload (RFC 7915 section 4.5).
    let computed = if transport.zero_checksum {
        Some(udp_checksum(packet, transport, &new)?)
    } else {
        None
    };
    stateful::carried_back(host, mechanism.counting_nat(), transport, &old);
    let at = out.headers_length();
    let family = Family::V6;
    packet.replace_front(transport.at, at, family)?;
    let failed = |Truncated| Refusal::Drop(Counter::EngineError);
    let most = mss::between(policy.ipv4_mtu, link);
    let lowered = mss::lower(packet, at, mss, most).map_err(failed)?;
    finish(packet, &out, transport, (&old, &new), computed, lowered).map_err(failed)?;
    if computed.is_some() {
        host.count(Counter::ChecksumComputed);
    }
    host.count(Counter::Translated4To6);
    Ok(Verdict::Forward { family, split })
}

/// Holds the size against the MTU of the link that the packet will take.
#[inline(always)]
pub(super) fn check_size<P: Packet>(
    packet: &P,
    link: u16,
    policy: &Policy,
    header: &ipv4::Header,
    out: &Outgoing,
    transport: &Transport,
) -> Result<Option<Split>, Refusal> {
    let size = mtu::ToV6 {
        payload: transport.length,
        transport: transport.header,
        headers: out.headers_length(),
        dont_fragment: header.dont_fragment(),
        identification: packet
            .reassembled()
            .unwrap_or(u32::from(header.identification())),
        lowest: policy.lowest_ipv6_mtu,
        link,
    };
    mtu::to_v6(packet, &size)
}

/// Writes the new headers and adjusts the transport header, of which `changed` has been changed.
#[inline(always)]
fn finish<P: Packet>(
    packet: &mut P,
    out: &Outgoing,
    transport: &Transport,
    (old, new): (&Tuple<V4>, &Tuple<V6>),
    computed: Option<u16>,
    changed: Delta,
) -> Result<(), Truncated> {
    out.write(packet, 0)?;
    let at = out.headers_length();
    if let Some(checksum) = computed {
        // All of the checksum is new: the change of the ports is in it.
        let _change = super::set_ports(packet, at, transport.first, new)?;
        let [word] = packet.words::<1>(at + 4)?;
        return packet.set_words(at + 4, [Word::from_halves(word.high(), checksum)]);
    }
    let change = match transport.content {
        Content::Tcp | Content::Udp => Change {
            pseudo: pseudo_header(old, new),
            content: changed + super::set_ports(packet, at, transport.first, new)?,
        },
        Content::Echo(echo) => {
            let added = icmpv6_pseudo_header(new, transport.length);
            echo_to_v6(packet, at, echo, transport, new, added)?
        }
        Content::Query | Content::IcmpError | Content::Other | Content::Continuation => {
            return Ok(());
        }
    };
    patch_transport(packet, at, transport.content, change)
}

/// Rewrites type and identifier of an echo header (RFC 7915 section 4.2).
#[inline(always)]
fn echo_to_v6<P: Packet>(
    packet: &mut P,
    at: usize,
    echo: Echo,
    transport: &Transport,
    new: &Tuple<V6>,
    pseudo: Sum,
) -> Result<Change, Truncated> {
    // The identifier stands for the port on the inside: source of a request, destination of a
    // reply. The other one of the two did not change.
    let identifier = super::changed_identifier(transport, new);
    let content = super::set_echo(packet, at, icmp::echo_v6(echo), transport.first, identifier)?;
    Ok(Change::of_content(content + (pseudo - Sum::ZERO)))
}

/// Whether a UDP datagram, or its first fragment, may come without a checksum (RFC 7915 section
/// 4.5). A stateless translator drops the fragment; a stateful one puts the datagram together and
/// computes the checksum of the whole (RFC 6146 section 3.4).
///
/// # Errors
/// It is dropped, or has to be put together first.
#[inline(always)]
fn without_checksum<M: Translator>(policy: &Policy, fragmented: bool) -> Result<(), Refusal> {
    match policy.zero_udp_checksum {
        ZeroUdpChecksum::Drop if !fragmented => Err(Refusal::prohibited(Counter::ZeroChecksumUdp)),
        ZeroUdpChecksum::Compute if !fragmented => Ok(()),
        ZeroUdpChecksum::Compute if M::BY_PORTS => Err(Refusal::Slow(Slow::Reassemble)),
        ZeroUdpChecksum::Compute | ZeroUdpChecksum::Drop => {
            Err(Refusal::Drop(Counter::ZeroChecksumUdp))
        }
    }
}

/// The checksum of a UDP datagram that came without (RFC 7915 section 4.5).
fn udp_checksum<P: Packet>(
    packet: &P,
    transport: &Transport,
    new: &Tuple<V6>,
) -> Result<u16, Refusal> {
    let bytes = packet.bytes().ok_or(Refusal::Slow(Slow::Checksum))?;
    let datagram = bytes
        .get(transport.at..transport.at + transport.length)
        .ok_or(Refusal::Drop(Counter::Truncated))?;
    // The ports in the packet are the old ones; the new ones come in as a change.
    let ports = Sum::ZERO
        .number(new.source_port)
        .number(new.destination_port)
        - Sum::ZERO.word(transport.first);
    let sum = new
        .address_sum()
        .number(transport.length as u16)
        .number(u16::from(protocol::UDP))
        .bytes(datagram);
    let unchanged = sum.checksum();
    Ok(ports.apply(unchanged, ChecksumKind::Udp))
}
