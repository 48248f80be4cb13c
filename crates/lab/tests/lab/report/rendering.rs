//! The files of the report, for any run: their content, and their reproducibility.

use std::{collections::BTreeMap, fs, path::Path};

use isthmus_lab::{
    figures::results::{Axis, ExperimentInfo, Outcome, Point, Quantity, Scale},
    report,
};
use proptest::prelude::*;

use super::{laboratory::laboratory, made_up::MadeUp, markup};

/// Returns all files below a directory, with their bytes.
fn files(place: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            for (inner, bytes) in files(&path) {
                found.insert(format!("{name}/{inner}"), bytes);
            }
        } else {
            found.insert(name, fs::read(path).unwrap());
        }
    }
    found
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let made_up = laboratory();
    let run = tempfile::tempdir().unwrap();
    made_up.write(run.path());
    let render = || {
        let place = tempfile::tempdir().unwrap();
        let directory = isthmus_lab::figures::results::Directory::open(run.path()).unwrap();
        let summary =
            isthmus_lab::report::summary::Summary::new(directory.run(), directory.trials());
        report::write(&summary, place.path()).unwrap();
        files(place.path())
    };
    let (first, second) = (render(), render());
    assert!(first.len() > 20);
    assert!(first == second);
}

#[test]
fn each_experiment_has_its_values_and_its_picture() {
    let made_up = laboratory();
    let place = tempfile::tempdir().unwrap();
    let written = report::write(&made_up.summary(), place.path()).unwrap();
    let files = files(place.path());
    assert_eq!(written.tables, made_up.run.experiments.len());
    for experiment in &made_up.run.experiments {
        let csv =
            String::from_utf8(files[&format!("csv/{}.csv", experiment.name)].clone()).unwrap();
        let columns = csv.lines().next().unwrap().split(',').count();
        assert_eq!(columns, 20);
        for line in csv.lines() {
            assert_eq!(line.split(',').count(), columns, "{line}");
        }
        match written.pictures {
            // https://www.w3.org/TR/png-3/#3PNGsignature
            Ok(_) => assert!(
                files[&format!("png/{}.png", experiment.name)].starts_with(b"\x89PNG\r\n\x1a\n")
            ),
            Err(why) => println!("skipped: no pictures: {why}"),
        }
    }
    let csv = String::from_utf8(files["csv/paper-002/overhead.csv"].clone()).unwrap();
    let line = csv
        .lines()
        .find(|line| line.contains("ds-lite-isthmus-xdp"))
        .unwrap();
    assert_eq!(
        line,
        "paper-002/overhead,ds-lite-isthmus-xdp,ds-lite,Isthmus,xdp,both,,,40,bytes,1,1,,,,,,no,,"
    );
}

#[test]
fn the_page_has_its_parts_in_order() {
    let made_up = laboratory();
    let page = report::page(&made_up.summary());
    markup::check(&page);
    let parts = [
        "comparison",
        "papers",
        "standards",
        "claims",
        "coverage",
        "missing",
        "environment",
        "commands",
    ];
    let places: Vec<usize> = parts
        .iter()
        .map(|part| page.find(&format!("<section id=\"{part}\"")).unwrap())
        .collect();
    assert!(places.is_sorted());
    for text in [
        "the kernel module jool is not installed",
        "the tester sent 3 ms late",
        "squid is not installed",
        "an imagined processor",
        "isthmus lab run paper-004/round-trip",
        "631 µs",
        "H14",
    ] {
        assert!(page.contains(text), "{text}");
    }
    for experiment in &made_up.run.experiments {
        assert!(page.contains(&format!("csv/{}.csv", experiment.name)));
    }
}

#[test]
fn values_above_the_bound_are_marked() {
    let page = |value: f64| {
        let mut made_up = MadeUp::new();
        made_up.experiment("one", Quantity::Throughput, None);
        let point = Point::new("forward", 0.0, value).with_bound(10.0);
        made_up.measured("one", "native-ipv4", vec![point]);
        report::page(&made_up.summary())
    };
    assert!(page(11.0).contains("better than their bound"));
    assert!(!page(9.9).contains("better than their bound"));
}

#[test]
fn values_that_the_tester_limits_are_marked() {
    let page = |ceiling: f64| {
        let mut made_up = MadeUp::new();
        made_up.experiment("one", Quantity::PacketRate, None);
        let point = Point::new("4to6", 0.0, 2e6).with_ceiling(ceiling);
        made_up.measured("one", "native-ipv4", vec![point]);
        report::page(&made_up.summary())
    };
    // 1/2e6 - 1/2.5e6 is 100 ns.
    assert!(page(2.5e6).contains("100 ns added"));
    assert!(!page(5e6).contains("the tester by itself"));
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let page = report::page(&laboratory().summary());
    for address in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(address), "{address}");
    }
}

#[test]
fn names_with_marks_of_html_are_text() {
    let evil = "<script>alert(1)</script>\"'&amp;</style><!--";
    let mut made_up = MadeUp::new();
    made_up.experiment(evil, Quantity::Loss, Some((evil, evil)));
    made_up.line(evil, evil, evil, &[(1.0, 0.5), (2.0, 0.7)]);
    made_up.experiment("flat", Quantity::Loss, None);
    made_up.line("flat", evil, evil, &[(0.0, 0.5)]);
    made_up.trial("flat", evil, Outcome::NotRun(evil.into()));
    made_up.run.environment.cpu = evil.into();
    made_up.run.command = evil.into();
    made_up.run.subjects[0].missing = Some(evil.into());
    let page = report::page(&made_up.summary());
    markup::check(&page);
    assert!(!page.contains("<script>alert"));
    assert_eq!(page.matches("<script>").count(), 1);
    let place = tempfile::tempdir().unwrap();
    report::write(&made_up.summary(), place.path()).unwrap();
    assert!(files(place.path()).keys().all(|name| !name.contains('<')));
}

#[test]
fn names_of_files_cannot_lead_elsewhere() {
    let mut made_up = MadeUp::new();
    for name in ["../../outside", "/etc/outside", "a", "a", "", "."] {
        made_up.experiment(name, Quantity::Loss, None);
        made_up.line(name, "native-ipv4", "udp", &[(0.0, 0.5)]);
    }
    let place = tempfile::tempdir().unwrap();
    let inside = place.path().join("one/two/three");
    report::write(&made_up.summary(), &inside).unwrap();
    assert!(
        files(place.path())
            .keys()
            .all(|name| name.starts_with("one/two/three/"))
    );
}

/// Values of all sizes, but small enough for the mean of two to be finite.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        -1e300..1e300,
        1e-9..1e9,
        Just(1e-300),
        Just(-0.0),
        any::<f64>().prop_filter("finite", |value| value.abs() <= 1e300),
    ]
}

fn point() -> impl Strategy<Value = Point> {
    let beside = (
        proptest::option::of([value(), value()]),
        proptest::option::of(value()),
        proptest::option::of(value()),
        proptest::option::of(value()),
        proptest::option::of(".{0,4}"),
    );
    (
        prop_oneof![Just("mean".to_owned()), ".{0,4}"],
        value(),
        value(),
        any::<u64>(),
        beside,
    )
        .prop_map(
            |(series, at, value, samples, (spread, bound, ceiling, load, reason))| Point {
                series,
                at,
                value,
                samples,
                interval: spread,
                spread,
                bound,
                ceiling,
                load,
                reason,
                ..Point::new("", at, value)
            },
        )
}

const QUANTITIES: [Quantity; 16] = [
    Quantity::RoundTrip,
    Quantity::OneWayDelay,
    Quantity::Throughput,
    Quantity::PacketRate,
    Quantity::Loss,
    Quantity::Jitter,
    Quantity::DelayVariation,
    Quantity::Cpu,
    Quantity::Cost,
    Quantity::ConnectTime,
    Quantity::FileTime,
    Quantity::ConnectionRate,
    Quantity::Capacity,
    Quantity::QueryRate,
    Quantity::Overhead,
    Quantity::Works,
];

fn experiment() -> impl Strategy<Value = (ExperimentInfo, Vec<(String, Vec<Point>)>)> {
    let names = prop_oneof![
        Just("paper-004/round-trip".to_owned()),
        Just("paper-000/delay-udp-10M".to_owned()),
        Just("paper-002/loss".to_owned()),
        ".{0,8}"
    ];
    let scale = prop_oneof![Just(Scale::Linear), Just(Scale::Logarithmic)];
    let over = proptest::option::of((".{0,4}", ".{0,4}", scale));
    let trials = proptest::collection::vec(
        (
            prop_oneof![Just("native-ipv4".to_owned()), ".{0,5}"],
            proptest::collection::vec(point(), 0..5),
        ),
        0..5,
    );
    (
        names,
        ".{0,10}",
        proptest::sample::select(&QUANTITIES[..]),
        over,
        trials,
    )
        .prop_map(|(name, text, quantity, over, trials)| {
            let experiment = ExperimentInfo {
                name,
                title: text.clone(),
                source: text.clone(),
                quantity,
                over: over.map(|(name, unit, scale)| Axis { name, unit, scale }),
                network: text.clone(),
                method: text.clone(),
                command: text,
            };
            (experiment, trials)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Any run has a report: the page is valid HTML, the pictures are valid XML, and no number is NaN.
    #[test]
    fn any_run_has_a_report(experiments in proptest::collection::vec(experiment(), 0..4)) {
        let mut made_up = MadeUp::new();
        for (experiment, trials) in experiments {
            let name = experiment.name.clone();
            made_up.run.experiments.push(experiment);
            for (subject, points) in trials {
                made_up.measured(&name, &subject, points);
            }
        }
        let summary = made_up.summary();
        let page = report::page(&summary);
        markup::check(&page);
        for answers in &summary.experiments {
            report::csv(answers);
            if let Some(picture) = report::picture(&summary, answers) {
                markup::check_picture(&picture);
            }
        }
    }
}
