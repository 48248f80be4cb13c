//! The claims on runs that decide them.

use isthmus_lab::{
    experiments::experiments,
    figures::results::{Point, Quantity},
    report::claims::{CLAIMS, Comparison, Judgement, Verdict},
};

use super::made_up::MadeUp;

use Verdict::{CannotBeTold, DoesNotHold, Holds, HoldsInPart, NotAsked};

fn judge(made_up: &MadeUp, id: &str) -> Judgement {
    let claim = CLAIMS.iter().find(|claim| claim.id == id).unwrap();
    claim.judge(&made_up.summary())
}

pub(crate) fn verdict(made_up: &MadeUp, id: &str) -> Verdict {
    judge(made_up, id).verdict
}

/// Returns an experiment without an axis, in which each subject has one value of one series.
fn values(experiment: &str, quantity: Quantity, series: &str, values: &[(&str, f64)]) -> MadeUp {
    let mut made_up = MadeUp::new();
    add_values(&mut made_up, experiment, quantity, series, values);
    made_up
}

/// The repetitions of a value: a thousandth apart.
pub(crate) const REPETITIONS: [f64; 5] = [0.998, 0.999, 1.0, 1.001, 1.002];

/// Adds five trials with one series over an axis.
pub(crate) fn repeated(
    made_up: &mut MadeUp,
    experiment: &str,
    subject: &str,
    series: &str,
    values: &[(f64, f64)],
) {
    for factor in REPETITIONS {
        let line: Vec<_> = values
            .iter()
            .map(|(at, value)| (*at, value * factor))
            .collect();
        made_up.line(experiment, subject, series, &line);
    }
}

pub(crate) fn add_values(
    made_up: &mut MadeUp,
    experiment: &str,
    quantity: Quantity,
    series: &str,
    values: &[(&str, f64)],
) {
    made_up.experiment(experiment, quantity, None);
    for (subject, value) in values {
        repeated(made_up, experiment, subject, series, &[(0.0, *value)]);
    }
}

/// Adds a line for each subject: a factor times the payload.
fn add_lines(
    made_up: &mut MadeUp,
    experiment: &str,
    quantity: Quantity,
    series: &str,
    factors: &[(&str, f64)],
) {
    made_up.experiment(experiment, quantity, Some(("payload", "bytes")));
    for (subject, factor) in factors {
        let line: Vec<(f64, f64)> = [100.0, 250.0, 500.0, 1000.0, 1400.0, 2000.0]
            .iter()
            .map(|at| (*at, at * factor))
            .collect();
        repeated(made_up, experiment, subject, series, &line);
    }
}

#[test]
fn an_empty_run_judges_no_claim() {
    let made_up = MadeUp::new();
    for claim in &CLAIMS {
        let judgement = claim.judge(&made_up.summary());
        assert_eq!(judgement.verdict, NotAsked, "{}", claim.id);
        assert!(
            !judgement.missing.is_empty() && judgement.why.contains("isthmus lab run paper-00"),
            "{}",
            claim.id
        );
    }
    let ids: Vec<&str> = CLAIMS.iter().map(|claim| claim.id).collect();
    assert_eq!(
        ids,
        (1..=14)
            .map(|number| format!("H{number}"))
            .collect::<Vec<_>>()
    );
}

#[test]
fn claims_name_known_experiments() {
    let nothing = MadeUp::new();
    for claim in &CLAIMS {
        let judgement = claim.judge(&nothing.summary());
        let (_, command) = judgement.why.split_once("`isthmus lab run ").unwrap();
        let (names, _) = command.split_once('`').unwrap();
        for name in names.split(' ') {
            let is_asked = experiments().any(|experiment| experiment.name == name);
            assert!(is_asked, "{}: {name} is to be run", claim.id);
        }
        for missing in judgement.missing {
            let name = missing.strip_prefix("the experiment ").unwrap();
            let is_asked = experiments().any(|experiment| experiment.name == name);
            assert!(is_asked, "{}: {name}", claim.id);
        }
    }
}

#[test]
fn h1_round_trips() {
    let with =
        |list: &[(&str, f64)]| values("paper-004/round-trip", Quantity::RoundTrip, "both", list);
    let right = [
        ("native-ipv4", 1.0),
        ("native-ipv6", 2.0),
        ("nat64-isthmus-xdp", 3.0),
        ("nat-pt-isthmus-xdp", 3.02),
        ("http-proxy-apache", 4.0),
    ];
    assert_eq!(verdict(&with(&right), "H1"), Holds);
    let wrong = with(&[
        ("native-ipv4", 1.0),
        ("native-ipv6", 3.0),
        ("nat64-isthmus-xdp", 2.0),
        ("nat-pt-isthmus-xdp", 2.5),
        ("http-proxy-apache", 4.0),
    ]);
    let judgement = judge(&wrong, "H1");
    assert_eq!(judgement.verdict, HoldsInPart);
    let why = &judgement.why;
    assert!(why.contains("but native-ipv6 < nat64-isthmus-xdp"), "{why}");
    assert!(
        why.contains("3 of 4") && why.contains("1.50 times (1.50"),
        "{why}"
    );
    let judgement = judge(&with(&right[..4]), "H1");
    assert_eq!(judgement.verdict, CannotBeTold);
    assert_eq!(judgement.missing, ["http proxy in paper-004/round-trip"]);
    // The measured values are enough to refute it, whatever the proxy would do.
    let wrong_without_proxy = with(&[("native-ipv4", 2.0), ("native-ipv6", 1.0)]);
    assert_eq!(verdict(&wrong_without_proxy, "H1"), DoesNotHold);
    // The wrong series does not count.
    let other = values(
        "paper-004/round-trip",
        Quantity::RoundTrip,
        "small",
        &[("native-ipv4", 1.0)],
    );
    assert_eq!(verdict(&other, "H1"), NotAsked);
}

#[test]
fn one_repetition_tells_no_order_and_refutes_none() {
    for list in [[1.0, 2.0, 3.0, 4.0, 5.0], [5.0, 4.0, 3.0, 2.0, 1.0]] {
        let names = [
            "native-ipv4",
            "native-ipv6",
            "nat64-tayga",
            "nat-pt-x",
            "http-proxy-x",
        ];
        let mut made_up = MadeUp::new();
        made_up.experiment("paper-004/round-trip", Quantity::RoundTrip, None);
        for (name, value) in names.into_iter().zip(list) {
            made_up.line("paper-004/round-trip", name, "both", &[(0.0, value)]);
        }
        let judgement = judge(&made_up, "H1");
        assert_eq!(judgement.verdict, CannotBeTold);
        assert!(
            judgement.why.contains("too few repetitions"),
            "{}",
            judgement.why
        );
        assert!(judgement.comparisons.iter().all(|one| one.effect.is_some()));
    }
}

/// Returns a run in which SIIT takes so long with prefixes of 32 and 64 bits, in each repetition.
fn with_prefixes(times: &[[f64; 2]]) -> MadeUp {
    let name = "paper-001/prefix-length";
    let mut made_up = MadeUp::new();
    made_up.experiment(name, Quantity::Cost, Some(("bits", "bits")));
    for [short, long] in times {
        let line = [(32.0, short * 1e-9), (64.0, long * 1e-9)];
        made_up.line(name, "siit-isthmus-user", "4to6", &line);
    }
    made_up
}

#[test]
fn instructions_decide_what_the_clock_cannot_tell() {
    // 120 and 117 ns, but from 100 to 140; and a single repetition.
    let noisy = [0.85, 0.9, 1.0, 1.1, 1.15].map(|factor| [120.0 * factor, 117.0 * (2.0 - factor)]);
    for times in [&noisy[..], &noisy[..1]] {
        let judgement = judge(&with_prefixes(times), "H7");
        assert_eq!(judgement.verdict, DoesNotHold);
        let why = &judgement.why;
        assert!(
            why.contains("by instructions, 4to6, 32 bits < 40 bits"),
            "{why}"
        );
        let note = &judgement.notes[0];
        assert!(
            note.starts_with("by the clock 1 comparison is unclear"),
            "{note}"
        );
    }
    let clear = REPETITIONS.map(|factor| [100.0 * factor, 117.0 * factor]);
    let judgement = judge(&with_prefixes(&clear), "H7");
    assert_eq!(judgement.verdict, Holds);
    let counted = |one: &Comparison| one.what.contains("instructions");
    assert!(!judgement.comparisons.iter().any(counted));
}

#[test]
fn h1_tells_when_it_depends_on_the_implementation() {
    let made_up = values(
        "paper-004/round-trip",
        Quantity::RoundTrip,
        "both",
        &[
            ("native-ipv4", 1.0),
            ("native-ipv6", 2.0),
            ("nat64-isthmus-xdp", 1.5),
            ("nat64-tayga", 3.0),
            ("http-proxy-apache", 4.0),
        ],
    );
    let judgement = judge(&made_up, "H1");
    assert_eq!(judgement.verdict, HoldsInPart);
    let beside = |note: &&String| note.contains("native-ipv6 < nat64-tayga");
    assert_eq!(
        judgement.notes.iter().filter(beside).count(),
        1,
        "{:?}",
        judgement.notes
    );
}

const PAPER_000: [&str; 5] = [
    "native-ipv4",
    "nat64-isthmus-xdp",
    "native-ipv6",
    "isatap-isthmus-xdp",
    "6to4-hosts-isthmus-xdp",
];

/// Returns all four experiments on delay, with these factors for the subjects.
fn delays(factors: [f64; 5]) -> MadeUp {
    let mut made_up = MadeUp::new();
    let factors: Vec<(&str, f64)> = PAPER_000.into_iter().zip(factors).collect();
    for (transport, rate, scale) in [
        ("tcp", "10M", 10.0),
        ("tcp", "100M", 1.0),
        ("udp", "10M", 10.0),
        ("udp", "100M", 1.0),
    ] {
        let scaled: Vec<(&str, f64)> = factors
            .iter()
            .map(|(name, factor)| (*name, factor * scale))
            .collect();
        let name = format!("paper-000/delay-{transport}-{rate}");
        add_lines(&mut made_up, &name, Quantity::OneWayDelay, "mean", &scaled);
    }
    made_up
}

#[test]
fn h2_one_way_delays() {
    assert_eq!(verdict(&delays([1.0, 2.0, 3.0, 4.0, 5.0]), "H2"), Holds);
    assert_eq!(
        verdict(&delays([1.0, 2.0, 3.0, 4.0, 4.0]), "H2"),
        Holds,
        "6to4 may be like ISATAP"
    );
    assert_eq!(
        verdict(&delays([1.0, 3.0, 2.0, 4.0, 5.0]), "H2"),
        HoldsInPart
    );
    assert_eq!(
        verdict(&delays([5.0, 4.0, 3.0, 2.0, 1.0]), "H2"),
        DoesNotHold
    );
    assert_eq!(
        verdict(&delays([1.0, 1.0, 1.0, 1.0, 1.0]), "H2"),
        CannotBeTold
    );
    let mut short = delays([1.0, 2.0, 3.0, 4.0, 5.0]);
    short
        .trials
        .retain(|trial| trial.planned.subject != "isatap-isthmus-xdp");
    assert_eq!(verdict(&short, "H2"), CannotBeTold);
}

#[test]
fn h2_does_not_look_at_fragments() {
    let mut made_up = delays([1.0, 2.0, 3.0, 4.0, 5.0]);
    for trial in &mut made_up.trials {
        let experiment = trial.planned.experiment.clone();
        if let isthmus_lab::figures::results::Outcome::Measured(points) = &mut trial.outcome
            && experiment.contains("udp")
        {
            // The order is reversed above a packet's size.
            for point in points.iter_mut().filter(|point| point.at > 1432.0) {
                point.value = 1.0 / point.value;
            }
        }
    }
    assert_eq!(verdict(&made_up, "H2"), Holds);
}

#[test]
fn h3_throughput() {
    let names = [
        "6to4-hosts-isthmus-xdp",
        "isatap-isthmus-xdp",
        "native-ipv6",
        "native-ipv4",
        "nat64-jool",
        "nat64-tayga",
    ];
    let with = |factors: [f64; 6]| {
        let mut made_up = MadeUp::new();
        for rate in ["10M", "100M"] {
            let name = format!("paper-000/throughput-udp-{rate}");
            let factors: Vec<(&str, f64)> = names.into_iter().zip(factors).collect();
            add_lines(
                &mut made_up,
                &name,
                Quantity::Throughput,
                "forward",
                &factors,
            );
        }
        made_up
    };
    assert_eq!(
        verdict(&with([90.0, 91.0, 95.0, 97.0, 94.0, 94.0]), "H3"),
        Holds
    );
    assert_eq!(
        verdict(&with([50.0, 91.0, 95.0, 97.0, 94.0, 94.0]), "H3"),
        HoldsInPart
    );
    assert_eq!(
        verdict(&with([90.0, 91.0, 97.0, 50.0, 94.0, 94.0]), "H3"),
        HoldsInPart
    );
    assert_eq!(
        verdict(&with([99.0, 80.0, 70.0, 60.0, 50.0, 94.0]), "H3"),
        DoesNotHold
    );
    let mut no_jool = with([90.0, 91.0, 95.0, 97.0, 94.0, 94.0]);
    no_jool
        .trials
        .retain(|trial| trial.planned.subject != "nat64-jool");
    assert_eq!(verdict(&no_jool, "H3"), CannotBeTold);
}

#[test]
fn h4_ten_times_the_rate() {
    assert_eq!(verdict(&delays([1.0, 2.0, 3.0, 4.0, 5.0]), "H4"), Holds);
    let mut slow = delays([1.0, 2.0, 3.0, 4.0, 5.0]);
    for trial in &mut slow.trials {
        if let isthmus_lab::figures::results::Outcome::Measured(points) = &mut trial.outcome {
            // The time of a node is the same at both rates.
            points.iter_mut().for_each(|point| point.value += 5000.0);
        }
    }
    assert_eq!(verdict(&slow, "H4"), DoesNotHold);
}

#[test]
fn h8_map() {
    let with = |throughput: [f64; 2], cpu: [f64; 2]| {
        let mut made_up = MadeUp::new();
        for (name, quantity, [e, t]) in [
            ("paper-002/throughput", Quantity::Throughput, throughput),
            ("paper-002/cpu", Quantity::Cpu, cpu),
        ] {
            let factors = [("map-e-isthmus-xdp", e), ("map-t-isthmus-xdp", t)];
            add_lines(&mut made_up, name, quantity, "udp", &factors);
        }
        made_up
    };
    assert_eq!(verdict(&with([2.0, 1.0], [1.0, 2.0]), "H8"), Holds);
    assert_eq!(verdict(&with([1.0, 2.0], [1.0, 2.0]), "H8"), HoldsInPart);
    assert_eq!(verdict(&with([2.0, 1.0], [2.0, 1.0]), "H8"), HoldsInPart);
    assert_eq!(verdict(&with([1.0, 2.0], [2.0, 1.0]), "H8"), DoesNotHold);
    // Alike in throughput is enough; alike in CPU says nothing, and instructions decide.
    assert_eq!(verdict(&with([1.0, 1.0], [1.0, 2.0]), "H8"), Holds);
    let judgement = judge(&with([1.0, 1.0], [1.0, 1.0]), "H8");
    let counted = |one: &&Comparison| one.what.starts_with("by instructions, MAP-E");
    assert_eq!(judgement.comparisons.iter().filter(counted).count(), 4);
    assert!(!matches!(judgement.verdict, CannotBeTold | NotAsked));
}

#[test]
fn h9_double_translation() {
    let with = |tayga: f64| {
        let mut made_up = MadeUp::new();
        for (name, quantity) in [
            ("cpu", Quantity::Cpu),
            ("jitter", Quantity::Jitter),
            ("loss", Quantity::Loss),
        ] {
            let factors = [
                ("464xlat-tayga", tayga),
                ("ds-lite-isthmus-user", 2.0),
                ("map-e-isthmus-user", 1.0),
                ("map-t-isthmus-user", 1.2),
                // Another mechanism than the paper's, which may be worse.
                ("nat64-tayga", 9.0),
            ];
            add_lines(
                &mut made_up,
                &format!("paper-002/{name}"),
                quantity,
                "udp",
                &factors,
            );
        }
        made_up
    };
    assert_eq!(verdict(&with(3.0), "H9"), Holds);
    assert_eq!(verdict(&with(1.5), "H9"), HoldsInPart);
    assert_eq!(verdict(&with(0.5), "H9"), DoesNotHold);
    // Instructions tell which takes more of the processor, and nothing of jitter and loss.
    assert_eq!(verdict(&with(2.0), "H9"), CannotBeTold);
}

#[test]
fn h10_small_packets() {
    let with = |small: f64, large: f64| {
        let mut made_up = MadeUp::new();
        made_up.experiment("paper-002/loss", Quantity::Loss, Some(("payload", "bytes")));
        let both = [
            ("map-e-isthmus-user", [small, large]),
            ("native-ipv4", [0.0, 0.0]),
        ];
        for (subject, [small, large]) in both {
            let line = [(100.0, small), (1400.0, large)];
            repeated(&mut made_up, "paper-002/loss", subject, "udp", &line);
        }
        made_up
    };
    assert_eq!(verdict(&with(0.84, 0.08), "H10"), Holds);
    assert_eq!(verdict(&with(0.9, 0.6), "H10"), DoesNotHold);
    let judgement = judge(&with(0.0, 0.0), "H10");
    assert_eq!(judgement.verdict, NotAsked);
    assert!(
        judgement.why.contains("Nothing here loses"),
        "{}",
        judgement.why
    );
    assert_eq!(verdict(&with(0.5, 0.0), "H10"), Holds);
}

/// A fast edge loses nothing, and a slow one what the paper's did.
#[test]
fn h10_is_asked_at_the_slow_edge_if_that_was_measured() {
    let mut made_up = MadeUp::new();
    let edges = [("loss", [0.0, 0.0]), ("slow-edge-loss", [0.84, 0.08])];
    for (edge, [small, large]) in edges {
        let name = format!("paper-002/{edge}");
        made_up.experiment(&name, Quantity::Loss, Some(("payload", "bytes")));
        let line = [(100.0, small), (1400.0, large)];
        repeated(&mut made_up, &name, "map-e-isthmus-xdp", "udp", &line);
    }
    assert_eq!(verdict(&made_up, "H10"), Holds);
}

#[test]
fn h11_the_distance_to_the_bound() {
    let with = |gaps: [[f64; 2]; 3]| {
        let mut made_up = MadeUp::new();
        for transport in ["udp", "tcp"] {
            for (rate, [small, large]) in ["10M", "100M", "1000M"].into_iter().zip(gaps) {
                let name = format!("paper-003/throughput-{transport}-{rate}");
                made_up.experiment(&name, Quantity::Throughput, Some(("payload", "bytes")));
                for factor in REPETITIONS {
                    let point = |at: f64, gap: f64| {
                        Point::new("forward", at, 1.0 - gap * factor).with_bound(1.0)
                    };
                    let points = vec![point(50.0, small), point(10_000.0, large)];
                    made_up.measured(&name, "native-ipv4", points);
                }
            }
        }
        made_up
    };
    assert_eq!(
        verdict(&with([[0.02, 0.01], [0.1, 0.02], [0.9, 0.3]]), "H11"),
        Holds
    );
    assert_eq!(
        verdict(&with([[0.01, 0.02], [0.1, 0.02], [0.9, 0.3]]), "H11"),
        HoldsInPart
    );
    assert_eq!(
        verdict(&with([[0.3, 0.9], [0.02, 0.1], [0.01, 0.02]]), "H11"),
        DoesNotHold
    );
}

#[test]
fn h13_tayga() {
    let with = |above: f64| {
        let mut made_up = MadeUp::new();
        made_up.experiment(
            "paper-000/delay-udp-100M",
            Quantity::OneWayDelay,
            Some(("payload", "bytes")),
        );
        let points = [
            (500.0, 1.1),
            (1750.0, 1.1),
            (2000.0, above),
            (3000.0, above),
        ];
        for wobble in REPETITIONS {
            let points = points
                .map(|(at, factor)| Point::new("mean", at, at * factor * wobble).with_bound(at));
            made_up.measured("paper-000/delay-udp-100M", "nat64-tayga", points.to_vec());
        }
        made_up
    };
    assert_eq!(verdict(&with(2.0), "H13"), Holds);
    assert_eq!(verdict(&with(1.1), "H13"), DoesNotHold);
}

#[test]
fn h14_large_packets() {
    let with = |large: f64| {
        let mut made_up = MadeUp::new();
        made_up.experiment(
            "paper-004/size",
            Quantity::RoundTrip,
            Some(("payload", "bytes")),
        );
        let lines = [
            ("native-ipv6", [(64.0, 1.0), (1400.0, 2.0)]),
            ("nat64-isthmus-xdp", [(64.0, 1.1), (1400.0, large)]),
        ];
        for (subject, line) in lines {
            repeated(&mut made_up, "paper-004/size", subject, "forward", &line);
        }
        made_up
    };
    assert_eq!(verdict(&with(4.4), "H14"), Holds);
    assert_eq!(verdict(&with(2.2), "H14"), DoesNotHold);
}
