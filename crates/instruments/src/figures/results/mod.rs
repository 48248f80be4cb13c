//! The results of a run: everything that a report needs, as JSON.
//!
//! A run is a directory:
//!
//! ```text
//! RUN/run.json              the plan, the machine, the program, and the networks that were built
//! RUN/trials/NNNN.json      one file for each trial that is over
//! RUN/samples/NNNN.json     the single samples behind its medians, if it has any
//! ```
//!
//! A trial is one subject in one experiment, once. Its points are the values measured, and its [`Evidence`] is all else
//! that they can be judged by. Trials are independent, so a run that was stopped continues with those that have no file
//! yet. Values are in the base units that [`Quantity::unit`] names.

mod directory;
mod evidence;
mod quantity;
mod samples;

pub use directory::{Directory, Problem};
pub use evidence::{
    Attempt, Evidence, Files, Interface, Load, Offload, Pinned, Rules, SearchLimits, Thread,
    Tolerances, Width,
};
pub use quantity::{Better, NO_VERDICT, Quantity};
pub use samples::{MOST_SAMPLES, Raw, Sampled, Samples};

use serde::{Deserialize, Serialize};

use crate::figures::statistics::{median, median_interval, spread};

/// The version of this format. A directory of a later version is refused, and of one before [`OLDEST`].
pub const FORMAT: u32 = 2;
/// The oldest version that can be read. Version 1 has no [`Rules`], networks, [`Evidence`], searches and samples.
pub const OLDEST: u32 = 1;

/// The fewest samples for which the first and the 99th percentile are meaningful.
const ENOUGH: usize = 20;

/// `run.json`: a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Run {
    /// See [`FORMAT`].
    pub format: u32,
    /// Unique for each run. Trials name it, so that those of two runs are never mixed.
    pub id: String,
    /// The time of its begin, in UTC (RFC 3339).
    pub begun: String,
    /// The profile: `smoke`, `standard` or `rfc`.
    pub profile: String,
    /// The command line that repeats it.
    pub command: String,
    /// The machine and the program.
    pub environment: Environment,
    /// The experiments, in the order of the report.
    pub experiments: Vec<ExperimentInfo>,
    /// The subjects, with those that could not be measured.
    pub subjects: Vec<SubjectInfo>,
    /// The rules by which its trials were made and judged.
    #[serde(default)]
    pub rules: Rules,
    /// The networks of its trials, each once: the interfaces that are up, node by node. [`Evidence::network`] is an
    /// index of these.
    #[serde(default)]
    pub networks: Vec<Vec<Interface>>,
    /// All trials, in the order in which they are run.
    pub plan: Vec<Planned>,
}

/// The machine and the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Environment {
    /// Processor model.
    pub cpu: String,
    /// Number of cores.
    pub cores: usize,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Kernel release.
    pub kernel: String,
    /// Version of Isthmus.
    pub isthmus: String,
    /// SHA-256 of the laboratory's program with the gateway's behind it, in hexadecimal digits.
    pub program: String,
}

/// The description of an experiment: a figure or a table of the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ExperimentInfo {
    /// Its name, such as `paper-000/delay-udp-100M`.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The paper's figures or tables, or the RFC's section, that it repeats.
    pub source: String,
    /// The quantity.
    pub quantity: Quantity,
    /// The axis; absent if each subject has one value per direction.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub over: Option<Axis>,
    /// The network and the links, in words.
    pub network: String,
    /// The method, in words.
    pub method: String,
    /// The command that measures this alone.
    pub command: String,
}

/// The horizontal axis of a plot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Axis {
    /// Its name, such as `payload`.
    pub name: String,
    /// Its unit, such as `bytes`.
    pub unit: String,
    /// Its scale.
    pub scale: Scale,
}

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Equal differences have equal lengths.
    Linear,
    /// Equal ratios have equal lengths.
    Logarithmic,
}

/// The description of a subject: an implementation of a mechanism.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SubjectInfo {
    /// Its name, such as `nat64-isthmus-xdp`: unique, and short enough for a legend.
    pub name: String,
    /// The mechanism, such as `NAT64`.
    pub mechanism: String,
    /// The implementation, with its version where it has one, such as `TAYGA 0.9.2`.
    pub implementation: String,
    /// The engine: `xdp`, `tc`, `user`, `kernel` or `application`.
    pub engine: String,
    /// The reason why it could not be measured, if so.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub missing: Option<String>,
}

/// One trial of the plan. Its index there is its number, and the name of its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Planned {
    /// The experiment's name.
    pub experiment: String,
    /// The subject's name.
    pub subject: String,
    /// The repetition; 0 for the first.
    pub repetition: u32,
}

/// `trials/NNNN.json`: a trial that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Trial {
    /// The run's [`Run::id`].
    pub run: String,
    /// Its entry in the plan.
    pub planned: Planned,
    /// The duration, in seconds.
    pub seconds: f64,
    /// The outcome.
    pub outcome: Outcome,
    /// The places on the axis that have no point, if it was measured.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub gaps: Vec<Gap>,
    /// All else by which it can be judged.
    #[serde(default)]
    pub evidence: Evidence,
}

/// A place on the axis that could not be measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Gap {
    /// The place.
    pub at: f64,
    /// The reason.
    pub why: String,
}

/// The outcome of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was measured.
    Measured(Vec<Point>),
    /// The subject cannot run on this machine, or cannot do this. The text is the reason.
    NotRun(String),
    /// The tester missed its own schedule, as the text says, so the trial says nothing about the subject.
    Void(String),
}

/// One value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Point {
    /// The direction or the part: such as `6to4`, `both`, `ip-header`.
    pub series: String,
    /// The place on the axis; 0 if the experiment has none.
    pub at: f64,
    /// The value; a median where there are several samples.
    pub value: f64,
    /// The number of samples, 1 or more.
    pub samples: u64,
    /// The first and the 99th percentile of the samples, if there are enough.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spread: Option<[f64; 2]>,
    /// The 95 % confidence interval of the median of the samples, if there are enough.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interval: Option<[f64; 2]>,
    /// The least or the most that the model allows, in the same unit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bound: Option<f64>,
    /// The tester's own value on the same path without a subject, in the same unit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ceiling: Option<f64>,
    /// The share of the rate without loss at which it was measured: 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub load: Option<f64>,
    /// The frames or datagrams per second that each sender offered; absent where one request follows the other's answer, and
    /// where a search has found the value.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offered: Option<f64>,
    /// The limits of the search that has found the value.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub search: Option<SearchLimits>,
    /// The samples, as long as they are not in their file.
    #[serde(skip)]
    pub raw: Raw,
    /// The reason why an application does not work, if it does not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

impl Point {
    /// Returns a value of one sample, with nothing beside it.
    pub fn new(series: &str, at: f64, value: f64) -> Self {
        Self {
            series: series.into(),
            at,
            value,
            samples: 1,
            spread: None,
            interval: None,
            bound: None,
            ceiling: None,
            load: None,
            offered: None,
            search: None,
            raw: Raw::default(),
            reason: None,
        }
    }

    /// Returns the median of samples with its spread; `None` if there are none.
    pub fn of(series: &str, at: f64, samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        let value = (!sorted.is_empty()).then(|| median(&mut sorted))?;
        Some(Self {
            samples: samples.len() as u64,
            spread: spread(&sorted).filter(|_| samples.len() >= ENOUGH),
            interval: median_interval(&sorted),
            raw: Raw::of(samples),
            ..Self::new(series, at, value)
        })
    }

    /// Adds its bound.
    pub fn with_bound(self, bound: f64) -> Self {
        Self {
            bound: Some(bound),
            ..self
        }
    }

    /// Adds the reason.
    pub fn because(self, reason: impl Into<String>) -> Self {
        Self {
            reason: Some(reason.into()),
            ..self
        }
    }

    /// Adds the share of a rate without loss at which it was measured, and what that is: frames per second of each
    /// sender.
    pub fn at_load(self, share: f64, of: f64) -> Self {
        Self {
            load: Some(share),
            ..self.offered(share * of)
        }
    }

    /// Adds the frames or datagrams per second that each sender offered.
    pub fn offered(self, rate: f64) -> Self {
        Self {
            offered: Some(rate),
            ..self
        }
    }

    /// Adds the limits of the search that has found it.
    pub fn found_by(self, search: SearchLimits) -> Self {
        Self {
            search: Some(search),
            ..self
        }
    }

    /// Adds its samples.
    pub fn with_raw(self, raw: Raw) -> Self {
        Self { raw, ..self }
    }

    /// Adds the tester's own value.
    pub fn with_ceiling(self, ceiling: f64) -> Self {
        Self {
            ceiling: Some(ceiling),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_of_many_samples_has_a_spread_and_of_few_has_none() {
        let samples: Vec<f64> = (1..=100).map(f64::from).collect();
        let point = Point::of("both", 0.0, &samples).unwrap();
        assert_eq!((point.value, point.samples), (50.5, 100));
        assert_eq!(point.spread, Some([1.0, 99.0]));
        assert_eq!(Point::of("both", 0.0, &samples[..3]).unwrap().spread, None);
        assert_eq!(Point::of("both", 0.0, &[]), None);
    }
}
