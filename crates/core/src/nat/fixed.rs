//! Static bindings: configured by an administrator, not by packets (RFC 6146 section 3.1). They
//! have an outside endpoint before any packet, and end only when they are removed.

use crate::table::{Memory, Position, Refused, hash};
use crate::time::Instant;

use super::binding::{self, STATIC, SUBSCRIBER};
use super::bound::{Claim, Counted};
use super::config::NatConfig;
use super::endpoint::{Endpoint4, Inside, Protocol};
use super::outcome::Cause;
use super::port;
use super::session::OUTSIDE;
use super::subscriber;

/// A binding of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaticBinding {
    /// Protocol.
    pub protocol: Protocol,
    /// Inside endpoint.
    pub inside: Inside,
    /// Outside endpoint. Its address has to be in the pool; its port need not be.
    pub outside: Endpoint4,
}

/// Why a static binding could not be made or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaticError {
    /// The address of the outside endpoint is not in the pool.
    NotInPool,
    /// The inside endpoint has another outside endpoint, this one.
    InsideTaken(Endpoint4),
    /// The outside endpoint belongs to another inside endpoint.
    OutsideTaken,
    /// The tables are full.
    Full,
    /// A packet made or removed a binding of these endpoints at the same moment; try again.
    Contention,
    /// There is no such static binding.
    Missing,
}

impl From<Refused> for StaticError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Full => Self::Full,
            Refused::Contention => Self::Contention,
        }
    }
}

/// Makes a static binding; one that packets made already becomes static.
///
/// # Errors
/// [`StaticError`]; nothing has changed then.
pub fn insert_static<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    now: Instant,
    binding: &StaticBinding,
) -> Result<(), StaticError> {
    let inside = binding.inside.words(binding.protocol);
    let outside = binding.outside.word();
    if !cfg.owns(binding.outside.address) {
        return Err(StaticError::NotInPool);
    }
    if let Some((_, slot)) = binding::find_inside(memory, cfg, &inside) {
        let present = slot.word(OUTSIDE);
        return if present != outside {
            Err(StaticError::InsideTaken(Endpoint4::from_word(present)))
        } else if slot.update(slot.life.payload() | STATIC) {
            Ok(())
        } else {
            Err(StaticError::Contention)
        };
    }
    place(memory, cfg, now, binding, subscriber::NO_SUBSCRIBER)
}

/// Makes a static binding of a subscriber whose binding it is counted as, where there was none.
///
/// # Errors
/// [`StaticError`]; nothing has changed then.
pub(super) fn place<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    now: Instant,
    binding: &StaticBinding,
    subscriber: u32,
) -> Result<(), StaticError> {
    let bindings = &cfg.layout.bindings;
    let hash = hash(&cfg.seed, &binding.inside.words(binding.protocol));
    if !cfg
        .layout
        .bound
        .take(memory, Counted::Bindings, Claim::Flow)
    {
        return Err(StaticError::Full);
    }
    let made = bindings
        .reserve(memory, hash)
        .map_err(StaticError::from)
        .and_then(|position| {
            let made = publish(memory, cfg, now, (binding, subscriber), position);
            if made.is_err() {
                bindings.release(memory, position);
            }
            made
        });
    if made.is_err() {
        cfg.layout.bound.give(memory, Counted::Bindings);
    }
    made
}

fn publish<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    now: Instant,
    (binding, subscriber): (&StaticBinding, u32),
    position: Position,
) -> Result<(), StaticError> {
    let bindings = &cfg.layout.bindings;
    let draft = bindings.draft(memory, position).ok_or(StaticError::Full)?;
    let outside = binding.outside.word();
    match port::claim(memory, cfg, outside | binding.protocol as u64, position).get() {
        Ok(_) => {}
        Err(Cause::Full) => return Err(StaticError::Full),
        Err(_) => return Err(StaticError::OutsideTaken),
    }
    draft.write(0, &binding.inside.words(binding.protocol));
    draft.write(SUBSCRIBER, &[u64::from(subscriber), outside, 0, now.0]);
    bindings.publish(memory, draft, position, STATIC);
    Ok(())
}

/// Makes a static binding an ordinary one, which ends with its last session.
///
/// # Errors
/// [`StaticError::Missing`], [`StaticError::Contention`].
pub fn remove_static<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    binding: &StaticBinding,
) -> Result<(), StaticError> {
    let inside = binding.inside.words(binding.protocol);
    match binding::find_inside(memory, cfg, &inside) {
        Some((_, slot))
            if slot.word(OUTSIDE) == binding.outside.word() && binding::is_static(&slot) =>
        {
            if slot.update(slot.life.payload() & !STATIC) {
                Ok(())
            } else {
                Err(StaticError::Contention)
            }
        }
        _ => Err(StaticError::Missing),
    }
}
