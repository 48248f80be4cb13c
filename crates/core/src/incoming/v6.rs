//! An IPv6 packet as it arrives: checked, its extension headers skipped, ready to be mapped.

use crate::address::special;
use crate::packet::{Abilities, Packet};
use crate::reason::Counter;
use crate::verdict::{IcmpError, Refusal, Slow};
use crate::wire::content::Messages;
use crate::wire::ipv6::{FRAGMENT_HEADER, FragmentHeader, HEADER, Header, OptionalFragment};
use crate::wire::protocol;
use crate::wire::transport::{Extent, Transport};

/// An IPv6 packet that may be translated.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// Its fixed header.
    pub header: Header,
    /// Its fragment header, if it has one.
    pub fragment: OptionalFragment,
    /// Number of the transport protocol.
    pub protocol: u8,
    /// The transport header and the payload.
    pub transport: Transport,
}

/// The headers between the fixed header and the transport.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    /// The fragment header, if there is one.
    pub fragment: OptionalFragment,
    /// Number of the transport protocol.
    pub protocol: u8,
    /// Where the transport begins in the packet.
    pub at: usize,
    /// Bytes from there to the end of the IP packet.
    pub length: usize,
}

impl Chain {
    /// No headers: the transport begins here, unless `protocol` is an extension header.
    #[inline(always)]
    fn new(protocol: u8, at: usize, length: usize) -> Self {
        Self {
            fragment: OptionalFragment::default(),
            protocol,
            at,
            length,
        }
    }

    /// The chain with the fragment header that comes next.
    #[inline(always)]
    fn behind_fragment_header<P: Packet>(self, packet: &P) -> Result<Self, Refusal> {
        if self.length < FRAGMENT_HEADER {
            return Err(Refusal::Drop(Counter::Truncated));
        }
        let fragment = FragmentHeader::from_words(packet.words::<2>(self.at)?);
        Ok(Self {
            protocol: fragment.next_header,
            fragment: fragment.into(),
            at: self.at + FRAGMENT_HEADER,
            length: self.length - FRAGMENT_HEADER,
        })
    }
}

/// Checks an IPv6 packet whose header was read (RFC 7915 section 5.1).
///
/// # Errors
/// The packet is untranslatable, whatever its mapping is.
#[inline(always)]
pub fn read<P: Packet>(packet: &P, header: Header) -> Result<Incoming, Refusal> {
    let length = usize::from(header.payload_length());
    if HEADER + length > packet.len() {
        return Err(Refusal::Drop(Counter::MalformedHeader));
    }
    if special::is_illegal_source_v6(header.source()) {
        return Err(Refusal::Drop(Counter::IllegalSource));
    }
    let chain = chain(packet, &header, HEADER, length, Extent::Whole)?;
    let transport = transport(packet, &chain, Extent::Whole)?;
    Ok(Incoming {
        header,
        fragment: chain.fragment,
        protocol: chain.protocol,
        transport,
    })
}

/// Follows the extension headers after a fixed header; `at` and `length` are those of its payload.
///
/// # Errors
/// A routing header with segments left, a fragment header with an extension header behind it, a
/// chain that is cut short or too long.
#[inline(always)]
pub fn chain<P: Packet>(
    packet: &P,
    header: &Header,
    at: usize,
    length: usize,
    extent: Extent,
) -> Result<Chain, Refusal> {
    let mut chain = Chain::new(header.next_header(), at, length);
    if P::ABILITIES.fragments_only() {
        if chain.protocol != protocol::FRAGMENT {
            return Err(Refusal::Slow(Slow::Uncommon));
        }
        let chain = chain.behind_fragment_header(packet)?;
        return if chain.fragment.is_fragment() {
            Ok(chain)
        } else {
            Err(Refusal::Slow(Slow::Uncommon))
        };
    }
    if !P::ABILITIES.all() {
        // An extension header is no transport header, and refused as such.
        return Ok(chain);
    }
    for _ in 0..P::ABILITIES.extension_headers {
        match chain.protocol {
            protocol::HOP_BY_HOP
            | protocol::ROUTING
            | protocol::FRAGMENT
            | protocol::DESTINATION_OPTIONS
            | protocol::MOBILITY
            | protocol::HIP
            | protocol::SHIM6
            | protocol::AUTHENTICATION
                if chain.fragment.is_present() =>
            {
                // RFC 7915 section 5.1.1: extension headers behind a fragment header, except ESP.
                return Err(Refusal::prohibited(Counter::FragmentedExtensionHeader));
            }
            protocol::HOP_BY_HOP | protocol::ROUTING | protocol::DESTINATION_OPTIONS => {
                let [next, units, _, segments_left] = packet.words::<1>(chain.at)?[0].bytes();
                let size = usize::from(units) * 8 + 8;
                if size > chain.length {
                    return Err(Refusal::Drop(Counter::Truncated));
                }
                let whole = matches!(extent, Extent::Whole);
                if chain.protocol == protocol::ROUTING && segments_left != 0 && whole {
                    // The Segments Left field is the fourth byte of the routing header.
                    let field = IcmpError::ParameterProblem(chain.at as u32 + 3);
                    return Err(Refusal::Reply(field, Counter::RoutingHeader));
                }
                chain.protocol = next;
                chain.at += size;
                chain.length -= size;
                if chain.at > P::ABILITIES.reach {
                    return Err(Refusal::Slow(Slow::ExtensionHeaders));
                }
            }
            protocol::FRAGMENT => chain = chain.behind_fragment_header(packet)?,
            _ => return Ok(chain),
        }
    }
    if P::ABILITIES.extension_headers < Abilities::USER_SPACE.extension_headers {
        Err(Refusal::Slow(Slow::ExtensionHeaders))
    } else {
        Err(Refusal::Drop(Counter::ExtensionHeaderChain))
    }
}

/// Reads the transport header behind the chain.
///
/// # Errors
/// The transport header is cut short, the fragment is impossible, or the ICMP type has no
/// counterpart.
#[inline(always)]
pub fn transport<P: Packet>(
    packet: &P,
    chain: &Chain,
    extent: Extent,
) -> Result<Transport, Refusal> {
    if let Some(FragmentHeader { fragment, .. }) = chain.fragment.get() {
        if usize::from(fragment.offset) * 8 + chain.length > 0xffff
            || fragment.more && !chain.length.is_multiple_of(8) && matches!(extent, Extent::Whole)
        {
            return Err(Refusal::Drop(Counter::BadFragment));
        }
        if chain.protocol == protocol::ICMPV6
            && fragment.is_fragment()
            && matches!(extent, Extent::Whole)
        {
            // RFC 7915 section 1.2; the whole can be translated once it is put together.
            return Err(Refusal::Slow(Slow::Reassemble));
        }
        if fragment.offset != 0 {
            return Ok(Transport::continuation(
                chain.at,
                chain.length,
                chain.protocol,
            ));
        }
    }
    Ok(Transport::read(
        packet,
        chain.at,
        chain.length,
        chain.protocol,
        Messages::V6,
        extent,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bytes;

    /// RFC 8200 section 4.5: the header has eight bytes. What the frame has behind the packet is none of it.
    #[test]
    fn rfc8200_4_5_a_fragment_header_is_whole_or_none() {
        let mut bytes = std::vec![0; 56];
        bytes[0] = 0x60;
        bytes[6] = protocol::FRAGMENT;
        bytes[40] = protocol::UDP;
        let packet = Bytes(bytes);
        let header = Header::read(&packet, 0).unwrap();
        let behind = |length| {
            let chain = chain(&packet, &header, HEADER, length, Extent::Whole)?;
            Ok((chain.protocol, chain.length))
        };
        assert_eq!(behind(7), Err(Refusal::Drop(Counter::Truncated)));
        assert_eq!(behind(8), Ok((protocol::UDP, 0)));
        assert_eq!(behind(16), Ok((protocol::UDP, 8)));
    }
}
