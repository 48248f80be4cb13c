//! Ethernet frames that a program reads and writes by pointers.

use core::hint::black_box;

use isthmus_core::checksum::Sum;
use isthmus_core::packet::Truncated;
use isthmus_core::word::Word;

use crate::ethernet::{self, Ethernet};

/// Headers end before this offset; the verifier wants a bound that it can see.
const REACH: usize = 1024;

/// The most bytes that are [summed up](Linear::summed): an ICMP error, which has no more in either family (RFC 4443
/// section 2.4, RFC 1812 section 4.3.2.3), with room to spare.
const MOST_SUMMED: usize = 1536;

/// Bytes that are read at once.
const RUN: usize = 32;

/// A frame, or the linear part of one, with its Ethernet header.
pub(crate) trait Linear {
    /// Where it begins and ends: `data` and `data_end` of the context. Read anew each time, because the
    /// verifier follows a packet pointer only where it is not moved as a 32-bit number, which it is in the
    /// context.
    fn bounds(&self) -> (u32, u32);

    /// A pointer to `size` bytes that begin `at` bytes into the frame.
    #[inline(always)]
    fn pointer(&self, at: usize, size: usize) -> Result<*mut u8, Truncated> {
        self.pointer_within(REACH, at, size)
    }

    /// [`pointer`](Self::pointer), where bytes begin at this offset at most.
    #[inline(always)]
    fn pointer_within(&self, reach: usize, at: usize, size: usize) -> Result<*mut u8, Truncated> {
        if at > reach {
            return Err(Truncated);
        }
        let (start, end) = self.bounds();
        let start = start as usize + at;
        if start + size > end as usize {
            return Err(Truncated);
        }
        Ok(start as *mut u8)
    }

    /// The Ethernet header.
    #[inline(always)]
    fn ethernet(&self) -> Option<Ethernet> {
        let pointer = self.pointer(0, ethernet::HEADER).ok()?;
        // SAFETY: `pointer` checked that the header lies in the frame.
        Some(unsafe { Ethernet::read(pointer.cast()) })
    }

    /// The type of the payload of the Ethernet header.
    #[inline(always)]
    fn kind(&self) -> Option<u16> {
        self.addressed().map(|(_, kind)| kind)
    }

    /// The destination in the Ethernet header, whose first byte is the lowest of the number, and the type of the
    /// payload.
    #[inline(always)]
    fn addressed(&self) -> Option<(u64, u16)> {
        let pointer = self.pointer(0, ethernet::HEADER).ok()?;
        // SAFETY: `pointer` checked that the header lies in the frame.
        let (word, kind) = unsafe {
            (
                pointer.cast::<u64>().read(),
                pointer.cast::<u16>().add(6).read(),
            )
        };
        Some((u64::from_le(word) & 0xffff_ffff_ffff, u16::from_be(kind)))
    }

    /// Overwrites the Ethernet header.
    #[inline(always)]
    fn set_ethernet(&self, header: Ethernet) -> Option<()> {
        let pointer = self.pointer(0, ethernet::HEADER).ok()?;
        // SAFETY: `pointer` checked that the header lies in the frame.
        unsafe { header.write(pointer.cast()) };
        Some(())
    }

    /// Words that begin `at` bytes into the IP packet.
    #[inline(always)]
    fn payload<const N: usize>(&self, at: usize) -> Result<[Word; N], Truncated> {
        let pointer = self.pointer(at + ethernet::HEADER, 4 * N)?;
        // SAFETY: `pointer` checked that these bytes lie in the frame; `Word` is a plain `u32`.
        Ok(unsafe { pointer.cast::<[Word; N]>().read() })
    }

    /// Replaces the word that begins `at` bytes into the IP packet, with one check for reading and writing.
    #[inline(always)]
    fn change_payload(
        &self,
        at: usize,
        change: impl FnOnce(Word) -> Word,
    ) -> Result<(), Truncated> {
        let pointer = self.pointer(at + ethernet::HEADER, 4)?.cast::<Word>();
        // SAFETY: `pointer` checked that these bytes lie in the frame; `Word` is a plain `u32`.
        unsafe { pointer.write(change(pointer.read())) };
        Ok(())
    }

    /// Overwrites words that begin `at` bytes into the IP packet.
    #[inline(always)]
    fn set_payload<const N: usize>(&self, at: usize, words: [Word; N]) -> Result<(), Truncated> {
        let pointer = self.pointer(at + ethernet::HEADER, 4 * N)?;
        // SAFETY: `pointer` checked that these bytes lie in the frame.
        unsafe { pointer.cast::<[Word; N]>().write(words) };
        Ok(())
    }

    /// The folded sum of `length` bytes that begin `at` bytes into the IP packet, and in the frame; -1 if they are too
    /// many, or not all there.
    #[inline(always)]
    fn summed(&self, at: usize, length: usize) -> i32 {
        if at > REACH || length > MOST_SUMMED {
            return -1;
        }
        let mut at = at + ethernet::HEADER;
        let end = at + length;
        let mut sum = Sum::ZERO;
        while at + RUN <= end {
            // The compiler would count up to the end of each run, and the verifier follows a pointer to its beginning.
            at = black_box(at);
            let Some(words) = self.run::<{ RUN / 4 }>(at) else {
                return -1;
            };
            sum = sum.words(&words);
            at += RUN;
        }
        while at + 2 <= end {
            at = black_box(at);
            let Some(pair) = self.pair(at) else {
                return -1;
            };
            sum = sum.number(pair);
            at += 2;
        }
        if at < end {
            // The verifier does not take the check of a single byte, and there is always one before it.
            let Some(pair) = self.pair(black_box(at - 1)) else {
                return -1;
            };
            sum = sum.number(pair << 8);
        }
        i32::from(sum.fold())
    }

    /// The 16-bit number that begins `at` bytes into the frame, where it is to be summed up.
    #[inline(always)]
    fn pair(&self, at: usize) -> Option<u16> {
        let pointer = self.pointer_within(REACH + MOST_SUMMED, at, 2).ok()?;
        // SAFETY: `pointer_within` checked that these bytes lie in the frame.
        Some(u16::from_be(unsafe {
            pointer.cast::<u16>().read_unaligned()
        }))
    }

    /// Words that begin `at` bytes into the frame, where they are to be summed up.
    #[inline(always)]
    fn run<const N: usize>(&self, at: usize) -> Option<[Word; N]> {
        let pointer = self.pointer_within(REACH + MOST_SUMMED, at, 4 * N).ok()?;
        // SAFETY: `pointer_within` checked that these bytes lie in the frame; `Word` is a plain `u32`.
        Some(unsafe { pointer.cast::<[Word; N]>().read() })
    }
}

/// The sum that [`Linear::summed`] has returned.
#[inline(always)]
pub(crate) fn sum_of(folded: i32) -> Option<Sum> {
    u16::try_from(folded)
        .ok()
        .map(|folded| Sum::ZERO.number(folded))
}
