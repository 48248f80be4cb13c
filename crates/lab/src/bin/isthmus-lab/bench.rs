//! `isthmus lab bench`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::PossibleValuesParser;
use isthmus_lab::experiments::bench::{self, Row, RowResult, Thoroughness};

/// Compare Isthmus with the kernel and with other gateways
///
/// Prints a table and writes JSON. A row below its target gets a profile in the folder `profile` beside
/// the JSON, if `perf` is installed. Exit status 0 if every row was
/// measured and met its target, 2 if not.
#[derive(Args, Debug)]
pub(super) struct Bench {
    /// Only these rows, separated by commas; all if absent
    #[arg(long, value_name = "ROW", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(Row::all().iter().map(|row| row.name)))]
    rows: Vec<String>,
    /// One short repetition of each row
    #[arg(long)]
    quick: bool,
    /// The file of the JSON
    #[arg(long, value_name = "FILE", default_value = "bench/latest.json")]
    output: PathBuf,
}

impl Bench {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let mut rows = Row::all();
        if !self.rows.is_empty() {
            rows.retain(|row| self.rows.iter().any(|name| name == row.name));
        }
        println!("{}", bench::HEADING);
        let directory = self.output.parent().unwrap_or(Path::new(""));
        let report = bench::run(
            &rows,
            thoroughness(self.quick),
            &directory.join("profile"),
            |row| println!("{row}"),
        )?;
        let mut json = serde_json::to_string_pretty(&report)?;
        json.push('\n');
        if directory != Path::new("") {
            std::fs::create_dir_all(directory)?;
        }
        std::fs::write(&self.output, json)
            .with_context(|| format!("cannot write {}", self.output.display()))?;
        println!("written to {}", self.output.display());
        let count = |wanted: fn(&bench::RowReport) -> bool| {
            report.rows.iter().filter(|row| wanted(row)).count()
        };
        let missing = count(|row| matches!(row.outcome, RowResult::NotRun { .. }));
        let missed = count(|row| row.met == Some(false));
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
}

/// Returns the thoroughness of `--quick`.
pub(super) fn thoroughness(quick: bool) -> Thoroughness {
    if quick {
        Thoroughness::Quick
    } else {
        Thoroughness::Full
    }
}
