//! What somebody else's validator says with the schema: Python's `jsonschema`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{file, root};

/// Prints a line for each file: `good`, or the place of what is wrong.
const PROGRAM: &str = "
import json, sys, tomllib
from jsonschema import Draft7Validator
schema = json.load(open(sys.argv[1]))
Draft7Validator.check_schema(schema)
validator = Draft7Validator(schema)
for name in sys.argv[2:]:
    error = next(validator.iter_errors(tomllib.load(open(name, 'rb'))), None)
    print('good' if error is None else f'{list(error.absolute_path)}: {error.message[:200]}'.replace('\\n', ' '))
";

/// Documents whose mistakes are in what addresses mean, in other files, between two keys, or in a key of a mechanism
/// that no table describes.
const UNSEEN: &[&str] = &[
    "announce",
    "blocks-do-not-fit",
    "deterministic-too-many",
    "dns64-sockets",
    "dns64-values",
    "dns64",
    "duplicates",
    "eam-duplicates",
    "eam-file-duplicate",
    "eam-file",
    "isatap",
    "nat64-inside",
    "nat64-outsider",
    "overlap",
    "pool-reserved",
    "proxy-nowhere",
    "proxy-passwords",
    "proxy",
    "siit-empty",
    "static-hosts",
    "static",
    "tunnels",
    "unroutable",
];

fn documents(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = paths
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .collect();
    found.sort();
    assert!(!found.is_empty(), "{folder} is empty");
    found
}

/// What is said about each file; nothing, after printing the reason, if there is nobody to ask.
fn verdicts(files: &[PathBuf]) -> Option<Vec<String>> {
    let ask = ["-c", "import jsonschema, tomllib"];
    if !Command::new("python3")
        .args(ask)
        .output()
        .is_ok_and(|said| said.status.success())
    {
        eprintln!("skipped: python3-jsonschema is not installed");
        return None;
    }
    let mut python = Command::new("python3");
    let output = python
        .args(["-c", PROGRAM])
        .arg(file())
        .args(files)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<String> = said.lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), files.len());
    Some(lines)
}

#[test]
fn the_schema_takes_every_good_document() {
    let folders = ["examples", "crates/gateway/tests/config/doubtful"];
    let files: Vec<PathBuf> = folders.into_iter().flat_map(documents).collect();
    let Some(verdicts) = verdicts(&files) else {
        return;
    };
    let refused: Vec<_> = files
        .iter()
        .zip(&verdicts)
        .filter(|(_, said)| *said != "good")
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn the_schema_refuses_what_it_can_see() {
    let mut files = documents("crates/gateway/tests/config/bad");
    // It is not TOML.
    files.retain(|path| path.file_stem().unwrap() != "syntax");
    let Some(verdicts) = verdicts(&files) else {
        return;
    };
    let taken = files
        .iter()
        .zip(&verdicts)
        .filter(|(_, said)| *said == "good");
    let taken: Vec<&str> = taken
        .map(|(path, _)| path.file_stem().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(taken, UNSEEN);
}
