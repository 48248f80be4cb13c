//! The searches on paths of which is known what they lose.

use std::time::Duration;

use isthmus_lab::{
    Result,
    network::device::Device,
    subjects::peers::{Fault, Faulty},
    traffic::{
        redirect::Redirect,
        tester::{
            Extent, SingleDevice, Streams, Trial,
            search::{Limit, Offer, Range, loss, throughput::Search},
        },
    },
};

use super::{TIMEOUT, alone, build, ipv4};

/// Frames per second, of which a trial of 50 ms has 1000.
pub(super) const LEAST: f64 = 20_000.0;
pub(super) const SHORT: Duration = Duration::from_millis(50);

fn offered(
    path: &mut SingleDevice,
    offer: Offer,
) -> Result<isthmus_lab::traffic::tester::TrialResult> {
    path.run(&Trial {
        rate: offer.rate,
        extent: Extent::Time(offer.duration),
        timeout: TIMEOUT,
    })
}

fn path(subject: &dyn Device) -> Result<SingleDevice> {
    build(subject, Streams::Rightward(ipv4(100, 64)))
}

/// Up to four times the least, since whatever the redirect gets it takes.
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
