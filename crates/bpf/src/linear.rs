//! Ethernet frames that a program reads and writes by pointers.

use isthmus_core::packet::{Abilities, Truncated};
use isthmus_core::word::Word;

use crate::ethernet::{self, Ethernet};

/// Headers end before this offset; the verifier wants a bound that it can see.
const REACH: usize = 1024;

/// Room for what may follow extension headers: a fragment header, a header of IPv4, an ICMP error, and the headers that it
/// quotes.
const BEHIND_EXTENSION_HEADERS: usize = ethernet::HEADER + 8 + 60 + 8 + 60 + 20;
const _: () = assert!(Abilities::BPF.reach + BEHIND_EXTENSION_HEADERS <= REACH);

/// A frame, or the linear part of one, with its Ethernet header.
pub(crate) trait Linear {
    /// Where it begins and ends: `data` and `data_end` of the context. Read anew each time, because the
    /// verifier follows a packet pointer only where it is not moved as a 32-bit number, which it is in the
    /// context.
    fn bounds(&self) -> (u32, u32);

    /// A pointer to `size` bytes that begin `at` bytes into the frame.
    #[inline(always)]
    fn pointer(&self, at: usize, size: usize) -> Result<*mut u8, Truncated> {
        if at > REACH {
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
}
