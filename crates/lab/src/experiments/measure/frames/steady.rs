//! A load at a given rate, which is verified: what was not sent is no loss, and makes the measurement void.

use std::time::Duration;

use super::{
    super::super::{profile::Profile, testbed::Testbed},
    FLOWS, Manner, directions, tester,
};
use crate::{
    LabError, Result,
    experiments::validity::OFFERED,
    traffic::{
        generator::FrameSize,
        tester::{Extent, Trial, TrialResult},
    },
};

/// The series of its figures.
pub(crate) const STEADY: &str = "udp";

/// A load that was sent as it was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Steady {
    /// Datagrams sent.
    pub(crate) sent: u64,
    /// Datagrams that arrived whole and in time, each counted once.
    pub(crate) received: u64,
    /// Datagrams sent per second.
    pub(crate) rate: f64,
    /// The jitter (RFC 3550 section 6.4.1), in seconds; absent if nothing arrived.
    pub(crate) jitter: Option<f64>,
}

impl Steady {
    /// Judges a trial of one stream.
    ///
    /// # Errors
    /// It is void, or less was sent than was asked for.
    fn of(result: &TrialResult) -> Result<Self> {
        if let Some(void) = &result.void {
            return Err(LabError::Tester(void.to_string()));
        }
        let void = |why: String| Err(LabError::Tester(why));
        let Some(stream) = result.streams.first() else {
            return void("there was no stream".into());
        };
        if stream.sent_rate < OFFERED * result.rate {
            return void(format!(
                "{:.0} datagrams per second were sent in place of {:.0}",
                stream.sent_rate, result.rate
            ));
        }
        Ok(Self {
            sent: stream.sent,
            received: stream.arrivals.received,
            rate: stream.sent_rate,
            jitter: stream.delay.as_ref().map(|delay| delay.jitter / 1e9),
        })
    }

    /// Returns the share that did not arrive: 0 to 1.
    pub(crate) fn loss(&self) -> f64 {
        1.0 - self.received as f64 / self.sent as f64
    }

    /// Returns the datagrams that arrived per second.
    pub(crate) fn delivered(&self) -> f64 {
        self.rate * (1.0 - self.loss())
    }
}

/// A load of datagrams from the client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer {
    /// The payload of each, in octets.
    pub(crate) octets: u32,
    /// Datagrams per second, evenly.
    pub(crate) rate: f64,
    /// The time for which they are sent.
    pub(crate) duration: Duration,
    /// The time that a datagram may take; the profile's if there is none.
    pub(crate) timeout: Option<Duration>,
}

/// Sends a load.
pub(crate) fn send(testbed: &Testbed, profile: Profile, offer: &Offer) -> Result<Steady> {
    let all = directions(testbed, Profile::Smoke)?;
    let direction = all
        .first()
        .ok_or_else(|| LabError::NoNode("client".into()))?;
    let size = FrameSize::with_payload(offer.octets as u16, direction.form())
        .map_err(|error| LabError::Tester(error.to_string()))?;
    let manner = Manner::of(profile, FLOWS);
    let mut tester = tester(testbed, direction.streams(size, FLOWS), &manner)?;
    let trial = Trial {
        rate: offer.rate,
        extent: Extent::Time(offer.duration),
        timeout: offer.timeout.unwrap_or(manner.timeout),
    };
    let journal = testbed.journal().of(STEADY).at(offer.octets);
    Steady::of(&journal.trial(|| tester.time(&trial))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tester::{Arrivals, StreamResult, Void};

    /// Returns a trial of this many frames, of which some arrived.
    fn trial(sent_rate: f64, received: u64) -> TrialResult {
        TrialResult {
            rate: 10_000.0,
            size: 128,
            streams: vec![StreamResult {
                sent: 5000,
                sent_rate,
                arrivals: Arrivals {
                    received,
                    ..Arrivals::default()
                },
                ..StreamResult::default()
            }],
            void: None,
        }
    }

    #[test]
    fn a_subject_that_drops_all_loses_all() {
        let steady = Steady::of(&trial(10_000.0, 0)).unwrap();
        assert_eq!(
            (steady.loss(), steady.delivered(), steady.jitter),
            (1.0, 0.0, None)
        );
    }

    #[test]
    fn a_subject_that_drops_every_other_packet_loses_half() {
        let steady = Steady::of(&trial(10_000.0, 2500)).unwrap();
        assert_eq!((steady.loss(), steady.delivered()), (0.5, 5000.0));
    }

    #[test]
    fn what_was_not_sent_is_no_loss_but_void() {
        assert!(matches!(
            Steady::of(&trial(8100.0, 5000)),
            Err(LabError::Tester(_))
        ));
        let disturbed = TrialResult {
            void: Some(Void::Disturbed("others".into())),
            ..trial(10_000.0, 5000)
        };
        assert!(matches!(Steady::of(&disturbed), Err(LabError::Tester(_))));
    }
}
