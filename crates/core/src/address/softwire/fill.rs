//! Lays the binding table of an lwAFTR out, on the host and before the packet path sees it.

use core::sync::atomic::Ordering::Relaxed;

use super::SoftwireTable;
use super::{
    B4Key, BLOCK_LOG2, BORDERS_LOG2, BOUND, Block, Form, SHORT_ROWS_LOG2, SharedNetworks, Softwire,
    WHOLE_ROWS_LOG2,
};
use crate::address::port_set::Sharing;
use crate::table::cuckoo::{self, Filling, mix};
use crate::table::{FillError, Line};

/// Softwires in the order of their keys.
#[derive(Clone, Copy, Debug)]
pub struct Softwires<'a> {
    shared: &'a SharedNetworks,
    rows: &'a [Softwire],
}

impl<'a> Softwires<'a> {
    /// Sorts them.
    pub fn new(rows: &'a mut [Softwire], shared: &'a SharedNetworks) -> Self {
        rows.sort_unstable_by_key(|one| key_of(shared, one));
        Self { shared, rows }
    }

    /// Lines for finding blocks. If [`fill`](Self::fill) still returns [`FillError::Full`], try twice as
    /// many.
    #[must_use]
    pub fn lines_to_find(&self) -> usize {
        cuckoo::lines_for(self.blocks().count())
    }

    /// Lines of the blocks.
    #[must_use]
    pub fn lines_of_blocks(&self) -> usize {
        self.blocks()
            .map(|rows| lines_of_block(&self.form(rows)))
            .sum()
    }

    /// Writes a table into zeroed lines, which will be found in the rules memory from line `base` on, and
    /// returns its place: first a power of two of lines for finding blocks, then those of the blocks.
    ///
    /// # Errors
    /// See [`FillError`]; the lines then hold a part of the table. Two softwires with the same
    /// address and PSID are duplicates; the error has the number of the second in the order of keys.
    pub fn fill(&self, lines: &[Line], base: u32) -> Result<SoftwireTable, FillError> {
        if self.rows.is_empty() {
            return Ok(SoftwireTable::default());
        }
        let to_find = lines.len().checked_sub(self.lines_of_blocks());
        let to_find = to_find.filter(|count| count.is_power_of_two());
        let (to_find, rest) = lines.split_at(to_find.ok_or(FillError::Size)?);
        let size = |lines: usize| u32::try_from(lines).map_err(|_| FillError::Size);
        let blocks = Filling {
            lines: to_find,
            hash: |block: &Block| mix(block.number),
            same: |a: &Block, b: &Block| a.number == b.number,
        };
        let (mut written, mut row) = (0, 0);
        for rows in self.blocks() {
            let same = |pair: &[Softwire]| (pair[0].v4, pair[0].psid) == (pair[1].v4, pair[1].psid);
            if let Some(pair) = rows.windows(2).position(same) {
                return Err(FillError::Duplicate(row + pair + 1));
            }
            row += rows.len();
            let form = self.form(rows);
            let end = written + lines_of_block(&form);
            self.write(&rest[written..end], &form, rows);
            blocks.insert(Block {
                number: key_of(self.shared, &rows[0]).block(),
                first: size(to_find.len() + written)?,
            })?;
            written = end;
        }
        blocks.mark_overflow();
        Ok(SoftwireTable {
            base,
            lines: size(to_find.len())?,
        })
    }

    /// The softwires of one block after the other.
    fn blocks(&self) -> impl Iterator<Item = &'a [Softwire]> + use<'a> {
        let Self { shared, rows } = *self;
        let block = move |one: &Softwire| key_of(shared, one).block();
        rows.chunk_by(move |a, b| block(a) == block(b))
    }

    /// The form of a block with these softwires: short rows if their bits suffice.
    fn form(&self, rows: &[Softwire]) -> Form {
        let whole = Form::default();
        let short = [false, true].into_iter().find_map(|identifiers| {
            let form = Form {
                identifiers,
                short: true,
                ..whole
            };
            let base = self.rest(&form, rows.first()?);
            let differ = rows
                .iter()
                .fold(0, |all, one| all | (base ^ self.rest(&form, one)));
            let shift = if differ == 0 {
                0
            } else {
                differ.trailing_zeros()
            };
            (differ >> shift < u128::from(BOUND)).then_some(Form {
                base: ((base >> 64) as u64, base as u64),
                shift: shift as u8,
                ..form
            })
        });
        let form = short.unwrap_or(whole);
        let bordered = rows.iter().any(|one| one.border != 0);
        Form {
            borders: if bordered {
                1 + lines_of_rows(&form)
            } else {
                0
            },
            ..form
        }
    }

    /// The address of a lwB4 without the parts that follow from the form and the key.
    fn rest(&self, form: &Form, one: &Softwire) -> u128 {
        let (high, mut low) = one.b4.halves();
        if form.identifiers {
            low ^= key_of(self.shared, one).interface_identifier();
        }
        u128::from(high) << 64 | u128::from(low)
    }

    /// Writes a block.
    fn write(&self, lines: &[Line], form: &Form, rows: &[Softwire]) {
        let flags = u64::from(form.short) | u64::from(form.identifiers) << 1;
        let rest = flags | u64::from(form.shift) << 8 | u64::from(form.borders) << 16;
        for (word, value) in lines[0].iter().zip([form.base.0, form.base.1, rest]) {
            word.store(value, Relaxed);
        }
        // Where so many rows are a line, the word of one of so many bits and how far it is shifted there.
        let put = |lines: &[Line], row: u32, rows_log2: u32, value: u64| {
            let line = &lines[(row >> rows_log2) as usize];
            let bits = 512 >> rows_log2;
            let bit = (row & ((1 << rows_log2) - 1)) * bits;
            line[(bit / 64) as usize].fetch_or(value << (bit % 64), Relaxed);
        };
        let base = u128::from(form.base.0) << 64 | u128::from(form.base.1);
        for one in rows {
            let row = key_of(self.shared, one).row();
            if form.short {
                let difference = (base ^ self.rest(form, one)) >> form.shift;
                let value = u64::from(BOUND) | difference as u64;
                put(&lines[1..], row, SHORT_ROWS_LOG2, value);
            } else {
                let (high, low) = one.b4.halves();
                put(&lines[1..], row << 1, WHOLE_ROWS_LOG2 + 1, high);
                put(&lines[1..], row << 1 | 1, WHOLE_ROWS_LOG2 + 1, low);
            }
            if form.borders != 0 {
                let borders = &lines[usize::from(form.borders)..];
                put(borders, row, BORDERS_LOG2, one.border.into());
            }
        }
    }
}

/// The key of a softwire. No packet looks up an address of no network.
fn key_of(shared: &SharedNetworks, one: &Softwire) -> B4Key {
    let sharing = shared.find(one.v4).unwrap_or(Sharing::WHOLE);
    B4Key::new(one.v4, one.psid, sharing)
}

const fn lines_of_rows(form: &Form) -> u16 {
    let rows_log2 = if form.short {
        SHORT_ROWS_LOG2
    } else {
        WHOLE_ROWS_LOG2
    };
    1 << (BLOCK_LOG2 - rows_log2)
}

fn lines_of_block(form: &Form) -> usize {
    let borders = match form.borders {
        0 => 0,
        _ => 1 << (BLOCK_LOG2 - BORDERS_LOG2),
    };
    1 + usize::from(lines_of_rows(form)) + borders
}
