//! The sweeper: it removes expired entries and reports new and removed ones (RFC 6146 sections 3.1 and
//! 3.5, RFC 8158 for the records). It runs in user space, beside the packet path.

use core::ops::Range;

use crate::datagrams;
use crate::reason::Counter;
use crate::table::{Memory, Position, Slot, Slots, hash};
use crate::time::Instant;

use super::binding;
use super::bound::Counted;
use super::config::{Blocks, NatConfig};
use super::endpoint::{Endpoint4, Inside, Protocol};
use super::permission;
use super::port::{self, BLOCK, index_word};
use super::session::{self, BINDING, CREATED, OUTSIDE, REMOTE, REPORTED, Status};
use super::subscriber::{self, NO_SUBSCRIBER, Owned};
use super::tcp::TcpState;
use super::traffic::{self, Traffic};

/// A binding, for people and records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Protocol.
    pub protocol: Protocol,
    /// Inside endpoint.
    pub inside: Inside,
    /// Outside endpoint.
    pub outside: Endpoint4,
    /// When it was made.
    pub created: Instant,
}

/// A session, for people and records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// The binding that it uses; `created` is that of the session.
    pub binding: Binding,
    /// Remote endpoint; port 0 for ICMP.
    pub remote: Endpoint4,
    /// TCP state; [`TcpState::Closed`] for other protocols.
    pub state: TcpState,
    /// When it ends if no packet comes.
    pub expires: Instant,
    /// What it carried; `None` where that is not counted.
    pub traffic: Option<Traffic>,
}

/// A block of outside ports, for people and records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The subscriber: the first address of its prefix, with port 0.
    pub subscriber: Inside,
    /// Outside address and first port.
    pub first: Endpoint4,
    /// Ports.
    pub size: u16,
}

/// An event that the sweeper found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A binding was made since the last sweep.
    BindingCreated(Binding),
    /// A binding ended.
    BindingRemoved(Binding),
    /// A session was made since the last sweep.
    SessionCreated(Session),
    /// A session ended.
    SessionRemoved(Session),
    /// An established TCP session was idle for its whole lifetime. It stays for the transitory
    /// time; a probe to one of its ends would show whether it lives (RFC 6146 section 3.5.2.2).
    SessionIdle(Session),
    /// A subscriber got a port block.
    BlockAssigned(Block),
    /// A subscriber gave a port block back.
    BlockReleased(Block),
}

impl Event {
    /// The counter of the event, if the sweep is where it is counted: others are counted where they happen.
    #[must_use]
    pub const fn counter(&self) -> Option<Counter> {
        match self {
            Self::BindingRemoved(_) => Some(Counter::BindingRemoved),
            Self::SessionRemoved(_) => Some(Counter::SessionRemoved),
            Self::BindingCreated(_)
            | Self::SessionCreated(_)
            | Self::SessionIdle(_)
            | Self::BlockAssigned(_)
            | Self::BlockReleased(_) => None,
        }
    }
}

/// Sweeps the buckets with these numbers, from 0 to [`Layout::buckets`](super::Layout::buckets): ends
/// expired sessions and bindings without sessions, and reports all that it has not reported before.
pub fn sweep<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    now: Instant,
    buckets: Range<u32>,
    mut on_event: impl FnMut(Event),
) {
    let layout = &cfg.layout;
    let mut start = 0;
    // The buckets of the next table that are among those.
    let mut next = |table: &Slots| {
        let from = buckets.start.saturating_sub(start);
        let to = buckets.end.saturating_sub(start);
        start += table.control.count;
        table.control.used(memory, from..to)
    };
    for position in next(&layout.sessions) {
        visit_session(memory, cfg, now, position, &mut on_event);
    }
    for position in next(&layout.bindings) {
        visit_binding(memory, cfg, position, &mut on_event);
    }
    for position in next(&layout.subscribers) {
        visit_subscriber(memory, cfg, position, &mut on_event);
    }
    for position in next(&layout.fragments) {
        if let Some(slot) = layout.fragments.entry(memory, position)
            && datagrams::expired(&slot, now)
            && slot.end()
        {
            datagrams::release(memory, cfg, position);
        }
    }
}

/// All bindings. Those that come and go during the walk may or may not be among them.
pub fn bindings<'a, M: Memory + ?Sized>(
    memory: &'a M,
    cfg: &'a NatConfig,
) -> impl Iterator<Item = Binding> + 'a {
    let control = cfg.layout.bindings.control;
    control
        .used(memory, 0..control.count)
        .filter_map(move |position| {
            let slot = cfg.layout.bindings.entry(memory, position)?;
            let binding = binding_of(&slot);
            slot.unchanged().then_some(binding)
        })
}

fn visit_session<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    now: Instant,
    position: Position,
    on_event: &mut impl FnMut(Event),
) {
    let Some(slot) = cfg.layout.sessions.entry(memory, position) else {
        return;
    };
    let status = Status::of(slot.life);
    if permission::is_permission(&slot) {
        if (status.expired(now) || permission::is_void(memory, &slot)) && slot.end() {
            permission::release(memory, cfg, position);
        }
        return;
    }
    let current = status.at(&cfg.timers, now);
    if current.expired(now) {
        if slot.end() {
            remove_session(memory, cfg, position, &slot, on_event);
        }
        return;
    }
    // Most are as the walk before left them. Whoever writes to their lines takes them from the processors that forward.
    if !status.reported() || current != status {
        report_session(memory, cfg, position, &slot, current, on_event);
    }
    if permission::needed(cfg, Protocol::from_word(slot.word(2))) {
        // Packets renew sessions without their permissions, and an idle session lasts longer than it was meant to.
        let _ = permission::extend(memory, cfg, cfg.layout.sessions.line_of(position));
    }
}

/// Reports a session that is new, or that was idle for its whole lifetime and is in `current` now.
fn report_session<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    position: Position,
    slot: &Slot<'_>,
    current: Status,
    on_event: &mut impl FnMut(Event),
) {
    let status = Status::of(slot.life);
    let session = session_of(memory, cfg, slot, position);
    if !slot.update(current.payload() | REPORTED) {
        return;
    }
    if !status.reported() {
        on_event(Event::SessionCreated(session));
    }
    if current.state != status.state {
        on_event(Event::SessionIdle(session));
    }
}

/// Takes an ended session out of everything that refers to it.
pub(super) fn remove_session<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    position: Position,
    slot: &Slot<'_>,
    on_event: &mut impl FnMut(Event),
) {
    let session = session_of(memory, cfg, slot, position);
    if !Status::of(slot.life).reported() {
        on_event(Event::SessionCreated(session));
    }
    on_event(Event::SessionRemoved(session));
    let layout = &cfg.layout;
    let protocol = session.binding.protocol;
    let outer = hash(
        &cfg.seed,
        &session::return_key(slot.word(OUTSIDE), slot.word(REMOTE), protocol),
    );
    if let Some(place) = layout
        .returns
        .find(memory, outer, u64::MAX, index_word(outer, position))
    {
        layout.returns.remove(memory, place);
    }
    let line = slot.word(BINDING) as u32;
    layout.sessions.release(memory, position);
    layout.bound.give(memory, Counted::Sessions);
    if let Some(binding) = Slot::at(memory, line)
        && binding::subscriber_of(&binding) != NO_SUBSCRIBER
    {
        subscriber::drop_session(memory, cfg, binding::subscriber_of(&binding));
    }
    binding::drop_reference(memory, line);
    end_binding(memory, cfg, layout.bindings.position_of(line), on_event);
}

fn visit_binding<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    position: Position,
    on_event: &mut impl FnMut(Event),
) {
    let Some(slot) = cfg.layout.bindings.entry(memory, position) else {
        return;
    };
    if !binding::is_reported(&slot) && slot.update(slot.life.payload() | REPORTED) {
        on_event(Event::BindingCreated(binding_of(&slot)));
    }
    end_binding(memory, cfg, position, on_event);
}

/// Ends a binding that has no session left.
fn end_binding<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    position: Position,
    on_event: &mut impl FnMut(Event),
) {
    let bindings = &cfg.layout.bindings;
    let Some(slot) = bindings.entry(memory, position) else {
        return;
    };
    if binding::is_used(&slot, 0) || !slot.end() {
        return;
    }
    let ended = binding_of(&slot);
    if !binding::is_reported(&slot) {
        on_event(Event::BindingCreated(ended));
    }
    on_event(Event::BindingRemoved(ended));
    let claimed = slot.word(OUTSIDE) | ended.protocol as u64;
    port::unclaim(memory, cfg, claimed, position);
    let owner = binding::subscriber_of(&slot);
    bindings.release(memory, position);
    cfg.layout.bound.give(memory, Counted::Bindings);
    if owner != NO_SUBSCRIBER {
        subscriber::drop_use(
            memory,
            cfg,
            owner,
            ended.outside.address,
            ended.outside.port,
        );
        subscriber::drop_binding(memory, cfg, owner);
    }
}

/// Tells of new port blocks, releases those that no binding uses, and removes a subscriber that
/// has nothing.
fn visit_subscriber<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    position: Position,
    on_event: &mut impl FnMut(Event),
) {
    let subscribers = &cfg.layout.subscribers;
    let Some(slot) = subscribers.entry(memory, position) else {
        return;
    };
    for index in 0..subscriber::BLOCKS {
        visit_block(memory, cfg, position, &slot, index, on_event);
    }
    // A block that is there means a binding that is about to be.
    if subscriber::is_idle(&slot) && subscriber::latest_block(&slot).is_none() && slot.end() {
        subscriber::release(memory, cfg, position, &slot);
    }
}

fn visit_block<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    position: Position,
    slot: &Slot<'_>,
    index: usize,
    on_event: &mut impl FnMut(Event),
) {
    let owned = subscriber::block(slot, index);
    let Blocks::Dynamic { size, .. } = cfg.blocks else {
        return;
    };
    if owned.is_none() {
        return;
    }
    let block = Block {
        subscriber: Inside {
            port: 0,
            ..Inside::from_words([slot.word(0), slot.word(1), slot.word(2) << 32])
        },
        first: Endpoint4 {
            address: owned.address(),
            port: owned.first(),
        },
        size,
    };
    if owned.uses() != 0 {
        if !owned.is_told() && subscriber::replace_block(slot, index, owned, owned.told()) {
            on_event(Event::BlockAssigned(block));
        }
    } else if subscriber::replace_block(slot, index, owned, Owned::NONE) {
        if !owned.is_told() {
            on_event(Event::BlockAssigned(block));
        }
        on_event(Event::BlockReleased(block));
        port::unclaim(memory, cfg, block.first.word() | BLOCK, position);
    }
}

fn binding_of(slot: &Slot<'_>) -> Binding {
    Binding {
        protocol: Protocol::from_word(slot.word(2)),
        inside: binding::inside_of(slot),
        outside: Endpoint4::from_word(slot.word(OUTSIDE)),
        created: Instant(slot.word(CREATED)),
    }
}

pub(super) fn session_of<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    slot: &Slot<'_>,
    position: Position,
) -> Session {
    let status = Status::of(slot.life);
    Session {
        binding: binding_of(slot),
        remote: Endpoint4::from_word(slot.word(REMOTE)),
        state: status.state,
        expires: Instant(status.expiry),
        traffic: traffic::of(memory, cfg, position),
    }
}
