//! The part of the configuration that answers depend on: what to synthesize, and what to leave alone.

use std::net::{Ipv4Addr, Ipv6Addr};

use hickory_proto::rr::rdata::AAAA;
use hickory_proto::rr::{RData, Record};
use ipnet::Ipv6Net;
use isthmus_core::address::rfc6052::Prefix;

use crate::config::{Config, Translation};
use crate::wire;

/// More AAAA records than this are not synthesized for one answer: it must fit a message, and no
/// host needs them.
const SYNTHESIZED_MAX: usize = 1024;

/// The rules of RFC 6147 as configured.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    translations: Vec<Translation>,
    exclude: Vec<Ipv6Net>,
}

impl Policy {
    /// The rules of a configuration.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let mut translations = Vec::with_capacity(config.prefixes.len());
        for translation in &config.prefixes {
            // Several instances may share a prefix; an address belongs into an answer once.
            if !translations.contains(translation) {
                translations.push(translation.clone());
            }
        }
        if translations.is_empty() {
            // RFC 6147 section 5.2: without a prefix, the well-known one.
            translations.push(Translation::new(Prefix::WELL_KNOWN));
        }
        Self {
            translations,
            exclude: config.exclude.clone(),
        }
    }

    /// Whether an AAAA record with this address counts as absent (RFC 6147 section 5.1.4).
    pub(crate) fn excludes(&self, address: Ipv6Addr) -> bool {
        self.exclude.iter().any(|net| net.contains(&address))
    }

    /// The IPv6 representations of an address, one for each prefix that has it (RFC 6147 sections
    /// 5.1.7 and 5.2).
    pub(crate) fn represent(&self, address: Ipv4Addr) -> impl Iterator<Item = Ipv6Addr> + '_ {
        self.translations
            .iter()
            .filter(move |translation| translation.represents(address))
            .map(move |translation| translation.prefix.embed(address.into()).into())
    }

    /// The representations of an address of ipv4only.arpa, which show clients the prefixes (RFC
    /// 7050 section 3). A client uses a prefix that it has learned for all of IPv4, so those for
    /// some ranges alone are shown only if there is no other. Exceptions do not matter.
    pub(crate) fn announce(&self, address: Ipv4Addr) -> Vec<Ipv6Addr> {
        let general = |translation: &&Translation| translation.ranges.is_empty();
        let some = self
            .translations
            .iter()
            .any(|translation| general(&translation));
        self.translations
            .iter()
            .filter(|translation| !some || general(translation))
            .map(|translation| translation.prefix.embed(address.into()).into())
            .collect()
    }

    /// The IPv4 address that is represented, under one of our prefixes or the well-known one
    /// (RFC 6147 section 5.3.1).
    pub(crate) fn represented(&self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        self.translations
            .iter()
            .map(|translation| translation.prefix)
            .chain([Prefix::WELL_KNOWN])
            .find_map(|prefix| prefix.extract(address.into()))
            .map(Into::into)
    }

    /// AAAA records made of A records (RFC 6147 section 5.1.7), and how many A records had no
    /// representation. `ttl` is what the negative answer for AAAA allows, in seconds.
    pub(crate) fn synthesize(&self, addresses: &[Record], ttl: u32) -> (Vec<Record>, u64) {
        let mut records = Vec::new();
        let mut skipped = 0;
        for record in addresses {
            let RData::A(a) = record.data else { continue };
            let before = records.len();
            records.extend(self.represent(a.0).map(|address| {
                let data = RData::AAAA(AAAA(address));
                Record::from_rdata(record.name.clone(), wire::ttl(record.ttl).min(ttl), data)
            }));
            skipped += u64::from(records.len() == before);
            if records.len() >= SYNTHESIZED_MAX {
                records.truncate(SYNTHESIZED_MAX);
                break;
            }
        }
        (records, skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translation(network: &str) -> Translation {
        Translation::new(Prefix::new(network.parse().unwrap(), 96).unwrap())
    }

    fn policy(prefixes: Vec<Translation>) -> Policy {
        Policy::new(&Config {
            prefixes,
            ..Config::default()
        })
    }

    #[test]
    fn the_same_prefix_twice_gives_one_address() {
        let one = translation("2001:db8:1::");
        let address = Ipv4Addr::new(8, 8, 8, 8);
        assert_eq!(policy(vec![one.clone(), one]).represent(address).count(), 1);
    }

    #[test]
    fn rfc7050_3_clients_learn_prefixes_for_all_of_ipv4() {
        let mut private = translation("2001:db8:10::");
        private.ranges = vec!["10.0.0.0/8".parse().unwrap()];
        let address = Ipv4Addr::new(192, 0, 0, 170);
        let announced = |prefixes| policy(prefixes).announce(address);
        let general = translation("2001:db8:1::");
        let expected: Ipv6Addr = "2001:db8:1::192.0.0.170".parse().unwrap();
        assert_eq!(announced(vec![private.clone(), general]), [expected]);
        let expected: Ipv6Addr = "2001:db8:10::192.0.0.170".parse().unwrap();
        assert_eq!(announced(vec![private]), [expected], "better than none");
    }

    #[test]
    fn rfc6147_5_3_1_addresses_of_our_prefixes_and_the_well_known_one() {
        let policy = policy(vec![translation("2001:db8:1::")]);
        let found = |text: &str| policy.represented(text.parse().unwrap());
        assert_eq!(
            found("2001:db8:1::192.0.2.33"),
            Some(Ipv4Addr::new(192, 0, 2, 33))
        );
        assert_eq!(found("64:ff9b::8.8.8.8"), Some(Ipv4Addr::new(8, 8, 8, 8)));
        assert_eq!(found("2001:db8:2::192.0.2.33"), None);
    }
}
