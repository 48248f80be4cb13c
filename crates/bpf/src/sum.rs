//! The sum of bytes of a packet, in a copy: the verifier looks at a loop over the packet itself once for each length.

use core::hint::black_box;
use core::ptr;

use aya_ebpf::btf_maps::PerCpuArray;
use aya_ebpf::cty::{c_long, c_void};
use aya_ebpf::helpers::bpf_csum_diff;
use aya_ebpf::macros::btf_map;
use isthmus_core::checksum::Sum;
use isthmus_core::word::Word;

/// The most bytes that are summed up: an ICMP error, which has no more in either family (RFC 4443 section 2.4, RFC 1812
/// section 4.3.2.3), with room to spare.
const MOST: usize = 3 * BLOCK;

/// The most bytes that the kernel sums up at once.
const BLOCK: usize = 512;

const WORD: usize = size_of::<u32>();

/// The bytes that this processor sums up, and zeros after them: as many words as the verifier sees that an index has. No
/// program of ours interrupts another; the kernel's function has a scratchpad of each processor on the same condition.
#[btf_map]
static SUMMED: PerCpuArray<[u32; WORDS], 1> = PerCpuArray::new();

/// A power of two.
const WORDS: usize = 512;

/// The folded sum of `length` bytes that `load` copies to a place, as many as it is told; -1 if they are too many, or
/// not all there.
#[inline(always)]
pub(crate) fn folded(length: u32, load: impl FnOnce(*mut c_void, u32) -> c_long) -> i32 {
    let bytes = length as usize;
    if bytes > MOST {
        return -1;
    }
    if bytes == 0 {
        return 0;
    }
    let Some(copy) = SUMMED.get_ptr_mut(0) else {
        return -1;
    };
    let copy = copy.cast::<u32>();
    // It ends those that do not fill their last word.
    let last = within(bytes / WORD, WORDS);
    // SAFETY: there are as many words, and more than all that are summed up.
    unsafe { copy.add(last).write(0) };
    let before = within(bytes - 1, WORDS * WORD);
    if load(copy.cast(), before as u32 + 1) != 0 {
        return -1;
    }
    let padded = bytes.next_multiple_of(WORD);
    let mut sum = Sum::ZERO;
    for block in 0..MOST / BLOCK {
        let at = block * BLOCK;
        let size = padded.saturating_sub(at).min(BLOCK);
        // SAFETY: the block lies in the copy; the helper reads it, and nothing of the other, which has no bytes.
        let added = unsafe {
            let words = copy.add(at / WORD);
            bpf_csum_diff(ptr::null_mut(), 0, words, size as u32, 0)
        };
        // An error is negative, and a sum has 32 bits.
        let Ok(word) = u32::try_from(added) else {
            return -1;
        };
        sum = sum.word(Word(word));
    }
    i32::from(sum.fold())
}

/// A number that is below a power of two, so that Linux 6.1 sees it: that learns nothing from comparisons with 0, or of
/// another copy of a number.
#[inline(always)]
fn within(number: usize, below: usize) -> usize {
    black_box(number) & (below - 1)
}

/// The sum that [`folded`] has returned.
#[inline(always)]
pub(crate) fn sum_of(folded: i32) -> Option<Sum> {
    u16::try_from(folded)
        .ok()
        .map(|folded| Sum::ZERO.number(folded))
}
