//! The binding information base (RFC 6146 section 3.1): entries, their count of sessions, and how
//! they come into being.

use crate::host::{Effort, Host};
use crate::reason::Counter;
use crate::table::{Memory, Refused, Slot, hash};
use crate::time::Instant;

use super::allocate::allocate;
use super::bound::{Claim, Counted};
use super::config::{Filtering, NatConfig};
use super::endpoint::{Inside, Protocol};
use super::outcome::{Cause, Outcome};
use super::port;
use super::session::{OUTSIDE, REPORTED};
use super::subscriber::{self, NO_SUBSCRIBER};

/// Word of a binding that holds the slot line of its subscriber.
pub(super) const SUBSCRIBER: usize = 3;
/// Sessions of a binding, with those that are being made: the low bits of the payload.
const COUNT: u64 = 0xffff_ffff;
/// The binding was configured and does not end with its last session.
pub(super) const STATIC: u64 = 1 << 46;
/// Compare-exchanges that may be lost to other processors before giving up.
const ATTEMPTS: u32 = 4;

/// Whether a reference was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// It was: the binding stays.
    Held,
    /// The binding is ending, or too many others changed it at the same time.
    Gone,
}

/// Whether a binding has more sessions than these many, or needs none to stay.
#[inline(always)]
pub(super) fn is_used(slot: &Slot<'_>, than: u64) -> bool {
    let payload = slot.life.payload();
    payload & COUNT > than || payload & STATIC != 0
}

/// Whether the binding was configured.
#[inline(always)]
pub(super) fn is_static(slot: &Slot<'_>) -> bool {
    slot.life.payload() & STATIC != 0
}

/// Whether the sweeper has reported the binding.
#[inline(always)]
pub(super) fn is_reported(slot: &Slot<'_>) -> bool {
    slot.life.payload() & REPORTED != 0
}

/// The slot line of the binding of an inside endpoint.
#[inline(always)]
pub(super) fn find_inside<'m, M: Memory + ?Sized>(
    memory: &'m M,
    cfg: &NatConfig,
    inside: &[u64; 3],
) -> Option<(u32, Slot<'m>)> {
    let bindings = &cfg.layout.bindings;
    let (position, slot) = bindings.find(memory, hash(&cfg.seed, inside), inside)?;
    Some((bindings.line_of(position), slot))
}

/// The slot line of the binding that owns an outside endpoint.
#[inline(always)]
pub(super) fn find_outside<'m, M: Memory + ?Sized>(
    memory: &'m M,
    cfg: &NatConfig,
    outside: u64,
    protocol: Protocol,
) -> Option<(u32, Slot<'m>)> {
    let line = port::owner(memory, cfg, outside, protocol)?;
    let slot = Slot::at(memory, line)?;
    let same = slot.word(OUTSIDE) == outside && slot.word(2) as u8 == protocol as u8;
    (same && slot.unchanged()).then_some((line, slot))
}

/// [`find_outside`], out of line, for an endpoint with its protocol.
#[inline(never)]
pub(super) fn locate<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, claimed: u64) -> Outcome {
    let (outside, protocol) = (claimed & !0xffff, Protocol::from_word(claimed));
    match find_outside(memory, cfg, outside, protocol) {
        Some((line, _)) => Outcome::line(line),
        None => Outcome::no(Cause::NoBinding),
    }
}

/// Takes a reference to a binding that was found, so that it stays. The inside endpoint is in the
/// first words of `inside`.
#[inline(never)]
pub(super) fn hold<M: Memory + ?Sized, const N: usize>(
    memory: &M,
    line: u32,
    inside: &[u64; N],
) -> Hold {
    for _ in 0..ATTEMPTS {
        let Some(slot) = Slot::at(memory, line) else {
            return Hold::Gone;
        };
        let Some(key) = inside.first_chunk::<3>() else {
            return Hold::Gone;
        };
        if !slot.has_key(key) {
            return Hold::Gone;
        }
        if slot.update(slot.life.payload() + 1) {
            return Hold::Held;
        }
    }
    Hold::Gone
}

/// Drops a reference. The binding, if this was its last, is left to the sweeper.
#[inline(always)]
pub(super) fn drop_reference<M: Memory + ?Sized>(memory: &M, line: u32) {
    if let Some(slot) = Slot::at(memory, line) {
        slot.add(u64::MAX);
    }
}

/// The claim of a packet from inside to a session, given its binding, if there is one, and the references to that
/// which are the packet's own.
///
/// It may be an answer to a stranger, whom the filtering lets in without a session, if the endpoint has a binding that
/// others use. Then it passes by the binding where it gets no session, and the last part of all that a session takes
/// is not for it. So strangers whom a host answers cannot take from it, or from others, what new flows from inside need
/// (RFC 6146 section 5.3).
#[inline(always)]
pub(super) fn claim<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    binding: Outcome,
    own: u64,
) -> Claim {
    if matches!(cfg.filtering, Filtering::EndpointIndependent)
        && let Ok(line) = binding.get_line()
        && let Some(slot) = Slot::at(memory, line)
        && is_used(&slot, own)
    {
        return Claim::Answer;
    }
    Claim::Flow
}

/// The binding by which a packet from inside passes without a session, if it may be an answer; [`Cause::NoBinding`] if not.
#[inline(never)]
pub(super) fn answering<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    inside: &[u64; 3],
) -> Outcome {
    let present = present(memory, cfg, inside);
    match claim(memory, cfg, present, 0) {
        Claim::Answer => present,
        Claim::Flow => Outcome::no(Cause::NoBinding),
    }
}

/// Finds the binding of an inside endpoint, or makes it, and takes a reference to it. The result is its
/// slot line.
#[inline(always)]
pub(super) fn bind<H: Host, E: Effort>(
    host: &mut H,
    cfg: &NatConfig,
    inside: &[u64; 3],
) -> Outcome {
    let outcome = find_and_hold(host.state(), cfg, inside);
    if !outcome.is(Cause::NoBinding) {
        return outcome;
    }
    let outcome = make::<H, E>(host, cfg, inside);
    if !outcome.is(Cause::Contention) {
        return outcome;
    }
    // Somebody else makes the same binding at this moment, or has just done so.
    match find_and_hold(host.state(), cfg, inside).get_line() {
        Ok(line) => Outcome::line(line),
        Err(_) => Outcome::no(Cause::Contention),
    }
}

/// [`find_inside`], out of line.
#[inline(never)]
pub(super) fn present<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    inside: &[u64; 3],
) -> Outcome {
    match find_inside(memory, cfg, inside) {
        Some((line, _)) => Outcome::line(line),
        None => Outcome::no(Cause::NoBinding),
    }
}

#[inline(always)]
fn find_and_hold<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, inside: &[u64; 3]) -> Outcome {
    let Ok(line) = present(memory, cfg, inside).get_line() else {
        return Outcome::no(Cause::NoBinding);
    };
    match hold(memory, line, inside) {
        Hold::Held => Outcome::line(line),
        Hold::Gone => Outcome::no(Cause::Contention),
    }
}

/// Makes a binding with one reference, the caller's, if there is room for one more.
#[inline(always)]
fn make<H: Host, E: Effort>(host: &mut H, cfg: &NatConfig, inside: &[u64; 3]) -> Outcome {
    let bound = &cfg.layout.bound;
    if !bound.take(host.state(), Counted::Bindings, Claim::Flow) {
        return Outcome::no(Cause::Full);
    }
    let outcome = write::<H, E>(host, cfg, inside);
    match outcome.get() {
        Ok(_) => host.count(Counter::BindingCreated),
        Err(_) => bound.give(host.state(), Counted::Bindings),
    }
    outcome
}

/// [`make`], without the counts. In steps side by side rather than one within the other: a chain of calls has 512 bytes
/// of stack in BPF.
#[inline(always)]
fn write<H: Host, E: Effort>(host: &mut H, cfg: &NatConfig, inside: &[u64; 3]) -> Outcome {
    let now = host.now();
    let memory = host.state();
    let mut outcome = enroll(memory, cfg, inside);
    if let Ok(subscriber) = outcome.get_line() {
        outcome = begin(memory, cfg, inside, subscriber);
        if let Ok(line) = outcome.get_line() {
            let position = cfg.layout.bindings.position_of(line);
            let outside = allocate::<_, E>(memory, cfg, inside, now, position, subscriber);
            outcome = finish(memory, cfg, line, outside, now);
        }
        if outcome.get().is_err() {
            subscriber::drop_binding(memory, cfg, subscriber);
        }
    }
    outcome
}

/// Reserves a slot for the binding of an inside endpoint, whose subscriber has this slot line. The result is the slot line
/// of the binding.
#[inline(never)]
fn begin<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    inside: &[u64; 3],
    subscriber: u32,
) -> Outcome {
    let bindings = &cfg.layout.bindings;
    let no_place = |refused| {
        let bound = &cfg.layout.bound;
        bound.no_place(memory, Counted::Bindings, refused)
    };
    let position = match bindings.reserve(memory, hash(&cfg.seed, inside)) {
        Ok(position) => position,
        Err(refused) => return no_place(refused),
    };
    let Some(draft) = bindings.draft(memory, position) else {
        return no_place(Refused::Full);
    };
    draft.write(0, inside);
    draft.write(SUBSCRIBER, &[u64::from(subscriber)]);
    Outcome::line(bindings.line_of(position))
}

/// Makes the slot that was begun a binding with the outside endpoint that it got, or releases it, if it got none. The result is
/// its line.
#[inline(never)]
fn finish<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    line: u32,
    allocated: Outcome,
    now: Instant,
) -> Outcome {
    let bindings = &cfg.layout.bindings;
    let position = bindings.position_of(line);
    let Some(draft) = bindings.draft(memory, position) else {
        return Outcome::no(Cause::Full);
    };
    let Ok(outside) = allocated.get() else {
        bindings.release(memory, position);
        return allocated;
    };
    draft.write(OUTSIDE, &[outside, 0, now.0]);
    bindings.publish(memory, draft, position, 1);
    Outcome::line(line)
}

/// The subscriber of a new binding, with the binding counted; [`NO_SUBSCRIBER`] if there is no
/// table of them.
#[inline(always)]
pub(super) fn enroll<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    inside: &[u64; 3],
) -> Outcome {
    if subscriber::tracked(cfg) {
        subscriber::enroll(memory, cfg, inside)
    } else {
        Outcome::line(NO_SUBSCRIBER)
    }
}

/// The slot line of the subscriber of a binding; [`NO_SUBSCRIBER`] if it has none.
#[inline(always)]
pub(super) fn subscriber_of(slot: &Slot<'_>) -> u32 {
    slot.word(SUBSCRIBER) as u32
}

/// The inside endpoint in the first words of a slot.
#[inline(always)]
pub(super) fn inside_of(slot: &Slot<'_>) -> Inside {
    Inside::from_words([slot.word(0), slot.word(1), slot.word(2)])
}
