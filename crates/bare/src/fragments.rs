//! The store of fragments that wait, of fixed size: each keeps the frame that it came in. The rules are those of
//! [`isthmus_core::slow::waiting`] and [`isthmus_core::slow::reassemble`].

use isthmus_core::slow::datagram::{Fragment, Key, Source, join};
use isthmus_core::slow::reassemble::{Extent, Placement, complete, place};
use isthmus_core::slow::waiting::{Holding, MOST_FRAGMENTS, Purpose};

use crate::frame::{Frame, Pool};

/// The size of the store: frames, and datagrams that they belong to.
pub const STORE: Holding = Holding {
    memory: 512,
    datagrams: 128,
};

struct Datagram {
    key: Key,
    /// The order in which datagrams came.
    turn: u64,
    deadline: u64,
    purpose: Purpose,
    /// Fragments overlapped: all later ones are dropped too (RFC 5722 section 4).
    given_up: bool,
}

struct Held {
    /// The place of its datagram.
    datagram: usize,
    fragment: Fragment,
    frame: Frame,
}

/// All waiting fragments.
pub struct Fragments {
    datagrams: [Option<Datagram>; STORE.datagrams],
    held: [Option<Held>; STORE.memory],
    next: u64,
    /// How many datagrams wait.
    count: usize,
}

/// The fate of a fragment.
pub enum Outcome {
    /// It waits.
    Waiting,
    /// It was the last one missing of the datagram at this place.
    Complete(usize),
    /// It is a duplicate, or belongs to a datagram that was given up: so many fragments are dropped because of it.
    Bad(u64),
}

impl Fragments {
    /// Nothing waits.
    pub const fn new() -> Self {
        Self {
            datagrams: [const { None }; _],
            held: [const { None }; _],
            next: 0,
            count: 0,
        }
    }

    /// Whether nothing waits.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a fragment, whose datagram waits until `deadline` if it is the first one to come. Once one fragment of a
    /// datagram waits for the whole, all do. Returns what became of it, and how many others gave way.
    pub fn wait(
        &mut self,
        (fragment, frame): (Fragment, Frame),
        purpose: Purpose,
        deadline: u64,
        pool: &mut Pool,
    ) -> (Outcome, u64) {
        if let Some(dropped) = self.refuse(&fragment, pool) {
            pool.give(frame);
            return (Outcome::Bad(dropped), 0);
        }
        let displaced = self.make_room(&fragment.key, pool);
        let place = self
            .find(&fragment.key)
            .or_else(|| self.join(fragment.key, deadline));
        let free = self.held.iter_mut().find(|held| held.is_none());
        let (Some(at), Some(free)) = (place, free) else {
            pool.give(frame);
            return (Outcome::Bad(1), displaced);
        };
        *free = Some(Held {
            datagram: at,
            fragment,
            frame,
        });
        let Some(datagram) = &mut self.datagrams[at] else {
            return (Outcome::Waiting, displaced);
        };
        if purpose == Purpose::Whole {
            datagram.purpose = Purpose::Whole;
        }
        let is_whole = datagram.purpose == Purpose::Whole && {
            let (extents, count) = self.extents(at);
            complete(&extents[..count]).is_some()
        };
        match is_whole {
            true => (Outcome::Complete(at), displaced),
            false => (Outcome::Waiting, displaced),
        }
    }

    /// Writes the packet of a complete datagram, and forgets it. Returns the length, or how many fragments were dropped
    /// because the packet is too long.
    pub fn take(&mut self, at: usize, whole: &mut [u8], pool: &mut Pool) -> Result<usize, u64> {
        let mut places = [0; MOST_FRAGMENTS];
        let count = self.places(at, &mut places);
        let parts = places[..count]
            .iter()
            .filter_map(|at| self.held[*at].as_ref());
        let length = join(
            parts.map(|held| (&held.fragment, held.frame.packet())),
            whole,
        );
        let dropped = self.forget(at, pool);
        length.ok_or(dropped)
    }

    /// Removes and returns the next fragment that waited for the first of its datagram.
    pub fn release(&mut self, key: &Key) -> Option<Frame> {
        let at = self.find(key)?;
        let waits = |datagram: &Datagram| datagram.purpose == Purpose::First;
        if !self.datagrams[at].as_ref().is_some_and(waits) {
            return None;
        }
        let mut places = [0; MOST_FRAGMENTS];
        let count = self.places(at, &mut places);
        if count <= 1 {
            self.datagrams[at] = None;
            self.count -= 1;
        }
        self.held[*places[..count].first()?]
            .take()
            .map(|held| held.frame)
    }

    /// Drops the fragments whose deadline has passed, and returns their number.
    pub fn expire(&mut self, now: u64, pool: &mut Pool) -> u64 {
        let mut dropped = 0;
        // It is asked thousands of times a second.
        if self.is_empty() {
            return dropped;
        }
        for at in 0..self.datagrams.len() {
            if self.datagrams[at]
                .as_ref()
                .is_some_and(|datagram| datagram.deadline <= now)
            {
                dropped += self.forget(at, pool);
            }
        }
        dropped
    }

    /// Drops a fragment that cannot be added to its datagram, with all others of that datagram if it contradicts
    /// them. Returns the number of dropped fragments.
    fn refuse(&mut self, fragment: &Fragment, pool: &mut Pool) -> Option<u64> {
        let at = self.find(&fragment.key)?;
        if self.datagrams[at].as_ref()?.given_up {
            return Some(1);
        }
        let (extents, count) = self.extents(at);
        match place(&extents[..count], &fragment.extent) {
            Placement::Duplicate => Some(1),
            Placement::At(_) if count < MOST_FRAGMENTS => None,
            Placement::At(_) | Placement::Overlap => {
                self.datagrams[at].as_mut()?.given_up = true;
                Some(1 + self.empty(at, pool))
            }
        }
    }

    /// Drops datagrams until there is room for a fragment. Returns the number of dropped fragments.
    fn make_room(&mut self, key: &Key, pool: &mut Pool) -> u64 {
        let mut dropped = 0;
        loop {
            let frames = self.held.iter().flatten().count();
            let is_new = self.find(key).is_none();
            if frames < STORE.memory && (self.count < STORE.datagrams || !is_new) {
                return dropped;
            }
            let Some(at) = self.displaced_by(key.source()) else {
                return dropped;
            };
            dropped += self.forget(at, pool);
        }
    }

    /// The datagram that gives its place to a fragment of this source: its oldest one if the source has its share of the
    /// store, or else the oldest of all.
    fn displaced_by(&self, source: Source) -> Option<usize> {
        let is_own = |at: &usize| {
            self.datagrams[*at]
                .as_ref()
                .is_some_and(|datagram| datagram.key.source() == source)
        };
        let there = || (0..self.datagrams.len()).filter(|at| self.datagrams[*at].is_some());
        let part = Holding {
            memory: self
                .held
                .iter()
                .flatten()
                .filter(|held| is_own(&held.datagram))
                .count(),
            datagrams: there().filter(is_own).count(),
        };
        let turn = |at: &usize| self.datagrams[*at].as_ref().map(|datagram| datagram.turn);
        let own = there().filter(is_own).min_by_key(turn);
        own.filter(|_| STORE.is_shared_out_to(part))
            .or_else(|| there().min_by_key(turn))
    }

    /// The place of a datagram.
    fn find(&self, key: &Key) -> Option<usize> {
        let is_it =
            |datagram: &Option<Datagram>| datagram.as_ref().is_some_and(|it| it.key == *key);
        self.datagrams.iter().position(is_it)
    }

    /// Gives a new datagram a place.
    fn join(&mut self, key: Key, deadline: u64) -> Option<usize> {
        let at = self.datagrams.iter().position(Option::is_none)?;
        self.datagrams[at] = Some(Datagram {
            key,
            turn: self.next,
            deadline,
            purpose: Purpose::First,
            given_up: false,
        });
        self.next += 1;
        self.count += 1;
        Some(at)
    }

    /// Fills in the places of a datagram's fragments in its order, and returns how many there are.
    fn places(&self, datagram: usize, places: &mut [usize; MOST_FRAGMENTS]) -> usize {
        let start = |at: usize| {
            self.held[at]
                .as_ref()
                .map(|held| held.fragment.extent.bytes.start)
        };
        let of_it = |held: &Option<Held>| held.as_ref().is_some_and(|it| it.datagram == datagram);
        let there = (0..self.held.len()).filter(|at| of_it(&self.held[*at]));
        let mut count = 0;
        for (place, at) in places.iter_mut().zip(there) {
            *place = at;
            count += 1;
        }
        places[..count].sort_unstable_by_key(|at| start(*at));
        count
    }

    /// The extents of a datagram's fragments in its order, and how many there are.
    fn extents(&self, datagram: usize) -> ([Extent; MOST_FRAGMENTS], usize) {
        const NONE: Extent = Extent {
            bytes: 0..0,
            more: false,
        };
        let mut places = [0; MOST_FRAGMENTS];
        let count = self.places(datagram, &mut places);
        let mut extents = [NONE; MOST_FRAGMENTS];
        for (extent, at) in extents.iter_mut().zip(&places[..count]) {
            if let Some(held) = &self.held[*at] {
                extent.clone_from(&held.fragment.extent);
            }
        }
        (extents, count)
    }

    /// Drops a datagram with its fragments, and returns their number.
    fn forget(&mut self, at: usize, pool: &mut Pool) -> u64 {
        if self.datagrams[at].take().is_some() {
            self.count -= 1;
        }
        self.empty(at, pool)
    }

    /// Drops the fragments of a datagram, and returns their number.
    fn empty(&mut self, datagram: usize, pool: &mut Pool) -> u64 {
        let mut dropped = 0;
        for place in &mut self.held {
            if let Some(held) = place.take_if(|held| held.datagram == datagram) {
                pool.give(held.frame);
                dropped += 1;
            }
        }
        dropped
    }
}
