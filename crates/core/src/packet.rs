//! The packet of an engine: one IP packet, read and written in 32-bit words.
//!
//! The BPF verifier and the BPF instruction set handle words best: one bounds check and one load for four
//! bytes.

mod part;

use crate::checksum::{Change, ChecksumKind, Delta, Field, Sum};
use crate::word::Word;

pub use part::{Errors, Fragments, Hairpins, Plain};

/// The two families that Isthmus joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Internet Protocol, version 4.
    V4,
    /// Internet Protocol, version 6.
    V6,
}

/// A read or write past the end of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated;

/// The engine could not change the size of the front of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// The packets that a part of an engine takes. It refuses all others as they are, for another part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// All of them: with options or extension headers, fragments, and of any protocol.
    All,
    /// [`Plain`] ones alone.
    Plain,
    /// ICMP errors alone: [`Errors`].
    Errors,
    /// [`Fragments`] of TCP and UDP alone.
    Fragments,
    /// [Plain] [`Hairpins`] alone.
    Hairpins,
}

/// The work that an engine does itself. It hands all other packets on unchanged
/// ([`Slow`](crate::verdict::Slow)) to user space, which does everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// The packets that it takes.
    pub takes: Takes,
    /// Translates ICMP errors, of which the quoted packets change their size in the middle.
    pub icmp_errors: bool,
    /// Sends ICMP errors of its own.
    pub replies: bool,
    /// Answers messages of neighbour discovery.
    pub neighbours: bool,
    /// Translates fragments of datagrams whose ports it knows by their first one.
    pub fragments: bool,
    /// Holds fragments that come before the first of their datagram.
    pub holds: bool,
    /// Is not alone: another engine may get the first fragment of a datagram of which it holds others.
    pub beside_others: bool,
    /// Cuts packets that do not fit their link.
    pub splits: bool,
    /// Takes a packet across twice that goes from one inside host to another.
    pub hairpins: bool,
    /// The most IPv6 extension headers that it follows.
    pub extension_headers: usize,
    /// The furthest that it follows them into a packet, in octets.
    pub reach: usize,
    /// Takes destination options off a packet in a softwire (RFC 2473 section 4.1.1).
    pub softwire_options: bool,
    /// Has application level gateways, which rewrite payloads.
    pub application_gateways: bool,
}

impl Abilities {
    /// User space: all of it. A chain of more extension headers serves no purpose.
    pub const USER_SPACE: Self = Self {
        takes: Takes::All,
        icmp_errors: true,
        replies: true,
        neighbours: true,
        fragments: true,
        holds: true,
        beside_others: true,
        splits: true,
        hairpins: true,
        extension_headers: 32,
        reach: usize::MAX,
        softwire_options: true,
        application_gateways: true,
    };

    /// An engine that does all of it, and has no other beside it.
    pub const ALONE: Self = Self {
        beside_others: false,
        ..Self::USER_SPACE
    };

    /// A BPF program: the common packets.
    pub const BPF: Self = Self {
        takes: Takes::All,
        icmp_errors: false,
        replies: false,
        neighbours: false,
        fragments: false,
        holds: false,
        beside_others: true,
        splits: false,
        hairpins: false,
        extension_headers: 2,
        reach: 768,
        softwire_options: false,
        application_gateways: false,
    };

    /// The first half of a BPF program, for most packets.
    pub const PLAIN: Self = Self {
        takes: Takes::Plain,
        ..Self::BPF
    };

    /// The part of a BPF program that ICMP errors have for themselves.
    pub const ERRORS: Self = Self {
        takes: Takes::Errors,
        icmp_errors: true,
        ..Self::BPF
    };

    /// The part of a BPF program that fragments have for themselves.
    pub const FRAGMENTS: Self = Self {
        takes: Takes::Fragments,
        fragments: true,
        ..Self::BPF
    };

    /// The part of a BPF program that hairpins have for themselves.
    pub const HAIRPINS: Self = Self {
        takes: Takes::Hairpins,
        hairpins: true,
        ..Self::BPF
    };

    /// Whether all packets are taken.
    #[inline(always)]
    #[must_use]
    pub const fn all(&self) -> bool {
        matches!(self.takes, Takes::All)
    }

    /// Whether only ICMP errors are taken.
    #[inline(always)]
    #[must_use]
    pub const fn errors_only(&self) -> bool {
        matches!(self.takes, Takes::Errors)
    }

    /// Whether only fragments are taken.
    #[inline(always)]
    #[must_use]
    pub const fn fragments_only(&self) -> bool {
        matches!(self.takes, Takes::Fragments)
    }

    /// Whether only hairpins are taken.
    #[inline(always)]
    #[must_use]
    pub const fn hairpins_only(&self) -> bool {
        matches!(self.takes, Takes::Hairpins)
    }

    /// Whether ICMP messages are taken.
    #[inline(always)]
    #[must_use]
    pub const fn icmp(&self) -> bool {
        matches!(self.takes, Takes::All | Takes::Errors)
    }
}

/// One IP packet in the hands of an engine. Offset 0 is the first byte of the (outermost) IP header;
/// whatever lies before it (Ethernet, VLAN tags) belongs to the engine.
#[expect(
    clippy::len_without_is_empty,
    reason = "a packet has a header at least; nobody asks"
)]
pub trait Packet {
    /// The work that the engine of this packet does itself.
    const ABILITIES: Abilities;

    /// Bytes from the start of the IP header to the end of the buffer, link-layer padding
    /// included.
    fn len(&self) -> usize;

    /// `N` words that start `at` bytes into the packet.
    ///
    /// # Errors
    /// [`Truncated`] if `at + 4 * N` is past the end.
    fn words<const N: usize>(&self, at: usize) -> Result<[Word; N], Truncated>;

    /// Overwrites `N` words that start `at` bytes into the packet.
    ///
    /// # Errors
    /// [`Truncated`] if `at + 4 * N` is past the end; nothing is written then.
    fn set_words<const N: usize>(&mut self, at: usize, words: [Word; N]) -> Result<(), Truncated>;

    /// Replaces the word that starts `at` bytes into the packet.
    ///
    /// # Errors
    /// [`Truncated`] if `at + 4` is past the end; nothing is written then.
    #[inline(always)]
    fn change_word(
        &mut self,
        at: usize,
        change: impl FnOnce(Word) -> Word,
    ) -> Result<(), Truncated> {
        let [word] = self.words::<1>(at)?;
        self.set_words(at, [change(word)])
    }

    /// Replaces the first `remove` bytes by `insert` bytes of unspecified content, which the
    /// caller then writes in full. `family` is that of the header that the caller will write.
    ///
    /// # Errors
    /// [`NoRoom`]; the packet is unchanged then.
    fn replace_front(&mut self, remove: usize, insert: usize, family: Family)
    -> Result<(), NoRoom>;

    /// Adjusts a transport checksum.
    ///
    /// # Errors
    /// [`Truncated`] if the field is not in the packet.
    #[inline(always)]
    fn patch_checksum(&mut self, field: Field, change: Change) -> Result<(), Truncated> {
        patch_complete(self, field.at, field.kind, change.pseudo + change.content)
    }

    /// Payload bytes per segment if this is a super-packet that the hardware or the kernel will
    /// still cut into segments (GSO); `None` for an ordinary packet.
    fn gso_size(&self) -> Option<u16> {
        None
    }

    /// The sum of `length` bytes that start `at` bytes into the packet; `None` if the engine does not reach them all.
    fn sum(&self, at: usize, length: usize) -> Option<Sum> {
        let bytes = self.bytes()?.get(at..at + length)?;
        Some(Sum::ZERO.bytes(bytes))
    }

    /// The whole packet as bytes, where the engine has them in reach: user space does, a BPF program does
    /// not. A rule that needs them returns [`Slow`](crate::verdict::Slow) otherwise.
    fn bytes(&self) -> Option<&[u8]> {
        None
    }

    /// The same, to be written. `Some` if and only if [`bytes`](Self::bytes) is.
    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        None
    }

    /// Cuts the packet to the first `length` bytes, where [`bytes`](Self::bytes) are in reach. Elsewhere
    /// it does nothing.
    fn truncate(&mut self, length: usize) {
        let _ = length;
    }

    /// Identification of the datagram, if the packet was put together from fragments and may
    /// therefore be cut again, whatever DF says.
    fn reassembled(&self) -> Option<u32> {
        None
    }

    /// Whether an application level gateway has seen the packet.
    #[inline(always)]
    fn is_rewritten(&self) -> bool {
        false
    }
}

/// Adjusts a complete (not offloaded) checksum in place: RFC 1624 equation 3.
///
/// # Errors
/// [`Truncated`] if the field is not in the packet.
#[inline(always)]
pub fn patch_complete<P: Packet + ?Sized>(
    packet: &mut P,
    at: usize,
    kind: ChecksumKind,
    change: Delta,
) -> Result<(), Truncated> {
    // The field is the first or the last half of an aligned word in every transport header; we
    // read the word that begins at the field if there is one, else the one that ends with it.
    // UDP, TCP and ICMP checksums all are followed or preceded by two more header bytes.
    let (word_at, field_is_high) = if at.is_multiple_of(4) {
        (at, true)
    } else {
        (at - 2, false)
    };
    packet.change_word(word_at, |word| {
        let [a, b, c, d] = word.bytes();
        let applied = |old| {
            change
                .apply_memory(u16::from_ne_bytes(old), kind)
                .to_ne_bytes()
        };
        if field_is_high {
            let [a, b] = applied([a, b]);
            Word::from_bytes([a, b, c, d])
        } else {
            let [c, d] = applied([c, d]);
            Word::from_bytes([a, b, c, d])
        }
    })
}

/// Verifies the Internet checksum over `length` bytes that start `at` bytes into the packet, and over a
/// pseudo-header with this sum. Returns `None` if it is wrong, or if the engine does not have the bytes in
/// reach.
#[must_use]
pub fn verify_checksum<P: Packet>(packet: &P, at: usize, length: usize, pseudo: Sum) -> Option<()> {
    let sum = pseudo + packet.sum(at, length)?;
    (sum.fold() == 0xffff).then_some(())
}
