//! The receiver: counts the generator's datagrams in XDP and drops everything.

use std::ops::Add as _;

use aya::maps::{Array, MapData, PerCpuArray};
pub use isthmus_abi::lab::sink::Counts;
use isthmus_abi::lab::sink::{COUNTS, Configuration, SINK};
use isthmus_engine::bpf::Plain;

use crate::{
    Result,
    network::{
        netns::Namespace,
        programs::{self, Attached, bpf},
    },
    traffic::{generator::PORT, packet::Form},
};

/// The checks of a sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// Frames are only counted: for measuring.
    Nothing,
    /// The checksums of the IPv4 header and of UDP are verified: for the self-check.
    Checksums,
}

/// Returns the generated datagrams that arrived in a form.
pub fn arrived(counts: &Counts, form: Form) -> u64 {
    match form {
        Form::V4 => counts.ipv4,
        Form::V6 => counts.ipv6,
        Form::SixInFour => counts.six_in_four,
        Form::FourInSix => counts.four_in_six,
    }
}

/// A sink on an interface.
pub struct Sink {
    configuration: Array<MapData, Plain<Configuration>>,
    counts: PerCpuArray<MapData, Plain<Counts>>,
    _attached: Attached,
}

impl Sink {
    /// Attaches a sink to an interface inside a namespace.
    pub fn attach(namespace: &Namespace, interface: &str) -> Result<Self> {
        let mut object = programs::load()?;
        let mut configuration = programs::array(&mut object, SINK)?;
        configure(&mut configuration, Verify::Nothing, 0)?;
        Ok(Self {
            configuration,
            counts: programs::per_cpu(&mut object, COUNTS)?,
            _attached: Attached::attach(object, "sink", namespace, interface)?,
        })
    }

    /// Sets the checks from now on.
    pub fn verify(&mut self, verify: Verify) -> Result<()> {
        configure(&mut self.configuration, verify, 0)
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> Result<Counts> {
        let values = self
            .counts
            .get(&0, 0)
            .map_err(|problem| bpf(COUNTS, problem))?;
        let counts = values.iter().map(|Plain(counts)| *counts);
        Ok(counts.fold(Counts::default(), Counts::add))
    }
}

/// Forwards everything that arrives on one interface out of another, untouched: the least work of an XDP gateway.
pub fn forward(namespace: &Namespace, from: &str, to: &str) -> Result<Attached> {
    let mut object = programs::load()?;
    let mut configuration = programs::array(&mut object, SINK)?;
    let index = namespace.interface_index(to)?;
    configure(&mut configuration, Verify::Nothing, index)?;
    Attached::attach(object, "forward", namespace, from)
}

fn configure(
    map: &mut Array<MapData, Plain<Configuration>>,
    verify: Verify,
    forward: u32,
) -> Result<()> {
    let configuration = Configuration {
        port: PORT.into(),
        verify: (verify == Verify::Checksums).into(),
        forward,
    };
    map.set(0, Plain(configuration), 0)
        .map_err(|problem| bpf(SINK, problem))
}
