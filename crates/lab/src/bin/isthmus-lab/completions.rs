//! `isthmus-lab completions`: what `isthmus completions` prints where the laboratory is installed.

use std::io;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Lab;

/// Print the script of `isthmus completions`, with the commands of the laboratory
#[derive(Args, Debug)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let laboratory = |_| Lab::command().name("lab");
        let mut command = isthmus::command().mut_subcommand("lab", laboratory);
        clap_complete::generate(self.shell, &mut command, "isthmus", &mut io::stdout());
        Ok(ExitCode::SUCCESS)
    }
}
