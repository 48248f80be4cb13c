//! `isthmus lab tester`

use std::net::IpAddr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use ipnet::Ipv6Net;
use isthmus_core::address::rfc6052::Prefix;
use isthmus_lab::experiments::outside::{
    self, Care, Effort, Figures, Hosts, Interface, Neighbour, Test,
};
use isthmus_lab::network::process::require_root;
use isthmus_lab::traffic::generator::FrameSize;
use isthmus_lab::traffic::packet::Ends;
use isthmus_lab::traffic::tester::{Phases, Port, Streams, Tester as Pair, Tolerance, Traffic};
use serde::Serialize;

/// Frames per second of each direction, where the speed of an interface is unknown.
const MOST: f64 = 1e7;
/// The factor by which the waits of a trial are shorter than those of RFC 2544.
const SHORTER: u32 = 10;

/// Measure a device between two of this machine's interfaces
///
/// Frames go out of one interface and come back by the other, from the addresses of two hosts, one at each side. For a
/// translator give --prefix, or --right-as and --left-as: the address of a host at the other side. Each interface needs
/// an address in the device's network (`ip addr add`), so that the device finds its host; nothing else is changed. While
/// a test lasts, UDP that arrives there does not reach this machine. Exit status 0 if something was
/// measured, 2 if this machine could not send in time or the device loses frames at every rate, 1 after an error.
#[derive(Args, Debug)]
pub(super) struct Tester {
    /// The interface at the left
    #[arg(long, value_name = "INTERFACE")]
    left: String,
    /// The interface at the right
    #[arg(long, value_name = "INTERFACE")]
    right: String,
    /// The device at the left: its IP address there, or its Ethernet address
    #[arg(long, value_name = "ADDRESS")]
    left_device: Neighbour,
    /// The device at the right
    #[arg(long, value_name = "ADDRESS")]
    right_device: Neighbour,
    /// The host at the left
    #[arg(long, value_name = "ADDRESS")]
    left_host: IpAddr,
    /// The host at the right
    #[arg(long, value_name = "ADDRESS")]
    right_host: IpAddr,
    /// The address of the left host at the right one, if it is another
    #[arg(long, value_name = "ADDRESS")]
    left_as: Option<IpAddr>,
    /// The address of the right host at the left one, if it is another
    #[arg(long, value_name = "ADDRESS")]
    right_as: Option<IpAddr>,
    /// The prefix of the right host's address at the left one (RFC 6052)
    #[arg(long, value_name = "PREFIX", conflicts_with = "right_as")]
    prefix: Option<Ipv6Net>,
    /// The direction of traffic
    #[arg(long, value_enum, default_value_t = Direction::Rightward)]
    direction: Direction,
    /// The test
    #[arg(long, value_enum, default_value_t = What::Throughput)]
    test: What,
    /// Frames per second of each direction, of a trial and of latency, which is measured at the throughput if this is
    /// absent
    #[arg(long, value_name = "FRAMES", value_parser = positive)]
    rate: Option<f64>,
    /// The most frames per second of each direction; the rate of the slower cable if absent
    #[arg(long, value_name = "FRAMES", value_parser = positive)]
    most: Option<f64>,
    /// Octets of a frame on the left cable, with frame check sequence; the least if absent
    #[arg(long, value_name = "OCTETS")]
    size: Option<u16>,
    /// The number of flows, each with ports of its own
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    flows: u32,
    /// Seconds of a trial that counts (RFC 2544: 60; RFC 8219 for latency: 120), and of the longest burst
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = positive)]
    duration: f64,
    /// The number of measurements of latency and bursts (RFC 8219: 20; RFC 2544 for bursts: 50)
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Take an interface although the default route leads over it
    #[arg(long)]
    force: bool,
    /// Print JSON, with every trial; delays in nanoseconds
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Direction {
    /// The left host
    Rightward,
    /// The right host
    Leftward,
    /// Both at once
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// One trial at --rate
    Trial,
    /// The highest rate without loss
    Throughput,
    /// Delay and its variation
    Latency,
    /// The share of lost frames, by rate
    Loss,
    /// The longest burst without loss
    BackToBack,
}

/// Parses a number above zero.
fn positive(text: &str) -> Result<f64, String> {
    let number = text
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("{text} is no number above zero"))
}

/// The JSON document.
#[derive(Serialize)]
struct Document<'a> {
    streams: Vec<Sent>,
    figures: &'a Figures,
}

/// The traffic of one direction.
#[derive(Serialize)]
struct Sent {
    interface: String,
    to: String,
    source: IpAddr,
    destination: IpAddr,
    flows: usize,
    size: FrameSize,
    arrives: String,
}

impl Tester {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let test = self.test()?;
        let streams = self.streams()?;
        require_root()?;
        if self.left == self.right {
            return Err(outside::Problem::Same(self.left.clone()).into());
        }
        let ends = [
            (&self.left, self.left_device, self.left_host),
            (&self.right, self.right_device, self.right_host),
        ];
        let care = if self.force {
            Care::Insist
        } else {
            Care::Refuse
        };
        let mut ports = Vec::new();
        let mut interfaces = Vec::new();
        for (name, device, host) in ends {
            let interface = Interface {
                name: name.clone(),
                device,
            };
            ports.push(interface.port(care)?);
            if !interface.has(host)? {
                eprintln!(
                    "{name} does not have {host}: it will not answer the device's address resolution \
                     (`ip addr add {host}/LENGTH dev {name}`)"
                );
            }
            interfaces.push(interface);
        }
        let sent = sent(&streams, &ports);
        if !self.json {
            sent.iter().for_each(Sent::show);
        }
        let effort = self.effort(&streams, &interfaces);
        let [left, right] = [&ports[0], &ports[1]];
        let (phases, tolerance) = (Phases::shortened(SHORTER), Tolerance::default());
        let mut tester = Pair::new(left, right, streams, phases, tolerance)?;
        let figures = test.run(&mut tester, &effort)?;
        if self.json {
            let document = Document {
                streams: sent,
                figures: &figures,
            };
            println!("{}", serde_json::to_string_pretty(&document)?);
        } else {
            print!("{figures}");
        }
        Ok(if figures.count() {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(2)
        })
    }

    fn test(&self) -> Result<Test> {
        Ok(match (self.test, self.rate) {
            (What::Trial, Some(rate)) => Test::Trial(rate),
            (What::Trial, None) => {
                bail!("--test trial needs --rate: at how many frames per second?")
            }
            (What::Latency, rate) => Test::Latency(rate),
            (_, Some(_)) => {
                bail!("--rate is for --test trial and --test latency; --most bounds the others")
            }
            (What::Throughput, None) => Test::Throughput,
            (What::Loss, None) => Test::Loss,
            (What::BackToBack, None) => Test::BackToBack,
        })
    }

    fn streams(&self) -> Result<Streams> {
        let embedded = match (self.prefix, self.right_host) {
            (None, _) => None,
            (Some(prefix), IpAddr::V4(address)) => {
                let prefix = Prefix::new(prefix.addr(), prefix.prefix_len())
                    .map_err(|error| anyhow::anyhow!("--prefix {prefix}: {error}"))?;
                Some(IpAddr::V6(prefix.embed(address.into()).into()))
            }
            (Some(prefix), IpAddr::V6(address)) => {
                bail!(
                    "--prefix {prefix}: only IPv4 hosts have an address under a prefix, and the right one is {address}"
                )
            }
        };
        let hosts = Hosts {
            left: self.left_host,
            right: self.right_host,
            left_as: self.left_as,
            right_as: self.right_as.or(embedded),
        };
        let direction = match self.direction {
            Direction::Rightward => outside::Direction::Rightward,
            Direction::Leftward => outside::Direction::Leftward,
            Direction::Both => outside::Direction::Both,
        };
        Ok(hosts.streams(direction, self.flows, self.size)?)
    }

    fn effort(&self, streams: &Streams, interfaces: &[Interface]) -> Effort {
        let octets = traffic(streams)
            .iter()
            .map(|(_, traffic)| traffic.size.octets())
            .min();
        let rates = interfaces
            .iter()
            .filter_map(|interface| interface.line_rate(octets?));
        Effort {
            duration: Duration::from_secs_f64(self.duration),
            most: self.most.unwrap_or_else(|| rates.fold(MOST, f64::min)),
            repeats: self.repeats as usize,
        }
    }
}

/// Returns the traffic and its ends: 0 is the left one.
fn traffic(streams: &Streams) -> Vec<(usize, &Traffic)> {
    match streams {
        Streams::Rightward(traffic) | Streams::Observed(traffic) => vec![(0, traffic)],
        Streams::Leftward(traffic) => vec![(1, traffic)],
        Streams::Both(right, left) => vec![(0, right), (1, left)],
    }
}

fn sent(streams: &Streams, ports: &[Port]) -> Vec<Sent> {
    let describe = |(end, traffic): (usize, &Traffic)| {
        let (source, destination) = match traffic.packets[0].ends {
            Ends::V4(from, to) => (from.into(), to.into()),
            Ends::V6(from, to) => (from.into(), to.into()),
        };
        Sent {
            interface: ports[end].interface.clone(),
            to: ports[end]
                .peer
                .map(|octet| format!("{octet:02x}"))
                .join(":"),
            source,
            destination,
            flows: traffic.packets.len(),
            size: traffic.size,
            arrives: traffic.arrives.to_string(),
        }
    };
    traffic(streams).into_iter().map(describe).collect()
}

impl Sent {
    fn show(&self) {
        println!(
            "{} -> {}: UDP from {} to {}, {} flow{}, {} octets; must arrive as {}",
            self.interface,
            self.to,
            self.source,
            self.destination,
            self.flows,
            if self.flows == 1 { "" } else { "s" },
            self.size,
            self.arrives,
        );
    }
}
