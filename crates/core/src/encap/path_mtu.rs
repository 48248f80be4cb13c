//! Path MTUs of tunnels, from the errors of routers inside them (RFC 2473 section 7.1, RFC 4213 section
//! 3.2.2). The table has the tunnel endpoint as its key and lies at the beginning of the state, before the
//! sessions.
//!
//! An entry is one word. A new entry in the same place replaces it: at worst the path MTU has to be
//! discovered again. Nobody removes entries; they expire.

use core::sync::atomic::Ordering;

use crate::address::{V4, V6};
use crate::host::Host;
use crate::table::{Memory, Seed, hash};
use crate::time::Instant;

/// Lines of the table.
pub const LINES: u32 = 64;
const WORDS: u32 = 8;

/// Ticks of the table's clock that an entry holds, from 9 to 10 of about 69 seconds: RFC 8201 section 4
/// and RFC 1191 section 6.3 recommend ten minutes before a larger MTU is tried.
const LIFE: u16 = 9;
/// Bits of an [`Instant`] below a tick.
const TICK: u32 = 16;

/// The seed is no secret: an attacker who finds two endpoints with one place gains nothing.
const SEED: Seed = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0,
    0,
    0,
];

/// A tunnel endpoint.
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

/// Returns the path MTU to `end`, if the first link has the MTU `link`.
#[inline(always)]
pub fn limit<H: Host>(host: &H, end: End, link: u16) -> u16 {
    look_up(host.state(), || host.now(), end, link)
}

/// Stores the path MTU to `end`. It never grows by this (RFC 8201 section 4).
pub fn learn<H: Host>(host: &H, end: End, mtu: u16) {
    note(host.state(), host.now(), end, mtu);
}

#[inline(always)]
fn look_up<M: Memory + ?Sized>(
    memory: &M,
    now: impl FnOnce() -> Instant,
    end: End,
    link: u16,
) -> u16 {
    let hash = end.hash();
    let (line, word) = place(hash);
    let Some(line) = memory.line(line) else {
        return link;
    };
    let entry = line[word].load(Ordering::Relaxed);
    if entry >> 32 != hash >> 32 || entry as u16 == 0 {
        return link;
    }
    let age = tick(now()).wrapping_sub((entry >> 16) as u16);
    if age <= LIFE {
        link.min(entry as u16)
    } else {
        link
    }
}

fn note<M: Memory + ?Sized>(memory: &M, now: Instant, end: End, mtu: u16) {
    let hash = end.hash();
    let (line, word) = place(hash);
    let mtu = look_up(memory, || now, end, mtu);
    if let Some(line) = memory.line(line) {
        let entry = hash >> 32 << 32 | u64::from(tick(now)) << 16 | u64::from(mtu);
        line[word].store(entry, Ordering::Relaxed);
    }
}

#[inline(always)]
fn place(hash: u64) -> (u32, usize) {
    let hash = hash as u32;
    (hash / WORDS % LINES, (hash % WORDS) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Line;
    use crate::time::Span;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use std::vec::Vec;

    const MINUTE: u64 = 60;
    const LINK: u16 = 1500;

    fn memory() -> Vec<Line> {
        let mut lines = Vec::new();
        lines.resize_with(LINES as usize, Line::default);
        lines
    }

    /// Seconds after the clock began, which was long ago.
    fn at(seconds: u64) -> Instant {
        Instant(0x1234_5678_9abc) + Span::from_secs(seconds)
    }

    fn v6(number: u128) -> End {
        V6::from(Ipv6Addr::from(number)).into()
    }

    fn v4(number: u32) -> End {
        V4::from(Ipv4Addr::from(number)).into()
    }

    fn known(memory: &[Line], seconds: u64, end: End) -> u16 {
        look_up(memory, || at(seconds), end, LINK)
    }

    #[test]
    fn rfc8201_4_ten_minutes() {
        let memory = memory();
        for end in [v6(0x2001_0db8 << 96 | 1), v4(0xc000_0201)] {
            assert_eq!(known(&memory, 0, end), LINK);
            note(&memory[..], at(0), end, 1400);
            for minute in 0..10 {
                assert_eq!(known(&memory, minute * MINUTE, end), 1400, "{minute}");
            }
            assert_eq!(known(&memory, 12 * MINUTE, end), LINK);
        }
    }

    #[test]
    fn rfc8201_4_never_more_than_before() {
        let (memory, end) = (memory(), v4(1));
        note(&memory[..], at(0), end, 1300);
        note(&memory[..], at(1), end, 1400);
        assert_eq!(known(&memory, 2, end), 1300);
        note(&memory[..], at(12 * MINUTE), end, 1400);
        assert_eq!(known(&memory, 12 * MINUTE, end), 1400);
    }

    #[test]
    fn a_link_may_take_less() {
        let (memory, end) = (memory(), v4(1));
        note(&memory[..], at(0), end, 1400);
        assert_eq!(look_up(&memory[..], || at(0), end, 1280), 1280);
    }

    #[test]
    fn ways_are_told_apart() {
        let memory = memory();
        note(&memory[..], at(0), v4(0), 1300);
        for other in 1..100_000 {
            assert_eq!(known(&memory, 0, v4(other)), LINK);
        }
        // More than there is room for: every one that is known is right.
        for end in 0..10_000 {
            note(&memory[..], at(0), v6(end), 1280 + (end % 200) as u16);
        }
        let right = |end: &u128| {
            let got = known(&memory, 0, v6(*end));
            assert!(got == LINK || got == 1280 + (end % 200) as u16);
            got != LINK
        };
        let kept = (0..10_000).filter(right).count();
        assert!((450..=512).contains(&kept), "{kept}");
    }

    #[test]
    fn without_memory_nothing_is_known() {
        let none: [Line; 0] = [];
        note(&none[..], at(0), v4(1), 1300);
        assert_eq!(look_up(&none[..], || at(0), v4(1), LINK), LINK);
    }
}
