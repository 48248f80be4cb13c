//! What routers inside of tunnels said of their ways (RFC 2473 section 7.1, RFC 4213 section 3.2.2): a
//! table by the other end, at the beginning of the state. Sessions lie behind it.
//!
//! An entry is one word, and another that falls on the same place takes it: at worst the way has to be
//! found out again. Nobody removes entries; they lose their force.

use core::sync::atomic::Ordering;

use crate::address::{V4, V6};
use crate::host::Host;
use crate::table::{Memory, Seed, hash};
use crate::time::Instant;

/// Lines of the table.
pub const LINES: u32 = 64;
const WORDS: u32 = 8;

/// Ticks of the table's clock that an entry holds, from 9 to 10 of about 69 seconds: RFC 8201 section 4
/// and RFC 1191 section 6.3 ask for ten minutes before more is tried.
const LIFE: u16 = 9;
/// Bits of an [`Instant`] below a tick.
const TICK: u32 = 16;

/// Nothing is lost with who finds two ends that share a place.
const SEED: Seed = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0,
    0,
    0,
];

/// The other end of a tunnel.
#[derive(Clone, Copy, Debug)]
pub struct End([u64; 2]);

impl From<V6> for End {
    #[inline(always)]
    fn from(address: V6) -> Self {
        let (high, low) = address.halves();
        Self([high, low])
    }
}

impl From<V4> for End {
    #[inline(always)]
    fn from(address: V4) -> Self {
        Self([0, u64::from(address.number())])
    }
}

impl End {
    #[inline(always)]
    fn hash(self) -> u64 {
        let Self(key) = self;
        hash(&SEED, &key)
    }
}

#[inline(always)]
fn tick(now: Instant) -> u16 {
    (now.0 >> TICK) as u16
}

/// Bytes of the largest packet that the way to `end` takes, if its first link takes `link`.
#[inline(always)]
pub fn limit<H: Host>(host: &H, end: End, link: u16) -> u16 {
    let hash = end.hash();
    let (line, word) = place(hash);
    let Some(line) = host.state().line(line) else {
        return link;
    };
    let entry = line[word].load(Ordering::Relaxed);
    let age = tick(host.now()).wrapping_sub((entry >> 16) as u16);
    if entry >> 32 == hash >> 32 && entry as u16 != 0 && age <= LIFE {
        link.min(entry as u16)
    } else {
        link
    }
}

/// Remembers that the way to `end` takes packets of `mtu` bytes.
pub fn learn<H: Host>(host: &H, end: End, mtu: u16) {
    let hash = end.hash();
    let (line, word) = place(hash);
    if let Some(line) = host.state().line(line) {
        let entry = hash >> 32 << 32 | u64::from(tick(host.now())) << 16 | u64::from(mtu);
        line[word].store(entry, Ordering::Relaxed);
    }
}

#[inline(always)]
fn place(hash: u64) -> (u32, usize) {
    let hash = hash as u32;
    (hash / WORDS % LINES, (hash % WORDS) as usize)
}
