//! The prefix of a NAT64, from the IPv6 addresses of a name that has none of its own (RFC 7050 section 3),
//! and the check of such a prefix.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::rfc6052::Prefix;
use super::{V4, V6, special};

/// The IPv4 addresses of `ipv4only.arpa` (RFC 7050 section 8.2).
pub const WELL_KNOWN: [Ipv4Addr; 2] =
    [Ipv4Addr::new(192, 0, 0, 170), Ipv4Addr::new(192, 0, 0, 171)];

/// The lengths of RFC 6052 section 2.2.
const LENGTHS: [u8; 6] = [32, 40, 48, 56, 64, 96];

/// Why no prefix follows from an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untold {
    /// No well-known address is in a place where RFC 6052 puts one: a resolver answers for names that do
    /// not exist, or uses a format of its own.
    Nothing,
    /// Well-known addresses are in several places, and no other address decides between them.
    Ambiguous,
    /// The prefix cannot be that of a translator.
    Unusable(Prefix),
}

/// The prefix that `address`, one of the addresses `all` of `ipv4only.arpa`, was made with (RFC 7050
/// section 3).
///
/// A well-known address may be part of the prefix as well. Then the one counts behind whose prefix
/// another address has the other well-known address.
///
/// # Errors
/// See [`Untold`].
pub fn prefix_of(address: Ipv6Addr, all: &[Ipv6Addr]) -> Result<Prefix, Untold> {
    let mut candidates = candidates(address);
    let first = candidates.next();
    if places(address) > 1 {
        let told = |&(prefix, index): &(Prefix, usize)| {
            let other = V4::from(WELL_KNOWN[1 - index]);
            all.iter().any(|&beside| embeds(&prefix, beside, other))
        };
        let mut told = first.into_iter().chain(candidates).filter(told);
        return match (told.next(), told.next()) {
            (Some((prefix, _)), None) => believable(prefix),
            _ => Err(Untold::Ambiguous),
        };
    }
    first.map_or(Err(Untold::Nothing), |(prefix, _)| believable(prefix))
}

/// A prefix, if it can be that of a translator.
///
/// # Errors
/// It lies among the addresses of no host (RFC 4291 section 2.4), or among the IPv4-mapped ones.
pub fn believable(prefix: Prefix) -> Result<Prefix, Untold> {
    let network = Ipv6Addr::from(prefix.network());
    let mapped = prefix.length() == 96 && network.to_ipv4_mapped().is_some();
    if mapped || special::is_illegal_source_v6(V6::from(network)) {
        return Err(Untold::Unusable(prefix));
    }
    Ok(prefix)
}

/// The prefixes that make `address` of a well-known address, each with the number of that.
fn candidates(address: Ipv6Addr) -> impl Iterator<Item = (Prefix, usize)> {
    let pairs = LENGTHS
        .iter()
        .flat_map(|&length| [(length, 0), (length, 1)]);
    pairs.filter_map(move |(length, index)| {
        let network = address.to_bits() & (u128::MAX << (128 - u32::from(length)));
        let prefix = Prefix::new(Ipv6Addr::from_bits(network), length).ok()?;
        embeds(&prefix, address, V4::from(WELL_KNOWN[index])).then_some((prefix, index))
    })
}

/// Whether an address has an IPv4 address behind a prefix, and zeroes in bits 64 to 71
/// (RFC 6052 section 2.2).
fn embeds(prefix: &Prefix, address: Ipv6Addr, inside: V4) -> bool {
    address.octets()[8] == 0 && prefix.extract(V6::from(address)) == Some(inside)
}

/// In how many places well-known addresses are: on octet boundaries (RFC 7050 section 3), and where
/// bits 64 to 71 divide them.
fn places(address: Ipv6Addr) -> usize {
    let octets = address.octets();
    let is_known = |window: &&[u8]| WELL_KNOWN.iter().any(|known| known.octets() == **window);
    let divided = |&(prefix, _): &(Prefix, usize)| matches!(prefix.length(), 40 | 48 | 56);
    octets.windows(4).filter(is_known).count() + candidates(address).filter(divided).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn v6(text: &str) -> Ipv6Addr {
        text.parse().unwrap()
    }

    fn told(texts: &[&str]) -> Vec<Result<std::string::String, Untold>> {
        let all: Vec<Ipv6Addr> = texts.iter().map(|text| v6(text)).collect();
        all.iter()
            .map(|&address| prefix_of(address, &all).map(|prefix| std::format!("{prefix}")))
            .collect()
    }

    fn prefixes(texts: &[&str]) -> Vec<Result<std::string::String, Untold>> {
        texts.iter().map(|text| Ok((*text).into())).collect()
    }

    /// The places of RFC 6052 section 2.2, by hand: 192.0.0.170 is c0 00 00 aa.
    #[test]
    fn rfc7050_3_every_length() {
        for (address, prefix) in [
            ("2001:db8:c000:aa::", "2001:db8::/32"),
            ("2001:db8:1c0:0:aa::", "2001:db8:100::/40"),
            ("2001:db8:122:c000:0:aa00::", "2001:db8:122::/48"),
            ("2001:db8:122:3c0:0:aa::", "2001:db8:122:300::/56"),
            ("2001:db8:122:344:c0:0:aa00:0", "2001:db8:122:344::/64"),
            ("2001:db8:122:344::192.0.0.170", "2001:db8:122:344::/96"),
            ("64:ff9b::192.0.0.171", "64:ff9b::/96"),
        ] {
            assert_eq!(told(&[address]), prefixes(&[prefix]), "{address}");
        }
    }

    /// RFC 7050 section 3.4.
    #[test]
    fn rfc7050_3_4_the_example() {
        let addresses = [
            "2001:db8:42::192.0.0.170",
            "2001:db8:43::192.0.0.170",
            "64:ff9b::192.0.0.170",
        ];
        let expected = ["2001:db8:42::/96", "2001:db8:43::/96", "64:ff9b::/96"];
        assert_eq!(told(&addresses), prefixes(&expected));
    }

    /// RFC 7050 section 3: with the value twice in an address, the other well-known address decides.
    #[test]
    fn rfc7050_3_a_well_known_address_in_the_prefix() {
        let twice = "2001:db8:c000:aa::192.0.0.170";
        let other = "2001:db8:c000:aa::192.0.0.171";
        let prefix = "2001:db8:c000:aa::/96";
        assert_eq!(told(&[twice, other]), prefixes(&[prefix, prefix]));
        assert_eq!(told(&[other, twice]), prefixes(&[prefix, prefix]));
        // By itself neither tells whether it is that or 2001:db8::/32.
        assert_eq!(told(&[twice]), [Err(Untold::Ambiguous)]);
        assert_eq!(told(&[other]), [Err(Untold::Ambiguous)]);
        // On an octet boundary where no prefix ends.
        let elsewhere = "2001:db8:0:c000:aa::192.0.0.170";
        assert_eq!(told(&[elsewhere]), [Err(Untold::Ambiguous)]);
        let other = "2001:db8:0:c000:aa::192.0.0.171";
        assert_eq!(told(&[other]), [Err(Untold::Ambiguous)]);
    }

    #[test]
    fn rfc7050_3_what_is_no_prefix() {
        for address in [
            // Hijacked, another place, the octet of bits 64 to 71 in use.
            "2001:db8::1",
            "2001:db8::c000:aa:1",
            "2001:db8:122:344:1c0:0:aa00:0",
        ] {
            assert_eq!(told(&[address]), [Err(Untold::Nothing)], "{address}");
        }
        for address in [
            "::ffff:192.0.0.170",
            "::192.0.0.170",
            "fe80::192.0.0.170",
            "ff0e::192.0.0.170",
        ] {
            let told = told(&[address]);
            assert!(
                matches!(told[..], [Err(Untold::Unusable(_))]),
                "{address}: {told:?}"
            );
        }
    }

    proptest! {
        /// The answers of a DNS64 for both addresses lead back to its prefix or are refused, and never
        /// lead to another prefix.
        #[test]
        fn there_and_back(bits: u128, which in 0usize..6) {
            let length = LENGTHS[which];
            let network = bits & (u128::MAX << (128 - u32::from(length))) & !(0xff << 56);
            let prefix = Prefix::new(Ipv6Addr::from_bits(network), length).unwrap();
            let made = WELL_KNOWN.map(|known| Ipv6Addr::from(prefix.embed(known.into())));
            for address in made {
                match prefix_of(address, &made) {
                    Ok(found) => prop_assert_eq!(found, prefix),
                    Err(_) => prop_assert!(believable(prefix).is_err() || places(address) > 1),
                }
            }
        }

        #[test]
        fn any_addresses(addresses in proptest::collection::vec(any::<u128>(), 0..6)) {
            let all: Vec<_> = addresses.into_iter().map(Ipv6Addr::from_bits).collect();
            for &address in &all {
                let _ = prefix_of(address, &all);
            }
        }
    }
}
