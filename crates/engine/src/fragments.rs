//! Fragments that wait, either for the first fragment of their datagram, whose ports decide where all of them
//! go (RFC 6146 section 3.4), or for all the others, because a checksum needs the whole datagram.
//!
//! The rules of waiting and of giving way are in [`isthmus_core::slow::waiting`], those of fragments are in
//! [`isthmus_core::slow::reassemble`].

mod turns;

use std::collections::HashMap;

use isthmus_core::slow::datagram::{Fragment, Key, join};
use isthmus_core::slow::reassemble::{Extent, Placement, complete, place};
use isthmus_core::slow::waiting::MOST_FRAGMENTS;
pub use isthmus_core::slow::waiting::Purpose;

use self::turns::Turns;

/// Bytes that a fragment takes besides its packet.
const OVERHEAD: usize = size_of::<(Fragment, Vec<u8>)>();
/// Bytes of the store for each datagram: many wait for one fragment only.
const BYTES_PER_DATAGRAM: usize = 2048;
/// Bytes of the smallest store: a few datagrams of the greatest length.
const LEAST_BYTES: usize = 1 << 20;

/// Bounds of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all waiting packets, with those that the store needs for each.
    pub bytes: usize,
    /// Number of waiting datagrams.
    pub datagrams: usize,
}

impl Limits {
    /// Returns the bounds of a store for this many datagrams.
    #[must_use]
    pub fn of_datagrams(datagrams: usize) -> Self {
        Self {
            bytes: (datagrams * BYTES_PER_DATAGRAM).max(LEAST_BYTES),
            datagrams,
        }
    }
}

/// The result of adding a fragment to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The fragment waits.
    Waiting,
    /// The fragment was the last one missing. This is the datagram as one packet.
    Complete(Vec<u8>),
    /// The fragment is a duplicate, or belongs to a datagram that was given up. This many fragments are dropped
    /// because of it.
    Bad(u64),
}

/// The result of adding a fragment, and the number of others that were dropped to make room for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waited {
    /// The result for the fragment and its datagram.
    pub outcome: Outcome,
    /// Fragments of other datagrams that were dropped.
    pub displaced: u64,
}

/// All waiting fragments.
#[derive(Debug, Default)]
pub struct Fragments {
    bytes: usize,
    datagrams: HashMap<Key, Datagram>,
    turns: Turns,
}

#[derive(Debug)]
struct Datagram {
    turn: u64,
    deadline: u64,
    purpose: Purpose,
    /// Set when fragments overlapped. All later ones are dropped too (RFC 5722 section 4).
    given_up: bool,
    /// Sorted by their offset in the datagram, without overlap.
    fragments: Vec<(Fragment, Vec<u8>)>,
}

impl Fragments {
    /// Returns the number of waiting datagrams.
    #[must_use]
    pub fn len(&self) -> usize {
        self.datagrams.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// Adds a fragment. The first fragment to arrive sets the `deadline` of its datagram. `packet` is the IP packet
    /// that `fragment` was read from. Once one fragment of a datagram waits for the whole, all do.
    pub fn wait(
        &mut self,
        fragment: &Fragment,
        packet: &[u8],
        purpose: Purpose,
        deadline: u64,
        limits: Limits,
    ) -> Waited {
        if let Some(dropped) = self.refuse(fragment) {
            return Waited {
                outcome: Outcome::Bad(dropped),
                displaced: 0,
            };
        }
        let key = fragment.key;
        let displaced = self.make_room(&key, cost(packet), limits);
        let turns = &mut self.turns;
        let datagram = self
            .datagrams
            .entry(key)
            .or_insert_with(|| Datagram::new(turns.join(key), deadline));
        if purpose == Purpose::Whole {
            datagram.purpose = Purpose::Whole;
        }
        datagram.insert(fragment.clone(), packet.to_vec());
        self.bytes += cost(packet);
        turns.add(key.source(), cost(packet));
        Waited {
            outcome: self.join_if_complete(key),
            displaced,
        }
    }

    /// Drops a fragment that cannot be added to its datagram, with all others of that datagram if it contradicts
    /// them. Returns the number of dropped fragments.
    fn refuse(&mut self, fragment: &Fragment) -> Option<u64> {
        let datagram = self.datagrams.get_mut(&fragment.key)?;
        if datagram.given_up {
            return Some(1);
        }
        let extents = datagram.extents();
        match place(&extents, &fragment.extent) {
            Placement::Duplicate => Some(1),
            Placement::At(_) if extents.len() < MOST_FRAGMENTS => None,
            Placement::At(_) | Placement::Overlap => {
                datagram.given_up = true;
                let fragments = std::mem::take(&mut datagram.fragments);
                self.forget(fragment.key, &fragments);
                Some(1 + fragments.len() as u64)
            }
        }
    }

    /// Drops datagrams until there is room for a fragment. Returns the number of dropped fragments.
    fn make_room(&mut self, key: &Key, cost: usize, limits: Limits) -> u64 {
        let mut dropped = 0;
        while self.bytes + cost > limits.bytes
            || self.datagrams.len() >= limits.datagrams && !self.datagrams.contains_key(key)
        {
            let displaced = self.turns.displaced_by(key.source(), limits);
            let Some(fragments) = displaced.and_then(|displaced| self.remove(&displaced)) else {
                break;
            };
            dropped += fragments.len() as u64;
        }
        dropped
    }

    fn join_if_complete(&mut self, key: Key) -> Outcome {
        let Some(datagram) = self.datagrams.get(&key) else {
            return Outcome::Waiting;
        };
        if datagram.purpose == Purpose::First || complete(&datagram.extents()).is_none() {
            return Outcome::Waiting;
        }
        let fragments = self.remove(&key).unwrap_or_default();
        let mut whole = vec![0; fragments.iter().map(|(_, packet)| packet.len()).sum()];
        let parts = fragments
            .iter()
            .map(|(fragment, packet)| (fragment, &packet[..]));
        match join(parts, &mut whole) {
            Some(length) => {
                whole.truncate(length);
                Outcome::Complete(whole)
            }
            // Longer than any packet can be.
            None => Outcome::Bad(fragments.len() as u64),
        }
    }

    /// Removes and returns the fragments that waited for the first one, in the order of the datagram.
    pub fn release(&mut self, key: &Key) -> Vec<Vec<u8>> {
        let waits = |datagram: &Datagram| datagram.purpose == Purpose::First;
        if !self.datagrams.get(key).is_some_and(waits) {
            return Vec::new();
        }
        let fragments = self.remove(key).unwrap_or_default();
        fragments.into_iter().map(|(_, packet)| packet).collect()
    }

    /// Drops the fragments whose deadline has passed and returns their number.
    pub fn expire(&mut self, now: u64) -> u64 {
        let mut dropped = 0;
        while let Some(key) = self.turns.oldest()
            && self.datagrams.get(&key).is_some_and(|d| d.deadline <= now)
        {
            dropped += self
                .remove(&key)
                .map_or(0, |fragments| fragments.len() as u64);
        }
        dropped
    }

    /// Removes a datagram and returns its fragments.
    fn remove(&mut self, key: &Key) -> Option<Vec<(Fragment, Vec<u8>)>> {
        let datagram = self.datagrams.remove(key)?;
        self.forget(*key, &datagram.fragments);
        self.turns.leave(datagram.turn);
        Some(datagram.fragments)
    }

    /// Takes the bytes of a datagram's fragments off the counts.
    fn forget(&mut self, key: Key, fragments: &[(Fragment, Vec<u8>)]) {
        let bytes = fragments.iter().map(|(_, packet)| cost(packet)).sum();
        self.bytes -= bytes;
        self.turns.subtract(key.source(), bytes);
    }
}

impl Datagram {
    fn new(turn: u64, deadline: u64) -> Self {
        Self {
            turn,
            deadline,
            purpose: Purpose::First,
            given_up: false,
            fragments: Vec::new(),
        }
    }

    fn extents(&self) -> Vec<Extent> {
        self.fragments
            .iter()
            .map(|(fragment, _)| fragment.extent.clone())
            .collect()
    }

    /// Inserts a fragment that overlaps none.
    fn insert(&mut self, fragment: Fragment, packet: Vec<u8>) {
        let start = fragment.extent.bytes.start;
        let index = self
            .fragments
            .partition_point(|(other, _)| other.extent.bytes.start < start);
        self.fragments.insert(index, (fragment, packet));
    }
}

/// Bytes that a packet takes in the store.
const fn cost(packet: &[u8]) -> usize {
    packet.len() + OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_core::wire::ipv4::{self, Fields};
    use isthmus_core::wire::protocol;
    use isthmus_core::word::Word;

    fn fragment(identification: u16, offset: u16, more: bool, length: usize) -> Vec<u8> {
        let header = ipv4::Header::from(Fields {
            tos: 0,
            total_length: (20 + length) as u16,
            identification,
            dont_fragment: false,
            fragment: ipv4::Fragment { offset, more },
            ttl: 64,
            protocol: protocol::UDP,
            source: isthmus_core::address::V4(Word(1)),
            destination: isthmus_core::address::V4(Word(2)),
        });
        let mut packet = header.0.map(Word::bytes).concat();
        packet.resize(20 + length, offset as u8);
        packet
    }

    const LIMITS: Limits = Limits {
        bytes: 1 << 16,
        datagrams: 64,
    };

    fn wait(fragments: &mut Fragments, packet: &[u8], purpose: Purpose, deadline: u64) -> Outcome {
        let fragment = Fragment::read(packet).unwrap();
        let waited = fragments.wait(&fragment, packet, purpose, deadline, LIMITS);
        waited.outcome
    }

    #[test]
    fn released_in_the_order_of_the_datagram() {
        let mut fragments = Fragments::default();
        let (second, third) = (fragment(1, 2, true, 16), fragment(1, 4, false, 9));
        for packet in [&third, &second] {
            let outcome = wait(&mut fragments, packet, Purpose::First, 0);
            assert_eq!(outcome, Outcome::Waiting);
        }
        let key = Fragment::read(&second).unwrap().key;
        assert_eq!(fragments.release(&key), [second, third]);
        assert!(fragments.is_empty());
        assert_eq!(fragments.bytes, 0);
        assert_eq!(fragments.expire(u64::MAX), 0);
    }

    #[test]
    fn once_whole_always_whole() {
        let mut fragments = Fragments::default();
        let last = fragment(1, 2, false, 9);
        let first = fragment(1, 0, true, 16);
        assert_eq!(
            wait(&mut fragments, &last, Purpose::First, 0),
            Outcome::Waiting
        );
        let Outcome::Complete(whole) = wait(&mut fragments, &first, Purpose::Whole, 0) else {
            panic!("not complete");
        };
        assert_eq!(whole.len(), 20 + 16 + 9);
        assert_eq!(
            etherparse::Ipv4HeaderSlice::from_slice(&whole)
                .unwrap()
                .total_len(),
            45
        );
        assert_eq!(whole[36..], last[20..]);
    }

    #[test]
    fn the_fragments_of_a_datagram_are_bounded() {
        let mut fragments = Fragments::default();
        for index in 0..MOST_FRAGMENTS as u16 {
            let packet = fragment(1, 2 + 2 * index, true, 8);
            let outcome = wait(&mut fragments, &packet, Purpose::Whole, 0);
            assert_eq!(outcome, Outcome::Waiting);
        }
        let dropped = MOST_FRAGMENTS as u64 + 1;
        let outcome = wait(&mut fragments, &fragment(1, 1, true, 8), Purpose::Whole, 0);
        assert_eq!(outcome, Outcome::Bad(dropped));
        assert_eq!(fragments.bytes, 0);
        let outcome = wait(&mut fragments, &fragment(1, 1, true, 8), Purpose::Whole, 0);
        assert_eq!(outcome, Outcome::Bad(1));
        assert_eq!(fragments.expire(0), 0);
        assert!(fragments.is_empty());
    }

    /// Offers fragments that come after the first, one of each of many datagrams.
    fn flood(fragments: &mut Fragments, count: u32, length: usize, source: impl Fn(u32) -> u32) {
        for number in 0..count {
            let mut packet = fragment(number as u16, 2, true, length);
            packet[12..16].copy_from_slice(&source(number).to_be_bytes());
            let outcome = wait(fragments, &packet, Purpose::First, 1000);
            assert_eq!(outcome, Outcome::Waiting);
            assert!(fragments.len() <= LIMITS.datagrams && fragments.bytes <= LIMITS.bytes);
        }
    }

    #[test]
    fn a_source_takes_no_more_than_its_share_from_others() {
        for length in [8, 4096] {
            let mut fragments = Fragments::default();
            flood(&mut fragments, 1000, length, |_| 0xc633_6401);
            let victim = fragment(7, 2, false, 9);
            wait(&mut fragments, &victim, Purpose::First, 1000);
            flood(&mut fragments, 100_000, length, |_| 0xc633_6401);
            let key = Fragment::read(&victim).unwrap().key;
            assert_eq!(fragments.release(&key), [victim], "{length}");
        }
    }

    #[test]
    fn a_flood_of_many_sources_leaves_time_for_the_rest_of_a_datagram() {
        let mut fragments = Fragments::default();
        for round in 0..100 {
            let source = |number| number * 100 + round + 5;
            flood(&mut fragments, 1000, 8, source);
            let last = fragment(7, 2, false, 9);
            assert_eq!(
                wait(&mut fragments, &last, Purpose::Whole, 1000),
                Outcome::Waiting
            );
            flood(&mut fragments, LIMITS.datagrams as u32 - 1, 8, source);
            let outcome = wait(
                &mut fragments,
                &fragment(7, 0, true, 16),
                Purpose::Whole,
                1000,
            );
            assert!(
                matches!(outcome, Outcome::Complete(_)),
                "{round}: {outcome:?}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_safe(packet in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = Fragment::read(&packet);
        }

        /// The store, fed with anything, keeps its bounds and its counts, and loses no fragment unsaid.
        #[test]
        fn every_fragment_is_accounted_for(
            packets in proptest::collection::vec((0..4u32, 0..6u16, 0..12u16, proptest::bool::ANY, 0..60u64), 1..300),
        ) {
            let limits = Limits { bytes: 12 * (OVERHEAD + 40), datagrams: 6 };
            let (mut fragments, mut ended) = (Fragments::default(), 0);
            for (offered, (source, identification, offset, whole, now)) in (1..).zip(packets) {
                let mut packet = fragment(identification, offset + 1, true, 16);
                packet[12..16].copy_from_slice(&source.to_be_bytes());
                let purpose = if whole { Purpose::Whole } else { Purpose::First };
                let read = Fragment::read(&packet).unwrap();
                ended += fragments.expire(now);
                if now == 0 {
                    ended += fragments.release(&read.key).len() as u64;
                }
                let waited = fragments.wait(&read, &packet, purpose, now + 30, limits);
                ended += waited.displaced;
                if let Outcome::Bad(dropped) = waited.outcome {
                    ended += dropped;
                }
                let waiting = fragments.datagrams.values().flat_map(|d| &d.fragments);
                let (count, bytes) = waiting.fold((0, 0), |(n, sum), (_, packet)| (n + 1, sum + cost(packet)));
                proptest::prop_assert_eq!(offered, ended + count);
                proptest::prop_assert_eq!(fragments.bytes, bytes);
                proptest::prop_assert!(bytes <= limits.bytes && fragments.len() <= limits.datagrams);
            }
            let held = fragments.expire(u64::MAX);
            proptest::prop_assert!(held > 0 || fragments.bytes == 0);
            proptest::prop_assert!(fragments.is_empty() && fragments.turns.is_empty());
        }
    }
}
