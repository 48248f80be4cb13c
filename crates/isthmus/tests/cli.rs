//! The commands that need no gateway, as users run them.

mod command;
mod import;

use std::net::Ipv6Addr;
use std::process::{Command, Output};

use command::{bash, failure, run, stdout, text};

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_isthmus");

/// RFC 6052 section 2.4, tables 1 and 2; RFC 6219 section 6.1 and appendix B.
#[test]
fn addr_embeds_and_extracts() {
    for (prefix, v4, v6, format) in [
        (
            "2001:db8::/32",
            "192.0.2.33",
            "2001:db8:c000:221::",
            "rfc6052",
        ),
        (
            "2001:db8:100::/40",
            "192.0.2.33",
            "2001:db8:1c0:2:21::",
            "rfc6052",
        ),
        (
            "2001:db8:122::/48",
            "192.0.2.33",
            "2001:db8:122:c000:2:2100::",
            "rfc6052",
        ),
        (
            "2001:db8:122:300::/56",
            "192.0.2.33",
            "2001:db8:122:3c0:0:221::",
            "rfc6052",
        ),
        (
            "2001:db8:122:344::/64",
            "192.0.2.33",
            "2001:db8:122:344:c0:2:2100::",
            "rfc6052",
        ),
        (
            "2001:db8:122:344::/96",
            "192.0.2.33",
            "2001:db8:122:344::c000:221",
            "rfc6052",
        ),
        ("64:ff9b::/96", "192.0.2.33", "64:ff9b::c000:221", "rfc6052"),
        ("2001:db8::/32", "192.0.2.1", "2001:db8:ffc0:2:100::", "ivi"),
        (
            "2001:da8:ff00::/40",
            "18.7.22.83",
            "2001:da8:ff12:716:5300::",
            "ivi",
        ),
    ] {
        let format = format!("--format={format}");
        // As RFC 5952 writes it. RFC 6052 also shortens a single zero.
        let canonical = v6.parse::<Ipv6Addr>().unwrap().to_string();
        let embedded = stdout(&["addr", "embed", prefix, v4, &format]);
        assert_eq!(embedded, canonical);
        assert_eq!(stdout(&["addr", "extract", prefix, v6, &format]), v4);
    }
}

/// RFC 6052 section 3.1, explained.
#[test]
fn addr_refuses_private_addresses_under_the_well_known_prefix() {
    let error = failure(&["addr", "embed", "64:ff9b::/96", "10.0.0.1"], 1);
    for part in [
        "private use",
        "RFC 1918",
        "RFC 6052 section 3.1",
        "64:ff9b:1::/48",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let allowed = [
        "addr",
        "embed",
        "64:ff9b::/96",
        "10.0.0.1",
        "--allow-non-global",
    ];
    assert_eq!(stdout(&allowed), "64:ff9b::a00:1");
    let own = ["addr", "embed", "64:ff9b:1::/48", "10.0.0.1"];
    assert_eq!(stdout(&own), "64:ff9b:1:a00:0:100::");
}

#[test]
fn addr_tells_what_is_wrong() {
    let error = failure(&["addr", "embed", "64:ff9b::/95", "8.8.8.8"], 1);
    assert!(error.contains("32, 40, 48, 56, 64 or 96"), "{error}");
    let error = failure(&["addr", "extract", "64:ff9b::/96", "2001:db8::1"], 1);
    assert!(error.contains("not under 64:ff9b::/96"), "{error}");
    // Usage errors have exit code 2.
    let error = failure(&["addr", "embed", "64:ff9b::1/96", "8.8.8.8"], 2);
    assert!(error.contains("64:ff9b::/96"), "{error}");
    failure(&["addr", "embed", "64:ff9b::/96", "8.8.8"], 2);
    failure(&["addr"], 2);
    failure(&["frobnicate"], 2);
}

#[test]
fn addr_explains_every_kind() {
    for (address, parts) in [
        (
            "64:ff9b::8.8.8.8",
            &["well-known prefix", "8.8.8.8", "RFC 6052"][..],
        ),
        (
            "64:ff9b::10.0.0.1",
            &["private use", "RFC 6052 section 3.1"],
        ),
        ("2002:c000:204:1::1", &["6to4", "192.0.2.4", "network 1 "]),
        (
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            &["Teredo", "192.0.2.45 port 40000"],
        ),
        (
            "fe80::5efe:c000:28f",
            &["ISATAP", "192.0.2.143", "link-local"],
        ),
        (
            "::ffff:192.0.2.1",
            &["IPv4-mapped", "192.0.2.1", "never in a packet"],
        ),
        ("2001:da8:ffca:2661:cd00::", &["IVI", "202.38.97.205"]),
        ("2001:db8::1", &["documentation", "RFC 3849"]),
        ("fd00::1", &["unique local", "RFC 4193"]),
        ("::1", &["loopback", "drop"]),
        ("2600::1", &["global unicast", "6rd"]),
        ("10.0.0.1", &["private use", "RFC 1918"]),
        ("8.8.8.8", &["64:ff9b::808:808"]),
        ("127.0.0.1", &["loopback", "drop"]),
    ] {
        let said = stdout(&["addr", "explain", address]);
        for part in parts {
            assert!(said.contains(part), "{address}: no {part:?} in\n{said}");
        }
    }
}

/// RFC 7757's mappings from a configuration.
#[test]
fn addr_explains_by_a_configuration() {
    let dc = "--config=examples/siit-dc.toml";
    let said = stdout(&["addr", "explain", "203.0.113.17", dc]);
    assert!(said.contains("2001:db8:cccc::1"), "{said}");
    let said = stdout(&["addr", "explain", "2001:db8:bbbb::1", dc]);
    assert!(said.contains("203.0.113.2 "), "{said}");
    let said = stdout(&["addr", "explain", "192.0.2.33", dc]);
    assert!(said.contains("2001:db8:46::c000:221"), "{said}");
    let said = stdout(&[
        "addr",
        "explain",
        "203.0.113.1",
        "--config=examples/nat64-basic.toml",
    ]);
    assert!(said.contains("in the pool"), "{said}");
}

/// RFC 7597 appendix B.2, example 1: port 1232 belongs to PSID 0x34.
#[test]
fn addr_explains_softwires() {
    let ask = |arguments: &[&'static str]| {
        let config = "--config=examples/lw4o6-aftr.toml";
        stdout(&[&["addr", "explain", config], arguments].concat())
    };
    let said = ask(&["192.0.2.18", "--port=1232"]);
    assert!(
        said.contains("the lwB4 2001:db8:a::1 has PSID 0x34"),
        "{said}"
    );
    assert!(!said.contains("2001:db8:b::1"), "{said}");
    let said = ask(&["192.0.2.18", "--port=1023"]);
    assert!(said.contains("its port 1023 has no softwire"), "{said}");
    let said = ask(&["192.0.2.18"]);
    assert!(
        said.contains("of its 256 port sets, 2 have a softwire"),
        "{said}"
    );
    let said = ask(&["2001:db8:b::1"]);
    assert!(
        said.contains("PSID 0x35 of 192.0.2.18, 252 ports: 1236-1239 "),
        "{said}"
    );
    let said = ask(&["203.0.113.9"]);
    assert!(said.contains("the lwB4 2001:db8:c::1 has all of"), "{said}");
}

/// RFC 7422 section 2.1: subscribers take the blocks of an address in ascending order.
#[test]
fn addr_explains_deterministic_ports() {
    let ask = |arguments: &[&'static str]| {
        let config = "--config=crates/isthmus/tests/records/deterministic.toml";
        stdout(&[&["addr", "explain", config], arguments].concat())
    };
    let said = ask(&["203.0.113.0", "--port=2048"]);
    assert!(
        said.contains("its port 2048 is that of 2001:db8:f:1::/64"),
        "{said}"
    );
    let said = ask(&["203.0.113.0", "--port=80"]);
    assert!(said.contains("its port 80 is nobody's"), "{said}");
    let said = ask(&["203.0.113.0"]);
    assert!(
        said.contains("subscribers' in 2001:db8:f::/56, 1024 each"),
        "{said}"
    );
    let said = ask(&["2001:db8:f:3f::7"]);
    assert!(
        said.contains("has the ports 1024 to 2047 of 203.0.113.1"),
        "{said}"
    );
    let said = ask(&["2001:db8:e::7"]);
    assert!(!said.contains("by calculation"), "{said}");
}

/// `crates/isthmus/tests/records/README.md` says what is in the records.
#[test]
fn who_had_a_port_by_records() {
    let ask = |at: &str, more: &[&str]| {
        let records = "--records=crates/isthmus/tests/records/edge.jsonl";
        let fixed = [
            "who",
            "203.0.113.1:40000",
            "--protocol=tcp",
            "--at",
            at,
            records,
        ];
        run(&[&fixed, more].concat())
    };
    for (at, status, says) in [
        ("2026-11-21T08:00:05Z", 1, "no record names who had it"),
        ("2026-11-21T08:10:30Z", 0, "one subscriber: 2001:db8:1::7"),
        ("2026-11-21T09:10:30Z", 0, "one subscriber: 2001:db8:1::8"),
        ("2026-11-21T11:00:00Z", 1, "no record names who had it"),
        (
            "2026-11-21T12:30:00Z",
            1,
            "3 of which may have told of others",
        ),
        (
            "2026-11-21T20:00:00Z",
            1,
            "the last record is of 2026-11-21T12:40:00Z",
        ),
        ("2026-11-20T20:00:00Z", 1, "the records begin at"),
    ] {
        let output = ask(at, &[]);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(status), "{at}: {said}");
        assert!(said.contains(says), "{at}: {said}");
    }
    let output = ask("2026-11-21T09:10:30Z", &["--json"]);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["verdict"], "one");
    assert_eq!(answer["subscribers"], serde_json::json!(["2001:db8:1::8"]));
    assert_eq!(answer["uses"][0]["inside-port"], 40_001);
    assert_eq!(answer["records"]["files"], 3);
}

#[test]
fn who_had_a_port_by_calculation() {
    let config = "--config=crates/isthmus/tests/records/deterministic.toml";
    let said = stdout(&["who", "203.0.113.0:2048", "--at=1 hour ago", config]);
    assert!(said.contains("one subscriber: 2001:db8:f:1::/64"), "{said}");
    let lw4o6 = "--config=examples/lw4o6-aftr.toml";
    let said = stdout(&["who", "192.0.2.18:1232", "--at=1 hour ago", lw4o6]);
    assert!(said.contains("one subscriber: 2001:db8:a::1"), "{said}");
}

#[test]
fn who_tells_mistakes_with_their_place() {
    let config = "--config=crates/isthmus/tests/records/deterministic.toml";
    let error = failure(&["who", "203.0.113.0:2048", "--at=yesterday", config], 2);
    assert!(error.contains("\"yesterday\" is no time"), "{error}");
    let error = failure(&["who", "203.0.113.0", "--at=1 hour ago", config], 2);
    assert!(error.contains("ADDRESS:PORT"), "{error}");
    failure(&["who", "203.0.113.0:1", "--at=1 hour ago"], 2);
    let ask = |records| {
        failure(
            &[
                "who",
                "203.0.113.0:1",
                "--at=1 hour ago",
                "--records",
                records,
            ],
            2,
        )
    };
    assert!(ask("absent.jsonl").contains("absent.jsonl: there is no such file"));
    assert!(ask("Makefile").contains("Makefile:1: "));
    let sctp = [
        "who",
        "203.0.113.0:1",
        "--at=1 hour ago",
        config,
        "--protocol=sctp",
    ];
    assert!(failure(&sctp, 2).contains("\"sctp\""));
}

/// The domain of RFC 7597 appendix A, examples 1 and 2.
const MAP_DOMAIN: [&str; 5] = ["addr", "map", "2001:db8::/40", "192.0.2.0/24", "16"];

#[test]
fn addr_explains_a_map_domain() {
    let ask = |arguments: &[&'static str]| stdout(&[&MAP_DOMAIN[..], arguments].concat());
    let said = ask(&[]);
    for part in ["65536 CEs", "shared by 256", "252", "0-1023", "56 bits"] {
        assert!(said.contains(part), "no {part:?} in\n{said}");
    }
    for ce in [
        "2001:db8:12:3400::/56",
        "2001:db8:12:3400:0:c000:212:34",
        "192.0.2.18:1232",
        "192.0.2.18:64723",
    ] {
        let said = ask(&[ce]);
        for part in [
            "192.0.2.18, shared by 256",
            "PSID: 0x34 (8 bits, offset 6)",
            "252, in 63 ranges",
            "1232-1235 2256-2259",
            "63696-63699 64720-64723",
            "prefix: 2001:db8:12:3400::/56",
            "2001:db8:12:3400:0:c000:212:34",
        ] {
            assert!(said.contains(part), "{ce}: no {part:?} in\n{said}");
        }
    }
    let json: serde_json::Value =
        serde_json::from_str(&ask(&["192.0.2.18:1232", "--json"])).unwrap();
    assert_eq!(json["psid"]["value"], 0x34);
    assert_eq!(json["ranges"][62], serde_json::json!([64720, 64723]));
    assert_eq!(json["v6"], "2001:db8:12:3400:0:c000:212:34");
}

#[test]
fn addr_refuses_an_address_outside_a_map_domain() {
    let refuse = |arguments: &[&'static str]| failure(&[&MAP_DOMAIN[..], arguments].concat(), 1);
    for (ce, says) in [
        ("192.0.2.18:1023", "begin at 1024"),
        ("192.0.2.18", "192.0.2.18:PORT"),
        (
            "192.0.3.18:1232",
            "not under the Rule IPv4 prefix 192.0.2.0/24",
        ),
        ("2001:db8:12:3000::/52", "at least 56 bits"),
        ("2001:db9::/56", "not under the Rule IPv6 prefix"),
        ("2001:db8:12:3410::/60", "zero"),
    ] {
        let error = refuse(&[ce]);
        assert!(error.contains(says), "{ce}: {error}");
    }
    let error = refuse(&["--offset", "9"]);
    assert!(error.contains("the offset is at most 8"), "{error}");
}

/// RFC 7597 appendix A, example 5.
#[test]
fn addr_explains_a_map_domain_of_one_ce() {
    let single = [
        "addr",
        "map",
        "2001:db8:12:3400::/56",
        "192.0.2.18/32",
        "0",
        "--psid-length=8",
        "--psid=0x34",
    ];
    let said = stdout(&[&single[..], &["192.0.2.18:1232"]].concat());
    assert!(said.contains("2001:db8:12:3400:0:c000:212:34"), "{said}");
    let error = failure(&[&single[..], &["192.0.2.18:1236"]].concat(), 1);
    assert!(error.contains("PSID 0x35, not 0x34"), "{error}");
}

/// RFC 5969 section 7.1.1, and 6to4 (RFC 3056 section 2).
#[test]
fn addr_explains_a_6rd_domain() {
    let domain = ["addr", "6rd", "2001:db8::/32", "10.0.0.0/8"];
    let ask = |address| stdout(&[&domain[..], &[address]].concat());
    assert_eq!(ask("10.100.100.1"), "2001:db8:6464:100::/56");
    assert_eq!(ask("2001:db8:6464:1ff::1"), "10.100.100.1");
    assert!(stdout(&domain).contains("56 bits"));
    let six_to_four = ["addr", "6rd", "2002::/16", "0.0.0.0/0", "192.0.2.4"];
    assert_eq!(stdout(&six_to_four), "2002:c000:204::/48");
    for (address, says) in [
        ("11.0.0.1", "not under 10.0.0.0/8"),
        ("2001:db9::1", "by the BR"),
    ] {
        let error = failure(&[&domain[..], &[address]].concat(), 1);
        assert!(error.contains(says), "{error}");
    }
}

/// A rule of RFC 7597 appendix A, example 1, and a BR in a container of RFC 7598 section 5.1.
const MAP_E: &str = "005e0025 0059000d 01 10 18 c0000200 28 20010db800 \
                     005a0010 20010db8ffff00000000000000000001";
/// The prefix of that example, delegated (RFC 8415 section 21.22).
const DELEGATED: &str = "00190029 000000010000000000000000 \
                         001a0019 0000000000000000 38 20010db8001234000000000000000000";

#[test]
fn addr_explains_dhcpv6() {
    let dump = format!("{DELEGATED} {MAP_E}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{dump}\n")).unwrap();
    for argument in [&dump, file.path().to_str().unwrap()] {
        let said = stdout(&["addr", "dhcpv6", argument]);
        for part in [
            "MAP-E",
            "BR: 2001:db8:ffff::1",
            "2001:db8::/40 = 192.0.2.0/24 and 16 EA bits, for forwarding, too",
            "192.0.2.18, shared by 256",
            "2001:db8:12:3400:0:c000:212:34",
        ] {
            assert!(said.contains(part), "no {part:?} in\n{said}");
        }
    }
    let prefix = "--prefix=2001:db8:12:3400::/56";
    let json = stdout(&["addr", "dhcpv6", MAP_E, prefix, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let ce = &json["domains"][0]["customers"][0]["has"];
    assert_eq!(ce["v4"], "192.0.2.18");
    assert_eq!(ce["psid"]["value"], 0x34);

    // Two rules for the same prefix: either could be the basic rule.
    let twice = "005e0036 0059000d 01 10 18 c0000200 28 20010db800 \
                 0059000d 01 10 18 c0000300 28 20010db800 \
                 005a0010 20010db8ffff00000000000000000001";
    let said = stdout(&["addr", "dhcpv6", twice]);
    assert!(
        said.contains("but there is a rule for 2001:db8::/40 already"),
        "{said}"
    );

    // RFC 7596 section 5.1, figure 3.
    let lw = "0060002c 005c0014 c0000212 38 20010db8001234 005d0004 00083400 \
              005a0010 20010db8ffff00000000000000000001";
    let said = stdout(&["addr", "dhcpv6", lw]);
    for part in [
        "lwAFTR: 2001:db8:ffff::1",
        "192.0.2.18, shared by 256",
        "13312-13567",
        "address is 2001:db8:12:3400:0:c000:212:34",
    ] {
        assert!(said.contains(part), "no {part:?} in\n{said}");
    }
}

/// The example of RFC 6334 section 3, figure 2.
const AFTR: &str = "00400012 04 61667472 07 6578616d706c65 03 636f6d 00";

#[test]
fn addr_explains_the_dhcpv6_of_ds_lite() {
    let said = stdout(&["addr", "dhcpv6", &format!("{DELEGATED} {AFTR}")]);
    for part in [
        "DS-Lite",
        "AFTR: aftr.example.com",
        "address may be 2001:db8:12:3400::c000:2",
    ] {
        assert!(said.contains(part), "no {part:?} in\n{said}");
    }
    let json = stdout(&["addr", "dhcpv6", AFTR, "--prefix=2001:db8::/48", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["domains"][0]["aftr"], "aftr.example.com");
    assert_eq!(json["domains"][0]["addresses"][0], "2001:db8::c000:2");
}

/// What DHCPv6 says becomes an instance that `check` takes, once it is said who is inside.
#[test]
fn addr_writes_what_dhcpv6_says() {
    // MAP-T with a Forwarding Mapping Rule for others, a basic one for its own, and one that is not for this CE
    // (RFC 7598 sections 4.1, 4.3, 5.2).
    let map_t = "005f003c 0059000d 01 10 18 c0000200 28 20010db800 \
                 0059000d 00 10 18 c6336400 28 20010dba00 \
                 0059000d 01 10 18 cb007100 28 20010db900 \
                 005b0005 20 20010dbf";
    let shared = "00590017 00 00 20 c0000212 38 20010db8001234 005d0004 00083400";
    let map_e = format!("005e002f {shared} 005a0010 20010db8ffff00000000000000000001");
    let lw = "0060002c 005c0014 c0000212 38 20010db8001234 005d0004 00083400 \
              005a0010 20010db8ffff00000000000000000001";
    for (options, keys) in [
        (
            format!("{DELEGATED} {map_t}"),
            &[
                "mechanism = \"map-t\"",
                "prefix = \"2001:dbf::/32\"",
                "rules = [{ v6 = \"2001:db8::/40\", v4 = \"192.0.2.0/24\", ea-bits = 16, psid-offset = 6 }, \
                 { v6 = \"2001:db9::/40\", v4 = \"203.0.113.0/24\", ea-bits = 16, psid-offset = 6 }]",
                "end-user-prefix = \"2001:db8:12:3400::/56\"",
            ][..],
        ),
        (
            format!("{DELEGATED} {MAP_E}"),
            &["mechanism = \"map-e\"", "br = \"2001:db8:ffff::1\""],
        ),
        (
            format!("{DELEGATED} {map_e}"),
            &["ea-bits = 0, psid = 52, psid-length = 8, psid-offset = 0 }]"],
        ),
        (
            format!("{DELEGATED} {lw}"),
            &[
                "role = \"b4\"",
                "aftr = \"2001:db8:ffff::1\"",
                "local = \"2001:db8:12:3400:0:c000:212:34\"",
                "address = \"192.0.2.18\"\npsid = 52\npsid-length = 8\npsid-offset = 0",
            ],
        ),
    ] {
        let text = stdout(&["addr", "dhcpv6", &options, "--toml", "home"]);
        for key in keys {
            assert!(text.contains(key), "no {key:?} in\n{text}");
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(
            file.path(),
            format!("{text}\ninside = [\"192.168.1.0/24\"]\n"),
        )
        .unwrap();
        let said = stdout(&["check", file.path().to_str().unwrap()]);
        assert!(said.contains("192.0.2.18"), "{said}");
    }
}

#[test]
fn addr_tells_why_dhcpv6_is_no_instance() {
    for (options, why) in [
        (MAP_E.to_owned(), "--prefix"),
        (AFTR.to_owned(), "--prefix"),
        (DELEGATED.to_owned(), "no MAP-E, MAP-T, lw4o6 or DS-Lite"),
        (
            format!("{MAP_E} {}", DELEGATED.replace("20010db8", "20010db9")),
            "no rule gives an IPv4 address to 2001:db9:12:3400::/56",
        ),
    ] {
        let error = failure(&["addr", "dhcpv6", &options, "--toml", "home"], 1);
        assert!(error.contains(why), "no {why:?} in\n{error}");
    }
}

/// Offset, value, and the expected value.
#[test]
fn addr_tells_what_is_wrong_with_dhcpv6() {
    for (dump, parts) in [
        (
            MAP_E.replace("01 10 18", "01 31 18"),
            &[
                "OPTION_S46_CONT_MAPE is ignored",
                "byte 9",
                "ea-len is 0 to 48, not 49",
            ][..],
        ),
        (
            MAP_E.replace("005e0025", "005e0026"),
            &["byte 0", "length of 38 bytes", "37 are left"],
        ),
        ("005e002".to_owned(), &["odd"]),
        ("005e zz".to_owned(), &["character 6 is 'z'"]),
        (DELEGATED.to_owned(), &["no MAP-E, MAP-T, lw4o6 or DS-Lite"]),
    ] {
        let error = failure(&["addr", "dhcpv6", &dump], 1);
        for part in parts {
            assert!(error.contains(part), "no {part:?} in\n{error}");
        }
    }
}

#[test]
fn addr_prints_json() {
    let json = stdout(&["addr", "explain", "64:ff9b::8.8.8.8", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["meanings"][0]["v4"], "8.8.8.8");
    let json = stdout(&["addr", "embed", "64:ff9b::/96", "8.8.8.8", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["v6"], "64:ff9b::808:808");
}

#[test]
fn check_prints_the_plan() {
    let plan = stdout(&["check", "examples/nat64-isp.toml"]);
    for part in [
        "gateway \"nat64-isp\"",
        "64:ff9b::/96",
        "203.0.113.0/25",
        "4 blocks of 512",
        "8192 sessions",
        "memory for tables",
    ] {
        assert!(plan.contains(part), "no {part:?} in\n{plan}");
    }
    assert_eq!(stdout(&["check", "--quiet", "examples/nat64-isp.toml"]), "");
    let json = stdout(&["check", "--json", "examples/nat64-isp.toml"]);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["valid"], true);
    assert_eq!(value["plan"]["gateway"], "nat64-isp");
}

#[test]
fn check_explains_mistakes() {
    let bad = "crates/gateway/tests/config/bad/ranges.toml";
    let error = failure(&["check", bad], 1);
    assert!(error.contains("ranges.toml:16:19"), "{error}");
    assert!(error.contains("1280 to 65535"), "{error}");
    // Exit code 1 with JSON, too, but the answer is on the standard output.
    let output = run(&["check", "--json", bad]);
    assert_eq!(output.status.code(), Some(1));
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["valid"], false);
    let problem = value["problems"]
        .as_array()
        .unwrap()
        .iter()
        .find(|problem| problem["line"] == 16)
        .unwrap();
    assert_eq!(problem["column"], 19);
    assert!(problem["file"].as_str().unwrap().ends_with("ranges.toml"));
    let error = failure(&["check", "not-there.toml"], 1);
    assert!(error.contains("not-there.toml"), "{error}");
}

/// This machine does not have the links of an example, which may be for another.
#[test]
fn check_warns_of_what_is_not_here() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("edge.toml");
    let text = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/nat64-isp.toml"
    ));
    let text = text
        .unwrap()
        .replace("eth1", "nolink")
        .replace("/var/log/", "/nowhere/");
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let output = run(&["check", "--json", file]);
    assert!(output.status.success());
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["valid"], true);
    let problems = value["problems"].as_array().unwrap();
    for part in ["no link \"nolink\"", "no folder /nowhere/isthmus"] {
        let said =
            |problem: &&serde_json::Value| problem["message"].as_str().unwrap().contains(part);
        let problem = problems.iter().find(said).expect(part);
        assert_eq!(problem["severity"], "warning");
    }
    // `doctor` says the same, and how to mend it.
    let output = run(&["doctor", "--json", file]);
    assert_eq!(output.status.code(), Some(2));
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = value["findings"].as_array().unwrap();
    let of_folder = serde_json::json!({ "command": "mkdir -p /nowhere/isthmus" });
    assert!(
        findings
            .iter()
            .any(|finding| finding["remedy"] == of_folder),
        "{findings:?}"
    );
}

#[test]
fn doctor_cannot_look_without_a_configuration() {
    let error = failure(&["doctor", "not-there.toml"], 1);
    assert!(error.contains("not-there.toml"), "{error}");
    let error = failure(
        &["doctor", "crates/gateway/tests/config/bad/ranges.toml"],
        1,
    );
    assert!(error.contains("ranges.toml:16:19"), "{error}");
    let error = failure(&["doctor", "--socket", "/nowhere/edge.sock"], 1);
    assert!(error.contains("isthmus doctor FILE"), "{error}");
}

/// Offline there is no network that could provide a prefix.
#[test]
fn translate_needs_the_prefix() {
    let config = "examples/clat-router.toml";
    let error = failure(&["translate", config, "in.pcap", "out.pcap"], 1);
    assert!(
        error.contains(config) && error.contains("\"clat\""),
        "{error}"
    );
}

#[test]
fn every_command_has_help() {
    for command in [
        "check",
        "addr",
        "translate",
        "doctor",
        "up",
        "forget",
        "status",
        "sessions",
        "counters",
        "reload",
        "completions",
    ] {
        let mut arguments: Vec<&str> = command.split(' ').collect();
        arguments.push("--help");
        assert!(stdout(&arguments).contains("Usage:"), "{command}");
    }
    let version = stdout(&["--version"]);
    assert_eq!(version, format!("isthmus {}", env!("CARGO_PKG_VERSION")));
}

/// A folder with this program alone. A laboratory may be put beside it.
struct Installed(tempfile::TempDir);

impl Installed {
    fn new() -> Self {
        // The folder is on the file system of the program, which is large.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let program = folder.path().join("isthmus");
        std::fs::hard_link(env!("CARGO_BIN_EXE_isthmus"), program).unwrap();
        Self(folder)
    }

    /// Puts a laboratory into a folder of this one. It prints its place and its arguments, and exits with status 7.
    fn laboratory(&self, folder: &str) {
        let place = self.0.path().join(folder);
        std::fs::create_dir_all(&place).unwrap();
        let script = format!("#!/bin/sh\nprintf '{folder}'\nprintf ' <%s>' \"$@\"\nexit 7\n");
        // Another process writes it: a test that forks meanwhile would keep the file open, so that it could not start.
        let written = Command::new("sh")
            .args([
                "-c",
                "printf '%s' \"$1\" >isthmus-lab && chmod +x isthmus-lab",
            ])
            .args(["sh", &script])
            .current_dir(&place)
            .status();
        assert!(written.unwrap().success());
    }

    /// Runs the program with the folders `one` and `two` on its path.
    fn run(&self, arguments: &[&str]) -> Output {
        let folders = ["one", "two"].map(|name| self.0.path().join(name));
        let path = std::env::join_paths(folders).unwrap();
        Command::new(self.0.path().join("isthmus"))
            .args(arguments)
            .env("PATH", path)
            .output()
            .expect("the program runs")
    }
}

/// The laboratory beside the program comes first, then those on the path in order. Arguments pass unchanged, also those
/// that look like our options, and so does the exit status.
#[test]
fn lab_starts_the_laboratory() {
    let installed = Installed::new();
    let lab = |arguments: &[&str]| {
        let output = installed.run(arguments);
        assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    installed.laboratory("two");
    assert_eq!(lab(&["lab", "demo"]), "two <demo>");
    installed.laboratory("one");
    assert_eq!(lab(&["lab", "demo"]), "one <demo>");
    installed.laboratory(".");
    for (given, got) in [
        ("lab demo", ". <demo>"),
        ("lab --help", ". <--help>"),
        ("lab run -h --output x", ". <run> <-h> <--output> <x>"),
        ("lab run --output=x -- -y", ". <run> <--output=x> <--> <-y>"),
        ("help lab", ". <help>"),
        ("help lab run", ". <help> <run>"),
        ("completions bash", ". <completions> <bash>"),
    ] {
        let given: Vec<&str> = given.split(' ').collect();
        assert_eq!(lab(&given), got, "{given:?}");
    }
    assert_eq!(lab(&["lab", "run", "a b", ""]), ". <run> <a b> <>");
}

#[test]
fn lab_says_how_to_get_the_laboratory() {
    let installed = Installed::new();
    for arguments in [&["lab"][..], &["lab", "--help"], &["help", "lab"]] {
        let output = installed.run(arguments);
        assert_eq!(output.status.code(), Some(2));
        let error = text(&output.stderr);
        for part in ["laboratory is not installed", "isthmus-lab", "make install"] {
            assert!(error.contains(part), "{error}");
        }
    }
    // A file that is not executable is not reported as "not installed".
    std::fs::write(installed.0.path().join("isthmus-lab"), "").unwrap();
    let output = installed.run(&["lab", "demo"]);
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert!(
        error.contains("cannot start") && error.contains("/isthmus-lab: "),
        "{error}"
    );
}

/// The shell loads the script of the gateway alone, and completes a value of it.
#[test]
fn completions_are_a_script_that_the_shell_takes() {
    let script = Installed::new().run(&["completions", "bash"]);
    let script = text(&script.stdout);
    let question = "COMP_WORDS=(isthmus addr embed --format i); COMP_CWORD=4; \
                    _isthmus isthmus i --format; echo \"${COMPREPLY[@]}\"";
    assert_eq!(bash(&script, question), "ivi");
}

/// Returns a classic pcap file of raw IP packets (link type 101), a second apart.
fn capture(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 101] {
        file.extend(word.to_le_bytes());
    }
    for (second, packet) in (1u32..).zip(packets) {
        let length = packet.len() as u32;
        for word in [second, 0, length, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// A NAT64 and a capture file of one packet for it, in a folder.
fn plat(folder: &std::path::Path) {
    let source = "2001:db8::5".parse::<Ipv6Addr>().unwrap().octets();
    let target = "64:ff9b::8.8.8.8".parse::<Ipv6Addr>().unwrap().octets();
    let mut packet = Vec::new();
    etherparse::PacketBuilder::ipv6(source, target, 64)
        .udp(4000, 53)
        .write(&mut packet, b"question")
        .unwrap();
    std::fs::write(folder.join("in.pcap"), capture(&[packet])).unwrap();
    std::fs::write(
        folder.join("plat.toml"),
        "[[instance]]\nname = \"plat\"\nmechanism = \"nat64\"\nprefix = \"64:ff9b::/96\"\n\
         pool = [{ addresses = \"203.0.113.1\" }]\nmax-sessions = 1000\nmax-bindings = 1000\n",
    )
    .unwrap();
}

/// A UDP packet through NAT64, twice with the same seed.
#[test]
fn translate_is_repeatable() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    plat(folder.path());
    let mut results = Vec::new();
    for _ in 0..2 {
        let (config, input) = (path("plat.toml"), path("in.pcap"));
        let (output, counters) = (path("out.pcap"), path("counters.json"));
        stdout(&[
            "translate",
            &config,
            &input,
            &output,
            "--seed",
            "7",
            "--counters",
            &counters,
        ]);
        let counters = std::fs::read(&counters).unwrap();
        let counted: serde_json::Value = serde_json::from_slice(&counters).unwrap();
        assert_eq!(counted["translated-6to4"], 1, "{counted}");
        assert_eq!(counted["session-created"], 1, "{counted}");
        results.push(std::fs::read(&output).unwrap());
    }
    assert_eq!(results[0], results[1]);
    // Skips the header of the file (24 bytes) and of the packet (16 bytes).
    let translated = etherparse::SlicedPacket::from_ip(&results[0][24 + 16..]).unwrap();
    let Some(etherparse::NetSlice::Ipv4(v4)) = translated.net else {
        panic!("{translated:?}");
    };
    assert_eq!(v4.header().source_addr().to_string(), "203.0.113.1");
    assert_eq!(v4.header().destination_addr().to_string(), "8.8.8.8");
}

/// The file that is read stays, by whatever name the output goes.
#[test]
fn translate_never_writes_over_what_it_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    plat(folder.path());
    let input = std::fs::read(path("in.pcap")).unwrap();
    std::os::unix::fs::symlink("in.pcap", path("symbolic")).unwrap();
    std::fs::hard_link(path("in.pcap"), path("hard")).unwrap();
    let config = path("plat.toml");
    for output in ["in.pcap", "symbolic", "hard", "./../", "plat.toml"] {
        let output = match output {
            "./../" => {
                let name = folder.path().file_name().unwrap().to_string_lossy();
                path(&format!("../{name}/in.pcap"))
            }
            name => path(name),
        };
        let error = failure(&["translate", &config, &path("in.pcap"), &output], 1);
        assert!(
            error.contains("same file") && error.contains(&output),
            "{error}"
        );
        assert_eq!(std::fs::read(path("in.pcap")).unwrap(), input, "{output}");
    }
    let arguments = [
        "translate",
        &config,
        &path("in.pcap"),
        "/dev/null",
        "--counters",
        &path("hard"),
    ];
    assert!(failure(&arguments, 1).contains("same file"));
}

/// From a pipe, into a pipe.
#[test]
fn translate_reads_and_writes_standard_streams() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    plat(folder.path());
    stdout(&[
        "translate",
        &path("plat.toml"),
        &path("in.pcap"),
        &path("out.pcap"),
        "--seed",
        "7",
    ]);
    let translated = |input: std::process::Stdio| {
        let output = Command::new(PROGRAM)
            .args(["translate", &path("plat.toml"), "-", "-", "--seed", "7"])
            .stdin(input)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        output.stdout
    };
    let wanted = std::fs::read(path("out.pcap")).unwrap();
    let file = std::fs::File::open(path("in.pcap")).unwrap();
    assert_eq!(translated(file.into()), wanted);
    let (reader, mut writer) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut writer, &std::fs::read(path("in.pcap")).unwrap()).unwrap();
    drop(writer);
    assert_eq!(translated(reader.into()), wanted);
}

/// Output that `| head` leaves unread ends the program as SIGPIPE would, without a word.
#[test]
fn a_reader_that_leaves_is_no_reason_to_complain() {
    for arguments in [
        &["completions", "bash"][..],
        &["addr", "explain", "2001:db8::1"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(PROGRAM)
            .args(arguments)
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .stdout(writer)
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(141), "{arguments:?}");
    }
}

/// The unit has a user of its own, and an exposure of 2.0 of 10 at most.
#[test]
fn the_service_is_confined() {
    if Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_err()
    {
        println!("skipped: there is no systemd-analyze");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let unit = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../packaging/isthmus@.service"
    );
    let unit = std::fs::read_to_string(unit).unwrap();
    let path = folder.path().join("isthmus@edge.service");
    let unit = unit
        .replace("@BINDIR@", "/usr/bin")
        .replace("@SYSCONFDIR@", "/etc");
    std::fs::write(&path, unit).unwrap();
    let judged = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--threshold=20"])
        .arg(&path)
        .output()
        .unwrap();
    let said = text(&judged.stdout) + &text(&judged.stderr);
    if said.contains("unrecognized option") {
        println!("skipped: this systemd-analyze is too old for --offline and --threshold");
        return;
    }
    assert!(judged.status.success(), "{said}");
    for line in said
        .lines()
        .filter(|line| line.contains("User=/DynamicUser="))
    {
        assert!(!line.starts_with('✗'), "{line}");
    }
}

/// The exit statuses are those of diff(1).
#[test]
fn diff_tells_keys_instances_and_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let example = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/nat44.toml"),
    )
    .unwrap()
    // The name of a gateway is that of its file then, and they are files of one.
    .replace("name = \"nat44\"\n", "");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let a = file("a.toml", &format!("{example}\n[log]\nlevel = \"info\"\n"));
    let b = file("b.toml", &format!("{example}\n[log]\nlevel = \"debug\"\n"));
    assert_eq!(stdout(&["diff", &a, &a]), "nothing changes");
    let output = run(&["diff", &a, &b]);
    assert_eq!(output.status.code(), Some(1));
    // A gateway has the name of its file unless it says another one.
    let said = text(&output.stdout);
    assert!(
        said.contains("[log]\n  level: \"info\" → \"debug\""),
        "{said}"
    );
    let output = run(&["diff", "--json", &a, &b]);
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["keys"][0]["section"], "[log]");
    assert_eq!(told["keys"][0]["after"], "debug");
    // A mistake has its place, and what would be right.
    let bad = file("bad.toml", &format!("{example}\n[log]\nlevel = \"loud\"\n"));
    let error = failure(&["diff", &a, &bad], 2);
    assert!(
        error.contains("bad.toml:") && error.contains("loud"),
        "{error}"
    );
    let error = failure(&["diff", &a, "/nonexistent.toml"], 2);
    assert!(error.contains("/nonexistent.toml"), "{error}");
}

#[test]
fn schema_prints_the_committed_schema() {
    let schema: serde_json::Value = serde_json::from_str(&stdout(&["schema"])).unwrap();
    assert!(schema["properties"]["instance"].is_object());
}
