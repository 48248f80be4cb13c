//! UDP at a fixed rate by iperf3, which serves five experiments at once: payload that arrives, loss, jitter,
//! processor time, and the cost of a packet.

use super::{
    super::{profile::Profile, testbed::Testbed},
    busy::{Counting, Used},
};
use crate::{
    Result,
    measure::TESTER_CPU,
    results::Point,
    services,
    tools::{self, Direction, Traffic, Transfer, Until},
};

/// The payloads of paper 002, in octets.
pub(crate) const SIZES: [u32; 5] = [100, 250, 500, 1000, 1400];
/// Its offered load, in megabits of payload per second.
const OFFERED: u32 = 100;

/// The result of one size of payload.
#[derive(Debug, Clone, Copy)]
pub struct Offered {
    octets: u32,
    transfer: Transfer,
    /// The processor time of all but sender and receiver.
    used: Used,
}

/// Returns the results of all sizes. They are measured once for a testbed.
fn all(testbed: &mut Testbed, profile: Profile) -> Result<&[Offered]> {
    if testbed.offered.is_empty() {
        let _server = services::start_iperf(testbed.server()?, TESTER_CPU)?;
        let address = testbed.address().to_string();
        let gateways = testbed.gateways();
        let _counting = Counting::begin()?;
        let mut offered = Vec::new();
        for octets in profile.thin(&SIZES) {
            let traffic = Traffic::Udp {
                megabits: OFFERED,
                payload: octets,
            };
            let bits = f64::from(OFFERED) * 1e6 * profile.length().as_secs_f64();
            let blocks = Until::Blocks((bits / f64::from(8 * octets)) as u32);
            let client = testbed.client()?;
            let up = Direction::Upload;
            let before = Used::now(&gateways)?;
            let transfer = tools::iperf(client, TESTER_CPU, &address, traffic, up, blocks)?;
            let used = Used::now(&gateways)? - before;
            offered.push(Offered {
                octets,
                transfer,
                used,
            });
        }
        testbed.offered = offered;
    }
    Ok(&testbed.offered)
}

fn points(
    testbed: &mut Testbed,
    profile: Profile,
    value: impl Fn(&Offered) -> f64,
) -> Result<Vec<Point>> {
    let point = |offered: &Offered| Point::new("udp", f64::from(offered.octets), value(offered));
    Ok(all(testbed, profile)?.iter().map(point).collect())
}

/// Returns the payload that arrived, in bits per second.
pub(crate) fn throughput(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(testbed, profile, |offered| offered.transfer.bits_per_second)
}

/// Returns the share that did not arrive.
pub(crate) fn loss(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(testbed, profile, |offered| {
        offered.transfer.lost_percent / 100.0
    })
}

/// Returns the jitter (RFC 3550 section 6.4.1), in seconds.
pub(crate) fn jitter(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(testbed, profile, |offered| offered.transfer.jitter)
}

impl Offered {
    /// Returns the whole processor time, in seconds of one core.
    fn everybody(&self) -> f64 {
        self.transfer.cpu + self.used.gateways + self.used.kernel
    }

    /// Returns the processor times by name.
    fn times(&self) -> [(&'static str, f64); 4] {
        [
            ("udp", self.everybody()),
            ("hosts", self.transfer.cpu),
            ("gateways", self.used.gateways),
            ("programs", self.used.programs),
        ]
    }

    /// Returns a point of each time divided by `beside`, without times of zero.
    fn points(&self, beside: f64) -> impl Iterator<Item = Point> {
        let times = self.times().into_iter().filter(|(_, time)| *time > 0.0);
        let at = f64::from(self.octets);
        times.map(move |(series, time)| Point::new(series, at, time / beside))
    }
}

/// Returns the cores that were busy: all (`udp`), with sender and receiver, the gateways' processes, and the
/// gateways' programs.
pub(crate) fn cpu(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let offered = all(testbed, profile)?.iter();
    Ok(offered
        .flat_map(|offered| offered.points(offered.transfer.seconds))
        .collect())
}

/// Returns the same in seconds for each packet that was sent.
pub(crate) fn cost(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let offered = all(testbed, profile)?.iter();
    Ok(offered
        .flat_map(|offered| offered.points(offered.transfer.datagrams))
        .collect())
}
