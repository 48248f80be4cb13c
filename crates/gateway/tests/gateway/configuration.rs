//! The configuration as users meet it: what is accepted and what it means. What is said about mistakes is in
//! `explained.rs`.

use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use isthmus_core::address::V4;
use isthmus_core::config as core;
use isthmus_core::nat::Blocks;
use isthmus_core::time::Span;

use isthmus_gateway::config::{self, Document, Loaded, Mechanism, Plan};
use proptest::prelude::*;

fn manifest(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

/// A document that must be right, and what it will do.
fn accept(name: &str, text: &str, folder: &Path) -> (Document, String) {
    let loaded = config::parse(name, "test", text.to_owned(), folder);
    let Loaded { document, .. } = loaded.unwrap_or_else(|report| panic!("{report}"));
    let plan = match document.compile(&[1; 8].into()) {
        Ok(compiled) => Plan::new(&document, &compiled).to_string(),
        Err(error) => panic!("{name}: {error}"),
    };
    (document, plan)
}

#[test]
fn examples_are_right() {
    for path in files(&manifest("../../examples"), "toml") {
        let text = fs::read_to_string(&path).unwrap();
        accept(&path.display().to_string(), &text, path.parent().unwrap());
    }
}

/// The document of an example.
fn document_of(example: &str) -> Document {
    let path = manifest("../../examples")
        .join(example)
        .with_extension("toml");
    config::load(&path).unwrap().document
}

/// Packets that only inside hosts send, in an example of each mechanism that says whom it serves.
#[test]
fn packets_of_inside_hosts() {
    for (example, expected) in [
        ("nat64-basic", "64:ff9b::/96"),
        ("nat-pt", "2001:db8:64::/96"),
        ("ds-lite-aftr", "2001:db8:ffff::1/128"),
        ("nat44", "192.168.0.0/16 64:ff9b::/96"),
        ("siit-dc", ""),
    ] {
        let document = document_of(example);
        let networks: Vec<_> = document
            .of_inside_hosts()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(networks.join(" "), expected, "{example}");
    }
}

#[test]
fn a_file_that_is_not_there() {
    let error = config::load(Path::new("/nowhere/edge.toml"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("/nowhere/edge.toml"), "{error}");
}

const NAT64: &str = r#"
[[instance]]
name = "plat"
mechanism = "nat64"
prefix = "64:ff9b::/96"
pool = [{ addresses = "203.0.113.0/28" }]
"#;

/// Documents to change: the good ones and the bad ones.
fn documents() -> Vec<String> {
    let mut paths = files(&manifest("tests/config/bad"), "toml");
    paths.extend(files(&manifest("../../examples"), "toml"));
    paths
        .into_iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

fn survive(text: &str) {
    match config::parse("test.toml", "test", text.to_owned(), Path::new("/nowhere")) {
        Ok(loaded) => {
            if let Ok(compiled) = loaded.document.compile(&[1; 8].into()) {
                Plan::new(&loaded.document, &compiled).to_string();
            }
            loaded.warnings.to_string();
        }
        Err(report) => {
            assert!(report.problems().next().is_some());
            assert!(report.to_string().contains("test.toml"));
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "\\PC*") {
        survive(&text);
    }

    #[test]
    fn any_key_and_value_are_survived(
        key in "[a-z0-9-]{1,20}",
        value in prop_oneof![
            Just("true".to_owned()),
            Just("1979-05-27".to_owned()),
            any::<i64>().prop_map(|n| n.to_string()),
            any::<f32>().prop_map(|n| format!("{n:?}")),
            "\"[0-9a-f:./-]{0,40}\"",
            "\\[\\{ v4 = \"[0-9./]{0,20}\", v6 = \"[0-9a-f:/]{0,20}\" \\}\\]",
        ],
    ) {
        survive(&format!("{NAT64}{key} = {value}\n"));
    }

    /// Bytes taken out, put in and exchanged.
    #[test]
    fn changed_documents_are_survived(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), 0usize..12, "[\\PC\n]{0,6}"),
            1..6,
        ),
    ) {
        let documents = documents();
        let mut text = which.get(&documents).clone();
        for (at, remove, insert) in changes {
            if text.is_empty() {
                break;
            }
            let start = text.floor_char_boundary(at.index(text.len()));
            let end = text.ceil_char_boundary((start + remove).min(text.len()));
            text.replace_range(start..end, &insert);
        }
        survive(&text);
    }
}

/// Texts that are made to hurt: deep, long, without end.
#[test]
fn hostile_texts_are_survived() {
    for text in [
        format!("a = {}", "[".repeat(20_000)),
        format!("a = {}", "{ b = ".repeat(10_000)),
        format!("[{}]", "a.".repeat(100_000)),
        "[[instance]]\n".repeat(3_000),
        format!("a = \"{}", "\\u0000".repeat(50_000)),
        format!("{NAT64}static = [{}]", "{},".repeat(2_000)),
        "\u{feff}".repeat(1000),
        "\0".repeat(1000),
    ] {
        survive(&text);
    }
}

/// RFC 7422 section 2.1: subscribers take the blocks of the pool in turn. With 2048 ports to a
/// block, the ports from 1024 on have their first whole block at 2048 and 31 blocks to an address.
#[test]
fn deterministic_blocks_are_those_of_the_check() {
    let text = r#"
[[instance]]
name = "cgn"
mechanism = "nat64"
prefix = "64:ff9b::/96"
pool = [{ addresses = "203.0.113.0/28", ports = "1024-65535" }]
deterministic = { inside = "2001:db8::/56", size = 2048 }
"#;
    let (document, _) = accept("deterministic", text, Path::new(""));
    let compiled = document.compile(&[1; 8].into()).unwrap();
    let core::AnyMechanism::Nat64(nat64) = &compiled.instances[0].mechanism else {
        panic!("{compiled:?}");
    };
    let Blocks::Deterministic(rule) = &nat64.nat.blocks else {
        panic!("{:?}", nat64.nat.blocks);
    };
    let subscriber = |address: [u8; 4], port| {
        let address = V4::from(Ipv4Addr::from(address));
        let found = rule.subscriber_of(&nat64.nat.pool, address, port);
        found.map(|v6| Ipv6Addr::from(v6).to_string())
    };
    let first = Some("2001:db8::".to_owned());
    assert_eq!(subscriber([203, 0, 113, 0], 2048), first);
    assert_eq!(subscriber([203, 0, 113, 0], 4095), first);
    assert_eq!(subscriber([203, 0, 113, 0], 2047), None);
    let second = Some("2001:db8:0:1::".to_owned());
    assert_eq!(subscriber([203, 0, 113, 0], 4096), second);
    // Subscriber 31 is the first of the next address, subscriber 255 the last of all.
    let next = Some("2001:db8:0:1f::".to_owned());
    assert_eq!(subscriber([203, 0, 113, 1], 2048), next);
    let last = Some("2001:db8:0:ff::".to_owned());
    assert_eq!(subscriber([203, 0, 113, 8], 2048 * 8), last);
    assert_eq!(subscriber([203, 0, 113, 8], 2048 * 9), None);
}

#[test]
fn defaults_are_those_of_the_manual() {
    let (document, _) = accept("defaults", NAT64, Path::new(""));
    assert_eq!(document.gateway.name, "test");
    assert_eq!(
        document.gateway.control,
        Path::new("/run/isthmus/test.sock")
    );
    assert_eq!(
        (document.link.ipv4_mtu, document.link.ipv6_mtu),
        (1500, 1500)
    );
    assert_eq!(document.tun.name.value, "isthmus0");
    assert_eq!((document.tun.queues, document.tun.mtu), (1, 1500));
    let instance = &document.instances[0];
    assert_eq!(instance.policy.lowest_ipv6_mtu, 1280);
    assert_eq!(instance.policy.icmp_errors, 1000);
    let Mechanism::Nat64(nat64) = &instance.mechanism else {
        panic!("{instance:?}");
    };
    // RFC 6146 section 4.
    let timers = &nat64.nat.timers;
    let (udp, icmp, fragment) = (timers.udp, timers.icmp, timers.fragment);
    assert_eq!([udp, icmp, fragment], [300, 60, 2].map(Span::from_secs));
    assert_eq!(timers.tcp_established, Span::from_secs(2 * 3600 + 4 * 60));
    assert_eq!(timers.tcp_opening, Span::from_secs(240));
    assert_eq!(timers.tcp_closing, Span::from_secs(240));
    assert_eq!(nat64.nat.pool[0].ports, (1024, 65535));
    assert_eq!(nat64.nat.subscriber_prefix, 64);
}

/// The routes to the gateway of each example.
#[test]
fn routes_lead_to_the_gateway_and_not_back() {
    for (example, expected) in [
        ("nat64-basic", "203.0.113.1/32 64:ff9b::/96"),
        (
            "siit-dc",
            "203.0.113.1/32 203.0.113.2/32 203.0.113.16/28 2001:db8:46::/96",
        ),
        // The prefix is the provider's NAT64: a route to it here would be a loop.
        ("siit-clat", "0.0.0.0/0 2001:db8:1:2::464/128"),
        ("ivi", "198.51.100.0/24 2001:db8:ff00::/40"),
    ] {
        let document = document_of(example);
        let routes: Vec<_> = document.routes().iter().map(ToString::to_string).collect();
        assert_eq!(routes.join(" "), expected, "{example}");
    }
}

/// RFC 7757 figure 2: a mapping of all of IPv4 is what a prefix is, and no default route.
#[test]
fn a_mapping_of_all_of_ipv4_is_routed_as_a_prefix() {
    let text = "[[instance]]\nname = \"figure-2\"\nmechanism = \"siit\"\neam = [\n\
                { v4 = \"0.0.0.0/0\", v6 = \"2001:db8:ff00::/40\" },\n\
                { v4 = \"198.51.100.64\", v6 = \"2001:db8::abcd\" },\n]\n";
    let (document, _) = accept("figure-2", text, Path::new(""));
    let routes: Vec<_> = document.routes().iter().map(ToString::to_string).collect();
    assert_eq!(routes.join(" "), "198.51.100.64/32 2001:db8:ff00::/40");
}

/// Every block of TOML in the manual is a configuration, or a part of one that this completes. Pages under `start` and
/// `recipes` are followed with theirs.
#[test]
fn the_manual_is_right() {
    let docs = fs::read_dir(manifest("../../docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    let pages = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let blocks: usize = pages
        .chain([manifest("../../README.md")])
        .map(|page| blocks_are_right(&page))
        .sum();
    assert!(blocks >= 20, "{blocks} blocks");
}

/// Reads the blocks of a page, and returns how many there are.
fn blocks_are_right(page: &Path) -> usize {
    let manual = fs::read_to_string(page).unwrap();
    let page = page.display().to_string();
    let blocks: Vec<_> = manual
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    for block in &blocks {
        let whole = if block.contains("[[instance]]") {
            (*block).to_owned()
        } else {
            format!("{block}\n{NAT64}")
        };
        accept(&page, &whole, &manifest("tests/config"));
    }
    blocks.len()
}

/// A CLAT that waits for its prefix has nothing routed to it and owns no packet; with one it is as if the
/// prefix were written in the file.
#[test]
fn an_instance_without_its_prefix_is_idle() {
    let text = |prefix: &str| {
        format!(
            "[[instance]]\nname = \"clat\"\nmechanism = \"clat\"\nprefix = \"{prefix}\"\n\
             local = \"2001:db8:a::464\"\ninside = [\"192.168.0.0/16\"]\n"
        )
    };
    let read = |prefix| accept("clat.toml", &text(prefix), Path::new("")).0;
    let edge = |document: &Document| match document.compile(&[1; 8].into()).unwrap().instances[0]
        .mechanism
    {
        core::AnyMechanism::MapTCe(edge) => edge,
        other => panic!("{other:?}"),
    };
    let given = read("2001:db8:64::/96");
    let mut found = read("auto");
    let host: V4 = Ipv4Addr::new(192, 168, 1, 1).into();
    assert!(found.routes().is_empty() && found.routed_sources().is_empty());
    assert!(found.prefixes().is_empty());
    assert!(!edge(&found).inside.contains(host));
    assert_eq!(edge(&found).local, Ipv6Addr::UNSPECIFIED.into());

    let prefix = given.prefixes()[0];
    found.set_found("clat", Some(prefix));
    assert_eq!(found.prefixes(), [prefix]);
    assert_eq!(found.routes(), given.routes());
    assert_eq!(found.routed_sources(), given.routed_sources());
    assert_eq!(format!("{:?}", edge(&found)), format!("{:?}", edge(&given)));
    // Another instance is not concerned.
    found.set_found("other", None);
    assert_eq!(found.prefixes(), [prefix]);
    found.set_found("clat", None);
    assert!(found.routes().is_empty());
}
