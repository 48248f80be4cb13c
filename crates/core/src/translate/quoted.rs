//! ICMP errors and the packet that each quotes (RFC 7915 sections 4.2, 4.3, 5.2, 5.3).
//!
//! Outer header, ICMP header and quoted header are replaced as one front of the packet. The ICMP
//! checksum covers everything behind the outer header; its change is the sum of all changes, except
//! where bytes move or go: then it is computed anew. A program of BPF that has its stack for [ICMP errors
//! alone](crate::packet::Errors) leaves those of which bytes move to user space.

use core::hint::black_box;

use super::{error, headers_v4, headers_v6, pseudo_header};
use crate::checksum::{ChecksumKind, Delta, Sum};
use crate::host::Host;
use crate::incoming::{v4, v6};
use crate::mechanism::crossing::Translator;
use crate::mechanism::{Instances, Seen};
use crate::packet::{Family, Packet, Truncated};
use crate::policy::Policy;
use crate::reason::Counter;
use crate::translate::Hop;
use crate::verdict::{Refusal, Slow, Verdict};
use crate::wire::content::{Content, Messages};
use crate::wire::extension::{Body, Fit, Unit};
use crate::wire::icmp::ErrorHeader;
use crate::wire::transport::{Extent, Transport};
use crate::wire::tuple::{Ports, Tuple};
use crate::wire::{icmp, ipv4, ipv6, tcp, udp};
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
const UNTRANSLATABLE: Refusal = Refusal::Drop(Counter::IcmpUntranslatable);

/// An ICMP error as it arrived.
pub(super) struct Received {
    /// Its ICMP header.
    head: [Word; 2],
    /// The offset of the quoted packet.
    pub(super) quote_at: usize,
    /// The bytes behind the ICMP header.
    pub(super) body: Body,
}

impl Received {
    /// Reads the message of a packet with this transport header.
    #[inline(always)]
    pub(super) fn read<P: Packet>(
        packet: &P,
        unit: Unit,
        transport: &Transport,
    ) -> Result<Self, Truncated> {
        let head = packet.words(transport.at)?;
        Ok(Self {
            head,
            quote_at: transport.at + icmp::HEADER,
            body: Body::read(unit, head, transport.length - icmp::HEADER),
        })
    }

    /// Checks that an engine without the bytes in reach need not move any.
    #[inline(always)]
    fn check_reach<P: Packet>(&self, packet: &P) -> Result<(), Slow> {
        if packet.bytes().is_none() && self.body.quote.is_some() {
            return Err(Slow::Checksum);
        }
        Ok(())
    }

    /// Verifies the checksum of the message, over a pseudo-header with this sum: where the message is computed
    /// anew, a wrong one would be made right (RFC 5508 section 4.1, REQ-3).
    #[inline(always)]
    pub(super) fn verify<P: Packet>(
        &self,
        packet: &P,
        transport: &Transport,
        pseudo: Sum,
    ) -> Result<(), Refusal> {
        let at = self.quote_at - icmp::HEADER;
        let sum = packet.sum(at, transport.length).ok_or(Slow::Checksum)?;
        if (pseudo + sum).fold() != 0xffff {
            return Err(Refusal::Drop(Counter::MalformedTransport));
        }
        Ok(())
    }
}

/// Reads the header of an IPv4 packet that is quoted `at` bytes into another.
#[inline(always)]
pub(super) fn header_v4<P: Packet>(packet: &P, at: usize) -> Result<ipv4::Header, Refusal> {
    let header = ipv4::Header::read(packet, at).map_err(|Truncated| INNER)?;
    if !P::ABILITIES.all() && header.header_length() != ipv4::HEADER {
        return Err(Refusal::Slow(Slow::Uncommon));
    }
    Ok(header)
}

/// Reads an IPv4 packet that is quoted `at` bytes into another, and which may carry these ICMP messages.
#[inline(always)]
pub(super) fn read_v4<P: Packet>(
    packet: &P,
    at: usize,
    body: &Body,
    messages: Messages,
) -> Result<v4::Incoming, Refusal> {
    let header = header_v4(packet, at)?;
    let inner = header.header_length();
    if header.version() != 4 || inner < ipv4::HEADER || inner > body.length {
        return Err(INNER);
    }
    let length = usize::from(header.total_length()).saturating_sub(inner);
    let extent = Extent::Quoted;
    let transport =
        v4::transport(packet, &header, at + inner, length, messages, extent).map_err(useless)?;
    check(body, inner, &transport)?;
    Ok(v4::Incoming { header, transport })
}

/// Reads the IPv6 packet that an error quotes.
#[inline(always)]
fn read_v6<P: Packet>(packet: &P, error: &Received) -> Result<v6::Incoming, Refusal> {
    let header = ipv6::Header::read(packet, error.quote_at).map_err(|Truncated| INNER)?;
    if header.version() != 6 || error.body.length < ipv6::HEADER {
        return Err(INNER);
    }
    let at = error.quote_at + ipv6::HEADER;
    let length = usize::from(header.payload_length());
    let chain = v6::chain(packet, &header, at, length, Extent::Quoted).map_err(useless)?;
    let inner = chain.at - error.quote_at;
    if inner > error.body.length {
        return Err(INNER);
    }
    let transport = v6::transport(packet, &chain, Extent::Quoted).map_err(useless)?;
    check(&error.body, inner, &transport)?;
    Ok(v6::Incoming {
        header,
        fragment: chain.fragment,
        protocol: chain.protocol,
        transport,
    })
}

/// Checks that a quoted packet is no error itself (RFC 7915 sections 4.3 and 5.3), and that as much of its
/// transport header is there as an error holds at least: 8 bytes (RFC 792, RFC 4443 section 3). Bytes behind
/// the message in the buffer are no part of it.
#[inline(always)]
fn check(body: &Body, headers: usize, quoted: &Transport) -> Result<(), Refusal> {
    let there = body.quote.unwrap_or(body.length).saturating_sub(headers);
    match quoted.content {
        Content::IcmpError => Err(Refusal::Drop(Counter::IcmpNested)),
        Content::Tcp | Content::Udp | Content::Echo(_) | Content::Query if there < 8 => Err(INNER),
        _ => Ok(()),
    }
}

/// Maps a quoted packet. It went the other way, so it is mapped as if it came back, to its sender, who gets
/// the error.
#[inline(always)]
fn map_back<A: Copy + PartialEq, B>(
    receiver: A,
    old: &Tuple<A>,
    map: impl FnOnce(&Tuple<A>) -> Result<Tuple<B>, Refusal>,
) -> Result<Tuple<B>, Refusal> {
    if receiver != old.source {
        return Err(INNER);
    }
    Ok(map(&old.swapped()).map_err(useless)?.swapped())
}

/// Does the work of an ICMP error, in user space apart from that of the packets around it, which are many more. A BPF
/// program of errors has no others, and no stack for another function.
#[inline(always)]
pub(super) fn apart<P: Packet, R>(work: impl FnOnce() -> R) -> R {
    #[cold]
    #[inline(never)]
    fn elsewhere<R>(work: impl FnOnce() -> R) -> R {
        work()
    }
    if P::ABILITIES.all() && P::ABILITIES.icmp_errors {
        elsewhere(work)
    } else {
        work()
    }
}

/// Translates an ICMPv4 error (RFC 7915 section 4.3).
///
/// # Errors
/// The packet is not to be sent on; it is unchanged then.
#[inline(always)]
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
    let error = Received::read(packet, Unit::V4, &received.transport)?;
    error.check_reach(packet)?;
    error.verify(packet, &received.transport, Sum::ZERO)?;
    let quote = read_v4(packet, error.quote_at, &error.body, Messages::V4)?;
    let (header, quoted) = (&quote.header, &quote.transport);
    let old = quoted.tuple(header.source(), header.destination());
    let new = map_back(received.header.destination(), &old, |tuple| {
        hop.map(host, mechanism, Seen::quoted(policy, tuple, quoted))
    })?;
    // This includes RFC 7757 section 4.2.1 rule 3: the host itself is known by the destination of the
    // quoted packet.
    let source = if received.header.source() == old.destination {
        new.destination
    } else {
        mechanism.error_source_v6(host, policy, received.header.source())
    };

    let ends = (new.source, new.destination);
    let inner = headers_v6::headers(policy, header, ends, quoted.length);
    let mut outer = headers_v6::headers(policy, &received.header, (source, new.source), 0);
    hop.apply(&mut outer.fields.hop_limit);
    let mtus = error::LinkMtus {
        v4: policy.ipv4_mtu,
        v6: headers_v6::link_mtu(host, policy, &outer.fields)?,
    };
    let told = error::error_to_v6(error.head, header.total_length(), mtus).ok_or(UNTRANSLATABLE)?;
    let front = Front::new(&error, quoted, ipv6::HEADER, inner.headers_length());
    let plain = front.old_inner == ipv4::HEADER;
    let message = Message::new(&error, &told, Unit::V6, front, plain);
    message.check_reach(packet)?;
    outer.fields.payload_length = message.length() as u16;

    packet.replace_front(quoted.at, message.room(), Family::V6)?;
    (|| {
        outer.write(packet, 0)?;
        let headers = inner.write(packet, ipv6::HEADER + icmp::HEADER)?;
        let outside = Ports::NONE.between(source, new.source);
        let pseudo = headers_v6::icmpv6_pseudo_header(&outside, message.length());
        let echo = headers_v6::icmpv6_pseudo_header(&new, quoted.length) - Sum::ZERO;
        let adjust = message.adjust(pseudo_header(&old, &new), echo);
        let change = headers + pseudo - header.sum();
        message.write(packet, quoted, &new, &adjust, change, pseudo)
    })()
    .map_err(|Truncated| Refusal::Drop(Counter::EngineError))?;
    host.count(Counter::Translated4To6);
    Ok(Verdict::whole(Family::V6))
}

/// Translates an ICMPv6 error (RFC 7915 section 5.3).
///
/// # Errors
/// The packet is not to be sent on; it is unchanged then.
#[inline(always)]
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
    let error = Received::read(packet, Unit::V6, &received.transport)?;
    error.check_reach(packet)?;
    let removed = Ports::NONE.between(received.header.source(), received.header.destination());
    let length = received.transport.length;
    // Sums are made here, in front of the compiler's eyes, so that addresses need not be kept.
    let removed = black_box(headers_v6::icmpv6_pseudo_header(&removed, length));
    error.verify(packet, &received.transport, removed)?;
    let quote = read_v6(packet, &error)?;
    let (header, quoted) = (&quote.header, &quote.transport);
    let (length, headers) = plain_headers(packet, &error, &quote)?;
    let headers = black_box(headers);
    let old = quoted.tuple(header.source(), header.destination());
    let old_addresses = black_box(old.address_sum());
    let new = map_back(received.header.destination(), &old, |tuple| {
        mechanism.to_v4(host, Seen::quoted(policy, tuple, quoted))
    })?;
    let hairpin = mechanism.hairpins(host, instances, old.source, new.source);
    if hairpin && !P::ABILITIES.hairpins {
        return Err(Refusal::Slow(Slow::Hairpin));
    }
    let source = if received.header.source() == old.destination {
        new.destination
    } else {
        mechanism.error_source_v4(host, policy, received.header.source(), new.destination)
    };

    let ends = (new.source, new.destination);
    let inner = headers_v4::headers(policy, &quote, ends, quoted.length);
    let mut outer = headers_v4::headers(policy, received, (source, new.source), 0);
    outer.ttl -= 1;
    let mtus = error::LinkMtus {
        v4: headers_v4::link_mtu(host, policy, &outer)?,
        v6: policy.ipv6_mtu,
    };
    let told = error::error_to_v4(error.head, quote.fragment.get(), mtus).ok_or(UNTRANSLATABLE)?;
    let front = Front::new(&error, quoted, ipv4::HEADER, ipv4::HEADER);
    let plain = front.old_inner == length;
    let message = Message::new(&error, &told, Unit::V4, front, plain);
    message.check_reach(packet)?;
    outer.total_length = (ipv4::HEADER + message.length()) as u16;
    headers_v4::choose_identification(packet, host, received, &mut outer);

    packet.replace_front(quoted.at, message.room(), Family::V4)?;
    (|| {
        packet.set_words(0, ipv4::Header::from(outer).0)?;
        let inner = ipv4::Header::from(inner);
        packet.set_words(ipv4::HEADER + icmp::HEADER, inner.0)?;
        let echo = Sum::ZERO - headers_v6::icmpv6_pseudo_sum(old_addresses, quoted.length);
        let adjust = message.adjust(new.address_sum() - old_addresses, echo);
        let change = inner.sum() - (headers + removed);
        message.write(packet, quoted, &new, &adjust, change, Sum::ZERO)
    })()
    .map_err(|Truncated| Refusal::Drop(Counter::EngineError))?;
    if !hairpin {
        host.count(Counter::Translated6To4);
    }
    Ok(Verdict::whole(Family::V4))
}

/// Bytes and sum of the quoted headers, as they are there with reserved bits, but for those that go without a
/// trace: extension headers other than that of a fragment behind the fixed header.
#[inline(always)]
fn plain_headers<P: Packet>(
    packet: &P,
    error: &Received,
    quote: &v6::Incoming,
) -> Result<(usize, Sum), Truncated> {
    let sum = quote.header.sum();
    if !quote.fragment.is_present() {
        return Ok((ipv6::HEADER, sum));
    }
    let fragment = packet.words::<2>(error.quote_at + ipv6::HEADER)?;
    let length = ipv6::HEADER + ipv6::FRAGMENT_HEADER;
    Ok((length, sum.words(&fragment)))
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
    #[inline(always)]
    fn new(error: &Received, quoted: &Transport, outer: usize, new_inner: usize) -> Self {
        Self {
            outer,
            old_inner: quoted.at - error.quote_at,
            new_inner,
        }
    }

    /// Bytes up to the quoted transport header, after translation.
    #[inline(always)]
    const fn new_length(&self) -> usize {
        self.outer + icmp::HEADER + self.new_inner
    }
}

/// The ICMP message of an error after translation.
struct Message {
    /// The ICMP header as it arrived.
    old_head: [Word; 2],
    /// The same after translation, without its checksum.
    head: [Word; 2],
    unit: Unit,
    front: Front,
    body: Body,
    fit: Fit,
    /// The checksum is computed anew, because bytes move or go.
    whole: bool,
}

impl Message {
    /// The message with this header. `plain` says that all of the quoted headers is in the sums.
    #[inline(always)]
    fn new(error: &Received, told: &ErrorHeader, unit: Unit, front: Front, plain: bool) -> Self {
        let body = error.body;
        let most = match unit {
            Unit::V4 => MOST_V4,
            // RFC 4443 section 2.4 (c): an error never exceeds the least MTU.
            Unit::V6 => usize::from(ipv6::MINIMUM_MTU),
        };
        let most = most - front.outer - icmp::HEADER;
        let fit = body.fit(unit, told, front.old_inner, front.new_inner, most);
        Self {
            old_head: error.head,
            head: [
                Word::from_bytes([told.message, told.code, 0, 0]),
                fit.rest(unit, told),
            ],
            unit,
            front,
            body,
            fit,
            whole: fit.moves(&body, front.old_inner, front.new_inner) || !plain,
        }
    }

    /// Checks that an engine without the bytes in reach need not compute the checksum anew.
    #[inline(always)]
    fn check_reach<P: Packet>(&self, packet: &P) -> Result<(), Slow> {
        if packet.bytes().is_none() && self.whole {
            return Err(Slow::Checksum);
        }
        Ok(())
    }

    /// Bytes of the message.
    #[inline(always)]
    const fn length(&self) -> usize {
        icmp::HEADER + self.fit.length
    }

    /// Bytes of its front and of what is to be between the quoted packet and an extension.
    #[inline(always)]
    const fn room(&self) -> usize {
        self.front.new_length() + self.fit.padding
    }

    /// The changes to the transport header of the quoted packet, with those of its pseudo-headers.
    #[inline(always)]
    const fn adjust(&self, pseudo: Delta, echo_pseudo: Delta) -> Adjust {
        Adjust {
            pseudo,
            echo_pseudo,
            unit: self.unit,
            available: self.fit.length.saturating_sub(self.front.new_inner),
        }
    }

    /// Writes the message but for the quoted headers. `change` is that of the sum of all headers; `pseudo` is
    /// the sum of the pseudo-header.
    #[inline(always)]
    fn write<P: Packet, A>(
        &self,
        packet: &mut P,
        quoted: &Transport,
        new: &Tuple<A>,
        adjust: &Adjust,
        change: Delta,
        pseudo: Sum,
    ) -> Result<(), Truncated> {
        self.close_gap(packet);
        let at = self.front.new_length();
        let change = change + adjust_quoted(packet, at, quoted, new, adjust)?;
        self.write_head(packet, change, pseudo)
    }

    /// Moves the quoted transport bytes over the padding that the front was made longer by, so that it
    /// ends up between the quoted packet and the extension.
    #[inline(always)]
    fn close_gap<P: Packet>(&self, packet: &mut P) {
        let Self {
            front, body, fit, ..
        } = self;
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

    /// Writes the ICMP header with its checksum: changed, or computed over the message.
    #[inline(always)]
    fn write_head<P: Packet>(
        &self,
        packet: &mut P,
        change: Delta,
        pseudo: Sum,
    ) -> Result<(), Truncated> {
        let (at, head, old) = (self.front.outer, self.head, self.old_head);
        let checksum = if self.whole {
            packet.set_words(at, head)?;
            let bytes = packet.bytes().ok_or(Truncated)?;
            let message = bytes.get(at..at + self.length()).ok_or(Truncated)?;
            pseudo.bytes(message).checksum()
        } else {
            // The old checksum is part of the first old word and must not count.
            let bare = Word::from_halves(old[0].high(), 0);
            let heads = Sum::ZERO.words(&head) - Sum::ZERO.word(bare).word(old[1]);
            (change + heads).apply(old[0].low(), ChecksumKind::Plain)
        };
        packet.set_words(at, [Word::from_halves(head[0].high(), checksum), head[1]])
    }
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
