//! Subscribers: how many bindings and sessions each has (RFC 6888 requirements 4 and 5), and the
//! port blocks that each owns.
//!
//! Their table is used only where there are limits or port blocks; without, the address of a
//! subscriber is the hash of its prefix and nothing has to be remembered.

use crate::address::V4;
use crate::table::{Life, Memory, Position, Refused, Slot, hash};
use crate::word::Word;

use super::bound::{Claim, Counted};
use super::config::{Blocks, NatConfig};
use super::endpoint::{Endpoint4, Inside, Protocol};
use super::outcome::{Cause, Outcome};
use super::own_limits;
use super::share;

/// The slot line of no subscriber.
pub(super) const NO_SUBSCRIBER: u32 = u32::MAX;
/// Blocks that a subscriber has at most.
pub(super) const BLOCKS: usize = 4;
/// First word of a slot that holds a block.
const FIRST_BLOCK: usize = 3;
/// Bindings of a subscriber, in the payload of its life.
const BINDING: u64 = 1;
const BINDINGS: u64 = 0xff_ffff;
/// Sessions of a subscriber, above.
const SESSION: u64 = 1 << 24;
const SESSIONS: u64 = 0x7f_ffff << 24;
/// Compare-exchanges that may be lost to other processors before giving up.
const ATTEMPTS: u32 = 4;

/// Whether there is a table of subscribers.
#[inline(always)]
pub(super) fn tracked(cfg: &NatConfig) -> bool {
    !cfg.layout.subscribers.is_empty()
}

/// The subscriber of an inside host: the first address of its prefix, without a port.
#[must_use]
pub fn subscriber_of(cfg: &NatConfig, inside: &Inside) -> Inside {
    let [high, low, v4] = cfg.subscriber.key(&inside.words(Protocol::Udp));
    Inside::from_words([high, low, v4 << 32])
}

/// The hash that pairs the bindings of a subscriber with an outside address (RFC 4787 section 4.1).
#[inline(always)]
pub(super) fn pairing(cfg: &NatConfig, inside: &[u64; 3]) -> u64 {
    hash(&cfg.seed, &cfg.subscriber.key(inside))
}

/// Counts a new binding for its subscriber. The result is the slot line of the subscriber. [`Cause::Limit`],
/// [`Cause::Share`], [`Cause::Full`].
#[inline(always)]
pub(super) fn enroll<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    inside: &[u64; 3],
) -> Outcome {
    if let Ok(line) = find(memory, cfg, inside).get_line() {
        return add_binding(memory, cfg, line);
    }
    if !enter(memory, cfg, inside) {
        return Outcome::no(Cause::Share);
    }
    let bound = &cfg.layout.bound;
    let mut outcome = Outcome::no(Cause::Full);
    if bound.take(memory, Counted::Subscribers, Claim::Flow) {
        outcome = write(memory, cfg, inside);
        if outcome.get().is_err() {
            bound.give(memory, Counted::Subscribers);
        }
    }
    if outcome.get().is_err() {
        leave(memory, cfg, inside);
    }
    outcome
}

/// The slot line of the subscriber of an inside endpoint; [`Cause::NoBinding`] if it has nothing.
#[inline(never)]
fn find<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, inside: &[u64; 3]) -> Outcome {
    let subscribers = &cfg.layout.subscribers;
    let key = cfg.subscriber.key(inside);
    match subscribers.find(memory, hash(&cfg.seed, &key), &key) {
        Some((position, _)) => Outcome::line(subscribers.line_of(position)),
        None => Outcome::no(Cause::NoBinding),
    }
}

/// Counts a new subscriber, and its binding, for its networks, if they may have both.
#[inline(never)]
fn enter<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, inside: &[u64; 3]) -> bool {
    let key = cfg.subscriber.key(inside);
    if !share::take(memory, cfg, Counted::Subscribers, &key) {
        return false;
    }
    let entered = share::take(memory, cfg, Counted::Bindings, &key);
    if !entered {
        share::give(memory, cfg, Counted::Subscribers, &key);
    }
    entered
}

/// Takes both off the counts again.
#[inline(never)]
fn leave<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, inside: &[u64; 3]) {
    let key = cfg.subscriber.key(inside);
    share::give(memory, cfg, Counted::Subscribers, &key);
    share::give(memory, cfg, Counted::Bindings, &key);
}

/// Writes the subscriber of an inside endpoint, with a binding, into a slot. The result is the slot line.
#[inline(never)]
fn write<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, inside: &[u64; 3]) -> Outcome {
    let subscribers = &cfg.layout.subscribers;
    let key = cfg.subscriber.key(inside);
    let hash = hash(&cfg.seed, &key);
    let no_place = |refused| {
        cfg.layout
            .bound
            .no_place(memory, Counted::Subscribers, refused)
    };
    let position = match subscribers.reserve(memory, hash) {
        Ok(position) => position,
        Err(refused) => return no_place(refused),
    };
    let Some(draft) = subscribers.draft(memory, position) else {
        return no_place(Refused::Full);
    };
    draft.write(0, &key);
    draft.write(FIRST_BLOCK, &[0; BLOCKS]);
    subscribers.publish(memory, draft, position, BINDING);
    Outcome::line(subscribers.line_of(position))
}

/// Ends a subscriber that has nothing: its slot is free again.
pub(super) fn release<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    position: Position,
    slot: &Slot<'_>,
) {
    share::give(memory, cfg, Counted::Subscribers, &key_of(slot));
    cfg.layout.subscribers.release(memory, position);
    cfg.layout.bound.give(memory, Counted::Subscribers);
}

/// The key in the slot of a subscriber.
fn key_of(slot: &Slot<'_>) -> [u64; 3] {
    [slot.word(0), slot.word(1), slot.word(2)]
}

/// Counts a new session for the subscriber in slot line `line`, if there is one. [`Cause::Limit`],
/// [`Cause::Share`].
#[inline(never)]
pub(super) fn add_session<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    line: u32,
    claim: Claim,
) -> Outcome {
    if line == NO_SUBSCRIBER {
        return Outcome::line(line);
    }
    count_up(memory, cfg, line, Counted::Sessions, claim)
}

/// Counts a new binding for the subscriber in slot line `line`. [`Cause::Limit`], [`Cause::Share`].
#[inline(never)]
fn add_binding<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, line: u32) -> Outcome {
    count_up(memory, cfg, line, Counted::Bindings, Claim::Flow)
}

/// Takes a session off the count again.
pub(super) fn drop_session<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, line: u32) {
    count_down(memory, cfg, line, Counted::Sessions, SESSION);
}

/// Takes a binding off the count again.
pub(super) fn drop_binding<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, line: u32) {
    count_down(memory, cfg, line, Counted::Bindings, BINDING);
}

fn count_down<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, line: u32, what: Counted, one: u64) {
    if let Some(slot) = Slot::at(memory, line) {
        share::give(memory, cfg, what, &key_of(&slot));
        slot.add(one.wrapping_neg());
    }
}

/// Whether a subscriber has neither bindings nor sessions.
pub(super) fn is_idle(slot: &Slot<'_>) -> bool {
    slot.life.payload() & (BINDINGS | SESSIONS) == 0
}

/// A limit in the bits `mask` of a payload; 0 is none.
const fn most(one: u64, mask: u64, limit: u32) -> u64 {
    let most = limit as u64 * one;
    if limit == 0 || most > mask {
        mask
    } else {
        most
    }
}

/// Counts one more session or binding of a subscriber, if it and its networks may have it.
#[inline(always)]
fn count_up<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    line: u32,
    what: Counted,
    claim: Claim,
) -> Outcome {
    let Some(slot) = Slot::at(memory, line) else {
        return Outcome::no(Cause::Contention);
    };
    let key = key_of(&slot);
    let limits = own_limits::of(memory, cfg, || key);
    let (one, mask, limit) = match what {
        Counted::Sessions => (SESSION, SESSIONS, limits.sessions),
        _ => (BINDING, BINDINGS, limits.bindings),
    };
    let most = claim.of(most(one, mask, limit));
    if slot.life.payload() & mask >= most {
        return Outcome::no(Cause::Limit);
    }
    if !share::take(memory, cfg, what, &key) {
        return Outcome::no(Cause::Share);
    }
    let outcome = raise(memory, line, slot.life, mask, most);
    if outcome.get().is_err() {
        share::give(memory, cfg, what, &key);
    }
    outcome
}

/// Adds one to the number in these bits of a subscriber, if it is less than `most`. In a function of its own, for the stack
/// that a BPF program has.
#[inline(never)]
fn raise<M: Memory + ?Sized>(memory: &M, line: u32, life: Life, mask: u64, most: u64) -> Outcome {
    let one = mask & mask.wrapping_neg();
    for _ in 0..ATTEMPTS {
        // Another subscriber may have the slot by now, with limits and networks of its own.
        let Some(slot) = Slot::at(memory, line).filter(|slot| slot.life.same_entry(life)) else {
            break;
        };
        let payload = slot.life.payload();
        if payload & mask >= most {
            return Outcome::no(Cause::Limit);
        }
        if slot.update(payload + one) {
            return Outcome::line(line);
        }
    }
    Outcome::no(Cause::Contention)
}

/// A word of a subscriber with a block that it owns: address, first port, whether the sweeper has reported
/// it, and how many bindings use it. 0: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owned(pub(super) u64);

impl Owned {
    const TOLD: u64 = 1 << 15;
    const USES: u64 = Self::TOLD - 1;

    /// No block.
    pub(super) const NONE: Self = Self(0);

    /// A block that one binding uses.
    pub(super) const fn new(address: V4, first: u16) -> Self {
        Self((address.0.0 as u64) << 32 | (first as u64) << 16 | 1)
    }

    pub(super) const fn is_none(self) -> bool {
        self.0 == 0
    }

    pub(super) const fn address(self) -> V4 {
        V4(Word((self.0 >> 32) as u32))
    }

    pub(super) const fn first(self) -> u16 {
        (self.0 >> 16) as u16
    }

    pub(super) const fn uses(self) -> u64 {
        self.0 & Self::USES
    }

    pub(super) const fn is_told(self) -> bool {
        self.0 & Self::TOLD != 0
    }

    /// The same block with one use more. A block has 8192 ports for three protocols at most, so
    /// the count does not overflow.
    pub(super) const fn used_once_more(self) -> Self {
        Self(self.0 + 1)
    }

    /// The same block without uses.
    pub(super) const fn unused(self) -> Self {
        Self(self.0 & !Self::USES)
    }

    pub(super) const fn told(self) -> Self {
        Self(self.0 | Self::TOLD)
    }
}

/// Block number `index` of a subscriber.
#[inline(always)]
pub(super) fn block(slot: &Slot<'_>, index: usize) -> Owned {
    Owned(slot.word(FIRST_BLOCK + index))
}

/// Replaces block number `index`, if it still is `old`.
#[inline(always)]
pub(super) fn replace_block(slot: &Slot<'_>, index: usize, old: Owned, new: Owned) -> bool {
    slot.replace(FIRST_BLOCK + index, old.0, new.0)
}

/// The block that a subscriber got last, and its number.
#[inline(always)]
pub(super) fn latest_block(slot: &Slot<'_>) -> Option<(usize, Owned)> {
    for index in (0..BLOCKS).rev() {
        let owned = block(slot, index);
        if !owned.is_none() {
            return Some((index, owned));
        }
    }
    None
}

/// Counts a use of the block that the subscriber in slot line `line` got last; `None` if it has none, or loses it at this
/// moment.
#[inline(always)]
pub(super) fn use_latest_block<M: Memory + ?Sized>(memory: &M, line: u32) -> Option<Owned> {
    let slot = Slot::at(memory, line)?;
    let (index, owned) = latest_block(&slot)?;
    replace_block(&slot, index, owned, owned.used_once_more()).then_some(owned)
}

/// Takes a use off the block of a subscriber that an outside endpoint lies in.
#[inline(never)]
pub(super) fn drop_use<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    line: u32,
    address: V4,
    port: u16,
) {
    let (Blocks::Dynamic { size, .. }, Some(slot)) = (cfg.blocks, Slot::at(memory, line)) else {
        return;
    };
    for index in 0..BLOCKS {
        let owned = block(&slot, index);
        let offset = port.wrapping_sub(owned.first());
        if owned.uses() != 0 && owned.address() == address && offset < size {
            // Nobody releases the block before: the use counts.
            slot.add_to(FIRST_BLOCK + index, u64::MAX);
            return;
        }
    }
}

/// Sets all counts of a subscriber to zero, before they are made anew.
pub(super) fn forget_counts(slot: &Slot<'_>) {
    let _alone = slot.update(slot.life.payload() & !(BINDINGS | SESSIONS));
    for index in 0..BLOCKS {
        let owned = block(slot, index);
        replace_block(slot, index, owned, owned.unused());
    }
}

/// Counts a subscriber that is there, whatever the share of its networks is.
pub(super) fn count_itself<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, slot: &Slot<'_>) {
    share::count(memory, cfg, Counted::Subscribers, &key_of(slot));
}

/// Counts a session that is there, whatever the limit is, for the subscriber in slot line `line`, if there is one.
pub(super) fn count_session<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, line: u32) {
    count_there(memory, cfg, line, Counted::Sessions, SESSION);
}

/// Counts a binding that is there, likewise.
pub(super) fn count_binding<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, line: u32) {
    count_there(memory, cfg, line, Counted::Bindings, BINDING);
}

fn count_there<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    line: u32,
    what: Counted,
    one: u64,
) {
    if line != NO_SUBSCRIBER
        && let Some(slot) = Slot::at(memory, line)
    {
        share::count(memory, cfg, what, &key_of(&slot));
        slot.add(one);
    }
}

/// Counts a use of the block of `size` ports that an outside endpoint lies in.
pub(super) fn count_use<M: Memory + ?Sized>(memory: &M, line: u32, outside: Endpoint4, size: u16) {
    let Some(slot) = Slot::at(memory, line) else {
        return;
    };
    for index in 0..BLOCKS {
        let owned = block(&slot, index);
        let offset = outside.port.wrapping_sub(owned.first());
        if !owned.is_none() && owned.address() == outside.address && offset < size {
            replace_block(&slot, index, owned, owned.used_once_more());
            return;
        }
    }
}
