//! A run: its plan, and its execution.

use std::{path::PathBuf, time::Instant};

use super::{
    candidate::{Candidate, Maker, candidates},
    profile::Profile,
    question::{How, Links, Question},
    questions,
    scene::Scene,
};
use crate::{
    LabError, Result,
    machine::{self, Machine},
    process,
    results::{self, Directory, Environment, FORMAT, Outcome, Planned, Run, Trial},
};

/// What `smoke` asks only by name.
const LEFT_OUT: [&str; 10] = [
    "paper-001/packet-rate",
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

/// What `smoke` asks of one of our engines only, unless the question or the subject is called by its name: the octets that
/// a mechanism adds do not depend on them, and the papers' links are slower than all of them.
const OF_ONE_ENGINE: [&str; 7] = [
    "paper-000/delay-udp-10M",
    "paper-000/delay-tcp-10M",
    "paper-000/delay-udp-100M",
    "paper-000/delay-tcp-100M",
    "paper-000/throughput-udp-10M",
    "paper-000/throughput-udp-100M",
    "paper-002/overhead",
];

/// What to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// How thoroughly.
    pub profile: Profile,
    /// Which experiments: their names, or what these begin with before `/`, or `all`.
    pub experiments: Vec<String>,
    /// Which subjects, by their names; all if there are none.
    pub subjects: Vec<String>,
}

/// What happens in a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// A trial begins.
    Begins {
        /// Which one.
        planned: &'a Planned,
        /// How many are over.
        over: usize,
        /// How many there are.
        all: usize,
        /// Seconds that are left, about.
        left: f64,
    },
    /// A trial is over.
    Over(&'a Trial),
}

/// Why a run can not be planned.
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
    /// The questions that are asked.
    ///
    /// # Errors
    /// One of the names is none.
    fn questions(&self) -> std::result::Result<Vec<&'static Question>, PlanError> {
        for name in &self.experiments {
            if !questions().any(|question| question.is_called(name)) {
                return Err(PlanError::Experiment(name.clone()));
            }
        }
        let wanted = |question: &&Question| {
            let mut names = self.experiments.iter();
            let hurried = self.profile == Profile::Smoke && LEFT_OUT.contains(&question.name);
            names.any(|name| question.is_called(name) && (!hurried || name == question.name))
        };
        Ok(questions().filter(wanted).collect())
    }

    /// Whether a question is put to one of all candidates.
    fn asks(&self, question: &Question, candidate: &Candidate, all: &[Candidate]) -> bool {
        let one_engine = self.profile == Profile::Smoke
            && self.subjects.is_empty()
            && OF_ONE_ENGINE.contains(&question.name)
            && !self.experiments.iter().any(|name| name == question.name);
        let is_ours = |candidate: &&Candidate| matches!(candidate.maker, Maker::Isthmus(_));
        let same = |one: &&Candidate| is_ours(one) && one.mechanism == candidate.mechanism;
        // The fastest engine is the first one.
        let first = all.iter().find(same);
        let another =
            is_ours(&candidate) && first.is_some_and(|first| first.name != candidate.name);
        (question.of)(candidate) && !(one_engine && another)
    }

    /// Those who are asked.
    ///
    /// # Errors
    /// One of the names is none.
    fn candidates(&self) -> std::result::Result<Vec<Candidate>, PlanError> {
        let mut all = candidates();
        for name in &self.subjects {
            if !all.iter().any(|candidate| candidate.name == *name) {
                return Err(PlanError::Subject(name.clone()));
            }
        }
        if !self.subjects.is_empty() {
            all.retain(|candidate| self.subjects.contains(&candidate.name));
        }
        Ok(all)
    }

    /// The run. A repetition asks everybody everything before the next one begins, so that a change in the
    /// machine's mood meets all; who stands in the network is asked all questions before it is taken down.
    ///
    /// # Errors
    /// One of the names is none.
    pub fn plan(
        &self,
        command: String,
        programs: &[PathBuf],
    ) -> std::result::Result<Run, PlanError> {
        let (questions, candidates) = (self.questions()?, self.candidates()?);
        let subjects: Vec<_> = candidates.iter().map(Candidate::describe).collect();
        let mut plan = Vec::new();
        for repetition in 0..self.profile.repetitions() {
            for (candidate, subject) in candidates.iter().zip(&subjects) {
                if subject.missing.is_some() {
                    continue;
                }
                let mut asked: Vec<_> = questions
                    .iter()
                    .filter(|question| self.asks(question, candidate, &candidates))
                    .collect();
                // What has the same network is asked in it, one after the other.
                asked.sort_by_key(|question| question.how.links());
                plan.extend(asked.into_iter().map(|question| Planned {
                    experiment: question.name.into(),
                    subject: candidate.name.clone(),
                    repetition,
                }));
            }
        }
        let Machine {
            cpu,
            cores,
            memory_mib,
            kernel,
        } = Machine::here();
        let begun = machine::now();
        Ok(Run {
            format: FORMAT,
            id: format!("{begun}-{}", std::process::id()),
            begun,
            profile: self.profile.name().into(),
            command,
            environment: Environment {
                cpu,
                cores,
                memory_mib,
                kernel,
                isthmus: env!("CARGO_PKG_VERSION").into(),
                program: machine::digest(programs),
            },
            experiments: questions
                .iter()
                .map(|question| question.describe())
                .collect(),
            subjects,
            plan,
        })
    }
}

/// How long what is left of a run takes, in seconds: guessed from what trials of the same question took, and
/// before there are any, from what the question says.
pub fn left(directory: &Directory) -> f64 {
    let run = directory.run();
    let profile = run.profile.parse().unwrap_or(Profile::Standard);
    let guess = |experiment: &str| {
        let same = directory.trials().filter(|trial| {
            trial.planned.experiment == experiment && matches!(trial.outcome, Outcome::Measured(_))
        });
        let (count, seconds) = same.fold((0.0, 0.0), |(count, sum), trial| {
            (count + 1.0, sum + trial.seconds)
        });
        if count > 0.0 {
            return seconds / count;
        }
        let question = questions().find(|question| question.name == experiment);
        question.map_or(0.0, |question| (question.takes)(profile))
    };
    let trials = directory.left().map(|number| &run.plan[number]);
    let mut before: Option<&Planned> = None;
    trials
        .map(|planned| {
            let another = before.is_none_or(|before| {
                (&before.subject, before.repetition) != (&planned.subject, planned.repetition)
            });
            before = Some(planned);
            guess(&planned.experiment) + if another { BUILD } else { 0.0 }
        })
        .sum()
}

/// About how long a network takes to be there, in seconds.
const BUILD: f64 = 1.5;

/// Carries out what is left of a run. It may be interrupted at any time: what is over is kept.
///
/// # Errors
/// This process is not root, or the run's directory can not be written. What can not be measured is no error
/// but a trial's outcome.
pub fn run(
    directory: &mut Directory,
    mut tell: impl FnMut(Event<'_>),
) -> std::result::Result<(), RunError> {
    process::require_root()?;
    let profile = directory.run().profile.parse().map_err(RunError::Profile)?;
    let all = directory.run().plan.len();
    let candidates = candidates();
    let mut stage: Option<Stage> = None;
    for number in directory.left().collect::<Vec<_>>() {
        let planned = directory.run().plan[number].clone();
        tell(Event::Begins {
            planned: &planned,
            over: directory.trials().count(),
            all,
            left: left(directory),
        });
        let start = Instant::now();
        let outcome = match known(&candidates, &planned) {
            Ok((question, candidate)) => answer(&mut stage, question, candidate, &planned, profile),
            Err(reason) => Outcome::NotRun(reason),
        };
        let trial = Trial {
            run: directory.run().id.clone(),
            planned,
            seconds: start.elapsed().as_secs_f64(),
            outcome,
        };
        tell(Event::Over(&trial));
        directory.keep(number, trial)?;
    }
    Ok(())
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The laboratory can not work here.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The run's directory is not as it should be.
    #[error(transparent)]
    Results(#[from] results::Problem),
    /// `run.json` names a profile that there is none of.
    #[error("run.json: {0}")]
    Profile(String),
}

/// A candidate in its network, for the questions of one repetition.
struct Stage {
    subject: String,
    repetition: u32,
    links: Links,
    scene: Result<Scene>,
}

fn known<'a>(
    candidates: &'a [Candidate],
    planned: &Planned,
) -> std::result::Result<(&'static Question, &'a Candidate), String> {
    let question = questions()
        .find(|question| question.name == planned.experiment)
        .ok_or("this program does not have the experiment")?;
    let candidate = candidates
        .iter()
        .find(|candidate| candidate.name == planned.subject)
        .ok_or("this program does not have the subject")?;
    Ok((question, candidate))
}

/// How often a trial is tried that says nothing of the candidate, because the machine had other work.
const TRIES: u32 = 3;

/// Asks until there is an answer, but not too often.
fn answer(
    stage: &mut Option<Stage>,
    question: &Question,
    candidate: &Candidate,
    planned: &Planned,
    profile: Profile,
) -> Outcome {
    let mut outcome = ask(stage, question, candidate, planned, profile);
    for _ in 1..TRIES {
        if !matches!(outcome, Outcome::Void(_)) {
            break;
        }
        outcome = ask(stage, question, candidate, planned, profile);
    }
    outcome
}

fn ask(
    stage: &mut Option<Stage>,
    question: &Question,
    candidate: &Candidate,
    planned: &Planned,
    profile: Profile,
) -> Outcome {
    let measured = match question.how {
        How::Apart(measure) => {
            // Cables take processor time as long as they are there.
            *stage = None;
            measure(candidate, profile)
        }
        How::Live(links, measure) => {
            let same = |stage: &Stage| {
                (&stage.subject, stage.repetition, stage.links)
                    == (&planned.subject, planned.repetition, links)
            };
            if !stage.as_ref().is_some_and(same) {
                // The one before is gone before the next is there.
                *stage = None;
            }
            let stage = stage.get_or_insert_with(|| Stage {
                subject: planned.subject.clone(),
                repetition: planned.repetition,
                links,
                scene: Scene::build(candidate, links),
            });
            match &mut stage.scene {
                Ok(scene) => {
                    measure(scene, profile).and_then(|points| scene.check().map(|()| points))
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
    fn everybody_has_a_turn_before_anybody_has_another() {
        let both = options(&["paper-002"], &["native-ipv4", "native-ipv6"]);
        let run = planned(&both).unwrap();
        let turns: Vec<_> = run
            .plan
            .iter()
            .map(|t| (t.repetition, &t.subject))
            .collect();
        assert!(turns.is_sorted());
        assert_eq!(run.experiments.len() * 2 * 5, run.plan.len());
        assert_eq!(run.environment.program.len(), 64);
    }

    #[test]
    fn in_a_hurry_some_questions_are_asked_by_name_only() {
        let asked = |profile, experiments: &[&str]| {
            let options = Options {
                profile,
                ..options(experiments, &["native-ipv4"])
            };
            let questions = options.questions().unwrap();
            let names = questions.iter().map(|question| question.name);
            names.filter(|name| *name == "rfc8219/pdv").count()
        };
        assert_eq!(asked(Profile::Smoke, &["all"]), 0);
        assert_eq!(asked(Profile::Smoke, &["rfc8219"]), 0);
        assert_eq!(asked(Profile::Smoke, &["all", "rfc8219/pdv"]), 1);
        assert_eq!(asked(Profile::Standard, &["rfc8219"]), 1);
    }

    #[test]
    fn in_a_hurry_one_engine_answers_what_others_would_as_well() {
        let all = candidates();
        let asked = |profile, experiment, subjects: &[&str]| {
            let options = Options {
                profile,
                ..options(&[experiment], subjects)
            };
            let question = questions().find(|question| question.name == "paper-002/overhead");
            let of = |name| all.iter().find(|candidate| candidate.name == name).unwrap();
            ["siit-isthmus-xdp", "siit-isthmus-user", "siit-tayga"]
                .map(|name| options.asks(question.unwrap(), of(name), &all))
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
    fn what_is_left_out_in_a_hurry_is_a_question() {
        for name in LEFT_OUT.into_iter().chain(OF_ONE_ENGINE) {
            assert!(questions().any(|question| question.name == name), "{name}");
        }
    }

    #[test]
    fn in_a_hurry_the_standards_have_their_time() {
        // Those who are not here, such as the kernel's tunnels, take no time.
        let here = |candidate: &Candidate| candidate.describe().missing.is_none();
        let all: Vec<_> = candidates().into_iter().filter(here).collect();
        let options = Options {
            profile: Profile::Smoke,
            ..options(&["rfc8219"], &[])
        };
        let asked = options.questions().unwrap().into_iter();
        let seconds: f64 = asked
            .filter(|question| question.name != "rfc8219/dns64")
            .map(|question| {
                let count = all
                    .iter()
                    .filter(|candidate| (question.of)(candidate))
                    .count();
                count as f64 * (question.takes)(Profile::Smoke)
            })
            .sum();
        // Of ten minutes for everything.
        assert!((30.0..=120.0).contains(&seconds), "{seconds}");
    }

    #[test]
    fn what_there_is_not_is_told() {
        let nobody = planned(&options(&["all"], &["nobody"]));
        assert_eq!(nobody, Err(PlanError::Subject("nobody".into())));
        let nothing = planned(&options(&["paper-00"], &[]));
        assert_eq!(nothing, Err(PlanError::Experiment("paper-00".into())));
    }
}
