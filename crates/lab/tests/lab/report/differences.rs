//! The comparison of two runs.

use isthmus_lab::{
    figures::results::{Interface, Quantity},
    report::diff::{By, Change, Diff},
};

use super::{laboratory::laboratory, made_up::MadeUp};

/// Returns a run with one point of this many repetitions around a middle, each `step` from the one before.
fn run(quantity: Quantity, middle: f64, step: f64, repetitions: i32) -> MadeUp {
    let mut made_up = MadeUp::new();
    made_up.experiment("one", quantity, None);
    for repetition in 0..repetitions {
        let offset = f64::from(repetition) - f64::from(repetitions - 1) / 2.0;
        made_up.line(
            "one",
            "native-ipv4",
            "both",
            &[(0.0, middle + offset * step)],
        );
    }
    made_up
}

fn change(first: &MadeUp, second: &MadeUp) -> Change {
    let diff = Diff::between(&first.summary(), &second.summary());
    assert_eq!(diff.points.len(), 1);
    diff.points[0].change
}

#[test]
fn equal_runs_have_no_difference() {
    let made_up = laboratory();
    let diff = Diff::between(&made_up.summary(), &made_up.summary());
    assert!(diff.points.len() > 1000);
    assert_eq!(diff.count(Change::Better) + diff.count(Change::Worse), 0);
    assert!(diff.only_first.is_empty() && diff.only_second.is_empty());
    assert!(diff.circumstances.is_empty());
    for point in &diff.points {
        let unchanged = if point.estimate.by == By::Ratio {
            1.0
        } else {
            0.0
        };
        assert!((point.estimate.value - unchanged).abs() < 1e-12, "{point}");
    }
}

#[test]
fn ten_per_cent_are_significant_with_a_small_spread_only() {
    use Quantity::{RoundTrip, Throughput};
    let small = |quantity, middle| run(quantity, middle, 0.2, 8);
    let large = |quantity, middle| run(quantity, middle, 8.0, 8);
    assert_eq!(
        change(&small(RoundTrip, 100.0), &small(RoundTrip, 110.0)),
        Change::Worse
    );
    assert_eq!(
        change(&small(RoundTrip, 110.0), &small(RoundTrip, 100.0)),
        Change::Better
    );
    assert_eq!(
        change(&small(Throughput, 100.0), &small(Throughput, 110.0)),
        Change::Better
    );
    assert_eq!(
        change(&small(Throughput, 110.0), &small(Throughput, 100.0)),
        Change::Worse
    );
    assert_eq!(
        change(&large(RoundTrip, 100.0), &large(RoundTrip, 110.0)),
        Change::NoneShown
    );
    assert_eq!(
        change(&large(Throughput, 110.0), &large(Throughput, 100.0)),
        Change::NoneShown
    );
}

#[test]
fn the_ratio_lies_in_its_interval() {
    let first = run(Quantity::RoundTrip, 100.0, 0.2, 8);
    let second = run(Quantity::RoundTrip, 110.0, 0.2, 8);
    let diff = Diff::between(&first.summary(), &second.summary());
    let estimate = diff.points[0].estimate;
    let [low, high] = estimate.interval.unwrap();
    assert!((estimate.value - 1.1).abs() < 1e-3, "{estimate:?}");
    assert!(low < 1.1 && 1.1 < high && high - low < 0.03, "{estimate:?}");
    assert_eq!(diff.points[0].medians, [100.0, 110.0]);
}

#[test]
fn three_repetitions_are_too_few() {
    let first = run(Quantity::RoundTrip, 100.0, 0.1, 3);
    let second = run(Quantity::RoundTrip, 200.0, 0.1, 3);
    assert_eq!(change(&first, &second), Change::TooFew);
}

#[test]
fn values_of_nothing_are_compared_by_difference() {
    let first = run(Quantity::Loss, 0.0, 0.0, 8);
    let second = run(Quantity::Loss, 0.5, 0.01, 8);
    let diff = Diff::between(&first.summary(), &second.summary());
    assert_eq!(diff.points[0].estimate.by, By::Difference);
    assert_eq!(diff.points[0].change, Change::Worse);
    assert_eq!(change(&first, &first), Change::NoneShown);
}

#[test]
fn points_of_one_run_and_circumstances_are_listed() {
    let first = run(Quantity::RoundTrip, 1.0, 0.0, 5);
    let mut second = first.clone();
    second.experiment("two", Quantity::Loss, None);
    second.line("two", "native-ipv4", "both", &[(0.0, 0.0)]);
    second.run.id = "other".into();
    second.run.environment.kernel = "6.12".into();
    let diff = Diff::between(&first.summary(), &second.summary());
    assert_eq!((diff.only_first.len(), diff.only_second.len()), (0, 1));
    assert_eq!(diff.only_second[0].experiment, "two");
    assert_eq!(diff.circumstances.len(), 1);
    assert_eq!(diff.circumstances[0].what, "kernel");
    let text = diff.to_string();
    assert!(
        text.contains("different kernel: 6.1.0-made-up and 6.12"),
        "{text}"
    );
    assert!(
        text.contains("only in the second run:\n  two native-ipv4 both"),
        "{text}"
    );
    // A point of the same name but of another quantity is not the same.
    let mut other = run(Quantity::Loss, 1.0, 0.0, 5);
    other.run.id = "other".into();
    let diff = Diff::between(&first.summary(), &other.summary());
    assert_eq!(
        (
            diff.points.len(),
            diff.only_first.len(),
            diff.only_second.len()
        ),
        (0, 1, 1)
    );
}

/// A figure of TCP depends on it as on nothing else.
#[test]
fn another_congestion_control_is_told() {
    let with = |algorithm: Option<&str>| {
        let mut made_up = run(Quantity::Throughput, 1.0, 0.0, 5);
        let interface = Interface {
            node: "host6".into(),
            name: "eth0".into(),
            mtu: 1500,
            offloads: vec![],
            congestion_control: algorithm.map(str::to_owned),
        };
        made_up.run.networks = vec![vec![interface.clone()], vec![interface]];
        made_up
    };
    let told = |first: &MadeUp, second: &MadeUp| {
        let circumstances = Diff::between(&first.summary(), &second.summary()).circumstances;
        let pairs = circumstances.into_iter();
        pairs
            .map(|one| [one.what.to_owned(), one.first, one.second])
            .collect::<Vec<_>>()
    };
    let [old, cubic, reno] = [None, Some("cubic"), Some("reno")].map(with);
    assert!(told(&cubic, &cubic).is_empty());
    let expected = |first: &str, second: &str| {
        vec![["congestion control".to_owned(), first.into(), second.into()]]
    };
    assert_eq!(told(&cubic, &reno), expected("cubic", "reno"));
    assert_eq!(told(&old, &reno), expected("unknown", "reno"));
}
