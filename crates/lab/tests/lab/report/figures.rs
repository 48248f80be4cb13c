//! The summary of a run.

use isthmus_lab::{
    figures::results::{Outcome, Point, Quantity},
    report::summary::{Cause, Summary},
};

use super::made_up::MadeUp;

#[test]
fn medians_are_over_the_repetitions() {
    let mut made_up = MadeUp::new();
    made_up.experiment("one", Quantity::RoundTrip, Some(("payload", "bytes")));
    for value in [3.0, 1.0, 8.0] {
        made_up.line(
            "one",
            "native-ipv4",
            "both",
            &[(100.0, value * 10.0), (50.0, value)],
        );
    }
    let summary = made_up.summary();
    let line = summary.experiments[0].line("native-ipv4", "both").unwrap();
    let places: Vec<f64> = line.figures.iter().map(|figure| figure.at).collect();
    assert_eq!(places, [50.0, 100.0]);
    assert_eq!(line.at(50.0).unwrap().values, [3.0, 1.0, 8.0]);
    assert_eq!(line.at(50.0).unwrap().value(), 3.0);
    assert_eq!(line.at(50.0).unwrap().spread, Some([1.0, 8.0]));
    assert_eq!(line.at(75.0), None);
    assert_eq!(summary.measured, 3);
}

#[test]
fn spread_bound_and_ceiling_are_medians_too() {
    let mut made_up = MadeUp::new();
    made_up.experiment("one", Quantity::Throughput, None);
    for number in [1.0, 2.0, 9.0] {
        let point = Point {
            samples: 20,
            spread: Some([number - 0.5, number + 0.5]),
            ..Point::new("forward", 0.0, number)
        };
        made_up.measured(
            "one",
            "native-ipv4",
            vec![
                point
                    .with_bound(4.0 * number)
                    .with_ceiling(3.0 * number)
                    .at_load(number / 10.0, 1000.0),
            ],
        );
    }
    let summary = made_up.summary();
    let figure = &summary.experiments[0].lines[0].figures[0];
    assert_eq!((figure.value(), figure.samples), (2.0, 60));
    assert_eq!(figure.spread, Some([1.5, 2.5]));
    assert_eq!((figure.bound, figure.ceiling), (Some(8.0), Some(6.0)));
    // The least is said, so that no repetition looks better than it was.
    assert_eq!(figure.load, Some(0.1));
    assert_eq!(figure.efficiency(Quantity::Throughput), Some(0.25));
    assert_eq!(figure.efficiency(Quantity::RoundTrip), Some(4.0));
}

#[test]
fn more_than_half_of_the_ceiling_is_the_testers() {
    let limited = |quantity, value: f64, ceiling: f64| {
        let mut made_up = MadeUp::new();
        made_up.experiment("one", quantity, None);
        made_up.measured(
            "one",
            "native-ipv4",
            vec![Point::new("both", 0.0, value).with_ceiling(ceiling)],
        );
        let summary = made_up.summary();
        let figure = &summary.experiments[0].lines[0].figures[0];
        (figure.limited(quantity), figure.added(quantity))
    };
    // 1/1.5e6 - 1/2e6 is 166.7 ns.
    let (is_limited, added) = limited(Quantity::PacketRate, 1.5e6, 2e6);
    assert!(is_limited && (added.unwrap() - 166.667e-9).abs() < 1e-12);
    assert!(!limited(Quantity::PacketRate, 0.9e6, 2e6).0);
    assert_eq!(limited(Quantity::Throughput, 1.5e6, 2e6), (true, None));
    assert!(limited(Quantity::RoundTrip, 1.9, 1.0).0);
    assert!(!limited(Quantity::RoundTrip, 2.1, 1.0).0);
}

#[test]
fn order_is_the_runs_and_not_the_trials() {
    let mut made_up = MadeUp::new();
    made_up.experiment("second", Quantity::Loss, None);
    made_up.experiment("first", Quantity::Loss, None);
    made_up.subject("b");
    made_up.subject("a");
    for (experiment, subject) in [("first", "a"), ("second", "b"), ("second", "a")] {
        made_up.line(experiment, subject, "udp", &[(0.0, 0.5)]);
    }
    let summary = made_up.summary();
    let names: Vec<&str> = summary
        .experiments
        .iter()
        .map(|answers| answers.experiment.name.as_str())
        .collect();
    assert_eq!(names, ["second", "first"]);
    let subjects: Vec<&str> = summary.experiments[0]
        .subjects()
        .iter()
        .map(|subject| subject.name.as_str())
        .collect();
    assert_eq!(subjects, ["b", "a"]);
}

#[test]
fn trials_without_figures_are_listed_with_their_reason() {
    let mut made_up = MadeUp::new();
    made_up.experiment("one", Quantity::Loss, None);
    made_up.trial("one", "a", Outcome::NotRun("no such program".into()));
    made_up.trial("one", "a", Outcome::NotRun("no such program".into()));
    made_up.trial("one", "b", Outcome::Void("sent late".into()));
    made_up.line("one", "b", "udp", &[(0.0, 0.5)]);
    made_up.measured("one", "c", vec![]);
    made_up.line("unknown", "a", "udp", &[(0.0, 0.5)]);
    // The last trial has not been run yet.
    made_up.line("one", "d", "udp", &[(0.0, 0.5)]);
    made_up.trials.pop();
    let summary = made_up.summary();
    let told: Vec<_> = summary
        .troubles
        .iter()
        .map(|one| (one.subject, one.cause, one.trials))
        .collect();
    assert_eq!(
        told,
        [
            ("a", Cause::NotRun("no such program"), 2),
            ("b", Cause::Void("sent late"), 1),
            ("c", Cause::Empty, 1),
            ("d", Cause::Left, 1),
            ("a", Cause::Empty, 1),
        ]
    );
    assert_eq!(summary.measured, 1);
}

#[test]
fn a_written_run_has_the_same_figures() {
    let made_up = super::laboratory::laboratory();
    let place = tempfile::tempdir().unwrap();
    made_up.write(place.path());
    let read = isthmus_lab::figures::results::Directory::open(place.path()).unwrap();
    // Too large to be printed with a message.
    assert!(Summary::new(read.run(), read.trials()) == made_up.summary());
}
