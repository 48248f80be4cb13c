//! The tester in network namespaces (netns): what it says of paths that are known to do right, or a
//! known thing wrong. Needs root; without it a test says why it is skipped.

use std::{
    net::Ipv4Addr,
    process::Stdio,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use isthmus_lab::{
    LabError, Result,
    generator::{BadFrameSize, FrameSize, Leg, Pace, RFC_8219},
    measure::{Load, Path},
    packet::{Ends, Form, Packet},
    peers::{Fault, Faulty, Forwarding, Nftables, Redirect},
    plan, process,
    subject::Subject,
    tester::{
        Arrivals, Ceiling, Extent, Flows, Phases, Port, Ports, SingleDevice, Stateful,
        StreamResult, Streams, Summary, Tester, Tolerance, Traffic, Trial, TrialResult, Void,
        flows,
        search::{
            Offer, Range,
            connections::Outcome,
            mlr::{self, Goal},
        },
    },
    topology::{
        End, HOST_INTERFACE, HOST4, HOST6, Link, Neighbours, Node, Offloads, Role, Topology,
        mac_octets,
    },
};

/// Two tests at once would send each other's frames late.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a test alone, or says why it cannot run here.
fn alone(task: impl FnOnce() -> Result<()>) {
    let _turn = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    match task() {
        Ok(()) => {}
        Err(
            reason @ (LabError::NotRoot | LabError::Missing { .. } | LabError::TooFewCores { .. }),
        ) => {
            println!("skipped: {reason}");
        }
        Err(error) => panic!("{error}"),
    }
}

const TIMEOUT: Duration = Duration::from_secs(2);

/// Short, and without frames before the trial's.
fn phases() -> Phases {
    Phases {
        learning: 0,
        ..Phases::shortened(50)
    }
}

/// Other work on the machine may make frames late: that is not what these tests are about.
const PATIENT: Tolerance = Tolerance {
    by: Duration::from_secs(10),
    share: 1.0,
    rate: 1.0,
};

fn size(octets: u16, form: Form) -> std::result::Result<FrameSize, BadFrameSize> {
    FrameSize::new(octets, form)
}

fn ipv4(count: u32, octets: u16) -> Traffic {
    Traffic {
        packets: Flows::many(count).packets(flows::ipv4),
        size: size(octets, Form::V4).unwrap(),
        arrives: Form::V4,
    }
}

fn build(subject: &dyn Subject, streams: Streams) -> Result<SingleDevice> {
    SingleDevice::build(subject, streams, phases(), PATIENT)
}

fn frames(rate: f64, frames: u64) -> Trial {
    Trial {
        rate,
        extent: Extent::Frames(frames),
        timeout: TIMEOUT,
    }
}

/// The only stream of a trial.
fn only(result: TrialResult) -> StreamResult {
    let [stream] = <[StreamResult; 1]>::try_from(result.streams).unwrap();
    stream
}

/// What a path with a fault makes of so many frames at 100,000 per second.
fn through(fault: Fault, count: u64) -> Result<StreamResult> {
    let mut path = build(&Faulty(fault), Streams::Rightward(ipv4(1, 64)))?;
    Ok(only(path.run(&frames(1e5, count))?))
}

/// Nothing is wrong with these but what `arrivals` names.
fn check(stream: &StreamResult, sent: u64, arrivals: Arrivals) {
    let expected = Arrivals {
        silence_ns: stream.arrivals.silence_ns,
        other: stream.arrivals.other,
        ..arrivals
    };
    assert_eq!((stream.sent, &stream.arrivals), (sent, &expected));
}

fn whole(stream: &StreamResult, sent: u64) {
    let received = sent;
    check(
        stream,
        sent,
        Arrivals {
            received,
            ..Arrivals::default()
        },
    );
}

#[test]
fn a_path_that_does_nothing_wrong() {
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
            if rate.is_finite() {
                let ratio = stream.sent_rate / rate;
                assert!((ratio - 1.0).abs() < 0.05, "{rate}: {}", stream.sent_rate);
            }
        }
        Ok(())
    });
}

#[test]
fn every_size_that_a_page_holds() {
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

/// All forms, with few flows and with so many that only their differences are kept.
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

/// tshark says whether the checksums of what is sent are right.
#[test]
fn checksums_are_right_with_every_tag() {
    use isthmus_lab::generator::{Content, Generator, Stream, StreamId};
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
                content: Content::Tag(StreamId::RIGHTWARD, size(512, form).unwrap()),
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
            let sent = generator.send(&[leg], TIMEOUT);
            capture.wait().unwrap();
            sent?;
            let mut tshark = std::process::Command::new("tshark");
            tshark.args([
                "-r",
                path,
                "-o",
                "udp.check_checksum:TRUE",
                "-o",
                "ip.check_checksum:TRUE",
            ]);
            tshark.args([
                "-T",
                "fields",
                "-e",
                "udp.checksum.status",
                "-e",
                "frame.len",
            ]);
            let seen = process::run(&mut tshark)?;
            // 1: good.
            let good = seen.lines().filter(|line| *line == "1\t508").count();
            assert_eq!(good, 300, "{form}: {seen}");
        }
        Ok(())
    });
}

#[test]
fn one_lost_frame_in_a_thousand() {
    alone(|| {
        let stream = through(Fault::Drop(1000), 200_000)?;
        check(
            &stream,
            200_000,
            Arrivals {
                received: 199_800,
                ..Arrivals::default()
            },
        );
        Ok(())
    });
}

#[test]
fn changed_bits() {
    alone(|| {
        let stream = through(Fault::Corrupt(50), 10_000)?;
        check(
            &stream,
            10_000,
            Arrivals {
                received: 9800,
                corrupt: 200,
                ..Arrivals::default()
            },
        );
        Ok(())
    });
}

#[test]
fn shortened_frames() {
    alone(|| {
        let mut path = build(&Faulty(Fault::Shorten(10)), Streams::Rightward(ipv4(1, 64)))?;
        // One batch, each frame in a page of its own.
        let stream = only(path.run(&frames(f64::INFINITY, 64))?);
        check(
            &stream,
            64,
            Arrivals {
                received: 58,
                resized: 6,
                ..Arrivals::default()
            },
        );
        Ok(())
    });
}

#[test]
fn frames_that_come_twice() {
    alone(|| {
        let stream = through(Fault::Duplicate(100), 10_000)?;
        check(
            &stream,
            10_000,
            Arrivals {
                received: 10_000,
                duplicates: 100,
                ..Arrivals::default()
            },
        );
        assert_eq!(stream.lost(), 0);
        Ok(())
    });
}

/// One frame is still held when the trial ends.
#[test]
fn frames_that_overtake() {
    alone(|| {
        let stream = through(Fault::Swap(100), 9999)?;
        check(
            &stream,
            9999,
            Arrivals {
                received: 9998,
                reordered: 99,
                ..Arrivals::default()
            },
        );
        Ok(())
    });
}

/// Each frame waits for a hundred others, which are 10 us apart.
#[test]
fn a_delay_of_a_millisecond() {
    alone(|| {
        let punctual = Tolerance {
            by: Duration::from_micros(20),
            share: 0.1,
            rate: 0.01,
        };
        let streams = Streams::Rightward(ipv4(1, 64));
        let held = Faulty(Fault::Hold(100));
        let mut path = SingleDevice::build(&held, streams, phases(), punctual)?;
        for _ in 0..20 {
            let result = path.run(&frames(1e5, 20_000))?;
            if result.void.is_none() {
                let stream = only(result);
                assert_eq!(stream.arrivals.received, 19_900);
                let median = stream.delay.unwrap().median;
                assert!((median / 1e6 - 1.0).abs() < 0.02, "{median} ns");
                return Ok(());
            }
        }
        println!("skipped: other work on this machine made every trial late");
        Ok(())
    });
}

#[test]
fn frames_that_are_held_back() {
    alone(|| {
        let mut path = build(&Faulty(Fault::Hold(500)), Streams::Rightward(ipv4(1, 64)))?;
        // 50 ms.
        let soon = Trial {
            timeout: Duration::from_millis(25),
            ..frames(1e4, 2000)
        };
        let stream = only(path.run(&soon)?);
        let Arrivals {
            received, expired, ..
        } = stream.arrivals;
        assert_eq!(received + expired, 1500);
        // Frames that catch up after a pause are nearer to each other.
        assert!(received == 0 || stream.latest_ns > 20_000_000, "{stream:?}");
        assert_eq!(stream.lost(), 2000 - received);
        // Those that are still held come in the next trial: they are not its own.
        let stream = only(path.run(&frames(1e4, 2000))?);
        let Arrivals {
            received,
            strange,
            expired,
            ..
        } = stream.arrivals;
        assert_eq!((received, strange, expired), (1500, 500, 0));
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
        let result = path.run(&frames(1e9, 200_000))?;
        let Some(Void::SentLate { late, sent, .. }) = result.void else {
            panic!("{result:?}");
        };
        assert_eq!(sent, 200_000);
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

/// The responder answers by what arrived, and the device knows where the answers belong.
#[test]
fn connections_through_a_masquerade() {
    alone(|| {
        let inside = Ends::V4(plan::HOST6_AS_IPV4, plan::HOST4);
        let flows = Flows {
            ports: Ports::Permuted(2000..=2999, 1..=3),
            ..Flows::many(3000)
        };
        let test = Stateful {
            subject: &Nftables::Masquerade,
            initiated: Traffic {
                packets: flows.packets(|_| inside),
                ..ipv4(1, 64)
            },
            phases: phases(),
            tolerance: PATIENT,
            timeout: TIMEOUT,
        };
        let established = test.establish(20_000.0)?;
        assert_eq!(
            established.outcome(),
            Outcome::All,
            "{:?}",
            established.result
        );
        let answers = established.answers();
        assert_eq!(answers.len(), 3000);
        let outside: Ipv4Addr = plan::GATEWAY4;
        for answer in answers {
            assert_eq!(answer.ends, Ends::V4(plan::HOST4, outside));
            assert!((1..=3).contains(&answer.ports.0));
        }
        let back = established.validate(20_000.0)?.unwrap();
        whole(&only(back), 3000);
        Ok(())
    });
}

/// Without a device that changes them, answers come from where the frames went.
#[test]
fn answers_to_ipv6() {
    alone(|| {
        let sent = Flows::many(100).packets(flows::ipv6);
        let test = Stateful {
            subject: &Redirect,
            initiated: Traffic {
                packets: sent.clone(),
                size: FrameSize::least(Form::V6),
                arrives: Form::V6,
            },
            phases: phases(),
            tolerance: PATIENT,
            timeout: TIMEOUT,
        };
        let established = test.establish(10_000.0)?;
        for (answer, sent) in established.answers().iter().zip(&sent) {
            let Ends::V6(from, to) = sent.ends else {
                panic!("not IPv6");
            };
            assert_eq!(answer.ends, Ends::V6(to, from));
            assert_eq!(answer.ports, (sent.ports.1, sent.ports.0));
        }
        whole(&only(established.validate(10_000.0)?.unwrap()), 100);
        Ok(())
    });
}

/// A measurement, not a test: the figures are for people. Run it alone, with `--release -- --ignored
/// --nocapture`.
#[test]
#[ignore = "a measurement"]
fn ceilings() {
    alone(|| {
        for count in [1, 1000, 1_000_000] {
            let ceiling = Ceiling::measure(&Streams::Rightward(ipv4(count, 64)))?;
            println!("{count} flows, 64 octets: {:.3} Mpps", ceiling.rate() / 1e6);
        }
        for octets in [512, 1518, 3072] {
            let ceiling = Ceiling::measure(&Streams::Rightward(ipv4(1, octets)))?;
            println!("1 flow, {octets} octets: {:.3} Mpps", ceiling.rate() / 1e6);
        }
        let cable = Topology {
            nodes: [HOST6, HOST4]
                .map(|name| Node {
                    name,
                    role: Role::Host,
                    routes: vec![],
                })
                .into(),
            links: vec![Link {
                ends: [HOST6, HOST4].map(|node| End {
                    node,
                    interface: HOST_INTERFACE,
                    addresses: vec![],
                }),
                mtu: 1500,
            }],
            neighbours: Neighbours::Static,
            offloads: Offloads::Off,
        };
        let network = cable.build()?;
        let port = |node, side| -> Result<Port> {
            Ok(Port {
                place: network.node(node)?.into(),
                interface: HOST_INTERFACE.into(),
                address: mac_octets(0, side),
                peer: mac_octets(0, 1 - side),
            })
        };
        let (left, right) = (port(HOST6, 0)?, port(HOST4, 1)?);
        let streams = Streams::Rightward(ipv4(1000, 64));
        let mut tester = Tester::new(&left, &right, streams, phases(), PATIENT)?;
        for _ in 0..3 {
            let stream = only(tester.run(&frames(f64::INFINITY, 3_000_000))?);
            whole(&stream, 3_000_000);
            println!("a cable: {:.3} Mpps", stream.received_rate / 1e6);
        }
        let load = Load::routed4(1);
        let window = Duration::from_secs(1);
        let untagged = Path::build(&Redirect, &load)?.rate(window / 4, window, Pace::Full)?;
        println!("the same without tags: {:.3} Mpps", untagged.received / 1e6);
        let both = Ceiling::measure(&Streams::Both(ipv4(1, 64), ipv4(1, 64)))?;
        println!("both directions, 64 octets: {:.3} Mpps", both.rate() / 1e6);
        Ok(())
    });
}

/// A measurement as well: the non-drop rate of the kernel's forwarding, five times.
#[test]
#[ignore = "a measurement"]
fn repeatability() {
    alone(|| {
        let streams = Streams::Rightward(ipv4(100, 64));
        let ceiling = Ceiling::measure(&streams)?;
        let short = Phases {
            learning: 0,
            ..Phases::shortened(1000)
        };
        // What the sender shares its core with here makes single frames late.
        let tolerance = Tolerance {
            share: 0.01,
            ..Tolerance::default()
        };
        let mut path = SingleDevice::build(&Forwarding, streams, short, tolerance)?;
        let range = Range {
            least: 10_000.0,
            most: ceiling.rate(),
        };
        let mut rates = Vec::new();
        for _ in 0..5 {
            let trial = |offer: Offer| {
                path.run(&Trial {
                    rate: offer.rate,
                    extent: Extent::Time(offer.duration),
                    timeout: Duration::from_millis(100),
                })
            };
            let (found, points) = mlr::search(range, &[Goal::ndr().shortened(50)], trial)?;
            let rate = found[0].rate.unwrap();
            let judged = ceiling.judge(rate);
            let (limit, trials) = (found[0].limit, points.len());
            println!("NDR {rate:.0} fps, {limit:?}, {trials} trials, {judged:?}");
            rates.push(rate);
        }
        println!("spread {:.2} %", Summary::spread(&rates).unwrap() * 100.0);
        Ok(())
    });
}
