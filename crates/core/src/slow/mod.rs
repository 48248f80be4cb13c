//! Rules that only the user-space engine needs, because a BPF program cannot follow them: cutting a packet
//! in pieces, building ICMP errors and limiting their rate (which programs do, too), checking fragments for reassembly, delaying an
//! answer, neighbour discovery, reading datagrams for the gateway itself. And the one that programs have for it: whose packets they
//! hand up.
//!
//! They work on slices: an engine that comes here has the bytes of the packet in reach.

pub mod datagram;
pub mod icmp_error;
pub mod limiter;
pub mod neighbour;
pub mod own;
pub mod reassemble;
pub mod reply;
pub mod segment;
pub mod shares;
pub mod split;
pub mod unexpected;
pub mod waiting;

use crate::word::Word;

/// The first words of some bytes.
fn leading_words<const N: usize>(bytes: &[u8]) -> Option<[Word; N]> {
    let (chunks, _) = bytes.as_chunks::<4>();
    chunks.first_chunk::<N>().map(|c| c.map(Word::from_bytes))
}
