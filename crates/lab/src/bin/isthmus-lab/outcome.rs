//! `isthmus lab report`, `diff` and `claims`, which read the directory of a run.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use isthmus_lab::figures::results::Directory;
use isthmus_lab::report;
use isthmus_lab::report::claims::{CLAIMS, Claim, Judgement};
use isthmus_lab::report::diff::{Change, Diff};
use isthmus_lab::report::summary::Summary;
use serde::Serialize;

/// Write a run's report: a page, and its figures as CSV and PNG (needs no root)
///
/// The page needs no network and no other file. Everything follows from the run's JSON alone. A run that was
/// stopped has a report as well, which lists what is missing.
#[derive(Args, Debug)]
pub(super) struct Report {
    /// The directory of the run
    run: PathBuf,
    /// The directory of the report
    #[arg(long, value_name = "DIRECTORY", default_value = "report")]
    output: PathBuf,
}

impl Report {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let directory = Directory::open(&self.run)?;
        let summary = Summary::new(directory.run(), directory.trials());
        let written = report::write(&summary, &self.output)?;
        println!("{}", written.index.display());
        match written.pictures {
            Ok(pictures) => println!(
                "{} tables and {pictures} pictures beside it",
                written.tables
            ),
            Err(why) => println!("{} tables beside it; no pictures: {why}", written.tables),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Compare two runs point by point (needs no root)
///
/// Says where the second is better or worse than the first, with the 95 % confidence interval of the ratio
/// (Hodges and Lehmann's estimate with the interval of Mann and Whitney's test, over the repetitions). Runs
/// with fewer than four repetitions are too short to show a difference. Exit status 0 if nothing is worse, 2 if
/// something is, 1 if a run cannot be read.
#[derive(Args, Debug)]
pub(super) struct Compare {
    /// The directory of the first run
    first: PathBuf,
    /// The directory of the second run
    second: PathBuf,
    /// Print JSON, with all points
    #[arg(long)]
    json: bool,
}

impl Compare {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let (first, second) = (
            Directory::open(&self.first)?,
            Directory::open(&self.second)?,
        );
        let diff = Diff::between(
            &Summary::new(first.run(), first.trials()),
            &Summary::new(second.run(), second.trials()),
        );
        if self.json {
            println!("{}", serde_json::to_string_pretty(&diff)?);
        } else {
            print!("{diff}");
        }
        Ok(if diff.count(Change::Worse) == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(2)
        })
    }
}

/// Judge the papers' claims by a run (needs no root)
///
/// Prints for each claim whether it holds here, in part, or not, cannot be told from this run, or is not asked in it, and
/// why. A claim that does not hold is a result: the exit status is 0.
#[derive(Args, Debug)]
pub(super) struct Claims {
    /// The directory of the run
    run: PathBuf,
    /// Print JSON, with the comparisons that each verdict rests on
    #[arg(long)]
    json: bool,
}

/// A claim with its judgement, as JSON.
#[derive(Serialize)]
struct Judged {
    id: &'static str,
    says: &'static str,
    source: &'static str,
    #[serde(flatten)]
    judgement: Judgement,
}

impl Claims {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let directory = Directory::open(&self.run)?;
        let summary = Summary::new(directory.run(), directory.trials());
        let judged: Vec<Judged> = CLAIMS.iter().map(|claim| judged(claim, &summary)).collect();
        if self.json {
            println!("{}", serde_json::to_string_pretty(&judged)?);
            return Ok(ExitCode::SUCCESS);
        }
        for one in &judged {
            println!(
                "{:<4} {}\n     {}",
                one.id,
                one.judgement.verdict.words(),
                one.says
            );
            println!("     {}\n", one.judgement.why);
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn judged(claim: &Claim, summary: &Summary<'_>) -> Judged {
    Judged {
        id: claim.id,
        says: claim.says,
        source: claim.source,
        judgement: claim.judge(summary),
    }
}
