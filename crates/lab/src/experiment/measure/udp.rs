//! UDP at a fixed rate by iperf3, which answers four questions at once: how much arrives, what is lost, how
//! much delay varies, and how busy that keeps the machine.

use super::{
    super::{profile::Profile, scene::Scene},
    busy::Ticks,
};
use crate::{
    Result,
    measure::TESTER_CPU,
    results::Point,
    services,
    tools::{self, Direction, Traffic, Transfer},
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
    /// Cores busy.
    cores: f64,
}

/// All sizes: once for a scene, whichever question asks first.
fn all(scene: &mut Scene, profile: Profile) -> Result<&[Offered]> {
    if scene.offered.is_empty() {
        let _server = services::start_iperf(scene.server()?, TESTER_CPU)?;
        let address = scene.address().to_string();
        let mut offered = Vec::new();
        for octets in profile.thin(&SIZES) {
            let traffic = Traffic::Udp {
                megabits: OFFERED,
                payload: octets,
            };
            let before = Ticks::now()?;
            let seconds = profile.length().as_secs().max(1) as u32;
            let client = scene.client()?;
            let up = Direction::Upload;
            let transfer = tools::iperf(client, TESTER_CPU, &address, traffic, up, seconds)?;
            let cores = Ticks::now()?.cores_since(before);
            offered.push(Offered {
                octets,
                transfer,
                cores,
            });
        }
        scene.offered = offered;
    }
    Ok(&scene.offered)
}

fn points(
    scene: &mut Scene,
    profile: Profile,
    value: impl Fn(&Offered) -> f64,
) -> Result<Vec<Point>> {
    let point = |offered: &Offered| Point::new("udp", f64::from(offered.octets), value(offered));
    Ok(all(scene, profile)?.iter().map(point).collect())
}

/// Payload that arrived, in bits per second.
pub(crate) fn throughput(scene: &mut Scene, profile: Profile) -> Result<Vec<Point>> {
    points(scene, profile, |offered| offered.transfer.bits_per_second)
}

/// The share that did not.
pub(crate) fn loss(scene: &mut Scene, profile: Profile) -> Result<Vec<Point>> {
    points(scene, profile, |offered| {
        offered.transfer.lost_percent / 100.0
    })
}

/// Jitter (RFC 3550 section 6.4.1), in seconds.
pub(crate) fn jitter(scene: &mut Scene, profile: Profile) -> Result<Vec<Point>> {
    points(scene, profile, |offered| offered.transfer.jitter)
}

/// Cores that sender, gateways and receiver kept busy together.
pub(crate) fn cpu(scene: &mut Scene, profile: Profile) -> Result<Vec<Point>> {
    points(scene, profile, |offered| offered.cores)
}
