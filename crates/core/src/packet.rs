//! What an engine lends to the core: one IP packet, read and written in 32-bit words.
//!
//! Words, because that is what the BPF verifier and the BPF instruction set handle best: one
//! bounds check and one load for four bytes. A word is in *memory order* ([`Word`]): it holds the
//! four bytes as they lie in the packet, and is turned into a number by its accessors only.

use crate::checksum::Delta;

/// The two families that Isthmus joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Internet Protocol, version 4.
    V4,
    /// Internet Protocol, version 6.
    V6,
}

/// Four consecutive bytes of a packet, in memory order.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Word(pub u32);

impl Word {
    /// The word that lies in memory as these bytes.
    #[inline(always)]
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 4]) -> Self {
        Self(u32::from_ne_bytes(bytes))
    }

    /// The four bytes as they lie in memory.
    #[inline(always)]
    #[must_use]
    pub const fn bytes(self) -> [u8; 4] {
        self.0.to_ne_bytes()
    }

    /// The word that lies in memory as the big-endian form of `number`.
    #[inline(always)]
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        Self(number.to_be())
    }

    /// The number whose big-endian form these bytes are.
    #[inline(always)]
    #[must_use]
    pub const fn number(self) -> u32 {
        u32::from_be(self.0)
    }

    /// The first two bytes as a number.
    #[inline(always)]
    #[must_use]
    pub const fn high(self) -> u16 {
        (self.number() >> 16) as u16
    }

    /// The last two bytes as a number.
    #[inline(always)]
    #[must_use]
    pub const fn low(self) -> u16 {
        self.number() as u16
    }

    /// The word made of two 16-bit numbers, `high` first in the packet.
    #[inline(always)]
    #[must_use]
    pub const fn from_halves(high: u16, low: u16) -> Self {
        Self::from_number((high as u32) << 16 | low as u32)
    }
}

impl core::fmt::Debug for Word {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:08x}", self.number())
    }
}

/// A read or write past the end of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated;

/// The engine could not change the size of the front of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// Where the checksum of a transport header lies and how its protocol treats zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumKind {
    /// TCP and ICMP: 0x0000 is a checksum like any other.
    Plain,
    /// UDP: a computed 0x0000 is sent as 0xffff (RFC 768).
    Udp,
}

/// One IP packet in the hands of an engine. Offset 0 is the first byte of the (outermost) IP
/// header; whatever lies before it (Ethernet, VLAN tags) is the engine's business.
#[expect(
    clippy::len_without_is_empty,
    reason = "a packet has a header at least; nobody asks"
)]
pub trait Packet {
    /// Bytes from the start of the IP header to the end of the buffer, link-layer padding
    /// included.
    fn len(&self) -> usize;

    /// `N` words that start `at` bytes into the packet.
    ///
    /// # Errors
    /// [`Truncated`] if `at + 4 * N` is past the end.
    fn words<const N: usize>(&self, at: usize) -> Result<[Word; N], Truncated>;

    /// Overwrites `N` words that start `at` bytes into the packet.
    ///
    /// # Errors
    /// [`Truncated`] if `at + 4 * N` is past the end; nothing is written then.
    fn set_words<const N: usize>(&mut self, at: usize, words: [Word; N]) -> Result<(), Truncated>;

    /// Replaces the first `remove` bytes by `insert` bytes of unspecified content, which the
    /// caller then writes in full. `family` is that of the header that the caller will write.
    ///
    /// # Errors
    /// [`NoRoom`]; the packet is unchanged then.
    fn replace_front(&mut self, remove: usize, insert: usize, family: Family)
    -> Result<(), NoRoom>;

    /// Adjusts the 16-bit transport checksum that lies `at` bytes into the packet. `pseudo` is the
    /// change of the pseudo-header, `content` that of bytes the checksum covers directly.
    ///
    /// The two are separate because a packet whose checksum the hardware still has to complete
    /// (`CHECKSUM_PARTIAL`) carries the sum of the pseudo-header only.
    ///
    /// # Errors
    /// [`Truncated`] if the field is not in the packet.
    #[inline(always)]
    fn patch_checksum(
        &mut self,
        at: usize,
        kind: ChecksumKind,
        pseudo: Delta,
        content: Delta,
    ) -> Result<(), Truncated> {
        patch_complete(self, at, kind, pseudo + content)
    }

    /// Payload bytes per segment if this is a super-packet that the hardware or the kernel will
    /// still cut into segments (GSO); `None` for an ordinary packet.
    fn gso_size(&self) -> Option<u16> {
        None
    }

    /// The whole packet as bytes, where the engine has them in reach: user space does, a BPF
    /// program does not. A rule that needs them answers [`Slow`](crate::verdict::Slow) otherwise.
    fn bytes(&self) -> Option<&[u8]> {
        None
    }

    /// The same, to be written. `Some` if and only if [`bytes`](Self::bytes) is.
    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        None
    }

    /// Takes away what lies behind the first `length` bytes, where [`bytes`](Self::bytes) are in reach;
    /// elsewhere nothing does.
    fn truncate(&mut self, length: usize) {
        let _ = length;
    }

    /// Identification of the datagram, if the packet was put together from fragments and may
    /// therefore be cut again, whatever DF says.
    fn reassembled(&self) -> Option<u32> {
        None
    }
}

/// Adjusts a complete (not offloaded) checksum in place: RFC 1624 equation 3.
///
/// # Errors
/// [`Truncated`] if the field is not in the packet.
#[inline(always)]
pub fn patch_complete<P: Packet + ?Sized>(
    packet: &mut P,
    at: usize,
    kind: ChecksumKind,
    change: Delta,
) -> Result<(), Truncated> {
    // The field is the first or the last half of an aligned word in every transport header; we
    // read the word that begins at the field if there is one, else the one that ends with it.
    // UDP, TCP and ICMP checksums all are followed or preceded by two more header bytes.
    let (word_at, field_is_high) = if at.is_multiple_of(4) {
        (at, true)
    } else {
        (at - 2, false)
    };
    let [word] = packet.words::<1>(word_at)?;
    let old = if field_is_high {
        word.high()
    } else {
        word.low()
    };
    let new = change.apply(old, kind);
    let word = if field_is_high {
        Word::from_halves(new, word.low())
    } else {
        Word::from_halves(word.high(), new)
    };
    packet.set_words(word_at, [word])
}
