//! `isthmus doctor`: looks for what silently defeats a gateway on this machine.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use isthmus_gateway::config;
use isthmus_gateway::control::{Client, ClientError, Reply, Request, Status};
use isthmus_gateway::doctor::{Case, Depth, Diagnosis, Facts, Finding, examine};
use serde::Serialize;

use super::configuration;
use super::target::Target;

/// The exit status if something is wrong.
const FINDINGS: u8 = 2;

/// Look for everything on this machine that silently defeats a gateway
///
/// Looks before the gateway of FILE runs, and while it runs. Without FILE, the one that runs here is meant. Prints
/// each finding with the value that is wrong, its consequence, and the remedy: a command, or a line of the
/// configuration. Nothing is changed. Exits with 2 if there are findings, with 1 if it could not look, or not at
/// everything, and with 0 otherwise.
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// The configuration
    #[arg(conflicts_with_all = ["name", "socket"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    target: Target,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    gateway: &'a str,
    running: bool,
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
}

impl Doctor {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let (file, status) = match &self.file {
            Some(file) => (file.clone(), None),
            None => {
                let status = self
                    .target
                    .answer(&Request::Status)
                    .context("which gateway? Name its configuration: isthmus doctor FILE")?;
                let status = expect_status(status)?;
                // The gateway was started in a folder of its own.
                let folder = format!("/proc/{}/cwd", status.process);
                let file = Path::new(&folder).join(&status.configuration);
                (file, Some(status))
            }
        };
        let loaded = match config::load(&file).map(config::Loaded::with_engines) {
            Ok(loaded) => loaded,
            Err(config::LoadError::Invalid(report)) => {
                configuration::print(&report);
                return Ok(ExitCode::FAILURE);
            }
            Err(error @ config::LoadError::Read { .. }) => return Err(error.into()),
        };
        let gateway = &loaded.document.gateway;
        let status = match status {
            Some(status) => Some(status),
            None => status_at(&gateway.control)?,
        };
        let facts = Facts::gather_now()?;
        let case = Case {
            loaded: &loaded,
            facts: &facts,
            status: status.as_ref(),
        };
        let diagnosis = examine(&case, Depth::Whole);
        if self.json {
            let answer = Answer {
                gateway: &gateway.name,
                running: status.is_some(),
                diagnosis: &diagnosis,
            };
            println!("{}", serde_json::to_string_pretty(&answer)?);
        } else {
            print(&diagnosis);
        }
        Ok(code(&diagnosis))
    }
}

/// The state of the gateway with this control socket, if it runs.
fn status_at(socket: &Path) -> Result<Option<Status>> {
    let mut client = match Client::connect(socket) {
        Ok(client) => client,
        Err(ClientError::Unreachable { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    client.send(&Request::Status)?;
    let answer = client.receive()?.context("the gateway does not answer")?;
    expect_status(answer).map(Some)
}

fn expect_status(reply: Reply) -> Result<Status> {
    let Reply::Status(status) = reply else {
        bail!("unexpected answer from the gateway");
    };
    Ok(*status)
}

fn code(diagnosis: &Diagnosis) -> ExitCode {
    match (diagnosis.findings.is_empty(), diagnosis.unseen.is_empty()) {
        (false, _) => ExitCode::from(FINDINGS),
        (true, false) => ExitCode::FAILURE,
        (true, true) => ExitCode::SUCCESS,
    }
}

fn print(diagnosis: &Diagnosis) {
    for Finding { check, defect } in &diagnosis.findings {
        println!("{check}: {}", defect.wrong);
        println!("  {}.", defect.why);
        println!("  {}\n", defect.remedy);
    }
    for unseen in &diagnosis.unseen {
        println!("{}: could not look: {}\n", unseen.check, unseen.reason);
    }
    match (diagnosis.findings.len(), diagnosis.unseen.len()) {
        (0, 0) => println!("nothing is wrong"),
        (0, _) => println!("nothing else is wrong"),
        (1, _) => println!("1 finding"),
        (many, _) => println!("{many} findings"),
    }
}
