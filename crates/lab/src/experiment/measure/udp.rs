//! UDP at a fixed rate by iperf3, which answers five experiments at once: how much arrives, what is lost, how
//! much delay varies, how busy that keeps the machine, and what a packet costs.

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

/// What one size of payload came to.
#[derive(Debug, Clone, Copy)]
pub struct Offered {
    octets: u32,
    transfer: Transfer,
    /// By others than sender and receiver.
    used: Used,
}

/// All sizes: once for a testbed, whichever experiment asks first.
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

/// Payload that arrived, in bits per second.
pub(crate) fn throughput(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(testbed, profile, |offered| offered.transfer.bits_per_second)
}

/// The share that did not.
pub(crate) fn loss(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(testbed, profile, |offered| {
        offered.transfer.lost_percent / 100.0
    })
}

/// Jitter (RFC 3550 section 6.4.1), in seconds.
pub(crate) fn jitter(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(testbed, profile, |offered| offered.transfer.jitter)
}

impl Offered {
    /// Processor time of everybody together, in seconds of one core.
    fn everybody(&self) -> f64 {
        self.transfer.cpu + self.used.gateways + self.used.kernel
    }

    /// The same, and whose it is.
    fn times(&self) -> [(&'static str, f64); 4] {
        [
            ("udp", self.everybody()),
            ("hosts", self.transfer.cpu),
            ("gateways", self.used.gateways),
            ("programs", self.used.programs),
        ]
    }

    /// A point of each time in relation to something, without those of whom there is nothing.
    fn points(&self, beside: f64) -> impl Iterator<Item = Point> {
        let times = self.times().into_iter().filter(|(_, time)| *time > 0.0);
        let at = f64::from(self.octets);
        times.map(move |(series, time)| Point::new(series, at, time / beside))
    }
}

/// Cores that were busy: of everybody (`udp`), of sender and receiver, of the gateways' processes, and of the
/// gateways' programs.
pub(crate) fn cpu(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let offered = all(testbed, profile)?.iter();
    Ok(offered
        .flat_map(|offered| offered.points(offered.transfer.seconds))
        .collect())
}

/// Seconds for each packet that was sent, of the same.
pub(crate) fn cost(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let offered = all(testbed, profile)?.iter();
    Ok(offered
        .flat_map(|offered| offered.points(offered.transfer.datagrams))
        .collect())
}
