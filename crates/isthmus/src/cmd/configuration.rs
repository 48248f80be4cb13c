//! Reads a configuration for a command, and prints mistakes to the standard error.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use isthmus_gateway::config::{self, Document, LoadError, Loaded, Report, Style};

/// A configuration, or the exit code of a command that cannot continue without it.
pub(crate) type Read = std::result::Result<Document, ExitCode>;

/// Reads a configuration, and prints its errors and warnings.
pub(crate) fn read(path: &Path) -> Result<Read> {
    match config::load(path) {
        Ok(Loaded { document, warnings }) => {
            if !warnings.is_empty() {
                print(&warnings);
            }
            Ok(Ok(document))
        }
        Err(LoadError::Invalid(report)) => {
            print(&report);
            Ok(Err(ExitCode::FAILURE))
        }
        Err(error @ LoadError::Read { .. }) => Err(error.into()),
    }
}

/// Prints messages about a configuration, in colour on a terminal.
pub(crate) fn print(report: &Report) {
    let style = if io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        Style::Colour
    } else {
        Style::Plain
    };
    eprintln!("{}", report.render(style));
}
