//! `isthmus-lab completions`: what `isthmus completions` prints where the laboratory is installed.

use std::io;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Command, CommandFactory};
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
        let mut command = isthmus::command().mut_subcommand("lab", |_| laboratory());
        clap_complete::generate(self.shell, &mut command, "isthmus", &mut io::stdout());
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the commands of the laboratory as those of `isthmus lab`, without what only programs call.
fn laboratory() -> Command {
    let all = Lab::command();
    let commands = all
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    Command::new("lab")
        .about(all.get_about().cloned().unwrap_or_default())
        .subcommands(commands.cloned())
}
