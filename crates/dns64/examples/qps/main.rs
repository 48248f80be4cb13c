//! Cached answers per second on one core, beside unbound's dns64 module.
//!
//! ```text
//!   this process, CPU 1                    CPU 0
//!   generator  ── AAAA, 64 under way ──▶   server under test: ours, then unbound, in turns
//!   resolver   ◀── A and AAAA, once ────   (a process of its own, pinned, one thread)
//! ```
//!
//! Fair because both are separate processes on the same core, get the same names from the same
//! resolver and the same packets from the same generator, in turns, and every response is checked.
//!
//! `cargo run --release -p isthmus-dns64 --example qps [-- SECONDS ROUNDS]`

mod load;
mod resolver;
mod subject;

use std::process::ExitCode;
use std::time::Duration;

use subject::Subject;

/// Different names that are asked for.
pub(crate) const NAMES: usize = 1_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["serve", resolver] => subject::serve(resolver),
        [] => compare(1.0, 3),
        [seconds, rounds] => match (seconds.parse(), rounds.parse()) {
            (Ok(seconds), Ok(rounds)) => compare(seconds, rounds),
            _ => Err("usage: qps [SECONDS ROUNDS]".into()),
        },
        _ => Err("usage: qps [SECONDS ROUNDS]".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("qps: {error}");
            ExitCode::FAILURE
        }
    }
}

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn compare(seconds: f64, rounds: usize) -> Fallible<()> {
    let resolver = resolver::start()?;
    let mut subjects = vec![Subject::ours(resolver)?];
    match Subject::unbound(resolver) {
        Ok(unbound) => subjects.push(unbound),
        Err(error) => eprintln!("without unbound: {error}"),
    }
    load::pin_to_last_cpu();
    for subject in &subjects {
        load::warm(subject.address)?;
    }
    let mut results = vec![Vec::new(); subjects.len()];
    println!(
        "{:<10} {:>12} {:>16} {:>8}",
        "", "answers/s", "per CPU second", "lost"
    );
    for _ in 0..rounds {
        for (subject, results) in subjects.iter().zip(&mut results) {
            let before = subject.cpu_seconds()?;
            let run = load::run(subject.address, Duration::from_secs_f64(seconds))?;
            let busy = subject.cpu_seconds()? - before;
            let rate = run.answered as f64 / run.seconds;
            let per_cpu = run.answered as f64 / busy;
            println!(
                "{:<10} {rate:>12.0} {per_cpu:>16.0} {:>8}",
                subject.name, run.lost
            );
            results.push((rate, per_cpu));
        }
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let medians = |which: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        results
            .iter()
            .map(|runs| median(runs.iter().map(which).collect()))
            .collect()
    };
    // Answers per second of processor time are what a whole core would give: on a machine that
    // does other things too, they are the steadier figure.
    for (name, medians) in [
        ("dns64-qps", medians(|run| run.0)),
        ("dns64-qps-per-cpu-second", medians(|run| run.1)),
    ] {
        if let [ours, unbound] = medians[..] {
            println!(
                "{{\"name\":\"{name}\",\"value\":{ours:.0},\"unit\":\"answers/s\",\
                 \"baseline\":{{\"name\":\"unbound dns64\",\"value\":{unbound:.0}}},\"ratio\":{:.2}}}",
                ours / unbound
            );
        }
    }
    Ok(())
}
