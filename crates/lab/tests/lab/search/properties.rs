//! Properties of the searches for every device: they end, and their results are within the width.

use std::time::Duration;

use isthmus_lab::{
    network::random::Random,
    traffic::tester::search::{
        Range, burst,
        mlr::{self, Goal},
        throughput::Search,
    },
};
use proptest::prelude::*;

use super::devices::{Device, Noisy};

const SECOND: Duration = Duration::from_secs(1);

fn range() -> Range {
    Range {
        least: 1000.0,
        most: 10e6,
    }
}

fn throughput(capacity: f64, width: f64) -> (Option<f64>, usize) {
    let search = Search {
        range: range(),
        width,
        short: SECOND,
        full: SECOND * 10,
    };
    let found = search
        .run(|offer| Device::of(capacity).trial(offer))
        .unwrap();
    (found.rate, found.points.len())
}

proptest! {
    #[test]
    fn throughput_is_within_the_width(capacity in 2000.0..9e6, width in 0.0005..0.2) {
        let (rate, trials) = throughput(capacity, width);
        let rate = rate.unwrap();
        // A device loses whole frames only: less than one in ten seconds is none.
        prop_assert!(rate <= capacity + 1.0);
        prop_assert!(rate >= capacity * (1.0 - width) - 1.0);
        // ln(10,000) / width halves, in proportion, and a few to confirm.
        let halves = (10_000_f64.ln() / width).log2().ceil() as usize;
        prop_assert!(trials <= 2 * halves + 10, "{trials}");
    }

    #[test]
    fn a_faster_device_is_not_found_slower(
        capacity in 2000.0..8e6,
        more in 1.0..1.1,
        width in 0.001..0.1,
    ) {
        let slower = throughput(capacity, width).0.unwrap();
        let faster = throughput(capacity * more, width).0.unwrap();
        prop_assert!(faster >= slower * (1.0 - width));
    }

    #[test]
    fn bounds_of_a_goal_enclose_the_capacity(capacity in 2000.0..9e6, loss in 0.0..0.05) {
        let goal = Goal { loss_ratio: loss, ..Goal::ndr().shortened(10) };
        let device = Device::of(capacity);
        let (found, _) = mlr::search(range(), &[goal], |offer| device.trial(offer)).unwrap();
        let (rate, too_much) = (found[0].rate.unwrap(), found[0].too_much.unwrap());
        // The rate with this loss, and the error of ten whole frames per second.
        let right = capacity / (1.0 - loss);
        prop_assert!(rate <= right + 11.0 && too_much >= right - 11.0);
        prop_assert!(rate >= too_much * (1.0 - goal.width) - 1.0);
    }

    #[test]
    fn noise_moves_a_bound_no_further_than_itself(
        capacity in 10_000.0..5e6,
        spread in 0.0..0.1,
        seed: u64,
    ) {
        let goals = [Goal::ndr(), Goal::pdr()];
        let mut device = Noisy { capacity, spread, random: Random::new(seed) };
        let (found, points) = mlr::search(range(), &goals, |offer| device.trial(offer)).unwrap();
        for found in &found {
            let rate = found.rate.unwrap();
            prop_assert!(rate >= capacity * (1.0 - spread) * (1.0 - 2.0 * found.goal.width) - 2.0);
            prop_assert!(rate <= capacity * (1.0 + spread) / (1.0 - found.goal.loss_ratio) + 2.0);
        }
        prop_assert!(points.len() < 2000, "{}", points.len());
    }

    #[test]
    fn a_burst_is_found_within_its_step(buffer in 1..100_000_u64, step in 1..1000_u64) {
        let search = burst::Search { most: 1_000_000, step, losses: 1, repeats: 1 };
        // Nothing is forwarded meanwhile: the burst is the buffer.
        let device = Device { capacity: 0.0, buffer: buffer as f64 };
        let found = search.run(|frames| device.burst(frames, 1e6)).unwrap().unwrap();
        prop_assert!(found.bursts[0] <= buffer && found.bursts[0] + step > buffer);
    }
}
