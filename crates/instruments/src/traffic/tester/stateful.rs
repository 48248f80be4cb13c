//! A device with state under test, in the two phases of RFC 9693.
//!
//! In phase 1 the initiator, at the left, sends one frame of each flow; the responder, at the right, keeps the
//! addresses and ports of the arrivals. In phase 2 it sends a frame back by each of them, which the device forwards
//! if it has the connection. The table of the device is empty before each phase 1.

use std::time::Duration;

use super::{
    pair::{Streams, Traffic},
    result::TrialResult,
    search::connections::Completeness,
    single::SingleDevice,
    trial::{Extent, Phases, Tolerance, Trial},
};
use crate::{
    Result,
    network::{device::Device, topology::Network},
    traffic::packet::Packet,
};

/// A test of a device with state.
pub struct Stateful<'a> {
    /// The device.
    pub device: &'a dyn Device,
    /// The initiator's traffic: one packet of each flow, no two alike.
    pub initiated: Traffic,
    /// The phases of each trial. Learning frames would open connections, so there should be none.
    pub phases: Phases,
    /// The required punctuality.
    pub tolerance: Tolerance,
    /// A frame that takes longer is lost.
    pub timeout: Duration,
}

/// A device whose table is empty.
pub struct Empty<'a> {
    test: &'a Stateful<'a>,
    path: SingleDevice,
}

/// A device after phase 1.
pub struct Established<'a> {
    /// The result of phase 1.
    pub result: TrialResult,
    test: &'a Stateful<'a>,
    path: SingleDevice,
}

impl Stateful<'_> {
    /// Builds the network and starts the device.
    pub fn build(&self) -> Result<Empty<'_>> {
        let streams = Streams::Observed(self.initiated.clone());
        let path = SingleDevice::build(self.device, streams, self.phases, self.tolerance)?;
        Ok(Empty { test: self, path })
    }

    fn trial(&self, connections: u64, rate: f64) -> Trial {
        Trial {
            rate,
            extent: Extent::Frames(connections),
            timeout: self.timeout,
        }
    }
}

impl<'a> Empty<'a> {
    /// Returns the network, for those who inspect it.
    pub fn network(&self) -> &Network {
        self.path.network()
    }

    /// Runs phase 1: this many connections, at most one per packet, at this rate per second.
    pub fn establish(mut self, connections: u64, rate: f64) -> Result<Established<'a>> {
        let result = self.path.run(&self.test.trial(connections, rate))?;
        Ok(Established {
            result,
            test: self.test,
            path: self.path,
        })
    }
}

impl<'a> Established<'a> {
    /// Returns whether all connections were established.
    pub fn completeness(&self) -> Completeness {
        if self.result.void.is_none() && self.result.lost() == 0 {
            Completeness::All
        } else {
            Completeness::Some
        }
    }

    /// Returns the network, for those who inspect the device.
    pub fn network(&self) -> &Network {
        self.path.network()
    }

    /// Returns the packets by which the responder answers: one for each connection, if all were established.
    pub fn answers(&mut self) -> Result<Vec<Packet>> {
        let mut answers = self.path.tester().answers()?;
        answers.truncate(self.result.sent() as usize);
        Ok(answers)
    }

    /// Validates the connections: phase 2 with one frame back through each, at this rate per second. Returns `None`
    /// if not all were established.
    pub fn validate(mut self, rate: f64) -> Result<Option<TrialResult>> {
        if self.completeness() == Completeness::Some {
            return Ok(None);
        }
        let answers = self.answered()?;
        let trial = self.test.trial(answers.packets.len() as u64, rate);
        let mut path = self.path.with_streams(Streams::Leftward(answers))?;
        path.run(&trial).map(Some)
    }

    /// Begins phase 2. Returns the device, and the traffic of the initiator and of the responder through its
    /// connections, which exist if each of the initiator's packets opened one.
    pub fn phase_2(mut self) -> Result<(SingleDevice, [Traffic; 2])> {
        let answers = self.answered()?;
        Ok((self.path, [self.test.initiated.clone(), answers]))
    }

    /// Removes all connections at once, and returns the time that this took.
    pub fn tear_down(mut self) -> Result<(Empty<'a>, Duration)> {
        let took = self.path.tear_down(self.test.device)?;
        let Self { test, path, .. } = self;
        Ok((Empty { test, path }, took))
    }

    fn answered(&mut self) -> Result<Traffic> {
        let Traffic {
            packets,
            size,
            arrives,
        } = &self.test.initiated;
        let form = packets[0].form();
        Ok(Traffic {
            size: size.when(form, *arrives),
            arrives: form,
            packets: self.answers()?,
        })
    }
}
