//! UDP at a fixed rate, which serves five experiments at once: payload that arrives, loss, jitter, processor time, and
//! the cost of a packet.
//!
//! The load is the tester's, which sends each frame when it is due and knows what it sent. iperf3 is the second opinion
//! where it can send the load, and has the processor time: the tester's sender never sleeps.

use super::{
    super::{profile::Profile, testbed::Testbed},
    busy::{Counting, Used},
    each::apart,
    frames::{
        self,
        steady::{self, Offer, STEADY, Steady},
    },
};
use crate::{
    LabError, Result,
    experiments::validity,
    figures::results::{Gap, Point},
    network::cores::TESTER_CPU,
    traffic::{
        services,
        tools::{self, Direction, Traffic, Transfer, Until},
    },
};

/// The payloads of paper 002, in octets.
pub(crate) const SIZES: [u32; 5] = [100, 250, 500, 1000, 1400];
/// Its offered load, in megabits of payload per second.
const OFFERED: u32 = 100;

/// The results of all sizes.
#[derive(Debug, Default, Clone)]
pub struct Offered {
    sizes: Vec<OfSize>,
    gaps: Vec<Gap>,
}

/// The result of one size of payload.
#[derive(Debug, Clone, Copy)]
struct OfSize {
    octets: u32,
    /// The tester's own result; absent where the client is the end of a tunnel itself.
    steady: Option<Steady>,
    transfer: Transfer,
    /// The processor time of all but sender and receiver.
    used: Used,
}

/// Measures all sizes, once for a testbed.
fn all(testbed: &mut Testbed, profile: Profile) -> Result<Offered> {
    testbed.once(|testbed| {
        let _server = services::start_iperf(testbed.server()?, TESTER_CPU)?;
        let _counting = Counting::begin()?;
        let sizes = profile.thin(&SIZES);
        let (sizes, gaps) = apart(&sizes, |octets| {
            of_size(testbed, profile, octets).map(|one| vec![one])
        })?;
        Ok(Offered { sizes, gaps })
    })
}

/// Returns the datagrams per second of a size of payload.
pub(super) fn load(octets: u32) -> f64 {
    f64::from(OFFERED) * 1e6 / f64::from(8 * octets)
}

fn of_size(testbed: &Testbed, profile: Profile, octets: u32) -> Result<OfSize> {
    let rate = load(octets);
    let steady = if frames::is_known(testbed.subject()) {
        let offer = Offer {
            octets,
            rate,
            duration: profile.length(),
            timeout: None,
        };
        Some(steady::send(testbed, profile, &offer)?)
    } else {
        None
    };
    let traffic = Traffic::Udp {
        megabits: OFFERED,
        payload: octets,
    };
    let blocks = Until::Blocks((rate * profile.length().as_secs_f64()) as u32);
    let gateways = testbed.gateways();
    let (client, address) = (testbed.client()?, testbed.address().to_string());
    // The tester has watched its own load.
    testbed.journal().at(octets).undisturbed(|| {
        let before = Used::now(&gateways)?;
        let transfer = tools::iperf(
            client,
            TESTER_CPU,
            &address,
            traffic,
            Direction::Upload,
            blocks,
        )?;
        Ok(OfSize {
            octets,
            steady,
            transfer,
            used: Used::now(&gateways)? - before,
        })
    })
}

/// Returns a value of the tester and one of iperf3 for each size. iperf3 has none where it could not send the load.
fn points(
    testbed: &mut Testbed,
    profile: Profile,
    steady: impl Fn(&OfSize, &Steady) -> Option<f64>,
    second: impl Fn(&OfSize) -> f64,
) -> Result<Vec<Point>> {
    let Offered { sizes, gaps } = all(testbed, profile)?;
    testbed.leave_out(gaps);
    let mut points = Vec::new();
    for one in &sizes {
        let at = f64::from(one.octets);
        let value = one.steady.as_ref().and_then(|found| steady(one, found));
        let rate = load(one.octets);
        points.extend(value.map(|value| Point::new(STEADY, at, value).offered(rate)));
        if one.shortfall().is_none() {
            // Without the tester, it is not the second opinion but the first.
            let series = if one.steady.is_some() {
                "iperf3"
            } else {
                STEADY
            };
            points.push(Point::new(series, at, second(one)).offered(rate));
        }
    }
    nothing_sent(&sizes, points)
}

/// Returns points if there are any.
fn nothing_sent(sizes: &[OfSize], points: Vec<Point>) -> Result<Vec<Point>> {
    match sizes.iter().find_map(OfSize::shortfall) {
        Some(why) if points.is_empty() => Err(LabError::Tester(why)),
        _ => Ok(points),
    }
}

/// Returns the payload that arrived, in bits per second.
pub(crate) fn throughput(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(
        testbed,
        profile,
        |one, steady| Some(steady.delivered() * f64::from(8 * one.octets)),
        |one| one.transfer.bits_per_second,
    )
}

/// Returns the share that did not arrive.
pub(crate) fn loss(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(
        testbed,
        profile,
        |_, steady| Some(steady.loss()),
        |one| one.transfer.lost_percent / 100.0,
    )
}

/// Returns the jitter (RFC 3550 section 6.4.1), in seconds.
pub(crate) fn jitter(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(
        testbed,
        profile,
        |_, steady| steady.jitter,
        |one| one.transfer.jitter,
    )
}

impl OfSize {
    /// Returns how much less than the load iperf3 sent, if so.
    fn shortfall(&self) -> Option<String> {
        let Transfer {
            datagrams, seconds, ..
        } = self.transfer;
        let sent = datagrams * f64::from(8 * self.octets) / seconds / 1e6;
        let asked = f64::from(OFFERED);
        (sent < validity::OFFERED * asked)
            .then(|| format!("iperf3 could send {sent:.0} Mb/s only in place of {asked:.0}"))
    }

    /// Returns the whole processor time, in seconds of one core.
    fn everybody(&self) -> f64 {
        self.transfer.cpu + self.used.gateways + self.used.kernel
    }

    /// Returns the processor times by name.
    fn times(&self) -> [(&'static str, f64); 4] {
        [
            (STEADY, self.everybody()),
            ("hosts", self.transfer.cpu),
            ("gateways", self.used.gateways),
            ("programs", self.used.programs),
        ]
    }

    /// Returns a point of each time divided by `beside`, without times of zero.
    fn points(&self, beside: f64) -> impl Iterator<Item = Point> {
        let times = self.times().into_iter().filter(|(_, time)| *time > 0.0);
        let at = f64::from(self.octets);
        let rate = load(self.octets);
        times.map(move |(series, time)| Point::new(series, at, time / beside).offered(rate))
    }
}

/// Returns the cores that were busy: all (`udp`), with sender and receiver, the gateways' processes, and the
/// gateways' programs. A size at which the load was not sent has none.
pub(crate) fn cpu(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let Offered { sizes, mut gaps } = all(testbed, profile)?;
    let mut points = Vec::new();
    for one in &sizes {
        match one.shortfall() {
            None => points.extend(one.points(one.transfer.seconds)),
            Some(why) => gaps.push(Gap {
                at: one.octets.into(),
                why,
            }),
        }
    }
    testbed.leave_out(gaps);
    nothing_sent(&sizes, points)
}

/// Returns the same in seconds for each packet that was sent.
pub(crate) fn cost(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let Offered { sizes, gaps } = all(testbed, profile)?;
    testbed.leave_out(gaps);
    Ok(sizes
        .iter()
        .flat_map(|one| one.points(one.transfer.datagrams))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_that_iperf3_could_not_send_is_told() {
        let sent = |datagrams| OfSize {
            octets: 100,
            steady: None,
            transfer: Transfer {
                bits_per_second: 0.0,
                lost_percent: 0.0,
                jitter: 0.0,
                datagrams,
                seconds: 1.0,
                cpu: 1.0,
            },
            used: Used::default(),
        };
        // 125,000 datagrams of 100 octets are 100 Mb in a second.
        assert_eq!(sent(124_900.0).shortfall(), None);
        assert!(sent(75_000.0).shortfall().unwrap().contains("60 Mb/s"));
    }
}
