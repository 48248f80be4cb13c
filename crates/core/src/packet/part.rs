//! The packets of an engine's parts, each of which takes some packets only. The compiler leaves out of a part all that
//! the rest needs, and whatever it refuses is unchanged, so that another part can take it.

use super::{Abilities, Family, NoRoom, Packet, Truncated};
use crate::checksum::{Change, Field, Sum};
use crate::word::Word;

/// Defines a packet in the hands of a part with these abilities.
macro_rules! part {
    ($(#[$about:meta])+ $name:ident, $abilities:ident) => {
        $(#[$about])+
        #[derive(Debug)]
        pub struct $name<'a, P>(pub &'a mut P);

        impl<P: Packet> Packet for $name<'_, P> {
            const ABILITIES: Abilities = Abilities::$abilities;

            #[inline(always)]
            fn len(&self) -> usize {
                self.0.len()
            }

            #[inline(always)]
            fn words<const N: usize>(&self, at: usize) -> Result<[Word; N], Truncated> {
                self.0.words(at)
            }

            #[inline(always)]
            fn set_words<const N: usize>(
                &mut self,
                at: usize,
                words: [Word; N],
            ) -> Result<(), Truncated> {
                self.0.set_words(at, words)
            }

            #[inline(always)]
            fn change_word(
                &mut self,
                at: usize,
                change: impl FnOnce(Word) -> Word,
            ) -> Result<(), Truncated> {
                self.0.change_word(at, change)
            }

            #[inline(always)]
            fn replace_front(
                &mut self,
                remove: usize,
                insert: usize,
                family: Family,
            ) -> Result<(), NoRoom> {
                self.0.replace_front(remove, insert, family)
            }

            #[inline(always)]
            fn patch_checksum(&mut self, field: Field, change: Change) -> Result<(), Truncated> {
                self.0.patch_checksum(field, change)
            }

            #[inline(always)]
            fn gso_size(&self) -> Option<u16> {
                // Neither a fragment nor an ICMP message is a super-packet.
                if Self::ABILITIES.fragments_only() || Self::ABILITIES.errors_only() {
                    return None;
                }
                self.0.gso_size()
            }

            #[inline(always)]
            fn sum(&self, at: usize, length: usize) -> Option<Sum> {
                self.0.sum(at, length)
            }
        }
    };
}

part!(
    /// A packet in the hands of the first half of an engine: TCP or UDP with a checksum, whole, behind an IP header
    /// without options and without extension headers. Any other packet is refused as it is, whatever the reason, and
    /// the second half takes it.
    ///
    /// Most packets are plain, and a program that has no others in mind keeps little of them.
    Plain,
    PLAIN
);

part!(
    /// A packet in the hands of the part of an engine that takes ICMP errors alone: whole, behind an IP header without
    /// options and without extension headers, about a packet that has none either, is no fragment, and is of TCP, of UDP
    /// with a checksum, or an ICMP message. No bytes behind the quoted headers move or go: an error with an extension (RFC
    /// 4884), or one that becomes too large, is refused as any other packet is.
    ///
    /// Such a program holds two packets at the same time, the error and the one that it is about, and has no room for
    /// more.
    Errors,
    ERRORS
);

part!(
    /// A packet in the hands of the part of an engine that takes fragments alone: of TCP or of UDP with a checksum, behind
    /// an IPv4 header without options, or behind an IPv6 header and a fragment header and nothing else.
    Fragments,
    FRAGMENTS
);

part!(
    /// A packet in the hands of the part of an engine that takes hairpins alone: [plain](Plain), from one inside host to
    /// another. Both halves happen to it at once, in place: what refuses the second half leaves it as it came.
    Hairpins,
    HAIRPINS
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incoming::v6;
    use crate::testing::Bytes;
    use crate::verdict::{Refusal, Slow};
    use crate::wire::content::Content;
    use crate::wire::transport::Transport;
    use crate::wire::{icmpv6, ipv6, protocol};

    /// The transport header of an IPv6 packet of this protocol, whose first byte this is, in a part that takes errors.
    fn read(protocol: u8, first: u8) -> Result<Transport, Refusal> {
        let mut bytes = std::vec![0; ipv6::HEADER + 48];
        bytes[0] = 0x60;
        bytes[5] = 48;
        bytes[6] = protocol;
        bytes[8] = 0x20;
        bytes[ipv6::HEADER] = first;
        // A TCP header of 20 bytes; a UDP checksum.
        bytes[ipv6::HEADER + 12] = 0x50;
        bytes[ipv6::HEADER + 6] = 1;
        let mut packet = Bytes(bytes);
        let packet = Errors(&mut packet);
        let header = ipv6::Header::read(&packet, 0)?;
        v6::read(&packet, header).map(|incoming| incoming.transport)
    }

    #[test]
    fn errors_are_taken_and_nothing_else() {
        for message in icmpv6::UNREACHABLE..=icmpv6::PARAMETER_PROBLEM {
            let taken = read(protocol::ICMPV6, message).unwrap();
            assert_eq!(taken.content, Content::IcmpError, "{message}");
        }
        let others = [
            (protocol::ICMPV6, icmpv6::ECHO_REQUEST),
            (protocol::TCP, 0),
            (protocol::UDP, 0),
            (protocol::HOP_BY_HOP, protocol::ICMPV6),
            (protocol::FRAGMENT, protocol::ICMPV6),
            (47, 0),
        ];
        for (protocol, first) in others {
            let refused = read(protocol, first).err();
            let uncommon = Refusal::Slow(Slow::Uncommon);
            assert_eq!(refused, Some(uncommon), "{protocol}, {first}");
        }
    }
}
