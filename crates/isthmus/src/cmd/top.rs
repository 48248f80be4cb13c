//! `isthmus top`: who has most sessions, or sends and receives most, again and again.

mod screen;
mod terminal;
mod view;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use isthmus_gateway::config::Choice;
use isthmus_gateway::control::{By, Most, Reply, Request, Top as Answer, TopRequest};

use super::columns::{Align, Columns};
use super::target::Target;

/// Rows that are asked for where no limit is given and nobody looks at a terminal.
const ROWS: u32 = 20;

/// Show who has most sessions, or most packets and bytes
///
/// On a terminal it is shown live, and keys choose what is shown. Counts in the gateway, beside the packet path. Packets
/// and bytes are there for instances with `count-traffic = true`.
#[derive(Args, Debug)]
pub(crate) struct Top {
    #[command(flatten)]
    target: Target,
    /// What is counted: subscriber, remote, port or instance
    #[arg(long, value_name = "WHAT", default_value = "subscriber", value_parser = named::<By>)]
    by: By,
    /// What those who come first have most of: sessions, new, packets or bytes
    #[arg(long, value_name = "WHAT", default_value = "sessions", value_parser = named::<Most>)]
    most: Most,
    /// Show so many; 20, or as many as the terminal has room for
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
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

fn named<T: Choice>(name: &str) -> Result<T, String> {
    let mut names = T::NAMES.iter();
    if let Some((_, value)) = names.find(|(known, _)| *known == name) {
        return Ok(*value);
    }
    let names: Vec<_> = T::NAMES.iter().map(|(name, _)| *name).collect();
    Err(format!("{name:?} is none of {}", names.join(", ")))
}

impl Top {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        if !self.json && !self.once && std::io::stdout().is_terminal() {
            screen::show(self)?;
            return Ok(ExitCode::SUCCESS);
        }
        let limit = self.limit.unwrap_or(ROWS);
        loop {
            let top = self.ask(self.by, self.most, limit)?;
            self.print(&top)?;
            if self.once {
                return Ok(ExitCode::SUCCESS);
            }
            thread::sleep(self.interval());
        }
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(self.interval.into())
    }

    fn ask(&self, by: By, most: Most, limit: u32) -> Result<Answer> {
        let request = TopRequest { by, most, limit };
        match self.target.answer(&Request::Top(request))? {
            Reply::Top(top) => Ok(top),
            other => bail!("unexpected answer from the gateway: {other:?}"),
        }
    }

    fn print(&self, top: &Answer) -> Result<()> {
        let mut out = std::io::stdout().lock();
        if self.json {
            writeln!(out, "{}", serde_json::to_string(top)?)?;
            return Ok(out.flush()?);
        }
        let (sessions, new) = (top.sessions, top.new_per_second);
        writeln!(out, "{sessions} sessions, {new:.1} new ones in a second")?;
        if top.uncertain > 0 {
            writeln!(out, "{}", view::uncertain(top.uncertain))?;
        }
        let rows = top.rows.iter().map(|row| {
            let new = format!("{:.1}", row.new_per_second);
            let carried = row.carried.unwrap_or_default();
            let name = row.name.clone();
            let [out, back] = [carried.bytes_out, carried.bytes_in].map(|bytes| bytes.to_string());
            let packets = carried.packets().to_string();
            [name, row.sessions.to_string(), new, packets, out, back]
        });
        let right = |name| (name, Align::Right);
        let by = (self.by.name(), Align::Left);
        let (sessions, new) = (right("sessions"), right("new/s"));
        if top.counted {
            let [packets, sent, received] = ["packets", "bytes out", "bytes in"].map(right);
            write_rows(&mut out, [by, sessions, new, packets, sent, received], rows)?;
        } else {
            let rows = rows.map(|[name, sessions, new, ..]| [name, sessions, new]);
            write_rows(&mut out, [by, sessions, new], rows)?;
        }
        Ok(out.flush()?)
    }
}

fn write_rows<const N: usize>(
    out: &mut impl Write,
    headings: [(&str, Align); N],
    rows: impl Iterator<Item = [String; N]>,
) -> Result<()> {
    let mut columns = Columns::new(headings);
    rows.for_each(|row| columns.row(row));
    Ok(write!(out, "{columns}")?)
}
