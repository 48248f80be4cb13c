//! The worked examples of RFC 7597 and RFC 7599, and their figures, bit by bit, as a referee.

use super::*;
use crate::address::port_set::PortSetError;
use crate::address::rfc6052;
use crate::testing::{v4, v6};
use core::net::Ipv6Addr;
use proptest::prelude::*;
use std::string::ToString;
use std::vec::Vec;

fn net4(text: &str) -> (V4, u8) {
    let (address, length) = text.split_once('/').unwrap();
    (v4(address), length.parse().unwrap())
}

fn net6(text: &str) -> (V6, u8) {
    let (address, length) = text.split_once('/').unwrap();
    (v6(address), length.parse().unwrap())
}

const DEFAULT: Ports = Ports::Embedded {
    offset: Sharing::DEFAULT_OFFSET,
};

fn rule(prefix6: &str, prefix4: &str, ea_bits: u8, ports: Ports) -> MapRule {
    MapRule::new(net6(prefix6), net4(prefix4), ea_bits, ports).unwrap()
}

/// The Basic Mapping Rule of RFC 7597 and RFC 7599 appendix A, example 1.
fn example_1() -> MapRule {
    rule("2001:db8::/40", "192.0.2.0/24", 16, DEFAULT)
}

const EXAMPLE_ADDRESS: &str = "2001:db8:12:3400:0:c000:212:34";

/// RFC 7597 appendix A, example 1; RFC 7599 appendix A, example 1.
#[test]
fn rfc7597_example_1() {
    let found = example_1().ce(net6("2001:db8:12:3400::/56")).unwrap();
    let expected = Ce {
        v4: v4("192.0.2.18"),
        v4_length: 32,
        ports: PortSet::new(6, 8, 0x34).unwrap(),
        address: v6(EXAMPLE_ADDRESS),
    };
    assert_eq!(found, expected);
    assert_eq!(example_1().assignment(), Assignment::Shared(256));
    let ranges: Vec<_> = found.ports.ranges().collect();
    assert_eq!(ranges.len(), 63);
    assert_eq!(ranges[..2], [1232..=1235, 2256..=2259]);
    assert_eq!(ranges[61..], [63696..=63699, 64720..=64723]);
}

/// RFC 7597 appendix A, example 2; RFC 7599 appendix A, examples 2 and 3.
#[test]
fn rfc7597_example_2() {
    let found = example_1().address_of(v4("192.0.2.18"), 1232);
    assert_eq!(found, Some(v6(EXAMPLE_ADDRESS)));
    let translated = example_1().host_address_of(v4("192.0.2.18"), 1232);
    assert_eq!(translated, found);
    let dmr = rfc6052::Prefix::new("2001:db8:ffff::".parse().unwrap(), 64).unwrap();
    let outside = v6("2001:db8:ffff:0:a:203:400::");
    assert_eq!(dmr.embed(v4("10.2.3.4")), outside);
    assert_eq!(dmr.extract(outside), Some(v4("10.2.3.4")));
    // The system ports are nobody's, other addresses not the rule's.
    assert_eq!(example_1().address_of(v4("192.0.2.18"), 1023), None);
    assert_eq!(example_1().address_of(v4("192.0.3.18"), 1232), None);
}

/// RFC 7597 appendix A, example 3, as the BR checks it (section 8.1).
#[test]
fn rfc7597_example_3() {
    let (rule, source) = (example_1(), v6(EXAMPLE_ADDRESS));
    let check = |address: &str, port| rule.check(source, v4(address), port);
    assert_eq!(check("192.0.2.18", 1232), Ok(()));
    assert_eq!(check("192.0.2.18", 64723), Ok(()));
    assert_eq!(check("192.0.2.18", 1231), Err(Mismatch::Port));
    assert_eq!(check("192.0.2.18", 1236), Err(Mismatch::Port));
    // The bits of the PSID with A = 0.
    assert_eq!(check("192.0.2.18", 0x34 << 2), Err(Mismatch::Port));
    assert_eq!(check("192.0.2.19", 1232), Err(Mismatch::Address));
    assert_eq!(check("1.2.3.4", 1232), Err(Mismatch::Address));
}

/// RFC 7597 appendix A, example 4: the rule is the CE's alone, with a whole address. (RFC 7599 has
/// the same example with 192.0.2.1 in the rule, and 192.0.2.18 in its text.)
#[test]
fn rfc7597_example_4() {
    for (prefix4, address) in [
        ("192.0.2.18/32", "2001:db8:12:3400:0:c000:212:0"),
        ("192.0.2.1/32", "2001:db8:12:3400:0:c000:201:0"),
    ] {
        let rule = rule("2001:db8:12:3400::/56", prefix4, 0, DEFAULT);
        let found = rule.ce(net6("2001:db8:12:3400::/56")).unwrap();
        assert_eq!((found.v4, found.v4_length), net4(prefix4));
        assert_eq!(found.ports, PortSet::WHOLE);
        assert_eq!(found.address, v6(address));
        assert_eq!(rule.assignment(), Assignment::Address);
        assert_eq!(rule.address_of(found.v4, 0), Some(v6(address)));
        assert_eq!(rule.check(found.address, found.v4, 80), Ok(()));
    }
}

/// RFC 7597 appendix A, example 5: the same, with a PSID from DHCP.
#[test]
fn rfc7597_example_5() {
    let ports = PortSet::new(6, 8, 0x34).unwrap();
    let rule = rule(
        "2001:db8:12:3400::/56",
        "192.0.2.18/32",
        0,
        Ports::Given(ports),
    );
    let found = rule.ce(net6("2001:db8:12:3400::/56")).unwrap();
    assert_eq!(found.v4, v4("192.0.2.18"));
    assert_eq!(found.ports, ports);
    assert_eq!(found.address, v6(EXAMPLE_ADDRESS));
    assert_eq!(rule.address_of(found.v4, 1232), Some(found.address));
    assert_eq!(rule.address_of(found.v4, 1236), None);
    assert_eq!(rule.check(found.address, found.v4, 2256), Ok(()));
    assert_eq!(rule.check(found.address, found.v4, 80), Err(Mismatch::Port));
    assert_eq!(rule.ports(), Ports::Given(ports));
}

/// RFC 7597 section 5.2, figure 4: CEs have IPv4 prefixes; section 6: the identifier has zeros
/// after them.
#[test]
fn rfc7597_5_2_prefix() {
    let rule = rule("2001:db8::/40", "10.0.0.0/8", 16, DEFAULT);
    let found = rule.ce(net6("2001:db8:1:200::/56")).unwrap();
    assert_eq!((found.v4, found.v4_length), net4("10.1.2.0/24"));
    assert_eq!(found.address, v6("2001:db8:1:200:0:a01:200:0"));
    assert_eq!(rule.assignment(), Assignment::Prefix(24));
    let host = v4("10.1.2.3");
    assert_eq!(rule.address_of(host, 80), Some(found.address));
    assert_eq!(rule.check(found.address, host, 80), Ok(()));
    let other = rule.check(found.address, v4("10.1.3.3"), 80);
    assert_eq!(other, Err(Mismatch::Address));
    // Translation keeps the host.
    let at = rule.host_address_of(host, 80).unwrap();
    assert_eq!(at, v6("2001:db8:1:200:0:a01:203:0"));
    assert_eq!(rule.host_v4_in(at), host);
}

/// RFC 7597 section 5.2: a rule without any bit of IPv4, and one whose EA bits have address and port.
#[test]
fn rfc7597_5_2_extremes() {
    let all = rule("2001:db8::/32", "0.0.0.0/0", 32, DEFAULT);
    let found = all.ce(net6("2001:db8:c000:212::/64")).unwrap();
    assert_eq!((found.v4, found.v4_length), net4("192.0.2.18/32"));
    assert_eq!(found.address, v6("2001:db8:c000:212:0:c000:212:0"));

    // 80 bits are more than 64: the first 16 bits of the identifier are those of the prefix (section 6).
    let single = rule(
        "2001:db8::/32",
        "0.0.0.0/0",
        48,
        Ports::Embedded { offset: 0 },
    );
    let found = single.ce(net6("2001:db8:c000:212:1f90::/80")).unwrap();
    assert_eq!(found.ports, PortSet::new(0, 16, 8080).unwrap());
    assert_eq!(found.address, v6("2001:db8:c000:212:1f90:c000:212:1f90"));
    assert_eq!(single.address_of(found.v4, 8080), Some(found.address));
    assert_eq!(single.assignment(), Assignment::Shared(65536));
}

/// RFC 7597 section 5.2: Rule IPv6 prefix and EA bits are not more than the end-user IPv6 prefix.
#[test]
fn rfc7597_5_2_end_user_prefix() {
    let rule = example_1();
    let ce = |text| rule.ce(net6(text));
    let short = CeError::Short {
        length: 52,
        least: 56,
    };
    assert_eq!(ce("2001:db8:12:3000::/52"), Err(short));
    assert_eq!(ce("2001:db9:12:3400::/56"), Err(CeError::OtherRule));
    assert_eq!(ce("2001:db8:12:3401::/56"), Err(CeError::HostBits));
    let longer = ce("2001:db8:12:3400::/60").unwrap();
    assert_eq!(longer.address, v6(EXAMPLE_ADDRESS));
    // The BR would send to the first of the subnets.
    let elsewhere = CeError::Elsewhere(v6(EXAMPLE_ADDRESS));
    assert_eq!(ce("2001:db8:12:3410::/60"), Err(elsewhere));
    assert!(elsewhere.to_string().contains(EXAMPLE_ADDRESS));
    let whole = rule.ce((v6(EXAMPLE_ADDRESS), 128)).unwrap();
    assert_eq!(whole.address, v6(EXAMPLE_ADDRESS));
}

#[test]
fn refuses_what_is_no_rule() {
    let new = |prefix6, prefix4, ea, ports| MapRule::new(net6(prefix6), net4(prefix4), ea, ports);
    let given = Ports::Given(PortSet::new(6, 8, 1).unwrap());
    #[rustfmt::skip]
    let rows = [
        ("2001:db8::/40", "192.0.2.0/33", 16, DEFAULT, RuleError::V4Length(33), "at most 32"),
        ("2001:db8::/129", "192.0.2.0/24", 16, DEFAULT, RuleError::V6Length(129), "at most 128"),
        ("2001:db8::/40", "192.0.2.1/24", 16, DEFAULT, RuleError::V4HostBits, "IPv4"),
        ("2001:db8::1/40", "192.0.2.0/24", 16, DEFAULT, RuleError::V6HostBits, "IPv6"),
        ("2001:db8::/40", "0.0.0.0/0", 49, DEFAULT, RuleError::EaBits(49), "0 to 48"),
        ("2001:db8::/40", "192.0.2.0/24", 25, DEFAULT,
         RuleError::EaBitsForV4 { ea_bits: 25, v4_length: 24 }, "at most 24 EA bits, not 25"),
        ("2001:db8::/120", "192.0.2.0/24", 16, DEFAULT,
         RuleError::EaBitsForV6 { ea_bits: 16, v6_length: 120 }, "at most 112 bits"),
        ("2001:db8::/40", "192.0.2.0/24", 20, DEFAULT,
         RuleError::Sharing(PortSetError::Sum { offset: 6, length: 12 }), "the offset is at most 4"),
        ("2001:db8::/40", "192.0.2.0/24", 4, given, RuleError::GivenForPrefix { length: 28 },
         "4 EA bits more"),
        ("2001:db8::/40", "192.0.2.0/24", 16, given,
         RuleError::GivenTwice { ea_bits: 16, v4_length: 24 }, "or 8 EA bits"),
    ];
    for (prefix6, prefix4, ea_bits, ports, error, says) in rows {
        assert_eq!(new(prefix6, prefix4, ea_bits, ports), Err(error));
        let text = error.to_string();
        assert!(text.contains(says), "{text}");
    }
}

/// RFC 7597 section 5: longest match, by either family; RFC 7599 section 8.1: by port, too.
#[test]
fn rfc7597_5_longest_match() {
    let mut rules = MapRules::NONE;
    let shared = |psid| Ports::Given(PortSet::new(6, 8, psid).unwrap());
    let short = rule("2001:db8:100::/44", "192.0.0.0/16", 16, DEFAULT);
    let long = example_1();
    let ones = [1, 2].map(|psid| {
        let prefix6 = std::format!("2001:db8:12:340{psid}::/64");
        rule(&prefix6, "192.0.2.18/32", 0, shared(psid))
    });
    for rule in [ones[0], short, long, ones[1]] {
        rules.push(rule).unwrap();
    }
    let by_v4 = |address, port| rules.find_v4(v4(address), port).copied();
    assert_eq!(by_v4("192.0.3.18", 1232), Some(short));
    assert_eq!(by_v4("192.0.2.19", 1232), Some(long));
    assert_eq!(by_v4("192.0.2.18", 1024 + 4), Some(ones[0]));
    assert_eq!(by_v4("192.0.2.18", 1024 + 8), Some(ones[1]));
    assert_eq!(by_v4("192.0.2.18", 1024 + 12), Some(long));
    assert_eq!(by_v4("198.51.100.1", 80), None);
    let by_v6 = |address| rules.find_v6(v6(address)).copied();
    assert_eq!(by_v6("2001:db8:10f::1"), Some(short));
    assert_eq!(by_v6(EXAMPLE_ADDRESS), Some(long));
    assert_eq!(by_v6("2001:db8:12:3401::1"), Some(ones[0]));
    assert_eq!(by_v6("2001:db8:12:3402::1"), Some(ones[1]));
    assert_eq!(by_v6("2001:db8:200::1"), None);
    assert_eq!(MapRules::NONE.find_v6(v6("::")), None);
    assert_eq!(MapRules::NONE.find_v4(v4("0.0.0.0"), 0), None);
}

#[test]
fn rules_that_contradict_each_other() {
    let mut rules = MapRules::NONE;
    rules.push(example_1()).unwrap();
    let same6 = rule("2001:db8::/40", "198.51.100.0/24", 16, DEFAULT);
    assert_eq!(rules.push(same6), Err(RulesError::SameV6(example_1())));
    let same4 = rule("2001:db8:300::/40", "192.0.2.0/24", 16, DEFAULT);
    assert_eq!(rules.push(same4), Err(RulesError::SameV4(example_1())));
    for number in 1..MapRules::MOST {
        let prefix4 = std::format!("198.51.{number}.0/24");
        let prefix6 = std::format!("2001:db8:{number}00::/40");
        rules.push(rule(&prefix6, &prefix4, 8, DEFAULT)).unwrap();
    }
    let more = rule("2001:db9::/40", "203.0.113.0/24", 8, DEFAULT);
    assert_eq!(rules.push(more), Err(RulesError::Full));
}

/// RFC 7597 figure 7 and section 6, with a bit for a character.
fn by_figure_7(rule: &MapRule, address: V4, port: u16) -> V6 {
    let (prefix6, n) = rule.v6();
    let (_, r) = rule.v4();
    let (n, r, o) = (usize::from(n), usize::from(r), usize::from(rule.ea_bits()));
    let sharing = rule.sharing();
    let (a, k) = (usize::from(sharing.offset()), usize::from(sharing.length()));
    let address = std::format!("{:032b}", address.number());
    let port = std::format!("{port:016b}");
    let psid = &port[a..a + k];
    let p = o.min(32 - r);
    let ea = std::format!("{}{}", &address[r..r + p], &psid[..o - p]);
    let start = std::format!("{:0128b}", Ipv6Addr::from(prefix6).to_bits());
    let prefix = std::format!("{}{ea}", &start[..n]);
    let assigned = std::format!("{:0<32}", &address[..r + p]);
    let identifier = std::format!("{:064}{:016}{assigned}{psid:0>16}", 0, 0);
    let whole = std::format!("{prefix}{}", &identifier[prefix.len()..]);
    Ipv6Addr::from_bits(u128::from_str_radix(&whole, 2).unwrap()).into()
}

prop_compose! {
    /// Any rule: all lengths, an offset that fits, and sometimes a PSID that is given.
    fn any_rule()
        ((r, o) in (0u8..=32).prop_flat_map(|r| (Just(r), 0..=48 - r)))
        (r in Just(r), o in Just(o), n in 0..=128 - o, offset in 0..=(48 - o - r).min(15),
         k in 1u8..=16, bits in any::<(u32, u128)>(), psid in any::<u16>(), give in any::<bool>())
        -> MapRule {
            let v4 = V4::from_number(bits.0 & mask_v4(r));
            let mask = mask_v6(n);
            let v6 = V6::from_halves((bits.1 >> 64) as u64 & mask.0, bits.1 as u64 & mask.1);
            let ports = if give && o + r == 32 {
                let psid = psid & ((1u32 << k) - 1) as u16;
                Ports::Given(PortSet::new(offset.min(16 - k), k, psid).unwrap())
            } else {
                Ports::Embedded { offset }
            };
            MapRule::new((v6, n), (v4, r), o, ports).unwrap()
        }
}

/// An IPv4 address under a rule with these bits, and a port that somebody has.
fn someone(rule: &MapRule, bits: u32, index: u32) -> (V4, u16) {
    let (prefix, length) = rule.v4();
    let address = V4::from_number(prefix.number() | bits & !mask_v4(length));
    let port = match rule.ports() {
        Ports::Given(set) => set.nth(index % set.count()).unwrap(),
        Ports::Embedded { .. } => {
            let first = u32::from(rule.sharing().first());
            (first + index % (65536 - first)) as u16
        }
    };
    (address, port)
}

proptest! {
    /// Every CE's address is where the BR sends, and its packets pass the BR (RFC 7597
    /// sections 5.2, 5.3 and 8.1).
    #[test]
    fn there_and_back(rule in any_rule(), bits: u32, index: u32) {
        let (address, port) = someone(&rule, bits, index);
        let found = rule.address_of(address, port).unwrap();
        prop_assert_eq!(found, by_figure_7(&rule, address, port));
        prop_assert!(rule.covers_v6(found));
        prop_assert_eq!(rule.check(found, address, port), Ok(()));

        let least = rule.v6().1 + rule.ea_bits();
        let mask = mask_v6(least);
        let halves = found.halves();
        let end_user = (V6::from_halves(halves.0 & mask.0, halves.1 & mask.1), least);
        let ce = rule.ce(end_user).unwrap();
        prop_assert_eq!(ce.address, found);
        prop_assert!(ce.ports.contains(port));
        let assigned = address.number() & mask_v4(ce.v4_length);
        prop_assert_eq!(ce.v4.number(), assigned);
        // Translation finds the host, unless the prefix overwrites the identifier that far.
        let host = rule.host_address_of(address, port).unwrap();
        if least <= 80 {
            prop_assert_eq!(rule.host_v4_in(host), address);
        }
        prop_assert_eq!(rule.check(host, address, port), Ok(()));
    }

    /// Two CEs of a rule never have the same address and port (RFC 7597 section 5.1), and none may send
    /// from those of another.
    #[test]
    fn ces_have_nothing_in_common(
        rule in any_rule(), one: (u32, u32), other: (u32, u32), near: bool,
    ) {
        let (address, port) = someone(&rule, one.0, one.1);
        // Neighbours share more than strangers.
        let other_bits = if near { one.0 ^ (other.0 & 1) } else { other.0 };
        let (other_address, other_port) = someone(&rule, other_bits, other.1);
        let here = rule.address_of(address, port).unwrap();
        let there = rule.address_of(other_address, other_port).unwrap();
        let (a, b) = (rule.ce_at(here), rule.ce_at(there));
        if here == there {
            prop_assert_eq!(a, b);
        } else {
            let both = a.v4.number() ^ b.v4.number();
            let same_v4 = both & mask_v4(a.v4_length) == 0;
            prop_assert!(!same_v4 || a.ports.psid() != b.ports.psid());
            prop_assert!(!(same_v4 && a.ports.contains(other_port)));
            prop_assert!(rule.check(here, other_address, other_port).is_err());
            prop_assert!(rule.check(there, address, port).is_err());
        }
    }

    /// A packet passes exactly if its IPv4 source is what the BR would send to its IPv6 source.
    #[test]
    fn passes_if_answers_come_back(rule in any_rule(), one: (u32, u32), bits: u32, port: u16, same: bool) {
        let (address, own) = someone(&rule, one.0, one.1);
        let source = rule.address_of(address, own).unwrap();
        let claimed = if same { address } else { V4::from_number(bits) };
        let passes = rule.check(source, claimed, port).is_ok();
        prop_assert_eq!(passes, rule.address_of(claimed, port) == Some(source));
    }
}
