//! The tools of users, and the parsing of their output.

use std::{
    io::ErrorKind,
    net::{SocketAddr, UdpSocket},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    LabError, Result,
    generator::pin,
    measure::median,
    netns::Namespace,
    process,
    services::{self, numbered_name},
};

/// Returns `curl` on a node, silent but for errors, with a limit for the whole command.
pub fn curl(client: &Namespace, limit: Duration) -> Command {
    let mut command = client.command("curl");
    command.args(["--silent", "--show-error", "--noproxy", "*"]);
    command.args(["--max-time", &limit.as_secs_f64().to_string()]);
    command
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
fn transfer(end: &Value, traffic: Traffic) -> Option<Transfer> {
    let number = |part: &str, key: &str| end[part][key].as_f64();
    let cores = |key| Some(number("cpu_utilization_percent", key)? / 100.0);
    let (part, received) = match traffic {
        Traffic::Tcp { .. } => ("sum_sent", number("sum_received", "bits_per_second")?),
        Traffic::Udp { .. } => ("sum", number("sum", "bits_per_second")?),
    };
    let seconds = number(part, "seconds")?;
    let tcp = Transfer {
        bits_per_second: received,
        lost_percent: 0.0,
        jitter: 0.0,
        datagrams: 0.0,
        seconds,
        cpu: (cores("host_total")? + cores("remote_total")?) * seconds,
    };
    if let Traffic::Tcp { .. } = traffic {
        return Some(tcp);
    }
    let lost_percent = number("sum", "lost_percent")?;
    Some(Transfer {
        bits_per_second: received * (1.0 - lost_percent / 100.0),
        lost_percent,
        jitter: number("sum", "jitter_ms")? / 1e3,
        datagrams: number("sum", "packets")?,
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
    let mut command = client.command("ping");
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

fn round_trips(output: &str) -> Vec<f64> {
    output
        .lines()
        .filter_map(|line| line.split_once("time=")?.1.split(' ').next()?.parse().ok())
        .collect()
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
            .map(|number| query(number as u16, &numbered_name(number)))
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

/// Returns a query for AAAA with recursion desired (RFC 1035 section 4.1).
pub(crate) fn query(identifier: u16, name: &str) -> Vec<u8> {
    let mut message = identifier.to_be_bytes().to_vec();
    message.extend([0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in name.split('.') {
        message.push(label.len() as u8);
        message.extend(label.as_bytes());
    }
    message.extend([0, 0, 28, 0, 1]);
    message
}

/// Returns whether a response has NOERROR and an answer.
pub(crate) fn has_answer(message: &[u8]) -> bool {
    matches!(message, [_, _, flags, rcode, _, _, high, low, ..]
        if flags & 0x80 != 0 && rcode & 0x0f == 0 && (*high, *low) != (0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_are_read_from_ping() {
        let output = "PING ::1 56 data bytes\n\
            64 bytes from ::1: icmp_seq=1 ttl=64 time=0.045 ms\n\
            64 bytes from ::1: icmp_seq=2 ttl=64 time=1.5 ms\n\n--- ::1 ping statistics ---\n";
        assert_eq!(round_trips(output), [0.045, 1.5]);
    }

    #[test]
    fn a_report_of_iperf_is_read() {
        let end = serde_json::json!({
            "sum": {"seconds": 2.0, "bits_per_second": 1e6, "lost_percent": 25.0, "jitter_ms": 0.5, "packets": 1000},
            "cpu_utilization_percent": {"host_total": 30.0, "remote_total": 20.0},
        });
        let udp = Traffic::Udp {
            megabits: 1,
            payload: 250,
        };
        let transfer = transfer(&end, udp).unwrap();
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
    fn query_is_laid_out_as_rfc_1035_says() {
        assert_eq!(
            query(0x1234, "a.bc"),
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
