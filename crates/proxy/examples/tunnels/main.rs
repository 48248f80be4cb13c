//! Tunnels by `CONNECT` through this proxy and through squid, each alone on one processor, in turns: how many in a
//! second, and how many octets through one.
//!
//! `cargo run --release --package isthmus-proxy --example tunnels`; squid is left out if it is not installed. What
//! counts is the ratio of two rows of one run.

mod load;
mod subject;

use std::env;

use subject::{Subject, serve};

/// Turns of every subject, of which the median counts.
const TURNS: usize = 5;
/// Clients that open tunnels at the same time.
const CLIENTS: [usize; 3] = [1, 10, 100];

fn main() -> std::io::Result<()> {
    let mut arguments = env::args().skip(1);
    if arguments.next().as_deref() == Some("serve") {
        return serve();
    }
    let server = load::Server::start()?;
    let subjects: Vec<Subject> = [Subject::isthmus, Subject::squid]
        .iter()
        .filter_map(|start| start().inspect_err(|why| eprintln!("skipped: {why}")).ok())
        .collect();
    println!("{:<10} {:>24} {:>14}", "subject", "clients", "median");
    for clients in CLIENTS {
        row(
            &subjects,
            &format!("{clients} clients, tunnels/s"),
            |subject| load::tunnels_per_second(subject, &server, clients),
        )?;
    }
    row(&subjects, "CPU us per tunnel", |subject| {
        let before = subject.cpu_milliseconds()?;
        let rate = load::tunnels_per_second(subject, &server, 10)?;
        let used = subject.cpu_milliseconds()? - before;
        Ok(used * 1e3 / (rate * load::TURN.as_secs_f64()))
    })?;
    row(&subjects, "bulk, MB/s", |subject| {
        load::bulk(subject, &server)
    })?;
    row(&subjects, "bulk, CPU ms per GB", |subject| {
        let before = subject.cpu_milliseconds()?;
        load::bulk(subject, &server)?;
        Ok((subject.cpu_milliseconds()? - before) / (load::BULK as f64 / 1e9))
    })
}

/// Measures all subjects in turns.
fn row(
    subjects: &[Subject],
    what: &str,
    measure: impl Fn(&Subject) -> std::io::Result<f64>,
) -> std::io::Result<()> {
    let mut found = vec![Vec::new(); subjects.len()];
    for _ in 0..TURNS {
        for (subject, found) in subjects.iter().zip(&mut found) {
            found.push(measure(subject)?);
        }
    }
    for (subject, found) in subjects.iter().zip(&mut found) {
        found.sort_by(f64::total_cmp);
        println!("{:<10} {what:>24} {:>14.1}", subject.name, found[TURNS / 2]);
    }
    Ok(())
}
