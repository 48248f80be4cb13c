//! Puts the tables in order that a process left behind when it ended, perhaps between two writes: nothing that
//! was half made or half removed stays, and all counts are those of what is there.
//!
//! This runs alone: nobody else uses the tables meanwhile. Afterwards no binding is static, because the
//! configuration makes its own, and the servers of PCP forget with the process (RFC 6887 section 8.5).

use crate::table::{Buckets, Memory, Position, Slot, Slots, hash};

use super::binding;
use super::bound::Counted;
use super::config::{Blocks, NatConfig};
use super::endpoint::{Endpoint4, Protocol};
use super::permission;
use super::port::{self, BLOCK, index_position, index_word};
use super::session::{self, BINDING, OUTSIDE, REMOTE, REPORTED};
use super::share;
use super::subscriber;

/// The entries that live on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Sessions.
    pub sessions: u64,
    /// Bindings.
    pub bindings: u64,
}

/// Puts the tables in order.
pub fn recover<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig) -> Recovered {
    let layout = &cfg.layout;
    for table in [
        &layout.sessions,
        &layout.bindings,
        &layout.subscribers,
        &layout.fragments,
        &layout.own_limits,
    ] {
        drop_unfinished(memory, table);
    }
    drop_sessions_without_binding(memory, cfg);
    drop_words(memory, layout.claims, |word| is_claim(memory, cfg, word));
    drop_words(memory, layout.returns, |word| is_return(memory, cfg, word));
    recount(memory, cfg)
}

fn entries<'m, M: Memory + ?Sized>(
    memory: &'m M,
    table: &Slots,
) -> impl Iterator<Item = (Position, Slot<'m>)> + use<'m, M> {
    let table = *table;
    (0..table.len())
        .map(Position)
        .filter_map(move |position| Some((position, table.entry(memory, position)?)))
}

/// The sessions, without permissions.
fn sessions<'m, M: Memory + ?Sized>(
    memory: &'m M,
    cfg: &NatConfig,
) -> impl Iterator<Item = (Position, Slot<'m>)> + use<'m, M> {
    entries(memory, &cfg.layout.sessions).filter(|(_, slot)| !permission::is_permission(slot))
}

/// Empties the places that hold no entry: it was being made, or had ended.
fn drop_unfinished<M: Memory + ?Sized>(memory: &M, table: &Slots) {
    for position in (0..table.len()).map(Position) {
        let in_use = table.control.word(memory, position).unwrap_or(0) != 0;
        if in_use && table.entry(memory, position).is_none() {
            table.clear(memory, position);
        }
    }
}

/// Ends sessions whose binding is another one: that they are there would be a mistake, and their packets would
/// go to a stranger.
fn drop_sessions_without_binding<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig) {
    for (position, slot) in sessions(memory, cfg) {
        if binding_of(memory, cfg, &slot).is_none() {
            cfg.layout.sessions.clear(memory, position);
        }
    }
}

/// The binding of a session.
fn binding_of<'m, M: Memory + ?Sized>(
    memory: &'m M,
    cfg: &NatConfig,
    session: &Slot<'_>,
) -> Option<Slot<'m>> {
    let bindings = &cfg.layout.bindings;
    let slot = bindings.entry(memory, bindings.position_of(session.word(BINDING) as u32))?;
    let same = |index| slot.word(index) == session.word(index);
    [0, 1, 2, OUTSIDE].into_iter().all(same).then_some(slot)
}

/// Empties the words of an index that belong to no entry.
fn drop_words<M: Memory + ?Sized>(memory: &M, index: Buckets, belongs: impl Fn(u64) -> bool) {
    for position in (0..index.count << 3).map(Position) {
        let word = index.word(memory, position).unwrap_or(0);
        if word != 0 && !belongs(word) {
            index.remove(memory, position);
        }
    }
}

/// Whether a word of the claims is that of a binding, or of a block.
fn is_claim<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, word: u64) -> bool {
    let owner = index_position(word);
    let is = |claimed| port::claim_word(cfg, claimed, owner) == word;
    let binding = cfg.layout.bindings.entry(memory, owner);
    if binding.is_some_and(|slot| is(slot.word(OUTSIDE) | slot.word(2) & 0xff)) {
        return true;
    }
    let Some(subscriber) = cfg.layout.subscribers.entry(memory, owner) else {
        return false;
    };
    (0..subscriber::BLOCKS).any(|index| {
        let owned = subscriber::block(&subscriber, index);
        let first = Endpoint4 {
            address: owned.address(),
            port: owned.first(),
        };
        !owned.is_none() && is(first.word() | BLOCK)
    })
}

/// Whether a word of the index for packets from outside is that of a session.
fn is_return<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, word: u64) -> bool {
    let position = index_position(word);
    let Some(slot) = cfg.layout.sessions.entry(memory, position) else {
        return false;
    };
    let protocol = Protocol::from_word(slot.word(2));
    let key = session::return_key(slot.word(OUTSIDE), slot.word(REMOTE), protocol);
    !permission::is_permission(&slot) && index_word(hash(&cfg.seed, &key), position) == word
}

/// Counts everything anew.
fn recount<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig) -> Recovered {
    let layout = &cfg.layout;
    share::clear(memory, cfg);
    for (_, slot) in entries(memory, &layout.bindings) {
        let _alone = slot.update(slot.life.payload() & REPORTED);
    }
    for (_, slot) in entries(memory, &layout.subscribers) {
        subscriber::forget_counts(&slot);
        subscriber::count_itself(memory, cfg, &slot);
    }
    for (_, slot) in sessions(memory, cfg) {
        if let Some(binding) = binding_of(memory, cfg, &slot) {
            binding.add(1);
            subscriber::count_session(memory, cfg, binding::subscriber_of(&binding));
        }
    }
    for (_, slot) in entries(memory, &layout.bindings) {
        let owner = binding::subscriber_of(&slot);
        subscriber::count_binding(memory, cfg, owner);
        if let Blocks::Dynamic { size, .. } = cfg.blocks {
            let outside = Endpoint4::from_word(slot.word(OUTSIDE));
            subscriber::count_use(memory, owner, outside, size);
        }
    }
    let there = Recovered {
        sessions: sessions(memory, cfg).count() as u64,
        bindings: entries(memory, &layout.bindings).count() as u64,
    };
    let all = entries(memory, &layout.sessions).count() as u64;
    for (what, count) in [
        (Counted::Sessions, there.sessions),
        (Counted::Permissions, all - there.sessions),
        (Counted::Bindings, there.bindings),
        (
            Counted::Subscribers,
            entries(memory, &layout.subscribers).count() as u64,
        ),
        (
            Counted::Fragments,
            entries(memory, &layout.fragments).count() as u64,
        ),
    ] {
        layout.bound.set(memory, what, count);
    }
    there
}
