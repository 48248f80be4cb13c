//! Router solicitations and advertisements (RFC 4861 sections 4.1, 4.2 and 6.1), with no other option
//! than PREF64.

use core::fmt;
use core::net::Ipv6Addr;

use super::icmpv6::{ROUTER_ADVERTISEMENT, ROUTER_SOLICITATION};
use super::pref64::{self, Pref64, Pref64Error};

/// The hop limit of packets that no router has forwarded.
pub const HOP_LIMIT: u8 = 255;

/// Source Link-Layer Address (RFC 4861 section 4.6.1).
const SOURCE_LINK_LAYER: u8 = 1;

/// The fields of the IPv6 header around a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Its source.
    pub source: Ipv6Addr,
    /// Its hop limit.
    pub hop_limit: u8,
}

/// Why a message is discarded (RFC 4861 sections 6.1.1 and 6.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouterError {
    /// A router may have forwarded it.
    HopLimit(u8),
    /// The source is not that of a router on this link.
    Source(Ipv6Addr),
    /// It is another message.
    Kind,
    /// It is cut short, its code is not 0, or its options do not fit.
    Malformed,
}

impl fmt::Display for RouterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HopLimit(hops) => write!(f, "the hop limit is {hops}, not 255"),
            Self::Source(source) => write!(f, "{source} is not a link-local address"),
            Self::Kind => f.write_str("it is another message"),
            Self::Malformed => f.write_str("the message is malformed"),
        }
    }
}

/// An advertisement that has passed all checks but that of the checksum, which a receiver has from the
/// kernel.
#[derive(Clone, Copy, Debug)]
pub struct Advertisement<'a> {
    router_lifetime: u16,
    options: &'a [u8],
}

impl<'a> Advertisement<'a> {
    /// Reads a message, from its ICMPv6 type on.
    ///
    /// # Errors
    /// See [`RouterError`].
    pub fn parse(envelope: &Envelope, message: &'a [u8]) -> Result<Self, RouterError> {
        let source = envelope.source;
        if message.first() != Some(&ROUTER_ADVERTISEMENT) {
            return Err(RouterError::Kind);
        }
        if envelope.hop_limit != HOP_LIMIT {
            return Err(RouterError::HopLimit(envelope.hop_limit));
        }
        if !source.is_unicast_link_local() {
            return Err(RouterError::Source(source));
        }
        let Some((head, options)) = message.split_first_chunk::<16>() else {
            return Err(RouterError::Malformed);
        };
        if head[1] != 0 || !fit(options) {
            return Err(RouterError::Malformed);
        }
        Ok(Self {
            router_lifetime: u16::from_be_bytes([head[6], head[7]]),
            options,
        })
    }

    /// Seconds for which its sender is a default router; 0: it is none.
    #[must_use]
    pub const fn router_lifetime(&self) -> u16 {
        self.router_lifetime
    }

    /// The prefixes in it, in their order, and the options that are to be ignored.
    pub fn prefixes(&self) -> impl Iterator<Item = Result<Pref64, Pref64Error>> + 'a {
        let options = Options(self.options);
        options
            .filter(|option| option.first() == Some(&pref64::KIND))
            .map(Pref64::parse)
    }
}

/// The first 16 bytes of an advertisement, which its options follow. It has only the lifetime in seconds
/// of its sender as a default router. The checksum is for the kernel to fill in.
#[must_use]
pub const fn advertisement(router_lifetime: u16) -> [u8; 16] {
    let [high, low] = router_lifetime.to_be_bytes();
    let mut message = [0; 16];
    message[0] = ROUTER_ADVERTISEMENT;
    message[6] = high;
    message[7] = low;
    message
}

/// A solicitation without options. The checksum is for the kernel to fill in.
#[must_use]
pub const fn solicitation() -> [u8; 8] {
    [ROUTER_SOLICITATION, 0, 0, 0, 0, 0, 0, 0]
}

/// Checks a solicitation (RFC 4861 section 6.1.1), from its ICMPv6 type on.
///
/// # Errors
/// See [`RouterError`].
pub fn check_solicitation(envelope: &Envelope, message: &[u8]) -> Result<(), RouterError> {
    if message.first() != Some(&ROUTER_SOLICITATION) {
        return Err(RouterError::Kind);
    }
    if envelope.hop_limit != HOP_LIMIT {
        return Err(RouterError::HopLimit(envelope.hop_limit));
    }
    let Some((head, options)) = message.split_first_chunk::<8>() else {
        return Err(RouterError::Malformed);
    };
    let link_layer = |option: &[u8]| option.first() == Some(&SOURCE_LINK_LAYER);
    let nameless = envelope.source.is_unspecified() && Options(options).any(link_layer);
    if head[1] != 0 || !fit(options) || nameless {
        return Err(RouterError::Malformed);
    }
    Ok(())
}

/// Whether the options fill the message, none of them with a length of zero.
pub(super) fn fit(options: &[u8]) -> bool {
    let mut walk = Options(options);
    walk.by_ref().for_each(drop);
    walk.0.is_empty()
}

/// Options one by one, up to the first that does not fit.
struct Options<'a>(&'a [u8]);

impl<'a> Iterator for Options<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let length = usize::from(*self.0.get(1)?) * 8;
        if length == 0 {
            return None;
        }
        let (option, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(option)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::rfc6052::Prefix;
    use crate::wire::pref64::Lifetime;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn envelope() -> Envelope {
        Envelope {
            source: "fe80::1".parse().unwrap(),
            hop_limit: 255,
        }
    }

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    /// Made by scapy 2.5: `ICMPv6ND_RA(routerlifetime=0)/ICMPv6NDOptSrcLLAddr(lladdr="02:00:00:00:00:01")
    /// /ICMPv6NDOptMTU(mtu=1400)/ICMPv6NDOptUnknown(type=38, len=2, data=…)`, whose data is RFC 8781
    /// figure 1 filled in by hand.
    const SCAPY: &str = "8600 0000 0008 0000 00000000 00000000
        0101 020000000001
        0501 0000 00000578
        2602 0708 0064ff9b 00000000 00000000";

    #[test]
    fn rfc4861_4_2_an_advertisement_with_options() {
        let bytes = hex(SCAPY);
        let message = Advertisement::parse(&envelope(), &bytes).unwrap();
        assert_eq!(message.router_lifetime(), 0);
        let prefixes: Vec<_> = message.prefixes().map(Result::unwrap).collect();
        let expected = Pref64 {
            prefix: Prefix::WELL_KNOWN,
            lifetime: Lifetime::of_secs(1800),
        };
        assert_eq!(prefixes, [expected]);
    }

    #[test]
    fn rfc4861_6_1_2_what_is_discarded() {
        let bytes = hex(SCAPY);
        let refused = |envelope: &Envelope, bytes: &[u8]| {
            Advertisement::parse(envelope, bytes).map(drop).unwrap_err()
        };
        let far = Envelope {
            hop_limit: 254,
            ..envelope()
        };
        assert_eq!(refused(&far, &bytes), RouterError::HopLimit(254));
        for source in ["2001:db8::1", "::", "fec0::1"] {
            let source = source.parse().unwrap();
            let other = Envelope {
                source,
                ..envelope()
            };
            assert_eq!(refused(&other, &bytes), RouterError::Source(source));
        }
        let change = |at: usize, to: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = to;
            bytes
        };
        assert_eq!(refused(&envelope(), &change(0, 133)), RouterError::Kind);
        for bad in [
            change(1, 1),
            // A length of zero, and one that is too long.
            change(17, 0),
            change(17, 9),
            bytes[..15].to_vec(),
            bytes[..bytes.len() - 1].to_vec(),
        ] {
            assert_eq!(
                refused(&envelope(), &bad),
                RouterError::Malformed,
                "{bad:x?}"
            );
        }
    }

    #[test]
    fn rfc4861_6_1_1_solicitations() {
        let check = |source: &str, hop_limit, bytes: &[u8]| {
            let source = source.parse().unwrap();
            check_solicitation(&Envelope { source, hop_limit }, bytes)
        };
        let plain = solicitation();
        let named = [&plain[..], &[1, 1, 2, 0, 0, 0, 0, 1]].concat();
        assert_eq!(check("fe80::2", 255, &named), Ok(()));
        assert_eq!(check("::", 255, &plain), Ok(()));
        assert_eq!(check("::", 255, &named), Err(RouterError::Malformed));
        assert_eq!(check("fe80::2", 64, &plain), Err(RouterError::HopLimit(64)));
        assert_eq!(
            check("fe80::2", 255, &plain[..7]),
            Err(RouterError::Malformed)
        );
        let zero = [&plain[..], &[1, 0, 2, 0, 0, 0, 0, 1]].concat();
        assert_eq!(check("fe80::2", 255, &zero), Err(RouterError::Malformed));
    }

    proptest! {
        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200), valid: bool) {
            let mut bytes = bytes;
            if valid && bytes.len() >= 18 {
                bytes[..2].copy_from_slice(&[134, 0]);
                bytes[17] %= 4;
            }
            if let Ok(message) = Advertisement::parse(&envelope(), &bytes) {
                prop_assert!(message.prefixes().count() <= bytes.len() / 16);
            }
            let _ = check_solicitation(&envelope(), &bytes);
        }
    }
}
