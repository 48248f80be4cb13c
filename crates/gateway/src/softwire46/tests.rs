//! Options put together from the figures of RFC 7598 and RFC 6334.

use super::*;
use isthmus_core::address::map::RuleError;
use isthmus_core::address::port_set::PortSetError;

/// An option: code, length, content.
fn option(code: u16, content: &[&[u8]]) -> Vec<u8> {
    let content = content.concat();
    let length = u16::try_from(content.len()).unwrap();
    [&code.to_be_bytes(), &length.to_be_bytes(), &content[..]].concat()
}

/// OPTION_S46_RULE of RFC 7597 appendix A, example 1: for forwarding, 16 EA bits, 192.0.2.0/24,
/// 2001:db8::/40.
fn rule(inner: &[u8]) -> Vec<u8> {
    option(
        89,
        &[
            &[1, 16, 24, 192, 0, 2, 0, 40, 0x20, 0x01, 0x0d, 0xb8, 0],
            inner,
        ],
    )
}

/// OPTION_S46_BR 2001:db8:ffff::1
fn relay() -> Vec<u8> {
    let address: Ipv6Addr = "2001:db8:ffff::1".parse().unwrap();
    option(90, &[&address.octets()])
}

/// OPTION_S46_DMR 2001:db8:ffff::/64
fn default() -> Vec<u8> {
    option(91, &[&[64, 0x20, 0x01, 0x0d, 0xb8, 0xff, 0xff, 0, 0]])
}

/// OPTION_S46_PORTPARAMS
fn ports(offset: u8, length: u8, psid: u16) -> Vec<u8> {
    option(93, &[&[offset, length], &psid.to_be_bytes()])
}

fn only(bytes: &[u8]) -> Domain {
    let found = read(bytes).unwrap();
    assert_eq!(found.ignored, []);
    let [domain] = &found.domains[..] else {
        panic!("{found:?}");
    };
    domain.clone()
}

/// Why the container that is all of these bytes is ignored.
fn refused(bytes: &[u8]) -> Error {
    let found = read(bytes).unwrap();
    assert_eq!(found.domains, []);
    match &found.ignored[..] {
        [
            Ignored {
                offset: 0,
                reason: Reason::Invalid(error),
                ..
            },
        ] => error.clone(),
        other => panic!("{other:?}"),
    }
}

fn example_1(offset: u8) -> MapRule {
    let v6: Ipv6Addr = "2001:db8::".parse().unwrap();
    let v4 = Ipv4Addr::new(192, 0, 2, 0);
    MapRule::new(
        (v6.into(), 40),
        (v4.into(), 24),
        16,
        Ports::Embedded { offset },
    )
    .unwrap()
}

#[test]
fn rfc7598_5_1_map_e() {
    let found = only(&option(94, &[&rule(&[]), &relay()]));
    let Domain::MapE { rules, relays } = &found else {
        panic!("{found:?}");
    };
    let expected = Rule {
        rule: example_1(6),
        role: Role::Forwarding,
        discarded: None,
    };
    assert_eq!(rules[..], [expected]);
    assert_eq!(
        relays[..],
        ["2001:db8:ffff::1".parse::<Ipv6Addr>().unwrap()]
    );
    let end_user = "2001:db8:12:3400::/56".parse().unwrap();
    assert_eq!(found.basic_rule(end_user), Some(&expected));
    assert_eq!(found.basic_rule("2001:db9::/56".parse().unwrap()), None);
}

/// A PSID offset that is not the default, by a PSID-len of 0, where the PSID is to be ignored.
#[test]
fn rfc7598_4_5_offset_alone() {
    let found = only(&option(95, &[&default(), &rule(&ports(4, 0, 0xffff))]));
    let Domain::MapT { rules, default } = found else {
        panic!("{found:?}");
    };
    assert_eq!(rules[0].rule, example_1(4));
    assert_eq!(default.to_string(), "2001:db8:ffff::/64");
}

/// RFC 7597 appendix A, example 5: PSID 0x34 of 8 bits, at the left of its field.
#[test]
fn rfc7598_4_5_explicit_psid() {
    let set = PortSet::new(6, 8, 0x34).unwrap();
    let address = [192, 0, 2, 18];
    let prefix = [56, 0x20, 0x01, 0x0d, 0xb8, 0, 0x12, 0x34];
    let explicit = ports(6, 8, 0x3400);
    let rule = option(89, &[&[0, 0, 32], &address, &prefix, &explicit]);
    let found = only(&option(94, &[&rule, &relay()]));
    let rule = found.rules()[0];
    assert_eq!(rule.role, Role::Basic);
    assert_eq!(rule.rule.ports(), Ports::Given(set));
    let expected: Ipv6Addr = "2001:db8:12:3400:0:c000:212:34".parse().unwrap();
    let (v6, _) = rule.rule.v6();
    let customer = rule.rule.ce((v6, 56)).unwrap();
    assert_eq!(Ipv6Addr::from(customer.address), expected);

    // The same for lw4o6 (RFC 7596 section 5.1, figure 3).
    let binding = option(92, &[&address, &prefix, &explicit]);
    let found = only(&option(96, &[&binding, &relay()]));
    let Domain::Lw4o6 {
        binding: Some(binding),
        relays,
    } = found
    else {
        panic!("{found:?}");
    };
    assert_eq!((binding.v4, binding.ports), (Ipv4Addr::from(address), set));
    assert_eq!(relays.len(), 1);
    assert_eq!(binding.address(binding.prefix), Some(expected));
    let within = "2001:db8:12:3456::/64".parse().unwrap();
    let expected = "2001:db8:12:3456:0:c000:212:34".parse().unwrap();
    assert_eq!(binding.address(within), Some(expected));
    let elsewhere = "2001:db8:12:3556::/64".parse().unwrap();
    assert_eq!(binding.address(elsewhere), None);
}

/// "MUST be discarded if the S46 CE isn't configured with a full IPv4 address."
#[test]
fn rfc7598_4_5_discarded() {
    let fields = [0, 16, 8, 10, 0, 0, 0, 40, 0x20, 0x01, 0x0d, 0xb8, 0];
    let rule = option(89, &[&fields, &ports(6, 8, 0x3400)]);
    let found = only(&option(94, &[&rule, &relay()]));
    let rule = found.rules()[0];
    assert_eq!(rule.discarded, PortSet::new(6, 8, 0x34).ok());
    assert!(rule.rule.sharing().is_whole());
}

/// Bits after prefix4-len are "ignored by the receiver".
#[test]
fn rfc7598_4_1_ignored_bits() {
    let fields = [0xff, 16, 24, 192, 0, 2, 77, 40, 0x20, 0x01, 0x0d, 0xb8, 0];
    let found = only(&option(94, &[&option(89, &[&fields]), &relay()]));
    assert_eq!(found.rules()[0].rule, example_1(6));
    assert_eq!(found.rules()[0].role, Role::Forwarding);
}

/// A whole message: type, transaction, IA_PD with a prefix, a container, something else, and an option
/// outside of containers.
#[test]
fn messages() {
    let prefix: Ipv6Addr = "2001:db8:12:3400::".parse().unwrap();
    let delegated = option(26, &[&[0; 8], &[56], &prefix.octets()]);
    let message = [
        vec![7, 0xab, 0xcd, 0xef],
        option(25, &[&[0; 12], &delegated]),
        option(1, &[&[0, 3]]),
        option(94, &[&rule(&[]), &relay()]),
        relay(),
    ]
    .concat();
    let found = read(&message).unwrap();
    assert_eq!(found.prefixes, ["2001:db8:12:3400::/56".parse().unwrap()]);
    assert_eq!(found.domains.len(), 1);
    let expected = [
        Ignored {
            offset: 49,
            code: Code(1),
            reason: Reason::Unrelated,
        },
        Ignored {
            offset: message.len() - 20,
            code: Code::BR,
            reason: Reason::NoContainer,
        },
    ];
    assert_eq!(found.ignored, expected);
}

#[test]
fn rfc7598_6_containers() {
    #[rustfmt::skip]
    let rows = [
        (option(94, &[&relay()]), 0, "OPTION_S46_CONT_MAPE has no OPTION_S46_RULE, and needs one or more"),
        (option(94, &[&rule(&[])]), 0, "no OPTION_S46_BR"),
        (option(95, &[&rule(&[])]), 0, "no OPTION_S46_DMR, and needs one "),
        (option(96, &[]), 0, "no OPTION_S46_BR"),
        (option(94, &[&default(), &rule(&[]), &relay()]), 4,
         "OPTION_S46_DMR is not permitted in OPTION_S46_CONT_MAPE"),
        (option(95, &[&default(), &rule(&[]), &default()]), 4 + 13 + 17, "at most one OPTION_S46_DMR"),
        (option(96, &[&rule(&[]), &relay()]), 4, "OPTION_S46_RULE is not permitted in OPTION_S46_CONT_LW"),
        (option(94, &[&relay(), &option(200, &[])]), 24, "option 200 is not permitted"),
        (option(94, &[&rule(&relay()), &relay()]), 21, "OPTION_S46_BR is not permitted in OPTION_S46_RULE"),
        (option(94, &[&rule(&[ports(6, 0, 0), ports(6, 0, 0)].concat()), &relay()]), 29,
         "at most one OPTION_S46_PORTPARAMS"),
    ];
    for (bytes, offset, says) in rows {
        let error = refused(&bytes);
        assert_eq!(error.offset, offset, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

fn map_e(rule: Vec<u8>) -> Vec<u8> {
    option(94, &[&rule, &relay()])
}

/// A rule of which one octet is another one.
fn fields(at: usize, value: u8) -> Vec<u8> {
    let mut fields = [1, 16, 24, 192, 0, 2, 0, 40, 0x20, 0x01, 0x0d, 0xb8, 0];
    fields[at] = value;
    map_e(option(89, &[&fields]))
}

/// RFC 7598 section 4: the ranges of the fields.
#[test]
fn rfc7598_4_values() {
    #[rustfmt::skip]
    let rows = [
        (fields(1, 49), 9, "ea-len is 0 to 48, not 49"),
        (fields(2, 33), 10, "prefix4-len is 0 to 32, not 33"),
        (fields(7, 129), 15, "ipv6-prefix is 0 to 128, not 129"),
        (fields(7, 28), 16, "it would be 2001:db0::/28"),
        (fields(1, 25), 8, "at most 24 EA bits, not 25"),
        (map_e(rule(&ports(16, 0, 0))), 25, "offset is 0 to 15, not 16"),
        (map_e(rule(&ports(0, 17, 0))), 26, "PSID-len is 0 to 16, not 17"),
        (map_e(rule(&ports(9, 8, 0))), 25, "behind an offset of 9 a PSID has at most 7"),
        // Not shifted to the left.
        (map_e(rule(&ports(6, 8, 0x34))), 27, "would be 0x3400"),
        (map_e(rule(&ports(6, 8, 0x3401))), 27, "would be 0x3400"),
        (map_e(rule(&ports(6, 8, 0x3400))), 8, "in the EA bits already"),
        (option(94, &[&rule(&[]), &option(90, &[&[0; 12]])]), 25,
         "br-ipv6-address needs 16 bytes, and 12 are left"),
        (option(94, &[&rule(&[]), &option(90, &[&[0; 17]])]), 41,
         "OPTION_S46_BR should end here; bytes that follow: 1"),
        (option(95, &[&rule(&[]), &option(91, &[&[60], &[0; 8]])]), 25, "32, 40, 48, 56, 64 or 96"),
    ];
    for (bytes, offset, says) in rows {
        let error = refused(&bytes);
        assert_eq!(error.offset, offset, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

/// The same as values.
#[test]
fn problems_are_values() {
    let error = refused(&map_e(rule(&ports(9, 8, 0))));
    let sum = PortSetError::Sum {
        offset: 9,
        length: 8,
    };
    assert_eq!(error.problem, Problem::Ports(sum));
    let error = refused(&fields(1, 25));
    assert!(matches!(
        error.problem,
        Problem::Rule(RuleError::EaBitsForV4 { .. })
    ));
}

/// RFC 6334 section 3, figure 2.
const AFTR: &[u8] = b"\x04aftr\x07example\x03com\0";

fn ds_lite(aftr: &str) -> Domain {
    let aftr = aftr.into();
    Domain::DsLite { aftr }
}

#[test]
fn the_name_of_an_aftr() {
    assert_eq!(only(&option(64, &[AFTR])), ds_lite("aftr.example.com"));
    // Section 5: the first of several names, and the first of several options.
    let two = option(64, &[AFTR, b"\x05other\0"]);
    assert_eq!(only(&two), ds_lite("aftr.example.com"));
    let again = [two, option(64, &[b"\x05other\0"])].concat();
    let found = read(&again).unwrap();
    assert_eq!(found.domains, [ds_lite("aftr.example.com")]);
    assert_eq!(found.ignored[0].reason, Reason::Another);
    // RFC 1035 section 2.3.4.
    let label = |length: u8| [vec![length], vec![b'a'; length.into()]].concat();
    let longest = |last| [label(63), label(63), label(63), label(last), vec![0]].concat();
    let name = only(&option(64, &[&longest(61)]));
    assert!(matches!(name, Domain::DsLite { aftr } if aftr.len() == 253));
    for (content, at, says) in [
        (b"\0"[..].to_vec(), 4, "at least one label"),
        (
            b"\x04aftr".to_vec(),
            9,
            "the length of a label needs 1 bytes",
        ),
        (
            b"\x05aftr".to_vec(),
            5,
            "a label needs 5 bytes, and 4 are left",
        ),
        (b"\x04aftr\xc0\x04".to_vec(), 9, "0 to 63, not 192"),
        (b"\x04a;ls\0".to_vec(), 5, "other characters"),
        (longest(62), 4, "255 bytes at most"),
    ] {
        let error = refused(&option(64, &[&content]));
        assert_eq!(error.offset, at, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

/// Cut anywhere, a message is an error that says where, or less is found; never a panic.
#[test]
fn cut_short() {
    let whole = option(94, &[&rule(&ports(4, 0, 0)), &relay()]);
    for length in 0..whole.len() {
        match read(&whole[..length]) {
            Ok(found) => assert_eq!((found, length), (Provisioned::default(), 0)),
            Err(error) => assert!(error.offset <= length, "{error}"),
        }
    }
    let error = read(&whole[..30]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "byte 0: OPTION_S46_CONT_MAPE has a length of 45 bytes, and 26 are left"
    );
}

proptest::proptest! {
    /// Whatever the bytes are, an error is within them.
    #[test]
    fn any_bytes(mut bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..80), at in 0usize..60) {
        let whole = option(94, &[&rule(&ports(4, 0, 0)), &relay()]);
        if bytes.len() > 40 {
            // A container with some bytes changed gets further.
            let mut changed = whole;
            for (index, byte) in bytes.iter().take(3).enumerate() {
                let place = (at + index * 7) % changed.len();
                changed[place] ^= byte;
            }
            bytes = changed;
        }
        match read(&bytes) {
            Err(error) => proptest::prop_assert!(error.offset <= bytes.len()),
            Ok(found) => for ignored in found.ignored {
                if let Reason::Invalid(error) = ignored.reason {
                    proptest::prop_assert!(error.offset <= bytes.len());
                }
            },
        }
    }
}
