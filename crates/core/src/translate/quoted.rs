//! ICMP errors and the packet that each quotes (RFC 7915 sections 4.2, 4.3, 5.2, 5.3).
//!
//! Outer header, ICMP header and quoted header are replaced as one front of the packet. The ICMP
//! checksum covers everything behind the outer header; its change is the sum of all changes, except
//! where bytes move or go: then it is computed anew. Errors are rare, and this takes more stack
//! than a BPF program has: they are translated in user space only.

use super::{error, headers_v4, headers_v6};
use crate::checksum::ChecksumKind;
use crate::checksum::{Delta, Sum};
use crate::host::Host;
use crate::incoming::{v4, v6};
use crate::mechanism::Instances;
use crate::mechanism::Seen;
use crate::mechanism::crossing::Translator;
use crate::packet::{Family, Packet, Truncated};
use crate::policy::Policy;
use crate::reason::Counter;
use crate::translate::Hop;
use crate::verdict::{Refusal, Slow, Verdict};
use crate::wire::content::{Content, Messages};
use crate::wire::extension::{Body, Fit, Unit};

use crate::wire::transport::{Extent, Transport};
use crate::wire::tuple::{Ports, Tuple};
use crate::wire::{icmp, tcp, udp};
use crate::wire::{ipv4, ipv6};
use crate::word::Word;

/// RFC 1812 section 4.3.2.3: an ICMPv4 error has at most 576 bytes; what a translator makes of an
/// ICMPv6 error may be larger, but never more than this side of 1280 bytes of IPv6.
const MOST_V4: usize = 1260;

/// Whatever makes the quoted packet untranslatable makes the error useless; that an engine lacks
/// the means, or that the operator lets no errors pass, is another matter.
#[inline(always)]
pub(super) fn useless(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Slow(_) | Refusal::Drop(Counter::Filtered) => refusal,
        _ => Refusal::Drop(Counter::IcmpInner),
    }
}

pub(super) const INNER: Refusal = Refusal::Drop(Counter::IcmpInner);

/// Whether as much of a transport header is quoted as an error holds at least: 8 bytes (RFC 792, RFC 4443
/// section 3). Bytes behind the message in the buffer are no part of it.
#[inline(always)]
pub(super) fn check_extent(body: &Body, headers: usize, quoted: &Transport) -> Result<(), Refusal> {
    let there = body.quote.unwrap_or(body.length).saturating_sub(headers);
    match quoted.content {
        Content::Tcp | Content::Udp | Content::Echo(_) | Content::Query if there < 8 => Err(INNER),
        _ => Ok(()),
    }
}

/// How the front of an error changes: everything up to the transport header of the quoted packet.
#[derive(Clone, Copy)]
struct Front {
    /// Bytes of the outer headers after translation.
    outer: usize,
    /// Bytes of the quoted headers before translation.
    old_inner: usize,
    /// The same after.
    new_inner: usize,
}

impl Front {
    /// Bytes up to the quoted transport header, after translation.
    #[inline(always)]
    const fn new_length(&self) -> usize {
        self.outer + icmp::HEADER + self.new_inner
    }
}

/// Translates an ICMPv4 error (RFC 7915 section 4.3).
///
/// # Errors
/// The packet is not to be sent on; it is unchanged then.
pub fn to_v6<P: Packet, H: Host, M: Translator>(
    packet: &mut P,
    host: &mut H,
    mechanism: &M,
    policy: &Policy,
    received: &v4::Incoming,
    hop: Hop,
) -> Result<Verdict, Refusal> {
    if !P::ABILITIES.icmp_errors {
        return Err(Refusal::Slow(Slow::IcmpError));
    }
    let quote_at = received.transport.at + icmp::HEADER;
    let [first, rest] = packet.words::<2>(received.transport.at)?;
    let [message, code, ..] = first.bytes();
    let body = Body::read(
        Unit::V4,
        message,
        rest,
        received.transport.length - icmp::HEADER,
    );
    let header = ipv4::Header::read(packet, quote_at).map_err(|Truncated| INNER)?;
    let old_inner = header.header_length();
    if header.version() != 4 || old_inner < ipv4::HEADER || old_inner > body.length {
        return Err(INNER);
    }
    let quoted_length = usize::from(header.total_length()).saturating_sub(old_inner);
    let at = quote_at + old_inner;
    let (messages, extent) = (Messages::V4, Extent::Quoted);
    let quoted =
        v4::transport(packet, &header, at, quoted_length, messages, extent).map_err(useless)?;
    if quoted.content == Content::IcmpError {
        return Err(Refusal::Drop(Counter::IcmpNested));
    }
    check_extent(&body, old_inner, &quoted)?;

    // The quoted packet went the other way: map it as if it came back.
    let old = quoted.tuple(header.source(), header.destination());
    if received.header.destination() != old.source {
        return Err(INNER);
    }
    let new = mechanism
        .to_v6(host, Seen::quoted(policy, &old.swapped(), &quoted))
        .map_err(useless)?
        .swapped();
    // This includes RFC 7757 section 4.2.1 rule 3: the host itself is known by the destination of the
    // quoted packet.
    let source = if received.header.source() == old.destination {
        new.destination
    } else {
        mechanism.error_source_v6(host, policy, received.header.source())
    };

    let inner = headers_v6::headers(policy, &header, new.source, new.destination, quoted_length);
    let mut outer = headers_v6::headers(policy, &received.header, source, new.source, 0);
    hop.apply(&mut outer.fields.hop_limit);
    let mtus = error::LinkMtus {
        v4: policy.ipv4_mtu,
        v6: headers_v6::link_mtu(host, policy, &outer.fields)?,
    };
    let error = error::error_to_v6(message, code, rest, header.total_length(), mtus)
        .ok_or(Refusal::Drop(Counter::IcmpUntranslatable))?;
    let front = Front {
        outer: ipv6::HEADER,
        old_inner,
        new_inner: inner.headers_length(),
    };
    // RFC 4443 section 2.4 (c): an error never exceeds the least MTU.
    let most = usize::from(ipv6::MINIMUM_MTU) - ipv6::HEADER - icmp::HEADER;
    let fit = body.fit(Unit::V6, &error, front.old_inner, front.new_inner, most);
    let whole = fit.moves(&body, front.old_inner, front.new_inner) || old_inner != ipv4::HEADER;
    let length = icmp::HEADER + fit.length;
    outer.fields.payload_length = length as u16;

    packet.replace_front(at, front.new_length() + fit.padding, Family::V6)?;
    let written = (|| {
        outer.write(packet, 0)?;
        let new_sum = inner.write(packet, front.outer + icmp::HEADER)?;
        close_gap(packet, &front, &body, &fit);
        let quoted_at = front.new_length();
        let mut change = new_sum - Sum::ZERO.words(&header.0);
        change += adjust_quoted(
            packet,
            quoted_at,
            &quoted,
            &new,
            &Adjust {
                pseudo: headers_v6::pseudo_header(&old, &new),
                echo_pseudo: headers_v6::icmpv6_pseudo_header(&new, quoted_length) - Sum::ZERO,
                unit: Unit::V6,
                available: fit.length.saturating_sub(front.new_inner),
            },
        )?;
        let outside = Ports::NONE.between(source, new.source);
        let pseudo = headers_v6::icmpv6_pseudo_header(&outside, length);
        change += pseudo - Sum::ZERO;
        let head = [
            Word::from_bytes([error.message, error.code, 0, 0]),
            fit.rest(Unit::V6, &error),
        ];
        let old_head = [first, rest];
        write_head(
            packet,
            front.outer,
            head,
            old_head,
            change,
            whole.then_some((pseudo, length)),
        )
    })();
    written.map_err(|Truncated| Refusal::Drop(Counter::EngineError))?;
    host.count(Counter::Translated4To6);
    Ok(Verdict::Forward {
        family: Family::V6,
        split: None,
    })
}

/// Translates an ICMPv6 error (RFC 7915 section 5.3).
///
/// # Errors
/// The packet is not to be sent on; it is unchanged then.
pub fn to_v4<P: Packet, H: Host, I: Instances + ?Sized, M: Translator>(
    packet: &mut P,
    host: &mut H,
    instances: &I,
    mechanism: &M,
    policy: &Policy,
    received: &v6::Incoming,
) -> Result<Verdict, Refusal> {
    if !P::ABILITIES.icmp_errors {
        return Err(Refusal::Slow(Slow::IcmpError));
    }
    let quote_at = received.transport.at + icmp::HEADER;
    let [first, rest] = packet.words::<2>(received.transport.at)?;
    let [message, code, ..] = first.bytes();
    let body = Body::read(
        Unit::V6,
        message,
        rest,
        received.transport.length - icmp::HEADER,
    );
    let header = ipv6::Header::read(packet, quote_at).map_err(|Truncated| INNER)?;
    if header.version() != 6 || body.length < ipv6::HEADER {
        return Err(INNER);
    }
    let payload = usize::from(header.payload_length());
    let chain = v6::chain(
        packet,
        &header,
        quote_at + ipv6::HEADER,
        payload,
        Extent::Quoted,
    )
    .map_err(useless)?;
    let old_inner = chain.at - quote_at;
    if old_inner > body.length {
        return Err(INNER);
    }
    let quoted = v6::transport(packet, &chain, Extent::Quoted).map_err(useless)?;
    if quoted.content == Content::IcmpError {
        return Err(Refusal::Drop(Counter::IcmpNested));
    }
    check_extent(&body, old_inner, &quoted)?;

    // The quoted packet went the other way: map it as if it came back.
    let old = quoted.tuple(header.source(), header.destination());
    if received.header.destination() != old.source {
        return Err(INNER);
    }
    let new = mechanism
        .to_v4(host, Seen::quoted(policy, &old.swapped(), &quoted))
        .map_err(useless)?
        .swapped();
    let source = if received.header.source() == old.destination {
        new.destination
    } else {
        mechanism.error_source_v4(host, policy, received.header.source(), new.destination)
    };

    let quoted_incoming = v6::Incoming {
        header,
        fragment: chain.fragment,
        protocol: chain.protocol,
        transport: quoted,
    };
    let inner = headers_v4::headers(
        policy,
        &quoted_incoming,
        new.source,
        new.destination,
        chain.length,
    );
    let mut outer = headers_v4::headers(policy, received, source, new.source, 0);
    outer.ttl -= 1;
    let mtus = error::LinkMtus {
        v4: headers_v4::link_mtu(host, policy, &outer)?,
        v6: policy.ipv6_mtu,
    };
    let error = error::error_to_v4(message, code, rest, chain.fragment.get(), mtus)
        .ok_or(Refusal::Drop(Counter::IcmpUntranslatable))?;
    let front = Front {
        outer: ipv4::HEADER,
        old_inner,
        new_inner: ipv4::HEADER,
    };
    let most = MOST_V4 - ipv4::HEADER - icmp::HEADER;
    let fit = body.fit(Unit::V4, &error, front.old_inner, front.new_inner, most);
    // Extension headers of the quoted packet go, and their bytes are not in the sums.
    let plain = old_inner
        == ipv6::HEADER
            + if chain.fragment.is_present() {
                ipv6::FRAGMENT_HEADER
            } else {
                0
            };
    let whole = fit.moves(&body, front.old_inner, front.new_inner) || !plain;
    let length = icmp::HEADER + fit.length;
    outer.total_length = (ipv4::HEADER + length) as u16;
    outer.dont_fragment = false;
    outer.identification = host.random() as u16;

    let mut old_sum = Sum::ZERO.words(&header.0);
    if let Some(fragment) = chain.fragment.get() {
        old_sum = old_sum.words(&fragment.to_words());
    }
    packet.replace_front(chain.at, front.new_length() + fit.padding, Family::V4)?;
    let written = (|| {
        packet.set_words(0, ipv4::Header::from(outer).0)?;
        let inner = ipv4::Header::from(inner);
        packet.set_words(front.outer + icmp::HEADER, inner.0)?;
        close_gap(packet, &front, &body, &fit);
        let mut change = inner.sum() - old_sum;
        let removed = headers_v6::icmpv6_pseudo_header(&old, chain.length);
        change += adjust_quoted(
            packet,
            front.new_length(),
            &quoted,
            &new,
            &Adjust {
                pseudo: headers_v4::pseudo_header(&old, &new),
                echo_pseudo: Sum::ZERO - removed,
                unit: Unit::V4,
                available: fit.length.saturating_sub(front.new_inner),
            },
        )?;
        let outside = Ports::NONE.between(received.header.source(), old.source);
        change += Sum::ZERO - headers_v6::icmpv6_pseudo_header(&outside, received.transport.length);
        let head = [
            Word::from_bytes([error.message, error.code, 0, 0]),
            fit.rest(Unit::V4, &error),
        ];
        let sum = whole.then_some((Sum::ZERO, length));
        write_head(packet, front.outer, head, [first, rest], change, sum)
    })();
    written.map_err(|Truncated| Refusal::Drop(Counter::EngineError))?;
    if !mechanism.hairpins(host, instances, new.source) {
        host.count(Counter::Translated6To4);
    }
    Ok(Verdict::Forward {
        family: Family::V4,
        split: None,
    })
}

/// The changes to the transport header of a quoted packet.
pub(super) struct Adjust {
    /// Change of the pseudo-header of TCP and UDP.
    pub(super) pseudo: Delta,
    /// Change of the pseudo-header of ICMP, which only ICMPv6 has.
    pub(super) echo_pseudo: Delta,
    /// Family of the translated packet.
    pub(super) unit: Unit,
    /// Bytes of the transport header and payload that are quoted.
    pub(super) available: usize,
}

/// Adjusts the quoted part of the transport header, and returns the change of its sum.
#[inline(always)]
pub(super) fn adjust_quoted<P: Packet, A>(
    packet: &mut P,
    at: usize,
    quoted: &Transport,
    new: &Tuple<A>,
    adjust: &Adjust,
) -> Result<Delta, Truncated> {
    let (checksum, kind, content, pseudo) = match quoted.content {
        Content::Tcp => {
            let content = super::set_ports(packet, at, quoted.first, new)?;
            if adjust.available < tcp::CHECKSUM + 4 {
                return Ok(content);
            }
            (tcp::CHECKSUM, ChecksumKind::Plain, content, adjust.pseudo)
        }
        Content::Udp => {
            let content = super::set_ports(packet, at, quoted.first, new)?;
            if quoted.zero_checksum {
                return Ok(content);
            }
            (udp::CHECKSUM, ChecksumKind::Udp, content, adjust.pseudo)
        }
        Content::Echo(_) | Content::Query => {
            let message = match (quoted.content, adjust.unit) {
                (Content::Echo(echo), Unit::V4) => icmp::echo_v4(echo),
                (Content::Echo(echo), Unit::V6) => icmp::echo_v6(echo),
                _ => quoted.first.bytes()[0],
            };
            let identifier = super::changed_identifier(quoted, new);
            let content = super::set_echo(packet, at, message, quoted.first, identifier)?;
            (
                icmp::CHECKSUM,
                ChecksumKind::Plain,
                content,
                adjust.echo_pseudo,
            )
        }
        Content::IcmpError | Content::Other | Content::Continuation => return Ok(Delta::NONE),
    };
    let word_at = at + checksum / 4 * 4;
    let [before] = packet.words::<1>(word_at)?;
    crate::packet::patch_complete(packet, at + checksum, kind, pseudo + content)?;
    let [after] = packet.words::<1>(word_at)?;
    Ok(content + (Sum::ZERO.word(after) - Sum::ZERO.word(before)))
}

/// Moves the quoted transport bytes over the padding that the front was made longer by, so that it
/// ends up between the quoted packet and the extension.
#[inline(always)]
fn close_gap<P: Packet>(packet: &mut P, front: &Front, body: &Body, fit: &Fit) {
    let (Some(quote), Some(_)) = (body.quote, fit.quote) else {
        return;
    };
    let Some(bytes) = packet.bytes_mut() else {
        return;
    };
    let start = front.new_length();
    let end = start + fit.padding + quote.saturating_sub(front.old_inner);
    if fit.padding == 0 || end > bytes.len() {
        return;
    }
    bytes.copy_within(start + fit.padding..end, start);
    bytes[end - fit.padding..end].fill(0);
}

/// Writes the ICMP header with its checksum: changed, or computed over `length` bytes where a
/// pseudo-header sum is given.
#[inline(always)]
fn write_head<P: Packet>(
    packet: &mut P,
    at: usize,
    head: [Word; 2],
    old: [Word; 2],
    change: Delta,
    whole: Option<(Sum, usize)>,
) -> Result<(), Truncated> {
    let checksum = match whole {
        Some((pseudo, length)) => {
            packet.set_words(at, head)?;
            let bytes = packet.bytes().ok_or(Truncated)?;
            pseudo
                .bytes(bytes.get(at..at + length).ok_or(Truncated)?)
                .checksum()
        }
        None => {
            // The old checksum is part of the first old word and must not count.
            let bare = Word::from_halves(old[0].high(), 0);
            let heads = Sum::ZERO.words(&head) - Sum::ZERO.word(bare).word(old[1]);
            (change + heads).apply(old[0].low(), ChecksumKind::Plain)
        }
    };
    packet.set_words(at, [Word::from_halves(head[0].high(), checksum), head[1]])
}
