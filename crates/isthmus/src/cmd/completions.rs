//! `isthmus completions`: completion scripts for shells.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Isthmus, lab};

/// Print a script that lets a shell complete commands, options and their values
///
/// Example: `isthmus completions bash > /etc/bash_completion.d/isthmus`
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        // The laboratory's program knows the commands of both programs.
        if let Some(program) = lab::find() {
            let arguments = ["completions".into(), self.shell.to_string().into()];
            return Err(lab::start(&program, &arguments));
        }
        let mut command = Isthmus::command();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "isthmus", &mut script);
        io::stdout().write_all(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}
