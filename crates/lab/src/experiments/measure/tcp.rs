//! TCP as fast as it goes, by iperf3.

use super::{
    super::{profile::Profile, testbed::Testbed},
    each::each,
    udp,
};
use crate::{
    Result,
    figures::results::Point,
    network::cores::TESTER_CPU,
    traffic::{
        services,
        tools::{self, Direction, Traffic, Until},
    },
};

/// Returns the payloads of segments: in `smoke` the usual ones of connections.
pub(crate) fn sizes(profile: Profile) -> &'static [u32] {
    match profile {
        Profile::Smoke => &udp::SIZES[4..],
        Profile::Standard | Profile::Rfc => &udp::SIZES,
    }
}

/// Returns the length of each connection in whole seconds, which iperf3 needs.
pub(crate) fn seconds(profile: Profile) -> u32 {
    profile.length().as_secs().max(1) as u32
}

/// Returns the payload that arrived, in bits per second: one connection for each size of segment.
pub(crate) fn throughput(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let _server = services::start_iperf(testbed.server()?, TESTER_CPU)?;
    each(testbed, sizes(profile), |testbed, payload| {
        bulk(testbed, payload, seconds(profile)).map(|point| vec![point])
    })
}

/// Measures one connection to a running iperf3.
fn bulk(testbed: &Testbed, payload: u32, seconds: u32) -> Result<Point> {
    let transfer = tools::iperf(
        testbed.client()?,
        TESTER_CPU,
        &testbed.address().to_string(),
        Traffic::Tcp {
            payload: Some(payload),
        },
        Direction::Upload,
        Until::Seconds(seconds),
    )?;
    let rate = transfer.bits_per_second;
    Ok(Point::new("tcp", f64::from(payload), rate))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::{
        experiments::{links::Links, subjects},
        network::{process, topology::HOST_INTERFACE},
    };

    /// Returns the frames that have arrived at the server, and their octets.
    fn arrived(testbed: &Testbed) -> [f64; 2] {
        let mut show = testbed.server().unwrap().command("ip");
        show.args(["-s", "-j", "link", "show", "dev", HOST_INTERFACE]);
        let shown: Value = serde_json::from_str(&process::run(&mut show).unwrap()).unwrap();
        ["packets", "bytes"].map(|name| shown[0]["stats64"]["rx"][name].as_f64().unwrap())
    }

    /// The referee is the server's own counters: packets are 20 octets of IPv4 (RFC 791), 32 of TCP with timestamps
    /// (RFC 9293, RFC 7323) and the payload. The 14 of Ethernet may be counted or not.
    #[test]
    #[ignore = "builds a network, as root: of the tier namespaces"]
    fn segments_are_as_large_as_was_asked() {
        let subjects = subjects();
        let native = subjects.iter().find(|one| one.name == "native-ipv4");
        let testbed = Testbed::build(native.unwrap(), Links::Unlimited).unwrap();
        let _server = services::start_iperf(testbed.server().unwrap(), TESTER_CPU).unwrap();
        for payload in [100, 1400] {
            let before = arrived(&testbed);
            let point = bulk(&testbed, payload, 1).unwrap();
            let after = arrived(&testbed);
            let [frames, octets] = [0, 1].map(|counter| after[counter] - before[counter]);
            // The segments that open and close the connections are smaller.
            let least = 0.99 * f64::from(payload + 52);
            let most = f64::from(payload + 66);
            let size = octets / frames;
            assert!((least..=most).contains(&size), "{payload}: {size}");
            // The transfer takes about a second.
            assert!(point.value > 0.0 && point.value < 8.0 * octets);
        }
    }
}
