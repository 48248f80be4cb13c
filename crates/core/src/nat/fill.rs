//! How full the tables of an instance are, for people who watch over it.

use crate::table::Memory;

use super::bound::Counted;
use super::config::NatConfig;

/// How full a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// The table.
    pub table: Counted,
    /// Its entries.
    pub used: u64,
    /// The most entries that there may be.
    pub limit: u32,
    /// Entries since the table was made that found no room, or whose network had its share; of fragmented datagrams
    /// those that gave way to newer ones.
    pub refused: u64,
}

/// The tables that an instance has.
pub fn fills<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig) -> impl Iterator<Item = Fill> {
    let bound = cfg.layout.bound;
    Counted::ALL.into_iter().filter_map(move |table| {
        let limit = bound.most(table);
        (limit != 0).then(|| Fill {
            table,
            // The sum of counts that others change meanwhile may be off by one.
            used: bound.used(memory, table).min(1 << 32),
            limit,
            refused: bound.refused(memory, table),
        })
    })
}
