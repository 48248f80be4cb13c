//! The commands that need no gateway, run as users run them.

use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn isthmus(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_isthmus"))
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("the program runs")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

/// Runs a command that must succeed; what it prints.
fn stdout(arguments: &[&str]) -> String {
    let output = isthmus(arguments);
    let error = text(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    text(&output.stdout).trim_end().to_owned()
}

/// Runs a command that must end with this exit code; what it says about it.
fn failure(arguments: &[&str], code: i32) -> String {
    let output = isthmus(arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    error
}

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
        // As RFC 5952 writes it; RFC 6052 shortens a single zero, too.
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
    // Usage is exit code 2.
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

/// RFC 7757's mappings as the configuration has them.
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
    assert!(error.contains("ranges.toml:13:19"), "{error}");
    assert!(error.contains("1280 to 65535"), "{error}");
    // Exit code 1 with JSON, too, but the answer is on the standard output.
    let output = isthmus(&["check", "--json", bad]);
    assert_eq!(output.status.code(), Some(1));
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["valid"], false);
    let problem = value["problems"]
        .as_array()
        .unwrap()
        .iter()
        .find(|problem| problem["line"] == 13)
        .unwrap();
    assert_eq!(problem["column"], 19);
    assert!(problem["file"].as_str().unwrap().ends_with("ranges.toml"));
    let error = failure(&["check", "not-there.toml"], 1);
    assert!(error.contains("not-there.toml"), "{error}");
}

#[test]
fn every_command_has_help() {
    for command in [
        "check",
        "addr",
        "translate",
        "up",
        "status",
        "sessions",
        "counters",
        "reload",
        "lab",
        "lab demo",
        "lab bench",
        "lab references",
        "lab world",
        "lab clean",
        "completions",
    ] {
        let mut arguments: Vec<&str> = command.split(' ').collect();
        arguments.push("--help");
        assert!(stdout(&arguments).contains("Usage:"), "{command}");
    }
    let version = stdout(&["--version"]);
    assert_eq!(version, format!("isthmus {}", env!("CARGO_PKG_VERSION")));
}

/// A row that is not there is refused before anything is built, with those that are.
#[test]
fn lab_names_the_rows_that_there_are() {
    let error = failure(&["lab", "bench", "--rows", "siit-4to6-xdp,nat46"], 2);
    for part in ["'nat46'", "--rows", "siit-6to4-xdp", "dns64-qps"] {
        assert!(error.contains(part), "{error}");
    }
    let error = failure(&["lab", "world", "--engine", "vpp"], 2);
    assert!(error.contains("xdp, tc, user"), "{error}");
}

/// The shell takes the script, and completes a value that only the lab knows.
#[test]
fn completions_are_a_script_that_the_shell_takes() {
    let script = stdout(&["completions", "bash"]);
    let question = "COMP_WORDS=(isthmus lab world --engine t); COMP_CWORD=4; \
                    _isthmus isthmus t --engine; echo \"${COMPREPLY[@]}\"";
    let output = Command::new("bash")
        .args(["-euc", &format!("{script}\n{question}")])
        .output()
        .expect("bash runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).trim(), "tc");
}

/// A classic pcap file of raw IP packets (link type 101), a second apart.
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

/// A UDP packet through NAT64, once with a seed and once more with the same.
#[test]
fn translate_is_repeatable() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let source = "2001:db8::5".parse::<Ipv6Addr>().unwrap().octets();
    let target = "64:ff9b::8.8.8.8".parse::<Ipv6Addr>().unwrap().octets();
    let mut packet = Vec::new();
    etherparse::PacketBuilder::ipv6(source, target, 64)
        .udp(4000, 53)
        .write(&mut packet, b"question")
        .unwrap();
    std::fs::write(path("in.pcap"), capture(&[packet])).unwrap();
    std::fs::write(
        path("plat.toml"),
        "[[instance]]\nname = \"plat\"\nmechanism = \"nat64\"\nprefix = \"64:ff9b::/96\"\n\
         pool = [{ addresses = \"203.0.113.1\" }]\nmax-sessions = 1000\nmax-bindings = 1000\n",
    )
    .unwrap();
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
    // The file's head, the packet's head, then IPv4 without the eight bytes of difference.
    let translated = etherparse::SlicedPacket::from_ip(&results[0][24 + 16..]).unwrap();
    let Some(etherparse::NetSlice::Ipv4(v4)) = translated.net else {
        panic!("{translated:?}");
    };
    assert_eq!(v4.header().source_addr().to_string(), "203.0.113.1");
    assert_eq!(v4.header().destination_addr().to_string(), "8.8.8.8");
}
