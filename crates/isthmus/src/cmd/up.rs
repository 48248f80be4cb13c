//! `isthmus up`: a gateway from start to end.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use isthmus_gateway::config::{LoadError, Style};
use isthmus_gateway::lifecycle::{UpError, up};
use isthmus_gateway::privilege::drop_privileges;

/// Run the gateway that FILE describes, in the foreground
///
/// SIGHUP reads FILE again; SIGTERM and SIGINT end the gateway and take back all that it changed.
#[derive(Args, Debug)]
pub(crate) struct Up {
    /// The configuration
    file: PathBuf,
}

/// Exit code for a configuration that can not be used, as `isthmus check` has it.
const BAD_CONFIGURATION: u8 = 2;

impl Up {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        // The process has only this thread yet, which is what dropping privileges asks for.
        drop_privileges()?;
        match up(&self.file) {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(UpError::Load(LoadError::Invalid(report))) => {
                let style = if std::io::stderr().is_terminal() {
                    Style::Colour
                } else {
                    Style::Plain
                };
                eprintln!("{}", report.render(style));
                Ok(ExitCode::from(BAD_CONFIGURATION))
            }
            Err(error) => Err(error.into()),
        }
    }
}
