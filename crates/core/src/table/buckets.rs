//! A hash table of single words: buckets of eight, one cache line each, and two buckets for every
//! hash. An empty word is 0, all others have the top bit ([`USED`]).
//!
//! A bitmap has a bit for each bucket: whether an entry ever went on from it to its second one. As long as
//! none did, a search for an absent entry, which is what a new session does in every table, touches one
//! bucket and not two; the bitmap is small enough to stay in the cache. Its bits are not taken back: a
//! table that was full once is as slow as one without them.
//!
//! An entry is made by one compare-exchange of an empty word (0). Of two processors that make
//! entries with the same tag at the same time at least one finds the other's when it looks again,
//! because each looks after it wrote; who finds another one takes its own back. So there never are
//! two owners, at the price that sometimes there is none.

use core::ops::Range;
use core::sync::atomic::Ordering;

use super::{AtomicU64, LOAD, Line, Memory, Refused, UPDATE};

/// The bit that every entry must have.
pub const USED: u64 = 1 << 63;

/// Words that may be in use in the first bucket of a hash for it to be taken without regard to the
/// second: nearly up to half full, entries lie where the look-up begins; beyond that, balance decides,
/// and lets the table fill to two thirds and more.
const PREFER_FIRST: u32 = 3;

/// Bits of a line: buckets that a line of the bitmap speaks of.
const BITS: u32 = 512;
/// Entries for each two buckets, which have 16 places: where each entry has two buckets to choose from, one of a
/// million finds both full.
const ENTRIES_OF_TWO: u64 = 11;

/// Where the buckets lie in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Buckets {
    /// First line.
    pub first: u32,
    /// Lines with entries; those of the bitmap follow.
    pub count: u32,
}

/// Number of a word: bucket times eight, plus its place in the bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position(pub u32);

/// The position of a new entry, or why there is none: in one register, because a BPF function can return no
/// more.
#[derive(Clone, Copy, Debug)]
#[must_use]
#[repr(transparent)]
pub struct Placed(u64);

/// What is known of another entry that equals a new one in the bits that make it unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Twin {
    /// It may be there.
    Harmless,
    /// It was looked for and not found a moment ago.
    NotFound,
    /// Nothing.
    Unknown,
}

impl Placed {
    const FULL: Self = Self(1 << 32);
    const CONTENTION: Self = Self(2 << 32);

    #[inline(always)]
    const fn at(position: Position) -> Self {
        Self(position.0 as u64)
    }

    /// The result as a BPF function returns it.
    #[inline(always)]
    pub const fn to_word(self) -> u64 {
        self.0
    }

    /// The result of a BPF function.
    #[inline(always)]
    pub const fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// The position.
    ///
    /// # Errors
    /// [`Refused::Full`] if there is no room; [`Refused::Contention`].
    #[inline(always)]
    pub const fn get(self) -> Result<Position, Refused> {
        match self.0 >> 32 {
            0 => Ok(Position(self.0 as u32)),
            1 => Err(Refused::Full),
            _ => Err(Refused::Contention),
        }
    }
}

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

    /// Buckets for so many entries, from a line on.
    pub(crate) const fn for_entries(first: u32, entries: u32) -> Self {
        let count = (entries as u64 * 2).div_ceil(ENTRIES_OF_TWO) as u32;
        Self { first, count }
    }

    /// The entries that the buckets were made for.
    pub(crate) const fn entries(self) -> u32 {
        (self.count as u64 * ENTRIES_OF_TWO / 2) as u32
    }

    /// The line after the buckets and the bitmap behind them.
    pub(crate) const fn end(self) -> u32 {
        self.first + self.count + self.count.div_ceil(BITS)
    }

    /// The word of the bitmap that has the bit of a bucket, and the bit.
    #[inline(always)]
    fn spill<M: Memory + ?Sized>(self, memory: &M, bucket: u32) -> Option<(&AtomicU64, u64)> {
        let line = self.line(memory, self.count.wrapping_add(bucket / BITS))?;
        Some((&line[((bucket / 64) & 7) as usize], 1 << (bucket & 63)))
    }

    /// Whether entries may have gone on from a bucket to their second one.
    #[inline(always)]
    fn has_spilled<M: Memory + ?Sized>(self, memory: &M, bucket: u32) -> bool {
        match self.spill(memory, bucket) {
            Some((word, bit)) => word.load(LOAD) & bit != 0,
            None => false,
        }
    }

    /// The positions where an entry with this hash may lie: those of its first bucket and of its second.
    #[inline(always)]
    pub fn positions(self, hash: u64) -> impl Iterator<Item = Position> {
        (0..16).map(move |place| self.position(hash, place))
    }

    /// One of these 16 positions, by its number.
    #[inline(always)]
    #[must_use]
    pub fn position(self, hash: u64, place: u32) -> Position {
        let (first, second) = self.pair(hash);
        let bucket = if place < 8 { first } else { second };
        Position(bucket << 3 | place & 7)
    }

    /// Begins to fetch the bucket of a hash; see [`Slots::touch`](super::Slots::touch).
    #[inline(always)]
    pub fn touch<M: Memory + ?Sized>(self, memory: &M, hash: u64) {
        super::touch(memory, self.first.wrapping_add(self.pair(hash).0));
    }

    /// Returns what `look` finds in the first bucket of a hash, or else in the second. It gets a bucket with
    /// its number.
    #[inline(always)]
    fn search<M: Memory + ?Sized, T>(
        self,
        memory: &M,
        hash: u64,
        look: impl Fn(&Line, u32) -> Option<T>,
    ) -> Option<T> {
        let (first, second) = self.pair(hash);
        let found = look(self.line(memory, first)?, first);
        if found.is_some() {
            return found;
        }
        if !self.has_spilled(memory, first) {
            return None;
        }
        look(self.line(memory, second)?, second)
    }

    /// The first entry that equals `want` in the bits of `mask`.
    #[inline(always)]
    pub fn get<M: Memory + ?Sized>(
        self,
        memory: &M,
        hash: u64,
        mask: u64,
        want: u64,
    ) -> Option<u64> {
        self.search(memory, hash, |line, _| entry_of(line, mask, want))
    }

    /// The positions in use, finished or not, in the buckets with these numbers, for walks over the table. It looks at a
    /// bucket once and not at each of its places: most of a table that somebody walks over is empty.
    pub fn used<M: Memory + ?Sized>(
        self,
        memory: &M,
        buckets: Range<u32>,
    ) -> impl Iterator<Item = Position> {
        let of_bucket = move |bucket| {
            let used = self.line(memory, bucket).map_or(0, used_places);
            let places = if used == 0 { 0..0 } else { 0..8 };
            let used = places.filter(move |place| used >> place & 1 != 0);
            used.map(move |place| Position(bucket << 3 | place))
        };
        (buckets.start..buckets.end.min(self.count)).flat_map(of_bucket)
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
        self.search(memory, hash, |line, bucket| {
            let place = place_of(line, mask, want)?;
            Some(Position(bucket << 3 | place))
        })
    }

    /// Writes `word` into an empty place, unless an entry equals it in the bits of `mask`. Nobody
    /// sees the word if there is one. [`Refused::Contention`] if such an entry is there or comes into being
    /// at the same time. The lowest bit makes no entry another one.
    #[inline(always)]
    pub fn insert_unique<M: Memory + ?Sized>(
        self,
        memory: &M,
        hash: u64,
        mask: u64,
        word: u64,
    ) -> Placed {
        memory.insert(self, hash, mask, word, Twin::Unknown)
    }

    /// [`insert_unique`](Self::insert_unique) for an entry that was looked for and not found a moment ago,
    /// and that nobody uses yet: if there is another one, both may be seen for an instant.
    #[inline(always)]
    pub fn reserve<M: Memory + ?Sized>(
        self,
        memory: &M,
        hash: u64,
        mask: u64,
        word: u64,
    ) -> Placed {
        memory.insert(self, hash, mask, word, Twin::NotFound)
    }

    /// Writes `word` into an empty place of one of the two buckets. [`Refused::Contention`] if another
    /// processor took the place.
    #[inline(always)]
    pub fn insert<M: Memory + ?Sized>(self, memory: &M, hash: u64, word: u64) -> Placed {
        memory.insert(self, hash, u64::MAX, word, Twin::Harmless)
    }

    /// [`Memory::insert`], by the methods of a memory that has none of its own.
    #[inline(always)]
    pub fn insert_into<M: Memory + ?Sized>(
        self,
        memory: &M,
        hash: u64,
        mask: u64,
        word: u64,
        twin: Twin,
    ) -> Placed {
        if twin == Twin::Unknown && self.occurrences(memory, hash, mask, word & mask) != 0 {
            return Placed::CONTENTION;
        }
        let placed = self.place(memory, hash, word);
        if twin != Twin::Harmless
            && let Ok(position) = placed.get()
            && self.occurrences(memory, hash, mask, word & mask) > 1
        {
            self.remove(memory, position);
            return Placed::CONTENTION;
        }
        placed
    }

    #[inline(always)]
    fn place<M: Memory + ?Sized>(self, memory: &M, hash: u64, word: u64) -> Placed {
        let (first, second) = self.pair(hash);
        let Some(mut line) = self.line(memory, first) else {
            return Placed::FULL;
        };
        let mut bucket = first;
        let mut used = usage(line);
        if !used.few() {
            let Some(two) = self.line(memory, second) else {
                return Placed::FULL;
            };
            let used_two = usage(two);
            if used_two.count() < used.count() {
                (line, bucket, used) = (two, second, used_two);
            }
        }
        if used.all() {
            return Placed::FULL;
        }
        if bucket != first {
            let Some((word, bit)) = self.spill(memory, first) else {
                return Placed::FULL;
            };
            // Before the entry is there: a reader that finds none in the first bucket then looks in the
            // second.
            word.fetch_or(bit, UPDATE);
        }
        let place = used.vacancy();
        match line[place as usize & 7].compare_exchange(0, word, UPDATE, Ordering::Relaxed) {
            Ok(_) => Placed::at(Position(bucket << 3 | place)),
            // Another processor took this place a moment ago. It is not tried again: to the
            // verifier of BPF a second round would double everything that follows.
            Err(_) => Placed::CONTENTION,
        }
    }

    /// Empties the word at `position`, which must be the caller's own.
    #[inline(always)]
    pub fn remove<M: Memory + ?Sized>(self, memory: &M, position: Position) {
        if let Some(line) = self.line(memory, position.0 >> 3) {
            line[(position.0 & 7) as usize].swap(0, UPDATE);
        }
    }

    /// Adds to the word at `position`, which must be the caller's own, after everything that the
    /// caller wrote before.
    #[inline(always)]
    pub fn add<M: Memory + ?Sized>(self, memory: &M, position: Position, amount: u64) {
        if let Some(line) = self.line(memory, position.0 >> 3) {
            line[(position.0 & 7) as usize].fetch_add(amount, UPDATE);
        }
    }

    /// How many words of the two buckets equal `want` in the bits of `mask`.
    #[inline(always)]
    fn occurrences<M: Memory + ?Sized>(self, memory: &M, hash: u64, mask: u64, want: u64) -> u32 {
        let (first, second) = self.pair(hash);
        let Some(one) = self.line(memory, first) else {
            return 0;
        };
        let sum = matches(one, mask, want);
        if first == second || !self.has_spilled(memory, first) {
            return sum;
        }
        match self.line(memory, second) {
            Some(two) => sum + matches(two, mask, want),
            None => sum,
        }
    }
}

/// Place of the first matching word.
#[inline(always)]
fn place_of(line: &Line, mask: u64, want: u64) -> Option<u32> {
    for (place, word) in line.iter().enumerate() {
        if word.load(LOAD) & mask == want {
            return Some(place as u32);
        }
    }
    None
}

/// The first matching entry.
#[inline(always)]
fn entry_of(line: &Line, mask: u64, want: u64) -> Option<u64> {
    for word in line {
        let word = word.load(LOAD);
        if word & mask == want {
            return Some(word);
        }
    }
    None
}

/// A bit for each place of a bucket that is in use.
fn used_places(line: &Line) -> u32 {
    if line.iter().all(|word| word.load(LOAD) == 0) {
        return 0;
    }
    let bits = line.iter().zip(0..);
    bits.fold(0, |used, (word, place)| {
        used | u32::from(word.load(LOAD) != 0) << place
    })
}

/// How many words match, but for the lowest bit. Without a branch, as [`usage`].
#[inline(always)]
fn matches(line: &Line, mask: u64, want: u64) -> u32 {
    let mut sum = 0;
    for word in line {
        // 0 if there is none, else below 2^63: the sum's top bit says which. The compiler does not see that, or it would
        // branch.
        let difference = (word.load(LOAD) & mask ^ want) >> 1;
        sum += difference.wrapping_add(u64::MAX >> 1) >> 63;
    }
    8 - sum as u32
}

/// Which words of a bucket are in use: eight bits, and above them how many are set.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Usage(u32);

/// Which words are in use. Without a branch: each would double the paths that the BPF verifier
/// follows.
#[inline(always)]
fn usage(line: &Line) -> Usage {
    let mut sum = 0;
    for (place, word) in line.iter().enumerate() {
        let used = (word.load(Ordering::Relaxed) >> 63) as u32;
        sum += used * (0x100 | 1 << place);
    }
    Usage(sum)
}

impl Usage {
    #[inline(always)]
    const fn count(self) -> u32 {
        self.0 >> 8
    }

    #[inline(always)]
    const fn few(self) -> bool {
        self.count() <= PREFER_FIRST
    }

    #[inline(always)]
    const fn all(self) -> bool {
        self.count() >= 8
    }

    /// Place of the first empty word, if there is one: the lowest zero bit, by a de Bruijn
    /// sequence, because BPF has no instruction for it.
    #[inline(always)]
    const fn vacancy(self) -> u32 {
        let lowest = !self.0 & self.0.wrapping_add(1);
        let key = (lowest.wrapping_mul(0x17) >> 5) & 7;
        (0x5637_4210 >> (key * 4)) & 7
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn memory(lines: usize) -> Vec<Line> {
        (0..lines).map(|_| Line::default()).collect()
    }

    #[test]
    fn the_lowest_zero_is_found() {
        for bits in 0..0xff_u32 {
            assert_eq!(Usage(bits).vacancy(), bits.trailing_ones(), "{bits:#b}");
        }
    }

    fn mixed(n: u64) -> u64 {
        crate::table::hash(&[0x243f_6a88_85a3_08d3; 6], &[n, n])
    }

    #[test]
    fn what_was_inserted_is_found_until_it_is_removed() {
        let memory = memory(7);
        let table = Buckets { first: 2, count: 4 };
        let position = table
            .insert(&memory[..], mixed(1), USED | 77)
            .get()
            .unwrap();
        assert_eq!(
            table.find(&memory[..], mixed(1), u64::MAX, USED | 77),
            Some(position)
        );
        assert_eq!(table.find(&memory[..], mixed(1), u64::MAX, USED | 78), None);
        table.remove(&memory[..], position);
        assert_eq!(table.find(&memory[..], mixed(1), u64::MAX, USED | 77), None);
    }

    #[test]
    fn a_second_entry_with_the_same_tag_is_refused() {
        let memory = memory(5);
        let table = Buckets { first: 0, count: 4 };
        assert!(
            table
                .insert_unique(&memory[..], mixed(1), !3, USED | 0x101)
                .get()
                .is_ok()
        );
        assert_eq!(
            table
                .insert_unique(&memory[..], mixed(1), !3, USED | 0x102)
                .get(),
            Err(Refused::Contention)
        );
    }

    #[test]
    fn a_full_pair_of_buckets_is_full() {
        let memory = memory(3);
        let table = Buckets { first: 0, count: 2 };
        // The upper half of the hash selects bucket 0, the lower half bucket 1.
        let hash = 0x0000_0000_ffff_ffff;
        for n in 1..=16 {
            assert!(
                table.insert(&memory[..], hash, USED | n).get().is_ok(),
                "{n}"
            );
        }
        assert_eq!(
            table.insert(&memory[..], hash, USED | 17).get(),
            Err(Refused::Full)
        );
    }

    #[test]
    fn three_quarters_fit() {
        const BUCKETS: u32 = 4096;
        let table = Buckets {
            first: 0,
            count: BUCKETS,
        };
        let memory = memory(table.end() as usize);
        let entries = u64::from(BUCKETS) * 6;
        let refused = (1..=entries)
            .filter(|n| {
                table
                    .insert(&memory[..], mixed(*n), USED | *n)
                    .get()
                    .is_err()
            })
            .count();
        assert!(refused <= entries as usize / 1000, "{refused} of {entries}");
    }

    #[test]
    fn a_walk_meets_what_is_in_use_in_its_buckets() {
        let memory = memory(7);
        let table = Buckets { first: 1, count: 5 };
        // Places 0 and 7 of bucket 1, place 3 of the last bucket, and lines of others before and behind.
        for (line, place) in [(2, 0), (2, 7), (5, 3), (0, 1), (6, 0)] {
            memory[line][place].store(USED | 5, Ordering::Relaxed);
        }
        let met = |buckets| {
            let positions = table.used(&memory[..], buckets);
            positions.map(|position| position.0).collect::<Vec<_>>()
        };
        assert_eq!(met(0..5), [8, 15, 35]);
        assert_eq!(met(0..u32::MAX), [8, 15, 35]);
        assert_eq!(met(1..2), [8, 15]);
        assert_eq!(met(2..4), []);
        assert_eq!(met(4..5), [35]);
        assert_eq!(met(5..9), []);
    }

    #[test]
    fn everything_is_found_wherever_it_went() {
        const BUCKETS: u32 = 64;
        let table = Buckets {
            first: 0,
            count: BUCKETS,
        };
        let memory = memory(table.end() as usize);
        // Entries that differ in the lowest bit alone are the same ones.
        let word = |n: u64| USED | n << 1;
        let found = |n: u64| table.find(&memory[..], mixed(n), u64::MAX, word(n));
        let mut there = Vec::new();
        for n in 1..=500 {
            assert_eq!(found(n), None, "{n} was never put in");
            if let Ok(position) = table
                .insert_unique(&memory[..], mixed(n), u64::MAX, word(n))
                .get()
            {
                there.push((n, position));
            }
        }
        assert!(there.len() > 450, "{}", there.len());
        let spilled = |&(n, position): &(u64, Position)| position.0 >> 3 != table.pair(mixed(n)).0;
        assert!(there.iter().any(spilled), "no entry is in a second bucket");
        for &(n, position) in &there {
            assert_eq!(found(n), Some(position));
            assert_eq!(
                table
                    .insert_unique(&memory[..], mixed(n), u64::MAX, word(n))
                    .get(),
                Err(Refused::Contention),
                "{n} is there already"
            );
        }
        for &(n, position) in &there {
            table.remove(&memory[..], position);
            assert_eq!(found(n), None);
        }
    }

    #[test]
    fn a_table_outside_of_memory_is_full_and_empty() {
        let memory = memory(1);
        let table = Buckets { first: 1, count: 4 };
        assert_eq!(
            table.insert(&memory[..], 1, USED | 1).get(),
            Err(Refused::Full)
        );
        assert_eq!(table.find(&memory[..], 1, u64::MAX, USED | 1), None);
    }
}
