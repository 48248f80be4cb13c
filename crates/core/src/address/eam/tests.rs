//! RFC 7757's own examples, and its algorithm as a referee.

use super::*;
use crate::table::Line;
use core::net::{Ipv4Addr, Ipv6Addr};
use proptest::prelude::*;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// Maps an IPv4 address like the packet path.
fn map_v4<M: Memory + ?Sized>(rules: &M, table: &EamTable, address: V4) -> Option<V6> {
    to_v6(rules, find_v4(rules, table, address)?, address)
}

/// Maps an IPv6 address like the packet path.
fn map_v6<M: Memory + ?Sized>(rules: &M, table: &EamTable, address: V6) -> Option<V4> {
    Some(to_v4(rules, find_v6(rules, table, address)?, address)?.address)
}

fn mapping(v4: &str, v6: &str) -> Mapping {
    let (a4, l4) = v4.split_once('/').unwrap_or((v4, "32"));
    let (a6, l6) = v6.split_once('/').unwrap_or((v6, "128"));
    Mapping::new(
        a4.parse::<Ipv4Addr>().unwrap().into(),
        l4.parse().unwrap(),
        a6.parse::<Ipv6Addr>().unwrap().into(),
        l6.parse().unwrap(),
    )
    .unwrap()
}

/// A table in memory, some lines into it so that a forgotten base shows.
struct Built(Vec<Line>, EamTable);

impl Built {
    fn new(mappings: &[Mapping]) -> Self {
        const BASE: usize = 5;
        let mut lines = lines_for(mappings.len());
        loop {
            let mut memory = Vec::new();
            memory.resize_with(BASE + lines, Line::default);
            match fill(&memory[BASE..], BASE as u32, mappings) {
                Ok(table) => return Self(memory, table),
                Err(FillError::Full) => lines *= 2,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn v6(&self, v4: Ipv4Addr) -> Option<Ipv6Addr> {
        map_v4(self.0.as_slice(), &self.1, v4.into()).map(Into::into)
    }

    fn v4(&self, v6: Ipv6Addr) -> Option<Ipv4Addr> {
        map_v6(self.0.as_slice(), &self.1, v6.into()).map(Into::into)
    }
}

/// RFC 7757 figure 1.
fn figure_1() -> Vec<Mapping> {
    [
        ("192.0.2.1", "2001:db8:aaaa::"),
        ("192.0.2.2/32", "2001:db8:bbbb::b/128"),
        ("192.0.2.16/28", "2001:db8:cccc::/124"),
        ("192.0.2.128/26", "2001:db8:dddd::/64"),
        ("192.0.2.192/29", "2001:db8:eeee:8::/62"),
        ("192.0.2.224/31", "64:ff9b::/127"),
    ]
    .map(|(v4, v6)| mapping(v4, v6))
    .to_vec()
}

/// RFC 7757 appendix B, figure 7: every row in both directions.
#[test]
fn rfc7757_figure_7() {
    let table = Built::new(&figure_1());
    for (v4, v6) in [
        ("192.0.2.1", "2001:db8:aaaa::"),
        ("192.0.2.2", "2001:db8:bbbb::b"),
        ("192.0.2.16", "2001:db8:cccc::"),
        ("192.0.2.24", "2001:db8:cccc::8"),
        ("192.0.2.31", "2001:db8:cccc::f"),
        ("192.0.2.128", "2001:db8:dddd::"),
        ("192.0.2.152", "2001:db8:dddd:0:6000::"),
        ("192.0.2.183", "2001:db8:dddd:0:dc00::"),
        ("192.0.2.191", "2001:db8:dddd:0:fc00::"),
        ("192.0.2.195", "2001:db8:eeee:9:8000::"),
        ("192.0.2.225", "64:ff9b::1"),
    ] {
        assert_eq!(table.v6(v4.parse().unwrap()), Some(v6.parse().unwrap()));
        assert_eq!(table.v4(v6.parse().unwrap()), Some(v4.parse().unwrap()));
    }
    // The last row is RFC 6052's: no mapping covers it.
    assert_eq!(table.v6("192.0.2.248".parse().unwrap()), None);
    assert_eq!(table.v4("64:ff9b::c000:2f8".parse().unwrap()), None);
}

/// RFC 7757 section 5, figure 2: overlapping prefixes, the longest one counts.
#[test]
fn rfc7757_5_overlap() {
    let table = Built::new(&[
        mapping("0.0.0.0/0", "2001:db8:ff00::/40"),
        mapping("198.51.100.64/32", "2001:db8::abcd/128"),
    ]);
    let embedded = "2001:db8:ffc6:3364:4000::".parse().unwrap();
    let host = "198.51.100.64".parse().unwrap();
    assert_eq!(table.v4(embedded), Some(host));
    assert_eq!(table.v6(host), Some("2001:db8::abcd".parse().unwrap()));
    assert_eq!(table.v4("2001:db8::abcd".parse().unwrap()), Some(host));
}

/// RFC 7757 section 3.3.2 step 5: trailing bits that do not fit are discarded.
#[test]
fn rfc7757_3_3_2_discards_trailing_bits() {
    let table = Built::new(&figure_1());
    let noisy = "2001:db8:dddd:0:dfff:ffff:ffff:ffff".parse().unwrap();
    assert_eq!(table.v4(noisy), Some("192.0.2.183".parse().unwrap()));
}

#[test]
fn rfc7757_3_2_refuses_what_is_not_a_mapping() {
    let v4 = V4::from(Ipv4Addr::new(192, 0, 2, 0));
    let v6 = V6::from("2001:db8::".parse::<Ipv6Addr>().unwrap());
    assert_eq!(
        Mapping::new(v4, 24, v6, 121),
        Err(MappingError::Suffix { v4: 8, v6: 7 })
    );
    assert!(Mapping::new(v4, 24, v6, 120).is_ok());
    assert_eq!(Mapping::new(v4, 22, v6, 64), Err(MappingError::V4HostBits));
    assert_eq!(Mapping::new(v4, 24, v6, 16), Err(MappingError::V6HostBits));
    assert_eq!(
        Mapping::new(v4, 33, v6, 64),
        Err(MappingError::V4Length(33))
    );
    assert_eq!(
        Mapping::new(v4, 24, v6, 129),
        Err(MappingError::V6Length(129))
    );
}

#[test]
fn nothing_configured_matches_nothing() {
    let none: &[Line] = &[];
    let table = fill(none, 0, &[]).unwrap();
    assert_eq!(table.lines, 0);
    assert_eq!(map_v4(none, &table, V4::from_number(1)), None);
    assert_eq!(map_v6(none, &table, V6::from_halves(1, 1)), None);
}

#[test]
fn a_size_that_is_none_is_refused() {
    for size in [0, 1, 3, 6] {
        let mut lines = Vec::new();
        lines.resize_with(size, Line::default);
        let error = fill(&lines, 0, &figure_1()).unwrap_err();
        assert_eq!(error, FillError::Size, "{size}");
    }
}

/// RFC 7757 section 5, figure 3, and the same on the other side.
#[test]
fn rfc7757_5_identical_prefixes_are_refused() {
    for rows in [
        [
            ("198.51.100.8", "2001:db8::1"),
            ("198.51.100.9", "2001:db8::1"),
        ],
        [
            ("198.51.100.8", "2001:db8::1"),
            ("198.51.100.8", "2001:db8::2"),
        ],
    ] {
        let mut lines = Vec::new();
        lines.resize_with(8, Line::default);
        let rows = rows.map(|(v4, v6)| mapping(v4, v6));
        assert_eq!(fill(&lines, 0, &rows).unwrap_err(), FillError::Duplicate(1));
    }
}

/// Every size that `lines_for` proposes is enough, and far too small ones are refused.
#[test]
fn sizes_are_enough() {
    for count in 1..600u32 {
        let mappings: Vec<_> = (0..count)
            .map(|n| {
                let v6 = V6::from_halves(u64::from(n) << 32, 0);
                Mapping::new(V4::from_number(n << 8), 24, v6, 120).unwrap()
            })
            .collect();
        let mut lines = Vec::new();
        lines.resize_with(lines_for(mappings.len()), Line::default);
        let table = fill(&lines, 0, &mappings).unwrap();
        for mapping in &mappings {
            let found = map_v4(lines.as_slice(), &table, mapping.v4().0);
            assert_eq!(found, Some(mapping.v6().0));
            let found = map_v6(lines.as_slice(), &table, mapping.v6().0);
            assert_eq!(found, Some(mapping.v4().0));
        }
    }
    let mut lines = Vec::new();
    lines.resize_with(4, Line::default);
    assert_eq!(fill(&lines, 0, &figure_1()).unwrap_err(), FillError::Full);
}

/// A million hosts, each found both ways, and their neighbours not.
#[test]
fn a_million_mappings() {
    let network = 0x2001_0db8_0000_0000_u64;
    let host = |n: u32| network | u64::from(n.wrapping_mul(0x9e37_79b1));
    let mappings: Vec<_> = (0..1_000_000_u32)
        .map(|n| {
            let v4 = V4::from_number(0x0a00_0000 + 2 * n);
            Mapping::new(v4, 32, V6::from_halves(host(n), 7), 128).unwrap()
        })
        .collect();
    let built = Built::new(&mappings);
    assert!(built.0.len() * 64 <= 140 << 20, "{} lines", built.0.len());
    for n in (0..1_000_000).step_by(7) {
        let (v4, v6) = (0x0a00_0000 + 2 * n, V6::from_halves(host(n), 7));
        let memory = built.0.as_slice();
        assert_eq!(map_v4(memory, &built.1, V4::from_number(v4)), Some(v6));
        assert_eq!(map_v6(memory, &built.1, v6), Some(V4::from_number(v4)));
        assert_eq!(map_v4(memory, &built.1, V4::from_number(v4 + 1)), None);
        assert_eq!(map_v6(memory, &built.1, V6::from_halves(host(n), 8)), None);
    }
}

/// The referee: RFC 7757 section 3.3 to the letter, on strings of bits.
fn translate(from: &str, table: &[(String, String)], bits: usize) -> Option<String> {
    let (prefix, other) = table
        .iter()
        .filter(|(prefix, _)| from.starts_with(prefix.as_str()))
        .max_by_key(|(prefix, _)| prefix.len())?;
    let mut buffer = other.clone();
    buffer.push_str(&from[prefix.len()..]);
    while buffer.len() < bits {
        buffer.push('0');
    }
    buffer.truncate(bits);
    Some(buffer)
}

fn bits_of(mapping: &Mapping) -> (String, String) {
    let (v4, v4_length) = mapping.v4();
    let (v6, v6_length) = mapping.v6();
    let v4 = format!("{:032b}", v4.number());
    let v6 = format!("{:0128b}", Ipv6Addr::from(v6).to_bits());
    (
        v4[..usize::from(v4_length)].to_string(),
        v6[..usize::from(v6_length)].to_string(),
    )
}

/// Mappings crowded into few addresses, so that prefixes overlap and share lengths.
fn any_mapping() -> impl Strategy<Value = Mapping> {
    (0u32..8, 0u8..=32, 0u128..8, any::<bool>(), 0u8..=32).prop_map(
        |(v4, v4_length, v6, top, more)| {
            let v6_length = (96 + v4_length).saturating_sub(more * 4);
            let v4 = v4.rotate_right(3) | v4;
            let v6 = if top {
                v6.rotate_right(3) | v6
            } else {
                v6 << 60
            };
            let mask = mask_v6(v6_length);
            let v6 = V6::from(Ipv6Addr::from_bits(v6)).halves();
            Mapping::new(
                V4::from_number(v4 & mask_v4(v4_length)),
                v4_length,
                V6::from_halves(v6.0 & mask.0, v6.1 & mask.1),
                v6_length,
            )
            .unwrap()
        },
    )
}

proptest! {
    #[test]
    fn agrees_with_the_rfc_to_the_letter(
        mut mappings in proptest::collection::vec(any_mapping(), 1..40),
        v4 in 0u32..8,
        v6 in any::<u128>(),
        near in any::<proptest::sample::Index>(),
    ) {
        let mut seen = (Vec::new(), Vec::new());
        mappings.retain(|m| {
            let new = !seen.0.contains(&m.v4()) && !seen.1.contains(&m.v6());
            seen.0.push(m.v4());
            seen.1.push(m.v6());
            new
        });
        let built = Built::new(&mappings);
        let rows: Vec<_> = mappings.iter().map(bits_of).collect();
        let reversed: Vec<_> = rows.iter().map(|(a, b)| (b.clone(), a.clone())).collect();

        let v4 = v4.rotate_right(3) | v4;
        let expected = translate(&format!("{v4:032b}"), &rows, 128)
            .map(|bits| Ipv6Addr::from_bits(u128::from_str_radix(&bits, 2).unwrap()));
        prop_assert_eq!(built.v6(v4.into()), expected);

        // An address under one of the prefixes, with anything behind it.
        let (network, length) = near.get(&mappings).v6();
        let below = u128::MAX.checked_shr(u32::from(length)).unwrap_or(0);
        let v6 = Ipv6Addr::from_bits(Ipv6Addr::from(network).to_bits() | v6 & below);
        let expected = translate(&format!("{:0128b}", v6.to_bits()), &reversed, 32)
            .map(|bits| Ipv4Addr::from_bits(u32::from_str_radix(&bits, 2).unwrap()));
        prop_assert_eq!(built.v4(v6), expected);
    }
}
