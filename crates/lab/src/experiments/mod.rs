//! Experiments: the measurements of the papers and the RFCs, done with every implementation that runs here.
//!
//! * [`definition`]: an experiment: its quantity, its axis, its method and the subjects it is for
//! * [`papers`]: the experiments of the five papers; [`standards`]: those of RFC 8219; [`stateful`]: those of RFC 9693
//! * [`subject`]: an implementation of a mechanism in its network; [`mod@subjects`]: the list of all
//! * [`testbed`]: the network of a subject, built and running, over [`links`]; [`edge`]: a
//!   gateway in it that packets overload
//! * [`mod@measure`]: the measurements
//! * [`journal`]: everything that was measured for a trial, whether it counts or not
//! * [`profile`]: how thorough a run is
//! * [`validity`]: the rule for what is void; every tolerance
//! * [`plan`]: the plan of a run; [`mod@run`]: its execution
//!
//! Others have a command of their own:
//!
//! * [`mod@bench`]: rows with a target
//! * [`attack`]: attacks on a gateway, each with a victim beside it
//! * [`world`], [`checks`], [`demo`]: a whole network with servers, the checks of it, and their demonstration
//! * [`outside`]: a device between two of the machine's own interfaces

pub mod attack;
pub mod bench;
pub mod checks;
pub mod definition;
pub mod demo;
pub mod edge;
mod hosts;
pub mod journal;
pub mod links;
pub mod measure;
pub mod outside;
pub mod papers;
pub mod plan;
pub mod profile;
pub mod run;
pub mod standards;
pub mod stateful;
pub mod subject;
pub mod subjects;
pub mod testbed;
pub mod validity;
pub mod world;

pub use definition::Experiment;
pub use journal::Journal;
pub use plan::{Options, PlanError};
pub use profile::Profile;
pub use run::{Event, RunError, run};
pub use subject::Subject;
pub use subjects::subjects;

/// Returns all experiments, in the order of the report.
pub fn experiments() -> impl Iterator<Item = &'static Experiment> {
    let standards = standards::EXPERIMENTS.iter().chain(&stateful::EXPERIMENTS);
    papers::EXPERIMENTS.iter().chain(standards)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_experiment_has_a_unique_name_and_a_subject() {
        let subjects = subjects();
        let mut names = BTreeSet::new();
        for experiment in experiments() {
            assert!(experiment.name.contains('/'), "{}", experiment.name);
            assert!(names.insert(experiment.name), "{}", experiment.name);
            let measured = subjects.iter().any(|subject| (experiment.of)(subject));
            assert!(measured, "{}", experiment.name);
        }
    }
}
