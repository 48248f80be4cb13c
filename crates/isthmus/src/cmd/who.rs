//! `isthmus who`: the subscriber that had an outside port at a time.

use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use isthmus_core::nat::Protocol;
use isthmus_gateway::config::{self, Choice, LoadError};
use isthmus_gateway::who::{Answer, Configuration, Question, Usage, Verdict, Window, answer};
use jiff::Timestamp;

use super::configuration;

/// The exit status if the question cannot be asked: wrong usage, or a file with a mistake.
const MISTAKE: u8 = 2;

/// Say who had an address and a port of the pool at a time
///
/// By calculation from the configuration (deterministic ports, static bindings, MAP, lw4o6), and from the records that
/// the gateway wrote: JSON lines, or RFC 5424 messages as a syslog server keeps them; with the files before their
/// rotation, compressed or not. Exits with 0 if it was exactly one subscriber, with 1 if that is unknown, with 2 if a
/// file has a mistake.
#[derive(Args, Debug)]
pub(crate) struct Who {
    /// The outside address and its port, or the identifier of ICMP
    #[arg(value_name = "ADDRESS:PORT")]
    outside: SocketAddrV4,
    /// When: 2026-11-21T08:09:10Z is that whole second; or "2 hours ago"
    #[arg(long, value_name = "TIME")]
    at: String,
    /// Widen the time by so many seconds at both ends, for a clock that was not exact
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    tolerance: u32,
    /// The protocol: tcp, udp or icmp
    #[arg(long, value_name = "NAME", value_parser = protocol)]
    protocol: Option<Protocol>,
    /// A configuration; may be given several times, for those before a change
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// A file of records; the one that the configuration names by default
    #[arg(long, value_name = "FILE", required_unless_present = "config")]
    records: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn protocol(name: &str) -> Result<Protocol, String> {
    let mut names = Protocol::NAMES.iter();
    let known = names.find(|(known, _)| *known == name);
    known
        .map(|(_, protocol)| *protocol)
        .ok_or_else(|| format!("{name:?} has no ports in the records: expected tcp, udp or icmp"))
}

impl Who {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        match self.answer() {
            Ok(answer) => {
                self.print(&answer)?;
                Ok(match answer.verdict {
                    Verdict::One => ExitCode::SUCCESS,
                    Verdict::Unknown => ExitCode::FAILURE,
                })
            }
            Err(error) => {
                match error.downcast_ref() {
                    Some(LoadError::Invalid(report)) => configuration::print(report),
                    _ => eprintln!("isthmus: {error:#}"),
                }
                Ok(MISTAKE.into())
            }
        }
    }

    fn answer(&self) -> Result<Answer> {
        let window = Window::parse(&self.at, Timestamp::now())?;
        let question = Question {
            address: *self.outside.ip(),
            port: self.outside.port(),
            protocol: self.protocol,
            window: window.widened(self.tolerance),
        };
        let mut configurations = Vec::new();
        for path in &self.config {
            let loaded = config::load(path)?;
            configurations.push(Configuration {
                path: path.clone(),
                loaded,
            });
        }
        Ok(answer(
            &question,
            &configurations,
            &self.files(&configurations)?,
        )?)
    }

    /// The files of records to read.
    fn files(&self, configurations: &[Configuration]) -> Result<Vec<PathBuf>> {
        for path in &self.records {
            if !path.exists() {
                bail!("{}: there is no such file", path.display());
            }
        }
        if !self.records.is_empty() {
            return Ok(self.records.clone());
        }
        let documents = configurations.iter().map(|one| &one.loaded.document);
        let named = documents.filter_map(|document| document.records.json.as_ref());
        let mut files: Vec<_> = named.map(|at| at.value.clone()).collect();
        files.sort();
        files.dedup();
        // What is calculated needs no records. A file that may not be looked at is an error.
        files.retain(|file| !matches!(file.try_exists(), Ok(false)));
        Ok(files)
    }

    fn print(&self, answer: &Answer) -> Result<()> {
        if self.json {
            println!("{}", serde_json::to_string_pretty(answer)?);
            return Ok(());
        }
        let protocol = self
            .protocol
            .map_or(String::new(), |it| format!(" {}", it.name()));
        println!(
            "{}{protocol} from {} to {}",
            self.outside, answer.from, answer.to
        );
        match (answer.verdict, answer.subscribers.as_slice()) {
            (Verdict::One, [subscriber]) => println!("one subscriber: {subscriber}"),
            _ => println!("unknown"),
        }
        for reason in &answer.reasons {
            println!("  {reason}");
        }
        for usage in &answer.uses {
            println!("{}", line(usage));
        }
        if answer.more_uses > 0 {
            println!("… and {} more", answer.more_uses);
        }
        for complaint in answer
            .records
            .iter()
            .flat_map(|records| &records.complaints)
        {
            eprintln!("isthmus: {complaint}");
        }
        Ok(())
    }
}

/// One use of the port.
fn line(usage: &Usage) -> String {
    let mut text = format!("{}: {}", usage.subscriber, usage.by);
    if let Some(protocol) = usage.protocol {
        text += &format!(", {protocol}");
    }
    if let Some(host) = usage.inside_address {
        text += &format!(", host {host}");
    }
    if let Some(port) = usage.inside_port {
        text += &format!(" port {port}");
    }
    text += &format!(", instance {} of {}", usage.instance, usage.gateway);
    if let Some(began) = usage.began {
        text += &format!(", from {began}");
    }
    match (usage.ended, usage.end_recorded) {
        (Some(ended), Some(true)) => text += &format!(" to {ended}"),
        (Some(ended), _) => text += &format!(", until some time before {ended}"),
        (None, _) => {}
    }
    format!("{text} ({})", usage.source)
}
