//! The conformance vectors (`vectors/*.json`) against the real program: each is run through
//! `isthmus translate` in every engine, and what comes out is compared with what the RFC says and
//! checked by an encoder that is not ours.
//!
//! One test per vector and engine, named `engine::vector`; `cargo test --test vectors -- rfc7915-4.2`
//! runs a part of them. Engines that need root are reported as ignored without it. A vector in
//! `vectors/known-failing.txt` must fail: one that passes is a line to delete.

mod case;
mod choices;
mod diff;
mod judge;
mod names;
mod pcap;
mod referee;
mod run;
mod sources;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};

use case::{Case, Collection};

/// The engines, and whether they need root.
const ENGINES: [(&str, bool); 3] = [("user", false), ("xdp", true), ("tc", true)];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let vectors = match Collection::load() {
        Ok(vectors) => vectors,
        Err(error) => {
            eprintln!("vectors: {error}");
            return ExitCode::FAILURE;
        }
    };
    let known: Arc<BTreeMap<String, String>> = Arc::new(vectors.known_failing);
    let mut trials = vec![
        sources::trial(),
        expectations(&vectors.cases),
        known_names(&vectors.cases, &known),
    ];
    for (engine, needs_root) in ENGINES {
        let skip = needs_root && !run::is_root();
        if skip {
            println!(
                "{engine}: its {} vectors are skipped: needs root",
                vectors.cases.len()
            );
        }
        for case in &vectors.cases {
            let listed = case.runs_on(engine);
            let (case, known) = (Arc::clone(case), Arc::clone(&known));
            let trial = Trial::test(format!("{engine}::{}", case.name), move || {
                verdict(&case, known.get(&case.name), run::run(&case, engine))
            });
            trials.push(trial.with_ignored_flag(skip || !listed));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Turns the outcome of a vector around if it is known to fail.
fn verdict(case: &Case, known: Option<&String>, outcome: Result<(), String>) -> Result<(), Failed> {
    match (known, outcome) {
        (None, Ok(())) | (Some(_), Err(_)) => Ok(()),
        (None, Err(problem)) => {
            Err(format!("{}\n{}\n{problem}", case.name, case.requirement).into())
        }
        (Some(reason), Ok(())) => Err(format!(
            "passes, but vectors/known-failing.txt lists it ({reason}); delete the line"
        )
        .into()),
    }
}

/// The expected packets themselves are right in the eyes of the referee.
fn expectations(cases: &[Arc<Case>]) -> Trial {
    let cases = cases.to_vec();
    Trial::test("expectations::are_well_formed", move || {
        let problems: Vec<String> = cases
            .iter()
            .filter_map(|case| judge::well_formed(case).err())
            .collect();
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems.join("\n").into())
        }
    })
}

/// Every line of the list of known failures names a vector.
fn known_names(cases: &[Arc<Case>], known: &BTreeMap<String, String>) -> Trial {
    let mut unknown: Vec<String> = known.keys().cloned().collect();
    unknown.retain(|name| !cases.iter().any(|case| case.name == *name));
    Trial::test("known_failing::names_vectors", move || {
        if unknown.is_empty() {
            Ok(())
        } else {
            Err(format!("no such vectors: {unknown:?}").into())
        }
    })
}
