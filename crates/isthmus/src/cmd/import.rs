//! `isthmus import`: the configuration of another translator, as one of ours.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use isthmus_gateway::import::{self, Translator};

/// The exit status if something was left out.
const LEFT_OUT: u8 = 2;

/// Carry the configuration of another translator over
///
/// Prints a configuration that translates the same packets, with comments, and on the standard error everything that
/// could not be carried over: its place, its value, and what to do instead. Exits with 0 if all was carried over, with
/// 2 if something was left out, and with 1 if FILE is wrong. docs/migrating.md has every key.
#[derive(Args, Debug)]
pub(crate) struct Import {
    #[command(subcommand)]
    from: From,
}

#[derive(Subcommand, Debug)]
enum From {
    /// Carry over a file of Jool, NAT64 or SIIT
    ///
    /// FILE is one that `jool file handle` or `jool_siit file handle` takes.
    Jool {
        /// The file
        file: PathBuf,
    },
    /// Carry over a tayga.conf
    Tayga {
        /// The file
        file: PathBuf,
    },
}

impl Import {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        match &self.from {
            From::Jool { file } => import(Translator::Jool, file),
            From::Tayga { file } => import(Translator::Tayga, file),
        }
    }
}

fn import(translator: Translator, file: &Path) -> Result<ExitCode> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let imported = match import::import(translator, file, &text) {
        Ok(imported) => imported,
        Err(failure) => {
            eprintln!("{failure}");
            return Ok(ExitCode::FAILURE);
        }
    };
    print!("{}", imported.configuration);
    for left_out in &imported.left_out {
        eprintln!("{left_out}");
    }
    Ok(if imported.left_out.is_empty() {
        ExitCode::SUCCESS
    } else {
        LEFT_OUT.into()
    })
}
