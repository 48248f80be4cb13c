//! `isthmus lab exact`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::PossibleValuesParser;
use isthmus_lab::LabError;
use isthmus_lab::experiments::bench::exact;
use isthmus_lab::network::machine;
use serde::{Deserialize, Serialize};

/// Count the instructions of a packet, in a machine whose clock counts them
///
/// Runs in the emulated machine of the tests: `tests/guest/run --exact`. Prints a line for each row and
/// writes JSON. Exit status 2 if a row has no count, or differs from the committed one by more than the tolerance.
#[derive(Args, Debug)]
pub(super) struct Exact {
    /// Only these rows, separated by commas; all if absent
    #[arg(long, value_name = "ROW", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(exact::names()))]
    rows: Vec<String>,
    /// Only this part of them, of so many: `2/4` is the second of four
    #[arg(long, value_name = "PART", default_value = "1/1")]
    part: Part,
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

/// A part of all rows. Those of one are next to each other, as they may share a gateway.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    /// From 1 to `of`.
    number: usize,
    /// The number of parts.
    of: usize,
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().ok();
        let part = text
            .split_once('/')
            .and_then(|(part, of)| Some((number(part)?, number(of)?)));
        match part {
            Some((number, of)) if 1 <= number && number <= of => Ok(Self { number, of }),
            _ => Err("a part is `1/4` to `4/4`, for example".into()),
        }
    }
}

impl Part {
    /// Returns its share of these.
    fn of<T>(self, all: &[T]) -> &[T] {
        let end = |number| all.len() * number / self.of;
        &all[end(self.number - 1)..end(self.number)]
    }
}

/// Counts, as they are committed.
#[derive(Debug, Serialize, Deserialize)]
struct Counts {
    /// The release of the kernel, which has a part in every row.
    kernel: String,
    /// Instructions of a packet by row.
    instructions: BTreeMap<String, f64>,
}

impl Exact {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let committed = self.committed()?;
        let kernel = machine::kernel();
        if let Some(other) = committed.as_ref().filter(|counts| counts.kernel != kernel) {
            println!(
                "committed on Linux {}; this is {kernel}, whose own part may be another",
                other.kernel
            );
        }
        let mut instructions = BTreeMap::new();
        let mut differs = 0;
        let names = exact::names();
        let wanted: Vec<&str> = names
            .into_iter()
            .filter(|name| self.rows.is_empty() || self.rows.iter().any(|row| row == name))
            .collect();
        let wanted = self.part.of(&wanted);
        exact::count(
            |name| wanted.contains(&name),
            |name, count| {
                let count = match count {
                    Ok(count) => count,
                    Err(error @ (LabError::NoModule { .. } | LabError::Missing { .. })) => {
                        return println!("{name:<28} skipped: {error}");
                    }
                    Err(error) => {
                        differs += 1;
                        return println!("{name:<28} no count: {error}");
                    }
                };
                let before = committed
                    .as_ref()
                    .map(|counts| counts.instructions.get(name));
                let (text, changed) = match before {
                    None => (String::new(), false),
                    Some(None) => ("not committed".into(), true),
                    Some(Some(&before)) => self.verdict(before, count),
                };
                println!("{name:<28} {count:>8.0}  {text}");
                differs += u32::from(changed);
                instructions.insert(name.to_owned(), count.round());
            },
        )?;
        if let Some(output) = &self.output {
            let counts = Counts {
                kernel,
                instructions,
            };
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

    /// Reads the committed counts, if there are to be any.
    fn committed(&self) -> Result<Option<Counts>> {
        let Some(file) = &self.against else {
            return Ok(None);
        };
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let counts = serde_json::from_str(&text);
        counts.with_context(|| format!("{} has no counts by row", file.display()))
    }

    /// Judges a count by the committed one: the words, and whether it differs by more than is tolerated.
    fn verdict(&self, committed: f64, count: f64) -> (String, bool) {
        let change = (count / committed - 1.0) * 100.0;
        let differs = change.abs() > self.tolerance;
        let word = if differs { "differs" } else { "ok" };
        (format!("{word}: {change:+.1} % of {committed:.0}"), differs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_all_and_none_is_twice() {
        let all: Vec<u32> = (0..51).collect();
        let parts = (1..=4).map(|number| Part { number, of: 4 });
        assert_eq!(
            parts.map(|part| part.of(&all)).collect::<Vec<_>>().concat(),
            all
        );
        assert_eq!("2/4".parse(), Ok(Part { number: 2, of: 4 }));
        for wrong in ["", "2", "0/4", "5/4", "1/0", "1/x"] {
            assert!(wrong.parse::<Part>().is_err(), "{wrong}");
        }
    }
}
