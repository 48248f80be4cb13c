//! `isthmus lab`: the laboratory, a program of its own that `isthmus` starts.

mod advise;
mod attack;
mod bench;
mod bound;
mod completions;
mod exact;
mod experiments;
mod outcome;
mod references;
mod run;
mod tester;
mod world;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use isthmus::reader;
use isthmus_lab::{experiments::demo, network::sweep};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Show and measure gateways in networks of their own (needs root, but for what only calculates)
///
/// Hosts, routers, links and servers are made in network namespaces and removed at the end; the
/// network of the machine is not touched. Every command that makes some first removes what an interrupted one
/// has left behind.
#[derive(Parser, Debug)]
#[command(name = "isthmus-lab", bin_name = "isthmus lab", version)]
struct Lab {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show an IPv6-only host reaching an IPv4-only server through each engine
    Demo,
    Advise(advise::Advise),
    Attack(attack::Attacks),
    Bench(bench::Bench),
    Bound(bound::Bound),
    Exact(exact::Exact),
    References(references::References),
    Run(run::Run),
    Experiments(experiments::Experiments),
    Subjects(experiments::Subjects),
    World(world::World),
    Tester(tester::Tester),
    Report(outcome::Report),
    Diff(outcome::Compare),
    Claims(outcome::Claims),
    #[command(hide = true)]
    Edge(experiments::Edge),
    /// Remove what an interrupted lab has left behind
    Clean,
    #[command(hide = true)]
    Completions(completions::Completions),
}

fn main() -> ExitCode {
    reader::end_without(|| drop(sweep::sweep_own()));
    match Lab::parse().run() {
        Ok(code) => code,
        Err(error) => reader::status(&error).unwrap_or_else(|| {
            eprintln!("isthmus: {error:#}");
            ExitCode::FAILURE
        }),
    }
}

impl Action {
    /// Returns whether the command makes namespaces, which may be left behind.
    fn makes_networks(&self) -> bool {
        match self {
            Self::Bound(_)
            | Self::Advise(_)
            | Self::Experiments(_)
            | Self::Subjects(_)
            | Self::Tester(_)
            | Self::Report(_)
            | Self::Diff(_)
            | Self::Claims(_)
            | Self::Completions(_) => false,
            Self::Demo
            | Self::Attack(_)
            | Self::Bench(_)
            | Self::Exact(_)
            | Self::References(_)
            | Self::Run(_)
            | Self::World(_)
            | Self::Edge(_)
            | Self::Clean => true,
        }
    }
}

impl Lab {
    fn run(&self) -> Result<ExitCode> {
        if self.action.makes_networks() {
            clean_up_when_interrupted()?;
            for name in sweep::sweep() {
                eprintln!("removed the leftover {name}");
            }
        }
        match &self.action {
            Action::Demo if demo::run()? => Ok(ExitCode::SUCCESS),
            Action::Demo => Ok(ExitCode::FAILURE),
            Action::Advise(advise) => advise.run(),
            Action::Attack(attack) => attack.run(),
            Action::Bench(bench) => bench.run(),
            Action::Bound(bound) => bound.run(),
            Action::Exact(exact) => exact.run(),
            Action::References(references) => references.run(),
            Action::Run(run) => run.run(),
            Action::Experiments(experiments) => experiments.run(),
            Action::Subjects(subjects) => subjects.run(),
            Action::World(world) => world.run(),
            Action::Tester(tester) => tester.run(),
            Action::Report(report) => report.run(),
            Action::Diff(compare) => compare.run(),
            Action::Claims(claims) => claims.run(),
            Action::Edge(edge) => edge.run(),
            Action::Clean => Ok(ExitCode::SUCCESS),
            Action::Completions(completions) => completions.run(),
        }
    }
}

/// Namespaces and processes outlive an interrupted program: remove them first.
fn clean_up_when_interrupted() -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            sweep::sweep_own();
            std::process::exit(130);
        }
    });
    Ok(())
}
