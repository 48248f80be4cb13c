//! Fragments that wait, either for the first fragment of their datagram, whose ports decide where all of them
//! go (RFC 6146 section 3.4), or for all the others, because a checksum needs the whole datagram.
//!
//! The bytes, the datagrams and the time of waiting are bounded. The rules of fragments are those of
//! [`isthmus_core::slow::reassemble`].

pub mod datagram;

use std::collections::{HashMap, VecDeque};

use isthmus_core::slow::reassemble::{Placement, complete, place};

use self::datagram::{Fragment, Key, join};

/// Number of deadlines kept for each datagram that may wait. The deadline of a datagram that left early stays
/// until its time has come.
const DEADLINES: usize = 16;

/// Bounds of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all waiting packets.
    pub bytes: usize,
    /// Number of waiting datagrams.
    pub datagrams: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 4 << 20,
            datagrams: 1024,
        }
    }
}

/// The reason why the fragments of a datagram wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// They wait for the first fragment.
    First,
    /// They wait for all fragments.
    Whole,
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
    /// The store has no room for the fragment.
    Full,
}

/// All waiting fragments.
#[derive(Debug, Default)]
pub struct Fragments {
    limits: Limits,
    bytes: usize,
    datagrams: HashMap<Key, Datagram>,
    /// Keys with their deadlines, oldest first. A datagram that left early is skipped.
    deadlines: VecDeque<(u64, Key)>,
}

#[derive(Debug)]
struct Datagram {
    deadline: u64,
    purpose: Purpose,
    /// Set when fragments overlapped. All later ones are dropped too (RFC 5722 section 4).
    given_up: bool,
    /// Sorted by their offset in the datagram, without overlap.
    fragments: Vec<(Fragment, Vec<u8>)>,
}

impl Fragments {
    /// Returns an empty store with these bounds.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

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
    ) -> Outcome {
        let known = self.datagrams.contains_key(&fragment.key);
        if self.bytes + packet.len() > self.limits.bytes
            || (!known && self.datagrams.len() >= self.limits.datagrams)
            || self.deadlines.len() >= self.limits.datagrams.saturating_mul(DEADLINES)
        {
            return Outcome::Full;
        }
        if !known {
            self.deadlines.push_back((deadline, fragment.key));
        }
        let datagram = self
            .datagrams
            .entry(fragment.key)
            .or_insert_with(|| Datagram {
                deadline,
                purpose,
                given_up: false,
                fragments: Vec::new(),
            });
        if purpose == Purpose::Whole {
            datagram.purpose = Purpose::Whole;
        }
        if datagram.given_up {
            return Outcome::Bad(1);
        }
        let extents: Vec<_> = datagram.extents().collect();
        match place(&extents, &fragment.extent) {
            Placement::Duplicate => Outcome::Bad(1),
            Placement::Overlap => {
                let dropped = datagram.fragments.drain(..).map(|(_, packet)| packet.len());
                let (count, bytes) = dropped.fold((1, 0), |(n, sum), len| (n + 1, sum + len));
                datagram.given_up = true;
                self.bytes -= bytes;
                Outcome::Bad(count)
            }
            Placement::At(index) => {
                self.bytes += packet.len();
                let entry = (fragment.clone(), packet.to_vec());
                datagram.fragments.insert(index, entry);
                self.join_if_complete(fragment.key)
            }
        }
    }

    fn join_if_complete(&mut self, key: Key) -> Outcome {
        let Some(datagram) = self.datagrams.get(&key) else {
            return Outcome::Waiting;
        };
        let extents: Vec<_> = datagram.extents().collect();
        if datagram.purpose == Purpose::First || complete(&extents).is_none() {
            return Outcome::Waiting;
        }
        let fragments = self.remove(&key);
        match join(&fragments) {
            Some(packet) => Outcome::Complete(packet),
            // Longer than any packet can be.
            None => Outcome::Bad(fragments.len() as u64),
        }
    }

    /// Removes and returns the fragments that waited for the first one, in the order of the datagram.
    pub fn release(&mut self, key: &Key) -> Vec<Vec<u8>> {
        match self.datagrams.get(key) {
            Some(datagram) if datagram.purpose == Purpose::First => {
                let fragments = self.remove(key);
                fragments.into_iter().map(|(_, packet)| packet).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Drops the fragments whose deadline has passed and returns their number.
    pub fn expire(&mut self, now: u64) -> u64 {
        let mut dropped = 0;
        while let Some((deadline, key)) = self.deadlines.front().copied() {
            if deadline > now {
                break;
            }
            self.deadlines.pop_front();
            let current = self.datagrams.get(&key).map(|datagram| datagram.deadline);
            if current == Some(deadline) {
                dropped += self.remove(&key).len() as u64;
            }
        }
        dropped
    }

    fn remove(&mut self, key: &Key) -> Vec<(Fragment, Vec<u8>)> {
        let fragments = self.datagrams.remove(key).map(|d| d.fragments);
        let fragments = fragments.unwrap_or_default();
        self.bytes -= fragments.iter().map(|(_, p)| p.len()).sum::<usize>();
        fragments
    }
}

impl Datagram {
    fn extents(&self) -> impl Iterator<Item = isthmus_core::slow::reassemble::Extent> {
        self.fragments.iter().map(|(f, _)| f.extent.clone())
    }
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

    fn wait(fragments: &mut Fragments, packet: &[u8], purpose: Purpose, deadline: u64) -> Outcome {
        fragments.wait(&Fragment::read(packet).unwrap(), packet, purpose, deadline)
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
    fn bounded_in_bytes_datagrams_and_deadlines() {
        let limits = Limits {
            bytes: 100,
            datagrams: 2,
        };
        let mut fragments = Fragments::new(limits);
        let mut offer = |packet: &[u8]| wait(&mut fragments, packet, Purpose::First, 1000);
        assert_eq!(offer(&fragment(1, 2, true, 24)), Outcome::Waiting);
        assert_eq!(offer(&fragment(2, 2, true, 8)), Outcome::Waiting);
        assert_eq!(offer(&fragment(3, 2, true, 8)), Outcome::Full);
        assert_eq!(offer(&fragment(1, 9, true, 24)), Outcome::Full);
        assert_eq!(fragments.expire(999), 0);
        assert_eq!(fragments.expire(1000), 2);
        for identification in 0..100 {
            let packet = fragment(identification, 2, true, 8);
            let _ = wait(&mut fragments, &packet, Purpose::First, 2000);
            fragments.release(&Fragment::read(&packet).unwrap().key);
        }
        assert_eq!(fragments.deadlines.len(), 2 * DEADLINES);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_safe(packet in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = Fragment::read(&packet);
        }
    }
}
