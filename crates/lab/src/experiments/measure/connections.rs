//! Many connections at once, as in paper 004.

use std::{net::IpAddr, sync::Barrier, time::Instant};

use super::{
    super::{profile::Profile, testbed::Testbed},
    http::Connection,
};
use crate::{
    LabError, Result,
    experiments::validity::persistent,
    figures::results::Point,
    network::{
        cores::{TESTER_CPU, pin},
        threads::join,
    },
    traffic::services::Files,
};

/// The numbers of simultaneous connections.
const COUNTS: [usize; 7] = [1, 2, 5, 10, 20, 50, 100];
/// The responses, in octets: the paper says only small and large.
const ANSWERS: [(&str, usize); 2] = [("small", 100), ("large", 100_000)];

/// Returns the time from a request to the end of its response, by the number of connections.
pub(crate) fn round_trips(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let _server = Files::serve(testbed.server()?, &ANSWERS.map(|(_, octets)| octets))?;
    let address = testbed.address();
    let problem = |source| LabError::Start {
        command: format!("HTTP from {address}"),
        source,
    };
    let (client, journal) = (testbed.client()?, testbed.journal());
    client.enter(|| {
        pin(TESTER_CPU)?;
        let mut points = Vec::new();
        for (series, octets) in ANSWERS {
            // The first one resolves addresses and warms caches.
            at_once(address, 1, octets, 10).map_err(problem)?;
            for count in profile.thin(&COUNTS) {
                let each = (profile.exchanges() as usize).div_ceil(count).max(3);
                let here = journal.of(series).at(count as f64);
                let ask = || at_once(address, count, octets, each).map_err(problem);
                let samples = persistent(|| here.undisturbed(ask))?;
                points.extend(Point::of(series, count as f64, &samples));
            }
        }
        Ok(points)
    })
}

/// Returns the time from a request to the end of a small response, on one connection.
pub(crate) fn simplest(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let (_, octets) = ANSWERS[0];
    let _server = Files::serve(testbed.server()?, &[octets])?;
    let address = testbed.address();
    let each = profile.exchanges() as usize;
    let (client, journal) = (testbed.client()?, testbed.journal());
    let samples = client.enter(|| {
        pin(TESTER_CPU)?;
        let ask = |times| {
            at_once(address, 1, octets, times).map_err(|source| LabError::Start {
                command: format!("HTTP from {address}"),
                source,
            })
        };
        ask(10)?;
        journal.undisturbed(|| ask(each))
    })?;
    Ok(Point::of("both", 0.0, &samples).into_iter().collect())
}

/// Opens this many connections, and sends this many requests on each, one after the other. No request is sent before
/// all connections are open.
fn at_once(address: IpAddr, count: usize, octets: usize, each: usize) -> std::io::Result<Vec<f64>> {
    let path = Files::path(octets);
    let mut connections = Vec::with_capacity(count);
    for _ in 0..count {
        connections.push(Connection::open(address)?.0);
    }
    let begin = Barrier::new(count);
    let work = |mut connection: Connection| {
        begin.wait();
        let mut seconds = Vec::with_capacity(each);
        for _ in 0..each {
            let start = Instant::now();
            connection.get(&path, octets)?;
            seconds.push(start.elapsed().as_secs_f64());
        }
        Ok(seconds)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = connections
            .into_iter()
            .map(|connection| scope.spawn(|| work(connection)))
            .collect();
        let mut all = Vec::with_capacity(count * each);
        for thread in threads {
            let seconds: std::io::Result<Vec<f64>> = join(thread);
            all.extend(seconds?);
        }
        Ok(all)
    })
}
