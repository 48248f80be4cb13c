//! The maps of the programs; what lies in them is in `crates/bpf/src/maps.rs`.

use std::mem;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use aya::Ebpf;
use aya::maps::{Array, Map, PerCpuArray};
use isthmus_core::config::Instance;
use isthmus_core::mechanism::instances::MOST_INSTANCES;
use isthmus_core::reason::Counter;
use isthmus_core::table::Memory;

use super::Error;
use crate::counters::{Owner, Snapshot};
use crate::memory::Region;

/// An [`Instance`] as words.
type InstanceWords = [u64; size_of::<Instance>() / 8];
const _: () = assert!(size_of::<Instance>().is_multiple_of(8));

/// Counters that a row has room for; the row after the instances' is that of the gateway.
const COUNTER_ROW: u32 = 64;

/// The memory of an array map of lines.
pub(super) fn region(ebpf: &Ebpf, name: &'static str, lines: u32) -> Result<Region, Error> {
    match ebpf.map(name) {
        Some(Map::Array(map)) => Ok(Region::of_map(map.fd().as_fd(), lines)?),
        _ => Err(Error::Missing(name)),
    }
}

/// Copies all lines to the place that begins at line `base`.
pub(super) fn copy(from: &Region, to: &Region, base: u32) {
    for number in 0..from.lines() {
        if let (Some(from), Some(to)) = (from.line(number), to.line(base + number)) {
            for (from, to) in from.iter().zip(to) {
                to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        }
    }
}

/// Writes one instance.
pub(super) fn put_instance(ebpf: &mut Ebpf, index: u32, instance: &Instance) -> Result<(), Error> {
    let map = ebpf
        .map_mut("INSTANCES")
        .ok_or(Error::Missing("INSTANCES"))?;
    let mut map: Array<_, InstanceWords> = map.try_into()?;
    let mut words: InstanceWords = [0; _];
    // SAFETY: source and destination have the same size and do not overlap. Padding is copied as
    // it is: the words are written into the kernel by a system call and never looked at here.
    unsafe {
        let bytes = words.as_mut_ptr().cast::<u8>();
        let source = std::ptr::from_ref(instance).cast::<u8>();
        std::ptr::copy_nonoverlapping(source, bytes, mem::size_of::<Instance>());
    }
    Ok(map.set(index, words, 0)?)
}

/// Puts the instances of a bank in force.
pub(super) fn activate(ebpf: &mut Ebpf, bank: u32, instances: &[Instance]) -> Result<(), Error> {
    let active = u64::from(bank) << 32 | instances.len() as u64;
    let map = ebpf.map_mut("ACTIVE").ok_or(Error::Missing("ACTIVE"))?;
    let mut map: Array<_, u64> = map.try_into()?;
    Ok(map.set(0, active, 0)?)
}

/// Sets the clock of the packets, and for the first of them the seed of chance.
pub(super) fn set_clock(ebpf: &mut Ebpf, now: u64, seed: Option<u64>) -> Result<(), Error> {
    let map = ebpf.map_mut("CLOCK").ok_or(Error::Missing("CLOCK"))?;
    let mut map: Array<_, [u64; 2]> = map.try_into()?;
    let random = match seed {
        Some(seed) => seed,
        None => map.get(&0, 0)?[1],
    };
    Ok(map.set(0, [now, random], 0)?)
}

/// One counter, summed over processors and owners.
pub(super) fn counter(ebpf: &Ebpf, counter: Counter) -> Result<u64, Error> {
    let map = ebpf.map("COUNTS").ok_or(Error::Missing("COUNTS"))?;
    let map: PerCpuArray<_, u64> = map.try_into()?;
    let mut sum = 0;
    for row in 0..=MOST_INSTANCES {
        let values = map.get(&(row * COUNTER_ROW + counter as u32), 0)?;
        sum += values.iter().sum::<u64>();
    }
    Ok(sum)
}

/// All counters, summed over the processors.
pub(super) fn counters(ebpf: &Ebpf) -> Result<Vec<(Owner, Snapshot)>, Error> {
    let map = ebpf.map("COUNTS").ok_or(Error::Missing("COUNTS"))?;
    let map: PerCpuArray<_, u64> = map.try_into()?;
    let mut rows = Vec::new();
    for row in 0..=MOST_INSTANCES {
        let owner = if row == MOST_INSTANCES {
            Owner::Gateway
        } else {
            Owner::Instance(row)
        };
        let mut snapshot = Snapshot::default();
        for counter in Counter::ALL {
            let index = row * COUNTER_ROW + *counter as u32;
            let sum = map.get(&index, 0)?.iter().sum();
            snapshot.set(*counter, sum);
        }
        rows.push((owner, snapshot));
    }
    Ok(rows)
}
