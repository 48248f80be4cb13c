//! `isthmus up`: runs a gateway.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use isthmus_gateway::config::LoadError;
use isthmus_gateway::lifecycle::{UpError, up};
use isthmus_gateway::privilege::{drop_privileges, raise_open_files};

use super::configuration;

/// Run the gateway that FILE describes, in the foreground
///
/// SIGHUP reloads FILE. SIGTERM and SIGINT end the gateway, which then undoes all that it changed. After SIGTERM,
/// or an end by accident, the next `isthmus up` goes on with the sessions; SIGINT and `isthmus forget` end them.
#[derive(Args, Debug)]
pub(crate) struct Up {
    /// The configuration
    file: PathBuf,
}

impl Up {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        // The process has only this thread yet, as required for dropping privileges.
        drop_privileges()?;
        raise_open_files();
        match up(&self.file) {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(UpError::Load(LoadError::Invalid(report))) => {
                configuration::print(&report);
                Ok(ExitCode::FAILURE)
            }
            Err(error) => Err(error.into()),
        }
    }
}
