//! Static bindings: made at the start, followed through reloads.

use isthmus_core::nat::{self, StaticBinding, StaticError};
use isthmus_engine::memory::Region;

use super::clock;
use super::tables::Table;

/// Tries against packets that make or remove a binding of the same ends at the same moment.
const ATTEMPTS: u32 = 100;

/// Makes ordinary bindings of the static ones that `new` has no more. The sweeper ends them with
/// their last session.
pub(super) fn release(state: &Region, old: &[Table], new: &[Table]) {
    for (before, table) in pairs(old, new) {
        for gone in before.iter().filter(|gone| !table.fixed.contains(gone)) {
            let removed = again(|| nat::remove_static(state, &table.config, gone));
            complain(table, gone, removed);
        }
    }
}

/// Makes the static bindings that only `new` has. Bindings that conflict with them must have ended.
pub(super) fn make(state: &Region, old: &[Table], new: &[Table]) {
    for (before, table) in pairs(old, new) {
        for fixed in table.fixed.iter().filter(|fixed| !before.contains(fixed)) {
            let made = again(|| nat::insert_static(state, &table.config, clock::now(), fixed));
            complain(table, fixed, made);
        }
    }
}

/// The new tables, each with the static bindings that are in it.
fn pairs<'a>(
    old: &'a [Table],
    new: &'a [Table],
) -> impl Iterator<Item = (&'a [StaticBinding], &'a Table)> {
    new.iter().map(move |table| {
        let before = old.iter().find(|old| table.continues(old));
        (before.map_or(&[][..], |old| &old.fixed), table)
    })
}

fn again(mut act: impl FnMut() -> Result<(), StaticError>) -> Result<(), StaticError> {
    let mut outcome = act();
    for _ in 0..ATTEMPTS {
        if outcome != Err(StaticError::Contention) {
            break;
        }
        outcome = act();
    }
    outcome
}

/// The check of the configuration refused contradictions, so this is a table that is full.
fn complain(table: &Table, binding: &StaticBinding, outcome: Result<(), StaticError>) {
    if let Err(error) = outcome {
        tracing::error!(
            instance = %table.name,
            inside = %binding.inside.host(),
            port = binding.inside.port,
            ?error,
            "a static binding was not made"
        );
    }
}
