//! Searches with long loops, in global functions: the verifier looks at such a function once, not
//! at every call. Arguments and results are numbers, five at most.

use isthmus_core::address::eam::{self, MappedV4};
use isthmus_core::address::softwire::{self, Customer};
use isthmus_core::address::{V4, V6};
use isthmus_core::config::{EamTable, Instance, SoftwireTable};
use isthmus_core::host::{Instances, MOST_INSTANCES, any_pool_owns};
use isthmus_core::mechanism;
use isthmus_core::word::Word;
use isthmus_core::table::Place;

use crate::maps::{Configured, RULE_LINES, Services};
use crate::route::NoWay;
use crate::stage::Search;

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
fn answer(place: Option<Place>) -> u64 {
    place.map_or(NOTHING, |Place(number)| u64::from(number))
}

/// The instance that a packet between two IPv4 addresses belongs to, each given as it lies in the
/// packet; `active` is [`Configured::number`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn instance_v4(source: u32, destination: u32, protocol: u8, active: u64) -> u64 {
    for index in 0..MOST_INSTANCES {
        match owns_v4(source, destination, protocol, active, index) {
            NO => {}
            YES => return u64::from(index),
            _ => break,
        }
    }
    NOTHING
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
    for index in 0..MOST_INSTANCES {
        // There are five arguments at most. Numbers of instances take eight bits.
        let which = active << 8 | u64::from(index);
        match owns_v6(source_high, source_low, high, low, which) {
            NO => {}
            YES => return u64::from(index),
            _ => break,
        }
    }
    NOTHING
}

/// A packet does not belong to an instance.
const NO: u64 = 0;
/// A packet belongs to an instance.
const YES: u64 = 1;
/// There is no such instance.
const PAST_THE_LAST: u64 = 2;

/// Whether a packet between two IPv4 addresses belongs to an instance.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn owns_v4(
    source: u32,
    destination: u32,
    protocol: u8,
    active: u64,
    index: u32,
) -> u64 {
    let services = Services::<Search, _>::new(NoWay);
    let configured = Configured::from_number(active);
    configured.get(index).map_or(PAST_THE_LAST, |instance| {
        let (source, destination) = (V4(Word(source)), V4(Word(destination)));
        u64::from(mechanism::owns_v4(
            &services,
            instance,
            source,
            destination,
            || protocol,
        ))
    })
}

/// Whether a packet between two IPv6 addresses belongs to an instance. `which` is
/// [`Configured::number`] shifted by eight bits, and the instance.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn owns_v6(
    source_high: u64,
    source_low: u64,
    high: u64,
    low: u64,
    which: u64,
) -> u64 {
    let services = Services::<Search, _>::new(NoWay);
    let source = V6::from_halves(source_high, source_low);
    let destination = V6::from_halves(high, low);
    let configured = Configured::from_number(which >> 8);
    configured
        .get(which as u32 & 0xff)
        .map_or(PAST_THE_LAST, |instance| {
            u64::from(mechanism::owns_v6(&services, instance, source, destination))
        })
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

/// The explicit mapping of an IPv4 address, given as it lies in the packet; the table as [`at`]
/// gives it. The caller has looked at the bounds of the table.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn eam_v4(at: u64, v4_lengths: u64, address: u32) -> u64 {
    let table = EamTable {
        v4_lengths,
        ..table(at)
    };
    answer(eam::longest_v4(&table, |length| {
        number(eam_v4_probe(at, address, length)).map(Place)
    }))
}

/// The explicit mapping whose IPv4 prefix is the first `length` bits of an address.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn eam_v4_probe(at: u64, address: u32, length: u8) -> u64 {
    answer(eam::probe_v4(
        &RULE_LINES,
        &table(at),
        V4(Word(address)),
        length,
    ))
}

/// What the explicit mappings make of an IPv6 address, given as two numbers, for [`mapped`]; the
/// table as [`at`] gives it.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn eam_v6(at: u64, short: u64, long: u64, high: u64, low: u64) -> u64 {
    let address = V6::from_halves(high, low);
    let table = table(at);
    let place = match table.v6_length {
        EamTable::SEVERAL => number(eam_v6_longest(at, short, long, high, low)).map(Place),
        length => eam::probe_v6(&RULE_LINES, &table, address, length),
    };
    match place.and_then(|place| eam::to_v4(&RULE_LINES, place, address)) {
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
        v6_lengths: [short, long, at >> 8 & 1],
        ..table(at)
    };
    answer(eam::longest_v6(&table, |length| {
        number(eam_v6_probe(at, high, low, length)).map(Place)
    }))
}

/// The place of the mapping whose IPv6 prefix is the first `length` bits of an address.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn eam_v6_probe(at: u64, high: u64, low: u64, length: u8) -> u64 {
    let address = V6::from_halves(high, low);
    answer(eam::probe_v6(&RULE_LINES, &table(at), address, length))
}

/// The block that has a customer's softwire, given as a number, in a table of `lines` lines that begins at line `base`.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn softwire(base: u32, lines: u32, customer: u64) -> u64 {
    let table = SoftwireTable { base, lines };
    answer(softwire::find(&RULE_LINES, &table, Customer(customer)))
}

/// A table as one number, never 0: from the top the first line, the length of all IPv6 prefixes, a
/// one, whether there are prefixes of 128 bits, and the binary logarithm of the number of lines.
#[inline(always)]
pub(crate) fn at(table: &EamTable) -> u64 {
    u64::from(table.base) << 32
        | u64::from(table.v6_length) << 16
        | 1 << 9
        | (table.v6_lengths[2] & 1) << 8
        | u64::from(table.lines_log2)
}

/// The table, as far as the number tells.
#[inline(always)]
fn table(at: u64) -> EamTable {
    EamTable {
        base: (at >> 32) as u32,
        lines: 1_u32.wrapping_shl(at as u32 & 31),
        v6_length: (at >> 16) as u8,
        ..EamTable::default()
    }
}
