//! The tools of users, and the parsing of their output.

use std::{
    collections::HashMap,
    io::ErrorKind,
    net::{SocketAddr, UdpSocket},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    LabError, Result,
    figures::statistics::median,
    network::{
        cores::{TESTER_CPU, pin},
        netns::Namespace,
        process,
    },
    traffic::services::{self, numbered_name},
};

/// Returns `curl` on a node, silent but for errors, with a limit for the whole command.
pub fn curl(client: &Namespace, limit: Duration) -> Command {
    let mut command = client.command("curl");
    command.args(["--silent", "--show-error", "--noproxy", "*"]);
    command.args(["--max-time", &limit.as_secs_f64().to_string()]);
    command
}

/// Returns the hops on the way to an address, each asked once, `*` for one that says nothing within `wait`.
pub fn hops(client: &Namespace, address: &str, wait: Duration, most: u32) -> Result<Vec<String>> {
    let mut command = client.command("traceroute");
    command.args(["-n", "-q", "1", "-w", &wait.as_secs().to_string()]);
    let output = process::run(command.args(["-m", &most.to_string(), address]))?;
    let lines = output.lines().skip(1);
    let hops = lines.filter_map(|line| line.split_whitespace().nth(1));
    Ok(hops.map(str::to_owned).collect())
}

/// The direction of an iperf3 transfer, as the client sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The client sends.
    Upload,
    /// The server sends.
    Download,
}

/// The traffic of iperf3.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Traffic {
    /// One TCP connection, as fast as it goes.
    Tcp {
        /// Octets of payload in a segment, 76 to 1448; the most that fit if absent.
        payload: Option<u32>,
    },
    /// UDP.
    Udp {
        /// Payload per second, in megabits.
        megabits: u32,
        /// Octets of payload in each datagram.
        payload: u32,
    },
}

impl Traffic {
    /// One TCP connection whose packets are as large as the path allows.
    pub const BULK: Self = Self::Tcp { payload: None };
}

/// Octets of the timestamps that Linux puts into every segment (RFC 7323 section 3.2), with their padding.
const TIMESTAMPS: u32 = 12;

/// The end of an iperf3 run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// After whole seconds.
    Seconds(u32),
    /// After this many blocks: datagrams, if it is UDP.
    Blocks(u32),
}

/// The result of an iperf3 run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transfer {
    /// Received, in bits per second.
    pub bits_per_second: f64,
    /// UDP: the share of datagrams lost, in percent.
    pub lost_percent: f64,
    /// UDP: the jitter (RFC 3550 section 6.4.1), in seconds.
    pub jitter: f64,
    /// UDP: the number of datagrams sent.
    pub datagrams: f64,
    /// The duration, in seconds.
    pub seconds: f64,
    /// Processor time of both programs together, in seconds of one core. It includes the kernel's work in their name,
    /// which is all of the softirq work while they send.
    pub cpu: f64,
}

/// Runs an iperf3 client against a server that is up, on one CPU.
pub fn iperf(
    client: &Namespace,
    cpu: usize,
    server: &str,
    traffic: Traffic,
    direction: Direction,
    until: Until,
) -> Result<Transfer> {
    process::require("iperf3", "iperf3")?;
    let mut command = client.command_on(cpu, "iperf3");
    let (option, amount) = match until {
        Until::Seconds(seconds) => ("-t", seconds),
        Until::Blocks(blocks) => ("-k", blocks),
    };
    command.args(["-c", server, "-J", option, &amount.to_string()]);
    command.args(["--connect-timeout", "3000"]);
    if direction == Direction::Download {
        command.arg("-R");
    }
    match traffic {
        Traffic::Tcp { payload: None } => {}
        // The segment size of the system call includes options (RFC 9293 section 3.7.1).
        Traffic::Tcp {
            payload: Some(payload),
        } => {
            command.args(["-M", &(payload + TIMESTAMPS).to_string()]);
        }
        Traffic::Udp { megabits, payload } => {
            command.args(["-u", "-l", &payload.to_string()]);
            command.args(["-b", &format!("{megabits}M")]);
        }
    }
    let output = process::run(&mut command)?;
    let unread = || LabError::Output {
        tool: "iperf3",
        output: output.clone(),
    };
    let report: Value = serde_json::from_str(&output).map_err(|_| unread())?;
    transfer(&report["end"], traffic).ok_or_else(unread)
}

/// Parses the end of iperf3's report.
///
/// Datagrams are counted at the receiver: version 3.12 reports none as lost, however many are, in all of its sums. Only
/// the octets that its server received are right there, also when these are none.
fn transfer(end: &Value, traffic: Traffic) -> Option<Transfer> {
    let number = |part: &str, key: &str| end[part][key].as_f64();
    let cores = |key| Some(number("cpu_utilization_percent", key)? / 100.0);
    let seconds = number("sum_sent", "seconds")?;
    let tcp = Transfer {
        bits_per_second: number("sum_received", "bits_per_second")?,
        lost_percent: 0.0,
        jitter: 0.0,
        datagrams: 0.0,
        seconds,
        cpu: (cores("host_total")? + cores("remote_total")?) * seconds,
    };
    let Traffic::Udp { payload, .. } = traffic else {
        return Some(tcp);
    };
    let sent = number("sum_sent", "packets")?;
    if sent == 0.0 {
        return None;
    }
    let received = number("sum_received", "bytes")? / f64::from(payload);
    Some(Transfer {
        lost_percent: (1.0 - received / sent).max(0.0) * 100.0,
        jitter: number("sum_received", "jitter_ms")? / 1e3,
        datagrams: sent,
        ..tcp
    })
}

/// Returns the round-trip times of pings, in milliseconds, in the order of arrival.
pub fn ping(
    client: &Namespace,
    address: &str,
    count: u32,
    interval: Duration,
    size: u32,
) -> Result<Vec<f64>> {
    let mut command = client.command_on(TESTER_CPU, "ping");
    command.args(["-n", "-W", "1", "-c", &count.to_string()]);
    command.args(["-i", &format!("{:.4}", interval.as_secs_f64())]);
    command.args(["-s", &size.to_string(), address]);
    Ok(round_trips(&process::run(&mut command)?))
}

/// Returns the median round-trip time of 1000 pings, in microseconds.
pub fn median_round_trip(client: &Namespace, address: &str) -> Result<f64> {
    let mut times = ping(client, address, 1000, Duration::from_millis(2), 56)?;
    Ok(median(&mut times) * 1000.0)
}

/// Returns the round-trip times that `ping` printed, in milliseconds. It rounds them to a step of a microsecond or more. Those
/// that it printed alike are spread evenly over their step, so that a median says more than a step (the median of grouped
/// data).
fn round_trips(output: &str) -> Vec<f64> {
    let printed = |line| -> Option<(&str, f64)> {
        let text = str::split_once(line, "time=")?.1.split(' ').next()?;
        Some((text, text.parse().ok()?))
    };
    let printed: Vec<(&str, f64)> = output.lines().filter_map(printed).collect();
    let mut alike: HashMap<&str, u32> = HashMap::new();
    for (text, _) in &printed {
        *alike.entry(text).or_default() += 1;
    }
    let mut before: HashMap<&str, u32> = HashMap::new();
    let spread = |(text, time)| {
        let number = before.entry(text).or_default();
        let place = (f64::from(*number) + 0.5) / f64::from(alike[text]) - 0.5;
        *number += 1;
        time + place * step(text)
    };
    printed.iter().copied().map(spread).collect()
}

/// Returns the difference between a decimal number and the next with as many places.
fn step(number: &str) -> f64 {
    let places = number.split_once('.').map_or(0, |(_, after)| after.len());
    (0..places).fold(1.0, |step, _| step / 10.0)
}

/// Load on a name server: AAAA queries for the numbered names, a window of them outstanding.
#[derive(Debug, Clone, Copy)]
pub struct DnsLoad {
    /// The server.
    pub server: SocketAddr,
    /// Queries outstanding at any time, 1 or more.
    pub window: u32,
}

impl DnsLoad {
    /// Queries from `client` on `cpu` for `duration`, and returns the responses with an address, per second.
    pub fn run(&self, client: &Namespace, cpu: usize, duration: Duration) -> Result<f64> {
        client.enter(|| {
            pin(cpu)?;
            self.ask(duration).map_err(|source| LabError::Start {
                command: format!("DNS load on {}", self.server),
                source,
            })
        })
    }

    fn ask(&self, duration: Duration) -> std::io::Result<f64> {
        let socket = UdpSocket::bind("[::]:0")?;
        socket.connect(self.server)?;
        socket.set_read_timeout(Some(Duration::from_millis(100)))?;
        let queries: Vec<Vec<u8>> = (0..services::NAMES)
            .map(|number| query(number as u16, &numbered_name(number), AAAA))
            .collect();
        let mut answer = [0; 1500];
        let (mut next, mut outstanding, mut answered) = (0, 0, 0_u64);
        let start = Instant::now();
        while start.elapsed() < duration {
            while outstanding < self.window {
                socket.send(&queries[next % queries.len()])?;
                next += 1;
                outstanding += 1;
            }
            match socket.recv(&mut answer) {
                Ok(length) => {
                    outstanding -= 1;
                    answered += u64::from(has_answer(&answer[..length]));
                }
                // Lost queries are repeated by the next round.
                Err(error) if error.kind() == ErrorKind::WouldBlock => outstanding = 0,
                Err(error) => return Err(error),
            }
        }
        Ok(answered as f64 / start.elapsed().as_secs_f64())
    }
}

/// The type of a record with an IPv4 address (RFC 1035 section 3.2.2).
pub const A: u8 = 1;
/// The type of a record with an IPv6 address (RFC 3596 section 2.1).
pub const AAAA: u8 = 28;

/// Returns a query for a type with recursion desired (RFC 1035 section 4.1).
pub fn query(identifier: u16, name: &str, kind: u8) -> Vec<u8> {
    let mut message = identifier.to_be_bytes().to_vec();
    message.extend([0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in name.split('.') {
        message.push(label.len() as u8);
        message.extend(label.as_bytes());
    }
    message.extend([0, 0, kind, 0, 1]);
    message
}

/// Returns whether a response has NOERROR and an answer.
pub fn has_answer(message: &[u8]) -> bool {
    matches!(message, [_, _, flags, rcode, _, _, high, low, ..]
        if flags & 0x80 != 0 && rcode & 0x0f == 0 && (*high, *low) != (0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{
        cores::TESTER_CPU,
        plan,
        topology::{Neighbours, Offloads, Topology},
    };

    #[test]
    fn round_trips_are_read_from_ping() {
        let output = "PING ::1 56 data bytes\n\
            64 bytes from ::1: icmp_seq=1 ttl=64 time=0.045 ms\n\
            64 bytes from ::1: icmp_seq=2 ttl=64 time=1.5 ms\n\n--- ::1 ping statistics ---\n";
        assert_eq!(round_trips(output), [0.045, 1.5]);
    }

    #[test]
    fn round_trips_that_print_alike_are_spread_over_their_step() {
        let output: String = ["0.008", "0.009", "0.008", "0.008", "12.3"]
            .map(|time| format!("64 bytes from ::1: time={time} ms\n"))
            .concat();
        let mut times = round_trips(&output);
        let expected = [0.008 - 0.001 / 3.0, 0.009, 0.008, 0.008 + 0.001 / 3.0, 12.3];
        assert!(
            times
                .iter()
                .zip(expected)
                .all(|(time, expected)| (time - expected).abs() < 1e-9),
            "{times:?}"
        );
        // Half of the values are below the number between both, whatever was printed.
        let half = "time=0.008 ms\n".repeat(5) + &"time=0.009 ms\n".repeat(5);
        times = round_trips(&half);
        assert!((median(&mut times) - 0.0085).abs() < 1e-9);
    }

    /// 250 octets of payload.
    const DATAGRAMS: Traffic = Traffic::Udp {
        megabits: 10,
        payload: 250,
    };

    /// Returns the sums that iperf3 3.12 printed for a run through a filter that dropped some datagrams. The totals for
    /// the datagrams lost are zero in each of them.
    fn recorded(sent: u32, sent_seconds: f64, received_octets: u32, seconds: f64) -> Value {
        let sum = |octets: u32, datagrams: u32, seconds: f64| {
            serde_json::json!({
                "start": 0, "end": seconds, "seconds": seconds, "bytes": octets, "packets": datagrams,
                "bits_per_second": f64::from(octets) * 8.0 / seconds, "jitter_ms": 0.5,
                "lost_packets": 0, "lost_percent": 0,
            })
        };
        serde_json::json!({
            "sum": sum(sent * 250, sent, seconds),
            "sum_sent": sum(sent * 250, sent, sent_seconds),
            "sum_received": sum(received_octets, received_octets / 250, seconds),
            "cpu_utilization_percent": {"host_total": 30.0, "remote_total": 20.0},
        })
    }

    #[test]
    fn lost_datagrams_are_those_that_the_receiver_does_not_have() {
        // Of three runs: all but four are lost, a third, and all but the one of the greeting.
        let runs = [
            (recorded(5000, 1.000_147, 1000, 1.001_569), 99.92),
            (recorded(3000, 0.744_634, 499_750, 0.744_703), 33.366_667),
            (recorded(500, 0.100_165, 0, 0.100_485), 100.0),
        ];
        for (end, lost) in runs {
            let transfer = transfer(&end, DATAGRAMS).unwrap();
            assert!((transfer.lost_percent - lost).abs() < 1e-3, "{transfer:?}");
            let arrived = end["sum_received"]["bits_per_second"].as_f64().unwrap();
            assert!((transfer.bits_per_second - arrived).abs() < 1.0);
        }
    }

    #[test]
    fn a_report_of_iperf_is_read() {
        let transfer = transfer(&recorded(1000, 2.0, 187_500, 2.0), DATAGRAMS).unwrap();
        let expected = Transfer {
            bits_per_second: 0.75e6,
            lost_percent: 25.0,
            jitter: 0.5e-3,
            datagrams: 1000.0,
            seconds: 2.0,
            cpu: 1.0,
        };
        assert_eq!(transfer, expected);
    }

    #[test]
    fn a_run_that_sent_nothing_has_no_loss() {
        assert_eq!(transfer(&recorded(0, 1.0, 0, 1.0), DATAGRAMS), None);
    }

    /// A filter that passes the greeting of iperf3, five datagrams in all, and drops the others.
    #[test]
    #[ignore = "builds a network, as root: of the tier namespaces"]
    fn what_a_filter_drops_is_lost() {
        let network = Topology::direct(Neighbours::Static, Offloads::Off)
            .build()
            .unwrap();
        let server = network.host4().unwrap();
        let rules = "table inet t { chain c { type filter hook input priority 0; \
            udp dport 5201 limit rate over 1/hour burst 5 packets drop; }; }";
        process::run(server.command("nft").arg(rules)).unwrap();
        let _server = services::start_iperf(server, TESTER_CPU).unwrap();
        let address = plan::GATEWAY6.to_string();
        let (up, length) = (Direction::Upload, Until::Blocks(5000));
        let client = network.host6().unwrap();
        let lost = iperf(client, TESTER_CPU, &address, DATAGRAMS, up, length)
            .unwrap()
            .lost_percent;
        assert!((99.0..=100.0).contains(&lost), "{lost} %");
    }

    #[test]
    fn query_is_laid_out_as_rfc_1035_says() {
        assert_eq!(
            query(0x1234, "a.bc", AAAA),
            [
                0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, b'a', 2, b'b', b'c', 0, 0, 28, 0, 1
            ]
        );
    }

    #[test]
    fn empty_answers_and_errors_do_not_count() {
        let header = |flags, rcode, answers| [0, 0, flags, rcode, 0, 1, 0, answers, 0, 0, 0, 0];
        assert!(has_answer(&header(0x81, 0x80, 1)));
        assert!(!has_answer(&header(0x81, 0x80, 0)));
        assert!(!has_answer(&header(0x81, 0x83, 1)));
        assert!(!has_answer(&header(0x01, 0x00, 1)));
        assert!(!has_answer(&[]));
    }
}
