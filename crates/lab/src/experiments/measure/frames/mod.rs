//! Tagged frames through a running subject, by the tester of RFC 8219 in the place of both hosts.
//!
//! * this module: directions, frames, and thoroughness
//! * [`throughput`]: rates without loss; by the number of flows
//! * [`delay`]: latency and its variation at those rates
//! * [`steady`]: a load at a given rate
//! * [`loss`]: loss over the load, and the longest burst without it
//! * [`outage`]: the time for which frames are lost after an overload, and during a restart of a gateway

pub(crate) mod delay;
pub(crate) mod loss;
pub(crate) mod outage;
pub(crate) mod steady;
pub(crate) mod throughput;

use std::{net::IpAddr, ops::RangeInclusive, time::Duration};

use super::{
    super::{
        journal::Journal,
        profile::Profile,
        subject::{Carries, Setup, Subject},
        testbed::Testbed,
    },
    alone::Alone,
};
use crate::{
    LabError, Result,
    network::plan,
    subjects::provider,
    traffic::{
        generator::{FIRST_PORT, FrameSize, PORT},
        packet::{Ends, Form},
        tester::{
            Extent, Flows, Networks, Phases, Ports, Streams, Tester, Tolerance, Traffic, Trial,
            TrialResult, search::Offer,
        },
    },
};

/// Frames of RFC 8219 section 5.1.1 that links of 1500 octets carry, in octets with check sequence.
const SIZES: [u16; 8] = [64, 128, 256, 512, 768, 1024, 1280, 1518];
/// The number of flows, where it is not the axis: fewer than the ports that a customer of MAP has here.
const FLOWS: u32 = 100;
/// Source ports, of those of RFC 4814 section 4.5.
const SOURCES: RangeInclusive<u16> = FIRST_PORT..=65_023;
/// The lowest rate of interest, in frames per second.
const LEAST: f64 = 1000.0;
/// The frames of a trial that finds how fast they can leave one by one, and the number of such trials.
const LONE_FRAMES: u64 = 20_000;
const LONE_TRIALS: u32 = 2;
/// The MTU of the links.
const MTU: u32 = 1500;

/// Returns whether frames can be sent through it that open their sessions, if any, themselves: both hosts are plain
/// ones, and the gateways carry packets.
pub(crate) fn is_known(subject: &Subject) -> bool {
    subject.carries == Carries::Packets
        && matches!(subject.setup, Setup::Middle(..) | Setup::Provider(..))
}

/// Returns whether packets from the server pass without a session.
fn is_stateless(subject: &Subject) -> bool {
    let mechanisms = [
        "native IPv4",
        "native IPv6",
        "SIIT",
        "6in4",
        "6to4",
        "6rd",
        "4in6",
    ];
    mechanisms.contains(&subject.mechanism)
}

/// Returns the sizes that a profile measures: the smallest is the hardest.
pub(crate) fn sizes(profile: Profile) -> &'static [u16] {
    match profile {
        Profile::Smoke => &[64],
        Profile::Standard => &[64, 512, 1518],
        Profile::Rfc => &SIZES,
    }
}

/// The traffic through a subject at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Direction {
    /// The series of its points.
    pub(super) series: &'static str,
    routes: Routes,
}

/// The senders, and the routes of their packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Routes {
    /// The client sends.
    There(Route),
    /// The server sends.
    Back(Route),
    /// Both send: the client's route, and the server's.
    Both(Route, Route),
}

/// A route through a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Route {
    ends: Ends,
    arrives: Form,
    /// The most octets by which a frame grows on the route.
    growth: u32,
}

/// Returns the directions through a subject. The first is the client's, and the only one in `smoke`.
fn directions(testbed: &Testbed, profile: Profile) -> Result<Vec<Direction>> {
    let subject = testbed.subject();
    let [client, server] = testbed.own();
    let translates = client.is_ipv4() != server.is_ipv4();
    let names = match (client, server) {
        (IpAddr::V6(_), IpAddr::V4(_)) => ["6to4", "4to6"],
        (IpAddr::V4(_), IpAddr::V6(_)) => ["4to6", "6to4"],
        _ => ["forward", "back"],
    };
    let growth = |from: IpAddr, to: IpAddr| match subject.setup {
        Setup::Provider(mechanism, ..) => added(mechanism),
        _ if from.is_ipv4() && to.is_ipv6() => 20,
        _ => 0,
    };
    let route = |[source, destination]: [IpAddr; 2], to| {
        let no_route = || {
            LabError::Tester(format!(
                "a packet has no way from {source} to {destination}"
            ))
        };
        Ok::<_, LabError>(Route {
            ends: Ends::between(source, destination).ok_or_else(no_route)?,
            arrives: Form::of(to),
            growth: growth(source, to),
        })
    };
    let mut all = vec![Direction {
        series: names[0],
        routes: Routes::There(route([client, testbed.address()], server)?),
    }];
    if is_stateless(subject) && profile != Profile::Smoke {
        let seen = if translates {
            plan::HOST6_AS_IPV4.into()
        } else {
            client
        };
        all.push(Direction {
            series: names[1],
            routes: Routes::Back(route([server, seen], client)?),
        });
    }
    Ok(all)
}

/// Returns both directions at once, if there are two.
fn both_ways(directions: &[Direction]) -> Option<Direction> {
    let [there, back] = directions else {
        return None;
    };
    match (there.routes, back.routes) {
        (Routes::There(there), Routes::Back(back)) => Some(Direction {
            series: "both ways",
            routes: Routes::Both(there, back),
        }),
        _ => None,
    }
}

/// Returns the octets by which a packet grows in the core of a provider.
fn added(mechanism: &provider::Mechanism) -> u32 {
    match (mechanism.core, mechanism.transport) {
        (provider::Core::V6, provider::Transport::Tunnel) => 40,
        (provider::Core::V4, provider::Transport::Tunnel) => 20,
        (_, provider::Transport::Translation) => 20,
    }
}

impl Direction {
    /// Returns a size of RFC 8219 for frames of this direction, of the client's if both hosts send; `None` if they
    /// grow beyond a link's MTU.
    fn size(&self, octets: u16) -> Option<FrameSize> {
        let form = self.form();
        // RFC 8219 section 5.1.1: 84 octets in place of 64 where 64 are too few.
        let size = FrameSize::new(octets, form).unwrap_or(FrameSize::least(form));
        let fits = |route: Route, size: FrameSize| size.mtu() + route.growth <= MTU;
        let all_fit = match self.routes {
            Routes::There(route) | Routes::Back(route) => fits(route, size),
            Routes::Both(there, back) => {
                fits(there, size) && fits(back, there.answered(size, back))
            }
        };
        all_fit.then_some(size)
    }

    /// Returns the form of the frames of the first sender.
    fn form(&self) -> Form {
        let (Routes::There(first) | Routes::Back(first) | Routes::Both(first, _)) = self.routes;
        first.ends.form()
    }

    fn streams(&self, size: FrameSize, flows: u32) -> Streams {
        // Each flow has a port of its own at the sender's end: a NAT44 on the route gives each a port as well.
        let flows = Flows {
            count: flows,
            networks: Networks::One,
            ports: Ports::Permuted(SOURCES, PORT..=PORT),
        };
        let traffic = |route: Route, size| Traffic {
            packets: flows.packets(|_| route.ends),
            size,
            arrives: route.arrives,
        };
        match self.routes {
            Routes::There(route) => Streams::Rightward(traffic(route, size)),
            Routes::Back(route) => Streams::Leftward(traffic(route, size)),
            Routes::Both(there, back) => Streams::Both(
                traffic(there, size),
                traffic(back, there.answered(size, back)),
            ),
        }
    }
}

impl Route {
    /// Returns the size of the frame that answers one of this size.
    fn answered(self, size: FrameSize, back: Self) -> FrameSize {
        size.when(self.ends.form(), back.ends.form())
    }
}

/// The parameters of sending: the phases of a trial, the timeout of a frame, and the tolerance of lateness.
struct Manner {
    phases: Phases,
    timeout: Duration,
    tolerance: Tolerance,
}

impl Manner {
    fn of(profile: Profile, flows: u32) -> Self {
        let (phases, milliseconds) = match profile {
            Profile::Smoke => (Phases::shortened(400), 50),
            Profile::Standard => (Phases::shortened(100), 100),
            Profile::Rfc => (Phases::rfc(), 1000),
        };
        let strict = Tolerance::default();
        Self {
            phases: Phases {
                learning: u64::from(flows),
                ..phases
            },
            timeout: Duration::from_millis(milliseconds),
            // Other work on the sender's core makes single frames late, and trials are short.
            tolerance: match profile {
                Profile::Smoke | Profile::Standard => Tolerance {
                    share: 0.01,
                    rate: 0.005,
                    ..strict
                },
                Profile::Rfc => strict,
            },
        }
    }
}

/// Attaches the tester to both ends of a testbed.
fn tester(testbed: &Testbed, streams: Streams, manner: &Manner) -> Result<Tester> {
    let [left, right] = testbed.ports()?;
    Tester::new(&left, &right, streams, manner.phases, manner.tolerance)
}

/// A tester with the streams of one direction, and its own figures.
pub(super) struct Bench {
    tester: Tester,
    timeout: Duration,
    alone: Alone,
    journal: Journal,
}

impl Bench {
    fn new(
        testbed: &Testbed,
        direction: &Direction,
        size: FrameSize,
        flows: u32,
        profile: Profile,
    ) -> Result<Self> {
        let streams = direction.streams(size, flows);
        let alone = Alone::of(&streams)?;
        let manner = Manner::of(profile, flows);
        Ok(Self {
            tester: tester(testbed, streams, &manner)?,
            timeout: manner.timeout,
            alone,
            journal: testbed.journal().of(direction.series),
        })
    }

    /// Returns the same for the values at a place on the axis.
    fn at(self, place: impl Into<f64>) -> Self {
        Self {
            journal: self.journal.at(place),
            ..self
        }
    }

    /// Runs a trial at a rate.
    fn offer(&mut self, offer: Offer) -> Result<TrialResult> {
        let trial = Trial {
            rate: offer.rate,
            extent: Extent::Time(offer.duration),
            timeout: self.timeout,
        };
        self.journal.trial(|| self.tester.run(&trial))
    }

    /// Runs a trial at a rate for its delays: each frame leaves when it is due.
    fn time(&mut self, offer: Offer) -> Result<TrialResult> {
        let trial = Trial {
            rate: offer.rate,
            extent: Extent::Time(offer.duration),
            timeout: self.timeout,
        };
        self.journal.trial(|| self.tester.time(&trial))
    }

    /// Returns the highest rate at which frames can be sent that leave alone, in frames per second of each sender. A subject
    /// on the sender's core takes part of its time, and more of it than where frames pass it in batches.
    fn lone_rate(&mut self) -> Result<f64> {
        let trial = Trial {
            rate: f64::INFINITY,
            extent: Extent::Frames(LONE_FRAMES),
            timeout: self.timeout,
        };
        let mut best = 0.0_f64;
        // Other work makes a trial slower, and nothing makes it faster.
        for _ in 0..LONE_TRIALS {
            let result = self.journal.trial(|| self.tester.time(&trial))?;
            let rates = result.streams.iter().map(|stream| stream.sent_rate);
            best = best.max(rates.fold(f64::INFINITY, f64::min));
        }
        Ok(best)
    }

    /// Sends this many frames as fast as the sender can.
    fn burst(&mut self, frames: u64) -> Result<TrialResult> {
        let trial = Trial {
            rate: f64::INFINITY,
            extent: Extent::Frames(frames),
            timeout: self.timeout,
        };
        self.journal.trial(|| self.tester.run(&trial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        experiments::{links::Links, subject::Maker, subjects},
        subjects::isthmus::Engine,
    };

    fn direction(ends: Ends, growth: u32) -> Direction {
        Direction {
            series: "forward",
            routes: Routes::There(Route {
                ends,
                arrives: Form::V4,
                growth,
            }),
        }
    }

    #[test]
    fn a_frame_is_as_large_as_its_form_and_the_links_allow() {
        let six = Ends::V6(plan::HOST6, plan::HOST4_AS_IPV6);
        let four = Ends::V4(plan::HOST6_AS_IPV4, plan::HOST4);
        // RFC 8219 section 5.1.1.
        let octets = |direction: Direction, octets| direction.size(octets).map(FrameSize::octets);
        assert_eq!(octets(direction(six, 0), 64), Some(84));
        assert_eq!(octets(direction(four, 0), 64), Some(64));
        // 1518 octets are a packet of 1500, which does not fit with another IPv6 header.
        assert_eq!(octets(direction(four, 0), 1518), Some(1518));
        assert_eq!(octets(direction(four, 40), 1518), None);
        assert_eq!(octets(direction(four, 40), 1280), Some(1280));
    }

    #[test]
    fn an_answer_is_as_much_longer_as_its_header() {
        let six = Route {
            ends: Ends::V6(plan::HOST4_AS_IPV6, plan::HOST6),
            arrives: Form::V4,
            growth: 0,
        };
        let four = Route {
            ends: Ends::V4(plan::HOST6_AS_IPV4, plan::HOST4),
            arrives: Form::V6,
            growth: 20,
        };
        let both = |there, back| {
            let one = |series, routes| Direction { series, routes };
            both_ways(&[
                one("there", Routes::There(there)),
                one("back", Routes::Back(back)),
            ])
            .unwrap()
        };
        let sizes = |direction: Direction| {
            let size = direction.size(64).unwrap();
            match direction.streams(size, 3) {
                Streams::Both(there, back) => [there.size.octets(), back.size.octets()],
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(sizes(both(six, four)), [84, 64]);
        assert_eq!(sizes(both(four, six)), [64, 84]);
        // 1500 octets of IPv4 are 1520 of IPv6.
        assert_eq!(both(four, six).size(1518), None);
        assert!(both(four, six).size(1280).is_some());
    }

    #[test]
    fn every_flow_has_a_unique_port() {
        let ends = Ends::V4(plan::HOST6_AS_IPV4, plan::HOST4);
        let Streams::Rightward(traffic) =
            direction(ends, 0).streams(FrameSize::least(Form::V4), 300)
        else {
            panic!("the client sends to the right");
        };
        let mut ports: Vec<u16> = traffic
            .packets
            .iter()
            .map(|packet| packet.ports.0)
            .collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 300);
    }

    /// Through every mechanism, in every direction, nothing is lost at a light load. Frames that other work on the
    /// machine makes late do not matter here.
    #[test]
    #[ignore = "builds every network, as root: of the tier namespaces"]
    fn frames_arrive_in_every_direction() {
        let manner = Manner {
            timeout: Duration::from_secs(4),
            tolerance: Tolerance {
                by: Duration::from_secs(10),
                share: 1.0,
                rate: 1.0,
            },
            ..Manner::of(Profile::Standard, FLOWS)
        };
        let one_of_ours = |subject: &Subject| match subject.maker {
            Maker::Isthmus(engine) => engine == Engine::Xdp,
            _ => true,
        };
        let here = |subject: &Subject| subject.describe().missing.is_none();
        let all = subjects();
        let asked = all
            .iter()
            .filter(|one| is_known(one) && one_of_ours(one) && here(one));
        for subject in asked {
            let testbed = Testbed::build(subject, Links::Unlimited).unwrap();
            let directions = directions(&testbed, Profile::Standard).unwrap();
            for direction in directions.iter().copied().chain(both_ways(&directions)) {
                for octets in [64, 1280] {
                    let size = direction.size(octets).unwrap();
                    let streams = direction.streams(size, FLOWS);
                    let mut tester = tester(&testbed, streams, &manner).unwrap();
                    let trial = Trial {
                        rate: 2000.0,
                        extent: Extent::Frames(200),
                        timeout: manner.timeout,
                    };
                    let result = tester.run(&trial).unwrap();
                    let series = direction.series;
                    for stream in &result.streams {
                        let arrivals = &stream.arrivals;
                        assert_eq!(arrivals.received, 200, "{subject} {series}: {arrivals:?}");
                    }
                }
            }
        }
    }
}
