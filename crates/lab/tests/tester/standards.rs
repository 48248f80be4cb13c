//! The searches on paths with a known loss.

use std::time::Duration;

use isthmus_lab::{
    Result,
    device::Device,
    peers::{Fault, Faulty, Redirect},
    tester::{
        Extent, Phases, SingleDevice, Streams, Summary, Tolerance, Trial,
        search::{
            Limit, Offer, Range, loss,
            mlr::{self, Goal},
            throughput::Search,
        },
    },
};

use crate::{TIMEOUT, alone, build, ipv4};

/// Frames per second: a trial of 50 ms has 1000.
const LEAST: f64 = 20_000.0;
const SHORT: Duration = Duration::from_millis(50);

fn offered(path: &mut SingleDevice, offer: Offer) -> Result<isthmus_lab::tester::TrialResult> {
    path.run(&Trial {
        rate: offer.rate,
        extent: Extent::Time(offer.duration),
        timeout: TIMEOUT,
    })
}

fn path(device: &dyn Device) -> Result<SingleDevice> {
    build(device, Streams::Rightward(ipv4(100, 64)))
}

/// Searches up to four times the lowest rate, which the redirect forwards for sure.
fn search() -> Search {
    Search {
        range: Range {
            least: LEAST,
            most: 4.0 * LEAST,
        },
        width: 0.1,
        short: SHORT,
        full: SHORT * 2,
    }
}

#[test]
fn one_frame_of_a_thousand_is_a_loss_at_every_load_and_no_throughput() {
    alone(|| {
        let mut path = path(&Faulty(Fault::Drop(1000)))?;
        let shares = [1.0, 0.5, 0.25];
        let points = loss::curve(4.0 * LEAST, &shares, SHORT, |offer| {
            offered(&mut path, offer)
        })?;
        assert_eq!(points.len(), shares.len());
        for point in points {
            // A whole number of thousands of frames was sent.
            assert!((point.loss_ratio - 0.001).abs() < 1e-9, "{point:?}");
        }
        let found = search().run(|offer| offered(&mut path, offer))?;
        assert_eq!((found.rate, found.limit), (None, Limit::Least));
        Ok(())
    });
}

#[test]
fn without_a_loss_the_curve_ends_and_the_range_is_the_limit() {
    alone(|| {
        let mut path = path(&Redirect)?;
        let points = loss::curve(LEAST, &[1.0, 0.5, 0.25], SHORT, |offer| {
            offered(&mut path, offer)
        })?;
        let lost: Vec<f64> = points.iter().map(|point| point.loss_ratio).collect();
        assert_eq!(lost, [0.0, 0.0]);
        let found = search().run(|offer| offered(&mut path, offer))?;
        assert_eq!((found.rate, found.limit), (Some(4.0 * LEAST), Limit::Most));
        Ok(())
    });
}

/// A policer has a known rate that does not depend on the machine's load: five searches find it, and their results
/// are within 3 %.
#[test]
fn the_rate_of_a_policer_is_found_again() {
    const RATE: u32 = 100_000;
    alone(|| {
        // Frames that are late, and then come at once, are too fast for the policer.
        let punctual = Tolerance {
            by: Duration::from_micros(500),
            share: 0.01,
            rate: 0.01,
        };
        let phases = Phases {
            learning: 0,
            ..Phases::shortened(200)
        };
        let policer = Faulty(Fault::Police(RATE));
        let streams = Streams::Rightward(ipv4(100, 64));
        let mut path = SingleDevice::build(&policer, streams, phases, punctual)?;
        let range = Range {
            least: LEAST / 10.0,
            most: 4.0 * f64::from(RATE),
        };
        let goal = Goal {
            width: 0.01,
            full: SHORT,
            initial: SHORT,
            ..Goal::ndr().shortened(40)
        };
        let mut rates = Vec::new();
        // A search that ends because other work had made frames late says nothing about the policer.
        for _ in 0..10 {
            let (found, _) = mlr::search(range, &[goal], |offer| {
                path.run(&Trial {
                    rate: offer.rate,
                    extent: Extent::Time(offer.duration),
                    timeout: SHORT,
                })
            })?;
            match found[0].limit {
                Limit::Sender => {}
                limit => {
                    assert_eq!(limit, Limit::Loss);
                    rates.extend(found[0].rate);
                }
            }
            if rates.len() == 5 {
                break;
            }
        }
        println!("{rates:?}");
        if rates.len() < 5 {
            println!("skipped: other work on the machine made frames late");
            return Ok(());
        }
        for rate in &rates {
            let share = rate / f64::from(RATE);
            assert!((0.97..1.03).contains(&share), "{rates:?}");
        }
        assert!(Summary::spread(&rates).unwrap() < 0.03, "{rates:?}");
        Ok(())
    });
}
