//! Filling a table of explicit address mappings, on the host and before the packet path sees it.

use super::EamTable;
use super::{Mapping, hash_v4, hash_v6, mask_v4};
use crate::table::cuckoo::{self, Filling};
use crate::table::{FillError, Line};

/// Lines that a table of so many mappings fits into, both directions together. If [`fill`] still returns
/// [`FillError::Full`], try twice as many.
#[must_use]
pub const fn lines_for(mappings: usize) -> usize {
    2 * cuckoo::lines_for(mappings)
}

/// Writes a table into zeroed lines which will be found in the rules memory from line `base` on, and
/// returns its place. This runs in user space.
///
/// # Errors
/// See [`FillError`]; the lines then hold a part of the table. A mapping with a prefix that another one
/// before it has is a duplicate (RFC 7757 section 5).
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
        marks: EamTable::FILLED,
        v4_bounds: (u32::MAX, 0),
        v4_length: mappings[0].v4_length,
        v6_length: mappings[0].v6_length,
        ..EamTable::default()
    };
    let (by_v4, by_v6) = lines.split_at(half);
    let by_v4 = Filling {
        lines: by_v4,
        hash: |m: &Mapping| hash_v4(m.v4, m.v4_length),
        same: |a: &Mapping, b: &Mapping| a.v4() == b.v4(),
    };
    let by_v6 = Filling {
        lines: by_v6,
        hash: |m: &Mapping| hash_v6(m.v6, m.v6_length),
        same: |a: &Mapping, b: &Mapping| a.v6() == b.v6(),
    };
    for (index, mapping) in mappings.iter().enumerate() {
        if by_v4.has(mapping) || by_v6.has(mapping) {
            return Err(FillError::Duplicate(index));
        }
        by_v4.insert(*mapping)?;
        by_v6.insert(*mapping)?;
        if mapping.v6_length == 128 {
            table.marks |= EamTable::HOSTS;
        }
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
