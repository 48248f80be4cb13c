//! The command line of Isthmus.

mod cmd;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cmd::Isthmus::parse().run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("isthmus: {error:#}");
            ExitCode::FAILURE
        }
    }
}
