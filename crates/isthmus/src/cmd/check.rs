//! `isthmus check`: checks a configuration and describes its effects.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use isthmus_gateway::config::{self, LoadError, Plan, Problem};
use serde::Serialize;

use super::configuration;

/// Check a configuration and describe what it does
///
/// Reads FILE and all files that it names, as `isthmus up` would, and changes nothing. If there are
/// mistakes, prints all of them, each with its place in the file and what would be right, and exits with 1.
/// Otherwise prints the plan: what is translated to what, the links and routes, the limits, and the memory
/// of the tables.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The configuration
    file: PathBuf,
    /// Print JSON: the plan, or the problems with file, line and column
    #[arg(long)]
    json: bool,
    /// Print mistakes only
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
                // The value of the secret does not change the sizes of tables.
                let compiled = loaded.document.compile(&[0; 8].into())?;
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
            configuration::print(&report);
        }
        if let Some(plan) = plan.filter(|_| !self.quiet) {
            println!("{plan}");
        }
        Ok(code)
    }
}
