//! Access to the maps of the programs. `isthmus-abi` defines their contents.

use std::iter;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::atomic::{Ordering, fence};

use aya::Ebpf;
use aya::maps::{Array, Map};
use aya::util::nr_cpus;
use isthmus_abi::banks::{self, ACTIVE, Active, INSTANCES, InstanceWords};
use isthmus_abi::clock::{CLOCK, Clock};
use isthmus_abi::counts::{self, COUNTS};
use isthmus_core::config::Instance;
use isthmus_core::reason::Counter;
use isthmus_core::table::Memory;

use super::Error;
use crate::counters::{Owner, Snapshot};
use crate::memory::{Region, Values};
use crate::sys;

/// A structure of `isthmus-abi` as the value of a map.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Plain<T>(pub T);

// SAFETY: plain old data has no padding, and is valid whatever its bits are.
unsafe impl<T: bytemuck::Pod> aya::Pod for Plain<T> {}

/// Maps the memory of an array map of lines.
pub(super) fn region(ebpf: &Ebpf, name: &'static str, lines: u32) -> Result<Region, Error> {
    match ebpf.map(name) {
        Some(Map::Array(map)) => Ok(Region::of_map(map.fd().as_fd(), lines)?),
        _ => Err(Error::Missing(name)),
    }
}

/// Copies all lines to the range that begins at the line `base`.
pub(super) fn copy(from: &Region, to: &Region, base: u32) {
    for number in 0..from.lines() {
        if let (Some(from), Some(to)) = (from.line(number), to.line(base + number)) {
            for (from, to) in from.iter().zip(to) {
                to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        }
    }
}

/// Maps the memory of the instances.
pub(super) fn instances(ebpf: &Ebpf) -> Result<Values<Instance>, Error> {
    let map = ebpf.map(INSTANCES).ok_or(Error::Missing(INSTANCES))?;
    // This only checks that values have this size.
    let _: Array<_, InstanceWords> = map.try_into()?;
    match map {
        Map::Array(map) => Ok(Values::of_map(map.fd().as_fd(), banks::ENTRIES)?),
        _ => Err(Error::Missing(INSTANCES)),
    }
}

/// Activates the instances of a bank.
pub(super) fn activate(ebpf: &mut Ebpf, active: Active) -> Result<(), Error> {
    let map = ebpf.map_mut(ACTIVE).ok_or(Error::Missing(ACTIVE))?;
    let mut map: Array<_, Plain<Active>> = map.try_into()?;
    // A system call orders nothing. A program finds all that was written before by addresses that depend on what it
    // reads here, which keeps its loads in order on every processor.
    fence(Ordering::Release);
    Ok(map.set(0, Plain(active), 0)?)
}

/// Sets the clock for the packets, and before the first of them the seed for random numbers.
pub(super) fn set_clock(ebpf: &mut Ebpf, now: u64, seed: Option<u64>) -> Result<(), Error> {
    let map = ebpf.map_mut(CLOCK).ok_or(Error::Missing(CLOCK))?;
    let mut map: Array<_, Plain<Clock>> = map.try_into()?;
    let random = match seed {
        Some(seed) => seed,
        None => map.get(&0, 0)?.0.random,
    };
    Ok(map.set(0, Plain(Clock { now, random }), 0)?)
}

/// Returns the counters of the gateway and of so many instances, summed over the processors. A call reads those of all
/// instances: they are a thousand.
pub(super) fn counters(ebpf: &Ebpf, instances: u32) -> Result<Vec<(Owner, Snapshot)>, Error> {
    let Map::PerCpuArray(map) = counts(ebpf)? else {
        return Err(Error::Missing(COUNTS));
    };
    let processors = nr_cpus().map_err(|(_, error)| error)?;
    let read = |rows: Range<u32>| sys::bpf::words_of_array(map.fd().as_fd(), rows, processors);
    let mut words = read(counts::OF_GATEWAY..counts::ENTRIES)?;
    words.extend(read(0..counts::of_instance(instances))?);
    let sums: Vec<u64> = words
        .chunks(processors)
        .map(|words| words.iter().sum())
        .collect();
    let owners = iter::once(Owner::Gateway).chain((0..instances).map(Owner::Instance));
    let row = |(owner, sums): (Owner, &[u64])| {
        let mut snapshot = Snapshot::default();
        for counter in Counter::ALL {
            let sum = sums.get(counts::place(0, *counter) as usize);
            snapshot.set(*counter, sum.copied().unwrap_or_default());
        }
        (owner, snapshot)
    };
    Ok(owners
        .zip(sums.chunks(counts::ROW as usize))
        .map(row)
        .collect())
}

fn counts(ebpf: &Ebpf) -> Result<&Map, Error> {
    ebpf.map(COUNTS).ok_or(Error::Missing(COUNTS))
}

/// Returns the place of the first counter of an owner.
pub(super) fn row(owner: Owner) -> u32 {
    match owner {
        Owner::Instance(index) => counts::of_instance(index),
        Owner::Gateway => counts::OF_GATEWAY,
    }
}
