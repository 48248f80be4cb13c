//! Filling a table of explicit address mappings, on the host and before the packet path sees it.

use core::fmt;
use core::sync::atomic::Ordering::Relaxed;

use super::{Mapping, OVERFLOW, SLOT_WORDS, SLOTS, choices, hash_v4, hash_v6, mask_v4, mix, read};
use crate::config::EamTable;
use crate::table::Line;

/// Why a table could not be filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillError {
    /// The memory is not two times a power of two of lines.
    Size,
    /// There is no place left for a mapping: the memory is too small.
    Full,
    /// The mapping with this index has a prefix that another one before it has too
    /// (RFC 7757 section 5).
    Duplicate(usize),
}

impl fmt::Display for FillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size => f.write_str("the memory is not two times a power of two of lines"),
            Self::Full => f.write_str("the memory is too small for the mappings"),
            Self::Duplicate(n) => write!(f, "mapping {n} has the prefix of one before it"),
        }
    }
}

impl core::error::Error for FillError {}

/// Lines that a table of so many mappings fits into, both directions together. Should [`fill`]
/// answer [`FillError::Full`] nevertheless, try twice as many.
#[must_use]
pub const fn lines_for(mappings: usize) -> usize {
    if mappings == 0 {
        return 0;
    }
    // Slots four fifths full; two choices of two slots would do up to nearly nine tenths.
    2 * (mappings * 5).div_ceil(4 * SLOTS).next_power_of_two()
}

/// Writes a table into zeroed lines which will be found in the rules memory from line `base` on,
/// and tells where it is. Host side.
///
/// # Errors
/// See [`FillError`]; the lines then hold a part of the table.
pub fn fill(lines: &[Line], base: u32, mappings: &[Mapping]) -> Result<EamTable, FillError> {
    if mappings.is_empty() {
        return Ok(EamTable::default());
    }
    let half = lines.len() / 2;
    if !lines.len().is_multiple_of(2) || !half.is_power_of_two() {
        return Err(FillError::Size);
    }
    let mut table = EamTable {
        base,
        lines: u32::try_from(half).map_err(|_| FillError::Size)?,
        lines_log2: half.trailing_zeros() as u8,
        v4_bounds: (u32::MAX, 0),
        v4_length: mappings[0].v4_length,
        v6_length: mappings[0].v6_length,
        ..EamTable::default()
    };
    let (by_v4, by_v6) = lines.split_at(half);
    let by_v4 = Half {
        lines: by_v4,
        hash: |m| hash_v4(m.v4, m.v4_length),
        same: |a, b| a.v4() == b.v4(),
    };
    let by_v6 = Half {
        lines: by_v6,
        hash: |m| hash_v6(m.v6, m.v6_length),
        same: |a, b| a.v6() == b.v6(),
    };
    for (index, mapping) in mappings.iter().enumerate() {
        if by_v4.has(mapping) || by_v6.has(mapping) {
            return Err(FillError::Duplicate(index));
        }
        by_v4.insert(*mapping)?;
        by_v6.insert(*mapping)?;
        if mapping.v4_length != table.v4_length {
            table.v4_length = EamTable::SEVERAL;
        }
        if mapping.v6_length != table.v6_length {
            table.v6_length = EamTable::SEVERAL;
        }
        let (lowest, highest) = table.v4_bounds;
        let last = mapping.v4 | !mask_v4(mapping.v4_length);
        table.v4_bounds = (lowest.min(mapping.v4), highest.max(last));
        table.v4_lengths |= 1 << mapping.v4_length;
        table.v6_lengths[usize::from(mapping.v6_length / 64)] |= 1 << (mapping.v6_length % 64);
    }
    by_v4.mark_overflow();
    by_v6.mark_overflow();
    Ok(table)
}

/// One direction's table while it is being filled.
struct Half<'a> {
    lines: &'a [Line],
    hash: fn(&Mapping) -> u64,
    /// Whether two mappings have the same key in this direction.
    same: fn(&Mapping, &Mapping) -> bool,
}

impl Half<'_> {
    /// Mappings that may be moved to make room for one.
    const MOVES: u64 = 512;

    fn choices(&self, mapping: &Mapping) -> [usize; 2] {
        // A table has at most 2^32 lines, see `fill`.
        choices((self.hash)(mapping), self.lines.len() as u32).map(|line| line as usize)
    }

    fn has(&self, mapping: &Mapping) -> bool {
        self.choices(mapping).into_iter().any(|line| {
            (0..SLOTS)
                .filter_map(|slot| read(&self.lines[line], slot))
                .any(|other| (self.same)(mapping, &other))
        })
    }

    fn write(&self, line: usize, slot: usize, mapping: Mapping) {
        let words = self.lines[line].iter().skip(slot * SLOT_WORDS);
        for (word, value) in words.zip(mapping.words()) {
            word.store(value, Relaxed);
        }
    }

    /// Puts a mapping into a free slot of its two lines. If there is none, it takes the place of
    /// another, which then goes to its own other line, and so on.
    fn insert(&self, mut mapping: Mapping) -> Result<(), FillError> {
        let mut left = usize::MAX;
        for step in 0..Self::MOVES {
            let lines = self.choices(&mapping);
            for line in lines {
                for slot in 0..SLOTS {
                    if read(&self.lines[line], slot).is_none() {
                        self.write(line, slot, mapping);
                        return Ok(());
                    }
                }
            }
            let line = if lines[0] == left { lines[1] } else { lines[0] };
            let slot = mix(step) as usize % SLOTS;
            let Some(moved) = read(&self.lines[line], slot) else {
                return Err(FillError::Full);
            };
            self.write(line, slot, mapping);
            (mapping, left) = (moved, line);
        }
        Err(FillError::Full)
    }

    /// Tells lookups which lines are not the whole story.
    fn mark_overflow(&self) {
        for (number, line) in self.lines.iter().enumerate() {
            for mapping in (0..SLOTS).filter_map(|slot| read(line, slot)) {
                let first = self.choices(&mapping)[0];
                if first != number {
                    self.lines[first][OVERFLOW].store(1, Relaxed);
                }
            }
        }
    }
}
