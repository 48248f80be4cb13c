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

/// The turns of the sizes, by their numbers: each follows each, itself too, once in a round (a de Bruijn sequence). What a gateway
/// still has to do for the transfer before is in the time of a connection: in the order of the sizes, TAYGA's took 60 us after
/// the smallest file, and 200 after any other.
const TURNS: [usize; 16] = [0, 0, 1, 0, 2, 0, 3, 1, 1, 2, 1, 3, 2, 2, 3, 3];

/// The times of a transfer.
#[derive(Debug, Clone, Copy)]
pub struct Fetched {
    octets: usize,
    /// The time until the connection was open, in seconds.
    connect: f64,
    /// The time until the file was complete, in seconds.
    file: f64,
}

/// Returns the transfers of every size, equally many of each. They are made once for a testbed.
fn all(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Fetched>> {
    testbed.once(|testbed| {
        let _server = Files::serve(testbed.server()?, &SIZES)?;
        let address = testbed.address();
        let rounds = profile.exchanges().div_ceil(80);
        let (client, journal) = (testbed.client()?, testbed.journal());
        client.enter(|| {
            pin(TESTER_CPU)?;
            let problem = |source| LabError::Start {
                command: format!("HTTP from {address}"),
                source,
            };
            // The first one resolves addresses and warms caches.
            fetch(address, SIZES[0]).map_err(problem)?;
            let turns = (0..rounds).flat_map(|_| TURNS);
            let fetched = turns.map(|size| fetch(address, SIZES[size]).map_err(problem));
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_size_follows_each_as_often() {
        let next = TURNS.iter().cycle().skip(1);
        let pairs: BTreeSet<_> = TURNS.iter().zip(next).collect();
        assert_eq!(pairs.len(), SIZES.len() * SIZES.len());
        assert!(TURNS.iter().all(|size| *size < SIZES.len()));
    }
}
