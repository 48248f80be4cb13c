//! The query rate of a DNS64 server (RFC 8219 section 9).

use std::{
    collections::HashMap,
    io::{ErrorKind, Result as IoResult},
    net::{SocketAddr, UdpSocket},
    time::{Duration, Instant},
};

use super::super::{profile::Profile, testbed::Testbed};
use crate::{
    LabError, Result,
    figures::results::{Point, SearchLimits, Width},
    network::{
        cores::{TESTER_CPU, pin},
        plan,
    },
    traffic::{
        services::{NAMES, WILD, numbered_name},
        tools::{AAAA, has_answer, query},
    },
};

/// Returns the shares of queries for cached names, in percent, that a profile measures.
pub(crate) fn shares(profile: Profile) -> &'static [u32] {
    match profile {
        Profile::Smoke => &[0, 80],
        Profile::Standard | Profile::Rfc => &[0, 20, 40, 60, 80, 100],
    }
}

/// The first rate of the search, in queries per second.
const FIRST: f64 = 1000.0;
/// A query that is not answered within this time is lost.
const TIMEOUT: Duration = Duration::from_secs(1);
/// RFC 8219 section 9.2.3: the authoritative server and the tester must reach this many times the rate, for a quarter
/// of the time.
const SPARE: f64 = 2.2;

/// Returns the highest rate at which all queries are answered, by the share of cached names.
pub(crate) fn rates(testbed: &mut Testbed, profile: Profile) -> Result<Vec<Point>> {
    let client = testbed.client()?;
    let server = SocketAddr::new(testbed.address(), 53);
    let (length, width) = precision(profile);
    let mut begin = FIRST;
    let mut number = 0;
    let mut points = Vec::new();
    for cached in shares(profile).iter().copied() {
        let mut works = |server, answer, rate, duration, cached| {
            let trial = Trial {
                server,
                answer,
                rate,
                duration,
                cached,
                first: number,
            };
            number += trial.queries();
            let answered = client.enter(|| {
                pin(TESTER_CPU)?;
                trial.run().map_err(|source| LabError::Start {
                    command: format!("queries to {server}"),
                    source,
                })
            })?;
            Ok(answered == trial.queries())
        };
        // Fills the cache with all names that should be in it.
        works(server, Answer::Address, FIRST, Duration::from_secs(1), 100)?;
        let rate = highest(begin, width, |rate| {
            works(server, Answer::Address, rate, length, cached)
        })?;
        // The next share's rate is similar.
        begin = rate.max(FIRST);
        let authority = SocketAddr::new(plan::HOST4.into(), 53);
        let spare = SPARE * rate;
        let point = Point::new("both", f64::from(cached), rate).found_by(SearchLimits {
            least: 0.0,
            most: None,
            width: Width::Share(width),
            loss: 0.0,
            exceed: 0.0,
            seconds: Some(length.as_secs_f64()),
        });
        points.push(
            if works(authority, Answer::Any, spare, length / 4, cached)? {
                point.with_ceiling(spare)
            } else {
                // The tester may limit the figure.
                point.with_ceiling(rate)
            },
        );
    }
    Ok(points)
}

/// Returns the length of a trial, and the width of the result.
fn precision(profile: Profile) -> (Duration, f64) {
    match profile {
        Profile::Smoke => (profile.length() / 2, 0.2),
        Profile::Standard | Profile::Rfc => (profile.length(), 0.05),
    }
}

/// Returns the highest rate that works, to a width. The search begins at `first`.
fn highest(first: f64, width: f64, mut works: impl FnMut(f64) -> Result<bool>) -> Result<f64> {
    let mut low = 0.0;
    let mut high = first;
    while works(high)? {
        low = high;
        high *= 2.0;
    }
    while high - low > width * high && high > 1.0 {
        let middle = (low + high) / 2.0;
        if works(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// The response that a query needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// An address, as a DNS64 makes it.
    Address,
    /// Any response: the upstream server has no AAAA.
    Any,
}

/// A trial: queries at a rate.
#[derive(Clone, Copy)]
struct Trial {
    server: SocketAddr,
    answer: Answer,
    rate: f64,
    duration: Duration,
    /// The share of queries for cached names, in percent.
    cached: u32,
    /// The number of the first name that is not in any cache.
    first: u64,
}

impl Trial {
    fn queries(&self) -> u64 {
        (self.rate * self.duration.as_secs_f64()).round().max(1.0) as u64
    }

    /// Returns the name of a query: a cached one, or a new one.
    fn name(&self, number: u64) -> String {
        if number % 100 < u64::from(self.cached) {
            numbered_name((number % u64::from(NAMES)) as u32)
        } else {
            format!("u{}.{WILD}", self.first + number)
        }
    }

    /// Sends the queries evenly and returns how many were answered in time.
    fn run(&self) -> IoResult<u64> {
        let any = if self.server.is_ipv4() {
            "0.0.0.0:0"
        } else {
            "[::]:0"
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(self.server)?;
        socket.set_nonblocking(true)?;
        let mut waiting: HashMap<u16, Instant> = HashMap::new();
        let mut answer = [0; 1500];
        let (mut sent, mut answered) = (0, 0);
        let start = Instant::now();
        let mut last = start;
        while sent < self.queries() || (!waiting.is_empty() && last.elapsed() < TIMEOUT) {
            let due = (start.elapsed().as_secs_f64() * self.rate) as u64;
            if sent < due.min(self.queries()) {
                let identifier = sent as u16;
                match socket.send(&query(identifier, &self.name(sent), AAAA)) {
                    Ok(_) => {
                        last = Instant::now();
                        waiting.insert(identifier, last);
                        sent += 1;
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            }
            match socket.recv(&mut answer) {
                Ok(length) if length >= 12 => {
                    let identifier = u16::from_be_bytes([answer[0], answer[1]]);
                    let in_time = waiting
                        .remove(&identifier)
                        .is_some_and(|asked| asked.elapsed() <= TIMEOUT);
                    let right = self.answer == Answer::Any || has_answer(&answer[..length]);
                    answered += u64::from(in_time && right);
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(answered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_ends_near_the_capacity() {
        for capacity in [130.0, 1000.0, 1001.0, 47_000.0] {
            let found = highest(FIRST, 0.05, |rate| Ok(rate <= capacity)).unwrap();
            assert!(
                found <= capacity && found >= capacity * 0.9,
                "{capacity}: {found}"
            );
        }
        assert_eq!(highest(FIRST, 0.05, |_| Ok(false)).unwrap(), 0.0);
    }

    #[test]
    fn names_are_cached_or_new_by_their_share() {
        let trial = |cached| Trial {
            server: SocketAddr::from(([127, 0, 0, 1], 53)),
            answer: Answer::Address,
            rate: 100.0,
            duration: Duration::from_secs(10),
            cached,
            first: 7000,
        };
        let new = |cached| {
            let trial = trial(cached);
            let names = (0..1000).map(|number| trial.name(number));
            let new = names.filter(|name| name.ends_with(WILD));
            new.collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!(
            [0, 20, 40, 60, 80, 100].map(new),
            [1000, 800, 600, 400, 200, 0]
        );
    }
}
