//! `isthmus translate`: a gateway on a capture file.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use isthmus_engine::bpf::Hook;
use isthmus_engine::offline::{self, Summary};
use isthmus_gateway::capture::{self, Programs};
use isthmus_gateway::config::Document;

use super::configuration;

const STDIN: &str = "/dev/stdin";
const STDOUT: &str = "/dev/stdout";

/// Translate the packets of a capture file
///
/// Every IP packet of IN passes through the instances of CONFIG, in their order. The resulting packets go to
/// OUT, as raw IP, with the time of the packet that caused them. The times of the packets are the clock: timers
/// expire between them as in a network. IN is a pcap or pcapng file of Ethernet frames, Linux cooked frames or raw IP
/// packets. Frames that carry other protocols are left out. `-` in the place of IN or OUT is the standard input or
/// output. MTUs are those of `[link]` in CONFIG.
///
/// Use this to try and to test a configuration. All rules are those of the running gateway. With
/// `--engine xdp` or `tc` the packets pass through the same BPF programs.
#[derive(Args, Debug)]
pub(crate) struct Translate {
    /// The configuration
    config: PathBuf,
    /// The capture file to read
    input: PathBuf,
    /// The capture file to write
    output: PathBuf,
    /// The engine that translates
    #[arg(long, value_enum, default_value_t = EngineKind::User)]
    engine: EngineKind,
    /// Write all counters to this file, as a JSON object of names and numbers
    #[arg(long, value_name = "FILE.json")]
    counters: Option<PathBuf>,
    /// Repeat the random choices (ports, identifications) in every run with this number
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Do not print the number of packets
    #[arg(long, short)]
    quiet: bool,
}

/// The engines that can run on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EngineKind {
    /// The user-space engine
    User,
    /// The XDP program (needs root)
    Xdp,
    /// The tc program (needs root)
    Tc,
}

impl Translate {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let document = match configuration::read(&self.config)? {
            Ok(document) => document,
            Err(code) => return Ok(code),
        };
        if let Some((name, _)) = document.discoveries().next() {
            bail!(
                "{}: the prefix of \"{name}\" is discovered by a running gateway only: write it in place of \"auto\"",
                self.config.display()
            );
        }
        self.spare_inputs()?;
        let summary = self.translate(&document)?;
        if let Some(path) = &self.counters {
            let counters: BTreeMap<_, _> = summary
                .counters
                .iter()
                .map(|(counter, count)| (counter.name(), count))
                .collect();
            let json = serde_json::to_string_pretty(&counters)? + "\n";
            fs::write(path, json).with_context(|| format!("cannot write {}", path.display()))?;
        }
        if !self.quiet {
            eprintln!(
                "{} packets in, {} packets out, {} frames without IP",
                summary.read, summary.written, summary.other
            );
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Refuses to write over a file that is read, whatever its name or link.
    fn spare_inputs(&self) -> Result<()> {
        let outputs = [Some(&self.output), self.counters.as_ref()];
        for output in outputs.into_iter().flatten() {
            for input in [&self.config, &self.input] {
                let same = identity(input, STDIN).zip(identity(output, STDOUT));
                if same.is_some_and(|(input, output)| input == output) {
                    bail!(
                        "{} and {} are the same file, which would be lost: name another one to write",
                        input.display(),
                        output.display()
                    );
                }
            }
        }
        Ok(())
    }

    fn translate(&self, document: &Document) -> Result<Summary> {
        let seed = match self.seed {
            Some(seed) => seed,
            None => random()?,
        };
        let hook = match self.engine {
            EngineKind::User => {
                let mut translator = capture::user(document, seed)?;
                return Ok(offline::run(&mut translator, &self.input, &self.output)?);
            }
            EngineKind::Xdp => Hook::Xdp,
            EngineKind::Tc => Hook::Tc,
        };
        let mut translator = capture::kernel(document, seed, Programs::Fresh(hook))?;
        Ok(offline::run(&mut translator, &self.input, &self.output)?)
    }
}

/// The device and inode of a file that writing would destroy; `-` is `standard`.
fn identity(path: &Path, standard: &str) -> Option<(u64, u64)> {
    let named = match path == Path::new("-") {
        true => Path::new(standard),
        false => path,
    };
    let metadata = fs::metadata(named).ok()?;
    metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
}

fn random() -> Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).context("cannot get random numbers")?;
    Ok(u64::from_ne_bytes(bytes))
}
