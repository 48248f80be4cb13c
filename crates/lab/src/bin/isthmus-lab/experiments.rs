//! `isthmus lab experiments` and `isthmus lab subjects`

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use isthmus_lab::experiment::{candidates, questions};

/// Show the experiments that can be carried out
#[derive(Args, Debug)]
pub(super) struct Experiments {}

impl Experiments {
    pub(super) fn run(&self) -> Result<ExitCode> {
        for question in questions() {
            println!(
                "{:<28}  {} ({})",
                question.name, question.title, question.source
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Show what can be measured, and what can not and why
#[derive(Args, Debug)]
pub(super) struct Subjects {}

impl Subjects {
    pub(super) fn run(&self) -> Result<ExitCode> {
        for candidate in candidates() {
            let subject = candidate.describe();
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
