//! Walks over the sessions for the control plane: to list them, and to end those that a new
//! configuration has no place for. User space, beside the packet path, like the sweeper.

use core::ops::{ControlFlow, Range};

use crate::table::Memory;

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
    for position in sweep::positions(table, 0, &buckets) {
        if let Some(slot) = table.entry(memory, position)
            && !permission::is_permission(&slot)
        {
            let session = sweep::session_of(&slot);
            // What the packet path overwrote while it was read is another session now.
            if slot.unchanged() {
                visit(session)?;
            }
        }
    }
    ControlFlow::Continue(())
}

/// Ends the sessions in the buckets with these numbers that `keep` does not want, with the
/// bindings that have no other session, and tells of it as the sweeper does.
pub fn retain<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    buckets: Range<u32>,
    mut keep: impl FnMut(&Session) -> bool,
    mut on_event: impl FnMut(Event),
) {
    let table = &cfg.layout.sessions;
    for position in sweep::positions(table, 0, &buckets) {
        // A packet of the session that comes by at the same time makes the end fail.
        for _ in 0..ATTEMPTS {
            let Some(slot) = table.entry(memory, position) else {
                break;
            };
            if permission::is_permission(&slot) {
                break;
            }
            let session = sweep::session_of(&slot);
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
