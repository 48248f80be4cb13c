//! Results as JSON and as a table.

use std::fmt;

use serde::Serialize;

use super::{
    Profile, Row, Target, Thoroughness,
    turns::{Compared, Effort, interleave},
};
use crate::{
    Result,
    network::machine::{self, Machine},
};

/// A figure with its unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// The value.
    pub value: f64,
    /// The unit.
    pub unit: &'static str,
}

impl Figure {
    pub(super) fn new(name: &str, value: f64, unit: &'static str) -> Self {
        Self {
            name: name.into(),
            value,
            unit,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>18}  ({})", amount(self.value, self.unit), self.name)
    }
}

/// The result of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// The subject's median.
    pub subject: Figure,
    /// The baseline's median.
    pub baseline: Figure,
    /// Further figures.
    pub beside: Vec<Figure>,
}

impl Measurement {
    /// Returns a measurement whose figures have the same unit.
    pub(super) fn new(
        compared: Compared,
        subject: &str,
        baseline: &str,
        unit: &'static str,
    ) -> Self {
        Self {
            subject: Figure::new(subject, compared.value, unit),
            baseline: Figure::new(baseline, compared.baseline, unit),
            beside: Vec::new(),
        }
    }

    /// Measures a subject in turn with a baseline, each with its name.
    pub(super) fn in_turn(
        effort: &Effort,
        (subject, ours): (&str, impl FnMut() -> Result<f64>),
        (baseline, theirs): (&str, impl FnMut() -> Result<f64>),
        unit: &'static str,
    ) -> Result<Self> {
        let compared = interleave(effort.repetitions, ours, theirs)?;
        Ok(Self::new(compared, subject, baseline, unit))
    }
}

/// Whether a row could be measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RowResult {
    /// The row was measured.
    Measured {
        /// The subject's name.
        subject: String,
        /// The subject's median.
        value: f64,
        /// Its unit.
        unit: &'static str,
        /// The baseline, in its own unit.
        baseline: Figure,
        /// The subject divided by the baseline.
        ratio: f64,
        /// Further figures.
        beside: Vec<Figure>,
    },
    /// The row was not measured.
    NotRun {
        /// The reason.
        reason: String,
    },
}

impl RowResult {
    pub(super) fn measured(measurement: Measurement) -> Self {
        let Measurement {
            subject,
            baseline,
            beside,
        } = measurement;
        Self::Measured {
            ratio: subject.value / baseline.value,
            subject: subject.name,
            value: subject.value,
            unit: subject.unit,
            baseline,
            beside,
        }
    }
}

/// One row of the report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowReport {
    /// The row's name.
    pub name: &'static str,
    /// The result.
    #[serde(flatten)]
    pub outcome: RowResult,
    /// The target of the ratio.
    pub target: Target,
    /// Whether the target is met; absent if the row was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub met: Option<bool>,
    /// The profile, if the target is not met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// The reason why the comparison is fair.
    pub method: &'static str,
    /// The command that measures this row again.
    pub command: String,
}

impl RowReport {
    pub(super) fn new(row: &Row, outcome: RowResult) -> Self {
        let met = match &outcome {
            RowResult::Measured { ratio, .. } => Some(row.target.is_met(*ratio)),
            RowResult::NotRun { .. } => None,
        };
        Self {
            name: row.name,
            outcome,
            target: row.target,
            met,
            profile: None,
            method: row.method,
            command: format!("isthmus lab bench --rows {}", row.name),
        }
    }
}

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The time of its begin, in UTC.
    pub date: String,
    /// The machine.
    pub machine: Machine,
    /// `quick` or `full`.
    pub thoroughness: &'static str,
    /// The rows, in order.
    pub rows: Vec<RowReport>,
}

impl Report {
    pub(super) fn begin(thoroughness: Thoroughness) -> Self {
        Self {
            date: machine::now(),
            machine: Machine::here(),
            thoroughness: match thoroughness {
                Thoroughness::Quick => "quick",
                Thoroughness::Full => "full",
            },
            rows: Vec::new(),
        }
    }
}

/// The table's heading; each row is the [`RowReport`]'s own display.
pub const HEADING: &str = "row                            subject                baseline               ratio   target   \n\
     -----------------------------  ---------------------  ---------------------  ------  ---------";

impl fmt::Display for RowReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            RowResult::Measured {
                value,
                unit,
                baseline,
                ratio,
                beside,
                ..
            } => {
                let mark = if self.met == Some(true) {
                    "ok"
                } else {
                    "MISSED"
                };
                write!(
                    f,
                    "{:<29}  {:>21}  {:>21}  {ratio:>6.2}  {:<7} {mark}",
                    self.name,
                    amount(*value, unit),
                    amount(baseline.value, baseline.unit),
                    self.target.to_string(),
                )?;
                for figure in beside {
                    write!(
                        f,
                        "\n    beside: {} {}",
                        figure.name,
                        amount(figure.value, figure.unit)
                    )?;
                }
                match &self.profile {
                    None => Ok(()),
                    Some(Profile::File(path)) => write!(f, "\n    profile: {}", path.display()),
                    Some(Profile::Skipped(reason)) => write!(f, "\n    profile skipped: {reason}"),
                }
            }
            RowResult::NotRun { reason } => {
                write!(f, "{:<29}  not run: {reason}", self.name)
            }
        }
    }
}

/// Formats a value with its unit, in thousands or millions as is readable.
fn amount(value: f64, unit: &str) -> String {
    if value >= 1e9 {
        format!("{:.2} G {unit}", value / 1e9)
    } else if value >= 1e6 {
        format!("{:.2} M {unit}", value / 1e6)
    } else if value >= 1e4 {
        format!("{:.0} k {unit}", value / 1e3)
    } else {
        format!("{value:.1} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> RowResult {
        let figure = |name, value| Figure::new(name, value, "packets/s");
        RowResult::measured(Measurement {
            subject: figure("ours", 3e6),
            baseline: figure("kernel", 1e6),
            beside: vec![],
        })
    }

    fn row(target: Target) -> Row {
        let mut row = Row::all()[0];
        row.target = target;
        row
    }

    #[test]
    fn a_measured_row_says_whether_the_target_is_met() {
        let met = RowReport::new(&row(Target::AtLeast(3.0)), measured());
        assert_eq!(met.met, Some(true));
        let missed = RowReport::new(&row(Target::AtLeast(3.1)), measured());
        assert_eq!(missed.met, Some(false));
        let latency = RowReport::new(&row(Target::AtMost(2.9)), measured());
        assert_eq!(latency.met, Some(false));
        assert!(missed.to_string().contains("MISSED"));
    }

    #[test]
    fn a_missed_row_shows_its_profile_or_why_there_is_none() {
        let mut missed = RowReport::new(&row(Target::AtLeast(3.1)), measured());
        missed.profile = Some(Profile::File("bench/profile/row.txt".into()));
        assert!(
            missed
                .to_string()
                .ends_with("profile: bench/profile/row.txt")
        );
        let json = serde_json::to_value(&missed).unwrap();
        assert_eq!(json["profile"]["file"], "bench/profile/row.txt");
        missed.profile = Some(Profile::Skipped("no perf".into()));
        assert!(missed.to_string().ends_with("profile skipped: no perf"));
    }

    #[test]
    fn a_row_that_did_not_run_has_a_reason_and_no_figures() {
        let outcome = RowResult::NotRun {
            reason: "isthmus ended early".into(),
        };
        let report = RowReport::new(&row(Target::AtLeast(3.0)), outcome);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["reason"], "isthmus ended early");
        assert!(json.get("value").is_none());
        assert!(json.get("met").is_none());
    }

    #[test]
    fn json_has_the_fields_that_readers_rely_on() {
        let json = serde_json::to_value(RowReport::new(&Row::all()[0], measured())).unwrap();
        assert_eq!(json["value"], 3e6);
        assert_eq!(json["unit"], "packets/s");
        assert_eq!(json["baseline"]["name"], "kernel");
        assert_eq!(json["baseline"]["value"], 1e6);
        assert_eq!(json["ratio"], 3.0);
        assert_eq!(json["target"]["at-least"], 3.0);
    }
}
