//! A packet and addresses for the tests of several modules.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::vec::Vec;

use crate::address::{V4, V6};
use crate::packet::{Abilities, Family, NoRoom, Packet, Truncated};
use crate::word::Word;

/// The IPv4 address with this text.
pub(crate) fn v4(text: &str) -> V4 {
    text.parse::<Ipv4Addr>().unwrap().into()
}

/// The IPv6 address with this text.
pub(crate) fn v6(text: &str) -> V6 {
    text.parse::<Ipv6Addr>().unwrap().into()
}

/// Bytes as a packet whose front stays, in an engine with the abilities of a program, but that it sends ICMP errors.
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Packet for Bytes {
    const ABILITIES: Abilities = Abilities {
        replies: true,
        ..Abilities::BPF
    };

    fn len(&self) -> usize {
        self.0.len()
    }

    fn words<const N: usize>(&self, at: usize) -> Result<[Word; N], Truncated> {
        let bytes = self.0.get(at..).ok_or(Truncated)?;
        let words = bytes.as_chunks::<4>().0.first_chunk::<N>();
        Ok(words.ok_or(Truncated)?.map(Word::from_bytes))
    }

    fn set_words<const N: usize>(&mut self, at: usize, words: [Word; N]) -> Result<(), Truncated> {
        let bytes = self.0.get_mut(at..).ok_or(Truncated)?;
        let place = bytes.as_chunks_mut::<4>().0.first_chunk_mut::<N>();
        *place.ok_or(Truncated)? = words.map(Word::bytes);
        Ok(())
    }

    fn replace_front(&mut self, _: usize, _: usize, _: Family) -> Result<(), NoRoom> {
        Err(NoRoom)
    }

    fn bytes(&self) -> Option<&[u8]> {
        Some(&self.0)
    }
}

/// A packet whose bytes are out of reach, as for a BPF program: a super-packet if it has the payload of a segment.
pub(crate) struct Words(pub(crate) Bytes, pub(crate) Option<u16>);

impl Packet for Words {
    const ABILITIES: Abilities = Abilities::BPF;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn words<const N: usize>(&self, at: usize) -> Result<[Word; N], Truncated> {
        self.0.words(at)
    }

    fn set_words<const N: usize>(&mut self, at: usize, words: [Word; N]) -> Result<(), Truncated> {
        self.0.set_words(at, words)
    }

    fn replace_front(&mut self, _: usize, _: usize, _: Family) -> Result<(), NoRoom> {
        Err(NoRoom)
    }

    fn gso_size(&self) -> Option<u16> {
        self.1
    }
}
