//! Packets and bytes of each session, where they are counted: four words beside its slot. The packet path writes them for
//! every packet ([`count`](super::carried)), so that they are only there if somebody asked for them.

use core::sync::atomic::Ordering;

use crate::table::{AtomicU64, Memory, Position};

use super::config::NatConfig;
use super::layout::{CARRIED_PER_LINE, Lines};
use super::tcp::Side;

/// Words of a session: packets and bytes from inside, and from outside.
const WORDS: usize = 8 / CARRIED_PER_LINE as usize;

/// Packets, and their bytes from the transport header on, which are the same on both sides of a translator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Packets; a fragment is one.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// What a session carried so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// From the inside host.
    pub out: Amount,
    /// To the inside host.
    pub back: Amount,
}

/// Forgets what the session before carried in this slot.
#[inline(always)]
pub(super) fn reset<M: Memory + ?Sized>(memory: &M, cfg: &NatConfig, position: Position) {
    if let Some(words) = words(memory, cfg.layout.traffic, position) {
        for word in words {
            word.store(0, Ordering::Relaxed);
        }
    }
}

/// What the session in a slot carried; `None` where nothing is counted.
pub(super) fn of<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    position: Position,
) -> Option<Traffic> {
    let words = words(memory, cfg.layout.traffic, position)?;
    let [out, back] = [0, 2].map(|at| Amount {
        packets: words[at].load(Ordering::Relaxed),
        bytes: words[at + 1].load(Ordering::Relaxed),
    });
    Some(Traffic { out, back })
}

/// Counts a packet of the session in a slot.
#[inline(always)]
pub(super) fn add<M: Memory + ?Sized>(
    memory: &M,
    cfg: &NatConfig,
    position: Position,
    from: Side,
    bytes: u64,
) {
    if let Some(words) = words(memory, cfg.layout.traffic, position) {
        let at = from as usize * 2;
        words[at].fetch_add(1, Ordering::Relaxed);
        words[at + 1].fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The words of a session; `None` where nothing is counted.
#[inline(always)]
fn words<M: Memory + ?Sized>(
    memory: &M,
    lines: Lines,
    position: Position,
) -> Option<&[AtomicU64; WORDS]> {
    let at = position.0 / CARRIED_PER_LINE;
    if at >= lines.count {
        return None;
    }
    let (halves, _) = memory.line(lines.first + at)?.as_chunks();
    halves.get((position.0 % CARRIED_PER_LINE) as usize)
}
