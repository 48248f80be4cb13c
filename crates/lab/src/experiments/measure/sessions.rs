//! Connections of devices with state (RFC 9693): the rate at which they are established, their number, and the rate
//! at which they are removed.
//!
//! Every trial begins with an empty table. A frame for each connection goes to the responder; a connection is
//! established if its frame arrives within the timeout.

use std::{net::IpAddr, ops::RangeInclusive, time::Duration};

use super::{
    super::{
        journal::Journal,
        profile::Profile,
        subject::{Setup, Subject},
    },
    alone::Alone,
};
use crate::{
    LabError, Result,
    figures::results::{Point, SearchLimits, Width},
    network::{device::Device, interfaces, plan},
    traffic::{
        generator::FrameSize,
        packet::{Ends, Form},
        tester::{
            Ceiling, Empty, Established, Extent, Flows, Networks, Phases, Ports, Stateful, Streams,
            Tolerance, Traffic, Trial, TrialResult, Void,
            search::{
                Limit, Range,
                connections::{
                    CapacitySearch, Completeness, RateSearch, tear_down, validation_rate,
                },
                throughput,
            },
        },
    },
};

/// The source ports (RFC 9693 section 4.1: a few times ten thousand). There are as many destination ports as the
/// number of connections needs.
const SOURCES: RangeInclusive<u16> = 1024..=41_023;
const FIRST_DESTINATION: u16 = 1;
/// A frame that takes longer is lost: siitperf's value, which RFC 9693 names as an implementation.
const TIMEOUT: Duration = Duration::from_millis(500);
/// The share of the rate of connections at which they are validated.
const ALPHA: f64 = 0.5;
/// The number of times that a late trial is repeated, and that a rate that is not validated is lowered.
const RETRIES: usize = 4;
/// The factor of the first rate above the forwarding rate under overload.
const ABOVE: f64 = 1.25;

/// The frames of the trial under overload.
const FLOOD: u64 = 100_000;
/// The factor of the lowest rate of interest below the highest.
const BELOW: f64 = 20.0;
/// The factor by which trials of a search are shorter than those that decide.
const SHORTER: u32 = 5;

/// The extent of a profile.
struct Scale {
    /// The connections of the search for the rate: fewer than a kernel tracks by default, which is 262,144.
    connections: u32,
    /// The width of the rate, as a share of the first trial's.
    width: f64,
    /// The rate at which connections are established that are only needed, per second.
    careful: f64,
    /// The connections at which the search for the capacity begins, and at which it ends.
    capacity: [u32; 2],
    /// The width of the capacity.
    error: u64,
    /// The numbers of connections that are torn down.
    torn_down: &'static [u32],
}

fn scale(profile: Profile) -> Scale {
    match profile {
        Profile::Smoke => Scale {
            connections: 4_000,
            width: 1.0 / 4.0,
            careful: 20_000.0,
            capacity: [1_000, 2_000],
            error: 100,
            torn_down: &[4_000],
        },
        Profile::Standard => Scale {
            connections: 100_000,
            width: 1.0 / 64.0,
            careful: 50_000.0,
            capacity: [65_536, 524_288],
            error: 4_096,
            torn_down: &[1_000, 10_000, 100_000],
        },
        Profile::Rfc => Scale {
            connections: 200_000,
            width: 1.0 / 256.0,
            careful: 50_000.0,
            capacity: [65_536, 1_000_000],
            error: 1,
            torn_down: &[1_000, 10_000, 100_000, 200_000],
        },
    }
}

/// The punctuality of trials of some milliseconds: the last batch of frames is always a little late.
const TOLERANCE: Tolerance = Tolerance {
    by: Duration::from_millis(1),
    share: 0.01,
    rate: 0.05,
};

/// Returns a gateway between two hosts, and the hosts' addresses as the first one knows them.
fn gateway(subject: &Subject) -> Result<(&dyn Device, Ends)> {
    let Setup::Middle(middle, address) = &subject.setup else {
        return Err(LabError::NoNode("gateway with state".into()));
    };
    let ends = match *address {
        IpAddr::V4(address) => Ends::V4(plan::HOST6_AS_IPV4, address),
        IpAddr::V6(address) => Ends::V6(plan::HOST6, address),
    };
    Ok((middle.device(), ends))
}

/// Returns a frame for each of this many connections, which arrive by IPv4.
fn traffic(connections: u32, ends: Ends) -> Traffic {
    let sources = u32::from(SOURCES.end() - SOURCES.start()) + 1;
    let last = connections.div_ceil(sources) as u16;
    let flows = Flows {
        count: connections,
        networks: Networks::One,
        ports: Ports::Permuted(SOURCES, FIRST_DESTINATION..=last),
    };
    let packets = flows.packets(|_| ends);
    Traffic {
        size: FrameSize::least(packets[0].form()),
        packets,
        arrives: Form::V4,
    }
}

fn test<'a>(profile: Profile, subject: &'a Subject, connections: u32) -> Result<Stateful<'a>> {
    let (device, ends) = gateway(subject)?;
    let phases = match profile {
        Profile::Smoke | Profile::Standard => Phases::shortened(1000),
        Profile::Rfc => Phases::rfc(),
    };
    Ok(Stateful {
        device,
        initiated: traffic(connections, ends),
        phases: Phases {
            learning: 0,
            ..phases
        },
        tolerance: TOLERANCE,
        timeout: TIMEOUT,
    })
}

/// The meaning of a phase that was sent late however often it was repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Late {
    /// The rate is too high for the tester, and a lower one is tried: not all are established.
    IsTooFast,
    /// The rate is low, and the tester was held up: nothing is known.
    SaysNothing,
}

impl Late {
    /// Returns the outcome of a phase.
    ///
    /// # Errors
    /// It says nothing: it was sent late, or others disturbed it.
    fn judge(self, outcome: Completeness, result: &TrialResult) -> Result<Completeness> {
        match &result.void {
            Some(void) if self == Self::SaysNothing || matches!(void, Void::Disturbed(_)) => {
                Err(LabError::Tester(void.to_string()))
            }
            _ => Ok(outcome),
        }
    }
}

/// Trials on a device with an empty table.
struct Trials<'a> {
    test: &'a Stateful<'a>,
    journal: &'a Journal,
    device: Option<Empty<'a>>,
    /// The reason why a rate could not be offered, if there was one.
    void: Option<Void>,
}

impl<'a> Trials<'a> {
    fn new(test: &'a Stateful<'a>, journal: &'a Journal) -> Self {
        Self {
            test,
            journal,
            device: None,
            void: None,
        }
    }

    fn once(&mut self, connections: u64, rate: f64) -> Result<Established<'a>> {
        let device = match self.device.take() {
            Some(device) => device,
            None => {
                let device = self.test.build()?;
                self.journal.network(interfaces::of(device.network())?);
                device
            }
        };
        let establish = || device.establish(connections, rate);
        self.journal
            .trial_within(establish, |established| &mut established.result)
    }

    /// Runs phase 1, and repeats it if it was sent late. A rate that is late every time could not be offered.
    fn establish(&mut self, connections: u64, rate: f64) -> Result<Established<'a>> {
        let mut established = self.once(connections, rate)?;
        for _ in 0..RETRIES {
            let Some(void) = established.result.void.clone() else {
                break;
            };
            self.void = Some(void);
            self.tear_down(established)?;
            established = self.once(connections, rate)?;
        }
        Ok(established)
    }

    fn tear_down(&mut self, established: Established<'a>) -> Result<Duration> {
        let (device, took) = established.tear_down()?;
        self.device = Some(device);
        Ok(took)
    }

    /// Returns whether this many connections are established at a rate.
    fn passes(&mut self, connections: u64, rate: f64, late: Late) -> Result<Completeness> {
        let established = self.establish(connections, rate)?;
        let outcome = late.judge(established.completeness(), &established.result);
        self.tear_down(established)?;
        outcome
    }

    /// Returns the highest rate at which this many are established, up to the tester's own, and the search that found it.
    fn highest(
        &mut self,
        connections: u64,
        width: f64,
        ceiling: Ceiling,
    ) -> Result<(f64, RateSearch)> {
        // The forwarding rate under overload is near the result.
        let flooded = self.once(connections, f64::INFINITY)?;
        let reached = flooded.result.streams[0].received_rate;
        self.tear_down(flooded)?;
        let mut most = (reached * ABOVE).min(ceiling.rate());
        loop {
            let error = most * width;
            let search = RateSearch { most, error };
            let found = search.run(|rate| self.passes(connections, rate, Late::IsTooFast))?;
            if found < most || most >= ceiling.rate() {
                return Ok((found, search));
            }
            most = (most * 2.0).min(ceiling.rate());
        }
    }

    /// Returns whether answers are forwarded through each of this many connections that were established at this
    /// rate.
    fn is_validated(&mut self, connections: u64, rate: f64) -> Result<bool> {
        for _ in 0..RETRIES {
            let established = self.establish(connections, rate)?;
            match established.validate(validation_rate(rate, ALPHA))? {
                None => return Ok(false),
                Some(answered) if answered.void.is_none() => return Ok(answered.lost() == 0),
                Some(late) => self.void = late.void,
            }
        }
        Ok(false)
    }

    /// Returns the error of an experiment without a result, with the tester's fault if there was one.
    fn nothing(&self, what: &str) -> LabError {
        match &self.void {
            Some(void) => LabError::Tester(void.to_string()),
            None => LabError::Output {
                tool: "the tester",
                output: what.into(),
            },
        }
    }
}

/// Returns the limits of a search with a number of connections in each trial, all of which have to be established.
fn limits([least, most]: [f64; 2], width: f64) -> SearchLimits {
    SearchLimits {
        least,
        most: Some(most),
        width: Width::Difference(width),
        loss: 0.0,
        exceed: 0.0,
        seconds: None,
    }
}

/// Returns the tester's own rate with such frames.
fn ceiling(test: &Stateful<'_>) -> Result<Ceiling> {
    Alone::of(&Streams::Rightward(test.initiated.clone())).map(|alone| alone.ceiling)
}

/// Measures the maximum connection establishment rate, validated (RFC 9693 sections 4.5 and 4.6).
pub(crate) fn connection_rate(
    subject: &Subject,
    profile: Profile,
    journal: &Journal,
) -> Result<Vec<Point>> {
    let Scale {
        connections, width, ..
    } = scale(profile);
    let test = test(profile, subject, connections)?;
    let ceiling = ceiling(&test)?;
    let mut trials = Trials::new(&test, journal);
    let (mut rate, search) = trials.highest(connections.into(), width, ceiling)?;
    for _ in 0..=RETRIES {
        if rate > 0.0 && trials.is_validated(connections.into(), rate)? {
            let point = Point::new("there", 0.0, rate).with_ceiling(ceiling.rate());
            let limits = limits([0.0, search.most], search.error);
            return Ok(vec![point.found_by(limits)]);
        }
        rate *= 1.0 - width;
    }
    Err(trials.nothing("at no rate were all connections established"))
}

/// Measures the capacity of the connection tracking table (RFC 9693 section 4.9). If the search ended before the
/// table was full, its end is the ceiling of the value.
pub(crate) fn capacity(
    subject: &Subject,
    profile: Profile,
    journal: &Journal,
) -> Result<Vec<Point>> {
    let Scale {
        capacity: [initial, most],
        error,
        careful,
        width,
        ..
    } = scale(profile);
    let search = CapacitySearch {
        initial: initial.into(),
        most: most.into(),
        error,
        ..CapacitySearch::default()
    };
    let test = test(profile, subject, most)?;
    let ceiling = ceiling(&test)?;
    let mut trials = Trials::new(&test, journal);
    let found = search.run(|connections, known| {
        if known.is_none() && profile == Profile::Rfc {
            return Ok(trials.highest(connections, width, ceiling)?.0);
        }
        let most = known.unwrap_or(careful);
        // Below this share of the rate before, there are too many connections: a higher precision is not needed.
        let error = most * search.beta / 2.0;
        RateSearch { most, error }.run(|rate| trials.passes(connections, rate, Late::SaysNothing))
    })?;
    if found.rate == 0.0 {
        return Err(trials.nothing("not even the first connections were established"));
    }
    let ends = [f64::from(initial), f64::from(most)];
    let point = Point::new("there", 0.0, found.connections as f64);
    let point = point.found_by(limits(ends, error as f64));
    Ok(vec![if found.is_at_the_end {
        point.with_ceiling(f64::from(most))
    } else {
        point
    }])
}

/// Measures the connection tear-down rate, by the number of connections (RFC 9693 section 4.8).
pub(crate) fn tear_down_rates(
    subject: &Subject,
    profile: Profile,
    journal: &Journal,
) -> Result<Vec<Point>> {
    let Scale {
        torn_down, careful, ..
    } = scale(profile);
    let most = torn_down.iter().copied().max().unwrap_or(1);
    let test = test(profile, subject, most)?;
    let mut trials = Trials::new(&test, journal);
    let mut points = Vec::new();
    for connections in torn_down.iter().copied() {
        let established = trials.establish(connections.into(), careful)?;
        if established.completeness() == Completeness::Some {
            return Err(trials.nothing("not all connections were established"));
        }
        let took = trials.tear_down(established)?;
        points.extend(
            tear_down(&[(connections.into(), took.as_secs_f64())])
                .map(|summary| Point::new("all at once", f64::from(connections), summary.median)),
        );
    }
    Ok(points)
}

/// Measures phase 2: the highest rate without loss through established connections, from the initiator and to it (RFC
/// 9693 section 4.7).
pub(crate) fn throughput(
    subject: &Subject,
    profile: Profile,
    journal: &Journal,
) -> Result<Vec<Point>> {
    let Scale {
        connections,
        careful,
        width,
        ..
    } = scale(profile);
    let test = test(profile, subject, connections)?;
    let ceiling = ceiling(&test)?;
    let mut trials = Trials::new(&test, journal);
    let established = trials.establish(connections.into(), careful)?;
    if established.completeness() == Completeness::Some {
        return Err(trials.nothing("not all connections were established"));
    }
    let (mut device, [initiated, answers]) = established.phase_2()?;
    let mut points = Vec::new();
    let ways = [
        ("forward", Streams::Rightward(initiated)),
        ("back", Streams::Leftward(answers)),
    ];
    for (way, streams) in ways {
        device = device.with_streams(streams)?;
        let journal = journal.of(way);
        let mut run = |rate, extent| {
            let trial = Trial {
                rate,
                extent,
                timeout: TIMEOUT,
            };
            journal.trial(|| device.run(&trial))
        };
        let flooded = run(f64::INFINITY, Extent::Frames(FLOOD))?;
        let reached = flooded.streams[0].received_rate;
        let most = (reached * ABOVE).min(ceiling.rate());
        let search = throughput::Search {
            range: Range {
                least: most / BELOW,
                most,
            },
            width,
            short: profile.length() / SHORTER,
            full: profile.length(),
        };
        let found = search.run(|offer| run(offer.rate, Extent::Time(offer.duration)))?;
        let rate = found.rate.ok_or_else(|| match found.limit {
            Limit::Sender => LabError::Tester("no rate could be offered in time".into()),
            _ => trials.nothing("frames are lost at every rate"),
        })?;
        let point = Point::new(way, 0.0, rate).with_ceiling(ceiling.rate());
        points.push(point.found_by(search.limits()));
    }
    Ok(points)
}

/// The time that it takes to remove a trial, about, in seconds: most of the time of an experiment.
const REMOVED: f64 = 0.5;

/// Estimates [`connection_rate`].
pub(crate) fn connection_rate_takes(profile: Profile) -> f64 {
    let Scale {
        connections, width, ..
    } = scale(profile);
    let trials = 3.0 + (1.0 / width).log2();
    trials * (REMOVED + f64::from(connections) / 100_000.0)
}

/// Estimates [`capacity`].
pub(crate) fn capacity_takes(profile: Profile) -> f64 {
    let Scale {
        capacity: [_, most],
        careful,
        ..
    } = scale(profile);
    3.0 * REMOVED + 4.0 * f64::from(most) / careful
}

/// Estimates [`tear_down_rates`].
pub(crate) fn tear_down_takes(profile: Profile) -> f64 {
    let Scale {
        torn_down, careful, ..
    } = scale(profile);
    let established = |connections: &u32| REMOVED + f64::from(*connections) / careful;
    torn_down.iter().map(established).sum()
}

/// Estimates [`throughput()`].
pub(crate) fn throughput_takes(profile: Profile) -> f64 {
    let Scale { width, .. } = scale(profile);
    let length = profile.length().as_secs_f64();
    2.0 * (3.0 * length + (1.0 / width).log2() * length / f64::from(SHORTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_that_others_disturbed_is_no_full_table() {
        let with = |void| TrialResult {
            rate: 1000.0,
            size: 64,
            streams: Vec::new(),
            void,
        };
        let slow = Void::SentSlowly {
            rate: 900.0,
            asked: 1000.0,
        };
        let judge = |late: Late, void| late.judge(Completeness::Some, &with(void)).ok();
        let not_all = Some(Completeness::Some);
        assert_eq!(judge(Late::IsTooFast, None), not_all);
        assert_eq!(judge(Late::SaysNothing, None), not_all);
        assert_eq!(judge(Late::IsTooFast, Some(slow.clone())), not_all);
        assert_eq!(judge(Late::SaysNothing, Some(slow)), None);
        let disturbed = || Some(Void::Disturbed("another process".into()));
        assert_eq!(judge(Late::IsTooFast, disturbed()), None);
        assert_eq!(judge(Late::SaysNothing, disturbed()), None);
    }
}
