//! `isthmus top`: who has most sessions, again and again.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use isthmus_gateway::config::Choice;
use isthmus_gateway::control::{By, Reply, Request, Top as Answer, TopRequest};

use super::columns::{Align, Columns};
use super::target::Target;

/// Clears a terminal, and goes to its first line.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Show who has most sessions, and makes most, until Ctrl-C
///
/// Counts in the gateway, beside the packet path. There are no counters of packets or bytes for each session.
#[derive(Args, Debug)]
pub(crate) struct Top {
    #[command(flatten)]
    target: Target,
    /// What sessions are counted by: subscriber, remote, port or instance
    #[arg(long, value_name = "WHAT", default_value = "subscriber", value_parser = by)]
    by: By,
    /// Show so many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    interval: u32,
    /// Look once
    #[arg(long)]
    once: bool,
    /// Print a line of JSON for each look
    #[arg(long)]
    json: bool,
}

fn by(name: &str) -> Result<By, String> {
    let mut names = By::NAMES.iter();
    let known = names.find(|(known, _)| *known == name);
    known
        .map(|(_, by)| *by)
        .ok_or_else(|| format!("{name:?} is none of subscriber, remote, port and instance"))
}

impl Top {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let request = TopRequest {
            by: self.by,
            limit: self.limit,
        };
        loop {
            let Reply::Top(top) = self.target.answer(&Request::Top(request))? else {
                bail!("unexpected answer from the gateway");
            };
            self.print(&top)?;
            if self.once {
                return Ok(ExitCode::SUCCESS);
            }
            thread::sleep(Duration::from_secs(self.interval.into()));
        }
    }

    fn print(&self, top: &Answer) -> Result<()> {
        let mut out = std::io::stdout().lock();
        if self.json {
            writeln!(out, "{}", serde_json::to_string(top)?)?;
            return Ok(out.flush()?);
        }
        if !self.once && out.is_terminal() {
            write!(out, "{CLEAR}")?;
        }
        let (sessions, new) = (top.sessions, top.new_per_second);
        writeln!(out, "{sessions} sessions, {new:.1} new ones in a second")?;
        if top.uncertain > 0 {
            writeln!(
                out,
                "each row may have {} more than it shows",
                top.uncertain
            )?;
        }
        let mut rows = Columns::new([
            (self.by.name(), Align::Left),
            ("sessions", Align::Right),
            ("new/s", Align::Right),
        ]);
        for row in &top.rows {
            let new = format!("{:.1}", row.new_per_second);
            rows.row([row.name.clone(), row.sessions.to_string(), new]);
        }
        write!(out, "{rows}")?;
        Ok(out.flush()?)
    }
}
