//! Searches with a result that follows from the device by arithmetic.

use std::time::Duration;

use isthmus_lab::traffic::tester::{
    Delay, Void,
    search::{
        Limit, Range,
        burst::{self, BackToBack},
        connections::{CapacitySearch, Completeness, RateSearch, tear_down, validation_rate},
        delay::{self, Delays},
        loss,
        mlr::{self, Goal},
        recovery,
        throughput::{Search, Throughput},
    },
};

use super::devices::{Device, late_sender, result};

const SECOND: Duration = Duration::from_secs(1);
/// 64-octet frames of Gigabit Ethernet: 10^9 / (8 * (64 + 20)) per second.
const MEDIUM: f64 = 1e9 / 672.0;

fn search() -> Search {
    Search {
        range: Range {
            least: 1000.0,
            most: MEDIUM,
        },
        width: 0.001,
        short: SECOND,
        full: SECOND * 60,
    }
}

fn near(value: f64, below: f64, width: f64) -> bool {
    value <= below && value >= below * (1.0 - width)
}

#[test]
fn throughput_is_the_capacity() {
    let device = Device::of(123_456.0);
    let found = search().run(|offer| device.trial(offer)).unwrap();
    assert!(near(found.rate.unwrap(), 123_456.0, 0.001), "{found:?}");
    assert_eq!(found.limit, Limit::Loss);
}

#[test]
fn throughput_ends_with_the_range() {
    let fast = Device::of(2.0 * MEDIUM);
    let found = search().run(|offer| fast.trial(offer)).unwrap();
    assert_eq!((found.rate, found.limit), (Some(MEDIUM), Limit::Most));
    let slow = Device::of(500.0);
    let found = search().run(|offer| slow.trial(offer)).unwrap();
    assert_eq!((found.rate, found.limit), (None, Limit::Least));
}

/// A token bucket passes more in a short trial: rate + depth / duration.
#[test]
fn a_full_trial_is_not_fooled_by_a_token_bucket() {
    let bucket = Device {
        capacity: 100_000.0,
        buffer: 30_000.0,
    };
    let found = search().run(|offer| bucket.trial(offer)).unwrap();
    assert!(near(found.rate.unwrap(), 100_500.0, 0.001), "{found:?}");
    let short = Search {
        full: SECOND,
        ..search()
    };
    let fooled = short.run(|offer| bucket.trial(offer)).unwrap();
    assert!(near(fooled.rate.unwrap(), 130_000.0, 0.001), "{fooled:?}");
}

#[test]
fn a_late_sender_is_the_limit_and_not_a_loss() {
    let Throughput {
        rate,
        limit,
        points,
    } = search().run(|offer| late_sender(400_000.0, offer)).unwrap();
    assert!(near(rate.unwrap(), 400_000.0, 0.001));
    assert_eq!(limit, Limit::Sender);
    // Each void trial was tried three times.
    assert_eq!(
        points.iter().filter(|point| point.void.is_some()).count() % 3,
        0
    );

    let goals = [Goal::ndr().shortened(10)];
    let (found, _) = mlr::search(search().range, &goals, |offer| late_sender(4e5, offer)).unwrap();
    assert!(near(found[0].rate.unwrap(), 400_000.0, 0.005), "{found:?}");
    assert_eq!(found[0].limit, Limit::Sender);
}

/// Nothing is known of a device to which not even the lowest rate could be offered.
#[test]
fn a_sender_that_is_always_late_finds_no_rate_and_no_fault() {
    let always = |offer| late_sender(0.0, offer);
    let found = search().run(always).unwrap();
    assert_eq!((found.rate, found.limit), (None, Limit::Sender));
    for goal in [Goal::ndr().shortened(10), Goal::rfc2544()] {
        let (found, _) = mlr::search(search().range, &[goal], always).unwrap();
        assert_eq!((found[0].rate, found[0].limit), (None, Limit::Sender));
        let slow = Device::of(500.0);
        let (found, _) = mlr::search(search().range, &[goal], |offer| slow.trial(offer)).unwrap();
        assert_eq!((found[0].rate, found[0].limit), (None, Limit::Least));
    }
}

#[test]
fn ndr_is_the_capacity_and_pdr_a_little_more() {
    let device = Device::of(200_000.0);
    let goals = [Goal::ndr(), Goal::pdr(), Goal::rfc2544()];
    let (found, points) = mlr::search(search().range, &goals, |offer| device.trial(offer)).unwrap();
    assert!(near(found[0].rate.unwrap(), 200_000.0, 0.005), "{found:?}");
    // (rate - capacity) / rate = 0.005
    assert!(
        near(found[1].rate.unwrap(), 200_000.0 / 0.995, 0.005),
        "{found:?}"
    );
    assert!(near(found[2].rate.unwrap(), 200_000.0, 0.005), "{found:?}");
    for found in &found {
        let (rate, too_much) = (found.rate.unwrap(), found.too_much.unwrap());
        assert!(near(rate, too_much, 0.005), "{found:?}");
        let forwarded = found.conditional_throughput.unwrap();
        assert!((forwarded - rate.min(200_000.0)).abs() <= 1.0, "{found:?}");
    }
    assert!(points.len() < 300, "{}", points.len());
}

#[test]
fn the_loss_curve_ends_after_two_trials_without_loss() {
    let device = Device::of(0.45 * MEDIUM);
    let points = loss::curve(MEDIUM, &loss::TENTHS, SECOND * 10, |offer| {
        device.trial(offer)
    })
    .unwrap();
    let shares: Vec<f64> = points.iter().map(|point| point.loss_ratio).collect();
    assert_eq!(shares.len(), 8);
    for (number, share) in shares.iter().enumerate() {
        let offered = 1.0 - number as f64 / 10.0;
        assert!(
            (share - (1.0 - 0.45 / offered).max(0.0)).abs() < 1e-6,
            "{offered}: {share}"
        );
    }
    let fast = Device::of(MEDIUM);
    assert_eq!(
        loss::curve(MEDIUM, &loss::TENTHS, SECOND, |offer| fast.trial(offer))
            .unwrap()
            .len(),
        2
    );
}

fn back_to_back(device: Device) -> BackToBack {
    let search = burst::Search {
        most: (30.0 * MEDIUM) as u64,
        step: 1,
        losses: 2,
        repeats: 3,
    };
    search
        .run(|frames| device.burst(frames, MEDIUM))
        .unwrap()
        .unwrap()
}

#[test]
fn bursts_show_the_buffer() {
    let capacity = 0.75 * MEDIUM;
    let device = Device {
        capacity,
        buffer: 5000.0,
    };
    let found = back_to_back(device);
    // A quarter of the burst is held.
    assert_eq!(found.bursts, [20_000; 3]);
    let buffer = found.buffer(capacity, MEDIUM);
    assert!((buffer.implied - 20_000.0 / MEDIUM).abs() < 1e-9);
    assert!((buffer.frames - 5000.0).abs() < 1e-6);
}

#[test]
fn a_device_as_fast_as_the_medium_takes_the_longest_burst() {
    let found = back_to_back(Device::of(MEDIUM));
    assert_eq!(found.bursts, [found.most; 3]);
}

#[test]
fn recovery_counts_from_the_reduction() {
    let [overload, reduced] = recovery::legs(100_000.0, MEDIUM, SECOND * 60);
    assert!((overload.rate - 110_000.0).abs() < 1e-6);
    assert!((reduced.rate - 55_000.0).abs() < 1e-6);
    assert_eq!((overload.frames, reduced.frames), (6_600_000, 3_300_000));
    assert_eq!(recovery::legs(MEDIUM, MEDIUM, SECOND)[0].rate, MEDIUM);
    assert_eq!(
        recovery::time(5_000, Some(7_500)),
        Duration::from_nanos(2500)
    );
    assert_eq!(recovery::time(5_000, Some(4_000)), Duration::ZERO);
    assert_eq!(recovery::time(5_000, None), Duration::ZERO);
}

/// The delays of the trials are known: the number of the trial in microseconds, and half a millisecond more at worst.
#[test]
fn delays_are_summed_up_over_repeats() {
    let mut number = 0;
    let trial = || {
        number += 1;
        let mut result = result(1000.0, 1.0, 1000, 1000);
        let median = f64::from(number) * 1e3;
        result.streams[0].delay = Some(Delay {
            least: median - 500.0,
            mean: median,
            p1: median,
            median,
            p99: median,
            p999: median + 5e5,
            most: 1e6,
            jitter: 10.0,
            steps: vec![],
        });
        // Every fourth trial is void.
        if number % 4 == 0 {
            result.void = Some(Void::SentSlowly {
                rate: 1.0,
                asked: 2.0,
            });
        }
        Ok(result)
    };
    let delays = delay::repeat(6, trial).unwrap();
    // 1, 2, 3, 5, 6 and 7 us.
    let [
        Delays {
            typical,
            worst_case,
            pdv,
            ipdv: None,
            jitter,
        },
    ] = &delays[..]
    else {
        panic!("{delays:?}");
    };
    assert_eq!((typical.count, typical.median), (6, 4000.0));
    assert_eq!((typical.p1, typical.p99), (1000.0, 7000.0));
    assert_eq!((worst_case.median, pdv.median), (504_000.0, 500_500.0));
    assert_eq!(jitter.median, 10.0);
}

#[test]
fn connection_rate_is_found_within_its_error() {
    let search = RateSearch {
        most: 4e6,
        error: 1000.0,
    };
    let establish = |limit: f64| {
        move |rate| {
            Ok(if rate <= limit {
                Completeness::All
            } else {
                Completeness::Some
            })
        }
    };
    let found = search.run(establish(777_777.0)).unwrap();
    assert!((776_777.0..=777_777.0).contains(&found));
    assert_eq!(search.run(establish(5e6)).unwrap(), 4e6);
    assert_eq!(search.run(establish(-1.0)).unwrap(), 0.0);
    assert_eq!(validation_rate(777_000.0, 0.5), 388_500.0);
}

/// Connections are established at a tenth of the rate once the table is full.
#[test]
fn capacity_is_that_of_the_table() {
    let search = CapacitySearch {
        initial: 1000,
        ..CapacitySearch::default()
    };
    for size in [1000, 1001, 4096, 65_537, 3_999_999] {
        let mut asked = Vec::new();
        let rate = |connections: u64, most: Option<f64>| {
            asked.push(connections);
            let rate: f64 = if connections <= size {
                500_000.0
            } else {
                50_000.0
            };
            Ok(most.map_or(rate, |most| rate.min(most)))
        };
        let found = search.run(rate).unwrap();
        assert_eq!((found.connections, found.is_at_the_end), (size, false));
        assert_eq!(found.rate, 500_000.0);
        // The number doubles: 1000, 2000, 4000, ... until it is too large.
        let doubled = asked
            .iter()
            .zip(&asked[1..])
            .take_while(|(one, two)| **two == 2 * **one);
        assert_eq!(
            doubled.count() as u32,
            (size as f64 / 1000.0).log2().floor() as u32 + 1
        );
    }
    let small = CapacitySearch {
        initial: 1000,
        most: 5000,
        ..CapacitySearch::default()
    };
    let found = small.run(|_, _| Ok(1.0)).unwrap();
    assert_eq!((found.connections, found.is_at_the_end), (5000, true));
}

#[test]
fn tear_down_is_connections_by_time() {
    let summary = tear_down(&[(1_000_000, 0.5), (1_000_000, 0.25), (1_000_000, 1.0)]).unwrap();
    assert_eq!(summary.median, 2_000_000.0);
    assert_eq!(tear_down(&[]), None);
}
