//! `isthmus lab run`

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use isthmus_lab::experiments::{self, Event, Options, Profile};
use isthmus_lab::figures::results::{Directory, Outcome, Trial};
use isthmus_lab::report::summary::Summary;
use isthmus_lab::subjects::isthmus;

/// Carry out experiments, and keep their results
///
/// Networks are made in namespaces, one for each subject, and results are written to a directory as they come. A run
/// that was interrupted continues with --resume.
#[derive(Args, Debug)]
pub(super) struct Run {
    /// Experiments, papers (`paper-002`) or `all`
    #[arg(value_name = "NAME", default_value = "all")]
    names: Vec<String>,
    /// The thoroughness: smoke, standard or rfc
    #[arg(long, default_value = "smoke")]
    profile: Profile,
    /// Only these subjects, separated by commas; all that are here if absent
    #[arg(long, value_name = "SUBJECT", value_delimiter = ',')]
    subjects: Vec<String>,
    /// The directory of the results
    #[arg(long, value_name = "DIRECTORY", default_value = "report/run")]
    output: PathBuf,
    /// Continue the run in the directory, as it was planned
    #[arg(long)]
    resume: bool,
}

impl Run {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let mut directory = if self.resume {
            Directory::open(&self.output)?
        } else {
            let plan = self.options().plan(command(), &isthmus::programs())?;
            Directory::begin(&self.output, plan)?
        };
        let missing = directory.run().subjects.iter();
        for subject in missing.filter(|subject| subject.missing.is_some()) {
            let reason = subject.missing.as_deref().unwrap_or_default();
            println!("left out: {}: {reason}", subject.name);
        }
        println!(
            "{} trials, about {}",
            directory.left().count(),
            minutes(experiments::run::left(&directory)),
        );
        experiments::run(&mut directory, |event| match event {
            Event::Begins {
                planned,
                over,
                all,
                left,
            } => println!(
                "[{over}/{all}, {} left] {}: {}",
                minutes(left),
                planned.experiment,
                planned.subject
            ),
            Event::Over(trial) => tell(trial),
        })?;
        println!("written to {}", self.output.display());
        Ok(status(&directory))
    }

    fn options(&self) -> Options {
        Options {
            profile: self.profile,
            experiments: self.names.clone(),
            subjects: self.subjects.clone(),
        }
    }
}

/// Returns the command line of this process, as its users write it.
fn command() -> String {
    let arguments = std::env::args().skip(1);
    let words = ["isthmus".into(), "lab".into()]
        .into_iter()
        .chain(arguments);
    words.collect::<Vec<String>>().join(" ")
}

/// Prints the outcome of a trial that was not measured.
fn tell(trial: &Trial) {
    match &trial.outcome {
        Outcome::Measured(_) => {}
        Outcome::NotRun(reason) => println!("    not measured: {reason}"),
        Outcome::Void(reason) => println!("    void: {reason}"),
    }
}

/// Returns success if every trial was measured, and no value is better than its bound.
fn status(directory: &Directory) -> ExitCode {
    let beaten = Summary::new(directory.run(), directory.trials()).beaten();
    for figure in &beaten {
        println!("better than its bound, so that this or the bound is wrong: {figure}");
    }
    let measured = |trial: &Trial| matches!(trial.outcome, Outcome::Measured(_));
    let failed = directory.trials().filter(|trial| !measured(trial)).count();
    if failed == 0 && beaten.is_empty() {
        return ExitCode::SUCCESS;
    }
    if failed > 0 {
        println!("{failed} trials were not measured");
    }
    ExitCode::from(2)
}

fn minutes(seconds: f64) -> String {
    let all = Duration::from_secs_f64(seconds.max(0.0)).as_secs();
    format!("{}:{:02}", all / 60, all % 60)
}
