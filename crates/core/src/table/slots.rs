//! A hash table of 64-byte slots, in the manner of a Swiss table: the words that a look-up scans
//! lie together in control lines, and each has one slot line of the same number. A hit costs two
//! cache lines.
//!
//! A slot says by itself whether it is in use: its last word is its [`Life`]. That holds a
//! generation, too, so a reader that saw the same life before and after has read one entry and no
//! mixture, and a writer that updates the life by compare-exchange cannot hit a successor. This
//! is why a slot may also be reached from an index elsewhere, without its control word.

use core::hint::black_box;
use core::sync::atomic::Ordering;

use super::{Buckets, LOAD, Line, Memory, Position, Refused, STORE, UPDATE, USED};

/// Word of a slot that holds its life.
const LIFE: usize = 7;
/// State of a control word whose slot is being written.
const BUSY: u64 = 1;
/// State of a control word whose slot can be used: one more, so that an addition makes one of the other.
const LIVE: u64 = BUSY + 1;
/// Bits of a control word that are a part of the hash.
const TAG: u64 = !3;

/// The control word of a hash, in one of the two states.
#[inline(always)]
const fn control_word(hash: u64, state: u64) -> u64 {
    hash & TAG | USED | state
}

/// The last word of a slot: whether the slot is in use, its generation, and 48 bits that belong to the
/// table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life(pub u64);

impl Life {
    const ALIVE: u64 = 1 << 63;
    const GENERATION_SHIFT: u32 = 48;
    /// The bits that belong to the table.
    pub const PAYLOAD: u64 = (1 << Self::GENERATION_SHIFT) - 1;

    /// Whether the slot holds an entry.
    #[inline(always)]
    #[must_use]
    pub const fn alive(self) -> bool {
        self.0 & Self::ALIVE != 0
    }

    /// The bits that belong to the table.
    #[inline(always)]
    #[must_use]
    pub const fn payload(self) -> u64 {
        self.0 & Self::PAYLOAD
    }

    /// The same entry with other table bits.
    #[inline(always)]
    #[must_use]
    pub const fn with(self, payload: u64) -> Self {
        Self(self.0 & !Self::PAYLOAD | payload & Self::PAYLOAD)
    }

    /// Whether both are the life of one entry.
    #[inline(always)]
    #[must_use]
    pub const fn same_entry(self, other: Self) -> bool {
        (self.0 ^ other.0) & !Self::PAYLOAD == 0
    }

    const fn dead(self) -> Self {
        Self(self.0 & !(Self::ALIVE | Self::PAYLOAD))
    }

    const fn successor(self, payload: u64) -> Self {
        Self(
            (self.0 & !Self::PAYLOAD).wrapping_add(1 << Self::GENERATION_SHIFT)
                | Self::ALIVE
                | payload & Self::PAYLOAD,
        )
    }
}

/// Where control lines and slots lie in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Slots {
    /// Control lines.
    pub control: Buckets,
    /// First slot line; there are eight for each control line.
    pub first: u32,
}

/// An entry, borrowed from memory that others write to at the same time.
#[derive(Clone, Copy)]
pub struct Slot<'m> {
    line: &'m Line,
    /// Its life when it was found.
    pub life: Life,
}

/// A slot that is being written.
#[derive(Clone, Copy)]
pub struct Draft<'m>(&'m Line);

impl Draft<'_> {
    /// Writes words from `first` on, as far as they lie before the life.
    #[inline(always)]
    pub fn write<const N: usize>(self, first: usize, words: &[u64; N]) {
        for (word, value) in self.0.iter().take(LIFE).skip(first).zip(words) {
            word.store(*value, STORE);
        }
    }
}

impl<'m> Slot<'m> {
    /// The entry in the slot line with this number; `None` if there is none.
    #[inline(always)]
    pub fn at<M: Memory + ?Sized>(memory: &'m M, line: u32) -> Option<Self> {
        let line = memory.line(line)?;
        let life = Life(line[LIFE].load(LOAD));
        life.alive().then_some(Self { line, life })
    }

    /// Word `index` of the entry, 0 to 6; 0 for any other index.
    #[inline(always)]
    #[must_use]
    pub fn word(&self, index: usize) -> u64 {
        match self.line.get(index) {
            Some(word) if index != LIFE => word.load(LOAD),
            _ => 0,
        }
    }

    /// Whether the first words of the entry are `key`.
    #[inline(always)]
    #[must_use]
    pub fn has_key<const K: usize>(&self, key: &[u64; K]) -> bool {
        const { assert!(K < LIFE) }
        // One comparison after the other: as one expression it becomes a vector, which BPF lacks.
        for (word, want) in self.line.iter().zip(key) {
            if word.load(LOAD) != *want {
                return false;
            }
        }
        true
    }

    /// Whether the words that were read since the slot was found belong to one entry.
    #[inline(always)]
    #[must_use]
    pub fn unchanged(&self) -> bool {
        Life(self.line[LIFE].load(LOAD)).same_entry(self.life)
    }

    /// Replaces the table bits of the life; `false` if the life changed in the meantime.
    #[inline(always)]
    #[must_use]
    pub fn update(&self, payload: u64) -> bool {
        self.exchange(self.life.with(payload))
    }

    /// Ends the entry. The caller that gets `true` must take its references back and then
    /// [`release`](Slots::release) the slot.
    #[inline(always)]
    #[must_use]
    pub fn end(&self) -> bool {
        self.exchange(self.life.dead())
    }

    /// Adds to the table bits, which must not overflow. The caller must hold a reference that keeps the
    /// entry alive. Returns the life before.
    #[inline(always)]
    pub fn add(&self, amount: u64) -> Life {
        Life(self.line[LIFE].fetch_add(amount, UPDATE))
    }

    /// Changes a word other than the key and the life; `false` if it is not `old` any more.
    #[inline(always)]
    pub fn replace(&self, index: usize, old: u64, new: u64) -> bool {
        match self.line.get(index) {
            Some(word) if index != LIFE => word
                .compare_exchange(old, new, UPDATE, Ordering::Relaxed)
                .is_ok(),
            _ => false,
        }
    }

    /// Adds to a word other than the key and the life, modulo 2^64.
    #[inline(always)]
    pub fn add_to(&self, index: usize, amount: u64) {
        if let Some(word) = self.line.get(index)
            && index != LIFE
        {
            word.fetch_add(amount, UPDATE);
        }
    }

    #[inline(always)]
    fn exchange(&self, new: Life) -> bool {
        self.line[LIFE]
            .compare_exchange(self.life.0, new.0, UPDATE, Ordering::Relaxed)
            .is_ok()
    }
}

/// The lesser of two numbers below 2^63. Without a branch: the verifier of BPF would go on once for each outcome, and with
/// all that it knows of it.
#[inline(always)]
fn lesser(a: u64, b: u64) -> u64 {
    let a_is_less = black_box((a.wrapping_sub(b) as i64 >> 63) as u64);
    b ^ (a ^ b) & a_is_less
}

/// All ones, or zero for zero, without a branch.
#[inline(always)]
fn all_ones_unless_zero(number: u64) -> u64 {
    black_box(((number | number.wrapping_neg()) as i64 >> 63) as u64)
}

impl Slots {
    /// The entry with this key.
    #[inline(always)]
    pub fn find<'m, M: Memory + ?Sized, const K: usize>(
        &self,
        memory: &'m M,
        hash: u64,
        key: &[u64; K],
    ) -> Option<(Position, Slot<'m>)> {
        let position = self
            .control
            .find(memory, hash, u64::MAX, control_word(hash, LIVE))?;
        let slot = Slot::at(memory, self.line_of(position))?;
        slot.has_key(key).then_some((position, slot))
    }

    /// The slot line of a position.
    #[inline(always)]
    #[must_use]
    pub const fn line_of(&self, position: Position) -> u32 {
        self.first.wrapping_add(position.0)
    }

    /// The position of a slot line.
    #[inline(always)]
    #[must_use]
    pub const fn position_of(&self, line: u32) -> Position {
        Position(line.wrapping_sub(self.first))
    }

    /// A table for so many entries, from a line on.
    pub(crate) const fn for_entries(first: u32, entries: u32) -> Self {
        let control = Buckets::for_entries(first, entries);
        Self {
            control,
            first: control.end(),
        }
    }

    /// The line after the table.
    pub(crate) const fn end(&self) -> u32 {
        self.first + self.len()
    }

    /// Slots of the table.
    #[inline(always)]
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.control.count << 3
    }

    /// Whether the table has no slots at all.
    #[inline(always)]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.control.count == 0
    }

    /// Takes a slot for a key that was not found. Nobody finds it before
    /// [`publish`](Self::publish).
    ///
    /// # Errors
    /// [`Refused::Contention`] if the key is there, or is being made or removed by another
    /// processor; [`Refused::Full`].
    #[inline(always)]
    pub fn reserve<M: Memory + ?Sized>(&self, memory: &M, hash: u64) -> Result<Position, Refused> {
        self.control
            .reserve(memory, hash, TAG, control_word(hash, BUSY))
            .get()
    }

    /// Prefetches the line of a slot that will be written, while other lines are being fetched: in a large
    /// table each takes longer than all the rest.
    #[inline(always)]
    pub fn touch<M: Memory + ?Sized>(&self, memory: &M, position: Position) {
        super::touch(memory, self.line_of(position));
    }

    /// The line of a reserved slot, to be written: words 0 to 6.
    #[inline(always)]
    pub fn draft<'m, M: Memory + ?Sized>(
        &self,
        memory: &'m M,
        position: Position,
    ) -> Option<Draft<'m>> {
        memory.line(self.line_of(position)).map(Draft)
    }

    /// Makes a reserved and written slot an entry with these table bits.
    #[inline(always)]
    pub fn publish<M: Memory + ?Sized>(
        &self,
        memory: &M,
        draft: Draft<'_>,
        position: Position,
        payload: u64,
    ) {
        let life = &draft.0[LIFE];
        let before = Life(life.load(Ordering::Relaxed));
        life.swap(before.successor(payload).0, UPDATE);
        self.control.add(memory, position, LIVE - BUSY);
    }

    /// Releases a slot: one that was reserved and not published, or whose entry was [ended](Slot::end) by
    /// the caller.
    #[inline(always)]
    pub fn release<M: Memory + ?Sized>(&self, memory: &M, position: Position) {
        self.control.remove(memory, position);
    }

    /// Ends the entry at a position, if there is one, and empties the place. Nobody else may change either
    /// meanwhile.
    pub fn clear<M: Memory + ?Sized>(&self, memory: &M, position: Position) {
        if let Some(slot) = Slot::at(memory, self.line_of(position)) {
            let _alone = slot.end();
        }
        self.release(memory, position);
    }

    /// The position of the entry that gives way to a new one with this hash, where both buckets are full: the one whose
    /// table bits are the least number, of those of its owner if that has `share` of the places, or else of all. The
    /// owner is the first word of an entry.
    #[inline(always)]
    pub fn give_way<M: Memory + ?Sized>(
        &self,
        memory: &M,
        hash: u64,
        owner: u64,
        share: u64,
    ) -> Position {
        // The table bits of an entry, or more than any if `others` is all ones and it is another owner's.
        let bits = |slot: &Slot<'_>, others: u64| {
            let is_other = all_ones_unless_zero(slot.word(0) ^ owner);
            slot.life.payload() | is_other & others & Life::PAYLOAD
        };
        let (mut least, mut least_of_owner, mut of_owner) = (Life::PAYLOAD, Life::PAYLOAD, 0);
        for position in self.control.positions(hash) {
            if let Some(slot) = self.entry(memory, position) {
                let of_one = bits(&slot, u64::MAX);
                least = lesser(least, slot.life.payload());
                least_of_owner = lesser(least_of_owner, of_one);
                of_owner += !all_ones_unless_zero(of_one ^ slot.life.payload()) & 1;
            }
        }
        let others = black_box(!((of_owner.wrapping_sub(share) as i64 >> 63) as u64));
        let least = black_box(least ^ (least ^ least_of_owner) & others);
        let gives_way = |position: &Position| {
            let slot = self.entry(memory, *position);
            slot.is_some_and(|slot| bits(&slot, others) == least)
        };
        let found = self.control.positions(hash).find(gives_way);
        found.unwrap_or(self.control.position(hash, 0))
    }

    /// The entry at a position, for walks over the table.
    #[inline(always)]
    pub fn entry<'m, M: Memory + ?Sized>(
        &self,
        memory: &'m M,
        position: Position,
    ) -> Option<Slot<'m>> {
        if self.control.word(memory, position)? & !TAG != LIVE {
            return None;
        }
        Slot::at(memory, self.line_of(position))
    }
}
