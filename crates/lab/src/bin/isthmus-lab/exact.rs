//! `isthmus lab exact`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::PossibleValuesParser;
use isthmus_lab::bench::exact;

/// Count the instructions of a packet, in a machine whose clock counts them
///
/// Runs in the emulated machine of the tests: `tests/guest/run --exact`. Prints a line for each row and
/// writes JSON. Exit status 2 if a row differs from the committed count by more than the tolerance.
#[derive(Args, Debug)]
pub(super) struct Exact {
    /// Only these rows, separated by commas; all if absent
    #[arg(long, value_name = "ROW", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(exact::names()))]
    rows: Vec<String>,
    /// The committed counts, by which rows are judged
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// The most by which a row may differ from its committed count, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0)]
    tolerance: f64,
    /// The file of the JSON
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Instructions of a packet by row.
type Counts = BTreeMap<String, f64>;

impl Exact {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let committed = self.committed()?;
        let mut counts = Counts::new();
        let mut differs = 0;
        let wanted = |name: &str| self.rows.is_empty() || self.rows.iter().any(|row| row == name);
        exact::count(wanted, |name, instructions| {
            let verdict = self.verdict(committed.get(name), instructions);
            println!("{name:<28} {instructions:>8.0}  {}", verdict.text);
            differs += u32::from(verdict.differs);
            counts.insert(name.to_owned(), instructions.round());
        })?;
        if let Some(output) = &self.output {
            let json = serde_json::to_string_pretty(&counts)? + "\n";
            std::fs::write(output, json)
                .with_context(|| format!("cannot write {}", output.display()))?;
        }
        Ok(if differs == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(2)
        })
    }

    fn committed(&self) -> Result<Counts> {
        let Some(file) = &self.against else {
            return Ok(Counts::new());
        };
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} has no counts by row", file.display()))
    }

    /// Judges a count by the committed one.
    fn verdict(&self, committed: Option<&f64>, instructions: f64) -> Verdict {
        let Some(&committed) = committed else {
            return Verdict {
                text: "not committed".into(),
                differs: self.against.is_some(),
            };
        };
        let change = (instructions / committed - 1.0) * 100.0;
        let differs = change.abs() > self.tolerance;
        let word = if differs { "differs" } else { "ok" };
        Verdict {
            text: format!("{word}: {change:+.1} % of {committed:.0}"),
            differs,
        }
    }
}

struct Verdict {
    text: String,
    differs: bool,
}
