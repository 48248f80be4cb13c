//! A program, run as its users run it. The test that has this module says which: `crate::PROGRAM`.

use std::path::Path;
use std::process::{Command, Output};

/// Runs the program in the root of the sources.
pub(crate) fn run(arguments: &[&str]) -> Output {
    Command::new(crate::PROGRAM)
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .expect("the program runs")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

/// Runs a command that must succeed. Returns its output.
pub(crate) fn stdout(arguments: &[&str]) -> String {
    let output = run(arguments);
    let error = text(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    text(&output.stdout).trim_end().to_owned()
}

/// Runs a command that must end with this exit code. Returns its messages.
pub(crate) fn failure(arguments: &[&str], code: i32) -> String {
    let output = run(arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    error
}

/// Returns what bash replies to a question once it has loaded a script.
pub(crate) fn bash(script: &str, question: &str) -> String {
    let output = Command::new("bash")
        .args(["-euc", &format!("{script}\n{question}")])
        .output()
        .expect("bash runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).trim().to_owned()
}
