//! Selects the running gateway of a command.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use isthmus_gateway::control::{Client, DIRECTORY, Reply, Request, sockets};

/// The gateway to talk to. It need not be named if only one runs.
#[derive(Args, Debug)]
pub(crate) struct Target {
    /// Name of the gateway
    #[arg(long, short, value_name = "NAME", conflicts_with = "socket")]
    name: Option<String>,
    /// Path of its control socket
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

impl Target {
    /// Connects and sends a request.
    pub(crate) fn ask(&self, request: &Request) -> Result<Client> {
        let mut client = Client::connect(&self.path()?)?;
        client.send(request)?;
        Ok(client)
    }

    /// Sends a request whose answer is one line.
    pub(crate) fn answer(&self, request: &Request) -> Result<Reply> {
        self.ask(request)?
            .receive()?
            .context("the gateway closed the connection without an answer")
    }

    fn path(&self) -> Result<PathBuf> {
        if let Some(path) = &self.socket {
            return Ok(path.clone());
        }
        let directory = Path::new(DIRECTORY);
        if let Some(name) = &self.name {
            return Ok(directory.join(format!("{name}.sock")));
        }
        let mut found =
            sockets(directory).with_context(|| format!("cannot read the directory {DIRECTORY}"))?;
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => bail!(
                "no gateway has its control socket in {DIRECTORY}; give its path with --socket"
            ),
            _ => bail!(
                "more than one gateway runs here; choose one with --name: {}",
                found
                    .iter()
                    .filter_map(|path| path.file_stem()?.to_str())
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        }
    }
}
