//! `isthmus check`: whether a configuration is right, and what it will do.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use isthmus_gateway::config::{self, LoadError, Plan, Problem};
use serde::Serialize;

use super::configuration;

/// Check a configuration and say in plain words what it does
///
/// Reads FILE and everything that it names, as `isthmus up` would, and changes nothing. Mistakes
/// are shown with their place in the file and with what would be right, all of them at once, and
/// the exit code is 1. Otherwise the plan is printed: what is translated to what, which links and
/// routes there will be, limits, and the memory that the tables take.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The configuration
    file: PathBuf,
    /// Print JSON: the plan, or the problems with file, line and column
    #[arg(long)]
    json: bool,
    /// Print nothing but mistakes
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
}

#[derive(Serialize)]
struct Answer {
    valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<Plan>,
    problems: Vec<Problem>,
}

impl Check {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let (plan, report) = match config::load(&self.file) {
            Ok(loaded) => {
                // The secret is of no importance for the sizes of tables.
                let compiled = loaded.document.compile(&[0; 6])?;
                let plan = Plan::new(&loaded.document, &compiled);
                (Some(plan), loaded.warnings)
            }
            Err(LoadError::Invalid(report)) => (None, report),
            Err(error @ LoadError::Read { .. }) => return Err(error.into()),
        };
        let code = match plan {
            Some(_) => ExitCode::SUCCESS,
            None => ExitCode::FAILURE,
        };
        if self.json {
            let answer = Answer {
                valid: plan.is_some(),
                plan,
                problems: report.problems().collect(),
            };
            println!("{}", serde_json::to_string_pretty(&answer)?);
            return Ok(code);
        }
        if !report.is_empty() {
            configuration::tell(&report);
        }
        if let Some(plan) = plan.filter(|_| !self.quiet) {
            println!("{plan}");
        }
        Ok(code)
    }
}
