//! Blocks of addresses with a purpose: IANA's registries (RFC 6890) as tables.

use crate::address::family::Address;
use crate::address::networks::Network;
use crate::address::{V4, V6};

/// A block of addresses with a purpose of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<A> {
    /// First address.
    pub network: A,
    /// Length of the prefix in bits.
    pub length: u8,
    /// The purpose of the block.
    pub purpose: &'static str,
    /// Where that is written.
    pub source: &'static str,
    /// Whether packets with such addresses cross the internet.
    pub reach: Reach,
}

/// How far an address reaches (the column "Globally Reachable" of RFC 6890's registries).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Everywhere.
    Global,
    /// Within a site or an agreement.
    Local,
    /// A link or a host, or nowhere.
    None,
}

const fn block<A: Copy>(
    network: A,
    length: u8,
    purpose: &'static str,
    source: &'static str,
    reach: Reach,
) -> Block<A> {
    Block {
        network,
        length,
        purpose,
        source,
        reach,
    }
}

const fn v4(octets: [u8; 4]) -> V4 {
    V4::from_number(u32::from_be_bytes(octets))
}

const fn v6(high: u64, low: u64) -> V6 {
    V6::from_halves(high, low)
}

/// The IANA IPv4 Special-Purpose Address Registry, and multicast. Narrow blocks before wide ones.
#[rustfmt::skip]
const BLOCKS_V4: &[Block<V4>] = &[
    block(v4([255, 255, 255, 255]), 32, "limited broadcast", "RFC 8190", Reach::None),
    block(v4([192, 0, 0, 8]), 32, "dummy address for nodes without IPv4", "RFC 7600", Reach::None),
    block(v4([192, 0, 0, 9]), 32, "Port Control Protocol anycast", "RFC 7723", Reach::Global),
    block(v4([192, 0, 0, 10]), 32, "TURN anycast", "RFC 8155", Reach::Global),
    block(v4([192, 0, 0, 170]), 31, "names by which hosts find a NAT64", "RFC 7050", Reach::None),
    block(v4([192, 0, 0, 0]), 29, "IPv4 service continuity: CLAT, DS-Lite", "RFC 7335", Reach::None),
    block(v4([192, 0, 0, 0]), 24, "IETF protocol assignments", "RFC 6890", Reach::None),
    block(v4([192, 0, 2, 0]), 24, "documentation (TEST-NET-1)", "RFC 5737", Reach::None),
    block(v4([192, 31, 196, 0]), 24, "AS112 by DNAME", "RFC 7535", Reach::Global),
    block(v4([192, 52, 193, 0]), 24, "automatic multicast tunneling", "RFC 7450", Reach::Global),
    block(v4([192, 88, 99, 0]), 24, "6to4 relay anycast, deprecated", "RFC 7526", Reach::None),
    block(v4([192, 175, 48, 0]), 24, "AS112 by delegation", "RFC 7534", Reach::Global),
    block(v4([198, 51, 100, 0]), 24, "documentation (TEST-NET-2)", "RFC 5737", Reach::None),
    block(v4([203, 0, 113, 0]), 24, "documentation (TEST-NET-3)", "RFC 5737", Reach::None),
    block(v4([169, 254, 0, 0]), 16, "link-local", "RFC 3927", Reach::None),
    block(v4([192, 168, 0, 0]), 16, "private use", "RFC 1918", Reach::Local),
    block(v4([198, 18, 0, 0]), 15, "benchmarks", "RFC 2544", Reach::Local),
    block(v4([172, 16, 0, 0]), 12, "private use", "RFC 1918", Reach::Local),
    block(v4([100, 64, 0, 0]), 10, "shared between a provider and its customers", "RFC 6598", Reach::Local),
    block(v4([0, 0, 0, 0]), 8, "this network", "RFC 791", Reach::None),
    block(v4([10, 0, 0, 0]), 8, "private use", "RFC 1918", Reach::Local),
    block(v4([127, 0, 0, 0]), 8, "loopback", "RFC 1122", Reach::None),
    block(v4([224, 0, 0, 0]), 4, "multicast", "RFC 1112", Reach::Global),
    block(v4([240, 0, 0, 0]), 4, "reserved (class E)", "RFC 1112", Reach::None),
];

/// The IANA IPv6 Special-Purpose Address Registry, and what RFC 4291 lays out. Narrow blocks
/// before wide ones.
#[rustfmt::skip]
const BLOCKS_V6: &[Block<V6>] = &[
    block(v6(0, 0), 128, "unspecified", "RFC 4291", Reach::None),
    block(v6(0, 1), 128, "loopback", "RFC 4291", Reach::None),
    block(v6(0, 0x0000_ffff_0000_0000), 96, "IPv4-mapped: an IPv4 address within programs", "RFC 4291", Reach::None),
    block(v6(0, 0xffff_0000_0000_0000), 80, "IPv4-translated, of the first SIIT", "RFC 2765", Reach::None),
    block(v6(0, 0), 96, "IPv4-compatible, deprecated", "RFC 4291", Reach::None),
    block(v6(0x0064_ff9b_0000_0000, 0), 96, "well-known prefix for translation", "RFC 6052", Reach::Global),
    block(v6(0x0064_ff9b_0001_0000, 0), 48, "prefixes for translation within a network", "RFC 8215", Reach::Local),
    block(v6(0x0100_0000_0000_0000, 0), 64, "discard-only", "RFC 6666", Reach::None),
    block(v6(0x2001_0000_0000_0000, 0), 32, "Teredo", "RFC 4380", Reach::Global),
    block(v6(0x2001_0002_0000_0000, 0), 48, "benchmarks", "RFC 5180", Reach::Local),
    block(v6(0x2001_0db8_0000_0000, 0), 32, "documentation", "RFC 3849", Reach::None),
    block(v6(0x3fff_0000_0000_0000, 0), 20, "documentation", "RFC 9637", Reach::None),
    block(v6(0x2001_0020_0000_0000, 0), 28, "ORCHIDv2", "RFC 7343", Reach::Global),
    block(v6(0x2001_0000_0000_0000, 0), 23, "IETF protocol assignments", "RFC 2928", Reach::None),
    block(v6(0x2002_0000_0000_0000, 0), 16, "6to4", "RFC 3056", Reach::Global),
    block(v6(0x5f00_0000_0000_0000, 0), 16, "segment routing identifiers", "RFC 9602", Reach::Local),
    block(v6(0xfe80_0000_0000_0000, 0), 10, "link-local", "RFC 4291", Reach::None),
    block(v6(0xfec0_0000_0000_0000, 0), 10, "site-local, deprecated", "RFC 3879", Reach::Local),
    block(v6(0xfc00_0000_0000_0000, 0), 7, "unique local", "RFC 4193", Reach::Local),
    block(v6(0xff00_0000_0000_0000, 0), 8, "multicast", "RFC 4291", Reach::Global),
    block(v6(0x2000_0000_0000_0000, 0), 3, "global unicast", "RFC 4291", Reach::Global),
];

/// The narrowest block that an IPv4 address lies in; `None` for ordinary global addresses.
#[must_use]
pub fn block_v4(address: V4) -> Option<&'static Block<V4>> {
    narrowest(BLOCKS_V4, address)
}

/// The narrowest block that an IPv6 address lies in; `None` for an address without an assigned use.
#[must_use]
pub fn block_v6(address: V6) -> Option<&'static Block<V6>> {
    narrowest(BLOCKS_V6, address)
}

fn narrowest<A: Address>(blocks: &[Block<A>], address: A) -> Option<&Block<A>> {
    let lies_in = |block: &&Block<A>| Network::new(block.network, block.length).contains(address);
    blocks.iter().find(lies_in)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{v4, v6};

    #[test]
    fn blocks_are_the_narrowest() {
        for (text, purpose) in [
            ("192.0.0.8", "dummy address for nodes without IPv4"),
            ("192.0.0.1", "IPv4 service continuity: CLAT, DS-Lite"),
            ("192.0.0.171", "names by which hosts find a NAT64"),
            ("192.0.0.200", "IETF protocol assignments"),
            ("10.1.2.3", "private use"),
        ] {
            assert_eq!(block_v4(v4(text)).unwrap().purpose, purpose, "{text}");
        }
        assert_eq!(block_v4(v4("8.8.8.8")), None);
        for (text, purpose) in [
            ("::1", "loopback"),
            ("::2", "IPv4-compatible, deprecated"),
            ("64:ff9b::1", "well-known prefix for translation"),
            ("64:ff9b:1::1", "prefixes for translation within a network"),
            ("2001:db8::1", "documentation"),
            ("2001:0:1::", "Teredo"),
            ("2001:4860::1", "global unicast"),
            ("fd00::1", "unique local"),
            ("fe80::1", "link-local"),
            ("ff02::1", "multicast"),
        ] {
            assert_eq!(block_v6(v6(text)).unwrap().purpose, purpose, "{text}");
        }
        assert_eq!(block_v6(v6("4000::1")), None);
    }

    /// No narrower block comes after a wider one that contains it.
    #[test]
    fn blocks_are_in_order() {
        for (index, block) in BLOCKS_V4.iter().enumerate() {
            let found = block_v4(block.network).unwrap();
            let narrower = BLOCKS_V4[..index].contains(found) && found.length >= block.length;
            assert!(
                found == block || narrower,
                "{block:?} is hidden by {found:?}"
            );
        }
        for (index, block) in BLOCKS_V6.iter().enumerate() {
            let found = block_v6(block.network).unwrap();
            let narrower = BLOCKS_V6[..index].contains(found) && found.length >= block.length;
            assert!(
                found == block || narrower,
                "{block:?} is hidden by {found:?}"
            );
        }
    }

    /// An address is non-global in the packet path if these tables say that it does not reach everywhere.
    #[test]
    fn agrees_with_the_packet_path() {
        for block in BLOCKS_V4 {
            let multicast = block.purpose == "multicast";
            let expected = block.reach != Reach::Global || multicast;
            let found = crate::address::special::is_non_global_v4(block.network);
            assert_eq!(found, expected, "{block:?}");
        }
    }
}
