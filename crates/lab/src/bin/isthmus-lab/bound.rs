//! `isthmus lab bound`

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use isthmus_lab::figures::bound::table::PAPERS_PAYLOADS;
use isthmus_lab::figures::bound::{
    self, MECHANISMS, Measure, Mechanism, Mtu, Payload, Quantity, Rate, Table, TcpOptions,
};

/// Print the most that Ethernet lets each mechanism reach (needs no root)
///
/// The bound counts bytes: headers, fragments, tunnels and Ethernet's framing. Nodes take no time. A
/// line is a size of a message (with `--what frames`: of a frame), a column is a mechanism; throughput is
/// of payload. `docs/bound.md` has the formulas and the path of each mechanism.
#[derive(Args, Debug)]
pub(super) struct Bound {
    /// The rate of every link, in bits per second, with k, M or G
    #[arg(long, default_value = "10M")]
    rate: Rate,
    /// The MTU of every link; some mechanisms have a wider core
    #[arg(long, value_name = "BYTES", default_value = "1500")]
    mtu: Mtu,
    /// The sizes of messages, separated by commas; 18 from 50 to 10000 if absent
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    payloads: Vec<Payload>,
    /// The transport of the messages; UDP if absent
    #[arg(long, value_enum)]
    transport: Option<Transport>,
    /// Only these mechanisms, separated by commas; all if absent
    #[arg(long, value_name = "NAME", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(MECHANISMS.iter().map(|mechanism| mechanism.name)))]
    mechanism: Vec<String>,
    /// The quantity
    #[arg(long, value_enum, default_value_t = What::Throughput)]
    what: What,
    /// Print JSON, in bits per second, seconds or frames per second
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Transport {
    /// Datagrams, fragmented by IP
    Udp,
    /// Segments without options
    Tcp,
    /// Segments with timestamps
    TcpTimestamps,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// Messages without a pause
    Throughput,
    /// Each message waits for the one before it to arrive
    PingPong,
    /// One message, from its first bit sent to its last bit received
    Delay,
    /// Frames per second at the frame sizes of RFC 8219
    Frames,
}

impl Bound {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let mechanisms: Vec<&Mechanism> = MECHANISMS
            .iter()
            .filter(|mechanism| {
                self.mechanism.is_empty()
                    || self.mechanism.iter().any(|name| name == mechanism.name)
            })
            .collect();
        let table = Table::new(&self.quantity()?, &mechanisms, self.rate, self.mtu);
        if self.json {
            println!("{}", serde_json::to_string_pretty(&table)?);
        } else {
            print!("{table}");
        }
        Ok(ExitCode::SUCCESS)
    }

    fn quantity(&self) -> Result<Quantity> {
        let transport = match self.transport {
            None | Some(Transport::Udp) => bound::Transport::Udp,
            Some(Transport::Tcp) => bound::Transport::Tcp(TcpOptions::None),
            Some(Transport::TcpTimestamps) => bound::Transport::Tcp(TcpOptions::Timestamps),
        };
        let messages = |measure| Ok(Quantity::Messages(measure, transport, self.payloads()?));
        match self.what {
            What::Throughput => messages(Measure::Throughput),
            What::PingPong => messages(Measure::PingPong),
            What::Delay => messages(Measure::Delay),
            What::Frames if !self.payloads.is_empty() => bail!(
                "--payloads is for messages: leave it out of --what frames, whose sizes are those of RFC 8219"
            ),
            What::Frames if self.transport.is_some() => {
                bail!("--transport is for messages: leave it out of --what frames")
            }
            What::Frames => Ok(Quantity::Frames),
        }
    }

    fn payloads(&self) -> Result<Vec<Payload>> {
        if self.payloads.is_empty() {
            Ok(PAPERS_PAYLOADS
                .into_iter()
                .map(Payload::new)
                .collect::<Result<_, _>>()?)
        } else {
            Ok(self.payloads.clone())
        }
    }
}
