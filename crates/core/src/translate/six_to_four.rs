//! From IPv6 to IPv4 (RFC 7915 section 5).

use core::hint::black_box;

use super::headers_v4::{choose_identification, headers, link_mtu};
use super::{mss, mtu, patch_transport, quoted, six_to_six};
use crate::address::{Address, V4, V6};
use crate::checksum::{Change, Delta, Sum};
use crate::host::Host;
use crate::incoming::v6;
use crate::mechanism::crossing::Translator;
use crate::mechanism::instances::Own;
use crate::mechanism::{Instances, Seen, fragments, stateful};
use crate::packet::{Family, Packet, Truncated};
use crate::policy::Policy;
use crate::reason::Counter;
use crate::verdict::{Refusal, Slow, Split, Verdict};
use crate::wire::content::{Content, Echo};
use crate::wire::ipv4::{Fields, HEADER};
use crate::wire::transport::Transport;
use crate::wire::tuple::Tuple;
use crate::wire::{icmp, ipv4, ipv6, protocol};

/// Translates a packet that belongs to an instance.
///
/// # Errors
/// The packet is not to be sent on; it is unchanged then.
#[inline(always)]
pub fn translate<P: Packet, H: Host, I: Instances + ?Sized, M: Translator>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
    mechanism: &M,
    policy: &Policy,
    header: ipv6::Header,
) -> Result<Verdict, Refusal> {
    let incoming = v6::read(packet, header)?;
    let ports = if incoming.fragment.is_fragment() && M::BY_PORTS {
        let key = || fragments::key_v6(&incoming);
        fragments::ports_of::<P, _>(host, mechanism.datagrams(), key, &incoming.transport)?
    } else {
        incoming.transport.ports()
    };
    let transport = &incoming.transport;
    if header.hop_limit() <= 1 {
        return Err(Refusal::hop_limit());
    }
    if transport.zero_checksum {
        // RFC 8200 section 8.1: IPv6 has no UDP without a checksum.
        return Err(Refusal::Drop(Counter::ZeroChecksumUdp));
    }
    if transport.content == Content::IcmpError {
        return quoted::apart::<P, _>(|| {
            quoted::to_v4(packet, host, instances, mechanism, policy, &incoming)
        });
    }
    if M::HAS_GATEWAYS && policy.alg.takes(transport) && !packet.is_rewritten() {
        return Err(Refusal::Slow(Slow::Application));
    }
    let mss = mss::find(packet, policy, transport)?;
    // Summed up here, in front of the compiler's eyes, so that the addresses need not be kept.
    let removed = black_box(header.source().sum() + header.destination().sum());
    let old = ports.between(header.source(), header.destination());
    let new = mechanism.to_v4(host, Seen::outer(policy, &old, transport))?;
    let mapped = (&old, &new);
    let hairpin = turns::<P, _, _, _>(host, instances, mechanism, mapped)?;
    if hairpin {
        // It is the IPv6 link that takes the packet, and its sender that an error is for. A packet that is too big has no
        // second half: it keeps no session of the other host alive.
        mtu::turning(packet, &incoming, policy.ipv6_mtu)?;
    }
    if P::ABILITIES.hairpins_only() {
        return six_to_six::turn(packet, host, mechanism, policy, &incoming, mapped, mss);
    }
    let ends = (new.source, new.destination);
    let mut fields = headers(policy, &incoming, ends, transport.length);
    fields.ttl -= 1;
    let mut link = policy.ipv4_mtu;
    let mut split = None;
    if !hairpin {
        choose_identification(packet, host, &incoming, &mut fields);
        link = link_mtu(host, policy, &fields)?;
        split = check_size(packet, link, &incoming, &mut fields)?;
    }
    stateful::carried_out(host, mechanism.counting_nat(), transport, &new);

    let family = Family::V4;
    packet.replace_front(transport.at, HEADER, family)?;
    let failed = |Truncated| Refusal::Drop(Counter::EngineError);
    let most = mss::between(link, policy.ipv6_mtu);
    let lowered = mss::lower(packet, HEADER, mss, most).map_err(failed)?;
    finish(packet, &fields, transport, removed, &new, lowered).map_err(failed)?;
    if !hairpin {
        host.count(Counter::Translated6To4);
    }
    Ok(Verdict::Forward { family, split })
}

/// Whether a packet goes back to IPv6. A part that takes hairpins alone takes those within one instance.
///
/// # Errors
/// This part does not take the packet.
#[inline(always)]
fn turns<P: Packet, H: Host, I: Instances + ?Sized, M: Translator>(
    host: &H,
    instances: &I,
    mechanism: &M,
    (old, new): (&Tuple<V6>, &Tuple<V4>),
) -> Result<bool, Refusal> {
    let (from, to) = (old.destination, new.destination);
    let hairpin = if P::ABILITIES.hairpins_only() {
        mechanism.hairpins(host, &Own, from, to)
    } else {
        mechanism.hairpins(host, instances, from, to)
    };
    Refusal::unless_taken::<P>(hairpin)?;
    Ok(hairpin)
}

/// Holds the size against the MTU of the link that the packet will take.
#[inline(always)]
fn check_size<P: Packet>(
    packet: &P,
    link: u16,
    incoming: &v6::Incoming,
    fields: &mut Fields,
) -> Result<Option<Split>, Refusal> {
    let size = mtu::ToV4 {
        payload: incoming.transport.length,
        transport: incoming.transport.header,
        received: ipv6::HEADER + usize::from(incoming.header.payload_length()),
        fragment_header: incoming.fragment.get().map(|header| header.identification),
        identification: fields.identification,
        link,
    };
    let split = mtu::to_v4(packet, &size)?;
    if split.is_some() {
        fields.dont_fragment = false;
    }
    Ok(split)
}

/// Writes the new header and adjusts the transport header, of which `changed` has been changed.
#[inline(always)]
fn finish<P: Packet>(
    packet: &mut P,
    fields: &Fields,
    transport: &Transport,
    removed: Sum,
    new: &Tuple<V4>,
    changed: Delta,
) -> Result<(), Truncated> {
    packet.set_words(0, ipv4::Header::from(*fields).0)?;
    let at = HEADER;
    let pseudo = new.address_sum() - removed;
    let change = match transport.content {
        Content::Tcp | Content::Udp => Change {
            pseudo,
            content: changed + super::set_ports(packet, at, transport.first, new)?,
        },
        Content::Echo(echo) => {
            let removed = removed
                .number(transport.length as u16)
                .number(u16::from(protocol::ICMPV6));
            let identifier = super::changed_identifier(transport, new);
            let content =
                super::set_echo(packet, at, icmp::echo_v4(echo), transport.first, identifier)?;
            Change::of_content(content + (Sum::ZERO - removed))
        }
        Content::Query | Content::IcmpError | Content::Other | Content::Continuation => {
            return Ok(());
        }
    };
    patch_transport(packet, at, transport.content, change)?;
    if transport.content == Content::Echo(Echo::Reply) {
        super::settle_zero(packet, at)?;
    }
    Ok(())
}
