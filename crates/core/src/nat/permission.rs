//! Address-dependent filtering (RFC 6146 section 3.5): which remote addresses an outside endpoint
//! lets in, whatever their port.
//!
//! A permission is an entry of the session table whose key has a mark in the place of the remote
//! port. It is found with one look-up however many sessions there are between the two addresses,
//! and lasts as long as the longest of them was meant to, when it was made and whenever the sweeper
//! came by. It holds no reference to its binding but remembers which one it was made for, and is
//! void once that is gone.

use crate::table::{Memory, Position, Slot, hash};
use crate::time::Instant;

use super::binding;
use super::bound::{Claim, Counted};
use super::config::{Filtering, NatConfig};
use super::endpoint::Protocol;
use super::outcome::Outcome;
use super::session::{BINDING, CREATED, OUTSIDE, REMOTE, Status};

/// Mark of the key, in bits that are zero in the key of a session.
const MARK: u64 = 1;
/// The address in a remote endpoint.
const ADDRESS: u64 = !0 << 32;

/// Whether an entry of the session table is a permission.
#[inline(always)]
pub(super) fn is_permission(slot: &Slot<'_>) -> bool {
    slot.word(REMOTE) & MARK != 0
}

/// Whether the sessions of this protocol need permissions. An ICMP session has no remote port, so
/// it is its own.
#[inline(always)]
pub(super) fn needed(cfg: &NatConfig, protocol: Protocol) -> bool {
    matches!(cfg.filtering, Filtering::AddressDependent) && !matches!(protocol, Protocol::Icmp)
}

#[inline(always)]
fn key_of(inside: [u64; 3], remote: u64) -> [u64; 4] {
    [inside[0], inside[1], inside[2], remote & ADDRESS | MARK]
}

/// Whether a remote host may send to the binding in slot line `line`: everybody may if it is static, and else
/// whom a permission lets.
#[inline(never)]
pub(super) fn permits<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    line: u32,
    remote: u64,
    now: Instant,
) -> bool {
    let Some(binding) = Slot::at(memory, line) else {
        return false;
    };
    if binding::is_static(&binding) {
        return true;
    }
    let key = key_of([binding.word(0), binding.word(1), binding.word(2)], remote);
    let hash = hash(&cfg.seed, &key);
    match cfg.layout.sessions.find(memory, hash, &key) {
        Some((_, slot)) => !Status::of(slot.life).expired(now) && is_for(memory, &slot, line),
        None => false,
    }
}

/// Whether a permission was made for the binding that is in slot line `line` now.
#[inline(always)]
fn is_for<M: Memory + ?Sized>(memory: &M, permission: &Slot<'_>, line: u32) -> bool {
    let Some(binding) = Slot::at(memory, line) else {
        return false;
    };
    permission.word(BINDING) == u64::from(line)
        && permission.word(OUTSIDE) == binding.word(OUTSIDE)
        && permission.word(CREATED) == binding.word(CREATED)
}

/// Whether the binding of a permission is gone.
pub(super) fn is_void<M: Memory + ?Sized>(memory: &M, permission: &Slot<'_>) -> bool {
    !is_for(memory, permission, permission.word(BINDING) as u32)
}

/// Makes the permission of a session, or lets it last as long as the session in slot line `line`.
/// If there is no room for it, the remote host can still answer from the port of the session.
#[inline(never)]
pub(super) fn extend<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, line: u32) -> Outcome {
    let done = Outcome::line(line);
    let Some(session) = Slot::at(memory, line) else {
        return done;
    };
    let inside = [session.word(0), session.word(1), session.word(2)];
    let key = key_of(inside, session.word(REMOTE));
    let (outside, binding) = (session.word(OUTSIDE), session.word(BINDING));
    let Some(created) = Slot::at(memory, binding as u32).map(|slot| slot.word(CREATED)) else {
        return done;
    };
    let expiry = Status::of(session.life).expiry;
    let hash = hash(&cfg.seed, &key);
    let sessions = &cfg.layout.sessions;
    if let Some((_, slot)) = sessions.find(memory, hash, &key) {
        // This binding's, or left over from an earlier one of the same inside endpoint, which has no say in how long.
        let mut left_over = false;
        for (word, value) in [(OUTSIDE, outside), (BINDING, binding), (CREATED, created)] {
            let old = slot.word(word);
            if old != value {
                slot.replace(word, old, value);
                left_over = true;
            }
        }
        if left_over || Status::of(slot.life).expiry < expiry {
            let _ = slot.update(expiry);
        }
        return done;
    }
    if !cfg
        .layout
        .bound
        .take(memory, Counted::Permissions, Claim::Flow)
    {
        return done;
    }
    match sessions.reserve(memory, hash) {
        Ok(position) => {
            let Some(draft) = sessions.draft(memory, position) else {
                return done;
            };
            draft.write(0, &key);
            draft.write(key.len(), &[outside, binding, created]);
            sessions.publish(memory, draft, position, expiry);
        }
        Err(_) => cfg.layout.bound.give(memory, Counted::Permissions),
    }
    done
}

/// Frees the slot of a permission that has ended.
pub(super) fn release<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, position: Position) {
    cfg.layout.sessions.release(memory, position);
    cfg.layout.bound.give(memory, Counted::Permissions);
}
