//! `[[announce]]`: telling hosts on a link the prefixes of the gateway's NAT64 (RFC 8781).

use isthmus_core::address::rfc6052::Prefix;
use isthmus_core::wire::pref64::Lifetime;

use super::document::{Document, Mechanism};
use super::source::At;
use super::table::Reader;
use super::{composed, prefix, section};

/// The longest interval between advertisements (RFC 4861 section 6.2.1), seconds.
const LONGEST_INTERVAL: u16 = 1800;
/// An advertisement with more would not fit every link.
const MOST_PREFIXES: usize = 16;
/// The default of that section.
const INTERVAL: u16 = 600;
/// The longest lifetime of a default router (RFC 4861 section 6.2.1), seconds.
const LONGEST_ROUTER_LIFETIME: u16 = 9000;

/// The router advertisements on one link.
#[derive(Clone, Debug)]
pub struct Announce {
    /// Name of the link.
    pub interface: At<String>,
    /// The prefixes to announce; those of the `nat64` instances by default.
    pub prefixes: Vec<At<Prefix>>,
    /// MaxRtrAdvInterval: most seconds between two advertisements, 4 to 1800.
    pub interval: u16,
    /// Seconds for which hosts may use the prefixes, 1 to 65528.
    pub lifetime: At<u32>,
    /// Seconds for which hosts take this machine for a default router; 0: they do not.
    pub router_lifetime: At<u16>,
}

impl Document {
    /// The prefixes that are announced on a link, in their order.
    #[must_use]
    pub fn announced(&self, announce: &Announce) -> Vec<Prefix> {
        if !announce.prefixes.is_empty() {
            return announce.prefixes.iter().map(|at| at.value).collect();
        }
        let of = |mechanism: &Mechanism| match mechanism {
            Mechanism::Nat64(nat64) => Some(nat64.prefix.value),
            _ => None,
        };
        let mechanisms = self.instances.iter().map(|instance| &instance.mechanism);
        mechanisms.filter_map(of).collect()
    }
}

/// One `[[announce]]`
pub(super) fn announce(reader: Reader<'_>) -> Option<Announce> {
    let interface = reader.needs("interface", "\"eth0\"", |v| Some(v.at(v.link_name()?)));
    let prefixes = section::each(&reader, "prefixes", "a list of prefixes", |v| {
        Some(v.at(prefix::rfc6052(&v)?))
    });
    composed::excess(&reader, "prefixes", &prefixes, MOST_PREFIXES, "networks");
    let interval = reader.get("interval");
    let interval = interval.map_or(Some(INTERVAL), |v| v.integer(4..=LONGEST_INTERVAL));
    // RFC 8781 section 4.1: three times the interval.
    let lifetime = match reader.get("lifetime") {
        None => interval.map(|interval| reader.at(3 * u32::from(interval))),
        Some(v) => v
            .integer(1..=Lifetime::MAX.secs())
            .map(|seconds| v.at(seconds)),
    };
    let router_lifetime = match reader.get("router-lifetime") {
        None => Some(reader.at(0)),
        Some(v) => v
            .integer(0..=LONGEST_ROUTER_LIFETIME)
            .map(|seconds| v.at(seconds)),
    };
    reader.finish(|_| None);
    Some(Announce {
        interface: interface?,
        prefixes,
        interval: interval?,
        lifetime: lifetime?,
        router_lifetime: router_lifetime?,
    })
}
