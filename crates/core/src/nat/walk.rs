//! Walks over the sessions for the control plane: to list them, and to end those that a new
//! configuration has no place for. User space, beside the packet path, like the sweeper.

use core::ops::{ControlFlow, Range};

use crate::table::{Buckets, Memory};

use super::config::NatConfig;
use super::permission;
use super::sweep::{self, Event, Session};

/// Exchanges that may be lost to packets before a session is left to the next walk.
const ATTEMPTS: u32 = 64;

/// Shows the sessions in the buckets with these numbers, from 0 to
/// [`Layout::buckets`](super::Layout::buckets), until `visit` breaks off. A session that begins or
/// ends meanwhile may be seen or not.
pub fn sessions<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    buckets: Range<u32>,
    mut visit: impl FnMut(Session) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let table = &cfg.layout.sessions;
    for position in table.control.used(memory, buckets) {
        if let Some(slot) = table.entry(memory, position)
            && !permission::is_permission(&slot)
        {
            let session = sweep::session_of(memory, cfg, &slot, position);
            // A slot that the packet path overwrote meanwhile is another session now.
            if slot.unchanged() {
                visit(session)?;
            }
        }
    }
    ControlFlow::Continue(())
}

/// Entries of the tables, finished or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Sessions, and permissions of address-dependent filtering.
    pub sessions: u32,
    /// Sessions that can be found from outside.
    pub returns: u32,
    /// Bindings.
    pub bindings: u32,
    /// Outside endpoints and port blocks that are taken.
    pub claims: u32,
    /// Subscribers.
    pub subscribers: u32,
    /// Fragmented datagrams.
    pub fragments: u32,
}

/// Counts the entries of all tables. Reads an eighth of the memory that they have.
pub fn occupancy<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig) -> Occupancy {
    let count = |table: Buckets| table.used(memory, 0..table.count).count() as u32;
    let layout = &cfg.layout;
    Occupancy {
        sessions: count(layout.sessions.control),
        returns: count(layout.returns),
        bindings: count(layout.bindings.control),
        claims: count(layout.claims),
        subscribers: count(layout.subscribers.control),
        fragments: count(layout.fragments.control),
    }
}

/// Ends the sessions in the buckets with these numbers that `keep` does not want, with the bindings that
/// have no other session, and reports them like the sweeper.
pub fn retain<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    buckets: Range<u32>,
    mut keep: impl FnMut(&Session) -> bool,
    mut on_event: impl FnMut(Event),
) {
    let table = &cfg.layout.sessions;
    for position in table.control.used(memory, buckets) {
        // A packet of the session that comes by at the same time makes the end fail.
        for _ in 0..ATTEMPTS {
            let Some(slot) = table.entry(memory, position) else {
                break;
            };
            if permission::is_permission(&slot) {
                break;
            }
            let session = sweep::session_of(memory, cfg, &slot, position);
            if !slot.unchanged() || keep(&session) {
                break;
            }
            if slot.end() {
                sweep::remove_session(memory, cfg, position, &slot, &mut on_event);
                break;
            }
        }
    }
}
