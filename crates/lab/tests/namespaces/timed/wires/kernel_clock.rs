//! The time of a single frame on the wire, by the kernel's time stamps: tcpdump at both ends. The kernel stamps a
//! packet when it gives it to the sending device, and when it takes it from the receiving one.

use std::{fs, time::Duration};

use isthmus_lab::{
    LabError, Result,
    figures::statistics::median,
    network::{
        cores::GATEWAY_CPU,
        leftovers, plan,
        process::{self, Process},
        topology::{HOST_INTERFACE, HOST4, HOST6, Neighbours, Network, Offloads, Topology},
        wire::Ethernet,
    },
    traffic::sockets::{
        Protocol,
        pingpong::{PingPong, Series},
    },
};

use super::{
    Attempt, Delays, at_most, direct, measure, neighbours, patient, payload, punctual, rate,
    report, with,
};

/// A capture of the datagrams at one end.
struct Capture {
    tcpdump: Process,
    file: tempfile::NamedTempFile,
}

impl Capture {
    fn start(network: &Network, node: &str) -> Result<Self> {
        process::require("tcpdump", "tcpdump")?;
        let file = leftovers::file()?;
        // It must not use the CPU of the cables.
        let mut command = network.node(node)?.command_on(GATEWAY_CPU, "tcpdump");
        command
            .args([
                "-i",
                HOST_INTERFACE,
                "-Z",
                "root",
                "--time-stamp-precision=nano",
                "-U",
                "-w",
            ])
            .arg(file.path())
            .arg("udp");
        let mut tcpdump = Process::start("tcpdump", &mut command)?;
        let log = tcpdump.log().to_path_buf();
        tcpdump.wait_until(Duration::from_secs(5), || {
            fs::read_to_string(&log).is_ok_and(|log| log.contains("listening on"))
        })?;
        Ok(Self { tcpdump, file })
    }

    /// Returns the times, in nanoseconds, of the packets of this length of payload from an address.
    fn times(mut self, from: &str, length: u32) -> Result<Vec<i128>> {
        // The last packets are written when the kernel's buffer is handed over.
        std::thread::sleep(Duration::from_millis(1200));
        self.tcpdump.stop();
        let mut command = std::process::Command::new("tcpdump");
        command
            .args(["-n", "-tt", "--time-stamp-precision=nano", "-r"])
            .arg(self.file.path());
        let printed = process::run(&mut command)?;
        let (from, length) = (format!("IP {from}."), format!("length {length}"));
        let lines = printed.lines();
        let lines = lines.filter(|line| line.contains(&from) && line.ends_with(&length));
        let unreadable = |line: &str| LabError::Output {
            tool: "tcpdump",
            output: line.into(),
        };
        lines
            .map(|line| {
                let time = line.split(' ').next().unwrap_or_default();
                time.replace('.', "").parse().map_err(|_| unreadable(line))
            })
            .collect()
    }
}

#[test]
fn a_lone_frame_takes_its_time_of_the_wire() {
    if let Err(reason) = process::require("tcpdump", "tcpdump") {
        println!("skipped: {reason}");
        return;
    }
    with(&direct(Ethernet::new(rate(10))), |network| {
        for length in [200, 500, 1000, 1500] {
            let what = format!("{length} bytes");
            measure(&what, || compare(network, length).unwrap());
        }
    });
}

/// Datagrams of each length in either direction.
const EXCHANGES: u32 = 200;

/// Returns a play of packets of this length, and how long the kernel says that each took to the far host, in seconds.
fn play(network: &Network, length: u32) -> Result<(Series, Vec<f64>)> {
    let headers = 20 + 8;
    let message = payload(length - headers);
    let (near, far) = (
        Capture::start(network, HOST6)?,
        Capture::start(network, HOST4)?,
    );
    let game = PingPong {
        exchanges: EXCHANGES,
        warm_up: 0,
        ..patient(Protocol::Udp, message)
    };
    let series = game.play(&neighbours(network))?;
    let from = plan::HOST6_AS_IPV4.to_string();
    let left = near.times(&from, message.bytes())?;
    let came = far.times(&from, message.bytes())?;
    let counts = [series.exchanges.len(), left.len(), came.len()];
    assert_eq!(counts, [EXCHANGES as usize; 3]);
    let times = left.iter().zip(&came);
    let times = times.map(|(left, came)| (came - left) as f64 * 1e-9);
    Ok((series, times.collect()))
}

/// Compares the time of packets of this length with the expected one.
fn compare(network: &Network, length: u32) -> Result<Attempt> {
    let (series, mut kernel) = play(network, length)?;
    // One hand-over in ten is early by a little.
    let kernel = median(&mut kernel);
    let Some(exchanges) = punctual(&series, Duration::from_micros(5)) else {
        return Ok(Attempt::Void);
    };
    // Preamble 8, header 14, check sequence 4; 0.8 µs each.
    let time = f64::from(8 + 14 + length + 4) * 0.8e-6;
    let delays = Delays::of(&exchanges);
    report(
        &format!("{length} bytes at the sockets"),
        delays.sockets,
        time,
    );
    let wire = report(&format!("{length} bytes on the wire"), delays.wires, time);
    let what = format!("{length} bytes by the kernel's clock");
    let clock = report(&what, kernel, time);
    // No packet arrives before its last bit.
    assert!(wire.min(clock) > 0.999, "{length} bytes");
    Ok(if wire < 1.02 && clock < 1.02 {
        Attempt::Good
    } else if wire < 1.02 && kernel < at_most(time, without_cable(length)?) {
        // The ends may have taken the rest: it cannot be told here.
        Attempt::Void
    } else {
        Attempt::Bad
    })
}

/// Returns how long packets of this length take by the kernel's clock without a cable, in seconds: its stamps are
/// taken outside the cable's ends, whose work they count, and which takes as long as this machine needs now.
fn without_cable(length: u32) -> Result<f64> {
    let network = Topology::direct(Neighbours::Static, Offloads::Off).build()?;
    let (_, mut times) = play(&network, length)?;
    let time = median(&mut times);
    println!("{length} bytes by the kernel's clock without a cable: {time:.6e}");
    Ok(time)
}
