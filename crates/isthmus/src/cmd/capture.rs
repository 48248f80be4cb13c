//! `isthmus capture`: packets before and after, for other tools.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use isthmus_engine::pcap::{Annotated, Annotator, Begins, Direction};
use isthmus_gateway::control::{PacketForm, TracedPacket};

use super::followed::{Followed, reasons};

/// Write packets as they came and as they left, with the reasons as comments, as pcapng
///
/// For Wireshark: `isthmus capture -w - | wireshark -k -i -`. XDP hides packets from tcpdump, not from this.
#[derive(Args, Debug)]
pub(crate) struct Capture {
    #[command(flatten)]
    followed: Followed,
    /// The file; - is standard output
    #[arg(long, short, value_name = "FILE")]
    write: PathBuf,
    /// Write at most so many bytes of each packet
    #[arg(long, value_name = "BYTES")]
    snap: Option<u32>,
}

impl Capture {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let out: Box<dyn Write> = if self.write.as_os_str() == "-" {
            if io::stdout().is_terminal() {
                bail!(
                    "packets are not for a terminal: name a file, or pipe them to another program"
                );
            }
            Box::new(io::stdout().lock())
        } else {
            let file = File::create(&self.write);
            Box::new(file.with_context(|| format!("{}", self.write.display()))?)
        };
        let application = concat!("isthmus ", env!("CARGO_PKG_VERSION"));
        let mut file = Links {
            out: Annotator::new(out, application)?,
            numbers: HashMap::new(),
        };
        let written = self.followed.each(self.snap, |packet| file.write(&packet));
        match written {
            // Whoever read it has seen enough.
            Err(error) if is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
            other => other.map(|()| ExitCode::SUCCESS),
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// A file, and the links that it knows.
struct Links {
    out: Annotator<Box<dyn Write>>,
    /// Their numbers, by name.
    numbers: HashMap<String, u32>,
}

impl Links {
    fn write(&mut self, packet: &TracedPacket) -> Result<()> {
        let link = self.number(packet)?;
        let reasons = reasons(packet);
        let mut write = |form: &PacketForm, direction, comment: &str| {
            self.out.write(Annotated {
                link,
                time: packet.time,
                length: form.length,
                bytes: &form.bytes,
                direction,
                comment,
            })
        };
        let fate = &packet.fate;
        let came = format!("came; {fate} ({reasons})");
        write(&packet.came, Direction::Inbound, &came)?;
        let unchanged = packet.left == [packet.came.clone()];
        for form in packet.left.iter().filter(|_| !unchanged) {
            write(
                form,
                Direction::Outbound,
                &format!("left; {fate} ({reasons})"),
            )?;
        }
        Ok(())
    }

    /// The number of the link of a packet.
    fn number(&mut self, packet: &TracedPacket) -> Result<u32> {
        let name = match packet.link.as_str() {
            "" => packet.engine.clone(),
            link => format!("{link} {}", packet.engine),
        };
        if let Some(number) = self.numbers.get(&name) {
            return Ok(*number);
        }
        let begins = if packet.engine == "user" {
            Begins::Ip
        } else {
            Begins::Ethernet
        };
        let number = self.out.link(&name, begins)?;
        self.numbers.insert(name, number);
        Ok(number)
    }
}
