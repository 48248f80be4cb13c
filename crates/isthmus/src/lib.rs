//! The command line of the gateway. A library, because the laboratory's program completes the commands of both.

mod cmd;
pub mod reader;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

/// Runs the command that the arguments of this process name.
pub fn run() -> ExitCode {
    reader::end_without(|| ());
    let asked = match cmd::lab::help(std::env::args_os().skip(1)) {
        Some(help) => help.run(),
        None => cmd::Isthmus::parse().run(),
    };
    match asked {
        Ok(code) => code,
        Err(error) => reader::status(&error).unwrap_or_else(|| {
            eprintln!("isthmus: {error:#}");
            ExitCode::FAILURE
        }),
    }
}

/// Returns the commands and their options, without those of `lab`.
pub fn command() -> clap::Command {
    cmd::Isthmus::command()
}
