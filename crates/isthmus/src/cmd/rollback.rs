//! `isthmus rollback`: goes back to the configuration before the last reload.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use isthmus_gateway::control::{Reply, Request};

use super::reload::print_changes;
use super::target::Target;

/// Go back to the configuration that was in force before the last reload
///
/// The file stays as it is, so that `isthmus reload` takes it again. There is one configuration to go back to.
#[derive(Args, Debug)]
pub(crate) struct Rollback {
    #[command(flatten)]
    target: Target,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Rollback {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let Reply::RolledBack(back) = self.target.answer(&Request::Rollback)? else {
            bail!("unexpected answer from the gateway");
        };
        if self.json {
            println!("{}", serde_json::to_string_pretty(&back)?);
        } else {
            println!("the configuration of {} is in force again", back.read);
            print_changes(&back.changes);
        }
        Ok(ExitCode::SUCCESS)
    }
}
