//! `isthmus reload`: a running gateway reads its configuration again.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use isthmus_gateway::control::{Reply, Request};

use super::target::Target;

/// Let the running gateway read its configuration again
///
/// A mistake in it changes nothing.
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
            bail!("the gateway answered something else");
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
