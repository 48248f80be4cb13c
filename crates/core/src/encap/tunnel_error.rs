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
use crate::address::{Address, V4, V6};
use crate::checksum::Sum;
use crate::host::Host;
use crate::incoming::{v4, v6};
use crate::packet::{Family, NoRoom, Packet, Truncated, verify_checksum};
use crate::reason::Counter;
use crate::verdict::{IcmpError, Refusal, Slow};
use crate::wire::content::{Content, Messages};
use crate::wire::extension::{Body, Unit};
use crate::wire::ipv6::FragmentHeader;
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

/// Reads a message that begins `at` bytes into a packet, with `read`; `None` if it is no error.
#[inline(always)]
fn read_error<P: Packet, A>(
    packet: &P,
    at: usize,
    messages: Messages,
    read: impl FnOnce() -> Result<Report<A>, Refusal>,
) -> Result<Option<Report<A>>, Refusal> {
    match packet.words::<1>(at) {
        Ok([first]) if icmp::content(messages, first.bytes()[0]) == Some(Content::IcmpError) => {}
        _ => return Ok(None),
    }
    // It becomes another error, to another host.
    if !P::ABILITIES.replies {
        return Err(Refusal::Slow(Slow::IcmpError));
    }
    read().map(Some)
}

/// Reads an ICMPv6 message to the endpoint of a tunnel that carries IPv4; `None` if it is no error.
///
/// # Errors
/// No sender can be told, or another engine has to read the message.
#[inline(always)]
pub fn over_v6<P: Packet>(
    packet: &P,
    header: &ipv6::Header,
) -> Result<Option<Report<V6>>, Refusal> {
    read_error(packet, ipv6::HEADER, Messages::V6, || {
        read_v6(packet, header)
    })
}

fn read_v6<P: Packet>(packet: &P, header: &ipv6::Header) -> Result<Report<V6>, Refusal> {
    let length = verify_v6(packet, header).ok_or(MALFORMED)?;
    let head = packet.words::<2>(ipv6::HEADER)?;
    let body = Body::read(Unit::V6, head, length);
    let start = ipv6::HEADER + icmp::HEADER;
    let quoted = ipv6::Header::read(packet, start).map_err(|Truncated| SHORT)?;
    let available = body.quote.unwrap_or(body.length);
    if available < ipv6::HEADER {
        return Err(SHORT);
    }
    if quoted.version() != 6 || quoted.source() != header.destination() {
        return Err(NOT_SENT);
    }
    let payload = usize::from(quoted.payload_length());
    let at = start + ipv6::HEADER;
    let chain = v6::chain(packet, &quoted, at, payload, Extent::Quoted).map_err(|_| NOT_SENT)?;
    // This end puts no other headers before a packet than that of a fragment.
    let headers = chain.at - start;
    let (own, offset) = match chain.fragment.get() {
        Some(FragmentHeader { fragment, .. }) => {
            (ipv6::HEADER + ipv6::FRAGMENT_HEADER, fragment.offset)
        }
        None => (ipv6::HEADER, 0),
    };
    if chain.protocol != protocol::IPV4 || headers != own {
        return Err(NOT_SENT);
    }
    if offset != 0 {
        return Err(SHORT);
    }
    let inner = Quoted {
        at: chain.at,
        length: available.saturating_sub(headers),
    };
    let dont_fragment = inner.v4(packet)?.dont_fragment();
    let (path_mtu, error) = error_v6(head, ipv6::HEADER + payload, headers, dont_fragment)?;
    Ok(Report {
        endpoint: quoted.destination(),
        path_mtu,
        error,
        at: inner.at,
        length: inner.length,
    })
}

/// Verifies the checksum of an ICMPv6 message (RFC 4443 section 2.3), and returns the number of bytes behind
/// its header.
fn verify_v6<P: Packet>(packet: &P, header: &ipv6::Header) -> Option<usize> {
    let length = usize::from(header.payload_length());
    let pseudo = header.source().sum() + header.destination().sum();
    let pseudo = pseudo
        .number(header.payload_length())
        .number(u16::from(protocol::ICMPV6));
    verify_checksum(packet, ipv6::HEADER, length, pseudo)?;
    length.checked_sub(icmp::HEADER)
}

/// The path MTU and the error for the sender of the inner packet (RFC 2473 section 8.3), from the ICMPv6
/// header of an error about a packet of `total` bytes, of which `headers` are before the inner packet.
fn error_v6(
    [first, rest]: [Word; 2],
    total: usize,
    headers: usize,
    dont_fragment: bool,
) -> Result<(Option<u16>, Result<IcmpError, Counter>), Refusal> {
    let [message, code, ..] = first.bytes();
    match (message, code) {
        (icmpv6::UNREACHABLE, _) | (icmpv6::TIME_EXCEEDED, 0) => {
            Ok((None, Ok(IcmpError::AddressUnreachable)))
        }
        (icmpv6::TOO_BIG, _) => {
            // RFC 8201 section 4: no router can say less.
            let mtu = rest.number().max(u32::from(ipv6::MINIMUM_MTU));
            if mtu as usize >= total {
                return Err(NOT_SENT);
            }
            // Less than the length of a packet, so that it fits 16 bits.
            let mtu = mtu as u16;
            let error = if dont_fragment {
                Ok(IcmpError::TooBig(mtu - headers as u16))
            } else {
                // The sender permits fragmentation, and needs no path MTU.
                Err(Counter::TunnelTooBig)
            };
            Ok((Some(mtu), error))
        }
        _ => Err(Refusal::Drop(Counter::IcmpUntranslatable)),
    }
}

/// Reads an ICMPv4 message to the endpoint of a tunnel that carries IPv6; `None` if it is no error.
///
/// # Errors
/// No sender can be told, or another engine has to read the message.
#[inline(always)]
pub fn over_v4<P: Packet>(
    packet: &P,
    header: &ipv4::Header,
) -> Result<Option<Report<V4>>, Refusal> {
    read_error(packet, ipv4::HEADER, Messages::V4, || {
        read_v4(packet, header)
    })
}

/// The header has no options; see [`quoted_protocol`](icmp::quoted_protocol).
fn read_v4<P: Packet>(packet: &P, header: &ipv4::Header) -> Result<Report<V4>, Refusal> {
    let length = v4::check(packet, header)?;
    if length < icmp::HEADER {
        return Err(MALFORMED);
    }
    verify_checksum(packet, ipv4::HEADER, length, Sum::ZERO).ok_or(MALFORMED)?;
    let head = packet.words::<2>(ipv4::HEADER)?;
    let body = Body::read(Unit::V4, head, length - icmp::HEADER);
    let start = ipv4::HEADER + icmp::HEADER;
    let quoted = ipv4::Header::read(packet, start).map_err(|Truncated| SHORT)?;
    let headers = quoted.header_length();
    let available = body.quote.unwrap_or(body.length);
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
    let (path_mtu, error) = error_v4(head, &quoted)?;
    let inner = Quoted {
        at: start + headers,
        length: available.saturating_sub(headers),
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

/// The path MTU and the error for the sender of the inner packet, from the ICMPv4 header of an error about
/// `quoted`. To IPv6 the tunnel is a link, and other errors than that of size are errors of a link (RFC 4213
/// section 3.4).
fn error_v4(
    [first, rest]: [Word; 2],
    quoted: &ipv4::Header,
) -> Result<(Option<u16>, IcmpError), Refusal> {
    let [icmpv4::UNREACHABLE, 4, ..] = first.bytes() else {
        return Ok((None, IcmpError::AddressUnreachable));
    };
    let sent = quoted.total_length();
    let mtu = match rest.low() {
        // RFC 1191 section 5: a router that reports no MTU.
        0 => icmpv4::plateau(sent),
        mtu => mtu,
    };
    // RFC 4213 section 3.2.2: a packet of up to 1280 bytes is cut by the router that it is too big for.
    let headers = ipv4::HEADER as u16;
    let mtu = mtu.max(ipv6::MINIMUM_MTU + headers);
    if mtu >= sent || !quoted.dont_fragment() {
        return Err(NOT_SENT);
    }
    Ok((Some(mtu), IcmpError::TooBig(mtu - headers)))
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
