//! `isthmus lab experiments` and `isthmus lab subjects`

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use isthmus_lab::experiments::{edge, experiments, subjects};

/// Show the experiments that can be carried out
#[derive(Args, Debug)]
pub(super) struct Experiments {}

impl Experiments {
    pub(super) fn run(&self) -> Result<ExitCode> {
        for experiment in experiments() {
            println!(
                "{:<28}  {} ({})",
                experiment.name, experiment.title, experiment.source
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Be the slow edge of a subject, with the cards of this machine, as the laboratory's emulated one is
#[derive(Args, Debug)]
pub(super) struct Edge {
    /// The subject
    subject: String,
}

impl Edge {
    pub(super) fn run(&self) -> Result<ExitCode> {
        match edge::inside::serve(&self.subject)? {}
    }
}

/// Show the subjects, and why some cannot be measured
#[derive(Args, Debug)]
pub(super) struct Subjects {}

impl Subjects {
    pub(super) fn run(&self) -> Result<ExitCode> {
        for subject in subjects() {
            let subject = subject.describe();
            let missing = match subject.missing {
                Some(reason) => format!("  not here: {reason}"),
                None => String::new(),
            };
            println!(
                "{:<22}  {:<11}  {:<24}  {}{missing}",
                subject.name, subject.mechanism, subject.implementation, subject.engine
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}
