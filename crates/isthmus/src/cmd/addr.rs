//! `isthmus addr`: addresses of every kind.

mod configured;
mod embed;
mod explain;
mod extract;
mod prefix;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Embed, extract and explain addresses
#[derive(Args, Debug)]
pub(crate) struct Addr {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    Embed(embed::Embed),
    Extract(extract::Extract),
    Explain(explain::Explain),
}

impl Addr {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        match &self.action {
            Action::Embed(embed) => embed.run(),
            Action::Extract(extract) => extract.run(),
            Action::Explain(explain) => explain.run(),
        }
    }
}
