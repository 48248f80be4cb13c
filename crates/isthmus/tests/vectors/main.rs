//! The conformance vectors (`vectors/*.json`) against the real engines. Each vector runs in every engine, as in
//! `isthmus translate`. The output is compared with the RFC's expectation and checked by an independent encoder.
//!
//! There is one test per vector and engine, named `engine::vector`; `cargo test --test vectors -- rfc7915-4.2`
//! runs some of them. Engines that need root are reported as ignored without it, and the engine `bare` without QEMU, and in
//! vectors that it cannot run by its design. A vector in
//! `vectors/known-failing.txt` must fail. If it passes, delete its line.
//!
//! The tests `traffic::gateway` send random traffic through all engines at once, and compare them.

mod bare;
mod case;
mod choices;
mod diff;
mod judge;
mod names;
mod pcap;
mod programs;
mod referee;
mod run;
mod sources;
mod traffic;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};

use case::{Case, Collection};

/// The engines, and what each needs.
const ENGINES: [(&str, Need); 4] = [
    ("user", Need::Nothing),
    ("xdp", Need::Root),
    ("tc", Need::Root),
    ("bare", Need::Emulator),
];

/// The needs of an engine to run here.
#[derive(Clone, Copy, PartialEq)]
enum Need {
    Nothing,
    /// It is in the kernel.
    Root,
    /// It is a machine of its own.
    Emulator,
}

impl Need {
    /// Why the engine cannot run, if so.
    fn missing(self) -> Option<String> {
        match self {
            Self::Root if !run::is_root() => Some("needs root".to_owned()),
            Self::Emulator => bare::missing(),
            Self::Nothing | Self::Root => None,
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let vectors = match Collection::load() {
        Ok(vectors) => vectors,
        Err(error) => {
            eprintln!("vectors: {error}");
            return ExitCode::FAILURE;
        }
    };
    let known = Arc::new(vectors.known_failing);
    let mut trials = vec![
        sources::trial(),
        expectations(&vectors.cases),
        known_names(&vectors.cases, &known),
    ];
    println!(
        "{} vectors; {} lines of known failures",
        vectors.cases.len(),
        known.len()
    );
    let reasons = ENGINES.map(|(engine, need)| {
        let missing = known.get(&format!("{engine}::*"));
        let reason = missing.cloned().or_else(|| need.missing());
        if let Some(reason) = &reason {
            println!(
                "{engine}: {} vectors skipped: {reason}",
                vectors.cases.len()
            );
        }
        if missing.is_some() {
            trials.push(still_missing(engine, &vectors.cases[0]));
        }
        if need == Need::Root {
            let of_engine = in_the_kernel(engine, &vectors.cases);
            trials.extend(of_engine.map(|trial| trial.with_ignored_flag(reason.is_some())));
        }
        reason
    });
    // Engines take turns: a kernel engine has one set of programs, which its vectors share.
    let beyond = Beyond::of(&vectors.cases);
    for case in &vectors.cases {
        for ((engine, need), reason) in ENGINES.into_iter().zip(&reasons) {
            let skip = reason.is_some()
                || !case.runs_on(engine)
                || need == Need::Emulator && beyond.has(case);
            let (case, known) = (Arc::clone(case), Arc::clone(&known));
            let trial = Trial::test(format!("{engine}::{}", case.name), move || {
                let outcome = run::run(&case, engine);
                verdict(&case, listed(&known, engine, &case.name), outcome)
            });
            trials.push(trial.with_ignored_flag(skip));
        }
    }
    trials.extend(traffic::trials());
    let conclusion = libtest_mimic::run(&arguments, trials);
    bare::end();
    conclusion.exit_code()
}

/// More that is to hold of an engine in the kernel.
fn in_the_kernel(engine: &'static str, cases: &[Arc<Case>]) -> [Trial; 4] {
    let (case, errors, fragments) = (Arc::clone(&cases[0]), cases.to_vec(), cases.to_vec());
    let hairpins = cases.to_vec();
    [
        Trial::test(format!("{engine}::by-command"), move || {
            run::command_does_the_same(&case, engine).map_err(Failed::from)
        }),
        Trial::test(
            format!("{engine}::icmp-errors-without-the-slow-path"),
            move || programs::errors(&errors, engine).map_err(Failed::from),
        ),
        Trial::test(
            format!("{engine}::fragments-without-the-slow-path"),
            move || programs::fragments(&fragments, engine).map_err(Failed::from),
        ),
        Trial::test(
            format!("{engine}::hairpins-without-the-slow-path"),
            move || programs::hairpins(&hairpins, engine).map_err(Failed::from),
        ),
    ]
}

/// The vectors that a bare machine cannot run by its design.
struct Beyond(BTreeSet<String>);

impl Beyond {
    /// Finds them, and says how many there are for each reason.
    fn of(cases: &[Arc<Case>]) -> Self {
        let mut reasons: BTreeMap<String, u32> = BTreeMap::new();
        let mut names = BTreeSet::new();
        let missing = Need::Emulator.missing().is_some();
        for case in cases.iter().filter(|_| !missing) {
            if let Some(reason) = bare::beyond(case) {
                *reasons.entry(reason).or_default() += 1;
                names.insert(case.name.clone());
            }
        }
        for (reason, count) in reasons {
            println!("bare: {count} of the vectors skipped: {reason}");
        }
        Self(names)
    }

    fn has(&self, case: &Case) -> bool {
        self.0.contains(&case.name)
    }
}

/// Returns the reason why a vector is known to fail in an engine.
fn listed<'a>(known: &'a BTreeMap<String, String>, engine: &str, name: &str) -> Option<&'a String> {
    known
        .get(name)
        .or_else(|| known.get(&format!("{engine}::{name}")))
}

/// Checks that an engine listed as missing is missing.
fn still_missing(engine: &'static str, case: &Arc<Case>) -> Trial {
    let case = Arc::clone(case);
    Trial::test(format!("known_failing::{engine}"), move || {
        match run::run(&case, engine) {
            Err(_) => Ok(()),
            Ok(()) => {
                Err(format!("{engine} runs; delete its line in vectors/known-failing.txt").into())
            }
        }
    })
}

/// Inverts the result of a vector that is known to fail.
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

/// The expected packets pass the referee.
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
    unknown.retain(|name| {
        let (engine, name) = name.split_once("::").unwrap_or((ENGINES[0].0, name));
        let vector = name == "*" || cases.iter().any(|case| case.name == name);
        !vector || !ENGINES.iter().any(|(known, _)| *known == engine)
    });
    Trial::test("known_failing::names_vectors", move || {
        if unknown.is_empty() {
            Ok(())
        } else {
            Err(format!("no such vectors: {unknown:?}").into())
        }
    })
}
