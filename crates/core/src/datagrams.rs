//! Fragmented datagrams: the ports of the first fragment, for those that follow it (RFC 6146
//! section 3.4, RFC 7597 section 8.3.2). Fragments that come before the first are held elsewhere, by an engine that can, and
//! the datagram is marked as awaited: another engine that gets its first fragment hands that on, so that it meets those that
//! wait for it.
//!
//! A datagram always finds room. The fragments of one come within milliseconds, and a flood of first
//! fragments fills any table, so a full table gives up what is oldest. Who has a large part of the places
//! gives up one of its own.

use core::hint::spin_loop;
use core::ops::Range;

use crate::address::{V4, V6};
use crate::encap::path_mtu;
use crate::host::Host;
use crate::table::{Memory, Position, Refused, Seed, Slot, Slots, hash};
use crate::time::{Instant, Span};
use crate::wire::tuple::Ports;
use crate::wire::{ipv4, ipv6};

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

/// A table of datagrams.
pub trait Datagrams {
    /// Where it lies in the [state](Host::state).
    fn table(&self) -> Slots;

    /// The secret of its hashes.
    fn seed(&self) -> &Seed;

    /// How long a datagram is remembered: at least two seconds (RFC 6146 section 4, FRAGMENT_MIN).
    fn lifetime(&self) -> Span;

    /// Notes that an entry was made.
    #[inline(always)]
    fn made<M: Memory + ?Sized>(&self, _memory: &M) {}

    /// Notes that one has gone.
    #[inline(always)]
    fn gone<M: Memory + ?Sized>(&self, _memory: &M) {}

    /// Notes that one had to give way.
    #[inline(always)]
    fn gave_way<M: Memory + ?Sized>(&self, _memory: &M) {}
}

/// The datagrams of all borders that have no NAT: one table, behind the path MTUs at the beginning of the state. Nobody ends
/// its entries; they expire, and give way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct BorderDatagrams {
    /// The secret of its hashes: random, and the same as long as the table lives.
    pub seed: Seed,
}

impl BorderDatagrams {
    /// Datagrams that the table is made for: the first fragments of 15 ms of a flood that fills a processor.
    const MOST: u32 = 4096;

    const TABLE: Slots = Slots::for_entries(path_mtu::LINES, Self::MOST);

    /// The lines of the table. Behind them those of instances begin.
    pub const LINES: Range<u32> = path_mtu::LINES..Self::TABLE.end();
}

impl Datagrams for BorderDatagrams {
    #[inline(always)]
    fn table(&self) -> Slots {
        Self::TABLE
    }

    #[inline(always)]
    fn seed(&self) -> &Seed {
        &self.seed
    }

    #[inline(always)]
    fn lifetime(&self) -> Span {
        Span::from_secs(2)
    }
}

/// The key that the fragments of one datagram have in common (RFC 791, RFC 8200 section 4.5). Its first
/// word is the source whose share of a bucket is bounded: an IPv4 address, or the upper half of an IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentKey([u64; KEY]);

impl FragmentKey {
    /// The key of an IPv4 datagram.
    #[inline(always)]
    #[must_use]
    pub const fn v4(header: &ipv4::Header) -> Self {
        let ends = (header.source(), header.destination());
        Self::between(ends, header.identification(), header.protocol())
    }

    /// The key of an IPv4 datagram between two addresses, with its identification and protocol.
    #[inline(always)]
    #[must_use]
    pub const fn between(
        (source, destination): (V4, V4),
        identification: u16,
        protocol: u8,
    ) -> Self {
        let datagram = (identification as u64) << 32 | (protocol as u64) << 8 | 4;
        Self([source.0.0 as u64, destination.0.0 as u64, 0, 0, datagram])
    }

    /// The key of an IPv4 datagram in a softwire, whose addresses are valid there only: its IPv6 source is
    /// part of the key.
    #[inline(always)]
    #[must_use]
    pub const fn within(self, softwire: V6) -> Self {
        let [high, low] = softwire.words();
        let Self([source, destination, .., datagram]) = self;
        Self([high, low, source, destination, datagram])
    }

    /// The key of an IPv6 datagram with this header and the identification of its fragment header. The protocol is no
    /// part of it: fragments other than the first may name any (RFC 8200 section 4.5).
    #[inline(always)]
    #[must_use]
    pub const fn v6(header: &ipv6::Header, identification: u32) -> Self {
        let [a, b] = header.source().words();
        let [c, d] = header.destination().words();
        let datagram = (identification as u64) << 32 | 6;
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
pub fn remember<H: Host, D: Datagrams>(
    host: &H,
    datagrams: &D,
    key: &FragmentKey,
    ports: Ports,
    holds: bool,
) -> Result<(), Refused> {
    let holds = if holds { HOLDS } else { 0 };
    let what = ports.word() | holds;
    match store(host.state(), datagrams, key, host.now(), what) {
        Stored::Done => Ok(()),
        Stored::Full => Err(Refused::Full),
        Stored::Contention => Err(Refused::Contention),
    }
}

/// Marks the datagram of a fragment that will be held as awaited, for the lifetime of fragments. Returns its ports if
/// another engine has had the first fragment meanwhile.
pub fn wait_for_first<H: Host, D: Datagrams>(
    host: &H,
    datagrams: &D,
    key: &FragmentKey,
) -> Option<Ports> {
    for _ in 0..PATIENCE {
        let stored = store(host.state(), datagrams, key, host.now(), AWAITED | HOLDS);
        if stored == Stored::Done {
            break;
        }
        spin_loop();
    }
    recall(host, datagrams, key)
}

/// The ports of the datagram that a fragment other than the first belongs to; `None` if the first
/// did not come yet, or too long ago.
#[inline(always)]
pub fn recall<H: Host, D: Datagrams>(host: &H, datagrams: &D, key: &FragmentKey) -> Option<Ports> {
    let hash = hash(datagrams.seed(), &key.0);
    let (_, slot) = datagrams.table().find(host.state(), hash, &key.0)?;
    let word = slot.word(PORTS);
    (slot.unchanged() && word != AWAITED && !expired(&slot, host.now())).then_some(Ports {
        source: (word >> 16) as u16,
        destination: word as u16,
    })
}

/// Whether a datagram is remembered no longer.
#[inline(always)]
pub(crate) fn expired(slot: &Slot<'_>, now: Instant) -> bool {
    slot.life.payload() & EXPIRY <= now.0
}

/// The result of [`store`]: a number, because a BPF function returns no more.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Stored {
    Done,
    Full,
    Contention,
}

/// Stores ports, or [`AWAITED`]. A BPF function takes five arguments.
#[inline(never)]
fn store<M: Memory + ?Sized, D: Datagrams>(
    memory: &M,
    datagrams: &D,
    key: &FragmentKey,
    now: Instant,
    what: u64,
) -> Stored {
    let table = datagrams.table();
    let hash = hash(datagrams.seed(), &key.0);
    let (ports, holds) = (what & !HOLDS, what & HOLDS != 0);
    let expiry = (now + datagrams.lifetime()).0 & EXPIRY;
    if let Some((_, slot)) = table.find(memory, hash, &key.0) {
        let before = slot.word(PORTS);
        let valid = !expired(&slot, now);
        if valid && before == AWAITED && !holds {
            return Stored::Contention;
        }
        if valid && ports == AWAITED {
            // There are ports, or a mark.
            return Stored::Done;
        }
        // The same identification again: a repeated first fragment, or a later datagram.
        return if slot.replace(PORTS, before, ports) && slot.update(expiry) {
            Stored::Done
        } else {
            Stored::Contention
        };
    }
    let position = match reserve(memory, datagrams, hash, key) {
        Ok(position) => position,
        Err(Refused::Full) => return Stored::Full,
        Err(Refused::Contention) => return Stored::Contention,
    };
    let Some(draft) = table.draft(memory, position) else {
        return Stored::Full;
    };
    draft.write(0, &key.0);
    draft.write(PORTS, &[ports]);
    datagrams.made(memory);
    table.publish(memory, draft, position, expiry);
    Stored::Done
}

/// Takes a slot for a datagram that was not found, and makes room for it if there is none.
#[inline(always)]
fn reserve<M: Memory + ?Sized, D: Datagrams>(
    memory: &M,
    datagrams: &D,
    hash: u64,
    key: &FragmentKey,
) -> Result<Position, Refused> {
    let table = datagrams.table();
    for _ in 0..ATTEMPTS {
        let result = table.reserve(memory, hash);
        if result != Err(Refused::Full) {
            return result;
        }
        make_room(memory, datagrams, hash, key.0[0]);
    }
    table.reserve(memory, hash)
}

/// Frees the slot of a datagram that has ended.
pub(crate) fn release<M: Memory + ?Sized, D: Datagrams>(
    memory: &M,
    datagrams: &D,
    position: Position,
) {
    datagrams.table().release(memory, position);
    datagrams.gone(memory);
}

/// Ends a datagram in the way of a new one of this source: the oldest of the same source if that has its [`SHARE`], or else
/// the oldest of all. Nothing happens if another processor does the same.
#[inline(always)]
fn make_room<M: Memory + ?Sized, D: Datagrams>(memory: &M, datagrams: &D, hash: u64, source: u64) {
    let table = datagrams.table();
    let position = memory.give_way(table, hash, source, SHARE);
    if let Some(slot) = table.entry(memory, position)
        && slot.end()
    {
        release(memory, datagrams, position);
        datagrams.gave_way(memory);
    }
}
