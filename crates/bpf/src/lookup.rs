//! Searches in the tables of the configuration, with long loops, in global functions: the verifier checks
//! such a function once, not at every call. Arguments and results are numbers, five at most.

use core::mem::offset_of;
use core::ptr;

use isthmus_core::address::eam::{self, EamTable, MappedV4};
use isthmus_core::address::softwire::{self, B4Key, SoftwireTable};
use isthmus_core::address::{V4, V6};
use isthmus_core::mechanism::siit::Siit;
use isthmus_core::table::Place;
use isthmus_core::word::Word;

use crate::maps::{self, Rules};

/// The result of a search that found nothing.
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
fn answer(place: Option<Place>) -> u64 {
    place.map_or(NOTHING, |Place(number)| u64::from(number))
}

/// Whether explicit mappings may be configured: the verifier need not look at long searches in none. SIIT alone has them;
/// another mechanism that gets some belongs here.
#[inline(always)]
fn has_mappings() -> bool {
    maps::takes::<{ Siit::NUMBER }>()
}

/// Finds the explicit mapping of an IPv4 address, in network order; the table comes from [`at`]. The
/// caller has checked the bounds of the table.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn eam_v4(at: u64, v4_lengths: u64, address: u32) -> u64 {
    if !has_mappings() {
        return NOTHING;
    }
    let table = EamTable {
        v4_lengths,
        ..table(at)
    };
    answer(eam::longest_v4(&table, |length| {
        number(eam_v4_probe(at, address, length)).map(Place)
    }))
}

/// Finds the explicit mapping with the first `length` bits of an address as its IPv4 prefix.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn eam_v4_probe(at: u64, address: u32, length: u8) -> u64 {
    answer(eam::probe_v4(&Rules, &table(at), V4(Word(address)), length))
}

/// Maps an IPv6 address, given as two numbers, by the explicit mappings; the result is for [`mapped`], and
/// the table comes from [`at`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn eam_v6(at: u64, short: u64, long: u64, high: u64, low: u64) -> u64 {
    let address = V6::from_halves(high, low);
    let table = table(at);
    let mapped = match table.v6_length {
        EamTable::SEVERAL => number(eam_v6_longest(at, short, long, high, low))
            .and_then(|place| eam::to_v4(&Rules, Place(place), address)),
        length => eam::map_v6(&Rules, &table, address, length),
    };
    match mapped {
        Some(mapped) => {
            let Word(address) = mapped.address.0;
            u64::from(mapped.of_everything) << 32 | u64::from(address)
        }
        None => NOTHING,
    }
}

/// The answer of [`eam_v6`] as the core has it.
#[inline(always)]
pub(crate) fn mapped(answer: u64) -> Option<MappedV4> {
    if answer == NOTHING {
        return None;
    }
    Some(MappedV4 {
        address: V4(Word(answer as u32)),
        of_everything: answer >> 32 != 0,
    })
}

/// The place of the mapping with the longest IPv6 prefix, where they have several lengths.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn eam_v6_longest(at: u64, short: u64, long: u64, high: u64, low: u64) -> u64 {
    let table = EamTable {
        v6_lengths: [short, long, u64::from(table(at).marks & EamTable::HOSTS)],
        ..table(at)
    };
    answer(eam::longest_v6(&table, |lengths, least| {
        number(eam_v6_among(at, lengths, least, high, low)).map(Place)
    }))
}

/// The same among some lengths; see [`eam::longest`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn eam_v6_among(at: u64, lengths: u64, least: u8, high: u64, low: u64) -> u64 {
    if !has_mappings() {
        return NOTHING;
    }
    answer(eam::longest(lengths, least, |length| {
        number(eam_v6_probe(at, high, low, length)).map(Place)
    }))
}

/// Finds the explicit mapping with the first `length` bits of an address as its IPv6 prefix.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn eam_v6_probe(at: u64, high: u64, low: u64, length: u8) -> u64 {
    let address = V6::from_halves(high, low);
    answer(eam::probe_v6(&Rules, &table(at), address, length))
}

/// Finds the block with the softwire of a lwB4, given as a number, in a table of `lines` lines that begins
/// at line `base`.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn softwire(base: u32, lines: u32, key: u64) -> u64 {
    let table = SoftwireTable { base, lines };
    answer(softwire::find(&Rules, &table, B4Key(key)))
}

/// The first eight bytes of a table as one number, not 0 if there are mappings.
#[inline(always)]
pub(crate) fn at(table: &EamTable) -> u64 {
    const { assert!(offset_of!(EamTable, lines_log2) == 0 && offset_of!(EamTable, base) == 4) }
    // SAFETY: the table is aligned to eight bytes, and its first eight are four octets and a word.
    unsafe { ptr::from_ref(table).cast::<u64>().read() }
}

/// The parts of the table that are in the number. BPF is little-endian here.
#[inline(always)]
fn table(at: u64) -> EamTable {
    EamTable {
        lines_log2: at as u8,
        marks: (at >> 8) as u8,
        v6_length: (at >> 16) as u8,
        base: (at >> 32) as u32,
        lines: 1_u32.wrapping_shl(at as u32 & 31),
        ..EamTable::default()
    }
}
