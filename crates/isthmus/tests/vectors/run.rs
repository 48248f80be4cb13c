//! Runs `isthmus translate` on a vector.
//!
//! An input may hold a value that the translator chose before, such as the port to answer to. The
//! vector is then run as far as its inputs are known, the values are read from what came out, and
//! it is run again from the start: with a seed the choices are the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::case::Case;
use super::choices::{self, Known};
use super::judge;
use super::pcap::{self, Record};

/// What a run left behind.
pub(crate) struct Outcome {
    pub(crate) packets: Vec<Record>,
    pub(crate) counters: BTreeMap<String, u64>,
}

/// Whether engines that load BPF programs can run.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|data| std::os::unix::fs::MetadataExt::uid(&data) == 0)
}

/// Runs a vector in an engine; the error is a text for people.
pub(crate) fn run(case: &Case, engine: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    if let Some(mention) = &case.refused {
        return match translate(folder.path(), &case.configuration, engine, &[]) {
            Ok(_) => Err("the configuration is accepted".to_owned()),
            Err(error) if error.contains(mention) => Ok(()),
            Err(error) => Err(format!(
                "refused, but without a word of `{mention}`:\n{error}"
            )),
        };
    }
    let mut known = Known::new();
    loop {
        let ready = case
            .steps
            .iter()
            .take_while(|step| choices::complete(&step.input, &known))
            .count();
        let inputs: Vec<Record> = case.steps[..ready]
            .iter()
            .map(|step| Record {
                at: step.at,
                bytes: choices::filled(&step.input, &known),
            })
            .collect();
        let outcome = translate(folder.path(), &case.configuration, engine, &inputs)?;
        if ready == case.steps.len() {
            return judge::judge(case, &inputs, &outcome);
        }
        let before = known.len();
        judge::learn(case, ready, &outcome.packets, &mut known);
        if known.len() == before {
            return Err(format!(
                "step {} needs a value that no output before it holds\n{}",
                ready + 1,
                judge::judge(case, &inputs, &outcome)
                    .err()
                    .unwrap_or_default()
            ));
        }
    }
}

/// One run in a folder of its own.
pub(crate) fn translate_alone(
    configuration: &str,
    engine: &str,
    inputs: &[Record],
) -> Result<Outcome, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    translate(folder.path(), configuration, engine, inputs)
}

fn translate(
    folder: &Path,
    text: &str,
    engine: &str,
    inputs: &[Record],
) -> Result<Outcome, String> {
    let path = |name: &str| folder.join(name);
    let (configuration, input, output, counters) = (
        path("vector.toml"),
        path("in.pcap"),
        path("out.pcap"),
        path("counters.json"),
    );
    fs::write(&configuration, text).map_err(|e| e.to_string())?;
    fs::write(&input, pcap::write(inputs)).map_err(|e| e.to_string())?;
    let run = Command::new(env!("CARGO_BIN_EXE_isthmus"))
        .arg("translate")
        .args([&configuration, &input, &output])
        .args(["--engine", engine, "--seed", "1", "--counters"])
        .arg(&counters)
        .output()
        .map_err(|e| e.to_string())?;
    if !run.status.success() {
        return Err(format!(
            "isthmus translate: {}\n{}",
            run.status,
            String::from_utf8_lossy(&run.stderr)
        ));
    }
    let read = |path: &Path| fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    Ok(Outcome {
        packets: pcap::read(&read(&output)?)?,
        counters: serde_json::from_slice(&read(&counters)?)
            .map_err(|e| format!("counters: {e}"))?,
    })
}
