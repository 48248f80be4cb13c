//! What the daemon tells of the kernel's routes: ranges of destinations, and what decides on the way
//! within each.

use aya_ebpf::btf_maps::Array;
use aya_ebpf::macros::btf_map;
use core::hint::black_box;

use crate::maps::MMAPABLE;

/// The most ranges of a family.
const MOST: u32 = 1 << MOST_LOG2;
const MOST_LOG2: u32 = 10;

/// For IPv4 and then for IPv6, [`MOST`] ranges in order: the first destination of the range ([`find`] says
/// of which kind of number), and a [`Decides`]. Those that are not in use begin at the highest number.
#[btf_map]
static RANGES: Array<[u64; 2], { 2 * MOST as usize }, MMAPABLE> = Array::new();

/// What the way to a destination of a range depends on, beside the link of arrival and the type of
/// service.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decides {
    /// On nothing: all have one next hop.
    Range,
    /// On the destination, which may be a neighbour.
    Destination,
    /// On both addresses, or nothing is known.
    Addresses,
}

/// The first destination of the range that has this one, and what decides on the way. Destinations are
/// IPv4 addresses as numbers, or the upper halves of IPv6 addresses. `size` is a power of two that is no
/// less than the number of ranges of either family; 0 if none are in force.
#[inline(always)]
pub(crate) fn find(size: u32, ipv6: bool, destination: u64) -> (u64, Decides) {
    let unknown = (0, Decides::Addresses);
    if size == 0 {
        return unknown;
    }
    let mut step = size;
    let mut at = u32::from(ipv6) << MOST_LOG2;
    for _ in 0..MOST_LOG2 {
        step >>= 1;
        if step == 0 {
            break;
        }
        let Some([first, _]) = range(at + step) else {
            return unknown;
        };
        at += step & !before(destination, first);
    }
    match range(at) {
        Some([first, 0]) => (first, Decides::Range),
        Some([first, 1]) => (first, Decides::Destination),
        _ => unknown,
    }
}

#[inline(always)]
fn range(at: u32) -> Option<[u64; 2]> {
    let words = RANGES.get_ptr(at)?;
    // SAFETY: plain words, which the daemon does not write while they are in force.
    Some(unsafe { *words })
}

/// All ones if a number is less than another, else 0. The borrow of a subtraction and not a comparison:
/// the verifier would look at what follows once for each outcome.
#[inline(always)]
fn before(a: u64, b: u64) -> u32 {
    let (a, b) = (black_box(a), black_box(b));
    let borrows = (!a & b | (!a | b) & a.wrapping_sub(b)) >> 63;
    0_u32.wrapping_sub(borrows as u32)
}
