//! The parts of a router advertisement that a host of an ISATAP link needs (RFC 4861 section 4.2).
//!
//! The packet path has checked hop limit, checksum, the lengths of options, and the sender.

use std::net::Ipv6Addr;
use std::time::Duration;

const ADVERTISEMENT: u8 = 134;
const HEADER: usize = 16;
const PREFIX_INFORMATION: u8 = 3;
const PREFIX_INFORMATION_LENGTH: usize = 32;
/// The flag by which hosts form addresses.
const AUTONOMOUS: u8 = 1 << 6;
/// Bits of a prefix that an interface identifier leaves.
const PREFIX_LENGTH: u8 = 64;
/// Seconds that mean for ever (RFC 4861 section 4.6.2).
const FOREVER: u32 = u32::MAX;

/// An advertisement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// How long the sender is a default router; zero: it is none.
    pub router: Duration,
    /// Prefixes that addresses are formed of.
    pub prefixes: Vec<Prefix>,
}

/// A prefix of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The prefix.
    pub network: Ipv6Addr,
    /// Seconds that addresses are valid; all ones: for ever.
    pub valid: u32,
    /// Seconds that new connections use them; all ones: for ever.
    pub preferred: u32,
}

impl Advertisement {
    /// Reads an ICMPv6 message; `None` if it is none, or ends inside of an option.
    #[must_use]
    pub fn read(message: &[u8]) -> Option<Self> {
        let (header, mut options) = message.split_at_checked(HEADER)?;
        if header[..2] != [ADVERTISEMENT, 0] {
            return None;
        }
        let router = u16::from_be_bytes([header[6], header[7]]);
        let mut prefixes = Vec::new();
        while let [kind, units, ..] = *options {
            let (option, rest) = options.split_at_checked(usize::from(units) * 8)?;
            if option.is_empty() {
                return None;
            }
            if kind == PREFIX_INFORMATION {
                prefixes.extend(Prefix::read(option));
            }
            options = rest;
        }
        options.is_empty().then_some(Self {
            router: Duration::from_secs(router.into()),
            prefixes,
        })
    }

    /// When to ask again: before the first of what was said ends (RFC 5214 section 8.3.4). `None` if
    /// nothing ends.
    #[must_use]
    pub fn refresh(&self) -> Option<Duration> {
        let prefixes = self.prefixes.iter();
        let valid = prefixes.filter(|prefix| prefix.valid != FOREVER);
        let valid = valid.map(|prefix| Duration::from_secs(prefix.valid.into()));
        let router = Some(self.router).filter(|router| !router.is_zero());
        valid.chain(router).min().map(|shortest| shortest / 2)
    }
}

impl Prefix {
    /// Reads an option; `None` if no address is to be formed of it (RFC 4862 section 5.5.3).
    fn read(option: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_be_bytes(*option.get(at..)?.first_chunk()?));
        if option.len() != PREFIX_INFORMATION_LENGTH
            || option[2] != PREFIX_LENGTH
            || option[3] & AUTONOMOUS == 0
        {
            return None;
        }
        let network = Ipv6Addr::from(*option.get(16..)?.first_chunk::<16>()?);
        let (valid, preferred) = (number(4)?, number(8)?);
        let usable = !network.is_unicast_link_local() && !network.is_multicast();
        (usable && preferred <= valid).then_some(Self {
            network,
            valid,
            preferred,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written down from RFC 4861 sections 4.2 and 4.6.2.
    fn message(flags: u8, valid: u32, preferred: u32) -> Vec<u8> {
        let mut bytes = vec![
            134, 0, 0xab, 0xcd, 64, 0, 0x07, 0x08, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        bytes.extend([3, 4, 64, flags]);
        bytes.extend(valid.to_be_bytes());
        bytes.extend(preferred.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend("2001:db8:1:2::".parse::<Ipv6Addr>().unwrap().octets());
        bytes
    }

    #[test]
    fn rfc4861_4_2_prefix_and_lifetimes() {
        let read = Advertisement::read(&message(0xc0, 7200, 3600)).unwrap();
        assert_eq!(read.router, Duration::from_secs(1800));
        let prefix = Prefix {
            network: "2001:db8:1:2::".parse().unwrap(),
            valid: 7200,
            preferred: 3600,
        };
        assert_eq!(read.prefixes, [prefix]);
        assert_eq!(read.refresh(), Some(Duration::from_secs(900)));
    }

    #[test]
    fn rfc4862_5_5_3_prefixes_that_make_no_address() {
        for message in [message(0x80, 7200, 3600), message(0xc0, 3600, 7200)] {
            assert_eq!(Advertisement::read(&message).unwrap().prefixes, []);
        }
        let mut link_local = message(0xc0, 7200, 3600);
        link_local[32..34].copy_from_slice(&[0xfe, 0x80]);
        assert_eq!(Advertisement::read(&link_local).unwrap().prefixes, []);
    }

    #[test]
    fn other_messages_are_none() {
        let good = message(0xc0, 7200, 3600);
        for length in (0..16).chain(17..good.len()) {
            assert_eq!(Advertisement::read(&good[..length]), None, "{length}");
        }
        let mut other = good;
        other[0] = 133;
        assert_eq!(Advertisement::read(&other), None);
    }
}
