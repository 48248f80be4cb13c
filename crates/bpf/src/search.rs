//! Searches with long loops, in global functions: the verifier looks at such a function once, not at
//! every call. Arguments and results are numbers, five at most.

use isthmus_core::address::eam::{self, Place};
use isthmus_core::address::{V4, V6};
use isthmus_core::config::{EamTable, Instance};
use isthmus_core::host::{Instances, any_pool_owns};
use isthmus_core::packet::Word;

use crate::maps::{Configured, RULE_LINES, Services};
use crate::route::NoWay;
use crate::stage::Common;

/// The answer of a search that found nothing.
pub(crate) const NOTHING: u64 = u64::MAX;

/// An answer as the core has it.
#[inline(always)]
pub(crate) fn number(answer: u64) -> Option<u32> {
    if answer == NOTHING {
        None
    } else {
        Some(answer as u32)
    }
}

#[inline(always)]
fn answer(number: Option<u32>) -> u64 {
    number.map_or(NOTHING, u64::from)
}

/// The instance that an IPv4 destination belongs to, given as it lies in the packet; `active` is
/// [`Configured::number`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn instance_v4(destination: u32, active: u64) -> u64 {
    answer(
        Searching(Configured::from_number(active))
            .find_v4(&Services::<Common, _>::new(NoWay), V4(Word(destination))),
    )
}

/// The instance that a packet between two IPv6 addresses belongs to, each given as two numbers.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn instance_v6(
    source_high: u64,
    source_low: u64,
    high: u64,
    low: u64,
    active: u64,
) -> u64 {
    let searching = Searching(Configured::from_number(active));
    let source = V6::from_halves(source_high, source_low);
    let destination = V6::from_halves(high, low);
    answer(searching.find_v6(&Services::<Common, _>::new(NoWay), source, destination))
}

/// Whether an IPv4 address, given as it lies in the packet, is in the pool of an instance; 0: no.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn pools_own(destination: u32, active: u64) -> u64 {
    let searching = Searching(Configured::from_number(active));
    u64::from(any_pool_owns(&searching, V4(Word(destination))))
}

/// The instances, searched by the core's own loop.
struct Searching(Configured);

impl Instances for Searching {
    #[inline(always)]
    fn get(&self, index: u32) -> Option<&Instance> {
        self.0.get(index)
    }
}

/// The explicit mapping of an IPv4 address, given as it lies in the packet.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn eam_v4(base: u32, lines: u32, v4_lengths: u64, address: u32) -> u64 {
    let table = EamTable {
        base,
        lines,
        v4_lengths,
        v6_lengths: [0; 3],
    };
    answer(eam::find_v4(&RULE_LINES, &table, V4(Word(address))).map(|Place(place)| place))
}

/// The explicit mapping of an IPv6 address, given as two numbers. `at` holds the first line in its upper half, the
/// number of lines in its lower half, and in between, as bit 31, whether there are mappings of all
/// 128 bits.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn eam_v6(at: u64, short: u64, long: u64, high: u64, low: u64) -> u64 {
    let table = EamTable {
        base: (at >> 32) as u32,
        lines: at as u32 & 0x7fff_ffff,
        v4_lengths: 0,
        v6_lengths: [short, long, at >> 31 & 1],
    };
    answer(eam::find_v6(&RULE_LINES, &table, V6::from_halves(high, low)).map(|Place(place)| place))
}
