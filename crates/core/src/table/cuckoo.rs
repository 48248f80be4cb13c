//! Tables that the packet path only reads, in the rules memory: filled as a whole, then found by one
//! key.
//!
//! A line holds `SLOTS` slots of three words each, of which the first is not zero if the slot is in use.
//! Each entry has two lines where it may lie (cuckoo hashing), the second of which is read only if word
//! `OVERFLOW` of the first one says that some entry had to go to its second line. So a search reads two
//! lines at most, and one as a rule, in a table that is up to four fifths full.

use core::fmt;
use core::sync::atomic::Ordering::Relaxed;

use super::{Line, Memory};

/// Slots in a line.
const SLOTS: usize = 2;
/// Words in a slot.
pub(crate) const SLOT_WORDS: usize = 3;
/// The word of a line that is not zero if an entry whose first line this is lies in its second.
const OVERFLOW: usize = SLOTS * SLOT_WORDS;

/// An entry of the table: the content of a slot.
pub(crate) trait Entry: Copy {
    /// The words of the slot, the first of which is never zero.
    fn words(&self) -> [u64; SLOT_WORDS];

    /// The entry with these words.
    fn from_words(words: [u64; SLOT_WORDS]) -> Self;
}

/// Where an entry lies in the rules memory: the line times two, plus the slot. One number, because
/// that is what a BPF function can return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(pub u32);

impl Place {
    /// Reads the entry in this place.
    #[inline(always)]
    pub(crate) fn read<E: Entry, M: Memory + ?Sized>(self, rules: &M) -> Option<E> {
        read(rules.line(self.0 >> 1)?, (self.0 & 1) as usize)
    }
}

/// Why a table could not be filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillError {
    /// The memory has not the size that such a table has.
    Size,
    /// There is no place left for an entry: the memory is too small.
    Full,
    /// The entry with this index has the key of one before it.
    Duplicate(usize),
}

impl fmt::Display for FillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size => f.write_str("the memory is not a power of two of lines"),
            Self::Full => f.write_str("the memory is too small for the entries"),
            Self::Duplicate(n) => write!(f, "entry {n} has the key of one before it"),
        }
    }
}

impl core::error::Error for FillError {}

/// Mixes a word so that every bit of the result depends on every bit of it (the finalizer of MurmurHash3).
/// Entries come from the operator, so no attacker can aim at collisions.
#[inline(always)]
pub(crate) const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let word = (word ^ (word >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ (word >> 33)
}

/// The two lines, by their number within the table, where an entry may lie.
#[inline(always)]
const fn choices(hash: u64, lines: u32) -> [u32; 2] {
    let mask = lines.wrapping_sub(1);
    [hash as u32 & mask, (hash >> 32) as u32 & mask]
}

/// The entry that matches and its place, among those whose hash this is, in a table of `lines` lines (a power of
/// two) that begins at line `base`.
#[inline(always)]
pub(crate) fn find<E: Entry, M: Memory + ?Sized>(
    rules: &M,
    base: u32,
    lines: u32,
    hash: u64,
    matches: impl Fn(&E) -> bool,
) -> Option<(Place, E)> {
    for choice in choices(hash, lines) {
        let number = base.wrapping_add(choice);
        let line = rules.line(number)?;
        for slot in 0..SLOTS {
            let entry = read(line, slot);
            if let Some(entry) = entry
                && matches(&entry)
            {
                return Some((Place(number << 1 | slot as u32), entry));
            }
        }
        if line[OVERFLOW].load(Relaxed) == 0 {
            return None;
        }
    }
    None
}

/// Reads the entry in a slot of a line.
#[inline(always)]
fn read<E: Entry>(line: &Line, slot: usize) -> Option<E> {
    let at = slot * SLOT_WORDS;
    let first = line[at].load(Relaxed);
    if first == 0 {
        return None;
    }
    let words = [
        first,
        line[at + 1].load(Relaxed),
        line[at + 2].load(Relaxed),
    ];
    Some(E::from_words(words))
}

/// Lines that a table of so many entries fits into. If filling it still returns [`FillError::Full`], try
/// twice as many.
#[must_use]
pub(crate) const fn lines_for(entries: usize) -> usize {
    if entries == 0 {
        return 0;
    }
    // Slots four fifths full; two choices of two slots would do up to nearly nine tenths.
    (entries * 5).div_ceil(4 * SLOTS).next_power_of_two()
}

/// A table while it is being filled, on the host and before the packet path sees it.
pub(crate) struct Filling<'a, E> {
    /// Its lines, zero at first: a power of two of them, up to 2^32.
    pub(crate) lines: &'a [Line],
    /// The hash of an entry's key.
    pub(crate) hash: fn(&E) -> u64,
    /// Whether two entries have the same key.
    pub(crate) same: fn(&E, &E) -> bool,
}

impl<E: Entry> Filling<'_, E> {
    /// Entries that may be moved to make room for one.
    const MOVES: u64 = 512;

    fn choices(&self, entry: &E) -> [usize; 2] {
        choices((self.hash)(entry), self.lines.len() as u32).map(|line| line as usize)
    }

    /// Whether an entry with the same key is there.
    pub(crate) fn has(&self, entry: &E) -> bool {
        self.choices(entry).into_iter().any(|line| {
            (0..SLOTS)
                .filter_map(|slot| read(&self.lines[line], slot))
                .any(|other| (self.same)(entry, &other))
        })
    }

    fn write(&self, line: usize, slot: usize, entry: &E) {
        let words = self.lines[line].iter().skip(slot * SLOT_WORDS);
        for (word, value) in words.zip(entry.words()) {
            word.store(value, Relaxed);
        }
    }

    /// Puts an entry into a free slot of its two lines. If there is none, it takes the place of
    /// another, which then goes to its own other line, and so on.
    ///
    /// # Errors
    /// [`FillError::Full`].
    pub(crate) fn insert(&self, mut entry: E) -> Result<(), FillError> {
        let mut left = usize::MAX;
        for step in 0..Self::MOVES {
            let lines = self.choices(&entry);
            for line in lines {
                for slot in 0..SLOTS {
                    if read::<E>(&self.lines[line], slot).is_none() {
                        self.write(line, slot, &entry);
                        return Ok(());
                    }
                }
            }
            let line = if lines[0] == left { lines[1] } else { lines[0] };
            let slot = mix(step) as usize % SLOTS;
            let Some(moved) = read(&self.lines[line], slot) else {
                return Err(FillError::Full);
            };
            self.write(line, slot, &entry);
            (entry, left) = (moved, line);
        }
        Err(FillError::Full)
    }

    /// Tells searches which lines are not the whole story; the last step.
    pub(crate) fn mark_overflow(&self) {
        for (number, line) in self.lines.iter().enumerate() {
            for entry in (0..SLOTS).filter_map(|slot| read(line, slot)) {
                let first = self.choices(&entry)[0];
                if first != number {
                    self.lines[first][OVERFLOW].store(1, Relaxed);
                }
            }
        }
    }
}
