//! Access to the maps of the programs. `isthmus-abi` defines their contents.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use aya::Ebpf;
use aya::maps::{Array, Map, MapData, PerCpuArray};
use isthmus_abi::banks::{self, ACTIVE, Active, INSTANCES, InstanceWords};
use isthmus_abi::clock::{CLOCK, Clock};
use isthmus_abi::counts::{self, COUNTS};
use isthmus_core::config::Instance;
use isthmus_core::mechanism::instances::MOST_INSTANCES;
use isthmus_core::reason::Counter;
use isthmus_core::table::Memory;

use super::Error;
use crate::counters::{Owner, Snapshot};
use crate::memory::{Region, Values};

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

/// Returns one counter of an owner, summed over the processors.
pub(super) fn counter(ebpf: &Ebpf, counter: Counter) -> Result<u64, Error> {
    let map = counts(ebpf)?;
    owners().map(|owner| sum(&map, owner, counter)).sum()
}

/// Returns all counters, summed over the processors.
pub(super) fn counters(ebpf: &Ebpf) -> Result<Vec<(Owner, Snapshot)>, Error> {
    let map = counts(ebpf)?;
    let row = |owner| {
        let mut snapshot = Snapshot::default();
        for counter in Counter::ALL {
            snapshot.set(*counter, sum(&map, owner, *counter)?);
        }
        Ok((owner, snapshot))
    };
    owners().map(row).collect()
}

type Counts<'a> = PerCpuArray<&'a MapData, u64>;

fn counts(ebpf: &Ebpf) -> Result<Counts<'_>, Error> {
    let map = ebpf.map(COUNTS).ok_or(Error::Missing(COUNTS))?;
    Ok(map.try_into()?)
}

fn owners() -> impl Iterator<Item = Owner> {
    (0..MOST_INSTANCES)
        .map(Owner::Instance)
        .chain([Owner::Gateway])
}

/// A counter of an owner, summed over the processors.
fn sum(map: &Counts<'_>, owner: Owner, counter: Counter) -> Result<u64, Error> {
    let row = match owner {
        Owner::Instance(index) => counts::of_instance(index),
        Owner::Gateway => counts::OF_GATEWAY,
    };
    let values = map.get(&counts::place(row, counter), 0)?;
    Ok(values.iter().sum())
}
