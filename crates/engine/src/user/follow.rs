//! Those who follow packets through user space.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isthmus_core::reason::Kind;

use super::Shared;
use crate::buffer::Buffer;
use crate::host::UserHost;
use crate::slowpath::Output;
use crate::sys;
use crate::trace::{Fate, Filter, Followed, Form, Said, Sink, head};

/// All of them.
#[derive(Default)]
pub(super) struct Followers {
    /// Whether there are any, so that a packet takes no lock if there are none.
    any: AtomicBool,
    list: Mutex<Vec<Arc<Wish>>>,
}

impl fmt::Debug for Followers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Followers({})", self.lock().len())
    }
}

/// What somebody wants to see.
struct Wish {
    filter: Filter,
    snap: usize,
    sink: Sink,
}

/// Somebody who follows packets, until this is dropped.
pub struct Follower {
    shared: Arc<Shared>,
    wish: Arc<Wish>,
}

impl fmt::Debug for Follower {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Follower({:?})", self.wish.filter)
    }
}

impl Follower {
    pub(super) fn new(shared: Arc<Shared>, filter: Filter, snap: usize, sink: Sink) -> Self {
        let wish = Arc::new(Wish { filter, snap, sink });
        shared.followers.change(|list| list.push(Arc::clone(&wish)));
        Self { shared, wish }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let others = |wish: &Arc<Wish>| !Arc::ptr_eq(wish, &self.wish);
        self.shared.followers.change(|list| list.retain(others));
    }
}

impl Followers {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Wish>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Wish>>)) {
        let mut list = self.lock();
        change(&mut list);
        self.any.store(!list.is_empty(), Ordering::Relaxed);
    }
}

/// Processes a packet, and shows it to those who want to see it.
#[inline]
pub(super) fn handle(
    shared: &Shared,
    packet: &mut Buffer<'_>,
    host: &mut UserHost<'_>,
    out: &mut impl Output,
) {
    if shared.followers.any.load(Ordering::Relaxed) {
        show(shared, packet, host, out);
    } else {
        shared.slowpath.handle(packet, host, out);
    }
}

#[cold]
fn show(shared: &Shared, packet: &mut Buffer<'_>, host: &mut UserHost<'_>, out: &mut impl Output) {
    let wishes = shared.followers.lock().clone();
    let (time, counters) = (sys::clock(), host.counters);
    let before = counters.copy();
    let came = packet.packet().to_vec();
    let mut witness = Witness {
        out,
        left: Vec::new(),
    };
    shared.slowpath.handle(packet, host, &mut witness);
    let left = witness.left;
    let counts = counters.changes(&before);
    let refused = counts
        .iter()
        .any(|(_, counter)| counter.kind() == Kind::Dropped);
    let fate = match (left.is_empty(), refused) {
        (false, false) => Fate::Sent,
        (false, true) => Fate::Refused,
        (true, false) => Fate::Waits,
        (true, true) => Fate::Dropped,
    };
    for wish in wishes {
        let wanted = |packet: &Vec<u8>| wish.filter.admits(&head(packet));
        if !wanted(&came) && !left.iter().any(wanted) {
            continue;
        }
        let form = |packet: &Vec<u8>| Form::of(packet, wish.snap);
        (wish.sink)(Said::Packet(Followed {
            time,
            engine: "user",
            link: 0,
            fate,
            counts: counts.clone(),
            came: form(&came),
            left: left.iter().map(form).collect(),
        }));
    }
}

/// Sees what leaves.
struct Witness<'a, O> {
    out: &'a mut O,
    left: Vec<Vec<u8>>,
}

impl<O: Output> Output for Witness<'_, O> {
    fn packet(&mut self, packet: &mut Buffer<'_>) {
        self.left.push(packet.packet().to_vec());
        self.out.packet(packet);
    }

    fn parts(&mut self, head: &[u8], tail: &[u8]) {
        self.left.push([head, tail].concat());
        self.out.parts(head, tail);
    }
}
