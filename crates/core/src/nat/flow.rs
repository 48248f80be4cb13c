//! Packets through the NAT: filtering and updating binding and session information (RFC 6146
//! section 3.5).
//!
//! The two entry points find the session in line and leave the rest — a session to be made, a
//! packet without one — to functions of their own, so that the common path stays short.

use crate::address::V4;
use crate::host::{Effort, Host};
use crate::reason::Counter;
use crate::table::{Memory, Slot, hash};
use crate::time::Instant;
use crate::verdict::{Refusal, Slow};

use super::binding;
use super::bound::Counted;
use super::config::{Filtering, NatConfig, UnsolicitedSyn};
use super::endpoint::{Endpoint4, Inside, Protocol, TcpFlags, Transport};
use super::lookup::find_return;
use super::outcome::{Cause, Outcome};
use super::permission;
use super::port::index_word;
use super::rate;
use super::session::{self, OUTSIDE, Status, touch};
use super::subscriber;
use super::tcp::Side;
use super::traffic;

/// A packet for which a session may have to be made.
struct Opening {
    /// The key of its session.
    key: [u64; 4],
    /// The hash of the key.
    hash: u64,
    /// The payload of the session to make; 0 if the packet cannot open one.
    payload: u64,
}

/// The outside endpoint for a packet from `inside` to `remote`, with everything that goes with
/// it: binding and session are made or refreshed.
///
/// # Errors
/// [`Refusal`], with the reason; [`Slow::Table`] where [`Effort`]
/// has an end.
#[inline(always)]
pub fn outbound<H: Host, E: Effort>(
    host: &mut H,
    cfg: &NatConfig,
    _effort: E,
    inside: &Inside,
    remote: Endpoint4,
    transport: Transport,
) -> Result<Endpoint4, Refusal> {
    let now = host.now();
    let key = session::key(inside, remote, transport.protocol());
    let hash = hash(&cfg.seed, &key);
    let sessions = &cfg.layout.sessions;
    if E::RESUMES
        && let Some((_, slot)) = sessions.find(host.state(), hash, &key)
    {
        let outside = slot.word(OUTSIDE);
        let is_alive = touch(&slot, cfg, now, Side::Inside, transport);
        if is_alive && slot.unchanged() {
            return Ok(Endpoint4::from_word(outside));
        }
    }
    if !E::OPENS {
        return Err(Refusal::Slow(Slow::Session));
    }
    let [a, b, c, d] = key;
    let [a, b, c, d, hash, payload] =
        host.obscure([a, b, c, d, hash, payload(cfg, now, transport)]);
    let opening = Opening {
        key: [a, b, c, d],
        hash,
        payload,
    };
    let line = open::<H, E>(host, cfg, &opening).get_line()?;
    match Slot::at(host.state(), line) {
        Some(slot) => Ok(Endpoint4::from_word(slot.word(OUTSIDE))),
        None => Err(Cause::Contention.into()),
    }
}

/// The inside endpoint for a packet from `remote` to `outside`: filtering, and its session refreshed. Makes
/// neither a binding nor a session: a packet from outside leaves no state behind until an inside host has
/// answered it. So strangers cannot fill the tables.
///
/// # Errors
/// [`Refusal`], with the reason.
#[inline(always)]
pub fn inbound<H: Host, E: Effort>(
    host: &mut H,
    cfg: &NatConfig,
    _effort: E,
    outside: Endpoint4,
    remote: Endpoint4,
    transport: Transport,
) -> Result<Inside, Refusal> {
    let now = host.now();
    let protocol = transport.protocol();
    let remote = session::remote_word(remote, protocol);
    if let Some((_, slot)) = find_return(host.state(), cfg, outside.word(), remote, protocol) {
        let inside = binding::inside_of(&slot);
        let is_alive = touch(&slot, cfg, now, Side::Outside, transport);
        if is_alive && slot.unchanged() {
            return Ok(inside);
        }
    }
    if !E::ADMITS {
        return Err(Refusal::Slow(Slow::Session));
    }
    let admitted = admit(
        host.state(),
        cfg,
        now,
        outside.word() | protocol as u64,
        remote,
    );
    let line = match admitted.get_line() {
        Ok(line) => line,
        Err(Cause::NoBinding) if is_for_others::<H, E>(host, outside.address) => {
            return Err(Cause::GaveUp.into());
        }
        Err(cause) => return Err(refused::<E>(cfg, transport, cause)),
    };
    match Slot::at(host.state(), line) {
        Some(slot) => Ok(binding::inside_of(&slot)),
        None => Err(Cause::Contention.into()),
    }
}

/// Whether an engine leaves it to others whose a packet is that no session claims: it hands packets on, and this machine
/// has the address, too.
#[inline(always)]
pub fn is_for_others<H: Host, E: Effort>(host: &H, outside: V4) -> bool {
    !E::THOROUGH && host.is_local(outside)
}

/// Whether the sender of an unsolicited packet gets an error. It may be half of a simultaneous open, the
/// other half of which comes a moment later (RFC 5382 section 4.3).
#[inline(always)]
fn is_answered(cfg: &NatConfig, transport: Transport) -> bool {
    matches!(transport, Transport::Tcp(flags) if flags.has(TcpFlags::SYN))
        && matches!(cfg.unsolicited_syn, UnsolicitedSyn::Answer)
}

/// The refusal of a packet from outside that was not let in. User space waits with the answer.
#[inline(always)]
fn refused<E: Effort>(cfg: &NatConfig, transport: Transport, cause: Cause) -> Refusal {
    match cause {
        _ if !is_answered(cfg, transport) => cause.into(),
        _ if !E::THOROUGH => Cause::GaveUp.into(),
        Cause::NoBinding => Refusal::Slow(Slow::UnboundSyn),
        Cause::Filtered => Refusal::Slow(Slow::FilteredSyn),
        _ => cause.into(),
    }
}

/// The payload of the session that a packet opens; 0 if it cannot open one.
#[inline(always)]
fn payload(cfg: &NatConfig, now: Instant, transport: Transport) -> u64 {
    match Status::opening(&cfg.timers, now, transport) {
        Some(status) => status.payload(),
        None => 0,
    }
}

/// A packet from inside without a session. The answer is a slot line with both its endpoints:
/// that of the session, or of the binding for a TCP segment that cannot open a session (RFC 6146
/// section 3.5.2.2, CLOSED: "any other packet").
#[inline(never)]
fn open<H: Host, E: Effort>(host: &mut H, cfg: &NatConfig, opening: &Opening) -> Outcome {
    let Some(inside) = opening.key.first_chunk::<3>() else {
        return Outcome::no(Cause::NoBinding);
    };
    if opening.payload == 0 {
        return match binding::present(host.state(), cfg, inside).get_line() {
            Ok(line) => Outcome::line(line),
            Err(_) => Outcome::no(Cause::NotSyn),
        };
    }
    let mut outcome = Outcome::no(Cause::Rate);
    let tokens = rate::take(host, cfg, inside);
    if tokens.admit() {
        outcome = binding::bind::<H, E>(host, cfg, inside);
        if let Ok(line) = outcome.get_line() {
            outcome = establish(host, cfg, opening, line);
        }
        if outcome.is(Cause::GaveUp) {
            rate::give_back(host.state(), cfg, inside, tokens);
        }
    }
    if outcome.get().is_ok() {
        permitted(host.state(), cfg, outcome, inside[2])
    } else {
        by_binding(host.state(), cfg, inside, outcome)
    }
}

/// A packet that got no session, for want of what a session takes, passes by its binding if it may be an answer.
#[inline(always)]
fn by_binding<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    inside: &[u64; 3],
    outcome: Outcome,
) -> Outcome {
    if let Err(Cause::Rate | Cause::Full | Cause::Limit | Cause::Share) = outcome.get() {
        let answering = binding::answering(memory, cfg, inside);
        if answering.get().is_ok() {
            return answering;
        }
    }
    outcome
}

/// The slot line of the binding for a packet from outside without a session: its destination is given with
/// the protocol.
#[inline(always)]
fn admit<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    now: Instant,
    outside: u64,
    remote: u64,
) -> Outcome {
    let located = binding::locate(memory, cfg, outside);
    if matches!(cfg.filtering, Filtering::AddressDependent)
        && let Ok(line) = located.get_line()
        && !permission::permits(memory, cfg, line, remote, now)
    {
        return Outcome::no(Cause::Filtered);
    }
    located
}

/// The session that was made, with the permission that goes with it, if the filtering needs one.
#[inline(always)]
fn permitted<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    session: Outcome,
    protocol: u64,
) -> Outcome {
    match session.get_line() {
        Ok(line) if permission::needed(cfg, Protocol::from_word(protocol)) => {
            permission::extend(memory, cfg, line)
        }
        _ => session,
    }
}

/// Makes the session of a packet, on a binding that the caller holds a reference to; the session
/// has it then. The answer is the slot line of the session. In line: Linux 6.1 counts at least 32 bytes of stack
/// for a frame of its own, and there are 512.
#[inline(always)]
fn establish<H: Host>(host: &mut H, cfg: &NatConfig, opening: &Opening, binding: u32) -> Outcome {
    let mut outcome = resume(host, cfg, opening);
    if outcome.is(Cause::NoBinding) {
        outcome = insert(host, cfg, opening, binding);
        if outcome.get().is_ok() {
            host.count(Counter::SessionCreated);
            return outcome;
        }
        if outcome.is(Cause::Contention) {
            // Somebody else makes the same session at this moment, or has just done so.
            outcome = match resume(host, cfg, opening).get_line() {
                Ok(line) => Outcome::line(line),
                Err(_) => Outcome::no(Cause::Contention),
            };
        }
    }
    binding::drop_reference(host.state(), binding);
    outcome
}

/// Takes up a session that is there already: made since we looked, or expired and not yet swept;
/// it has its own reference to its binding. [`Cause::NoBinding`] if there is none.
#[inline(never)]
fn resume<H: Host>(host: &H, cfg: &NatConfig, opening: &Opening) -> Outcome {
    let sessions = &cfg.layout.sessions;
    let Some((position, slot)) = sessions.find(host.state(), opening.hash, &opening.key) else {
        return Outcome::no(Cause::NoBinding);
    };
    let now = host.now();
    let expired = Status::of(slot.life).at(&cfg.timers, now).expired(now);
    if expired && !session::revive(&slot, opening.payload) {
        return Outcome::no(Cause::Contention);
    }
    Outcome::line(sessions.line_of(position))
}

/// Makes a new session, found from both sides, if there is room for one more.
#[inline(always)]
fn insert<H: Host>(host: &mut H, cfg: &NatConfig, opening: &Opening, binding: u32) -> Outcome {
    let memory = host.state();
    let Some(bound) = Slot::at(memory, binding) else {
        return Outcome::no(Cause::Contention);
    };
    let outside = bound.word(OUTSIDE);
    let owner = binding::subscriber_of(&bound);
    let claim = binding::claim(memory, cfg, Outcome::line(binding), 1);
    let counted = subscriber::add_session(memory, cfg, owner, claim);
    if counted.get().is_err() {
        return counted;
    }
    let mut outcome = Outcome::no(Cause::Full);
    if cfg.layout.bound.take(memory, Counted::Sessions, claim) {
        outcome = write(memory, cfg, opening, binding, outside, host.now());
        if outcome.get().is_err() {
            cfg.layout.bound.give(memory, Counted::Sessions);
        }
    }
    if outcome.get().is_err() {
        subscriber::drop_session(memory, cfg, owner);
    }
    outcome
}

/// Writes a new session into its slot, and into the index for packets from outside.
#[inline(never)]
fn write<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    opening: &Opening,
    binding: u32,
    outside: u64,
    now: Instant,
) -> Outcome {
    let key = &opening.key;
    let sessions = &cfg.layout.sessions;
    let position = match sessions.reserve(memory, opening.hash) {
        Ok(position) => position,
        Err(refused) => {
            return cfg
                .layout
                .bound
                .no_place(memory, Counted::Sessions, refused);
        }
    };
    sessions.touch(memory, position);
    let outer = hash(
        &cfg.seed,
        &session::return_key(outside, key[3], Protocol::from_word(key[2])),
    );
    cfg.layout.returns.touch(memory, outer);
    let Some(draft) = sessions.draft(memory, position) else {
        return Outcome::no(Cause::Full);
    };
    draft.write(0, key);
    draft.write(key.len(), &[outside, u64::from(binding), now.0]);
    traffic::reset(memory, cfg, position);
    if let Err(refused) = cfg
        .layout
        .returns
        .insert(memory, outer, index_word(outer, position))
        .get()
    {
        sessions.release(memory, position);
        return cfg
            .layout
            .bound
            .no_place(memory, Counted::Sessions, refused);
    }
    sessions.publish(memory, draft, position, opening.payload);
    Outcome::line(sessions.line_of(position))
}
