//! `isthmus diff`: what would change from one configuration to another.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use isthmus_gateway::config::{self, LoadError, Loaded};
use isthmus_gateway::lifecycle::differences;

use super::configuration;

/// Exit statuses, as those of diff(1).
const DIFFERENT: u8 = 1;
const TROUBLE: u8 = 2;

/// Tell what would change if a gateway with configuration A reloaded B
///
/// Tells the keys that differ, the instances that come, go or change, what becomes of their sessions, and what only a
/// restart changes. Exits with 0 if nothing would change, with 1 if something would, and with 2 if a file cannot be
/// used. `isthmus reload --dry-run` compares with the running gateway, and counts sessions.
#[derive(Args, Debug)]
pub(crate) struct Diff {
    /// The configuration before
    #[arg(value_name = "A")]
    before: PathBuf,
    /// The configuration then
    #[arg(value_name = "B")]
    after: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Diff {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let (Some(before), Some(after)) = (self.read(&self.before), self.read(&self.after)) else {
            return Ok(TROUBLE.into());
        };
        let differences = match differences(&before, &after) {
            Ok(differences) => differences,
            Err(error) => {
                eprintln!("isthmus: {error}");
                return Ok(TROUBLE.into());
            }
        };
        if self.json {
            println!("{}", serde_json::to_string_pretty(&differences)?);
        } else {
            println!("{differences}");
        }
        Ok(if differences.is_empty() {
            ExitCode::SUCCESS
        } else {
            DIFFERENT.into()
        })
    }

    /// Reads a configuration of the gateway of A, and prints what is wrong with it. Warnings are for `isthmus check`.
    fn read(&self, path: &Path) -> Option<Loaded> {
        match config::load_for(path, &self.before) {
            Ok(loaded) => return Some(loaded),
            Err(LoadError::Invalid(report)) => configuration::print(&report),
            Err(error @ LoadError::Read { .. }) => eprintln!("isthmus: {error}"),
        }
        None
    }
}
