//! Counters: a row for each instance, and one for packets of no instance.

use isthmus_core::mechanism::instances::MOST_INSTANCES;
use isthmus_core::reason::Counter;

/// The map of the counters: a word for each, on each processor.
pub const COUNTS: &str = "COUNTS";
/// Entries of `COUNTS`.
pub const ENTRIES: u32 = OF_GATEWAY + ROW;

/// The place of the first counter that belongs to no instance.
pub const OF_GATEWAY: u32 = of_instance(MOST_INSTANCES);

/// Counters that a row has room for.
pub const ROW: u32 = 64;
const _: () = assert!(Counter::ALL.len() <= ROW as usize);

/// Returns the place of the first counter of an instance.
#[inline(always)]
#[must_use]
pub const fn of_instance(index: u32) -> u32 {
    index * ROW
}

/// Returns the place of a counter in the row that begins at `row`.
#[inline(always)]
#[must_use]
pub const fn place(row: u32, counter: Counter) -> u32 {
    row + counter as u32
}
