//! Delay and throughput between two applications, by size of message: the papers' ping-pong, and streams.

use std::time::Duration;

use super::super::{profile::Profile, scene::Scene};
use crate::{
    LabError, Result,
    bound::{Path, Payload, TcpOptions, Transport, table::PAPERS_PAYLOADS},
    results::Point,
    sockets::{
        bulk::Bulk,
        pingpong::{Delay, Exchange, PingPong, Protocol, Series},
        streaming::{Offered, Stream},
    },
};

/// An exchange in which a cable kept time worse than by this much does not count.
const PUNCTUAL: Duration = Duration::from_micros(20);
/// Until a TCP connection has found its rate.
const WARM_UP: Duration = Duration::from_millis(500);

/// What a protocol makes of a message, in the bounds: Linux sets timestamps.
fn transport(protocol: Protocol) -> Transport {
    match protocol {
        Protocol::Udp => Transport::Udp,
        Protocol::Tcp => Transport::Tcp(TcpOptions::Timestamps),
    }
}

/// The payloads of papers 000 and 003 that a profile measures.
fn payloads(profile: Profile) -> Vec<Payload> {
    let all = PAPERS_PAYLOADS.map(|bytes| Payload::new(bytes).expect("the papers' are payloads"));
    profile.thin(&all)
}

/// One-way delays of datagrams there and back, and half of the round trip.
pub(crate) fn udp(scene: &mut Scene, profile: Profile) -> Result<Vec<Point>> {
    one_way(scene, profile, Protocol::Udp)
}

/// The same of messages over TCP.
pub(crate) fn tcp(scene: &mut Scene, profile: Profile) -> Result<Vec<Point>> {
    one_way(scene, profile, Protocol::Tcp)
}

fn one_way(scene: &Scene, profile: Profile, protocol: Protocol) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for payload in payloads(profile) {
        let exchanges = play(scene, profile, protocol, payload)?;
        let [there, back] = match scene.bounds() {
            Some(paths) => paths
                .each_ref()
                .map(|path| Some(path.delay(transport(protocol), payload))),
            None => [None, None],
        };
        let mean = there.zip(back).map(|(there, back)| (there + back) / 2.0);
        let values: [(&str, Option<f64>, fn(&Exchange) -> f64); 3] = [
            ("forward", there, |exchange| delay(&exchange.forth)),
            ("back", back, |exchange| delay(&exchange.back)),
            ("mean", mean, |exchange| {
                exchange.round_trip.as_secs_f64() / 2.0
            }),
        ];
        for (series, bound, value) in values {
            let samples: Vec<f64> = exchanges.iter().map(value).collect();
            points.extend(point(series, payload, &samples, bound));
        }
    }
    Ok(points)
}

/// What the network took where that is known, and else what the hosts took as well.
fn delay(delay: &Delay) -> f64 {
    delay.wires.unwrap_or(delay.sockets).as_secs_f64()
}

fn point(series: &str, payload: Payload, samples: &[f64], bound: Option<f64>) -> Option<Point> {
    let point = Point::of(series, f64::from(payload.bytes()), samples)?;
    Some(match bound {
        Some(bound) => point.with_bound(bound),
        None => point,
    })
}

/// Round trips by size of message over TCP.
pub(crate) fn round_trips(scene: &mut Scene, profile: Profile) -> Result<Vec<Point>> {
    let all = payloads(profile).into_iter();
    all.map(|payload| round_trip(scene, profile, payload))
        .collect()
}

fn round_trip(scene: &Scene, profile: Profile, payload: Payload) -> Result<Point> {
    let exchanges = play(scene, profile, Protocol::Tcp, payload)?;
    let samples: Vec<f64> = exchanges
        .iter()
        .map(|exchange| exchange.round_trip.as_secs_f64())
        .collect();
    point("both", payload, &samples, None).ok_or_else(|| nothing(payload, 0))
}

/// The exchanges that count.
fn play(
    scene: &Scene,
    profile: Profile,
    protocol: Protocol,
    payload: Payload,
) -> Result<Vec<Exchange>> {
    // At 10 Mb/s an exchange of the largest message takes 40 ms.
    let slow = scene.bounds().is_some();
    let exchanges = if slow {
        profile.exchanges() / 10
    } else {
        profile.exchanges()
    };
    let game = PingPong {
        exchanges: exchanges.max(20),
        ..PingPong::new(protocol, payload)
    };
    let Series {
        exchanges,
        lost_forth,
        lost_back,
        corrupted,
        ..
    } = game.play(&scene.pair()?)?;
    let failed = lost_forth + lost_back + corrupted;
    let punctual: Vec<Exchange> = exchanges
        .into_iter()
        .filter(|exchange| exchange.wires_error.is_none_or(|error| error <= PUNCTUAL))
        .collect();
    // With few left, those would be the ones that suit the machine.
    if punctual.len() < game.exchanges as usize / 2 {
        return Err(nothing(payload, failed));
    }
    Ok(punctual)
}

fn nothing(payload: Payload, failed: u32) -> LabError {
    LabError::Output {
        tool: "ping-pong",
        output: format!(
            "messages of {} bytes: {failed} were lost or changed, and too few of the others in time",
            payload.bytes()
        ),
    }
}

/// Throughput of datagrams.
pub(crate) fn udp_throughput(scene: &mut Scene, profile: Profile) -> Result<Vec<Point>> {
    throughput(scene, profile, Protocol::Udp)
}

/// Throughput of TCP, written to in parts of a size.
pub(crate) fn tcp_throughput(scene: &mut Scene, profile: Profile) -> Result<Vec<Point>> {
    throughput(scene, profile, Protocol::Tcp)
}

fn throughput(scene: &Scene, profile: Profile, protocol: Protocol) -> Result<Vec<Point>> {
    let pair = scene.pair()?;
    let mut points = Vec::new();
    for payload in payloads(profile) {
        let duration = profile.length();
        let goodput = match protocol {
            Protocol::Udp => {
                let offered = Offered::Line;
                let stream = Stream {
                    payload,
                    offered,
                    duration,
                };
                stream.run(&pair)?.goodput()
            }
            Protocol::Tcp => {
                let bulk = Bulk {
                    write: payload,
                    warm_up: WARM_UP,
                    duration,
                };
                bulk.run(&pair)?.goodput()
            }
        };
        let bound = scene
            .bounds()
            .map(|[there, _]| most(there, protocol, payload));
        points.extend(point("forward", payload, &[goodput], bound));
    }
    Ok(points)
}

/// The bound of a stream. TCP puts writes together, so that all of its segments are full.
fn most(path: &Path, protocol: Protocol, payload: Payload) -> f64 {
    let large = Payload::new(65_000).expect("65,000 bytes are a payload");
    match protocol {
        Protocol::Udp => path.streaming(Transport::Udp, payload),
        Protocol::Tcp => path.streaming(transport(protocol), large),
    }
}
