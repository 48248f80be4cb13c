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
    deadline: u64,
    purpose: Purpose,
    /// Fragments overlapped: all later ones are dropped too (RFC 5722 section 4).
    given_up: bool,
    /// The place of its first fragment, in its order, and how many there are.
    first: Option<usize>,
    count: usize,
}

/// Parts of the datagrams that are looked through for every fragment, each in one piece: so a look is a few instructions.
struct Marks {
    /// Identifications: few datagrams have the same.
    identifications: [u32; STORE.datagrams],
    /// The [numbers](source_number) of sources.
    sources: [u64; STORE.datagrams],
    /// The order in which datagrams came.
    turns: [u64; STORE.datagrams],
}

/// No turn, and no source.
const NOBODY: u64 = u64::MAX;

impl Marks {
    const NONE: Self = Self {
        identifications: [0; _],
        sources: [NOBODY; _],
        turns: [NOBODY; _],
    };
}

struct Held {
    fragment: Fragment,
    frame: Frame,
    /// The place of the next fragment of its datagram.
    next: Option<usize>,
}

/// All waiting fragments. Who sends fragments that never become whole must not get more work out of the machine than others do: a
/// fragment is one look at the datagrams, and one at the fragments of its own.
pub struct Fragments {
    datagrams: [Option<Datagram>; STORE.datagrams],
    marks: Marks,
    held: [Option<Held>; STORE.memory],
    /// Places that hold nothing: the first `spare` of these.
    free: [usize; STORE.memory],
    spare: usize,
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
    pub fn new() -> Self {
        Self {
            datagrams: [const { None }; _],
            marks: Marks::NONE,
            held: [const { None }; _],
            free: core::array::from_fn(|at| at),
            spare: STORE.memory,
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
        let known = self.find(&fragment.key);
        let number = match known.map_or(Ok(0), |at| self.number_of(at, &fragment, pool)) {
            Ok(number) => number,
            Err(dropped) => {
                pool.give(frame);
                return (Outcome::Bad(dropped), 0);
            }
        };
        let displaced = self.make_room(known.is_none(), source_number(fragment.key.source()), pool);
        // It may have been its own datagram that gave way.
        let (place, number) = match known.filter(|at| self.datagrams[*at].is_some()) {
            Some(at) => (Some(at), number),
            None => (self.join(fragment.key, deadline), 0),
        };
        let Some(at) = place else {
            pool.give(frame);
            return (Outcome::Bad(1), displaced);
        };
        if let Err(frame) = self.insert(at, number, (fragment, frame)) {
            pool.give(frame);
            return (Outcome::Bad(1), displaced);
        }
        match self.is_whole(at, purpose) {
            true => (Outcome::Complete(at), displaced),
            false => (Outcome::Waiting, displaced),
        }
    }

    /// Writes the packet of a complete datagram, and forgets it. Returns the length, or how many fragments were dropped
    /// because the packet is too long.
    pub fn take(&mut self, at: usize, whole: &mut [u8], pool: &mut Pool) -> Result<usize, u64> {
        let parts = self
            .of(at)
            .map(|held| (&held.fragment, held.frame.packet()));
        let length = join(parts, whole);
        let dropped = self.forget(at, pool);
        length.ok_or(dropped)
    }

    /// Removes and returns the next fragment that waited for the first of its datagram.
    pub fn release(&mut self, key: &Key) -> Option<Frame> {
        let at = self.find(key)?;
        let datagram = self.datagrams[at].as_ref()?;
        if datagram.purpose != Purpose::First {
            return None;
        }
        let is_last = datagram.count <= 1;
        let frame = self.take_first(at);
        if is_last {
            self.leave(at);
        }
        frame
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

    /// The number that a fragment gets among those of its datagram. If it cannot be added, how many are dropped: it, and all
    /// others of the datagram if it contradicts them.
    fn number_of(&mut self, at: usize, fragment: &Fragment, pool: &mut Pool) -> Result<usize, u64> {
        let Some(datagram) = &self.datagrams[at] else {
            return Ok(0);
        };
        if datagram.given_up {
            return Err(1);
        }
        let (extents, count) = self.extents(at);
        match place(&extents[..count], &fragment.extent) {
            Placement::Duplicate => Err(1),
            Placement::At(number) if count < MOST_FRAGMENTS => Ok(number),
            Placement::At(_) | Placement::Overlap => {
                if let Some(datagram) = &mut self.datagrams[at] {
                    datagram.given_up = true;
                }
                Err(1 + self.empty(at, pool))
            }
        }
    }

    /// Drops datagrams until there is room for a fragment of this source, which begins a datagram or not. Returns the number of
    /// dropped fragments.
    fn make_room(&mut self, is_new: bool, source: u64, pool: &mut Pool) -> u64 {
        let mut dropped = 0;
        loop {
            if self.spare != 0 && (self.count < STORE.datagrams || !is_new) {
                return dropped;
            }
            let Some(at) = self.displaced_by(source) else {
                return dropped;
            };
            dropped += self.forget(at, pool);
        }
    }

    /// The datagram that gives its place to a fragment of this source: its oldest one if the source has its share of the
    /// store, or else the oldest of all.
    fn displaced_by(&self, source: u64) -> Option<usize> {
        let mut part = Holding::default();
        let (mut oldest, mut own) = (Oldest::NONE, Oldest::NONE);
        for (at, (turn, of)) in self.marks.turns.iter().zip(&self.marks.sources).enumerate() {
            oldest.look(*turn, at);
            if *of == source {
                own.look(*turn, at);
                part.memory += self.datagrams[at].as_ref().map_or(0, |own| own.count);
                part.datagrams += 1;
            }
        }
        let is_own = part.datagrams != 0 && STORE.is_shared_out_to(part);
        if is_own { own } else { oldest }.at
    }

    /// The place of a datagram.
    fn find(&self, key: &Key) -> Option<usize> {
        let identification = key.identification();
        let is_it = |at: &usize| {
            self.marks.identifications[*at] == identification
                && self.datagrams[*at]
                    .as_ref()
                    .is_some_and(|it| it.key == *key)
        };
        (0..STORE.datagrams).find(is_it)
    }

    /// Gives a new datagram a place.
    fn join(&mut self, key: Key, deadline: u64) -> Option<usize> {
        let at = self.marks.turns.iter().position(|turn| *turn == NOBODY)?;
        self.marks.identifications[at] = key.identification();
        self.marks.sources[at] = source_number(key.source());
        self.marks.turns[at] = self.next;
        self.datagrams[at] = Some(Datagram {
            key,
            deadline,
            purpose: Purpose::First,
            given_up: false,
            first: None,
            count: 0,
        });
        self.next += 1;
        self.count += 1;
        Some(at)
    }

    /// Makes a fragment the one with this number of its datagram. Returns its frame if there is no room.
    fn insert(
        &mut self,
        datagram: usize,
        number: usize,
        (fragment, frame): (Fragment, Frame),
    ) -> Result<(), Frame> {
        let before = number
            .checked_sub(1)
            .and_then(|last| self.places(datagram).nth(last));
        let (Some(datagram), Some(spare)) =
            (&mut self.datagrams[datagram], self.spare.checked_sub(1))
        else {
            return Err(frame);
        };
        self.spare = spare;
        let at = self.free[spare];
        let before = before.and_then(|before| self.held[before].as_mut());
        let link = before.map_or(&mut datagram.first, |before| &mut before.next);
        let next = link.replace(at);
        self.held[at] = Some(Held {
            fragment,
            frame,
            next,
        });
        datagram.count += 1;
        Ok(())
    }

    /// Takes the first fragment out of a datagram.
    fn take_first(&mut self, datagram: usize) -> Option<Frame> {
        let datagram = self.datagrams[datagram].as_mut()?;
        let at = datagram.first?;
        let Held { frame, next, .. } = self.held[at].take()?;
        datagram.first = next;
        datagram.count -= 1;
        self.free[self.spare] = at;
        self.spare += 1;
        Some(frame)
    }

    /// Whether a datagram waits for the whole, which one of its fragments may have asked for just now, and has it.
    fn is_whole(&mut self, at: usize, purpose: Purpose) -> bool {
        let Some(datagram) = &mut self.datagrams[at] else {
            return false;
        };
        if purpose == Purpose::Whole {
            datagram.purpose = Purpose::Whole;
        }
        datagram.purpose == Purpose::Whole && {
            let (extents, count) = self.extents(at);
            complete(&extents[..count]).is_some()
        }
    }

    /// The places of a datagram's fragments, in its order.
    fn places(&self, datagram: usize) -> impl Iterator<Item = usize> {
        let first = self.datagrams[datagram].as_ref().and_then(|it| it.first);
        core::iter::successors(first, |at| self.held[*at].as_ref()?.next)
    }

    /// The fragments of a datagram, in its order.
    fn of(&self, datagram: usize) -> impl Iterator<Item = &Held> {
        self.places(datagram)
            .filter_map(|at| self.held[at].as_ref())
    }

    /// The extents of a datagram's fragments in its order, and how many there are.
    fn extents(&self, datagram: usize) -> ([Extent; MOST_FRAGMENTS], usize) {
        const NONE: Extent = Extent {
            bytes: 0..0,
            more: false,
        };
        let mut extents = [NONE; MOST_FRAGMENTS];
        let mut count = 0;
        for (extent, held) in extents.iter_mut().zip(self.of(datagram)) {
            extent.clone_from(&held.fragment.extent);
            count += 1;
        }
        (extents, count)
    }

    /// Drops a datagram with its fragments, and returns their number.
    fn forget(&mut self, at: usize, pool: &mut Pool) -> u64 {
        let dropped = self.empty(at, pool);
        self.leave(at);
        dropped
    }

    /// Takes away the place of a datagram that has no fragments.
    fn leave(&mut self, at: usize) {
        if self.datagrams[at].take().is_some() {
            self.marks.turns[at] = NOBODY;
            self.marks.sources[at] = NOBODY;
            self.count -= 1;
        }
    }

    /// Drops the fragments of a datagram, and returns their number.
    fn empty(&mut self, datagram: usize, pool: &mut Pool) -> u64 {
        let mut dropped = 0;
        while let Some(frame) = self.take_first(datagram) {
            pool.give(frame);
            dropped += 1;
        }
        dropped
    }
}

/// The datagram that came first of those that were looked at.
struct Oldest {
    turn: u64,
    at: Option<usize>,
}

impl Oldest {
    const NONE: Self = Self {
        turn: u64::MAX,
        at: None,
    };

    #[inline(always)]
    fn look(&mut self, turn: u64, at: usize) {
        if turn < self.turn {
            *self = Self { turn, at: Some(at) };
        }
    }
}

/// The number of a source. No IPv6 source begins like that of an IPv4 one: it would be a multicast address.
fn source_number(source: Source) -> u64 {
    match source {
        Source::V4(address) => 0xff << 56 | u64::from(u32::from_be_bytes(address)),
        Source::V6(network) => u64::from_be_bytes(network),
    }
}
