//! The laboratory's command line.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};
use isthmus_lab::{
    bench::{self, Outcome, Row, Thoroughness},
    demo,
    isthmus::{Engine, Mechanism},
    leftovers,
    world::{Live, Narrow},
};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};

/// Builds networks in namespaces and measures gateways in them. Needs root.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compare Isthmus with the kernel and other gateways; writes JSON and prints a table.
    Bench {
        /// Only these rows, separated by commas; all if absent.
        #[arg(long, value_delimiter = ',')]
        rows: Vec<String>,
        /// One short repetition of each row.
        #[arg(long)]
        quick: bool,
        /// Where the JSON goes.
        #[arg(long, default_value = "bench/latest.json")]
        output: PathBuf,
    },
    /// Measure the kernel and other gateways alone, once each.
    References {
        /// Short measurements.
        #[arg(long)]
        quick: bool,
    },
    /// Show an IPv6-only host reaching an IPv4-only server through each engine.
    Demo,
    /// Build the demo's network with a running gateway, and keep it until Ctrl-C.
    World {
        /// xdp, tc or user
        #[arg(long, default_value = "xdp")]
        engine: String,
        /// siit or nat64
        #[arg(long, default_value = "nat64")]
        mechanism: String,
    },
    /// Remove what an interrupted lab has left behind.
    Clean,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments.command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("isthmus-lab: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    clean_up_when_interrupted()?;
    for name in leftovers::sweep() {
        eprintln!("removed the leftover {name}");
    }
    match command {
        Command::Bench {
            rows,
            quick,
            output,
        } => benchmark(&rows, thoroughness(quick), &output),
        Command::References { quick } => {
            bench::references(
                &thoroughness(quick).effort(),
                |(name, result)| match result {
                    Ok(figure) => println!("{name:<26} {figure}"),
                    Err(error) => println!("{name:<26} not run: {error}"),
                },
            );
            Ok(ExitCode::SUCCESS)
        }
        Command::Demo => Ok(if demo::run()? {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }),
        Command::World { engine, mechanism } => keep(&engine, &mechanism),
        Command::Clean => Ok(ExitCode::SUCCESS),
    }
}

fn thoroughness(quick: bool) -> Thoroughness {
    if quick {
        Thoroughness::Quick
    } else {
        Thoroughness::Full
    }
}

fn keep(engine: &str, mechanism: &str) -> anyhow::Result<ExitCode> {
    let Some(engine) = Engine::ALL.into_iter().find(|known| known.name() == engine) else {
        bail!("no engine is called {engine}; there are xdp, tc and user");
    };
    let mechanism = match mechanism {
        "siit" => Mechanism::Siit,
        "nat64" => Mechanism::Nat64,
        other => bail!("the lab has no world for {other}; there are siit and nat64"),
    };
    let live = Live::build(engine, mechanism, Narrow::Nowhere)?;
    for node in ["host6", "router6", "gateway", "router4", "host4"] {
        println!(
            "ip netns exec {} bash",
            live.world.network.node(node)?.name()
        );
    }
    println!("from host6: curl http://www.lab.test/    Ctrl-C ends it");
    loop {
        std::thread::park();
    }
}

/// Exit code 0 if all rows were measured and met their targets, 2 if not.
fn benchmark(
    names: &[String],
    thoroughness: Thoroughness,
    output: &Path,
) -> anyhow::Result<ExitCode> {
    let all = Row::all();
    let mut rows = Vec::new();
    for name in names {
        match all.iter().find(|row| row.name == name) {
            Some(row) => rows.push(*row),
            None => bail!(
                "no row is called {name}; there are {}",
                all.map(|row| row.name).join(", ")
            ),
        }
    }
    if names.is_empty() {
        rows.extend(all);
    }
    println!("{}", bench::HEADING);
    let report = bench::run(&rows, thoroughness, |row| println!("{row}"))?;
    let mut json = serde_json::to_string_pretty(&report)?;
    json.push('\n');
    if let Some(directory) = output.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(output, json).with_context(|| format!("cannot write {}", output.display()))?;
    println!("written to {}", output.display());
    let missing = report
        .rows
        .iter()
        .filter(|row| matches!(row.outcome, Outcome::NotRun { .. }))
        .count();
    let missed = report
        .rows
        .iter()
        .filter(|row| row.met == Some(false))
        .count();
    println!(
        "{} rows: {missed} below target, {missing} not run",
        report.rows.len()
    );
    Ok(if missing + missed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(2)
    })
}

/// Namespaces and processes outlive an interrupted program: remove them first.
fn clean_up_when_interrupted() -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            leftovers::sweep_own();
            std::process::exit(130);
        }
    });
    Ok(())
}
