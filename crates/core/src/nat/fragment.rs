//! Fragmented datagrams: the ports of the first fragment, for those that follow it (RFC 6146
//! section 3.4). Fragments that come before the first are held elsewhere, by an engine that can, and the datagram is
//! marked as awaited: another engine that gets its first fragment hands that on, so that it meets those that wait for it.
//!
//! A datagram always finds room. The fragments of one come within milliseconds, and a flood of first
//! fragments fills any table, so a full table gives up what is oldest. Who has a large part of the places
//! gives up one of its own.

use core::hint::spin_loop;

use crate::address::V6;
use crate::host::Host;
use crate::table::{Memory, Position, Refused, Slot, hash};
use crate::time::Instant;
use crate::wire::tuple::Ports;
use crate::wire::{ipv4, ipv6};

use super::bound::Counted;
use super::config::NatConfig;
use super::endpoint::address_words;
use super::outcome::{Cause, Outcome};

/// Words of a key.
const KEY: usize = 5;
/// Word of a slot that holds the ports, or [`AWAITED`].
const PORTS: usize = 5;
/// Stands for the ports of a datagram whose first fragment has not come, though others wait for it.
const AWAITED: u64 = 1 << 32;
/// Not in a slot, but in what is to be [stored](store): the engine holds fragments.
const HOLDS: u64 = 1 << 33;
const EXPIRY: u64 = (1 << 40) - 1;
/// Of the sixteen places of a datagram, those that one source may have before it has to give up its own.
const SHARE: u64 = 4;
/// How often a mark is tried while another engine writes the ports, which takes a program less than a microsecond.
const PATIENCE: u32 = 10_000;
/// How often room is made for one datagram: other processors may take it.
const ATTEMPTS: u32 = 4;

/// The key that the fragments of one datagram have in common (RFC 791, RFC 8200 section 4.5). Its first
/// word is the source whose share of a bucket is bounded: an IPv4 address, or the upper half of an IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentKey([u64; KEY]);

impl FragmentKey {
    /// The key of an IPv4 datagram.
    #[inline(always)]
    #[must_use]
    pub const fn v4(header: &ipv4::Header) -> Self {
        let (source, destination) = (header.source(), header.destination());
        let protocol = (header.protocol() as u64) << 8 | 4;
        let datagram = (header.identification() as u64) << 32 | protocol;
        Self([source.0.0 as u64, destination.0.0 as u64, 0, 0, datagram])
    }

    /// The key of an IPv4 datagram in a softwire, whose addresses are valid there only: its IPv6 source is
    /// part of the key.
    #[inline(always)]
    #[must_use]
    pub const fn within(self, softwire: V6) -> Self {
        let [high, low] = address_words(softwire);
        let Self([source, destination, .., datagram]) = self;
        Self([high, low, source, destination, datagram])
    }

    /// The key of an IPv6 datagram with this header; identification and protocol are those of its fragment
    /// header.
    #[inline(always)]
    #[must_use]
    pub const fn v6(header: &ipv6::Header, identification: u32, protocol: u8) -> Self {
        let [a, b] = address_words(header.source());
        let [c, d] = address_words(header.destination());
        let datagram = (identification as u64) << 32 | (protocol as u64) << 8 | 6;
        Self([a, b, c, d, datagram])
    }
}

/// Remembers the ports of a first fragment for the lifetime of fragments, in place of an older datagram if
/// there is no room. An engine that `holds` fragments releases those that wait for it.
///
/// # Errors
/// [`Refused`]: the fragments that follow will not find it; [`Refused::Contention`] also if others wait for it where
/// this engine does not hold any.
#[inline(always)]
pub fn remember<H: Host>(
    host: &H,
    cfg: &NatConfig,
    key: &FragmentKey,
    ports: Ports,
    holds: bool,
) -> Result<(), Refused> {
    let holds = if holds { HOLDS } else { 0 };
    match store(host.state(), cfg, key, host.now(), ports.word() | holds).get() {
        Ok(_) => Ok(()),
        Err(Cause::Full) => Err(Refused::Full),
        Err(_) => Err(Refused::Contention),
    }
}

/// Marks the datagram of a fragment that will be held as awaited, for the lifetime of fragments. Returns its ports if
/// another engine has had the first fragment meanwhile.
pub fn wait_for_first<H: Host>(host: &H, cfg: &NatConfig, key: &FragmentKey) -> Option<Ports> {
    for _ in 0..PATIENCE {
        let stored = store(host.state(), cfg, key, host.now(), AWAITED | HOLDS);
        if stored.get().is_ok() {
            break;
        }
        spin_loop();
    }
    recall(host, cfg, key)
}

/// The ports of the datagram that a fragment other than the first belongs to; `None` if the first
/// did not come yet, or too long ago.
#[inline(always)]
pub fn recall<H: Host>(host: &H, cfg: &NatConfig, key: &FragmentKey) -> Option<Ports> {
    let hash = hash(&cfg.seed, &key.0);
    let (_, slot) = cfg.layout.fragments.find(host.state(), hash, &key.0)?;
    let word = slot.word(PORTS);
    (slot.unchanged() && word != AWAITED && !expired(&slot, host.now())).then_some(Ports {
        source: (word >> 16) as u16,
        destination: word as u16,
    })
}

#[inline(always)]
pub(super) fn expired(slot: &Slot<'_>, now: Instant) -> bool {
    slot.life.payload() & EXPIRY <= now.0
}

/// Stores ports, or [`AWAITED`]. A BPF function takes five arguments.
#[inline(never)]
fn store<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    key: &FragmentKey,
    now: Instant,
    what: u64,
) -> Outcome {
    let fragments = &cfg.layout.fragments;
    let hash = hash(&cfg.seed, &key.0);
    let (ports, holds) = (what & !HOLDS, what & HOLDS != 0);
    let expiry = (now + cfg.timers.fragment).0 & EXPIRY;
    if let Some((_, slot)) = fragments.find(memory, hash, &key.0) {
        let before = slot.word(PORTS);
        let valid = !expired(&slot, now);
        if valid && before == AWAITED && !holds {
            return Outcome::no(Cause::Contention);
        }
        if valid && ports == AWAITED {
            // There are ports, or a mark.
            return Outcome::word(0);
        }
        // The same identification again: a repeated first fragment, or a later datagram.
        return if slot.replace(PORTS, before, ports) && slot.update(expiry) {
            Outcome::word(0)
        } else {
            Outcome::no(Cause::Contention)
        };
    }
    let position = match reserve(memory, cfg, hash, key) {
        Ok(position) => position,
        Err(refused) => return Outcome::no(refused.into()),
    };
    let Some(draft) = fragments.draft(memory, position) else {
        return Outcome::no(Cause::Full);
    };
    draft.write(0, &key.0);
    draft.write(PORTS, &[ports]);
    cfg.layout.bound.count(memory, Counted::Fragments);
    fragments.publish(memory, draft, position, hash, expiry);
    Outcome::word(0)
}

/// Takes a slot for a datagram that was not found, and makes room for it if there is none.
#[inline(always)]
fn reserve<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    hash: u64,
    key: &FragmentKey,
) -> Result<Position, Refused> {
    let fragments = &cfg.layout.fragments;
    for _ in 0..ATTEMPTS {
        let result = fragments.reserve(memory, hash);
        if result != Err(Refused::Full) {
            return result;
        }
        make_room(memory, cfg, hash, key.0[0]);
    }
    fragments.reserve(memory, hash)
}

/// Frees the slot of a datagram that has ended.
pub(super) fn release<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, position: Position) {
    cfg.layout.fragments.release(memory, position);
    cfg.layout.bound.give(memory, Counted::Fragments);
}

/// Ends a datagram in the way of a new one of this source: the oldest of the same source if that has its [`SHARE`], or else
/// the oldest of all. Nothing happens if another processor does the same.
#[inline(always)]
fn make_room<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, hash: u64, source: u64) {
    let fragments = cfg.layout.fragments;
    let position = memory.give_way(fragments, hash, source, SHARE);
    if let Some(slot) = fragments.entry(memory, position)
        && slot.end()
    {
        release(memory, cfg, position);
        cfg.layout.bound.refuse(memory, Counted::Fragments);
    }
}
