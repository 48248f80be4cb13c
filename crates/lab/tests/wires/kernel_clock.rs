//! A lone frame's time of the wire, by the kernel's time stamps: tcpdump at both ends. The kernel stamps a packet
//! as it gives it to the device that sends, and as it takes it from the device that receives.

use std::{fs, time::Duration};

use isthmus_lab::{
    LabError, Result, leftovers,
    measure::GATEWAY_CPU,
    process::{self, Process},
    sockets::pingpong::{PingPong, Protocol},
    topology::{HOST_INTERFACE, HOST4, HOST6, Network},
    wire::Ethernet,
};

use crate::{delays, direct, median, neighbours, payload, punctual, rate, report, with};

/// A capture of the datagrams at one end.
struct Capture {
    tcpdump: Process,
    file: tempfile::NamedTempFile,
}

impl Capture {
    fn start(network: &Network, node: &str) -> Result<Self> {
        process::require("tcpdump", "tcpdump")?;
        let file = leftovers::file()?;
        // Not on the CPU of the cables.
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

    /// The times, in nanoseconds, of the packets of this length of payload from an address.
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
    with(&direct(Ethernet::new(rate(10))), |network| {
        for length in [200, 500, 1000, 1500] {
            if let Err(reason @ LabError::Missing { .. }) = compare(network, length) {
                println!("skipped: {reason}");
            }
        }
    });
}

/// Packets of this length, 200 of them.
fn compare(network: &Network, length: u32) -> Result<()> {
    let headers = 20 + 8;
    let message = payload(length - headers);
    let ends = [HOST6, HOST4].map(|node| Capture::start(network, node));
    let [near, far] = ends;
    let (near, far) = (near?, far?);
    let game = PingPong {
        exchanges: 100,
        warm_up: 0,
        ..PingPong::new(Protocol::Udp, message)
    };
    let series = game.play(&neighbours(network))?;
    assert_eq!(series.exchanges.len(), 100);
    let addresses = ["192.0.2.6", "192.0.2.1"];
    let left = near.times(addresses[0], message.bytes())?;
    let came = far.times(addresses[0], message.bytes())?;
    assert_eq!((left.len(), came.len()), (100, 100));
    let kernel = median(left.iter().zip(&came).map(|(left, came)| {
        Duration::from_nanos(u64::try_from(came - left).expect("a packet arrives after it left"))
    }));
    let Some(exchanges) = punctual(&series, Duration::from_micros(3)) else {
        return Ok(());
    };
    // Preamble 8, header 14, check sequence 4; 0.8 µs each.
    let time = f64::from(8 + 14 + length + 4) * 0.8e-6;
    let (sockets, wires) = delays(&exchanges);
    report(&format!("{length} bytes at the sockets"), sockets, time);
    for (what, seen) in [
        ("by the kernel's clock", kernel),
        ("between the cables' ends", wires),
    ] {
        let ratio = report(&format!("{length} bytes {what}"), seen, time);
        assert!(
            (0.98..1.02).contains(&ratio),
            "{length} bytes {what}: {ratio}"
        );
    }
    Ok(())
}
