//! The file of outcomes, from which the table of `docs/security.md` is made.

use std::{fs, path::Path};

use serde::{Deserialize, Serialize};

use super::{Row, all as attacks};
use crate::{
    LabError, Result,
    network::{leftovers, machine},
};

/// The outcomes of a run, and those of the gateway as it was before its defences.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// The time of the run, in UTC.
    pub date: String,
    /// The processor, and the release of the kernel.
    pub machine: String,
    /// The seconds of a phase.
    pub seconds: f64,
    /// The outcomes.
    pub rows: Vec<Row>,
    /// Outcomes without the defences; a run keeps those that are in its file.
    #[serde(default)]
    pub before: Vec<Row>,
}

/// Reads a file of outcomes.
///
/// # Errors
/// It cannot be read, or it has none.
pub fn read(file: &Path) -> Result<Report> {
    let text = fs::read_to_string(file).map_err(LabError::file(file))?;
    serde_json::from_str(&text).map_err(|problem| LabError::Output {
        tool: "isthmus lab attack",
        output: format!("{}: {problem}", file.display()),
    })
}

/// Writes outcomes to a file. Those of attacks that were not run stay, and so do those of `before`.
///
/// # Errors
/// It cannot be written, or has something else.
pub fn write(file: &Path, seconds: f64, rows: &[Row]) -> Result<()> {
    let kept = if file.exists() {
        read(file)?
    } else {
        Report::default()
    };
    let machine = machine::Machine::here();
    let again = |old: &Row| {
        let same = |new: &Row| (&new.attack, &new.engine) == (&old.attack, &old.engine);
        rows.iter().any(same)
    };
    let others = kept.rows.into_iter().filter(|row| !again(row));
    let mut all: Vec<Row> = others.chain(rows.iter().cloned()).collect();
    let order: Vec<&str> = attacks().iter().map(|attack| attack.name).collect();
    all.sort_by_key(|row| order.iter().position(|name| *name == row.attack));
    let report = Report {
        date: machine::now(),
        machine: format!(
            "{}, {} cores, Linux {}",
            machine.cpu, machine.cores, machine.kernel
        ),
        seconds,
        rows: all,
        before: kept.before,
    };
    let json = serde_json::to_string_pretty(&report).map_err(|problem| LabError::Output {
        tool: "isthmus lab attack",
        output: problem.to_string(),
    })?;
    leftovers::write(file, json + "\n")
}
