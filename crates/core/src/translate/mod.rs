//! Header translation between the families (RFC 7915).
//!
//! A translation runs in the same order in both directions: look at the packet without touching it
//! ([`incoming`](crate::incoming)); map its addresses and ports ([`mechanism`](crate::mechanism)); check
//! hop limit and size ([`mtu`]); only then rewrite it in place ([`four_to_six`], [`six_to_four`],
//! [`four_to_four`], `six_to_six`, and [`quoted`] for ICMP errors). A packet that is refused is therefore unchanged, and
//! another engine can take it.

pub mod error;
pub mod four_to_four;
pub mod four_to_six;
mod headers_v4;
mod headers_v6;
pub mod hop;
pub mod mss;
pub mod mtu;
mod outgoing_v4;
pub mod quoted;
pub mod quoted_v4;
pub mod six_to_four;
mod six_to_six;

use crate::address::{Address, V4, V6};
use crate::checksum::{Change, Delta, Field, Sum};
use crate::host::Host;
use crate::mechanism::Seen;
use crate::mechanism::crossing::Translator;
use crate::packet::{Packet, Truncated};
use crate::verdict::Refusal;
use crate::wire::content::Content;
use crate::wire::transport::Transport;
use crate::wire::tuple::Tuple;
use crate::wire::{icmp, tcp, udp};
use crate::word::Word;

/// Whether a translation is a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// The packet is forwarded: TTL or hop limit goes down by one.
    Forward,
    /// The second half of a hairpin: it went down in the first half (RFC 7757 section 4.2.2).
    Hairpin,
}

impl Hop {
    /// Decrements a hop limit that is known to be at least 2, or leaves it.
    #[inline(always)]
    fn apply(self, hop_limit: &mut u8) {
        if self == Self::Forward {
            *hop_limit = hop_limit.wrapping_sub(1);
        }
    }

    /// Maps an IPv4 packet that is forwarded, or turns back.
    #[inline(always)]
    fn map<H: Host, M: Translator>(
        self,
        host: &mut H,
        mechanism: &M,
        seen: Seen<'_, V4>,
    ) -> Result<Tuple<V6>, Refusal> {
        match self {
            Self::Forward => mechanism.to_v6(host, seen),
            Self::Hairpin => mechanism.turn_back(host, seen),
        }
    }
}

/// Adjusts the checksum of the transport header that begins `at` bytes into the packet. Each direction has
/// one call of it, so that it is inlined: a call is expensive in a BPF program.
#[inline(always)]
fn patch_transport<P: Packet>(
    packet: &mut P,
    at: usize,
    content: Content,
    change: Change,
) -> Result<(), Truncated> {
    let field = match content {
        Content::Tcp => Field::plain(at + tcp::CHECKSUM),
        Content::Udp => Field::udp(at + udp::CHECKSUM),
        _ => Field::plain(at + icmp::CHECKSUM),
    };
    packet.patch_checksum(field, change)
}

/// The change of the pseudo-header of TCP and UDP: the addresses; length and protocol are the same (RFC 8200
/// section 8.1, RFC 9293 section 3.1).
#[inline(always)]
fn pseudo_header<A: Address, B: Address>(old: &Tuple<A>, new: &Tuple<B>) -> Delta {
    new.address_sum() - old.address_sum()
}

/// Writes the ports of a TCP or UDP header, where they changed.
#[inline(always)]
fn set_ports<P: Packet, A>(
    packet: &mut P,
    at: usize,
    old: Word,
    new: &Tuple<A>,
) -> Result<Delta, Truncated> {
    let word = Word::from_halves(new.source_port, new.destination_port);
    if word == old {
        return Ok(Delta::NONE);
    }
    packet.set_words(at, [word])?;
    Ok(Sum::ZERO.word(word) - Sum::ZERO.word(old))
}

/// The identifier of a translated echo message: it stands for both ports, of which a mapping
/// changes one at most.
#[inline(always)]
fn changed_identifier<A>(transport: &Transport, new: &Tuple<A>) -> u16 {
    if new.source_port == transport.source_port {
        new.destination_port
    } else {
        new.source_port
    }
}

/// Decides which zero the checksum of an ICMPv4 message is, where its header is zero otherwise. An update
/// does not tell them apart (RFC 1624 section 3), and for a message of zeros only 0xffff is right; for any
/// other message that adds up to zero it is as good as 0.
#[inline(always)]
fn settle_zero<P: Packet>(packet: &mut P, at: usize) -> Result<(), Truncated> {
    let [first, second] = packet.words::<2>(at)?;
    if first.0 | second.0 == 0 {
        packet.set_words(at, [Word::from_halves(0, 0xffff)])?;
    }
    Ok(())
}

/// Writes type and identifier of an echo message, and returns the change of the data that its checksum
/// covers.
#[inline(always)]
fn set_echo<P: Packet>(
    packet: &mut P,
    at: usize,
    message: u8,
    old: Word,
    identifier: u16,
) -> Result<Delta, Truncated> {
    let [first, second] = packet.words::<2>(at)?;
    let [_, code, high, low] = first.bytes();
    let new_first = Word::from_bytes([message, code, high, low]);
    let new_second = Word::from_halves(identifier, second.low());
    packet.set_words(at, [new_first, new_second])?;
    // The checksum itself is in both sums and cancels.
    Ok(Sum::ZERO.word(new_first).word(new_second) - Sum::ZERO.word(old).word(second))
}
