//! The tester: a generator and a receiver for each direction, at both ends of a path.
//!
//! One core sends the stream to the right and another the stream to the left. The rest of a path in softirq (in the
//! kernel or in XDP) runs on the sender's core. On a machine with two cores, both directions together therefore use
//! both cores, and a gateway in user space, which needs a core of its own, can be measured in one direction only.

use std::time::{Duration, Instant};

use super::{
    observed::{Family, Tuples},
    receiver::{Receiver, Seen},
    result::{StreamResult, TrialResult, Void},
    search::recovery,
    trial::{Phases, Tolerance, Trial},
};
use crate::{
    LabError, Result,
    network::{
        place::Place,
        programs::{self, Attached},
        threads::join,
        topology::{HOST_INTERFACE, Network, mac_octets},
    },
    traffic::{
        generator::{Content, Flush, FrameSize, Generator, Leg, Sent, Stream, StreamId},
        packet::{Form, Packet},
    },
};

/// The core that sends to the right, and the one that sends to the left.
pub const CORES: [usize; 2] = [0, 1];
/// Learning frames per second.
const LEARNING_RATE: f64 = 10_000.0;
/// The interval at which a wait looks for arrivals.
const POLL: Duration = Duration::from_millis(1);

/// One end of the path under test: an interface of the tester.
#[derive(Debug, Clone)]
pub struct Port {
    /// The place of the interface.
    pub place: Place,
    /// Its name.
    pub interface: String,
    /// Its Ethernet address.
    pub address: [u8; 6],
    /// The Ethernet address of the device on the same link.
    pub peer: [u8; 6],
}

impl Port {
    /// Returns the port of a topology's host at a side (0 or 1) of the link of this index.
    pub fn of(network: &Network, node: &str, link: usize, side: usize) -> Result<Self> {
        Ok(Self {
            place: network.node(node)?.into(),
            interface: HOST_INTERFACE.into(),
            address: mac_octets(link, side),
            peer: mac_octets(link, 1 - side),
        })
    }
}

/// The traffic of one direction: the packets sent, and the form in which they must arrive.
#[derive(Debug, Clone)]
pub struct Traffic {
    /// One packet of each flow, 1 or more, all of one form. They take turns.
    pub packets: Vec<Packet>,
    /// The size of their frames.
    pub size: FrameSize,
    /// The form in which they arrive.
    pub arrives: Form,
}

/// The streams of a trial.
#[derive(Debug, Clone)]
pub enum Streams {
    /// From left to right.
    Rightward(Traffic),
    /// From left to right, in no tunnel there. The arrivals of a trial can be answered.
    Observed(Traffic),
    /// From right to left.
    Leftward(Traffic),
    /// Both, the first to the right.
    Both(Traffic, Traffic),
}

impl Streams {
    /// Returns the size of the frames of the first one.
    fn size(&self) -> FrameSize {
        match self {
            Self::Rightward(traffic)
            | Self::Observed(traffic)
            | Self::Leftward(traffic)
            | Self::Both(traffic, _) => traffic.size,
        }
    }

    /// Returns the port at which nothing arrives, if there is one.
    fn silent<'a>(&self, [left, right]: [&'a Port; 2]) -> Option<&'a Port> {
        match self {
            Self::Rightward(_) | Self::Observed(_) => Some(left),
            Self::Leftward(_) => Some(right),
            Self::Both(..) => None,
        }
    }

    /// Attaches the generators and receivers to the left port and the right one.
    fn attach(self, [left, right]: [&Port; 2]) -> Result<Vec<Direction>> {
        let rightward = |traffic, keep| {
            Direction::new([left, right], traffic, StreamId::RIGHTWARD, CORES[0], keep)
        };
        let leftward = |traffic, core| {
            Direction::new(
                [right, left],
                traffic,
                StreamId::LEFTWARD,
                core,
                Keep::Nothing,
            )
        };
        Ok(match self {
            Self::Rightward(traffic) => vec![rightward(traffic, Keep::Nothing)?],
            Self::Observed(traffic) => vec![rightward(traffic, Keep::Tuples)?],
            Self::Leftward(traffic) => vec![leftward(traffic, CORES[0])?],
            Self::Both(to_the_right, to_the_left) => {
                require_all_cores()?;
                vec![
                    rightward(to_the_right, Keep::Nothing)?,
                    leftward(to_the_left, CORES[1])?,
                ]
            }
        })
    }
}

/// Checks that both streams can have a core of their own.
///
/// # Errors
/// There are fewer cores.
fn require_all_cores() -> Result<()> {
    let needed = CORES.len();
    let present = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    if present < needed {
        return Err(LabError::TooFewCores { needed, present });
    }
    Ok(())
}

/// A tester between two ports.
pub struct Tester {
    directions: Vec<Direction>,
    phases: Phases,
    tolerance: Tolerance,
    size: FrameSize,
    /// The program that makes the port without a receiver poll.
    _polling: Option<Attached>,
}

/// A stream with its generators and its receiver.
struct Direction {
    generator: Generator,
    receiver: Receiver,
    tuples: Option<Tuples>,
}

/// Whether a receiver keeps addresses and ports.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Nothing,
    Tuples,
}

impl Direction {
    fn new(
        [from, to]: [&Port; 2],
        traffic: Traffic,
        id: StreamId,
        core: usize,
        keep: Keep,
    ) -> Result<Self> {
        let form = traffic.packets[0].form();
        fits(from, traffic.size)?;
        let size = traffic.size.when(form, traffic.arrives);
        fits(to, size)?;
        let family = match traffic.arrives {
            Form::V4 | Form::FourInSix => Family::V4,
            Form::V6 | Form::SixInFour => Family::V6,
        };
        let (receiver, tuples) = match keep {
            Keep::Tuples => {
                let count = traffic.packets.len() as u32;
                let (receiver, tuples) =
                    Receiver::observe(&to.place, &to.interface, id, family, size, count)?;
                (receiver, Some(tuples))
            }
            Keep::Nothing => {
                let form = traffic.arrives;
                (
                    Receiver::attach(&to.place, &to.interface, id, form, size)?,
                    None,
                )
            }
        };
        let stream = Stream {
            packets: traffic.packets,
            to: from.peer,
            from: from.address,
            content: Content::Tag(id, traffic.size),
        };
        Ok(Self {
            generator: Generator::at(from.place.clone(), &from.interface, stream, core)?,
            receiver,
            tuples,
        })
    }
}

/// Checks that frames of this size fit the link.
///
/// # Errors
/// Frames of this size do not fit the link.
fn fits(port: &Port, size: FrameSize) -> Result<()> {
    let mtu = port.place.mtu(&port.interface)?;
    if size.mtu() <= mtu {
        return Ok(());
    }
    Err(LabError::FrameTooLarge {
        size: size.octets(),
        interface: port.interface.clone(),
        mtu,
        needed: size.mtu(),
    })
}

impl Tester {
    /// Attaches a tester to two ports. Dropping it detaches its programs.
    ///
    /// # Errors
    /// Frames are larger than a link's MTU; or there are two streams, and only one core.
    pub fn new(
        left: &Port,
        right: &Port,
        streams: Streams,
        phases: Phases,
        tolerance: Tolerance,
    ) -> Result<Self> {
        let size = streams.size();
        let silent = streams.silent([left, right]);
        let directions = streams.attach([left, right])?;
        let pass = |port: &Port| {
            Attached::attach_at(programs::load()?, "pass", &port.place, &port.interface)
        };
        let polling = silent.map(pass).transpose()?;
        Ok(Self {
            directions,
            phases,
            tolerance,
            size,
            _polling: polling,
        })
    }

    /// Runs a trial with its phases, to count what arrives. Its delays include those of the sender's batches.
    pub fn run(&mut self, trial: &Trial) -> Result<TrialResult> {
        self.trial(trial, Flush::Batches)
    }

    /// Runs a trial in which each frame leaves when it is due, to measure delays.
    pub fn time(&mut self, trial: &Trial) -> Result<TrialResult> {
        self.trial(trial, Flush::EachFrame)
    }

    fn trial(&mut self, trial: &Trial, flush: Flush) -> Result<TrialResult> {
        let outcomes = self.run_legs(&[trial.leg()], trial.timeout, flush)?;
        let void = outcomes
            .iter()
            .find_map(|outcome| self.void(&trial.leg(), &outcome.sent[0]));
        Ok(TrialResult {
            rate: trial.rate,
            size: self.size.octets(),
            streams: outcomes.iter().map(Observation::result).collect(),
            void,
        })
    }

    /// Overloads the device, then reduces the load (see [`recovery::legs`]). Returns how long each stream went on
    /// losing frames, or `None` if a leg was sent late.
    pub fn recovery(
        &mut self,
        legs: &[Leg; 2],
        timeout: Duration,
    ) -> Result<Option<Vec<Duration>>> {
        let outcomes = self.run_legs(legs, timeout, Flush::Batches)?;
        let late = |outcome: &Observation| {
            let mut pairs = legs.iter().zip(&outcome.sent);
            pairs.any(|(leg, sent)| self.void(leg, sent).is_some())
        };
        if outcomes.iter().any(late) {
            return Ok(None);
        }
        let time = |outcome: &Observation| recovery::time(outcome.sent[1].begun, outcome.seen.gap);
        Ok(Some(outcomes.iter().map(time).collect()))
    }

    /// Returns a packet in answer to each frame of the last trial that arrived, if the stream is observed.
    pub fn answers(&self) -> Result<Vec<Packet>> {
        let tuples = self
            .directions
            .iter()
            .filter_map(|direction| direction.tuples.as_ref());
        let answers = tuples.map(Tuples::answers).collect::<Result<Vec<_>>>()?;
        Ok(answers.concat())
    }

    /// Returns why a leg does not count, if so.
    fn void(&self, leg: &Leg, sent: &Sent) -> Option<Void> {
        let Tolerance { share, rate, .. } = self.tolerance;
        let least = leg.rate * (1.0 - rate);
        if sent.late as f64 > share * sent.frames as f64 {
            return Some(Void::SentLate {
                late: sent.late,
                sent: sent.frames,
                latest_ns: sent.latest.as_nanos() as u64,
            });
        }
        // A single frame has no rate.
        let slow = leg.rate.is_finite() && sent.frames > 1 && sent.rate() < least;
        slow.then(|| Void::SentSlowly {
            rate: sent.rate(),
            asked: leg.rate,
        })
    }

    /// Runs all streams through legs that follow each other without a pause, with the phases of a trial.
    fn run_legs(
        &mut self,
        legs: &[Leg],
        timeout: Duration,
        flush: Flush,
    ) -> Result<Vec<Observation>> {
        if self.phases.learning > 0 {
            let learning = Leg {
                rate: LEARNING_RATE,
                frames: self.phases.learning,
            };
            self.send(&[learning], flush)?;
            std::thread::sleep(self.phases.learned);
        }
        for direction in &mut self.directions {
            let first = direction.generator.next_number()?;
            direction.receiver.expect(first, timeout)?;
        }
        let sent = self.send(legs, flush)?;
        self.wait_for_residue(&sent, timeout)?;
        let outcome = |(direction, sent): (&Direction, Vec<Sent>)| {
            let seen = direction.receiver.seen()?;
            Ok(Observation { sent, seen })
        };
        let outcomes = self.directions.iter().zip(sent).map(outcome).collect();
        std::thread::sleep(self.phases.rest);
        outcomes
    }

    fn send(&mut self, legs: &[Leg], flush: Flush) -> Result<Vec<Vec<Sent>>> {
        let by = self.tolerance.by;
        std::thread::scope(|scope| {
            let directions = self.directions.iter_mut();
            let senders: Vec<_> = directions
                .map(|direction| scope.spawn(move || direction.generator.send(legs, by, flush)))
                .collect();
            senders.into_iter().map(join).collect()
        })
    }

    fn wait_for_residue(&self, sent: &[Vec<Sent>], timeout: Duration) -> Result<()> {
        let ended = Instant::now();
        std::thread::sleep(self.phases.residue);
        for (direction, sent) in self.directions.iter().zip(sent) {
            let sent: u64 = sent.iter().map(|sent| sent.frames).sum();
            while direction.receiver.count()? < sent && ended.elapsed() < timeout {
                std::thread::sleep(POLL);
            }
        }
        Ok(())
    }
}

/// The frames sent in one direction, and the arrivals.
pub(super) struct Observation {
    pub(super) sent: Vec<Sent>,
    pub(super) seen: Seen,
}

impl Observation {
    fn result(&self) -> StreamResult {
        let Self { sent, seen } = self;
        let arrivals = seen.arrivals.clone();
        let received_rate = match seen.took {
            0 => 0.0,
            took => (arrivals.received - 1) as f64 * 1e9 / took as f64,
        };
        StreamResult {
            sent: sent.iter().map(|sent| sent.frames).sum(),
            sent_rate: sent.first().map_or(0.0, Sent::rate),
            late: sent.iter().map(|sent| sent.late).sum(),
            latest_ns: sent
                .iter()
                .map(|sent| sent.latest.as_nanos() as u64)
                .max()
                .unwrap_or(0),
            received_rate,
            arrivals,
            delay: seen.delay.clone(),
            variation: seen.variation,
        }
    }
}
