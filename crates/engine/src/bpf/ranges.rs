//! Tells the programs which destinations share a next hop (`isthmus_abi::routes`), so that a BR looks up
//! the FIB once for a million CEs behind one router.
//!
//! The first and the last addresses of the networks that there are routes to divide all destinations into
//! ranges. All of a range are covered by the same routes, whichever of them the kernel takes. If each of
//! these leads to one gateway, so do all packets to the range. If some lead to neighbours, the destination
//! selects the next hop. Where packets are spread over several gateways, or routes depend on more than the
//! destination,
//! nothing is told.

use std::io;
use std::sync::atomic::Ordering;

use isthmus_abi::lines::LineWords;
use isthmus_abi::routes::{self, Granularity, Range};
use isthmus_core::table::Memory as _;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleFlags, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::dump::dump;
use crate::memory::Region;
use crate::sys;

/// The largest number of ranges of a family.
const MOST: usize = routes::MOST as usize;
/// Lines of the map, for both families.
pub(super) const LINES: u32 = (routes::ENTRIES / RANGES_OF_LINE) as u32;
const RANGES_OF_LINE: usize = size_of::<LineWords>() / size_of::<Range>();
/// The largest number of routes that are read. The routes of the whole internet make too many ranges and change
/// all the time.
const MOST_ROUTES: usize = 4 * MOST;

/// The tables that the kernel looks up without further rules.
const LOCAL: u32 = 255;
const MAIN: u32 = 254;
const DEFAULT: u32 = 253;

/// The destinations of a route, and its granularity. The numbers are those of IPv4
/// addresses, or the upper halves of IPv6 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Route {
    first: u64,
    last: u64,
    granularity: Granularity,
}

/// The memory of the map `RANGES`.
#[derive(Debug)]
pub(super) struct Ranges(Region);

impl Ranges {
    pub(super) fn new(memory: Region) -> Self {
        Self(memory)
    }

    /// Writes the ranges of the current routes of the calling thread's network namespace, and returns the word that
    /// activates them. None may be active.
    ///
    /// # Errors
    /// The kernel refuses, or there are more routes than [`MOST_ROUTES`].
    pub(super) fn write(&self) -> io::Result<u64> {
        let of = |family| {
            let ranges = if has_rules(family)? {
                divide(Vec::new())
            } else {
                divide(routes(family)?)
            };
            if ranges.len() > MOST {
                return Err(io::Error::from(io::ErrorKind::OutOfMemory));
            }
            Ok(ranges)
        };
        let families = [of(AddressFamily::Inet)?, of(AddressFamily::Inet6)?];
        let size = families
            .iter()
            .map(|ranges| ranges.len().next_power_of_two());
        let size = size.max().unwrap_or(1);
        // Until here a running program may have seen the ranges that are overwritten as active.
        sys::wait_for_bpf_programs()?;
        for (ipv6, ranges) in [false, true].into_iter().zip(&families) {
            self.put(routes::first(ipv6) as usize, size, ranges);
        }
        Ok(size as u64)
    }

    /// Writes ranges to the places from `base` on, and to the rest of `size` what no destination is in.
    fn put(&self, base: usize, size: usize, ranges: &[(u64, Granularity)]) {
        for place in 0..size {
            let (first, granularity) = *ranges
                .get(place)
                .unwrap_or(&(u64::MAX, Granularity::Addresses));
            let number = base + place;
            let line = self.0.line((number / RANGES_OF_LINE) as u32);
            let words = line.map(|line| &line[number % RANGES_OF_LINE * 2..]);
            if let Some([begin, kind, ..]) = words {
                begin.store(first, Ordering::Relaxed);
                kind.store(granularity.word(), Ordering::Relaxed);
            }
        }
    }
}

/// Whether there are rules for choosing a table besides the default ones.
fn has_rules(family: AddressFamily) -> io::Result<bool> {
    let mut request = RuleMessage::default();
    request.header.family = family;
    let mut has = false;
    let result = dump(RouteNetlinkMessage::GetRule(request), |message| {
        if let RouteNetlinkMessage::NewRule(rule) = message {
            has |= !is_original(&rule);
        }
        Ok(())
    });
    match result {
        // The kernel lacks such rules.
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(false),
        result => result.map(|()| has),
    }
}

/// Whether a rule looks up one of the tables for every packet.
fn is_original(rule: &RuleMessage) -> bool {
    rule.header.action == RuleAction::ToTable
        && !rule.header.flags.contains(RuleFlags::Invert)
        && rule.header.src_len == 0
        && rule.header.dst_len == 0
        && rule.header.tos == 0
        && rule.attributes.iter().all(|attribute| match attribute {
            RuleAttribute::Table(table) => [LOCAL, MAIN, DEFAULT].contains(table),
            // "Suppress nothing" has all bits set.
            RuleAttribute::SuppressPrefixLen(length) => *length == u32::MAX,
            RuleAttribute::Priority(_) | RuleAttribute::Protocol(_) => true,
            _ => false,
        })
}

/// Returns the routes of a family.
fn routes(family: AddressFamily) -> io::Result<Vec<Route>> {
    let mut request = RouteMessage::default();
    request.header.address_family = family;
    let mut routes = Vec::new();
    dump(RouteNetlinkMessage::GetRoute(request), |message| {
        if let RouteNetlinkMessage::NewRoute(route) = message {
            routes.extend(Route::of(&route));
        }
        if routes.len() > MOST_ROUTES {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(())
    })?;
    Ok(routes)
}

impl Route {
    /// Returns `None` for a message that is no route of these tables.
    fn of(message: &RouteMessage) -> Option<Self> {
        let header = &message.header;
        let mut table = u32::from(header.table);
        let mut destination = None;
        let mut granularity = Granularity::Destination;
        for attribute in &message.attributes {
            match attribute {
                RouteAttribute::Table(number) => table = *number,
                RouteAttribute::Destination(address) => destination = Some(address),
                RouteAttribute::Gateway(_) | RouteAttribute::Via(_) => {
                    granularity = granularity.min(Granularity::Range);
                }
                _ => {}
            }
        }
        if header.flags.contains(RouteFlags::Cloned) || ![LOCAL, MAIN, DEFAULT].contains(&table) {
            return None;
        }
        if table == LOCAL || depends_on_more(header, &message.attributes) {
            granularity = Granularity::Addresses;
        }
        let length = u32::from(header.destination_prefix_length);
        let (first, bits) = match destination {
            Some(RouteAddress::Inet(address)) => (u64::from(address.to_bits()), 32),
            Some(RouteAddress::Inet6(address)) => ((address.to_bits() >> 64) as u64, 64),
            _ if header.address_family == AddressFamily::Inet => (0, 32),
            _ => (0, 64),
        };
        if length > bits {
            // There is no telling between the destinations that begin like this one.
            granularity = Granularity::Addresses;
        }
        let others = u64::MAX.checked_shr(64 - bits + length).unwrap_or(0);
        Some(Self {
            first: first & !others,
            last: first | others,
            granularity,
        })
    }
}

/// Whether the next hop of a packet that takes a route depends on more than the destination.
fn depends_on_more(header: &RouteHeader, attributes: &[RouteAttribute]) -> bool {
    header.kind != RouteType::Unicast
        || header.tos != 0
        || header.source_prefix_length != 0
        || attributes.iter().any(|attribute| {
            matches!(
                attribute,
                RouteAttribute::MultiPath(_)
                    | RouteAttribute::EncapType(_)
                    | RouteAttribute::Encap(_)
                    | RouteAttribute::Iif(_)
            )
        })
}

/// Divides all destinations into ranges: the first destination of each, and its granularity. The first
/// range begins at 0.
fn divide(mut routes: Vec<Route>) -> Vec<(u64, Granularity)> {
    // A network before those within.
    routes.sort_by_key(|route| (route.first, !route.last));
    let mut ranges = vec![(0, Granularity::Addresses)];
    // The networks around the place that has been reached, the widest first, each with what its own route
    // and those of all the others say.
    let mut around: Vec<Route> = Vec::new();
    let leave = |around: &mut Vec<Route>, ranges: &mut Vec<_>, before: Option<u64>| {
        while let Some(left) = around.pop_if(|one| before.is_none_or(|before| one.last < before)) {
            if let Some(next) = left.last.checked_add(1) {
                let granularity = around
                    .last()
                    .map_or(Granularity::Addresses, |one| one.granularity);
                begin(ranges, next, granularity);
            }
        }
    };
    for mut route in routes {
        leave(&mut around, &mut ranges, Some(route.first));
        if let Some(wider) = around.last() {
            route.granularity = route.granularity.max(wider.granularity);
        }
        begin(&mut ranges, route.first, route.granularity);
        around.push(route);
    }
    leave(&mut around, &mut ranges, None);
    // Two ranges stay apart where their next hops may differ and each shares one.
    ranges.dedup_by(|next, one| next.1 == one.1 && one.1 != Granularity::Range);
    ranges
}

/// Begins another range, instead of the last one if that has nothing in it.
fn begin(ranges: &mut Vec<(u64, Granularity)>, first: u64, granularity: Granularity) {
    let _empty = ranges.pop_if(|last| last.0 == first);
    ranges.push((first, granularity));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn route(first: u64, last: u64, granularity: Granularity) -> Route {
        Route {
            first,
            last,
            granularity,
        }
    }

    #[test]
    fn without_routes_nothing_is_known() {
        assert_eq!(divide(Vec::new()), [(0, Granularity::Addresses)]);
    }

    #[test]
    fn a_network_cuts_the_one_around_it() {
        use Granularity::{Addresses, Destination, Range};
        let routes = vec![
            route(0, u64::MAX, Range),
            route(200, 299, Destination),
            route(250, 250, Addresses),
            route(0, 99, Range),
            route(300, 399, Range),
        ];
        let expected = [
            (0, Range),
            (100, Range),
            (200, Destination),
            (250, Addresses),
            (251, Destination),
            (300, Range),
            (400, Range),
        ];
        assert_eq!(divide(routes), expected);
    }

    #[test]
    fn a_gateway_behind_neighbours_may_be_one_of_them() {
        // The outer route counts if the inner one does not because its link is down.
        let routes = vec![
            route(0, 99, Granularity::Destination),
            route(10, 19, Granularity::Range),
        ];
        let expected = [(0, Granularity::Destination), (100, Granularity::Addresses)];
        assert_eq!(divide(routes), expected);
    }

    fn message(family: AddressFamily, to: RouteAddress, length: u8) -> RouteMessage {
        let mut message = RouteMessage::default();
        message.header.address_family = family;
        message.header.destination_prefix_length = length;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.kind = RouteType::Unicast;
        message.attributes = vec![RouteAttribute::Destination(to)];
        message
    }

    fn ipv4() -> RouteMessage {
        let network = RouteAddress::Inet([192, 0, 2, 0].into());
        message(AddressFamily::Inet, network, 24)
    }

    fn gateway() -> RouteAttribute {
        RouteAttribute::Gateway(RouteAddress::Inet([198, 51, 100, 1].into()))
    }

    #[test]
    fn a_route_is_to_all_addresses_of_its_network() {
        let expected = route(0xc000_0200, 0xc000_02ff, Granularity::Destination);
        assert_eq!(Route::of(&ipv4()), Some(expected));
        let network = RouteAddress::Inet6("2001:db8::".parse().unwrap());
        let ipv6 = message(AddressFamily::Inet6, network, 32);
        let (first, last) = (0x2001_0db8_0000_0000, 0x2001_0db8_ffff_ffff);
        let expected = route(first, last, Granularity::Destination);
        assert_eq!(Route::of(&ipv6), Some(expected));
        let mut default = RouteMessage::default();
        default.header.table = RouteHeader::RT_TABLE_MAIN;
        default.header.kind = RouteType::Unicast;
        for (family, last) in [
            (AddressFamily::Inet, u64::from(u32::MAX)),
            (AddressFamily::Inet6, u64::MAX),
        ] {
            default.header.address_family = family;
            let expected = route(0, last, Granularity::Destination);
            assert_eq!(Route::of(&default), Some(expected));
        }
    }

    #[test]
    fn addresses_with_one_upper_half_are_not_told_apart() {
        let host = RouteAddress::Inet6("2001:db8::1".parse().unwrap());
        let mut ipv6 = message(AddressFamily::Inet6, host, 128);
        ipv6.attributes.push(gateway());
        let half = 0x2001_0db8_0000_0000;
        let expected = route(half, half, Granularity::Addresses);
        assert_eq!(Route::of(&ipv6), Some(expected));
    }

    #[test]
    fn only_one_gateway_is_the_same_for_all() {
        let granularity = |change: &dyn Fn(&mut RouteMessage)| {
            let mut message = ipv4();
            message.attributes.push(gateway());
            change(&mut message);
            Route::of(&message).map(|route| route.granularity)
        };
        assert_eq!(granularity(&|_| {}), Some(Granularity::Range));
        let more: [&dyn Fn(&mut RouteMessage); 6] = [
            &|route| route.header.tos = 4,
            &|route| route.header.source_prefix_length = 8,
            &|route| route.header.kind = RouteType::Throw,
            &|route| route.attributes.push(RouteAttribute::MultiPath(Vec::new())),
            &|route| route.attributes.push(RouteAttribute::Encap(Vec::new())),
            &|route| route.attributes.push(RouteAttribute::Table(LOCAL)),
        ];
        for (number, change) in more.into_iter().enumerate() {
            assert_eq!(
                granularity(change),
                Some(Granularity::Addresses),
                "{number}"
            );
        }
        let elsewhere: [&dyn Fn(&mut RouteMessage); 2] = [
            &|route| route.attributes.push(RouteAttribute::Table(100)),
            &|route| route.header.flags = RouteFlags::Cloned,
        ];
        for change in elsewhere {
            assert_eq!(granularity(change), None);
        }
    }

    #[test]
    fn rules_of_the_operator_are_told_from_the_original_ones() {
        let mut rule = RuleMessage::default();
        rule.header.action = RuleAction::ToTable;
        rule.attributes = vec![
            RuleAttribute::Priority(32766),
            RuleAttribute::Table(MAIN),
            RuleAttribute::SuppressPrefixLen(u32::MAX),
        ];
        assert!(is_original(&rule));
        for more in [
            RuleAttribute::Table(100),
            RuleAttribute::FwMark(1),
            RuleAttribute::L3MDev(true),
            RuleAttribute::SuppressPrefixLen(0),
            RuleAttribute::Iifname("eth0".into()),
        ] {
            let mut rule = rule.clone();
            rule.attributes.push(more);
            assert!(!is_original(&rule), "{rule:?}");
        }
        rule.header.src_len = 24;
        assert!(!is_original(&rule));
    }

    prop_compose! {
        /// A network of 16-bit addresses.
        fn network()(address in any::<u16>(), length in 0_u32..=16, kind in 0..3) -> Route {
            let others = u64::from(u16::MAX.checked_shr(length).unwrap_or(0));
            let first = u64::from(address) & !others;
            let granularity = [Granularity::Range, Granularity::Destination, Granularity::Addresses];
            route(first, first | others, granularity[kind as usize])
        }
    }

    proptest! {
        /// Compares with a search of all routes.
        #[test]
        fn a_range_is_covered_by_the_same_routes(
            routes in prop::collection::vec(network(), 0..20),
            addresses in prop::collection::vec(0_u64..0x1_0000, 20),
        ) {
            let ranges = divide(routes.clone());
            prop_assert!(ranges.is_sorted_by(|a, b| a.0 < b.0));
            prop_assert_eq!(ranges[0].0, 0);
            let around = |address| {
                let all = routes.iter().enumerate();
                all.filter(move |(_, one)| (one.first..=one.last).contains(&address))
            };
            for address in addresses {
                let (first, granularity) = *ranges.iter().rfind(|range| range.0 <= address).unwrap();
                let most = around(address).map(|(_, one)| one.granularity).max();
                prop_assert_eq!(granularity, most.unwrap_or(Granularity::Addresses));
                if granularity == Granularity::Range {
                    let numbers = |address| around(address).map(|(number, _)| number);
                    prop_assert!(numbers(address).eq(numbers(first)));
                }
            }
        }
    }
}
