//! The binding table of an lwAFTR (RFC 7596 section 6.1): which lwB4 has which IPv4 address and port set,
//! up to a million of them.
//!
//! Both directions have the same lookup: a packet to a lwB4 by its destination address and port, a packet
//! from one by its source address and port. A few networks ([`SharedNetworks`]) tell how ports are divided
//! into sets. So address and port make a number ([`B4Key`]), which is the key of the softwire.
//!
//! Memory is what takes time in a table of a million, so the table is kept small enough for the caches of
//! a processor. A block is 4096 consecutive keys. A small table (`table/cuckoo.rs`) leads to it, and it
//! has a row for each lwB4. The addresses of a block's lwB4s have most of their bits in common, because
//! operators number their lwB4s, and build addresses as RFC 7597 section 6 does (RFC 7596 section 5.1). So
//! a row normally has four octets: the bits that differ from row to row. If that is not enough, the block
//! has whole addresses.
//!
//! Layout:
//!
//! - A slot of the small table is the number of the block with a mark that the slot is in use (bit 63), and
//!   the line where the block begins.
//! - The first line of a block is the form of its addresses.
//! - The rows follow: 16 to a line, or four where they are whole addresses.
//! - If the lwAFTR has several addresses, more lines follow, with an octet for each row: the number of the
//!   lwAFTR's address.

mod fill;
mod shared;
#[cfg(test)]
mod tests;

use core::sync::atomic::Ordering::Relaxed;

use super::port_set::Sharing;
use super::{V4, V6, map};
use crate::table::cuckoo::{self, Entry, SLOT_WORDS, mix};
use crate::table::{Line, Memory, Place};

pub use fill::Softwires;
pub use shared::SharedNetworks;

/// Where the softwires lie in the rules memory; see the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SoftwireTable {
    /// First line.
    pub base: u32,
    /// Lines for finding blocks of lwB4s, a power of two; 0 if there are no softwires.
    pub lines: u32,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Softwire {
    /// The IPv4 address of the lwB4.
    pub v4: V4,
    /// Its Port Set Identifier; 0 for a whole address.
    pub psid: u16,
    /// The number of the lwAFTR's address that is the other endpoint.
    pub border: u8,
    /// The address of the lwB4, which is not `::`.
    pub b4: V6,
}

/// The key of a lwB4: its IPv4 address and PSID in the lower 48 bits, and the length of the PSID above
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct B4Key(pub u64);

impl B4Key {
    /// The key for a PSID of an address that is shared so.
    #[inline(always)]
    #[must_use]
    pub const fn new(address: V4, psid: u16, sharing: Sharing) -> Self {
        let length = sharing.length() & 31;
        let number = (address.number() as u64) << length | psid as u64;
        Self((length as u64) << 48 | number)
    }

    /// The number of the block, with [`IN_USE`].
    #[inline(always)]
    const fn block(self) -> u64 {
        IN_USE | self.0 >> BLOCK_LOG2
    }

    /// The row within the block.
    #[inline(always)]
    const fn row(self) -> u32 {
        self.0 as u32 & ((1 << BLOCK_LOG2) - 1)
    }

    /// The interface identifier of the lwB4's address if it is built as RFC 7597 section 6 does.
    #[inline(always)]
    const fn interface_identifier(self) -> u64 {
        let length = (self.0 >> 48) as u32 & 31;
        let address = V4::from_number((self.0 >> length) as u32);
        map::interface_identifier(address, (self.0 & ((1 << length) - 1)) as u16)
    }
}

/// lwB4s of a block.
const BLOCK_LOG2: u32 = 12;
/// Bit of a slot's first word that is set if the slot is in use.
const IN_USE: u64 = 1 << 63;
/// Bit of a short row that is set if there is a softwire.
const BOUND: u32 = 1 << 31;

const SHORT_ROWS_LOG2: u32 = 4;
const WHOLE_ROWS_LOG2: u32 = 2;
const BORDERS_LOG2: u32 = 6;

/// Where a block begins, counted from the first line of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    number: u64,
    first: u32,
}

impl Entry for Block {
    #[inline(always)]
    fn words(&self) -> [u64; SLOT_WORDS] {
        [self.number, self.first.into(), 0]
    }

    #[inline(always)]
    fn from_words([number, first, _]: [u64; SLOT_WORDS]) -> Self {
        Self {
            number,
            first: first as u32,
        }
    }
}

/// How a block has its addresses, in the first words of its first line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Form {
    /// The two halves of what short rows are the difference from.
    base: (u64, u64),
    /// Whether rows are short.
    short: bool,
    /// How many bits are below those of a short row: 0 to 127.
    shift: u8,
    /// Whether the interface identifier is taken away before.
    identifiers: bool,
    /// Lines from the first to those of the lwAFTR's addresses; 0 if there are none.
    borders: u16,
}

impl Form {
    #[inline(always)]
    fn read(line: &Line) -> Self {
        let rest = line[2].load(Relaxed);
        Self {
            base: (line[0].load(Relaxed), line[1].load(Relaxed)),
            short: rest & 1 != 0,
            identifiers: rest & 2 != 0,
            shift: (rest >> 8) as u8,
            borders: (rest >> 16) as u16,
        }
    }

    /// The address that a short row stands for.
    #[inline(always)]
    fn address(&self, row: u32, key: B4Key) -> V6 {
        let difference = u64::from(row & !BOUND);
        let shift = u32::from(self.shift);
        let (mut high, mut low) = self.base;
        if shift < 64 {
            low ^= difference.wrapping_shl(shift);
            // In two steps, so that nothing is left for a shift of 0.
            high ^= (difference >> 1).wrapping_shr(63 - shift);
        } else {
            high ^= difference.wrapping_shl(shift - 64);
        }
        if self.identifiers {
            low ^= key.interface_identifier();
        }
        V6::from_halves(high, low)
    }
}

/// Finds the block of a lwB4.
#[inline(always)]
pub fn find<M: Memory + ?Sized>(rules: &M, table: &SoftwireTable, key: B4Key) -> Option<Place> {
    if table.lines == 0 {
        return None;
    }
    let number = key.block();
    let matches = |block: &Block| block.number == number;
    cuckoo::find(rules, table.base, table.lines, mix(number), matches).map(|(place, _)| place)
}

/// Reads the address of the lwB4 with this key in the block that was found, and the number of the lwAFTR's
/// address. `None` if there is no softwire.
#[inline(always)]
pub fn read<M: Memory + ?Sized>(
    rules: &M,
    table: &SoftwireTable,
    place: Place,
    key: B4Key,
) -> Option<(V6, u8)> {
    let block: Block = place.read(rules)?;
    let first = table.base.wrapping_add(block.first);
    let form = Form::read(rules.line(first)?);
    let row = key.row();
    let word = |from: u32, rows_log2: u32, word: u32| {
        let line = rules.line(from.wrapping_add(row >> rows_log2))?;
        Some(line[(word & 7) as usize].load(Relaxed))
    };
    let rows = first.wrapping_add(1);
    let b4 = if form.short {
        let two = word(rows, SHORT_ROWS_LOG2, row >> 1)?;
        let row = (two >> ((row & 1) * 32)) as u32;
        if row & BOUND == 0 {
            return None;
        }
        form.address(row, key)
    } else {
        let high = word(rows, WHOLE_ROWS_LOG2, row << 1)?;
        let low = word(rows, WHOLE_ROWS_LOG2, row << 1 | 1)?;
        if high | low == 0 {
            return None;
        }
        V6::from_halves(high, low)
    };
    let border = match form.borders {
        0 => 0,
        borders => {
            let eight = word(first.wrapping_add(borders.into()), BORDERS_LOG2, row >> 3)?;
            (eight >> ((row & 7) * 8)) as u8
        }
    };
    Some((b4, border))
}
