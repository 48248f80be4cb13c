//! A made-up run with all experiments of the laboratory, for the look of the report. Its values come from plain
//! formulas: the time of a link, the time of a node, and a wobble.

use isthmus_lab::figures::{
    bound::{MECHANISMS, Mtu, Payload, Rate, TcpOptions, Transport, table::PAPERS_PAYLOADS},
    results::{Outcome, Point, Quantity},
};

use super::made_up::MadeUp;

const REPETITIONS: u32 = 5;

/// Subjects with their time for a packet in seconds, and their path in the bound.
const PAPER_000: [(&str, f64, &str); 10] = [
    ("native-ipv4", 3e-6, "native-ipv4"),
    ("native-ipv6", 3.2e-6, "native-ipv6"),
    ("nat64-isthmus-xdp", 1.5e-6, "nat64-6to4"),
    ("nat64-isthmus-tc", 2.6e-6, "nat64-6to4"),
    ("nat64-isthmus-user", 14e-6, "nat64-6to4"),
    ("nat64-tayga", 22e-6, "nat64-6to4"),
    ("isatap-isthmus-xdp", 1.6e-6, "isatap"),
    ("isatap-isthmus-user", 15e-6, "isatap"),
    ("6to4-hosts-isthmus-xdp", 1.7e-6, "6to4"),
    ("6to4-hosts-isthmus-user", 16e-6, "6to4"),
];

const PAPER_002: [(&str, f64); 10] = [
    ("native-ipv4", 0.9e-6),
    ("ds-lite-isthmus-xdp", 1.1e-6),
    ("ds-lite-isthmus-user", 9e-6),
    ("map-e-isthmus-xdp", 1.0e-6),
    ("map-e-isthmus-user", 8.5e-6),
    ("map-t-isthmus-xdp", 1.2e-6),
    ("map-t-isthmus-user", 10e-6),
    ("464xlat-isthmus-xdp", 1.3e-6),
    ("464xlat-isthmus-user", 12e-6),
    ("464xlat-tayga", 28e-6),
];

/// Returns the whole run.
pub(crate) fn laboratory() -> MadeUp {
    let mut made_up = MadeUp::new();
    paper_000(&mut made_up);
    paper_001(&mut made_up);
    paper_002(&mut made_up);
    paper_003(&mut made_up);
    paper_004(&mut made_up);
    standards(&mut made_up);
    made_up.subject("nat64-jool");
    let jool = made_up.run.subjects.last_mut().unwrap();
    jool.missing = Some("the kernel module jool is not installed".into());
    made_up.trial(
        "paper-002/loss",
        "map-t-isthmus-xdp",
        Outcome::Void("the tester sent 3 ms late".into()),
    );
    made_up.trial(
        "paper-004/round-trip",
        "http-proxy-squid",
        Outcome::NotRun("squid is not installed".into()),
    );
    made_up
}

/// Returns a factor from 0.99 to 1.01 that depends on the place only.
fn wobble(place: &[u64]) -> f64 {
    let mut state = 0xcbf2_9ce4_8422_2325u64;
    for one in place {
        state = (state ^ one).wrapping_mul(0x0000_0100_0000_01b3);
        state ^= state >> 29;
    }
    0.99 + (state % 1000) as f64 / 50_000.0
}

fn paper_000(made_up: &mut MadeUp) {
    for (rate, name) in [(10, "10M"), (100, "100M")] {
        for (transport, what) in [
            (Transport::Udp, "udp"),
            (Transport::Tcp(TcpOptions::Timestamps), "tcp"),
        ] {
            let experiment = format!("paper-000/delay-{what}-{name}");
            made_up.experiment(
                &experiment,
                Quantity::OneWayDelay,
                Some(("payload", "bytes")),
            );
            over_links(made_up, &experiment, rate, transport, true);
        }
        let experiment = format!("paper-000/throughput-udp-{name}");
        made_up.experiment(
            &experiment,
            Quantity::Throughput,
            Some(("payload", "bytes")),
        );
        over_links(made_up, &experiment, rate, Transport::Udp, false);
    }
}

fn over_links(
    made_up: &mut MadeUp,
    experiment: &str,
    rate: u64,
    transport: Transport,
    delays: bool,
) {
    for repetition in 0..REPETITIONS {
        for (number, (subject, cost, path)) in PAPER_000.into_iter().enumerate() {
            let mechanism = MECHANISMS
                .iter()
                .find(|mechanism| mechanism.name == path)
                .unwrap();
            let path = mechanism.path(Rate::new(rate * 1_000_000).unwrap(), Mtu::ETHERNET);
            let mut points = Vec::new();
            for size in PAPERS_PAYLOADS {
                let payload = Payload::new(size).unwrap();
                let wobble = wobble(&[rate, number as u64, size.into(), repetition.into()]);
                if delays {
                    let bound = path.delay(transport, payload);
                    for (series, more) in [("forward", 1.0), ("back", 1.15), ("mean", 1.07)] {
                        let value = bound + 2.0 * cost * more * wobble;
                        points.push(Point {
                            samples: 1000,
                            spread: Some([value * 0.98, value * 1.06]),
                            bound: Some(bound),
                            ..Point::new(series, size.into(), value)
                        });
                    }
                } else {
                    let bound = path.streaming(transport, payload);
                    let packets = f64::from(size.div_ceil(1472));
                    let own = f64::from(size) * 8.0 / (cost * packets);
                    let value = 1.0 / (1.0 / bound + 0.05 / own) * wobble.min(1.0);
                    points.push(Point::new("forward", size.into(), value).with_bound(bound));
                }
            }
            made_up.measured(experiment, subject, points);
        }
    }
}

fn paper_001(made_up: &mut MadeUp) {
    made_up.experiment("paper-001/steps", Quantity::Cost, None);
    made_up.experiment(
        "paper-001/prefix-length",
        Quantity::Cost,
        Some(("prefix length", "bits")),
    );
    made_up.experiment("paper-001/packet-rate", Quantity::PacketRate, None);
    let steps = [
        ("parse", 2.0),
        ("address", 4.0),
        ("header", 6.0),
        ("tcp", 3.0),
        ("udp", 2.5),
        ("icmp", 3.5),
    ];
    for repetition in 0..REPETITIONS {
        let mut points = Vec::new();
        for (direction, more) in [("4to6", 1.2), ("6to4", 1.0)] {
            for (number, (step, nanoseconds)) in steps.into_iter().enumerate() {
                let value = nanoseconds * more * 1e-9 * wobble(&[number as u64, repetition.into()]);
                points.push(Point::new(&format!("{direction} {step}"), 0.0, value));
            }
        }
        made_up.measured("paper-001/steps", "ivi-isthmus-user", points);
        let lengths = [32, 40, 48, 56, 64, 96];
        let points = lengths.iter().flat_map(|length| {
            [("4to6", 30.0), ("6to4", 25.0)].map(|(series, base)| {
                let extra = if *length == 32 { 0.0 } else { 1.5 };
                let wobble = wobble(&[*length, repetition.into(), base as u64]);
                Point::new(series, *length as f64, (base + extra) * 1e-9 * wobble)
            })
        });
        made_up.measured(
            "paper-001/prefix-length",
            "ivi-isthmus-user",
            points.collect(),
        );
        for (subject, rate) in [
            ("native-ipv6", 1.1e6),
            ("ivi-isthmus-xdp", 2.4e6),
            ("ivi-isthmus-tc", 1.5e6),
            ("ivi-isthmus-user", 0.42e6),
        ] {
            let points = [("4to6", 0.93), ("6to4", 1.0)].map(|(series, share)| {
                let value =
                    rate * share * wobble(&[rate as u64, repetition.into(), series.len() as u64]);
                Point::new(series, 0.0, value).with_ceiling(4.2e6)
            });
            made_up.measured("paper-001/packet-rate", subject, points.to_vec());
        }
    }
}

fn paper_002(made_up: &mut MadeUp) {
    let over = Some(("payload", "bytes"));
    made_up.experiment("paper-002/throughput", Quantity::Throughput, over);
    made_up.experiment("paper-002/loss", Quantity::Loss, over);
    made_up.experiment("paper-002/jitter", Quantity::Jitter, over);
    made_up.experiment("paper-002/cpu", Quantity::Cpu, over);
    made_up.experiment("paper-002/overhead", Quantity::Overhead, None);
    made_up.experiment("paper-002/applications", Quantity::Works, None);
    for (number, (subject, cost)) in PAPER_002.into_iter().enumerate() {
        for repetition in 0..REPETITIONS {
            let mut columns: [Vec<Point>; 4] = Default::default();
            for size in [100u32, 250, 500, 1000, 1400] {
                let wobble = wobble(&[number as u64, size.into(), repetition.into()]);
                let offered = 100e6 / (8.0 * f64::from(size));
                let handled = (1.0 / cost * wobble).min(offered);
                let at = f64::from(size);
                let bound = 100e6 * at / (at + 66.0);
                columns[0].push(
                    Point::new("udp", at, (handled * 8.0 * at).min(bound * 0.99)).with_bound(bound),
                );
                columns[1].push(Point::new("udp", at, (1.0 - handled / offered).max(0.0)));
                columns[2].push(Point::new("udp", at, cost * 3.0 * wobble));
                columns[3].push(Point::new("udp", at, (offered * cost * wobble).min(1.0)));
            }
            for (name, points) in ["throughput", "loss", "jitter", "cpu"]
                .into_iter()
                .zip(columns)
            {
                made_up.measured(&format!("paper-002/{name}"), subject, points);
            }
        }
        let bytes = if subject.contains("lite") || subject.contains("map-e") {
            40.0
        } else {
            20.0
        };
        let bytes = if number == 0 { 0.0 } else { bytes };
        made_up.line("paper-002/overhead", subject, "both", &[(0.0, bytes)]);
        let works = ["web", "mail", "video", "voice", "bittorrent", "ipsec"].map(|name| {
            let value = match name {
                "bittorrent" if number > 0 => 0.0,
                "ipsec" if number > 1 => 0.0,
                "voice" if number > 6 => 0.5,
                _ => 1.0,
            };
            let point = Point::new(name, 0.0, value);
            if value > 0.0 {
                point
            } else {
                point.because(format!("{name}: nobody answers"))
            }
        });
        made_up.measured("paper-002/applications", subject, works.to_vec());
    }
}

fn paper_003(made_up: &mut MadeUp) {
    for (rate, name) in [(10, "10M"), (100, "100M"), (1000, "1000M")] {
        let experiment = format!("paper-003/throughput-udp-{name}");
        made_up.experiment(
            &experiment,
            Quantity::Throughput,
            Some(("payload", "bytes")),
        );
        for repetition in 0..REPETITIONS {
            for (subject, direct) in [
                ("native-ipv4", "direct-ipv4"),
                ("native-ipv6", "direct-ipv6"),
            ] {
                let mechanism = MECHANISMS
                    .iter()
                    .find(|mechanism| mechanism.name == direct)
                    .unwrap();
                let path = mechanism.path(Rate::new(rate * 1_000_000).unwrap(), Mtu::ETHERNET);
                let points = PAPERS_PAYLOADS.map(|size| {
                    let bound = path.streaming(Transport::Udp, Payload::new(size).unwrap());
                    let own = f64::from(size) * 8.0 / 3e-6;
                    let value = 1.0 / (1.0 / bound + 1.0 / own);
                    let wobble =
                        wobble(&[rate, size.into(), repetition.into(), direct.len() as u64]);
                    Point::new("forward", size.into(), value * wobble.min(1.0)).with_bound(bound)
                });
                made_up.measured(&experiment, subject, points.to_vec());
            }
        }
    }
}

fn paper_004(made_up: &mut MadeUp) {
    made_up.experiment("paper-004/round-trip", Quantity::RoundTrip, None);
    made_up.experiment(
        "paper-004/connections",
        Quantity::RoundTrip,
        Some(("connections", "")),
    );
    let subjects = [
        ("native-ipv4", 41e-6),
        ("native-ipv6", 43e-6),
        ("nat64-isthmus-xdp", 39e-6),
        ("nat64-isthmus-tc", 42e-6),
        ("nat64-isthmus-user", 71e-6),
        ("nat64-tayga", 96e-6),
        ("http-proxy-apache", 210e-6),
    ];
    for repetition in 0..REPETITIONS {
        for (subject, seconds) in subjects {
            let value = seconds * wobble(&[(seconds * 1e6) as u64, repetition.into()]);
            let point = Point {
                samples: 10_000,
                spread: Some([value * 0.9, value * 1.7]),
                ..Point::new("both", 0.0, value)
            };
            made_up.measured(
                "paper-004/round-trip",
                subject,
                vec![point.with_ceiling(25e-6)],
            );
            let points = [1u32, 10, 25, 50, 100].iter().flat_map(|count| {
                [("small", 1.0), ("large", 6.0)].map(|(series, more)| {
                    let value = seconds * more * (1.0 + f64::from(*count) / 15.0);
                    Point::new(series, (*count).into(), value)
                })
            });
            made_up.measured("paper-004/connections", subject, points.collect());
        }
    }
}

fn standards(made_up: &mut MadeUp) {
    made_up.experiment(
        "rfc8219/throughput",
        Quantity::PacketRate,
        Some(("frame size", "bytes")),
    );
    made_up.experiment("rfc9693/connection-rate", Quantity::ConnectionRate, None);
    for repetition in 0..REPETITIONS {
        for (subject, rate) in [
            ("native-ipv6", 1.2e6),
            ("nat64-isthmus-xdp", 2.6e6),
            ("nat64-isthmus-user", 0.4e6),
            ("nat64-tayga", 0.15e6),
        ] {
            let frames = [84u32, 128, 256, 512, 1024, 1518];
            let points = frames.iter().flat_map(|frame| {
                [("4to6", 0.94), ("6to4", 1.0)].map(|(series, share)| {
                    let value = rate * share / (1.0 + f64::from(*frame) / 8000.0);
                    let value = value * wobble(&[rate as u64, (*frame).into(), repetition.into()]);
                    Point::new(series, (*frame).into(), value).with_ceiling(4.0e6)
                })
            });
            made_up.measured("rfc8219/throughput", subject, points.collect());
        }
        for (subject, rate) in [
            ("nat64-isthmus-xdp", 0.8e6),
            ("nat64-isthmus-user", 0.2e6),
            ("nat64-tayga", 0.03e6),
        ] {
            let value = rate * wobble(&[rate as u64, repetition.into()]);
            made_up.line("rfc9693/connection-rate", subject, "6to4", &[(0.0, value)]);
        }
    }
}
