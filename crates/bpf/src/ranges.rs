//! What the daemon tells of the kernel's routes: ranges of destinations, and what decides on the way
//! within each.

use aya_ebpf::btf_maps::Array;
use aya_ebpf::macros::btf_map;
use core::hint::black_box;
use isthmus_abi::lines::MMAPABLE;
use isthmus_abi::routes::{self, Decides, Range};

/// The ranges of both families.
#[btf_map]
static RANGES: Array<Range, { routes::ENTRIES }, MMAPABLE> = Array::new();

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
    let mut at = routes::first(ipv6);
    for _ in 0..routes::MOST_LOG2 {
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
        Some([first, decides]) => (first, Decides::from_word(decides)),
        None => unknown,
    }
}

#[inline(always)]
fn range(at: u32) -> Option<Range> {
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
