//! The packet in a packet, as a packet of its own.

use crate::checksum::{Change, Field, Sum};
use crate::packet::{Abilities, Family, NoRoom, Packet, Truncated};
use crate::word::Word;

/// The packet behind an outer header. All rules for packets hold for it. The outer header is part of its
/// front and is replaced with it.
#[derive(Debug)]
pub struct Inner<'a, P> {
    packet: &'a mut P,
    at: usize,
    length: usize,
}

impl<'a, P: Packet> Inner<'a, P> {
    /// The `length` bytes that begin `at` bytes into a packet.
    ///
    /// # Errors
    /// [`Truncated`] if the packet ends before them.
    #[inline(always)]
    pub fn new(packet: &'a mut P, at: usize, length: usize) -> Result<Self, Truncated> {
        if at + length > packet.len() {
            return Err(Truncated);
        }
        Ok(Self { packet, at, length })
    }
}

impl<P: Packet> Packet for Inner<'_, P> {
    const ABILITIES: Abilities = P::ABILITIES;

    #[inline(always)]
    fn len(&self) -> usize {
        self.length
    }

    #[inline(always)]
    fn words<const N: usize>(&self, at: usize) -> Result<[Word; N], Truncated> {
        self.packet.words(self.at + at)
    }

    #[inline(always)]
    fn set_words<const N: usize>(&mut self, at: usize, words: [Word; N]) -> Result<(), Truncated> {
        self.packet.set_words(self.at + at, words)
    }

    #[inline(always)]
    fn replace_front(
        &mut self,
        remove: usize,
        insert: usize,
        family: Family,
    ) -> Result<(), NoRoom> {
        self.packet
            .replace_front(self.at + remove, insert, family)?;
        self.at = 0;
        self.length = self.length - remove + insert;
        Ok(())
    }

    #[inline(always)]
    fn patch_checksum(&mut self, field: Field, change: Change) -> Result<(), Truncated> {
        let at = self.at + field.at;
        self.packet.patch_checksum(Field { at, ..field }, change)
    }

    #[inline(always)]
    fn gso_size(&self) -> Option<u16> {
        self.packet.gso_size()
    }

    #[inline(always)]
    fn sum(&self, at: usize, length: usize) -> Option<Sum> {
        if at + length > self.length {
            return None;
        }
        self.packet.sum(self.at + at, length)
    }

    #[inline(always)]
    fn bytes(&self) -> Option<&[u8]> {
        self.packet.bytes()?.get(self.at..self.at + self.length)
    }

    #[inline(always)]
    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        self.packet
            .bytes_mut()?
            .get_mut(self.at..self.at + self.length)
    }

    #[inline(always)]
    fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
        self.packet.truncate(self.at + self.length);
    }

    #[inline(always)]
    fn reassembled(&self) -> Option<u32> {
        self.packet.reassembled()
    }
}
