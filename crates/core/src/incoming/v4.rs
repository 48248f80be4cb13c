//! An IPv4 packet as it arrives: checked, and ready to be mapped.

use crate::address::special;
use crate::packet::Packet;
use crate::reason::Counter;
use crate::verdict::{IcmpError, Refusal, Slow};
use crate::wire::content::{Content, Messages};
use crate::wire::ipv4::{HEADER, Header};
use crate::wire::protocol;
use crate::wire::transport::{Extent, Transport};

/// An IPv4 packet that may be translated.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// Its header, without options.
    pub header: Header,
    /// The transport header and the payload.
    pub transport: Transport,
}

/// Checks an IPv4 packet whose header was read (RFC 1812 section 5.2.2, RFC 7915 section 4.1), and
/// which may carry these ICMP messages.
///
/// # Errors
/// The packet is untranslatable, whatever its mapping is.
#[inline(always)]
pub fn read<P: Packet>(
    packet: &P,
    header: Header,
    messages: Messages,
) -> Result<Incoming, Refusal> {
    let length = check(packet, &header)?;
    let at = if P::ABILITIES.all() {
        header.header_length()
    } else {
        HEADER
    };
    let transport = transport(packet, &header, at, length, messages, Extent::Whole)?;
    // RFC 7915 section 4.1: errors from illegal sources are translated, for trouble shooting.
    if special::is_illegal_source_v4(header.source()) && transport.content != Content::IcmpError {
        return Err(Refusal::Drop(Counter::IllegalSource));
    }
    Ok(Incoming { header, transport })
}

/// Checks a header at the front of a packet, and returns the number of bytes behind it and its options.
///
/// # Errors
/// The header is wrong, or has an unexpired source route (RFC 1812 section 5.2.2, RFC 7915 section
/// 4.1).
#[inline(always)]
pub fn check<P: Packet>(packet: &P, header: &Header) -> Result<usize, Refusal> {
    let header_length = header.header_length();
    let total = usize::from(header.total_length());
    if !P::ABILITIES.all() && header_length != HEADER {
        return Err(Refusal::Slow(Slow::Uncommon));
    }
    if header_length < HEADER || total < header_length || total > packet.len() {
        return Err(Refusal::Drop(Counter::MalformedHeader));
    }
    if header_length == HEADER {
        if header.sum().fold() != 0xffff {
            return Err(Refusal::Drop(Counter::BadHeaderChecksum));
        }
    } else {
        check_options(packet, header_length)?;
    }
    Ok(total - header_length)
}

/// Reads the transport header behind an IPv4 header anywhere in a packet.
///
/// # Errors
/// The transport header is cut short, the fragment is impossible, or the ICMP type has no
/// counterpart.
#[inline(always)]
pub fn transport<P: Packet>(
    packet: &P,
    header: &Header,
    at: usize,
    length: usize,
    messages: Messages,
    extent: Extent,
) -> Result<Transport, Refusal> {
    let fragment = header.fragment();
    if !P::ABILITIES.all() && fragment.is_fragment() != P::ABILITIES.fragments_only() {
        return Err(Refusal::Slow(Slow::Uncommon));
    }
    match header.protocol() {
        protocol::IGMP => return Err(Refusal::Drop(Counter::IcmpUntranslatable)),
        // RFC 7915 section 1.2; the whole can be translated once it is put together.
        protocol::ICMP if fragment.is_fragment() && matches!(extent, Extent::Whole) => {
            return Err(Refusal::Slow(Slow::Reassemble));
        }
        _ => {}
    }
    if usize::from(fragment.offset) * 8 + length > 0xffff
        || fragment.more && !length.is_multiple_of(8) && matches!(extent, Extent::Whole)
    {
        return Err(Refusal::Drop(Counter::BadFragment));
    }
    if fragment.offset != 0 {
        return Ok(Transport::continuation(at, length, header.protocol()));
    }
    Ok(Transport::read(
        packet,
        at,
        length,
        header.protocol(),
        messages,
        extent,
    )?)
}

/// Looks through the options for a source route that is not at its end (RFC 7915 section 4.1);
/// all others are ignored. Also verifies the header checksum, which covers the options.
///
/// # Errors
/// The header is wrong, or has an unexpired source route.
fn check_options<P: Packet>(packet: &P, header_length: usize) -> Result<(), Refusal> {
    const LOOSE_SOURCE_ROUTE: u8 = 131;
    const STRICT_SOURCE_ROUTE: u8 = 137;
    const MALFORMED: Refusal = Refusal::Drop(Counter::MalformedHeader);

    let bytes = packet.bytes().ok_or(Refusal::Slow(Slow::Options))?;
    let header = bytes.get(..header_length).ok_or(MALFORMED)?;
    if crate::checksum::Sum::ZERO.bytes(header).fold() != 0xffff {
        return Err(Refusal::Drop(Counter::BadHeaderChecksum));
    }
    let mut options = &header[HEADER..];
    loop {
        match *options {
            // RFC 791 section 3.1: end of options; no operation.
            [] | [0, ..] => return Ok(()),
            [1, ..] => options = &options[1..],
            [kind, length, ..] => {
                let option = options
                    .get(..usize::from(length))
                    .filter(|option| option.len() >= 2)
                    .ok_or(MALFORMED)?;
                if kind == LOOSE_SOURCE_ROUTE || kind == STRICT_SOURCE_ROUTE {
                    // The route is used up when the pointer is past the end of the option.
                    let pointer = *option.get(2).ok_or(MALFORMED)?;
                    if pointer <= length {
                        return Err(Refusal::Reply(
                            IcmpError::SourceRouteFailed,
                            Counter::SourceRoute,
                        ));
                    }
                }
                options = &options[option.len()..];
            }
            [_] => return Err(MALFORMED),
        }
    }
}
