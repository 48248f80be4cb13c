//! Bindings that hosts request (RFC 6887 section 11.3). They are like those that packets make, but they
//! exist before any packet, are reachable from everywhere, and last until they are released.

use crate::address::V4;
use crate::host::{Host, Thorough};
use crate::reason::Counter;
use crate::table::Memory;
use crate::verdict::Refusal;

use super::allocate::{admits, paired};
use super::binding::{self, STATIC};
use super::config::NatConfig;
use super::endpoint::{Endpoint4, Inside, Protocol};
use super::fixed::{StaticBinding, StaticError, place, remove_static};
use super::outcome::Cause;
use super::session::OUTSIDE;
use super::subscriber;

/// Compare-exchanges that may be lost to other processors before giving up.
const ATTEMPTS: u32 = 16;

/// A binding that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Until it is [released](release).
    Now(Endpoint4),
    /// It was static before.
    Before(Endpoint4),
}

/// The outside address of an inside host's bindings, as long as it has ports (RFC 4787 section 4.1).
#[must_use]
pub fn address_of(cfg: &NatConfig, inside: &Inside, protocol: Protocol) -> Option<V4> {
    let words = inside.words(protocol);
    let (address, ..) = cfg.pool.nth(paired(cfg, &words))?;
    Some(address)
}

/// Makes the binding of an inside endpoint static, and makes it before if it is not there: with
/// the outside endpoint `wanted`, if it is one that this host may get and that nobody has, and any
/// other one if not.
///
/// # Errors
/// As for a packet that makes a binding; nothing has changed then.
pub fn hold<H: Host>(
    host: &mut H,
    cfg: &NatConfig,
    protocol: Protocol,
    inside: &Inside,
    wanted: Option<Endpoint4>,
) -> Result<Held, Refusal> {
    let words = inside.words(protocol);
    let known = binding::find_inside(host.state(), cfg, &words).is_some();
    if let Some(outside) = wanted.filter(|outside| !known && admits(cfg, &words, *outside)) {
        let binding = StaticBinding {
            protocol,
            inside: *inside,
            outside,
        };
        if place_for_subscriber(host, cfg, &words, &binding)? {
            return Ok(Held::Now(outside));
        }
    }
    let line = binding::bind::<H, Thorough>(host, cfg, &words).get_line()?;
    let held = mark(host.state(), cfg, &words);
    binding::drop_reference(host.state(), line);
    held.ok_or(Refusal::Drop(Counter::TableContention))
}

/// Makes the binding, if nobody has its outside endpoint.
fn place_for_subscriber<H: Host>(
    host: &mut H,
    cfg: &NatConfig,
    words: &[u64; 3],
    binding: &StaticBinding,
) -> Result<bool, Refusal> {
    let line = binding::enroll(host.state(), cfg, words).get_line()?;
    let placed = place(host.state(), cfg, host.now(), binding, line);
    if placed.is_err() {
        subscriber::drop_binding(host.state(), cfg, line);
    }
    match placed {
        Ok(()) => {
            host.count(Counter::BindingCreated);
            Ok(true)
        }
        Err(StaticError::Full) => Err(Refusal::from(Cause::Full)),
        Err(_) => Ok(false),
    }
}

/// Makes a binding static that does not end meanwhile.
fn mark<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, words: &[u64; 3]) -> Option<Held> {
    for _ in 0..ATTEMPTS {
        let (_, slot) = binding::find_inside(memory, cfg, words)?;
        let outside = Endpoint4::from_word(slot.word(OUTSIDE));
        if binding::is_static(&slot) {
            return Some(Held::Before(outside));
        }
        if slot.update(slot.life.payload() | STATIC) {
            return Some(Held::Now(outside));
        }
    }
    None
}

/// Lets a binding that was held end with its last session.
pub fn release<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    protocol: Protocol,
    inside: &Inside,
    outside: Endpoint4,
) {
    let binding = StaticBinding {
        protocol,
        inside: *inside,
        outside,
    };
    for _ in 0..ATTEMPTS {
        if remove_static(memory, cfg, &binding) != Err(StaticError::Contention) {
            return;
        }
    }
}
