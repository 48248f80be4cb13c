//! ICMP errors from inside a tunnel. A router between the tunnel endpoints reports an error about an outer
//! packet, and this endpoint reports it to the sender of the inner packet (RFC 2473 section 8, RFC 4213
//! section 3.4).
//!
//! This module reads the message: the error for the sender of the inner packet, and the place of that
//! packet in the message, as far as it is quoted. The [`gateway`](crate::gateway) asks the mechanism
//! whether the tunnel can have sent it.
//!
//! Errors are rare, and a BPF program does not have the bytes in reach: it hands them on.

use super::inner::Inner;
use super::path_mtu::{self, End};
use crate::address::{V4, V6};
use crate::checksum::Sum;
use crate::host::Host;
use crate::incoming::{v4, v6};
use crate::packet::{Family, NoRoom, Packet, Truncated, verify_checksum};
use crate::reason::Counter;
use crate::verdict::{IcmpError, Refusal, Slow};
use crate::wire::content::{Content, Messages};
use crate::wire::extension::{Body, Unit};
use crate::wire::transport::Extent;
use crate::wire::{icmp, icmpv4, icmpv6, ipv4, ipv6, protocol};
use crate::word::Word;

/// This endpoint does not send packets like the quoted one.
pub(crate) const NOT_SENT: Refusal = Refusal::Drop(Counter::IcmpInner);
const SHORT: Refusal = Refusal::Drop(Counter::TunnelErrorShort);
const MALFORMED: Refusal = Refusal::Drop(Counter::MalformedTransport);

/// Bytes of an inner transport header that an error has to show, as any error does (RFC 792).
const LEAST: usize = 8;

/// An error about a packet of a tunnel.
#[derive(Clone, Copy, Debug)]
pub struct Report<A> {
    /// The tunnel endpoint that the outer packet was sent to.
    pub endpoint: A,
    /// The path MTU, if that was the error.
    pub path_mtu: Option<u16>,
    /// The error for the sender of the inner packet, or the counter if there is none.
    error: Result<IcmpError, Counter>,
    /// The offset of the inner packet in the message, and its length.
    at: usize,
    length: usize,
}

impl<A: Copy + Into<End>> Report<A> {
    /// The inner packet, as far as it is quoted; `None` if that is too little for its addresses.
    pub fn inner<'a, P: Packet>(&self, packet: &'a mut P) -> Option<Inner<'a, P>> {
        if self.error == Err(Counter::TunnelErrorShort) {
            return None;
        }
        Inner::new(packet, self.at, self.length).ok()
    }

    /// Stores the path MTU, for the next packets.
    pub fn learn<H: Host>(&self, host: &H) {
        if let Some(path_mtu) = self.path_mtu {
            path_mtu::learn(host, self.endpoint.into(), path_mtu);
        }
    }

    /// Makes the error to the sender of the inner packet. Only that packet is left then.
    pub fn tell<P: Packet>(&self, packet: &mut P, family: Family) -> Refusal {
        let error = match self.error {
            Ok(error) => error,
            Err(counter) => return Refusal::Drop(counter),
        };
        packet.truncate(self.at + self.length);
        match packet.replace_front(self.at, 0, family) {
            Ok(()) => Refusal::Reply(error, Counter::TunnelError),
            Err(NoRoom) => Refusal::Drop(Counter::EngineError),
        }
    }
}

#[inline(always)]
fn is_error(messages: Messages, first: Word) -> bool {
    icmp::content(messages, first.bytes()[0]) == Some(Content::IcmpError)
}

/// Reads an ICMPv6 message to the endpoint of a tunnel that carries IPv4; `None` if it is no error.
///
/// # Errors No sender can be told, or another engine has to read the message.
#[inline(always)]
pub fn over_v6<P: Packet>(
    packet: &P,
    header: &ipv6::Header,
) -> Result<Option<Report<V6>>, Refusal> {
    match packet.words::<1>(ipv6::HEADER) {
        Ok([first]) if is_error(Messages::V6, first) => {}
        _ => return Ok(None),
    }
    if !P::ABILITIES.icmp_errors {
        return Err(Refusal::Slow(Slow::IcmpError));
    }
    read_v6(packet, header).map(Some)
}

fn read_v6<P: Packet>(packet: &P, header: &ipv6::Header) -> Result<Report<V6>, Refusal> {
    let length = usize::from(header.payload_length());
    let message = packet.bytes().and_then(|bytes| {
        let message = bytes.get(ipv6::HEADER..)?.get(..length)?;
        (length >= icmp::HEADER).then_some(message)
    });
    let pseudo = Sum::ZERO
        .words(&header.source().0)
        .words(&header.destination().0)
        .number(header.payload_length())
        .number(u16::from(protocol::ICMPV6));
    if pseudo.bytes(message.ok_or(MALFORMED)?).fold() != 0xffff {
        return Err(MALFORMED);
    }
    let [first, rest] = packet.words::<2>(ipv6::HEADER)?;
    let [message, code, ..] = first.bytes();
    let body = Body::read(Unit::V6, message, rest, length - icmp::HEADER);
    let available = body.quote.unwrap_or(body.length);
    let start = ipv6::HEADER + icmp::HEADER;
    let quoted = ipv6::Header::read(packet, start).map_err(|Truncated| SHORT)?;
    if available < ipv6::HEADER {
        return Err(SHORT);
    }
    if quoted.version() != 6 || quoted.source() != header.destination() {
        return Err(NOT_SENT);
    }
    let total = ipv6::HEADER + usize::from(quoted.payload_length());
    let payload = usize::from(quoted.payload_length());
    let chain = v6::chain(
        packet,
        &quoted,
        start + ipv6::HEADER,
        payload,
        Extent::Quoted,
    )
    .map_err(|_| NOT_SENT)?;
    // This end puts no other headers before a packet than that of a fragment.
    let headers = chain.at - start;
    let own = match chain.fragment.is_present() {
        true => ipv6::HEADER + ipv6::FRAGMENT_HEADER,
        false => ipv6::HEADER,
    };
    if chain.protocol != protocol::IPV4 || headers != own {
        return Err(NOT_SENT);
    }
    let inner = Quoted {
        at: chain.at,
        length: available.saturating_sub(headers),
    };
    if chain
        .fragment
        .get()
        .is_some_and(|header| header.fragment.offset != 0)
    {
        return Err(SHORT);
    }
    let inner_header = inner.v4(packet)?;
    let mut path_mtu = None;
    let error = match (message, code) {
        // RFC 2473 section 8.3.
        (icmpv6::UNREACHABLE, _) | (icmpv6::TIME_EXCEEDED, 0) => Ok(IcmpError::AddressUnreachable),
        (icmpv6::TOO_BIG, _) => {
            // RFC 8201 section 4: no router can say less.
            let mtu = rest.number().max(u32::from(ipv6::MINIMUM_MTU));
            if mtu as usize >= total {
                return Err(NOT_SENT);
            }
            // Less than the length of a packet, so that it fits 16 bits.
            let mtu = mtu as u16;
            path_mtu = Some(mtu);
            if inner_header.dont_fragment() {
                Ok(IcmpError::TooBig(mtu - headers as u16))
            } else {
                // The sender permits fragmentation, and needs no path MTU.
                Err(Counter::TunnelTooBig)
            }
        }
        _ => return Err(Refusal::Drop(Counter::IcmpUntranslatable)),
    };
    Ok(Report {
        endpoint: quoted.destination(),
        path_mtu,
        error,
        at: inner.at,
        length: inner.length,
    })
}

/// Reads an ICMPv4 message to the endpoint of a tunnel that carries IPv6; `None` if it is no error.
///
/// # Errors No sender can be told, or another engine has to read the message.
#[inline(always)]
pub fn over_v4<P: Packet>(
    packet: &P,
    header: &ipv4::Header,
) -> Result<Option<Report<V4>>, Refusal> {
    match packet.words::<1>(ipv4::HEADER) {
        Ok([first]) if is_error(Messages::V4, first) => {}
        _ => return Ok(None),
    }
    if !P::ABILITIES.icmp_errors {
        return Err(Refusal::Slow(Slow::IcmpError));
    }
    read_v4(packet, header).map(Some)
}

/// The header has no options; see [`quoted_protocol`](icmp::quoted_protocol).
fn read_v4<P: Packet>(packet: &P, header: &ipv4::Header) -> Result<Report<V4>, Refusal> {
    let length = v4::check(packet, header)?;
    if length < icmp::HEADER {
        return Err(MALFORMED);
    }
    verify_checksum(packet, ipv4::HEADER, length).ok_or(MALFORMED)?;
    let [first, rest] = packet.words::<2>(ipv4::HEADER)?;
    let [message, code, ..] = first.bytes();
    let body = Body::read(Unit::V4, message, rest, length - icmp::HEADER);
    let available = body.quote.unwrap_or(body.length);
    let start = ipv4::HEADER + icmp::HEADER;
    let quoted = ipv4::Header::read(packet, start).map_err(|Truncated| SHORT)?;
    let headers = quoted.header_length();
    if available < ipv4::HEADER {
        return Err(SHORT);
    }
    if quoted.version() != 4
        || headers < ipv4::HEADER
        || quoted.protocol() != protocol::IPV6
        || quoted.source() != header.destination()
    {
        return Err(NOT_SENT);
    }
    let inner = Quoted {
        at: start + headers,
        length: available.saturating_sub(headers),
    };
    let mut path_mtu = None;
    let error = match (message, code) {
        (icmpv4::UNREACHABLE, 4) => {
            let sent = quoted.total_length();
            let mtu = match rest.low() {
                // RFC 1191 section 5: a router that reports no MTU.
                0 => icmpv4::plateau(sent),
                mtu => mtu,
            };
            // RFC 4213 section 3.2.2: a packet of up to 1280 bytes is cut by the router that it is too big
            // for.
            let headers = ipv4::HEADER as u16;
            let mtu = mtu.max(ipv6::MINIMUM_MTU + headers);
            if mtu >= sent || !quoted.dont_fragment() {
                return Err(NOT_SENT);
            }
            path_mtu = Some(mtu);
            IcmpError::TooBig(mtu - headers)
        }
        // RFC 4213 section 3.4: to IPv6 the tunnel is a link, and that is an error of a link.
        _ => IcmpError::AddressUnreachable,
    };
    // The path MTU is known even without the inner header.
    let mut whose = Err(Counter::TunnelErrorShort);
    if quoted.fragment().offset == 0 && inner.length >= ipv6::HEADER {
        inner.v6(packet)?;
        whose = Ok(error);
    }
    Ok(Report {
        endpoint: quoted.destination(),
        path_mtu,
        error: whose,
        at: inner.at,
        length: inner.length,
    })
}

/// Where an inner packet lies.
struct Quoted {
    at: usize,
    length: usize,
}

impl Quoted {
    fn v4<P: Packet>(&self, packet: &P) -> Result<ipv4::Header, Refusal> {
        let header = ipv4::Header::read(packet, self.at).map_err(|Truncated| SHORT)?;
        if self.length < ipv4::HEADER || self.length < header.header_length() + LEAST {
            return Err(SHORT);
        }
        if header.version() != 4 {
            return Err(NOT_SENT);
        }
        Ok(header)
    }

    fn v6<P: Packet>(&self, packet: &P) -> Result<ipv6::Header, Refusal> {
        let header = ipv6::Header::read(packet, self.at).map_err(|Truncated| SHORT)?;
        if self.length < ipv6::HEADER {
            return Err(SHORT);
        }
        if header.version() != 6 {
            return Err(NOT_SENT);
        }
        Ok(header)
    }
}
