//! Round trips of `ping`.

use std::time::Duration;

use super::{
    super::{profile::Profile, testbed::Testbed},
    each::each,
};
use crate::{LabError, Result, figures::results::Point, traffic::tools};

/// Octets of an ICMP header.
const ICMP: u32 = 8;
/// The interval between two requests.
const INTERVAL: Duration = Duration::from_millis(2);
/// The requests that do not count: addresses are resolved, and caches are cold.
const FIRST: u32 = 10;

/// Returns the median round trip of packets whose IP payload has this many octets, in seconds.
fn round_trip(testbed: &Testbed, profile: Profile, octets: u32) -> Result<Point> {
    let address = testbed.address().to_string();
    let ping = |count| tools::ping(testbed.client()?, &address, count, INTERVAL, octets - ICMP);
    ping(FIRST)?;
    let seconds: Vec<f64> = ping(profile.exchanges())?
        .into_iter()
        .map(|milliseconds| milliseconds / 1e3)
        .collect();
    Point::of("both", f64::from(octets), &seconds).ok_or(LabError::Output {
        tool: "ping",
        output: "no answers".into(),
    })
}

/// Returns the round trip of packets of 1024 octets, as in paper 001.
pub(crate) fn of_1024(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let journal = testbed.journal();
    journal
        .undisturbed(|| round_trip(testbed, profile, 1024))
        .map(|point| vec![point])
}

/// Returns the round trips of the sizes of paper 002.
pub(crate) fn by_size(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let sizes = profile.thin(&super::udp::SIZES);
    each(testbed, &sizes, |testbed, octets| {
        round_trip(testbed, profile, octets).map(|point| vec![point])
    })
}
