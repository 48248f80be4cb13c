//! `isthmus check`: checks a configuration and describes its effects.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use isthmus_gateway::config::{self, LoadError, Loaded, Plan, Problem};
use isthmus_gateway::doctor::{Case, Depth, Facts, Finding, examine};
use serde::Serialize;

use super::configuration;

/// Check a configuration and describe what it does
///
/// Reads FILE and all files that it names, as `isthmus up` would, and changes nothing. If there are
/// mistakes, prints all of them, each with its place in the file and what would be right, and exits with 1.
/// Otherwise prints the plan: what is translated to what, the links and routes, the limits, and the memory
/// of the tables. Warns of what would be wrong on this machine: `isthmus doctor` looks more closely.
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
    /// Findings on this machine, beyond what is missing there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<Finding>,
}

impl Check {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let loaded = config::load(&self.file).map(Loaded::with_engines);
        let (plan, report, findings) = match loaded {
            Ok(loaded) => {
                // The value of the secret does not change the sizes of tables.
                let compiled = loaded.document.compile(&[0; 8].into())?;
                let plan = Plan::new(&loaded.document, &compiled);
                (Some(plan), loaded.warnings_here(), findings(&loaded))
            }
            Err(LoadError::Invalid(report)) => (None, report, Vec::new()),
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
                findings,
            };
            println!("{}", serde_json::to_string_pretty(&answer)?);
            return Ok(code);
        }
        if !report.is_empty() {
            configuration::print(&report);
        }
        for Finding { defect, .. } in findings {
            eprintln!("here: {}. {}; {}", defect.wrong, defect.why, defect.remedy);
        }
        if let Some(plan) = plan.filter(|_| !self.quiet) {
            println!("{plan}");
        }
        Ok(code)
    }
}

/// The findings of `isthmus up` on this machine. Who may not ask about it gets none.
fn findings(loaded: &Loaded) -> Vec<Finding> {
    let Ok(facts) = Facts::gather_now() else {
        return Vec::new();
    };
    let case = Case {
        loaded,
        facts: &facts,
        status: None,
    };
    examine(&case, Depth::Start).findings
}
