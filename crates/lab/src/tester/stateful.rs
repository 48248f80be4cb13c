//! A device with state under test, in the two phases of RFC 9693.
//!
//! In phase 1 the initiator, at the left, sends one frame of each flow; the responder, at the right, keeps the
//! addresses and ports that arrive. In phase 2 it sends a frame back by each of them, which the device
//! knows or drops.

use std::time::Duration;

use super::{
    pair::{Streams, Traffic},
    result::TrialResult,
    search::connections::Outcome,
    single::SingleDevice,
    trial::{Extent, Phases, Tolerance, Trial},
};
use crate::{Result, packet::Packet, subject::Subject};

/// A test of a device with state.
pub struct Stateful<'a> {
    /// The device. It is started anew for every trial: its table is empty then.
    pub subject: &'a dyn Subject,
    /// What the initiator sends: one packet of each flow, no two alike.
    pub initiated: Traffic,
    /// The phases of each trial. Learning frames would make connections: there should be none.
    pub phases: Phases,
    /// How punctually frames have to be sent.
    pub tolerance: Tolerance,
    /// A frame that takes longer is lost.
    pub timeout: Duration,
}

/// A device after phase 1.
pub struct Established {
    /// What became of phase 1.
    pub result: TrialResult,
    path: SingleDevice,
    answers: Traffic,
    timeout: Duration,
}

impl Stateful<'_> {
    /// Phase 1, at so many connections per second.
    pub fn establish(&self, rate: f64) -> Result<Established> {
        let traffic = self.initiated.clone();
        let form = traffic.packets[0].form();
        let streams = Streams::Observed(traffic);
        let mut path = SingleDevice::build(self.subject, streams, self.phases, self.tolerance)?;
        let result = path.run(&Trial {
            rate,
            extent: Extent::Frames(self.initiated.packets.len() as u64),
            timeout: self.timeout,
        })?;
        let answers = Traffic {
            packets: path.tester().answers()?,
            size: self.initiated.size.when(form, self.initiated.arrives),
            arrives: form,
        };
        Ok(Established {
            result,
            path,
            answers,
            timeout: self.timeout,
        })
    }
}

impl Established {
    /// Whether every connection was established.
    pub fn outcome(&self) -> Outcome {
        if self.result.void.is_none() && self.result.lost() == 0 {
            Outcome::All
        } else {
            Outcome::Some
        }
    }

    /// The packets by which the responder answers.
    pub fn answers(&self) -> &[Packet] {
        &self.answers.packets
    }

    /// Validation: phase 2 with one frame back through each connection, at so many per second. Nothing if
    /// there is none.
    pub fn validate(self, rate: f64) -> Result<Option<TrialResult>> {
        if self.answers.packets.is_empty() {
            return Ok(None);
        }
        let trial = Trial {
            rate,
            extent: Extent::Frames(self.answers.packets.len() as u64),
            timeout: self.timeout,
        };
        let mut path = self.path.with_streams(Streams::Leftward(self.answers))?;
        path.run(&trial).map(Some)
    }
}
