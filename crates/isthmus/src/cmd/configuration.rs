//! Reading a configuration for a command: what is wrong goes to the standard error.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use isthmus_gateway::config::{self, Document, LoadError, Loaded, Report, Style};

/// A configuration, or the exit code of a command that can not go on without it.
pub(crate) type Read = std::result::Result<Document, ExitCode>;

/// Reads a configuration and tells its mistakes and doubts.
pub(crate) fn read(path: &Path) -> Result<Read> {
    match config::load(path) {
        Ok(Loaded { document, warnings }) => {
            if !warnings.is_empty() {
                tell(&warnings);
            }
            Ok(Ok(document))
        }
        Err(LoadError::Invalid(report)) => {
            tell(&report);
            Ok(Err(ExitCode::FAILURE))
        }
        Err(error @ LoadError::Read { .. }) => Err(error.into()),
    }
}

/// Prints messages about a configuration, in colour for people.
pub(crate) fn tell(report: &Report) {
    let style = if io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        Style::Colour
    } else {
        Style::Plain
    };
    eprintln!("{}", report.render(style));
}
