//! `isthmus reload`: reloads the configuration of a running gateway.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use isthmus_gateway::control::{Reply, Request};

use super::target::Target;

/// Reload the running gateway's configuration
///
/// If the configuration has a mistake, nothing changes.
#[derive(Args, Debug)]
pub(crate) struct Reload {
    #[command(flatten)]
    target: Target,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Reload {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let Reply::Reloaded(changes) = self.target.answer(&Request::Reload)? else {
            bail!("unexpected answer from the gateway");
        };
        if self.json {
            println!("{}", serde_json::to_string(&changes)?);
        } else if changes.is_empty() {
            println!("nothing changed");
        } else {
            println!("{}", changes.join("\n"));
        }
        Ok(ExitCode::SUCCESS)
    }
}
