//! `isthmus import`: every file of this folder, and what becomes of it.
//!
//! Beside `NAME.json` or `NAME.conf` lie `NAME.toml`, the configuration, and `NAME.left-out`, the messages, if there
//! are any. Both were read against the documentation of Jool and TAYGA; `WRITE_IMPORTED=1` writes them anew, to be read
//! again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{failure, run, stdout, text};

fn folder() -> PathBuf {
    Path::new("crates/isthmus/tests/import").to_owned()
}

/// The root of the sources, in which programs run.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Imports a file of the folder, compares, and has the checker read the result.
fn imports(from: &str, file: &str) {
    let file = folder().join(file);
    let output = run(&["import", from, file.to_str().unwrap()]);
    let left_out = text(&output.stderr);
    let status = if left_out.is_empty() { 0 } else { 2 };
    assert_eq!(output.status.code(), Some(status), "{left_out}");
    let expected = [("toml", text(&output.stdout)), ("left-out", left_out)];
    for (extension, now) in expected {
        let path = root().join(&file).with_extension(extension);
        if std::env::var_os("WRITE_IMPORTED").is_some() && !now.is_empty() {
            fs::write(&path, &now).unwrap();
        }
        let then = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(now, then, "{}", path.display());
    }
    let configuration = file.with_extension("toml");
    stdout(&["check", "--quiet", configuration.to_str().unwrap()]);
}

/// A test for each file.
macro_rules! tests {
    ($($name:ident: $from:literal $file:literal,)+) => {
        $(
            #[test]
            fn $name() {
                imports($from, $file);
            }
        )+

        #[test]
        fn every_file_has_a_test() {
            // A file that another one names.
            let mut tested = vec!["tayga-maps.conf"];
            tested.extend([$($file),+]);
            for entry in fs::read_dir(root().join(folder())).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                if name.ends_with(".json") || name.ends_with(".conf") {
                    assert!(tested.contains(&name.as_str()), "{name}");
                }
            }
        }
    };
}

tests! {
    jool_nat64: "jool" "jool-nat64.json",
    jool_nat64_every_key: "jool" "jool-nat64-every-key.json",
    jool_nat64_of_a_mark: "jool" "jool-nat64-mark.json",
    jool_siit_dc: "jool" "jool-siit-dc.json",
    jool_siit_mappings: "jool" "jool-siit-mappings.json",
    jool_siit_every_key: "jool" "jool-siit-every-key.json",
    tayga_pool: "tayga" "tayga-pool.conf",
    tayga_clat: "tayga" "tayga-clat.conf",
    tayga_every_key: "tayga" "tayga-every-key.conf",
}

/// Imports a text that is wrong. Every message names the file and has these words.
fn refuses(from: &str, content: &str, words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrong");
    fs::write(&file, content).unwrap();
    let error = failure(&["import", from, file.to_str().unwrap()], 1);
    assert!(error.starts_with(file.to_str().unwrap()), "{error}");
    for word in words {
        assert!(error.contains(word), "{error} has no {word}");
    }
}

#[test]
fn a_wrong_file_of_jool() {
    const TCP: &str = r#"{ "protocol": "TCP", "prefix": "192.0.2.1" }"#;
    for (content, words) in [
        ("{", &["wrong:1", "not JSON"][..]),
        ("[]", &["an object"]),
        ("{}", &["jool_siit", "\"pool4\"", "\"eamt\""]),
        (r#"{ "pool4": [], "eamt": [] }"#, &["for one of them"]),
        (
            r#"{ "pool4": [], "global": { "pool6": "64:ff9b::/96" } }"#,
            &["61001-65535", "write them there"],
        ),
        (&format!(r#"{{ "pool4": [{TCP}] }}"#), &["no \"pool6\""]),
        (
            &format!(r#"{{ "pool4": [{TCP}], "global": {{ "pool6": "64:ff9b::/97" }} }}"#),
            &["global.pool6", "/97", "RFC 6052"],
        ),
        (
            &format!(
                r#"{{ "pool4": [{TCP}], "global": {{ "pool6": "64:ff9b::/96", "udp-timeout": "1:2:3:4", "poo": 1 }} }}"#
            ),
            &["global.udp-timeout", "5:00", "global.poo", "no such key"],
        ),
        (
            r#"{ "pool4": [{ "protocol": "SCTP", "prefix": "192.0.2.1/24", "port range": "9-8" }], "bib": [{}] }"#,
            &[
                "pool4[0].protocol",
                "pool4[0].prefix",
                "pool4[0].port range",
                "expected",
            ],
        ),
        (
            r#"{ "eamt": [{ "ipv4 prefix": "192.0.2.1" }] }"#,
            &["eamt[0]", "ipv6 prefix"],
        ),
        (
            r#"{ "eamt": [{ "ipv4 prefix": "192.0.2.0/24", "ipv6 prefix": "2001:db8::/126" }] }"#,
            &["cannot be used", "192.0.2.0/24"],
        ),
    ] {
        refuses("jool", content, words);
    }
}

#[test]
fn a_wrong_file_of_tayga() {
    for (content, words) in [
        ("prefix 64:ff9b::/96", &["no `ipv4-addr`"][..]),
        ("ipv4-addr 192.0.2.1", &["neither `prefix` nor `map`"]),
        ("\nprefix 64:ff9b::/97", &["wrong:2", "/97", "RFC 6052"]),
        (
            "prefix 64:ff9b::/96\nprefix 64:ff9b::/96",
            &["wrong:2", "twice"],
        ),
        (
            "map 192.0.2.0/24 2001:db8::/64",
            &["wrong:1", "as many addresses"],
        ),
        ("tun-name x", &["wrong:1", "no such directive"]),
        ("map-file /nowhere", &["wrong:1", "/nowhere"]),
        ("udp-cksum-mode off", &["wrong:1", "`calc`"]),
    ] {
        refuses("tayga", content, words);
    }
}

#[test]
fn a_file_that_is_not_there() {
    let error = failure(&["import", "jool", "/nowhere"], 1);
    assert!(error.contains("/nowhere"), "{error}");
}
