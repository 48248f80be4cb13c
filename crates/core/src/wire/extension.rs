//! The size of an ICMP error after translation: RFC 4884 extensions, and the most that an error
//! may carry.
//!
//! RFC 4884 puts an extension behind the quoted packet and its offset into the ICMP header, in
//! words of 4 bytes in ICMPv4 and 8 bytes in ICMPv6. When the quoted headers change size the
//! extension moves, and padding may be due between the two.

use super::icmp::ErrorHeader;
use super::{icmpv4, icmpv6};
use crate::word::Word;

/// Bytes that an original datagram has at least if an extension follows (RFC 4884 section 4).
const LEAST_QUOTE: usize = 128;

/// The unit of the length attribute of RFC 4884, by the family of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// ICMPv4: 4 bytes.
    V4 = 4,
    /// ICMPv6: 8 bytes.
    V6 = 8,
}

impl Unit {
    /// Whether the second word of an error of this type has room for the length attribute (RFC 4884
    /// section 4).
    #[inline(always)]
    const fn is_in(self, message: u8) -> bool {
        match self {
            Self::V4 => matches!(
                message,
                icmpv4::UNREACHABLE | icmpv4::TIME_EXCEEDED | icmpv4::PARAMETER_PROBLEM
            ),
            Self::V6 => matches!(message, icmpv6::UNREACHABLE | icmpv6::TIME_EXCEEDED),
        }
    }
}

/// The bytes behind the ICMP header of the error that was received.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    /// Bytes.
    pub length: usize,
    /// Bytes of the quoted packet, if an extension follows it.
    pub quote: Option<usize>,
}

/// The bytes behind the ICMP header of the translated error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Bytes.
    pub length: usize,
    /// Zero bytes between the quoted packet and the extension.
    pub padding: usize,
    /// Bytes of the quoted packet with its padding, if an extension follows.
    pub quote: Option<usize>,
}

impl Body {
    /// The `length` bytes behind this ICMP header, as its length attribute divides them. An invalid one is
    /// ignored: routers send such, and traceroute has to work nevertheless.
    #[inline(always)]
    #[must_use]
    pub fn read(unit: Unit, [first, rest]: [Word; 2], length: usize) -> Self {
        let attribute = match unit {
            _ if !unit.is_in(first.bytes()[0]) => 0,
            Unit::V4 => rest.bytes()[1],
            Unit::V6 => rest.bytes()[0],
        };
        let quote = usize::from(attribute) * unit as usize;
        Self {
            length,
            quote: (quote != 0 && quote < length).then_some(quote),
        }
    }

    /// The body after the quoted headers changed from `old` to `new` bytes, in an error of which
    /// at most `most` bytes may follow the ICMP header.
    #[inline(always)]
    #[must_use]
    pub fn fit(&self, unit: Unit, error: &ErrorHeader, old: usize, new: usize, most: usize) -> Fit {
        let resized = |bytes: usize| bytes - old + new;
        // One that ends inside the headers makes no sense either.
        let Some(quote) = self.quote.filter(|quote| *quote >= old) else {
            return Fit {
                length: resized(self.length).min(most),
                padding: 0,
                quote: None,
            };
        };
        let bare = resized(quote);
        let padded = bare.max(LEAST_QUOTE).next_multiple_of(unit as usize);
        let length = padded + (self.length - quote);
        if unit.is_in(error.message) && length <= most && padded / (unit as usize) <= 255 {
            Fit {
                length,
                padding: padded - bare,
                quote: Some(padded),
            }
        } else {
            Fit {
                length: bare.min(most),
                padding: 0,
                quote: None,
            }
        }
    }
}

impl Fit {
    /// The second word of the ICMP header.
    #[inline(always)]
    #[must_use]
    pub fn rest(&self, unit: Unit, error: &ErrorHeader) -> Word {
        let attribute = self.quote.map_or(0, |quote| (quote / unit as usize) as u8);
        let [a, b, c, d] = error.rest.to_be_bytes();
        match unit {
            Unit::V4 => Word::from_bytes([a, b | attribute, c, d]),
            Unit::V6 => Word::from_bytes([a | attribute, b, c, d]),
        }
    }

    /// Whether bytes behind the quoted headers move or go.
    #[inline(always)]
    #[must_use]
    pub fn moves(&self, body: &Body, old: usize, new: usize) -> bool {
        body.quote.is_some() || self.length != body.length - old + new
    }
}
