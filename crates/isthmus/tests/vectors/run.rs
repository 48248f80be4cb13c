//! Runs a vector in an engine: in user space by `isthmus translate`, in the kernel as that command does it, but
//! with programs that stay loaded, because loading takes seconds.
//!
//! An input may contain a value that the translator chose before, such as the port to answer to. The vector then
//! runs as far as its inputs are known, the values are read from the output, and it runs again from the start. A
//! seed repeats the choices.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use isthmus_engine::bpf::{Hook, KernelTranslator};
use isthmus_engine::offline;
use isthmus_gateway::capture::{self, Programs};
use isthmus_gateway::config;
use isthmus_lab::network::process;

use super::bare;
use super::case::Case;
use super::choices::{self, Known};
use super::judge;
use super::pcap::{self, Record};

/// The seed of all random choices of a run.
pub(crate) const SEED: u64 = 1;

/// The results of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) packets: Vec<Record>,
    pub(crate) counters: BTreeMap<String, u64>,
}

/// The program: another than that of this build if `ISTHMUS_PROGRAM` names it, such as one for another processor.
fn program() -> PathBuf {
    let other = env::var_os("ISTHMUS_PROGRAM");
    other.map_or_else(|| env!("CARGO_BIN_EXE_isthmus").into(), PathBuf::from)
}

/// Whether engines that load BPF programs can run.
pub(crate) fn is_root() -> bool {
    process::require_root().is_ok()
}

/// Runs a vector in an engine. The error is a text for people.
pub(crate) fn run(case: &Case, engine: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    if let Some(mention) = &case.refused {
        let files = Files::write(folder.path(), &case.configuration, &[])?;
        return match files.by_command(engine) {
            Ok(_) => Err("the configuration is accepted".to_owned()),
            Err(error) if error.contains(mention) => Ok(()),
            Err(error) => Err(format!(
                "refused, but without a word of `{mention}`:\n{error}"
            )),
        };
    }
    let (inputs, outcome) = translate(case, engine)?;
    judge::judge(case, &inputs, &outcome)
}

/// Runs the packets of a vector in an engine, as often as outputs tell what later packets need. Returns them with the outcome.
fn translate(case: &Case, engine: &str) -> Result<(Vec<Record>, Outcome), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
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
        let files = Files::write(folder.path(), &case.configuration, &inputs)?;
        let outcome = match engine {
            "bare" => bare::translate(&case.configuration, &inputs)?,
            _ => files.translate(engine)?,
        };
        if ready == case.steps.len() {
            return Ok((inputs, outcome));
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

/// The program does this itself, in place of these tests.
pub(crate) fn command_does_the_same(case: &Case, engine: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let files = Files::of(folder.path(), case)?;
    let (by_command, here) = (files.by_command(engine)?, files.translate(engine)?);
    if by_command == here {
        return Ok(());
    }
    Err(format!("by command: {by_command:?}\nhere: {here:?}"))
}

/// Runs a vector, and returns what the engine has counted.
pub(crate) fn counters(case: &Case, engine: &str) -> Result<BTreeMap<String, u64>, String> {
    translate(case, engine).map(|(_, outcome)| outcome.counters)
}

/// A folder with a configuration, a capture file, and the results.
struct Files {
    configuration: PathBuf,
    input: PathBuf,
    output: PathBuf,
    counters: PathBuf,
}

impl Files {
    /// Writes the packets of a vector as they stand there, without choices.
    fn of(folder: &Path, case: &Case) -> Result<Self, String> {
        let inputs: Vec<Record> = case
            .steps
            .iter()
            .map(|step| Record {
                at: step.at,
                bytes: step.input.bytes.clone(),
            })
            .collect();
        Self::write(folder, &case.configuration, &inputs)
    }

    fn write(folder: &Path, text: &str, inputs: &[Record]) -> Result<Self, String> {
        let files = Self {
            configuration: folder.join("vector.toml"),
            input: folder.join("in.pcap"),
            output: folder.join("out.pcap"),
            counters: folder.join("counters.json"),
        };
        fs::write(&files.configuration, text).map_err(|e| e.to_string())?;
        fs::write(&files.input, pcap::write(inputs)).map_err(|e| e.to_string())?;
        Ok(files)
    }

    fn translate(&self, engine: &str) -> Result<Outcome, String> {
        match engine {
            "xdp" => self.in_kernel(Hook::Xdp),
            "tc" => self.in_kernel(Hook::Tc),
            _ => self.by_command(engine),
        }
    }

    fn by_command(&self, engine: &str) -> Result<Outcome, String> {
        let run = Command::new(program())
            .arg("translate")
            .args([&self.configuration, &self.input, &self.output])
            .args([
                "--engine",
                engine,
                "--seed",
                &SEED.to_string(),
                "--counters",
            ])
            .arg(&self.counters)
            .output()
            .map_err(|e| e.to_string())?;
        if !run.status.success() {
            return Err(format!(
                "isthmus translate: {}\n{}",
                run.status,
                String::from_utf8_lossy(&run.stderr)
            ));
        }
        let counters = serde_json::from_slice(&read(&self.counters)?);
        Ok(Outcome {
            packets: pcap::read(&read(&self.output)?)?,
            counters: counters.map_err(|e| format!("counters: {e}"))?,
        })
    }

    fn in_kernel(&self, hook: Hook) -> Result<Outcome, String> {
        let loading = config::load(&self.configuration).map_err(|e| e.to_string())?;
        // If a test fails while it has the programs, it does not return them.
        let mut loaded = loaded(hook);
        let mut translator =
            capture::kernel(&loading.document, SEED, programs(hook, loaded.take()))
                .map_err(|e| e.to_string())?;
        let summary = offline::run(&mut translator, &self.input, &self.output);
        *loaded = Some(Box::new(translator));
        let counters = summary.map_err(|e| e.to_string())?.counters;
        Ok(Outcome {
            packets: pcap::read(&read(&self.output)?)?,
            counters: counters
                .iter()
                .map(|(counter, count)| (counter.name().to_owned(), count))
                .collect(),
        })
    }
}

/// The programs of a hook, if they are loaded and unused.
pub(crate) type Loaded = Option<Box<KernelTranslator>>;
static XDP: Mutex<Loaded> = Mutex::new(None);
static TC: Mutex<Loaded> = Mutex::new(None);

/// The programs of a hook, for as long as a test has them.
pub(crate) fn loaded(hook: Hook) -> MutexGuard<'static, Loaded> {
    let loaded = match hook {
        Hook::Xdp => &XDP,
        Hook::Tc => &TC,
    };
    loaded.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The programs that a test begins with.
pub(crate) fn programs(hook: Hook, loaded: Loaded) -> Programs {
    match loaded {
        Some(used) => Programs::Used(used),
        None => Programs::Fresh(hook),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}
