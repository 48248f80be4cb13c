//! The receiver: counts the generator's datagrams in XDP and drops everything.

use std::iter::Sum;

use aya::{
    Ebpf,
    maps::{Array, MapData, PerCpuArray},
};

use crate::{
    Result,
    generator::PORT,
    netns::Namespace,
    packet::Form,
    programs::{self, Attached, bpf},
};

/// The checks of a sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// Frames are only counted: for measuring.
    Nothing,
    /// The checksums of the IPv4 header and of UDP are verified: for the self-check.
    Checksums,
}

/// The datagrams that have arrived since the sink was attached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Generated datagrams in IPv4.
    pub ipv4: u64,
    /// Generated datagrams in IPv6.
    pub ipv6: u64,
    /// Generated datagrams in IPv6 in IPv4.
    pub six_in_four: u64,
    /// Generated datagrams in IPv4 in IPv6.
    pub four_in_six: u64,
    /// Everything else.
    pub other: u64,
    /// Verified datagrams with right checksums.
    pub valid: u64,
    /// Verified datagrams with wrong or missing checksums, or truncated ones.
    pub invalid: u64,
}

impl Counts {
    /// Returns the generated datagrams that arrived in this form.
    pub fn of(&self, form: Form) -> u64 {
        match form {
            Form::V4 => self.ipv4,
            Form::V6 => self.ipv6,
            Form::SixInFour => self.six_in_four,
            Form::FourInSix => self.four_in_six,
        }
    }

    /// Returns the counts that were added since an `earlier` reading.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            ipv4: self.ipv4 - earlier.ipv4,
            ipv6: self.ipv6 - earlier.ipv6,
            six_in_four: self.six_in_four - earlier.six_in_four,
            four_in_six: self.four_in_six - earlier.four_in_six,
            other: self.other - earlier.other,
            valid: self.valid - earlier.valid,
            invalid: self.invalid - earlier.invalid,
        }
    }
}

/// The numbers of each CPU, in the order of the BPF program.
type Numbers = [u64; 7];

impl Sum<Numbers> for Counts {
    fn sum<I: Iterator<Item = Numbers>>(cpus: I) -> Self {
        cpus.fold(Self::default(), |sum, numbers| {
            let [ipv4, ipv6, six_in_four, four_in_six, other, valid, invalid] = numbers;
            Self {
                ipv4: sum.ipv4 + ipv4,
                ipv6: sum.ipv6 + ipv6,
                six_in_four: sum.six_in_four + six_in_four,
                four_in_six: sum.four_in_six + four_in_six,
                other: sum.other + other,
                valid: sum.valid + valid,
                invalid: sum.invalid + invalid,
            }
        })
    }
}

type Configuration = Array<MapData, [u32; 3]>;

/// A sink on an interface.
pub struct Sink {
    configuration: Configuration,
    counts: PerCpuArray<MapData, Numbers>,
    _attached: Attached,
}

impl Sink {
    /// Attaches a sink to an interface inside a namespace.
    pub fn attach(namespace: &Namespace, interface: &str) -> Result<Self> {
        let mut object = programs::load()?;
        let mut configuration = configuration(&mut object)?;
        configure(&mut configuration, [u32::from(PORT), 0, 0])?;
        let counts = PerCpuArray::try_from(programs::map(&mut object, "COUNTS")?)
            .map_err(|problem| bpf("COUNTS", problem))?;
        Ok(Self {
            configuration,
            counts,
            _attached: Attached::attach(object, "sink", namespace, interface)?,
        })
    }

    /// Sets the checks from now on.
    pub fn verify(&mut self, verify: Verify) -> Result<()> {
        let words = [u32::from(PORT), u32::from(verify == Verify::Checksums), 0];
        configure(&mut self.configuration, words)
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> Result<Counts> {
        let values = self
            .counts
            .get(&0, 0)
            .map_err(|problem| bpf("COUNTS", problem))?;
        Ok(values.iter().copied().sum())
    }
}

/// Forwards everything that arrives on one interface out of another, untouched: the least work of an XDP gateway.
pub fn forward(namespace: &Namespace, from: &str, to: &str) -> Result<Attached> {
    let mut object = programs::load()?;
    let mut configuration = configuration(&mut object)?;
    let index = namespace.interface_index(to)?;
    configure(&mut configuration, [u32::from(PORT), 0, index])?;
    Attached::attach(object, "forward", namespace, from)
}

fn configuration(object: &mut Ebpf) -> Result<Configuration> {
    Array::try_from(programs::map(object, "SINK")?).map_err(|problem| bpf("SINK", problem))
}

fn configure(configuration: &mut Configuration, words: [u32; 3]) -> Result<()> {
    configuration
        .set(0, words, 0)
        .map_err(|problem| bpf("SINK", problem))
}
