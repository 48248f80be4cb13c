//! Paths without a fault, with all forms, sizes and directions.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use isthmus_lab::{
    Result,
    network::{
        process,
        topology::{
            HOST_INTERFACE, HOST4, HOST6, Neighbours, Network, Offloads, Topology, mac_octets,
        },
    },
    traffic::{
        generator::{Content, Flush, FrameSize, Generator, Leg, RFC_8219, Stream, StreamId},
        packet::{Ends, Form, Packet},
        redirect::Redirect,
        tester::{
            Flows, Phases, Port, SingleDevice, Streams, Tester, Tolerance, Traffic, Void, flows,
        },
    },
};

use super::{PATIENT, TIMEOUT, alone, build, frames, ipv4, only, phases, whole};

#[test]
fn a_path_without_a_fault() {
    alone(|| {
        let mut path = build(&Redirect, Streams::Rightward(ipv4(1, 64)))?;
        for rate in [1e4, 3e5, f64::INFINITY] {
            let stream = only(path.run(&frames(rate, 20_000))?);
            whole(&stream, 20_000);
            let delay = stream.delay.unwrap();
            assert!(
                delay.least > 0.0 && delay.least <= delay.median,
                "{delay:?}"
            );
            assert!(
                delay.median <= delay.p99 && delay.p99 <= delay.most * 1.01,
                "{delay:?}"
            );
            assert_eq!(
                delay.steps.iter().map(|(_, count)| count).sum::<u64>(),
                20_000
            );
            assert!(stream.variation.is_some());
            // A late sender is slower, never faster.
            assert!(
                stream.sent_rate <= rate * 1.001,
                "{rate}: {}",
                stream.sent_rate
            );
            if rate.is_finite() && stream.latest_ns < 500_000 {
                assert!(
                    stream.sent_rate >= rate * 0.99,
                    "{rate}: {}",
                    stream.sent_rate
                );
            }
        }
        Ok(())
    });
}

/// Batches are long from 500 kfps on: a delay is that of the path below and above, as each frame leaves alone. Frames that
/// leave in batches show that the test could fail. Other work on the machine delays frames, but not in each trial: the
/// least of them is looked for longer where it does.
#[test]
fn a_delay_does_not_depend_on_the_length_of_batches() {
    alone(|| {
        let mut path = build(&Redirect, Streams::Rightward(ipv4(1, 64)))?;
        let tester = path.tester();
        let mut single = [f64::INFINITY; 2];
        let mut batches = [f64::INFINITY; 2];
        let ratio = |[slow, fast]: [f64; 2]| fast / slow;
        let alike = |single| (0.9..=1.1).contains(&ratio(single));
        for round in 1..=200 {
            for (place, rate) in [490e3, 510e3].into_iter().enumerate() {
                let trial = frames(rate, 20_000);
                let median = |result| only(result).delay.unwrap().median;
                single[place] = single[place].min(median(tester.time(&trial)?));
                // Their delays are far apart.
                if round <= 10 {
                    batches[place] = batches[place].min(median(tester.run(&trial)?));
                }
            }
            if round >= 20 && alike(single) {
                break;
            }
        }
        println!("each frame: {single:?}; in batches: {batches:?}");
        assert!(alike(single), "{single:?}");
        assert!(ratio(batches) > 1.5, "{batches:?}");
        Ok(())
    });
}

#[test]
fn every_size_that_fits_a_page() {
    alone(|| {
        for octets in RFC_8219 {
            let mut path = build(&Redirect, Streams::Rightward(ipv4(3, octets)))?;
            whole(&only(path.run(&frames(1e4, 500))?), 500);
        }
        let mut path = build(&Redirect, Streams::Rightward(ipv4(1, 3072)))?;
        whole(&only(path.run(&frames(1e4, 500))?), 500);
        Ok(())
    });
}

/// All forms, with few flows, and with so many that only their differences are kept.
#[test]
fn every_form() {
    alone(|| {
        let tunnel = |inner: fn(u8) -> _, outer: fn(u8) -> _, count| -> Vec<Packet> {
            let packets = Flows::many(count).packets(inner);
            packets
                .into_iter()
                .map(|packet: Packet| packet.within(outer(0)))
                .collect()
        };
        for count in [10, 10_000] {
            let forms = [
                Flows::many(count).packets(flows::ipv4),
                Flows::many(count).packets(flows::ipv6),
                tunnel(flows::ipv6, flows::ipv4, count),
                tunnel(flows::ipv4, flows::ipv6, count),
            ];
            for packets in forms {
                let form = packets[0].form();
                let traffic = Traffic {
                    packets,
                    size: FrameSize::least(form),
                    arrives: form,
                };
                let mut path = build(&Redirect, Streams::Rightward(traffic))?;
                whole(&only(path.run(&frames(1e5, 30_000))?), 30_000);
            }
        }
        Ok(())
    });
}

/// The rate goes down at once: a device could recover from an overload during a pause. Other work on the machine may
/// cause a pause, but not each time.
#[test]
fn from_one_rate_to_the_next_there_is_no_pause() {
    alone(|| {
        let network = Topology::dual_stack(Neighbours::Static, Offloads::Off).build()?;
        let stream = Stream {
            packets: Flows::many(50).packets(flows::ipv4),
            to: mac_octets(0, 1),
            from: mac_octets(0, 0),
            content: Content::Tag(StreamId::RIGHTWARD, FrameSize::least(Form::V4)),
        };
        let mut generator = Generator::new(network.host6()?, HOST_INTERFACE, stream, 0)?;
        let leg = |rate, frames| Leg { rate, frames };
        let legs = [leg(10_000.0, 10_000), leg(5000.0, 500), leg(20_000.0, 100)];
        // A hundredth of the time that the first rate takes, at best: the machine may have other work now and then.
        let is_none = |pauses: &[u64]| pauses.iter().any(|pause| *pause < 10_000_000);
        let mut pauses = Vec::new();
        for _ in 0..10 {
            let first = generator.next_number()?;
            let sent = generator.send(&legs, TIMEOUT, Flush::Batches)?;
            let numbers: Vec<u64> = sent.iter().map(|sent| sent.first - first).collect();
            assert_eq!(numbers, [0, 10_000, 10_500]);
            assert!(
                sent.iter()
                    .zip(&legs)
                    .all(|(sent, leg)| sent.frames == leg.frames)
            );
            let pause = sent.windows(2).map(|two| two[1].begun - two[0].ended).max();
            pauses.push(pause.unwrap());
            if is_none(&pauses) {
                break;
            }
        }
        assert!(is_none(&pauses), "{pauses:?}");
        Ok(())
    });
}

/// Returns the command that prints the state of a capture's checksums, and the lengths of its frames.
fn dissected(path: &str) -> Command {
    let mut tshark = Command::new("tshark");
    tshark.args(["-r", path]);
    for checked in ["udp.check_checksum:TRUE", "ip.check_checksum:TRUE"] {
        tshark.args(["-o", checked]);
    }
    tshark.args(["-T", "fields"]);
    for field in ["udp.checksum.status", "frame.len"] {
        tshark.args(["-e", field]);
    }
    tshark
}

/// The referee for the checksums of sent frames is tshark.
#[test]
fn checksums_are_right_with_every_tag() {
    alone(|| {
        process::require("tcpdump", "tcpdump")?;
        process::require("tshark", "tshark")?;
        let network = Topology::dual_stack(Neighbours::Static, Offloads::Off).build()?;
        let packets = [
            Flows::many(50).packets(flows::ipv4),
            Flows::many(50).packets(flows::ipv6),
            Flows::many(5000).packets(flows::ipv4),
        ];
        for packets in packets {
            let form = packets[0].form();
            let stream = Stream {
                packets,
                to: mac_octets(0, 1),
                from: mac_octets(0, 0),
                content: Content::Tag(StreamId::RIGHTWARD, FrameSize::new(512, form).unwrap()),
            };
            let host = network.host6()?;
            let mut generator = Generator::new(host, HOST_INTERFACE, stream, 0)?;
            let file = tempfile::NamedTempFile::new().unwrap();
            let path = file.path().to_str().unwrap();
            let mut capture = network
                .gateway()?
                .command("timeout")
                .args([
                    "20", "tcpdump", "-i", "six", "-c", "300", "-U", "-w", path, "udp",
                ])
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_secs(1));
            let leg = Leg {
                rate: 5000.0,
                frames: 300,
            };
            let sent = generator.send(&[leg], TIMEOUT, Flush::Batches);
            capture.wait().unwrap();
            sent?;
            let seen = process::run(&mut dissected(path))?;
            // 1: good.
            let good = seen.lines().filter(|line| *line == "1\t508").count();
            assert_eq!(good, 300, "{form}: {seen}");
        }
        Ok(())
    });
}

#[test]
fn both_directions_at_once() {
    alone(|| {
        let back = || {
            let ends = |network| match flows::ipv6(network) {
                Ends::V6(one, other) => Ends::V6(other, one),
                v4 => v4,
            };
            Traffic {
                packets: Flows::many(10).packets(ends),
                size: FrameSize::least(Form::V6),
                arrives: Form::V6,
            }
        };
        let mut path = build(&Redirect, Streams::Both(ipv4(10, 64), back()))?;
        let result = path.run(&frames(5e4, 20_000))?;
        assert_eq!(result.streams.len(), 2);
        for stream in &result.streams {
            whole(stream, 20_000);
        }
        let mut path = build(&Redirect, Streams::Leftward(back()))?;
        whole(&only(path.run(&frames(5e4, 20_000))?), 20_000);
        Ok(())
    });
}

#[test]
fn a_trial_that_was_sent_late_is_void() {
    alone(|| {
        let streams = Streams::Rightward(ipv4(1, 64));
        let strict = Tolerance::default();
        let mut path = SingleDevice::build(&Redirect, streams, phases(), strict)?;
        // Nothing here sends a billion frames per second.
        let result = path.run(&frames(1e9, 50_000))?;
        let Some(Void::SentLate { late, sent, .. }) = result.void else {
            panic!("{result:?}");
        };
        assert_eq!(sent, 50_000);
        assert!(late > sent / 2, "{late}");
        Ok(())
    });
}

#[test]
fn learning_frames_do_not_count() {
    alone(|| {
        let streams = Streams::Rightward(ipv4(1, 64));
        let learning = Phases {
            learning: 500,
            ..phases()
        };
        let mut path = SingleDevice::build(&Redirect, streams, learning, PATIENT)?;
        for _ in 0..2 {
            whole(&only(path.run(&frames(1e5, 5000))?), 5000);
        }
        Ok(())
    });
}

/// Returns a cable and the tester's ports at its ends.
fn cable() -> Result<(Network, [Port; 2])> {
    let cable = Topology::direct(Neighbours::Static, Offloads::Off);
    let network = cable.build()?;
    let ports = [
        Port::of(&network, HOST6, 0, 0)?,
        Port::of(&network, HOST4, 0, 1)?,
    ];
    Ok((network, ports))
}

/// The tester works between any two interfaces.
#[test]
fn two_ports_and_a_cable() {
    alone(|| {
        let (_network, [left, right]) = cable()?;
        let streams = Streams::Both(ipv4(1000, 64), ipv4(1, 512));
        let mut tester = Tester::new(&left, &right, streams, phases(), PATIENT)?;
        for stream in &tester.run(&frames(1e5, 20_000))?.streams {
            whole(stream, 20_000);
        }
        drop(tester);
        let large = Tester::new(
            &left,
            &right,
            Streams::Rightward(ipv4(1, 1522)),
            phases(),
            PATIENT,
        );
        let refused = large.err().unwrap().to_string();
        assert!(
            refused.contains("whose MTU is 1500: it has to be 1504"),
            "{refused}"
        );
        Ok(())
    });
}
