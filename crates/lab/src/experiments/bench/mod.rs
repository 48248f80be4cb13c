//! The benchmark: each row compares Isthmus with a baseline in the same place, in turn.

mod bulk;
mod crossings;
mod dns;
pub mod exact;
mod memory;
mod packets;
mod pairs;
mod profile;
mod references;
mod report;
mod rivals;
mod rows;
mod turns;

use std::{path::Path, time::Duration};

pub use profile::Profile;
pub use references::{Reference, references};
pub use report::{Figure, HEADING, Measurement, Report, RowReport, RowResult};
pub use rows::{Row, Target};
pub use turns::Effort;

use crate::{Result, network::process};

/// The thoroughness of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thoroughness {
    /// One short repetition of everything: a check that it runs.
    Quick,
    /// The published figures: medians of five.
    Full,
}

impl Thoroughness {
    /// Returns the repetitions and the lengths.
    pub fn effort(self) -> Effort {
        match self {
            Self::Quick => Effort {
                repetitions: 1,
                warm_up: Duration::from_millis(200),
                window: Duration::from_millis(500),
            },
            Self::Full => Effort {
                repetitions: 5,
                warm_up: Duration::from_millis(500),
                window: Duration::from_secs(2),
            },
        }
    }
}

/// Runs rows in turn, and calls `progress` for each when it is done. A row whose subject or baseline cannot run here
/// has the reason in place of figures. A row that misses its target gets a profile in the directory `profiles`.
pub fn run(
    rows: &[Row],
    thoroughness: Thoroughness,
    profiles: &Path,
    mut progress: impl FnMut(&RowReport),
) -> Result<Report> {
    process::require_root()?;
    let effort = thoroughness.effort();
    let mut report = Report::begin(thoroughness);
    for row in rows {
        let outcome = match row.measure(&effort) {
            Ok(measurement) => RowResult::measured(measurement),
            Err(error) => RowResult::NotRun {
                reason: error.to_string(),
            },
        };
        let mut entry = RowReport::new(row, outcome);
        Profile::forget(row.name, profiles);
        if entry.met == Some(false) {
            entry.profile = Some(Profile::take(row, &effort, profiles));
        }
        progress(&entry);
        report.rows.push(entry);
    }
    Ok(report)
}
