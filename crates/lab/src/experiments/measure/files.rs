//! Files by HTTP: the time of a connection, and of a file.

use std::{net::IpAddr, time::Instant};

use super::{
    super::{profile::Profile, testbed::Testbed},
    http::Connection,
};
use crate::{
    LabError, Result,
    figures::results::Point,
    network::cores::{TESTER_CPU, pin},
    traffic::services::Files,
};

/// The sizes of paper 001, in octets.
const SIZES: [usize; 4] = [104_000, 318_000, 320_000, 531_000];

/// The times of a transfer.
#[derive(Debug, Clone, Copy)]
pub struct Fetched {
    octets: usize,
    /// The time until the connection was open, in seconds.
    connect: f64,
    /// The time until the file was complete, in seconds.
    file: f64,
}

/// Returns the transfers of every size, several times. They are made once for a testbed.
fn all(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Fetched>> {
    testbed.once(|testbed| {
        let _server = Files::serve(testbed.server()?, &SIZES)?;
        let address = testbed.address();
        let times = profile.exchanges().div_ceil(20);
        let (client, journal) = (testbed.client()?, testbed.journal());
        client.enter(|| {
            pin(TESTER_CPU)?;
            let problem = |source| LabError::Start {
                command: format!("HTTP from {address}"),
                source,
            };
            // The first one resolves addresses and warms caches.
            fetch(address, SIZES[0]).map_err(problem)?;
            let turns = (0..times).flat_map(|_| SIZES);
            let fetched = turns.map(|octets| fetch(address, octets).map_err(problem));
            journal.undisturbed(|| fetched.collect())
        })
    })
}

/// Fetches the file of a size over a connection of its own.
fn fetch(address: IpAddr, octets: usize) -> std::io::Result<Fetched> {
    let start = Instant::now();
    let (mut connection, connect) = Connection::open(address)?;
    connection.get(&Files::path(octets), octets)?;
    Ok(Fetched {
        octets,
        connect,
        file: start.elapsed().as_secs_f64(),
    })
}

fn points(
    testbed: &mut Testbed,
    profile: Profile,
    value: impl Fn(&Fetched) -> f64,
) -> Result<Vec<Point>> {
    let fetched = all(testbed, profile)?;
    let of = |octets| {
        let this = fetched.iter().filter(|fetched| fetched.octets == octets);
        let samples: Vec<f64> = this.map(&value).collect();
        Point::of("download", octets as f64, &samples)
    };
    Ok(SIZES.into_iter().filter_map(of).collect())
}

/// Returns the time until the connection was open.
pub(crate) fn connect(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(testbed, profile, |fetched| fetched.connect)
}

/// Returns the time until the file was complete.
pub(crate) fn time(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(testbed, profile, |fetched| fetched.file)
}

/// Returns the throughput of the file, in bits per second.
pub(crate) fn throughput(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    points(testbed, profile, |fetched| {
        fetched.octets as f64 * 8.0 / fetched.file
    })
}
