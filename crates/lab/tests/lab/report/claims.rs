//! The claims on runs that decide them.

use isthmus_lab::{
    claims::{CLAIMS, Judgement, Verdict},
    experiment::experiments,
    results::{Point, Quantity},
};

use super::made_up::MadeUp;

use Verdict::{CannotBeTold, DoesNotHoldHere, HoldsHere};

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

pub(crate) fn add_values(
    made_up: &mut MadeUp,
    experiment: &str,
    quantity: Quantity,
    series: &str,
    values: &[(&str, f64)],
) {
    made_up.experiment(experiment, quantity, None);
    for (subject, value) in values {
        made_up.line(experiment, subject, series, &[(0.0, *value)]);
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
        made_up.line(experiment, subject, series, &line);
    }
}

#[test]
fn an_empty_run_judges_no_claim() {
    let made_up = MadeUp::new();
    for claim in &CLAIMS {
        let judgement = claim.judge(&made_up.summary());
        assert_eq!(judgement.verdict, CannotBeTold, "{}", claim.id);
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
    let right = with(&[
        ("native-ipv4", 1.0),
        ("native-ipv6", 2.0),
        ("nat64-isthmus-xdp", 3.0),
        ("http-proxy-apache", 4.0),
    ]);
    assert_eq!(verdict(&right, "H1"), HoldsHere);
    let wrong = with(&[
        ("native-ipv4", 1.0),
        ("native-ipv6", 3.0),
        ("nat64-isthmus-xdp", 2.0),
        ("http-proxy-apache", 4.0),
    ]);
    let judgement = judge(&wrong, "H1");
    assert_eq!(judgement.verdict, DoesNotHoldHere);
    assert!(
        judgement.why.contains("native-ipv6 < nat64-isthmus-xdp"),
        "{}",
        judgement.why
    );
    let no_proxy = with(&[
        ("native-ipv4", 1.0),
        ("native-ipv6", 2.0),
        ("nat64-isthmus-xdp", 3.0),
    ]);
    let judgement = judge(&no_proxy, "H1");
    assert_eq!(judgement.verdict, CannotBeTold);
    assert_eq!(judgement.missing, ["http proxy in paper-004/round-trip"]);
    // The measured values are enough to refute it, whatever the proxy would do.
    let wrong_without_proxy = with(&[("native-ipv4", 2.0), ("native-ipv6", 1.0)]);
    assert_eq!(verdict(&wrong_without_proxy, "H1"), DoesNotHoldHere);
    // The wrong series does not count.
    let other = values(
        "paper-004/round-trip",
        Quantity::RoundTrip,
        "small",
        &[("native-ipv4", 1.0)],
    );
    assert_eq!(verdict(&other, "H1"), CannotBeTold);
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
    assert_eq!(judgement.verdict, DoesNotHoldHere);
    assert!(
        judgement
            .why
            .starts_with("The order depends on the implementation"),
        "{}",
        judgement.why
    );
    let beside =
        |figure: &&String| figure.contains("but") && figure.contains("native-ipv6 < nat64-tayga");
    assert_eq!(
        judgement.figures.iter().filter(beside).count(),
        1,
        "{:?}",
        judgement.figures
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
    assert_eq!(verdict(&delays([1.0, 2.0, 3.0, 4.0, 5.0]), "H2"), HoldsHere);
    assert_eq!(
        verdict(&delays([1.0, 2.0, 3.0, 4.0, 4.0]), "H2"),
        HoldsHere,
        "6to4 may be like ISATAP"
    );
    assert_eq!(
        verdict(&delays([1.0, 3.0, 2.0, 4.0, 5.0]), "H2"),
        DoesNotHoldHere
    );
    assert_eq!(
        verdict(&delays([1.0, 2.0, 3.0, 5.0, 4.0]), "H2"),
        DoesNotHoldHere
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
        if let isthmus_lab::results::Outcome::Measured(points) = &mut trial.outcome
            && experiment.contains("udp")
        {
            // The order is reversed above a packet's size.
            for point in points.iter_mut().filter(|point| point.at > 1432.0) {
                point.value = 1.0 / point.value;
            }
        }
    }
    assert_eq!(verdict(&made_up, "H2"), HoldsHere);
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
        HoldsHere
    );
    assert_eq!(
        verdict(&with([50.0, 91.0, 95.0, 97.0, 94.0, 94.0]), "H3"),
        DoesNotHoldHere
    );
    assert_eq!(
        verdict(&with([90.0, 91.0, 97.0, 50.0, 94.0, 94.0]), "H3"),
        DoesNotHoldHere
    );
    let mut no_jool = with([90.0, 91.0, 95.0, 97.0, 94.0, 94.0]);
    no_jool
        .trials
        .retain(|trial| trial.planned.subject != "nat64-jool");
    assert_eq!(verdict(&no_jool, "H3"), CannotBeTold);
}

#[test]
fn h4_ten_times_the_rate() {
    assert_eq!(verdict(&delays([1.0, 2.0, 3.0, 4.0, 5.0]), "H4"), HoldsHere);
    let mut slow = delays([1.0, 2.0, 3.0, 4.0, 5.0]);
    for trial in &mut slow.trials {
        if let isthmus_lab::results::Outcome::Measured(points) = &mut trial.outcome {
            // The time of a node is the same at both rates.
            points.iter_mut().for_each(|point| point.value += 5000.0);
        }
    }
    assert_eq!(verdict(&slow, "H4"), DoesNotHoldHere);
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
    assert_eq!(verdict(&with([2.0, 1.0], [1.0, 2.0]), "H8"), HoldsHere);
    assert_eq!(
        verdict(&with([1.0, 2.0], [1.0, 2.0]), "H8"),
        DoesNotHoldHere
    );
    assert_eq!(
        verdict(&with([2.0, 1.0], [2.0, 1.0]), "H8"),
        DoesNotHoldHere
    );
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
    assert_eq!(verdict(&with(3.0), "H9"), HoldsHere);
    assert_eq!(verdict(&with(1.5), "H9"), DoesNotHoldHere);
}

#[test]
fn h10_small_packets() {
    let with = |small: f64, large: f64| {
        let mut made_up = MadeUp::new();
        made_up.experiment("paper-002/loss", Quantity::Loss, Some(("payload", "bytes")));
        made_up.line(
            "paper-002/loss",
            "map-e-isthmus-user",
            "udp",
            &[(100.0, small), (1400.0, large)],
        );
        made_up.line(
            "paper-002/loss",
            "native-ipv4",
            "udp",
            &[(100.0, 0.0), (1400.0, 0.0)],
        );
        made_up
    };
    assert_eq!(verdict(&with(0.84, 0.08), "H10"), HoldsHere);
    assert_eq!(verdict(&with(0.9, 0.6), "H10"), DoesNotHoldHere);
    let judgement = judge(&with(0.0, 0.0), "H10");
    assert_eq!(judgement.verdict, DoesNotHoldHere);
    assert!(
        judgement.why.contains("nothing here loses"),
        "{}",
        judgement.why
    );
}

#[test]
fn h11_the_distance_to_the_bound() {
    let with = |gaps: [[f64; 2]; 3]| {
        let mut made_up = MadeUp::new();
        for transport in ["udp", "tcp"] {
            for (rate, [small, large]) in ["10M", "100M", "1000M"].into_iter().zip(gaps) {
                let name = format!("paper-003/throughput-{transport}-{rate}");
                made_up.experiment(&name, Quantity::Throughput, Some(("payload", "bytes")));
                let point =
                    |at: f64, gap: f64| Point::new("forward", at, 1.0 - gap).with_bound(1.0);
                made_up.measured(
                    &name,
                    "native-ipv4",
                    vec![point(50.0, small), point(10_000.0, large)],
                );
            }
        }
        made_up
    };
    assert_eq!(
        verdict(&with([[0.02, 0.01], [0.1, 0.02], [0.9, 0.3]]), "H11"),
        HoldsHere
    );
    assert_eq!(
        verdict(&with([[0.01, 0.02], [0.1, 0.02], [0.9, 0.3]]), "H11"),
        DoesNotHoldHere
    );
    assert_eq!(
        verdict(&with([[0.9, 0.3], [0.1, 0.02], [0.02, 0.01]]), "H11"),
        DoesNotHoldHere
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
        let points = points.map(|(at, factor)| Point::new("mean", at, at * factor).with_bound(at));
        made_up.measured("paper-000/delay-udp-100M", "nat64-tayga", points.to_vec());
        made_up
    };
    assert_eq!(verdict(&with(2.0), "H13"), HoldsHere);
    assert_eq!(verdict(&with(1.1), "H13"), DoesNotHoldHere);
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
        made_up.line(
            "paper-004/size",
            "native-ipv6",
            "both",
            &[(64.0, 1.0), (1400.0, 2.0)],
        );
        made_up.line(
            "paper-004/size",
            "nat64-isthmus-xdp",
            "both",
            &[(64.0, 1.1), (1400.0, large)],
        );
        made_up
    };
    assert_eq!(verdict(&with(4.4), "H14"), HoldsHere);
    assert_eq!(verdict(&with(2.2), "H14"), DoesNotHoldHere);
}
