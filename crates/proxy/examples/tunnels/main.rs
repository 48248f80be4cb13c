//! Tunnels by `CONNECT` through this proxy and through squid, each alone on one processor, in turns: how many in a
//! second, and how many octets through one.
//!
//! `cargo run --release --package isthmus-proxy --example tunnels`; squid is left out if it is not installed. With the
//! argument `forwarding`, as root: how many octets through a tunnel between two networks, and how many if the kernel
//! forwards them. What counts is the ratio of two rows of one run.

mod forwarding;
mod load;
mod subject;

use std::env;
use std::io::Error;
use std::net::SocketAddr;

use subject::{Subject, serve};

/// Turns of every subject, of which the median counts.
const TURNS: usize = 5;
/// Clients that open tunnels at the same time.
const CLIENTS: [usize; 3] = [1, 10, 100];

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => compare(),
        ["forwarding"] => forwarding::compare(),
        ["serve"] => serve(SocketAddr::from(([127, 0, 0, 1], 0))),
        ["serve", at] => serve(address(at)?),
        ["server", at] => {
            let _server = load::Server::at(address(at)?)?;
            loop {
                std::thread::park();
            }
        }
        ["bulk", to] => say(load::bulk_between(None, address(to)?)?),
        ["bulk", to, proxy] => say(load::bulk_between(Some(address(proxy)?), address(to)?)?),
        _ => Err(Error::other("wanted: nothing, or `forwarding`")),
    }
}

fn address(text: &str) -> std::io::Result<SocketAddr> {
    text.parse().map_err(Error::other)
}

fn say(number: f64) -> std::io::Result<()> {
    println!("{number}");
    Ok(())
}

fn compare() -> std::io::Result<()> {
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
