//! Delay and throughput between two applications, by size of message: the papers' ping-pong, and streams.

use std::time::Duration;

use super::{
    super::{profile::Profile, testbed::Testbed},
    each::each,
};
use crate::{
    LabError, Result,
    experiments::validity::{EXACT, FEW, LATE, PUNCTUAL},
    figures::{
        bound::{Payload, TcpOptions, Transport, table::PAPERS_PAYLOADS},
        results::Point,
    },
    network::wire::Counts,
    traffic::sockets::{
        Protocol,
        bulk::Bulk,
        pingpong::{Delay, Exchange, PingPong, Series},
        streaming::{Offered, Stream},
    },
};

/// The share of the bound below which the load of a sender is its own limit.
const BUSY: f64 = 0.97;
/// The time in which a TCP connection finds its rate.
const WARM_UP: Duration = Duration::from_millis(500);

/// Returns the transport of a protocol in the bounds: Linux uses timestamps.
fn transport(protocol: Protocol) -> Transport {
    match protocol {
        Protocol::Udp => Transport::Udp,
        Protocol::Tcp => Transport::Tcp(TcpOptions::Timestamps),
    }
}

/// Returns the payloads of papers 000 and 003 that a profile measures.
fn payloads(profile: Profile) -> Vec<Payload> {
    let all = PAPERS_PAYLOADS.map(|bytes| Payload::new(bytes).expect("the papers' are payloads"));
    profile.thin(&all)
}

/// Returns one-way delays of datagrams there and back, and half of the round trip.
pub(crate) fn udp(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    one_way(testbed, profile, Protocol::Udp)
}

/// Returns the same for messages over TCP.
pub(crate) fn tcp(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    one_way(testbed, profile, Protocol::Tcp)
}

fn one_way(testbed: &mut Testbed, profile: Profile, protocol: Protocol) -> Result<Vec<Point>> {
    each(testbed, &payloads(profile), |testbed, payload| {
        let exchanges = play(testbed, profile, protocol, payload)?;
        let [there, back] = [0, 1].map(|way| {
            let path = &testbed.bounds()?[way];
            Some(path.delay(transport(protocol), payload))
        });
        let mean = there.zip(back).map(|(there, back)| (there + back) / 2.0);
        let values: [(&str, Option<f64>, Value); 3] = [
            ("forward", there, |exchange| delay(&exchange.forth)),
            ("back", back, |exchange| delay(&exchange.back)),
            ("mean", mean, |exchange| {
                exchange.round_trip.as_secs_f64() / 2.0
            }),
        ];
        let points = values.into_iter().filter_map(|(series, bound, value)| {
            let samples: Vec<f64> = exchanges.iter().map(value).collect();
            point(series, payload, &samples, bound)
        });
        Ok(points.collect())
    })
}

/// A time of an exchange, in seconds.
type Value = fn(&Exchange) -> f64;

/// Returns the delay of the network where it is known, else that between the sockets.
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

/// Returns round trips by size of message over TCP, and the delay of each direction from socket to socket.
pub(crate) fn round_trips(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    each(testbed, &payloads(profile), |testbed, payload| {
        let exchanges = play(testbed, profile, Protocol::Tcp, payload)?;
        let values: [(&str, Value); 3] = [
            ("both", |exchange| exchange.round_trip.as_secs_f64()),
            ("forward", |exchange| delay(&exchange.forth)),
            ("back", |exchange| delay(&exchange.back)),
        ];
        let points = values.into_iter().filter_map(|(series, value)| {
            let samples: Vec<f64> = exchanges.iter().map(value).collect();
            point(series, payload, &samples, None)
        });
        Ok(points.collect())
    })
}

/// Plays a ping-pong, and returns the exchanges that count.
fn play(
    testbed: &Testbed,
    profile: Profile,
    protocol: Protocol,
    payload: Payload,
) -> Result<Vec<Exchange>> {
    // At 10 Mb/s an exchange of the largest message takes 40 ms.
    let slow = testbed.bounds().is_some();
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
    } = game.play(&testbed.pair()?)?;
    let failed = lost_forth + lost_back + corrupted;
    let bytes = payload.bytes();
    if failed > game.exchanges / 2 {
        return Err(LabError::Output {
            tool: "ping-pong",
            output: format!("{failed} messages of {bytes} bytes were lost or changed"),
        });
    }
    let all = exchanges.len();
    let punctual: Vec<Exchange> = exchanges
        .into_iter()
        .filter(|exchange| {
            let tolerated = PUNCTUAL.max(exchange.round_trip.mul_f64(EXACT));
            exchange.wires_error.is_none_or(|error| error <= tolerated)
        })
        .collect();
    // A few exchanges would be a biased selection.
    if punctual.len() < all / 2 {
        return Err(LabError::Tester(format!(
            "messages of {bytes} bytes: the cables kept time in {} of {all} exchanges only",
            punctual.len()
        )));
    }
    Ok(punctual)
}

/// Returns the throughput of datagrams.
pub(crate) fn udp_throughput(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    throughput(testbed, profile, Protocol::Udp)
}

/// Returns the throughput of TCP, by the size of messages.
pub(crate) fn tcp_throughput(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    throughput(testbed, profile, Protocol::Tcp)
}

fn throughput(testbed: &mut Testbed, profile: Profile, protocol: Protocol) -> Result<Vec<Point>> {
    each(testbed, &payloads(profile), |testbed, payload| {
        stream(testbed, profile.length(), protocol, payload)
    })
}

/// Measures the messages of one size that follow each other.
fn stream(
    testbed: &Testbed,
    duration: Duration,
    protocol: Protocol,
    payload: Payload,
) -> Result<Vec<Point>> {
    let pair = testbed.pair()?;
    let before = testbed.passed();
    let (goodput, offered) = match protocol {
        Protocol::Udp => {
            let stream = Stream {
                payload,
                offered: Offered::Line,
                duration,
            };
            let arrivals = stream.run(&pair)?;
            let bits = arrivals.sent as f64 * 8.0 * f64::from(payload.bytes());
            (arrivals.goodput(), Some(bits / duration.as_secs_f64()))
        }
        Protocol::Tcp => {
            let bulk = Bulk {
                message: payload,
                warm_up: WARM_UP,
                duration,
            };
            (bulk.run(&pair)?.goodput(), None)
        }
    };
    punctual(&before, &testbed.passed())?;
    let bounds = testbed.bounds();
    let bound = bounds.map(|[there, _]| there.streaming(transport(protocol), payload));
    // A load that was not offered is the sender's limit, not the subject's.
    let ceiling = offered.filter(|offered| bound.is_some_and(|bound| *offered < BUSY * bound));
    let point = point("forward", payload, &[goodput], bound);
    let point = point.map(|point| match ceiling {
        Some(ceiling) => point.with_ceiling(ceiling),
        None => point,
    });
    Ok(point.into_iter().collect())
}

/// Checks that the cables kept time.
///
/// # Errors
/// A cable moved more than a few frames at the wrong time.
fn punctual(before: &[Counts], after: &[Counts]) -> Result<()> {
    let worst = after
        .iter()
        .zip(before)
        .map(|(after, before)| after.since(before).unpunctual(LATE))
        .fold(0.0, f64::max);
    if worst <= FEW {
        return Ok(());
    }
    Err(LabError::Tester(format!(
        "{:.1} % of frames passed a cable at the wrong time",
        worst * 100.0
    )))
}
