//! `isthmus confirm`: keeps a configuration that would be undone.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use isthmus_gateway::control::{Reply, Request};

use super::target::Target;

/// Keep the configuration of `isthmus reload --confirm`
#[derive(Args, Debug)]
pub(crate) struct Confirm {
    #[command(flatten)]
    target: Target,
}

impl Confirm {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        match self.target.answer(&Request::Confirm)? {
            Reply::Confirmed => println!("confirmed"),
            _ => bail!("unexpected answer from the gateway"),
        }
        Ok(ExitCode::SUCCESS)
    }
}
