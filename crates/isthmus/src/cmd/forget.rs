//! `isthmus forget`: removes what a gateway left for its next start.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use isthmus_gateway::config::LoadError;
use isthmus_gateway::lifecycle::{UpError, forget};

use super::configuration;

/// Remove what the ended gateway of FILE left: its sessions, and what it could not take back
///
/// Sessions are in the memory of the machine: in maps under /sys/fs/bpf, or in a file beside the control socket. A unit
/// of the service manager forgets when it is stopped.
#[derive(Args, Debug)]
pub(crate) struct Forget {
    /// The configuration
    file: PathBuf,
}

impl Forget {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        match forget(&self.file) {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(UpError::Load(LoadError::Invalid(report))) => {
                configuration::print(&report);
                Ok(ExitCode::FAILURE)
            }
            Err(error) => Err(error.into()),
        }
    }
}
