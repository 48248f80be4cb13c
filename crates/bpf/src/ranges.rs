//! The ranges of destinations that the daemon makes of the kernel's routes, each with its granularity.

use aya_ebpf::btf_maps::Array;
use aya_ebpf::macros::btf_map;
use core::hint::black_box;
use isthmus_abi::lines::MMAPABLE;
use isthmus_abi::routes::{self, Granularity, Range};

/// The ranges of both families.
#[btf_map]
static RANGES: Array<Range, { routes::ENTRIES }, MMAPABLE> = Array::new();

/// Returns the first destination of the range that has this one, and its granularity. Destinations are
/// IPv4 addresses as numbers, or the upper halves of IPv6 addresses. `size` is a power of two that is no
/// less than the number of ranges of either family; 0 if none are in force.
#[inline(always)]
pub(crate) fn find(size: u32, ipv6: bool, destination: u64) -> (u64, Granularity) {
    let unknown = (0, Granularity::Addresses);
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
        Some([first, granularity]) => (first, Granularity::from_word(granularity)),
        None => unknown,
    }
}

#[inline(always)]
fn range(at: u32) -> Option<Range> {
    let words = RANGES.get_ptr(at)?;
    // SAFETY: plain words, which the daemon does not write while they are in force.
    Some(unsafe { *words })
}

/// Returns all ones if a number is less than another, else 0. This is the borrow of a subtraction and not
/// a comparison, after which the verifier would check the rest once for each outcome.
#[inline(always)]
fn before(a: u64, b: u64) -> u32 {
    let (a, b) = (black_box(a), black_box(b));
    let borrows = (!a & b | (!a | b) & a.wrapping_sub(b)) >> 63;
    0_u32.wrapping_sub(borrows as u32)
}
