//! `isthmus-lab completions`: the output of `isthmus completions` where the laboratory is installed.

use std::io::{self, Write};
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
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "isthmus", &mut script);
        io::stdout().write_all(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the commands of the laboratory as those of `isthmus lab`, without hidden ones.
fn laboratory() -> Command {
    let all = Lab::command();
    let commands = all
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    Command::new("lab")
        .about(all.get_about().cloned().unwrap_or_default())
        .subcommands(commands.cloned())
}
