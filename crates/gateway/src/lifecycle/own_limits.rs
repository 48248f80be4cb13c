//! Limits of single subscribers: written at the start, and followed through reloads.

use isthmus_core::nat;
use isthmus_engine::memory::Region;

use super::tables::Table;

/// Makes the limits of single subscribers those of the tables' configuration.
pub(super) fn set(state: &Region, tables: &[Table]) {
    for table in tables {
        let placed = nat::set_own_limits(state, &table.config, &table.own_limits);
        // The table is large enough for all that the check lets through, but for an extraordinary chance.
        if (placed as usize) < table.own_limits.len() {
            let missing = table.own_limits.len() - placed as usize;
            tracing::error!(instance = %table.name, missing, "subscribers found no place for limits of their own");
        }
    }
}
