//! `isthmus translate`: a gateway on a capture file.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use clap::{Args, ValueEnum};
use isthmus_core::time::Instant;
use isthmus_engine::bpf::{Hook, KernelTranslator};
use isthmus_engine::memory::Region;
use isthmus_engine::offline::{self, Summary, UserTranslator};
use isthmus_engine::ruleset::Ruleset;
use isthmus_gateway::config::{Compiled, Document, Secret};

use super::configuration;

/// Translate the packets of a capture file
///
/// Every IP packet of IN goes through the instances of CONFIG, in their order, and every packet
/// that comes of it goes to OUT, as raw IP and with the time of the packet that caused it. The
/// times of the packets are the clock: timers expire between them as they would in a network. IN
/// is a pcap file of Ethernet frames or of raw IP packets; frames that carry something else are
/// left out. MTUs are those of `[link]` in CONFIG.
///
/// This is the way to try and to test a configuration. All rules are those of the running gateway,
/// and with `--engine xdp` or `tc` it is the very BPF programs that see the packets.
#[derive(Args, Debug)]
pub(crate) struct Translate {
    /// The configuration
    config: PathBuf,
    /// The capture file to read
    input: PathBuf,
    /// The capture file to write
    output: PathBuf,
    /// What translates
    #[arg(long, value_enum, default_value_t = EngineKind::User)]
    engine: EngineKind,
    /// Write all counters to this file, as a JSON object of names and numbers
    #[arg(long, value_name = "FILE.json")]
    counters: Option<PathBuf>,
    /// Make the same choices (ports, identifications) in every run with this number
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Do not tell how many packets there were
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
        let summary = self.translate(&document)?;
        if let Some(path) = &self.counters {
            let counters: BTreeMap<_, _> = summary
                .counters
                .iter()
                .map(|(counter, count)| (counter.name(), count))
                .collect();
            let json = serde_json::to_string_pretty(&counters)? + "\n";
            fs::write(path, json).with_context(|| format!("can not write {}", path.display()))?;
        }
        if !self.quiet {
            eprintln!(
                "{} packets in, {} packets out, {} frames without IP",
                summary.read, summary.written, summary.other
            );
        }
        Ok(ExitCode::SUCCESS)
    }

    fn translate(&self, document: &Document) -> Result<Summary> {
        let seed = match self.seed {
            Some(seed) => seed,
            None => random()?,
        };
        let compiled = document.compile(&secret(seed))?;
        let ruleset = compiled.ruleset()?;
        match self.engine {
            EngineKind::User => {
                let state = Region::anonymous(compiled.state_lines)
                    .context("no memory for bindings and sessions")?;
                insert_static(&compiled, &state)?;
                let mut translator = UserTranslator::new(ruleset, state, seed);
                Ok(offline::run(&mut translator, &self.input, &self.output)?)
            }
            EngineKind::Xdp => self.in_kernel(Hook::Xdp, &compiled, ruleset, seed),
            EngineKind::Tc => self.in_kernel(Hook::Tc, &compiled, ruleset, seed),
        }
    }

    fn in_kernel(
        &self,
        hook: Hook,
        compiled: &Compiled,
        ruleset: Ruleset,
        seed: u64,
    ) -> Result<Summary> {
        let mut translator = KernelTranslator::new(hook, ruleset, compiled.state_lines, seed)
            .context("`--engine xdp` and `--engine tc` run BPF programs, which takes root")?;
        insert_static(compiled, translator.state())?;
        Ok(offline::run(&mut translator, &self.input, &self.output)?)
    }
}

fn insert_static(compiled: &Compiled, state: &Region) -> Result<()> {
    compiled
        .insert_static(state, Instant::default())
        .map_err(|(binding, error)| {
            anyhow!(
                "the static binding of {:?} can not be made: {error:?}",
                binding.outside
            )
        })
}

fn random() -> Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).context("no random numbers")?;
    Ok(u64::from_ne_bytes(bytes))
}

/// The key of the tables for a seed: here nobody is to be kept from guessing it, but the same seed
/// must give the same choices (SplitMix64).
fn secret(seed: u64) -> Secret {
    let mut state = seed;
    std::array::from_fn(|_| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    })
}
