//! The unit of all packet access: four bytes in *memory order*.
//!
//! A [`Word`] holds the four bytes as they lie in the packet. Only its accessors turn them into a
//! number.

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
