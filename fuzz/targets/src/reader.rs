//! Takes an input apart. What is missing at its end reads as zero or as nothing.

/// The part of an input that was not read yet.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    /// Big-endian, as numbers lie in packets.
    pub(crate) fn number(&mut self) -> u16 {
        u16::from(self.byte()) << 8 | u16::from(self.byte())
    }

    /// So many bytes, or as many as are left.
    pub(crate) fn bytes(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Bytes with their length, a 16-bit number, before them.
    pub(crate) fn counted(&mut self) -> &'a [u8] {
        let length = self.number();
        self.bytes(length.into())
    }
}
