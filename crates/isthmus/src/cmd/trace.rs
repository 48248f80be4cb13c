//! `isthmus trace`: packets on their way through the gateway.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use isthmus_gateway::control::{PacketForm, TracedPacket};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::followed::{Followed, reasons};
use super::summary::summary;

/// Enough of a packet for its headers, and for those of a packet in it.
const HEADERS: u32 = 256;

/// Show packets on their way: what came, what became of it and why, what left
///
/// Costs nothing while nobody looks. In the kernel it needs one that lets programs look at others (BTF, fentry).
#[derive(Args, Debug)]
pub(crate) struct Trace {
    #[command(flatten)]
    followed: Followed,
    /// Print a line of JSON for each packet, with its bytes
    #[arg(long)]
    json: bool,
}

impl Trace {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let mut out = std::io::stdout().lock();
        self.followed.each(Some(HEADERS), |packet| {
            if self.json {
                writeln!(out, "{}", serde_json::to_string(&packet)?)?;
            } else {
                write!(out, "{}", lines(&packet))?;
            }
            Ok(out.flush()?)
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A line for what came, one for each packet that left with the reasons behind the last, and one for each rule.
fn lines(packet: &TracedPacket) -> String {
    let time = Timestamp::from_nanosecond(packet.time.into()).unwrap_or_default();
    let time = time.to_zoned(TimeZone::system()).strftime("%H:%M:%S%.6f");
    let place = format!("{} {}", packet.engine, packet.link);
    let is_framed = packet.engine != "user";
    let said = |form: &PacketForm| {
        let length = form.length;
        format!("{}, {length} bytes", summary(&form.bytes, is_framed))
    };
    let mut lines = format!("{time} {place:14} {}\n", said(&packet.came));
    let unchanged = packet.left == [packet.came.clone()];
    let fate = if unchanged && packet.fate == "passed" {
        "passed as it came".to_owned()
    } else {
        packet.fate.clone()
    };
    let indent = " ".repeat(16);
    let mut last = format!("{indent}{fate:14}");
    if !unchanged {
        for (number, form) in packet.left.iter().enumerate() {
            if number > 0 {
                lines += &last;
                lines.push('\n');
                last = format!("{indent}{:14}", "");
            }
            last += " ";
            last += &said(form);
        }
    }
    let mut why = reasons(packet);
    if let Some(session) = &packet.session {
        let (age, left) = (session.age, session.expires);
        why += "; session";
        if session.state != "-" {
            why += " ";
            why += &session.state;
        }
        why += &format!(", {age} s old, {left} s left");
    }
    if !why.is_empty() {
        last += &format!("  ({why})");
    }
    lines += last.trim_end();
    lines.push('\n');
    for rule in &packet.rules {
        let (instance, address, meaning) = (&rule.instance, rule.address, &rule.meaning);
        lines += &format!("{indent}{:14} {instance}: {address} {meaning}\n", "");
    }
    lines
}
