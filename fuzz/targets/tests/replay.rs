//! Every input of the fuzzers' corpora once: one test for each target.

use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let trials = isthmus_fuzz_targets::ALL
        .map(|(target, run)| Trial::test(target, move || replay(target, run)));
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// Runs a target on all inputs of its corpus. The failure names each input that it fails on.
fn replay(target: &str, run: fn(&[u8])) -> Result<(), Failed> {
    let inputs = unpacked(target)?;
    if inputs.is_empty() {
        return Err(format!("there is no input in fuzz/corpus for {target}").into());
    }
    let mut failed = Vec::new();
    for path in &inputs {
        let input = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        if panic::catch_unwind(|| run(&input)).is_err() {
            failed.push(format!("{target} fails on {}", path.display()));
        }
    }
    if !failed.is_empty() {
        return Err(failed.join("\n").into());
    }
    println!("{target}: {} inputs", inputs.len());
    Ok(())
}

/// Unpacks the corpus of a target, and returns the paths of its inputs in order.
fn unpacked(target: &str) -> Result<Vec<PathBuf>, Failed> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(target);
    if folder.exists() {
        // Inputs of an older corpus.
        fs::remove_dir_all(&folder)?;
    }
    let status = Command::new("bash")
        .args(["-euo", "pipefail", "-c", r#". "$0"; unpack "$1" "$2""#])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus.sh"))
        .arg(target)
        .arg(&folder)
        .status()?;
    if !status.success() {
        return Err(format!("fuzz/corpus.sh cannot unpack {target}: {status}").into());
    }
    let mut inputs = Vec::new();
    for entry in fs::read_dir(&folder)? {
        inputs.push(entry?.path());
    }
    inputs.sort();
    Ok(inputs)
}
