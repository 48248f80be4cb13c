//! The order in which the waiting datagrams came, and what each source has of the store.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use isthmus_core::slow::datagram::{Key, Source};
use isthmus_core::slow::waiting;

use super::Limits;

/// All waiting datagrams, each with the number of its turn.
#[derive(Debug, Default)]
pub(super) struct Turns {
    next: u64,
    keys: BTreeMap<u64, Key>,
    sources: HashMap<Source, Holding>,
}

#[derive(Debug, Default)]
struct Holding {
    bytes: usize,
    turns: BTreeSet<u64>,
}

impl Turns {
    /// Adds a datagram as the newest, and returns its turn.
    pub(super) fn join(&mut self, key: Key) -> u64 {
        let turn = self.next;
        self.next += 1;
        self.keys.insert(turn, key);
        let holding = self.sources.entry(key.source()).or_default();
        holding.turns.insert(turn);
        turn
    }

    /// Counts bytes that came with a datagram of this source.
    pub(super) fn add(&mut self, source: Source, bytes: usize) {
        if let Some(holding) = self.sources.get_mut(&source) {
            holding.bytes += bytes;
        }
    }

    /// Takes bytes of a source off the count again.
    pub(super) fn subtract(&mut self, source: Source, bytes: usize) {
        if let Some(holding) = self.sources.get_mut(&source) {
            holding.bytes -= bytes;
        }
    }

    /// Removes a datagram, whose bytes are off the count already.
    pub(super) fn leave(&mut self, turn: u64) {
        let Some(key) = self.keys.remove(&turn) else {
            return;
        };
        if let Some(holding) = self.sources.get_mut(&key.source()) {
            holding.turns.remove(&turn);
            if holding.turns.is_empty() {
                self.sources.remove(&key.source());
            }
        }
    }

    /// Whether nothing is left of any datagram.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.sources.is_empty()
    }

    /// Returns the datagram that has waited longest.
    #[must_use]
    pub(super) fn oldest(&self) -> Option<Key> {
        self.keys.values().next().copied()
    }

    /// Returns the datagram that gives its place to a fragment of this source: its oldest one if the source has
    /// its share of the store, or else the oldest of all.
    #[must_use]
    pub(super) fn displaced_by(&self, source: Source, limits: Limits) -> Option<Key> {
        let all = waiting::Holding {
            memory: limits.bytes,
            datagrams: limits.datagrams,
        };
        let own = self.sources.get(&source).filter(|holding| {
            all.is_shared_out_to(waiting::Holding {
                memory: holding.bytes,
                datagrams: holding.turns.len(),
            })
        });
        match own.and_then(|holding| holding.turns.first()) {
            Some(turn) => self.keys.get(turn).copied(),
            None => self.oldest(),
        }
    }
}
