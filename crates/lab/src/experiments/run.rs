//! The execution of a run.

use std::time::Instant;

use super::{
    definition::{Experiment, How},
    experiments,
    journal::Journal,
    links::Links,
    measure::alone,
    profile::Profile,
    subject::Subject,
    subjects,
    testbed::Testbed,
};
use crate::{
    LabError, Result,
    experiments::validity::TRIES,
    figures::results::{self, Directory, Evidence, Interface, Outcome, Planned, Trial},
    network::{interfaces, process},
};

/// An event of a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// A trial begins.
    Begins {
        /// The trial.
        planned: &'a Planned,
        /// The number of trials that are over.
        over: usize,
        /// The number of trials in the plan.
        all: usize,
        /// The time that the rest of the run takes, about, in seconds.
        left: f64,
    },
    /// A trial is over.
    Over(&'a Trial),
}

/// The time that it takes to build a testbed, about, in seconds.
const BUILD: f64 = 1.5;

/// Estimates how long the rest of a run takes, in seconds. The estimate is the mean of earlier trials of the same
/// experiment; before there are any, it is the experiment's own.
pub fn left(directory: &Directory) -> f64 {
    let run = directory.run();
    let profile = run.profile.parse().unwrap_or(Profile::Standard);
    let estimate = |name: &str| {
        let same = directory.trials().filter(|trial| {
            trial.planned.experiment == name && matches!(trial.outcome, Outcome::Measured(_))
        });
        let (count, seconds) = same.fold((0.0, 0.0), |(count, sum), trial| {
            (count + 1.0, sum + trial.seconds)
        });
        if count > 0.0 {
            return seconds / count;
        }
        let experiment = experiments().find(|experiment| experiment.name == name);
        experiment.map_or(0.0, |experiment| (experiment.takes)(profile))
    };
    let trials = directory.left().map(|number| &run.plan[number]);
    let mut before: Option<&Planned> = None;
    trials
        .map(|planned| {
            let another = before.is_none_or(|before| {
                (&before.subject, before.repetition) != (&planned.subject, planned.repetition)
            });
            before = Some(planned);
            estimate(&planned.experiment) + if another { BUILD } else { 0.0 }
        })
        .sum()
}

/// Carries out the rest of a run. It may be interrupted at any time: trials that are over are kept.
///
/// # Errors
/// This process is not root, or the run's directory cannot be written. A subject that cannot be measured is not an
/// error but the outcome of a trial.
pub fn run(
    directory: &mut Directory,
    tell: impl FnMut(Event<'_>),
) -> std::result::Result<(), RunError> {
    process::require_root()?;
    let over = trials(directory, tell);
    alone::forget();
    over
}

/// Carries out the trials that are left.
fn trials(
    directory: &mut Directory,
    mut tell: impl FnMut(Event<'_>),
) -> std::result::Result<(), RunError> {
    let profile = directory.run().profile.parse().map_err(RunError::Profile)?;
    let all = directory.run().plan.len();
    let subjects = subjects();
    let mut built: Option<Built> = None;
    for number in directory.left().collect::<Vec<_>>() {
        let planned = directory.run().plan[number].clone();
        tell(Event::Begins {
            planned: &planned,
            over: directory.trials().count(),
            all,
            left: left(directory),
        });
        let start = Instant::now();
        let journal = Journal::default();
        let (outcome, retries) = match known(&subjects, &planned) {
            Ok((experiment, subject)) => repeat_void(|| {
                measure(&mut built, experiment, subject, &planned, profile, &journal)
            }),
            Err(reason) => (Outcome::NotRun(reason), Vec::new()),
        };
        let (evidence, interfaces) = journal.take();
        let network = interfaces.map(|interfaces| directory.network(interfaces));
        let testbed = built.as_mut().and_then(|built| built.testbed.as_mut().ok());
        let gaps = testbed.map(|(testbed, _)| testbed.left_out());
        let trial = Trial {
            run: directory.run().id.clone(),
            planned,
            seconds: start.elapsed().as_secs_f64(),
            outcome,
            gaps: gaps.unwrap_or_default(),
            evidence: Evidence {
                network: network.transpose()?,
                retries,
                ..evidence
            },
        };
        tell(Event::Over(&trial));
        directory.keep(number, trial)?;
    }
    Ok(())
}

/// The reason why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The laboratory cannot work on this machine.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The run's directory is damaged or cannot be written.
    #[error(transparent)]
    Results(#[from] results::Problem),
    /// `run.json` names an unknown profile.
    #[error("run.json: {0}")]
    Profile(String),
}

/// A testbed, which serves all experiments of one subject in one repetition that need the same links.
struct Built {
    subject: String,
    repetition: u32,
    links: Links,
    /// With the interfaces of its network.
    testbed: Result<(Testbed, Vec<Interface>)>,
}

impl Built {
    fn new(subject: &Subject, repetition: u32, links: Links) -> Self {
        Self {
            subject: subject.name.clone(),
            repetition,
            links,
            testbed: Testbed::build(subject, links).and_then(|testbed| {
                let interfaces = interfaces::of(testbed.network())?;
                Ok((testbed, interfaces))
            }),
        }
    }

    fn serves(&self, planned: &Planned, links: Links) -> bool {
        (&self.subject, self.repetition, self.links)
            == (&planned.subject, planned.repetition, links)
    }
}

/// Returns the experiment and the subject of a planned trial.
///
/// # Errors
/// This program does not know one of them: the run was planned by another version.
fn known<'a>(
    subjects: &'a [Subject],
    planned: &Planned,
) -> std::result::Result<(&'static Experiment, &'a Subject), String> {
    let experiment = experiments()
        .find(|experiment| experiment.name == planned.experiment)
        .ok_or("this program does not have the experiment")?;
    let subject = subjects
        .iter()
        .find(|subject| subject.name == planned.subject)
        .ok_or("this program does not have the subject")?;
    Ok((experiment, subject))
}

/// Repeats a trial as long as it is void, which it is if the machine had other work. Also returns why it was repeated.
fn repeat_void(mut trial: impl FnMut() -> Outcome) -> (Outcome, Vec<String>) {
    let mut retries = Vec::new();
    for _ in 1..TRIES {
        match trial() {
            Outcome::Void(why) => retries.push(why),
            outcome => return (outcome, retries),
        }
    }
    (trial(), retries)
}

/// Carries out one trial.
fn measure(
    built: &mut Option<Built>,
    experiment: &Experiment,
    subject: &Subject,
    planned: &Planned,
    profile: Profile,
    journal: &Journal,
) -> Outcome {
    let measured = match experiment.how {
        How::Apart(measure) => {
            // A testbed takes processor time as long as it is there.
            *built = None;
            alone::forget();
            measure(subject, profile, journal)
        }
        How::Live(links, measure) => {
            // The old testbed is removed before the new one is built.
            built.take_if(|built| !built.serves(planned, links));
            let built = built.get_or_insert_with(|| Built::new(subject, planned.repetition, links));
            match &mut built.testbed {
                Ok((testbed, interfaces)) => {
                    testbed.begin(journal);
                    journal.network(interfaces.clone());
                    measure(testbed, profile).and_then(|points| testbed.check().map(|()| points))
                }
                Err(error) => return Outcome::NotRun(error.to_string()),
            }
        }
    };
    match measured {
        Ok(points) => Outcome::Measured(points),
        Err(LabError::Tester(problem)) => Outcome::Void(problem),
        Err(error) => Outcome::NotRun(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_void_trial_is_repeated_and_says_why() {
        let void = |why: &str| Outcome::Void(why.into());
        let done = Outcome::Measured(vec![]);
        let mut outcomes = vec![done.clone(), void("late")];
        let repeated = repeat_void(|| outcomes.pop().unwrap());
        assert_eq!(repeated, (done, vec!["late".to_owned()]));
        let mut tried = 0;
        let (outcome, retries) = repeat_void(|| {
            tried += 1;
            void("late")
        });
        assert_eq!(
            (outcome, retries.len() as u32 + 1, tried),
            (void("late"), TRIES, TRIES)
        );
    }
}
