//! The plan of a run: which subject does which experiment, and when.

use std::path::PathBuf;

use super::{
    definition::Experiment,
    experiments,
    links::Links,
    profile::Profile,
    subject::{Maker, Subject},
    subjects,
};
use crate::{
    experiments::validity,
    figures::results::{Environment, FORMAT, Planned, Run},
    network::machine::{self, Machine},
};

/// The experiments that `smoke` leaves out unless they are named.
const LEFT_OUT: [&str; 15] = [
    "paper-001/packet-rate",
    "paper-002/everyday",
    "paper-002/slow-edge-throughput",
    "paper-002/slow-edge-loss",
    "paper-002/slow-edge-jitter",
    "paper-002/slow-edge-cpu",
    "rfc8219/pdv",
    "rfc8219/ipdv",
    "rfc8219/frame-loss",
    "rfc8219/back-to-back",
    "rfc8219/recovery",
    "rfc8219/reset",
    "rfc8219/scalability",
    "rfc9693/connection-rate",
    "rfc9693/throughput",
];

/// The experiments that `smoke` does with one of our engines only, unless the experiment or the subject is named. The
/// octets that a mechanism adds do not depend on the engine, and the papers' links are slower than every engine. The time
/// of a ping does, and stands for each engine in `paper-001/round-trip`.
const OF_ONE_ENGINE: [&str; 8] = [
    "paper-000/delay-udp-10M",
    "paper-000/delay-tcp-10M",
    "paper-000/delay-udp-100M",
    "paper-000/delay-tcp-100M",
    "paper-000/throughput-udp-10M",
    "paper-000/throughput-udp-100M",
    "paper-002/latency",
    "paper-002/overhead",
];

/// The options of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// How thorough it is.
    pub profile: Profile,
    /// The experiments: a name, the part of names before `/`, or `all`.
    pub experiments: Vec<String>,
    /// The names of the subjects; empty for all.
    pub subjects: Vec<String>,
}

/// The reason why a run cannot be planned.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlanError {
    /// There is no such experiment.
    #[error("there is no experiment {0}; `isthmus lab experiments` shows them")]
    Experiment(String),
    /// There is no such subject.
    #[error("there is no subject {0}; `isthmus lab subjects` shows them")]
    Subject(String),
}

impl Options {
    /// Returns the experiments that are named, without those that the profile leaves out.
    ///
    /// # Errors
    /// A name is unknown.
    fn experiments(&self) -> std::result::Result<Vec<&'static Experiment>, PlanError> {
        for name in &self.experiments {
            if !experiments().any(|experiment| experiment.is_called(name)) {
                return Err(PlanError::Experiment(name.clone()));
            }
        }
        let wanted = |experiment: &&Experiment| {
            let mut names = self.experiments.iter();
            let hurried = self.profile == Profile::Smoke && LEFT_OUT.contains(&experiment.name);
            names.any(|name| experiment.is_called(name) && (!hurried || name == experiment.name))
        };
        Ok(experiments().filter(wanted).collect())
    }

    /// Returns whether an experiment is done with a subject, which is one of all.
    fn includes(&self, experiment: &Experiment, subject: &Subject, all: &[Subject]) -> bool {
        let one_engine = self.profile == Profile::Smoke
            && self.subjects.is_empty()
            && OF_ONE_ENGINE.contains(&experiment.name)
            && !self.experiments.iter().any(|name| name == experiment.name);
        let is_ours = |subject: &&Subject| matches!(subject.maker, Maker::Isthmus(_));
        let same = |one: &&Subject| is_ours(one) && one.mechanism == subject.mechanism;
        // Engines are listed from the fastest to the slowest.
        let first = all.iter().find(same);
        let another = is_ours(&subject) && first.is_some_and(|first| first.name != subject.name);
        (experiment.of)(subject) && !(one_engine && another)
    }

    /// Returns the subjects that are named.
    ///
    /// # Errors
    /// A name is unknown.
    fn subjects(&self) -> std::result::Result<Vec<Subject>, PlanError> {
        let mut all = subjects();
        for name in &self.subjects {
            if !all.iter().any(|subject| subject.name == *name) {
                return Err(PlanError::Subject(name.clone()));
            }
        }
        if !self.subjects.is_empty() {
            all.retain(|subject| self.subjects.contains(&subject.name));
        }
        Ok(all)
    }

    /// Returns the plan of the run. A repetition does all experiments with all subjects before the next one begins, so
    /// that all subjects meet a change of the machine's load. Experiments with the same testbed follow each other.
    ///
    /// # Errors
    /// A name is unknown.
    pub fn plan(
        &self,
        command: String,
        programs: &[PathBuf],
    ) -> std::result::Result<Run, PlanError> {
        let (experiments, subjects) = (self.experiments()?, self.subjects()?);
        let mut infos: Vec<_> = subjects.iter().map(Subject::describe).collect();
        let is_here: Vec<_> = infos.iter().map(|info| info.missing.is_none()).collect();
        let mut plan = Vec::new();
        for repetition in 0..self.profile.repetitions() {
            for place in turns(subjects.len(), repetition) {
                let subject = &subjects[place];
                let runs = |experiment: &&&Experiment| {
                    is_here[place] || brings_its_kernel(experiment, subject)
                };
                let mut wanted: Vec<_> = experiments
                    .iter()
                    .filter(|experiment| self.includes(experiment, subject, &subjects))
                    .filter(runs)
                    .collect();
                if !wanted.is_empty() {
                    infos[place].missing = None;
                }
                wanted.sort_by_key(|experiment| experiment.how.links());
                plan.extend(wanted.into_iter().map(|experiment| Planned {
                    experiment: experiment.name.into(),
                    subject: subject.name.clone(),
                    repetition,
                }));
            }
        }
        let begun = machine::now();
        Ok(Run {
            format: FORMAT,
            id: format!("{begun}-{}", std::process::id()),
            begun,
            profile: self.profile.name().into(),
            command,
            environment: environment(programs),
            experiments: experiments
                .iter()
                .map(|experiment| experiment.describe())
                .collect(),
            subjects: infos,
            rules: validity::rules(),
            networks: Vec::new(),
            plan,
        })
    }
}

/// Returns whether a subject runs in an experiment though the kernel here lacks it: the edge has a kernel of its own.
fn brings_its_kernel(experiment: &Experiment, subject: &Subject) -> bool {
    experiment.how.links() == Some(Links::SlowEdge) && subject.maker == Maker::Kernel
}

/// Returns the order of subjects in a repetition. Every other one goes backwards, and pairs of them begin elsewhere: no
/// subject is always first, or always behind the same one.
fn turns(subjects: usize, repetition: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..subjects).collect();
    if subjects > 0 {
        order.rotate_left(repetition as usize / 2 * 7 % subjects);
    }
    if repetition % 2 == 1 {
        order.reverse();
    }
    order
}

/// Returns this machine, and the programs that measure and are measured.
fn environment(programs: &[PathBuf]) -> Environment {
    let Machine {
        cpu,
        cores,
        memory_mib,
        kernel,
    } = Machine::here();
    Environment {
        cpu,
        cores,
        memory_mib,
        kernel,
        isthmus: env!("CARGO_PKG_VERSION").into(),
        program: machine::digest(programs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::results::ExperimentInfo;

    fn options(experiments: &[&str], subjects: &[&str]) -> Options {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Options {
            profile: Profile::Standard,
            experiments: owned(experiments),
            subjects: owned(subjects),
        }
    }

    fn planned(options: &Options) -> std::result::Result<Run, PlanError> {
        options.plan("isthmus".into(), &["/proc/self/exe".into()])
    }

    #[test]
    fn every_repetition_has_another_order() {
        for subjects in 1..50 {
            let orders: Vec<_> = (0..5).map(|number| turns(subjects, number)).collect();
            for order in &orders {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..subjects));
            }
            assert!(subjects == 1 || orders[0] != orders[1]);
        }
        assert!(turns(0, 3).is_empty());
    }

    #[test]
    fn a_repetition_ends_before_the_next_begins() {
        let both = options(&["paper-002"], &["native-ipv4", "native-ipv6"]);
        let run = planned(&both).unwrap();
        let turns: Vec<_> = run
            .plan
            .iter()
            .map(|t| (t.repetition, &t.subject))
            .collect();
        assert!(turns.is_sorted_by_key(|(repetition, _)| repetition));
        // A slow edge is for no native path.
        let of_both = |experiment: &&ExperimentInfo| !experiment.name.contains("slow-edge");
        let of_both = run.experiments.iter().filter(of_both);
        assert_eq!(of_both.count() * 2 * 5, run.plan.len());
        assert_eq!(run.environment.program.len(), 64);
    }

    /// The kernel of the emulated machine has tunnels, whether the one here does or not.
    #[test]
    fn what_the_kernel_here_lacks_runs_where_there_is_another_one() {
        let slow = "paper-002/slow-edge-loss";
        let run = planned(&options(&["paper-002", slow], &["ds-lite-kernel"])).unwrap();
        let planned = |name: &str| run.plan.iter().any(|trial| trial.experiment == name);
        assert!(planned(slow));
        let kernel = subjects()
            .into_iter()
            .find(|one| one.name == "ds-lite-kernel");
        let is_here = kernel.unwrap().describe().missing.is_none();
        assert_eq!(planned("paper-002/loss"), is_here);
        assert_eq!(run.subjects[0].missing, None);
    }

    #[test]
    fn smoke_leaves_some_experiments_out_unless_they_are_named() {
        let asked = |profile, experiments: &[&str]| {
            let options = Options {
                profile,
                ..options(experiments, &["native-ipv4"])
            };
            let experiments = options.experiments().unwrap();
            let names = experiments.iter().map(|experiment| experiment.name);
            names.filter(|name| *name == "rfc8219/pdv").count()
        };
        assert_eq!(asked(Profile::Smoke, &["all"]), 0);
        assert_eq!(asked(Profile::Smoke, &["rfc8219"]), 0);
        assert_eq!(asked(Profile::Smoke, &["all", "rfc8219/pdv"]), 1);
        assert_eq!(asked(Profile::Standard, &["rfc8219"]), 1);
    }

    #[test]
    fn smoke_measures_one_engine_where_all_are_equal() {
        let all = subjects();
        let asked = |profile, experiment, subjects: &[&str]| {
            let options = Options {
                profile,
                ..options(&[experiment], subjects)
            };
            let experiment =
                experiments().find(|experiment| experiment.name == "paper-002/overhead");
            let of = |name| all.iter().find(|subject| subject.name == name).unwrap();
            ["siit-isthmus-xdp", "siit-isthmus-user", "siit-tayga"]
                .map(|name| options.includes(experiment.unwrap(), of(name), &all))
        };
        assert_eq!(asked(Profile::Smoke, "all", &[]), [true, false, true]);
        assert_eq!(asked(Profile::Smoke, "paper-002/overhead", &[]), [true; 3]);
        assert_eq!(
            asked(Profile::Smoke, "all", &["siit-isthmus-user"]),
            [true; 3]
        );
        assert_eq!(asked(Profile::Standard, "all", &[]), [true; 3]);
    }

    #[test]
    fn smoke_leaves_out_known_experiments() {
        for name in LEFT_OUT.into_iter().chain(OF_ONE_ENGINE) {
            assert!(
                experiments().any(|experiment| experiment.name == name),
                "{name}"
            );
        }
    }

    #[test]
    fn smoke_has_time_for_the_standards() {
        // Subjects that are missing here, such as the kernel's tunnels, take no time.
        let here = |subject: &Subject| subject.describe().missing.is_none();
        let all: Vec<_> = subjects().into_iter().filter(here).collect();
        let options = Options {
            profile: Profile::Smoke,
            ..options(&["rfc8219"], &[])
        };
        let asked = options.experiments().unwrap().into_iter();
        let seconds: f64 = asked
            .filter(|experiment| experiment.name != "rfc8219/dns64")
            .map(|experiment| {
                let count = all
                    .iter()
                    .filter(|subject| (experiment.of)(subject))
                    .count();
                count as f64 * (experiment.takes)(Profile::Smoke)
            })
            .sum();
        // The limit is part of ten minutes for everything.
        assert!((30.0..=120.0).contains(&seconds), "{seconds}");
    }

    #[test]
    fn unknown_names_are_errors() {
        let nobody = planned(&options(&["all"], &["nobody"]));
        assert_eq!(nobody, Err(PlanError::Subject("nobody".into())));
        let nothing = planned(&options(&["paper-00"], &[]));
        assert_eq!(nothing, Err(PlanError::Experiment("paper-00".into())));
    }
}
