//! The packet of an engine that takes plain packets only.

use super::{Abilities, Family, NoRoom, Packet, Truncated};
use crate::checksum::{Change, Field};
use crate::word::Word;

/// A packet in the hands of the first half of an engine: TCP or UDP with a checksum, whole, behind an IP header
/// without options and without extension headers. Any other packet is refused as it is, whatever the reason, and the
/// second half takes it.
///
/// Most packets are plain, and a program that has no others in mind keeps little of them: the compiler leaves
/// out all that the rest needs.
#[derive(Debug)]
pub struct Plain<'a, P>(pub &'a mut P);

impl<P: Packet> Packet for Plain<'_, P> {
    const ABILITIES: Abilities = Abilities::PLAIN;

    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn words<const N: usize>(&self, at: usize) -> Result<[Word; N], Truncated> {
        self.0.words(at)
    }

    #[inline(always)]
    fn set_words<const N: usize>(&mut self, at: usize, words: [Word; N]) -> Result<(), Truncated> {
        self.0.set_words(at, words)
    }

    #[inline(always)]
    fn change_word(
        &mut self,
        at: usize,
        change: impl FnOnce(Word) -> Word,
    ) -> Result<(), Truncated> {
        self.0.change_word(at, change)
    }

    #[inline(always)]
    fn replace_front(
        &mut self,
        remove: usize,
        insert: usize,
        family: Family,
    ) -> Result<(), NoRoom> {
        self.0.replace_front(remove, insert, family)
    }

    #[inline(always)]
    fn patch_checksum(&mut self, field: Field, change: Change) -> Result<(), Truncated> {
        self.0.patch_checksum(field, change)
    }

    #[inline(always)]
    fn gso_size(&self) -> Option<u16> {
        self.0.gso_size()
    }
}
