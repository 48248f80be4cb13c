//! Runs all vectors of one configuration in one go.
//!
//! To load a BPF program takes the verifier seconds, so the kernel's engines do not get a run for
//! each vector. The vectors of a configuration follow each other on one clock, far enough apart for
//! every session and fragment to expire in between; each is judged by what comes out in its window,
//! and the counters are judged once, as sums. Vectors whose inputs depend on earlier outputs have
//! runs of their own.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::case::Case;
use super::judge;
use super::pcap::Record;
use super::run::{self, Outcome};

/// Microseconds from one vector to the next: longer than any lifetime.
const WINDOW: u64 = 100_000 * 1_000_000;

/// The vectors of one configuration, and what came of them in one engine.
pub(crate) struct Batch {
    engine: &'static str,
    cases: Vec<Arc<Case>>,
    outcome: OnceLock<Result<Outcome, String>>,
}

impl Batch {
    /// The batches of an engine, by the text of their configuration.
    pub(crate) fn all(engine: &'static str, cases: &[Arc<Case>]) -> BTreeMap<String, Arc<Self>> {
        let mut groups: BTreeMap<String, Vec<Arc<Case>>> = BTreeMap::new();
        for case in cases
            .iter()
            .filter(|case| Self::takes(case) && case.runs_on(engine))
        {
            let group = groups.entry(case.configuration.clone()).or_default();
            group.push(Arc::clone(case));
        }
        let batch = |cases| {
            Arc::new(Self {
                engine,
                cases,
                outcome: OnceLock::new(),
            })
        };
        groups
            .into_iter()
            .map(|(text, cases)| (text, batch(cases)))
            .collect()
    }

    /// Whether a vector can share a run.
    pub(crate) fn takes(case: &Case) -> bool {
        case.refused.is_none() && case.steps.iter().all(|step| step.input.choices.is_empty())
    }

    /// Judges one vector of the batch, but for its counters.
    pub(crate) fn judge(&self, case: &Case) -> Result<(), String> {
        let outcome = self.outcome()?;
        let index = self.cases.iter().position(|other| other.name == case.name);
        let start = WINDOW * index.ok_or("not in this batch")? as u64;
        let window = start..start + WINDOW;
        let own = outcome
            .packets
            .iter()
            .filter(|packet| window.contains(&packet.at));
        let packets: Vec<Record> = own
            .map(|packet| Record {
                at: packet.at - start,
                bytes: packet.bytes.clone(),
            })
            .collect();
        judge::judge_packets(case, case.steps.len(), &packets)
    }

    /// Judges the counters of the whole batch; vectors that are known to fail make that impossible.
    pub(crate) fn judge_counters(&self) -> Result<(), String> {
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for (name, count) in self.cases.iter().flat_map(|case| &case.counters) {
            *sums.entry(name.clone()).or_default() += count;
        }
        let problems = judge::compare_ends(&sums, &self.outcome()?.counters);
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems.join("\n"))
        }
    }

    /// The names of its vectors.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.cases.iter().map(|case| &case.name[..])
    }

    fn outcome(&self) -> Result<&Outcome, String> {
        let outcome = self.outcome.get_or_init(|| {
            let inputs: Vec<Record> = (0..)
                .zip(&self.cases)
                .flat_map(|(index, case)| {
                    let shifted = move |at: u64| at + WINDOW * index;
                    case.steps.iter().map(move |step| Record {
                        at: shifted(step.at),
                        bytes: step.input.bytes.clone(),
                    })
                })
                .collect();
            run::translate_alone(&self.cases[0].configuration, self.engine, &inputs)
        });
        outcome.as_ref().map_err(String::clone)
    }
}
