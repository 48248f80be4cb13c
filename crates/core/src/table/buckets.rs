//! A hash table of single words: buckets of eight, one cache line each, and two buckets for every
//! hash.
//!
//! An entry is made by one compare-exchange of an empty word (0). Of two processors that make
//! entries with the same tag at the same time at least one finds the other's when it looks again,
//! because each looks after it wrote; who finds another one takes its own back. So there never are
//! two owners, at the price that sometimes there is none.

use core::sync::atomic::Ordering;

use super::{LOAD, Line, Memory, Refused, UPDATE};

/// Free words that the first bucket of a hash must have to be taken without regard to the second:
/// up to half full, entries lie where the look-up begins; beyond that, balance decides, and lets
/// the table fill to three quarters and more.
const PREFER_FIRST: u32 = 4;

/// Compare-exchanges that an insertion loses to other processors before it gives up.
const ATTEMPTS: u32 = 4;

/// Where the buckets lie in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Buckets {
    /// First line.
    pub first: u32,
    /// Lines.
    pub count: u32,
}

/// Number of a word: bucket times eight, plus its place in the bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position(pub u32);

impl Buckets {
    /// The lines of the two buckets of a hash.
    #[inline(always)]
    fn pair(self, hash: u64) -> (u32, u32) {
        (self.reduce(hash >> 32), self.reduce(hash & 0xffff_ffff))
    }

    /// `bits` of 32 random bits mapped to a bucket, without a division.
    #[inline(always)]
    fn reduce(self, bits: u64) -> u32 {
        (bits.wrapping_mul(u64::from(self.count)) >> 32) as u32
    }

    #[inline(always)]
    fn line<M: Memory + ?Sized>(self, memory: &M, bucket: u32) -> Option<&Line> {
        memory.line(self.first.wrapping_add(bucket))
    }

    /// The word at `position`; `None` outside of the table.
    #[inline(always)]
    pub fn word<M: Memory + ?Sized>(self, memory: &M, position: Position) -> Option<u64> {
        let line = self.line(memory, position.0 >> 3)?;
        Some(line[(position.0 & 7) as usize].load(LOAD))
    }

    /// The first word that equals `want` in the bits of `mask`.
    #[inline(always)]
    pub fn find<M: Memory + ?Sized>(
        self,
        memory: &M,
        hash: u64,
        mask: u64,
        want: u64,
    ) -> Option<Position> {
        let (first, second) = self.pair(hash);
        let place = place_of(self.line(memory, first)?, mask, want);
        if place < 8 {
            return Some(Position(first << 3 | place));
        }
        let place = place_of(self.line(memory, second)?, mask, want);
        if place < 8 {
            return Some(Position(second << 3 | place));
        }
        None
    }

    /// Writes `word` into an empty place, unless an entry equals it in the bits of `mask`.
    ///
    /// # Errors
    /// [`Refused::Contention`] if such an entry is there or comes into being at the same time;
    /// [`Refused::Full`].
    #[inline(always)]
    pub fn insert_unique<M: Memory + ?Sized>(
        self,
        memory: &M,
        hash: u64,
        mask: u64,
        word: u64,
    ) -> Result<Position, Refused> {
        let (first, second) = self.pair(hash);
        let want = word & mask;
        if self.occurrences(memory, (first, second), mask, want) != 0 {
            return Err(Refused::Contention);
        }
        let position = self.insert(memory, hash, word)?;
        if self.occurrences(memory, (first, second), mask, want) != 1 {
            self.remove(memory, position);
            return Err(Refused::Contention);
        }
        Ok(position)
    }

    /// Writes `word` into an empty place of one of the two buckets.
    ///
    /// # Errors
    /// [`Refused::Full`]; [`Refused::Contention`] if every place that was tried went to another
    /// processor.
    #[inline(always)]
    pub fn insert<M: Memory + ?Sized>(
        self,
        memory: &M,
        hash: u64,
        word: u64,
    ) -> Result<Position, Refused> {
        let (first, second) = self.pair(hash);
        for _ in 0..ATTEMPTS {
            let (Some(one), Some(two)) = (self.line(memory, first), self.line(memory, second))
            else {
                return Err(Refused::Full);
            };
            let (free_one, place_one) = vacancy(one);
            let (free_two, place_two) = vacancy(two);
            let (line, bucket, place) = if free_one >= PREFER_FIRST || free_one >= free_two {
                (one, first, place_one)
            } else {
                (two, second, place_two)
            };
            if place >= 8 {
                return Err(Refused::Full);
            }
            if line[(place & 7) as usize]
                .compare_exchange(0, word, UPDATE, Ordering::Relaxed)
                .is_ok()
            {
                return Ok(Position(bucket << 3 | place));
            }
        }
        Err(Refused::Contention)
    }

    /// Empties the word at `position`, which must be the caller's own.
    #[inline(always)]
    pub fn remove<M: Memory + ?Sized>(self, memory: &M, position: Position) {
        self.store(memory, position, 0);
    }

    /// Writes the word at `position`, which must be the caller's own, after everything that the
    /// caller wrote before.
    #[inline(always)]
    pub fn store<M: Memory + ?Sized>(self, memory: &M, position: Position, word: u64) {
        if let Some(line) = self.line(memory, position.0 >> 3) {
            line[(position.0 & 7) as usize].swap(word, UPDATE);
        }
    }

    /// How many words of the two buckets equal `want` in the bits of `mask`.
    #[inline(always)]
    fn occurrences<M: Memory + ?Sized>(
        self,
        memory: &M,
        pair: (u32, u32),
        mask: u64,
        want: u64,
    ) -> u32 {
        let mut sum = 0;
        if let Some(line) = self.line(memory, pair.0) {
            sum += occurrences_in(line, mask, want);
        }
        if pair.0 != pair.1
            && let Some(line) = self.line(memory, pair.1)
        {
            sum += occurrences_in(line, mask, want);
        }
        sum
    }
}

/// Place of the first matching word; 8 if there is none.
#[inline(always)]
fn place_of(line: &Line, mask: u64, want: u64) -> u32 {
    for (place, word) in line.iter().enumerate() {
        if word.load(LOAD) & mask == want {
            return place as u32;
        }
    }
    8
}

#[inline(always)]
fn occurrences_in(line: &Line, mask: u64, want: u64) -> u32 {
    let mut sum = 0;
    for word in line {
        sum += u32::from(word.load(LOAD) & mask == want);
    }
    sum
}

/// How many words are empty, and the last of them; 8 if there is none.
#[inline(always)]
fn vacancy(line: &Line) -> (u32, u32) {
    let mut free = 0;
    let mut place = 8;
    for (index, word) in line.iter().enumerate() {
        if word.load(Ordering::Relaxed) == 0 {
            free += 1;
            place = index as u32;
        }
    }
    (free, place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn memory(lines: usize) -> Vec<Line> {
        (0..lines).map(|_| Line::default()).collect()
    }

    fn mixed(n: u64) -> u64 {
        crate::table::hash(&[0x243f_6a88_85a3_08d3; 6], &[n, n])
    }

    #[test]
    fn what_was_inserted_is_found_until_it_is_removed() {
        let memory = memory(6);
        let table = Buckets { first: 2, count: 4 };
        let position = table.insert(&memory[..], mixed(1), 77).unwrap();
        assert_eq!(
            table.find(&memory[..], mixed(1), u64::MAX, 77),
            Some(position)
        );
        assert_eq!(table.find(&memory[..], mixed(1), u64::MAX, 78), None);
        table.remove(&memory[..], position);
        assert_eq!(table.find(&memory[..], mixed(1), u64::MAX, 77), None);
    }

    #[test]
    fn a_second_entry_with_the_same_tag_is_refused() {
        let memory = memory(4);
        let table = Buckets { first: 0, count: 4 };
        assert!(
            table
                .insert_unique(&memory[..], mixed(1), !3, 0x101)
                .is_ok()
        );
        assert_eq!(
            table.insert_unique(&memory[..], mixed(1), !3, 0x102),
            Err(Refused::Contention)
        );
    }

    #[test]
    fn a_full_pair_of_buckets_is_full() {
        let memory = memory(2);
        let table = Buckets { first: 0, count: 2 };
        // The upper half of the hash selects bucket 0, the lower half bucket 1.
        let hash = 0x0000_0000_ffff_ffff;
        for n in 1..=16 {
            assert!(table.insert(&memory[..], hash, n).is_ok(), "{n}");
        }
        assert_eq!(table.insert(&memory[..], hash, 17), Err(Refused::Full));
    }

    #[test]
    fn three_quarters_fit() {
        const BUCKETS: u32 = 4096;
        let memory = memory(BUCKETS as usize);
        let table = Buckets {
            first: 0,
            count: BUCKETS,
        };
        let entries = u64::from(BUCKETS) * 6;
        let refused = (1..=entries)
            .filter(|n| table.insert(&memory[..], mixed(*n), *n).is_err())
            .count();
        assert!(refused <= entries as usize / 1000, "{refused} of {entries}");
    }

    #[test]
    fn a_table_outside_of_memory_is_full_and_empty() {
        let memory = memory(1);
        let table = Buckets { first: 1, count: 4 };
        assert_eq!(table.insert(&memory[..], 1, 1), Err(Refused::Full));
        assert_eq!(table.find(&memory[..], 1, u64::MAX, 1), None);
    }
}
