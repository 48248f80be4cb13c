//! A single device under test (RFC 8219 section 4.1), in a network of its own, with the tester at both ends.

use std::time::Duration;

use super::{
    ceiling::Ceiling,
    pair::{Port, Streams, Tester, Traffic},
    result::TrialResult,
    trial::{Extent, Phases, Tolerance, Trial},
};
use crate::{
    Result,
    figures::statistics::median,
    network::{
        cores::GATEWAY_CPU,
        device::{Device, Started},
        plan,
        topology::{HOST_INTERFACE, HOST4, HOST6, Neighbours, Network, Offloads, Topology},
    },
    traffic::redirect::Redirect,
};

/// The MTU of links on which smaller frames are sent.
const MTU: u32 = 1500;
/// The frames of a measurement of the ceiling.
const CEILING_FRAMES: u64 = 1_000_000;
const CEILING_TRIALS: usize = 3;

/// A device between the ports of a tester.
pub struct SingleDevice {
    // Fields are dropped in this order: the network goes last.
    tester: Tester,
    started: Started,
    ports: [Port; 2],
    phases: Phases,
    tolerance: Tolerance,
    network: Network,
}

impl SingleDevice {
    /// Builds the network, starts the device and attaches the tester. The left end is the IPv6 host of
    /// [`Topology::dual_stack`], the right one its IPv4 host.
    pub fn build(
        device: &dyn Device,
        streams: Streams,
        phases: Phases,
        tolerance: Tolerance,
    ) -> Result<Self> {
        let mtu = mtu(&streams);
        let network = Topology::dual_stack(Neighbours::Static, Offloads::Off)
            .with_mtu(HOST6, HOST_INTERFACE, mtu)
            .with_mtu(HOST4, HOST_INTERFACE, mtu)
            .build()?;
        network.gateway()?.ip(&plan::routes())?;
        let started = device.start(&network, GATEWAY_CPU)?;
        let ports = [
            Port::of(&network, HOST6, 0, 0)?,
            Port::of(&network, HOST4, 1, 1)?,
        ];
        Ok(Self {
            tester: Tester::new(&ports[0], &ports[1], streams, phases, tolerance)?,
            started,
            ports,
            phases,
            tolerance,
            network,
        })
    }

    /// Replaces the streams by others that fit the links; the device keeps its state.
    pub fn with_streams(self, streams: Streams) -> Result<Self> {
        // An interface has one program at a time.
        drop(self.tester);
        let [left, right] = &self.ports;
        Ok(Self {
            tester: Tester::new(left, right, streams, self.phases, self.tolerance)?,
            ..self
        })
    }

    /// Empties the table of the device, which must be the one of [`SingleDevice::build`]. See [`Device::tear_down`].
    pub(super) fn tear_down(&mut self, device: &dyn Device) -> Result<Duration> {
        device.tear_down(&self.network, GATEWAY_CPU, &mut self.started)
    }

    /// Returns the network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns the tester.
    pub fn tester(&mut self) -> &mut Tester {
        &mut self.tester
    }

    /// Returns the path without a subject: a device that redirects every frame of these streams without reading it.
    pub fn bare(streams: &Streams) -> Result<Self> {
        let streams = streams.clone().unchanged();
        let phases = Phases::shortened(100);
        Self::build(&Redirect, streams, phases, Tolerance::default())
    }

    /// Runs a trial.
    ///
    /// # Errors
    /// The device has ended.
    pub fn run(&mut self, trial: &Trial) -> Result<TrialResult> {
        self.started.check()?;
        self.tester.run(trial)
    }
}

impl Ceiling {
    /// Measures the tester's own rate with these streams, on the same path with a device that redirects every frame
    /// without reading it.
    pub fn measure(streams: &Streams) -> Result<Self> {
        Self::on(&mut SingleDevice::bare(streams)?)
    }

    fn on(path: &mut SingleDevice) -> Result<Self> {
        let trial = Trial {
            rate: f64::INFINITY,
            extent: Extent::Frames(CEILING_FRAMES),
            timeout: super::receiver::LONGEST_TIMEOUT,
        };
        let mut rates = Vec::with_capacity(CEILING_TRIALS);
        for _ in 0..CEILING_TRIALS {
            let result = path.run(&trial)?;
            let rate = |stream: &super::StreamResult| stream.received_rate;
            rates.push(result.streams.iter().map(rate).sum());
        }
        Ok(Self::new(median(&mut rates)))
    }
}

impl Streams {
    /// Returns the same traffic, arriving untranslated.
    fn unchanged(self) -> Self {
        let unchanged = |traffic: Traffic| Traffic {
            arrives: traffic.packets[0].form(),
            ..traffic
        };
        match self {
            Self::Rightward(traffic) | Self::Observed(traffic) => {
                Self::Rightward(unchanged(traffic))
            }
            Self::Leftward(traffic) => Self::Leftward(unchanged(traffic)),
            Self::Both(right, left) => Self::Both(unchanged(right), unchanged(left)),
        }
    }
}

/// Returns an MTU that all frames of these streams fit.
fn mtu(streams: &Streams) -> u32 {
    let needed = |traffic: &Traffic| {
        let form = traffic.packets[0].form();
        let arrives = traffic.size.when(form, traffic.arrives);
        traffic.size.mtu().max(arrives.mtu())
    };
    let needed = match streams {
        Streams::Rightward(traffic) | Streams::Observed(traffic) | Streams::Leftward(traffic) => {
            needed(traffic)
        }
        Streams::Both(right, left) => needed(right).max(needed(left)),
    };
    needed.max(MTU)
}
