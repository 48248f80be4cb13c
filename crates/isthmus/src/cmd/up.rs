//! `isthmus up`: a gateway from start to end.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use isthmus_gateway::config::LoadError;
use isthmus_gateway::lifecycle::{UpError, up};
use isthmus_gateway::privilege::drop_privileges;

use super::configuration;

/// Run the gateway that FILE describes, in the foreground
///
/// SIGHUP reads FILE again; SIGTERM and SIGINT end the gateway and take back all that it changed.
#[derive(Args, Debug)]
pub(crate) struct Up {
    /// The configuration
    file: PathBuf,
}

impl Up {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        // The process has only this thread yet, which is what dropping privileges asks for.
        drop_privileges()?;
        match up(&self.file) {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(UpError::Load(LoadError::Invalid(report))) => {
                configuration::tell(&report);
                Ok(ExitCode::FAILURE)
            }
            Err(error) => Err(error.into()),
        }
    }
}
