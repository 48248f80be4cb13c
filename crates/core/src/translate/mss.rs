//! Lowers the maximum segment size that a TCP SYN or SYN-ACK announces to what fits the links on both
//! sides, for hosts without working path MTU discovery (RFC 9293 section 3.7.1).
//!
//! The option says how long the segments may be that its sender receives. They cross both links, so
//! the smaller one counts, each less its IP and TCP headers without options (RFC 9293 section
//! 3.7.1). The first MSS option is lowered; it is never raised, and none is added.

use crate::wire::content::Content;
use crate::wire::transport::Transport;
use crate::wire::{ipv4, ipv6, tcp};
use core::hint::black_box;

use crate::checksum::{Delta, Sum};
use crate::packet::{Packet, Truncated};
use crate::policy::Policy;
use crate::verdict::{Refusal, Slow};
use crate::word::Word;

/// The SYN flag (RFC 9293 section 3.1).
const SYN: u8 = 0x02;
/// Kind and length of the option (RFC 9293 section 3.2).
const OPTION: [u8; 2] = [2, 4];

/// Where in a TCP header the value of its first MSS option lies; 0 if there is nothing to lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(usize);

impl Place {
    /// There is nothing to lower.
    pub const NOWHERE: Self = Self(0);
}

/// The largest segment between links of these MTUs.
#[inline(always)]
#[must_use]
pub const fn between(ipv4_mtu: u16, ipv6_mtu: u16) -> u16 {
    let of_v4 = ipv4_mtu as u32 + (ipv6::HEADER - ipv4::HEADER) as u32;
    let of_v6 = ipv6_mtu as u32;
    let mtu = if of_v4 < of_v6 { of_v4 } else { of_v6 };
    mtu.saturating_sub((ipv6::HEADER + tcp::HEADER) as u32) as u16
}

/// The largest segment between two IPv4 links of these MTUs.
#[inline(always)]
#[must_use]
pub const fn within_v4(one: u16, other: u16) -> u16 {
    let mtu = if one < other { one } else { other };
    mtu.saturating_sub((ipv4::HEADER + tcp::HEADER) as u16)
}

/// The only place that an engine looks at which does not have all bytes in reach: the first option, which it is in the
/// segments of nearly all systems. A search would be too much for the verifier of BPF beside everything else.
const FIRST: usize = tcp::HEADER + OPTION.len();

/// Looks for the option.
///
/// # Errors
/// [`Slow::TcpOptions`]: it is not the first, and this engine looks no further.
#[inline(always)]
pub fn find<P: Packet>(
    packet: &P,
    policy: &Policy,
    transport: &Transport,
) -> Result<Place, Refusal> {
    let Some(bytes) = packet.bytes() else {
        return first(packet, policy, transport);
    };
    let header = usize::from(transport.header);
    let opens = transport.content == Content::Tcp && transport.tcp_flags & SYN != 0;
    if !policy.mss_clamp || !opens || header <= tcp::HEADER || header > transport.length {
        return Ok(Place::NOWHERE);
    }
    let at = transport.at + tcp::HEADER;
    let options = bytes.get(at..transport.at + header);
    let value = options.and_then(search);
    Ok(value.map_or(Place::NOWHERE, |value| Place(tcp::HEADER + value)))
}

/// Looks at the first option. All is one number and one condition, because each value that the verifier knows would double its
/// work.
#[inline(always)]
fn first<P: Packet>(packet: &P, policy: &Policy, transport: &Transport) -> Result<Place, Refusal> {
    let opens = black_box(u32::from(policy.mss_clamp)) * u32::from(transport.tcp_flags & SYN);
    if !P::ABILITIES.all() {
        return if opens == 0 {
            Ok(Place::NOWHERE)
        } else {
            Err(Refusal::Slow(Slow::TcpOptions))
        };
    }
    let place = black_box(opens as usize / usize::from(SYN) * FIRST);
    if opens != 0 {
        let header = usize::from(transport.header);
        let option = packet.words::<1>(transport.at + tcp::HEADER);
        let found = option.is_ok_and(|[word]| word.bytes()[..2] == OPTION);
        if !found || header < FIRST + 2 || header > transport.length {
            return Err(Refusal::Slow(Slow::TcpOptions));
        }
    }
    Ok(Place(place))
}

/// The offset of the value of the first MSS option; `None` also if an option before it is malformed.
fn search(options: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match *options.get(at..)? {
            // RFC 9293 section 3.2: end of option list, no operation.
            [] | [0, ..] => return None,
            [1, ..] => at += 1,
            [kind, length, _, _, ..] if [kind, length] == OPTION => return Some(at + 2),
            [kind, length, ..] if length >= 2 && kind != OPTION[0] => at += usize::from(length),
            _ => return None,
        }
    }
}

/// Writes `most` over the option if that is less, in the TCP header that begins `at` bytes into the
/// packet. Returns the change of the data that the checksum covers.
#[inline(always)]
pub fn lower<P: Packet>(
    packet: &mut P,
    at: usize,
    place: Place,
    most: u16,
) -> Result<Delta, Truncated> {
    let Place(value) = place;
    if value == 0 {
        return Ok(Delta::NONE);
    }
    let value = if packet.bytes().is_some() {
        value
    } else {
        FIRST
    };
    // A word that begins at an even offset, because the checksum is over pairs of bytes. The byte before
    // the value is of the same option, and the byte behind an odd one is of the header.
    let start = at
        + if value.is_multiple_of(2) {
            value - 2
        } else {
            value - 1
        };
    let [old] = packet.words::<1>(start)?;
    let [a, b, c, d] = old.bytes();
    let [high, low] = most.to_be_bytes();
    let (current, new) = if value.is_multiple_of(2) {
        (old.low(), Word::from_bytes([a, b, high, low]))
    } else {
        (
            u16::from_be_bytes([b, c]),
            Word::from_bytes([a, high, low, d]),
        )
    };
    if current <= most {
        return Ok(Delta::NONE);
    }
    packet.set_words(start, [new])?;
    Ok(Sum::ZERO.word(new) - Sum::ZERO.word(old))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{V4, V6};
    use crate::checksum::{Change, Field};
    use crate::policy::{ServiceClass, ZeroUdpChecksum};
    use crate::testing::{Bytes, Words};
    use crate::wire::content::Messages;
    use crate::wire::protocol;
    use crate::wire::transport::Extent;
    use etherparse::{TcpHeaderSlice, TcpOptionElement};
    use proptest::prelude::*;
    use std::vec::Vec;

    const HOSTS: ([u8; 4], [u8; 4]) = ([192, 0, 2, 1], [198, 51, 100, 2]);

    /// A segment with these options, which are filled up with zeros, and the right checksum.
    fn segment(flags: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut bytes = std::vec![0; tcp::HEADER];
        bytes[..4].copy_from_slice(&[0x9c, 0x40, 0, 80]);
        bytes[13] = flags;
        bytes.extend_from_slice(options);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes[12] = ((bytes.len() / 4) << 4) as u8;
        let header = TcpHeaderSlice::from_slice(&bytes).unwrap();
        let checksum = header.calc_checksum_ipv4_raw(HOSTS.0, HOSTS.1, payload);
        bytes[tcp::CHECKSUM..][..2].copy_from_slice(&checksum.unwrap().to_be_bytes());
        bytes.extend_from_slice(payload);
        bytes
    }

    fn policy() -> Policy {
        Policy {
            traffic_class: ServiceClass::Copy,
            tos: ServiceClass::Copy,
            lowest_ipv6_mtu: 1280,
            ipv4_mtu: 1500,
            ipv6_mtu: 1500,
            zero_udp_checksum: ZeroUdpChecksum::Compute,
            allow_non_global: false,
            mss_clamp: true,
            icmp_pool: (V4::default(), 1),
            own_v4: V4::default(),
            own_v6: V6::default(),
            icmp_errors: 1000,
            customer_prefix: 64,
            alg: crate::policy::Alg::default(),
        }
    }

    fn clamp(bytes: &[u8], most: u16) -> Vec<u8> {
        let mut packet = Bytes(bytes.to_vec());
        let length = bytes.len();
        let (messages, extent) = (Messages::V4, Extent::Whole);
        let transport = Transport::read(&packet, 0, length, protocol::TCP, messages, extent);
        let place = find(&packet, &policy(), &transport.unwrap()).unwrap();
        let change = lower(&mut packet, 0, place, most).unwrap();
        packet
            .patch_checksum(Field::plain(tcp::CHECKSUM), Change::of_content(change))
            .unwrap();
        packet.0
    }

    fn assert_checksum(bytes: &[u8]) {
        let header = TcpHeaderSlice::from_slice(bytes).unwrap();
        let payload = &bytes[header.slice().len()..];
        let right = header.calc_checksum_ipv4_raw(HOSTS.0, HOSTS.1, payload);
        // The two zeroes are the same to whoever verifies.
        assert_eq!(header.checksum() % 0xffff, right.unwrap() % 0xffff);
    }

    /// The referee's reading of the first MSS option.
    fn announced(bytes: &[u8]) -> Option<u16> {
        let header = TcpHeaderSlice::from_slice(bytes).unwrap();
        let mut options = header.options_iterator();
        options.find_map(|option| match option {
            Ok(TcpOptionElement::MaximumSegmentSize(size)) => Some(size),
            _ => None,
        })
    }

    #[test]
    fn rfc9293_3_7_1_both_links_count() {
        assert_eq!(between(1500, 1500), 1440);
        assert_eq!(between(1400, 1500), 1360);
        assert_eq!(between(68, 1280), 28);
        assert_eq!(between(20, 1500), 0);
        assert_eq!((within_v4(1500, 1492), within_v4(1400, 1500)), (1452, 1360));
    }

    #[test]
    fn lowered_wherever_it_lies() {
        let mss = [2, 4, 0x05, 0xb4];
        for padding in 0..8 {
            let options = [&[1; 8][..padding], &mss[..]].concat();
            let clamped = clamp(&segment(SYN, &options, b""), 1220);
            assert_eq!(announced(&clamped), Some(1220), "{padding}");
            assert_checksum(&clamped);
        }
    }

    #[test]
    fn left_alone() {
        let mss = [2, 4, 0x05, 0xb4];
        let cases: [(u8, &[u8], u16); 8] = [
            // Not greater.
            (SYN, &mss, 1460),
            // No SYN.
            (0x10, &mss, 1220),
            // Absent.
            (SYN, &[], 1220),
            (SYN, &[4, 2, 3, 3, 7], 1220),
            // Behind the end of the list, and behind an option that ends before it begins.
            (SYN, &[0, 2, 4, 0x05, 0xb4], 1220),
            (SYN, &[8, 1, 2, 4, 0x05, 0xb4], 1220),
            // Of another length, and cut short.
            (SYN, &[2, 6, 0x05, 0xb4, 0, 0], 1220),
            (SYN, &[1, 1, 2, 4], 1220),
        ];
        for (flags, options, most) in cases {
            let before = segment(flags, options, b"data");
            assert_eq!(clamp(&before, most), before, "{options:?}");
        }
    }

    fn options() -> impl Strategy<Value = Vec<u8>> {
        let sized = |kind: u8, length: usize| {
            prop::collection::vec(any::<u8>(), length)
                .prop_map(move |value| [&[kind, value.len() as u8 + 2], &value[..]].concat())
        };
        let one = prop_oneof![
            Just(std::vec![1]),
            sized(2, 2),
            sized(3, 1),
            sized(8, 8),
            prop::collection::vec(any::<u8>(), 1..6),
        ];
        prop::collection::vec(one, 0..6).prop_map(|all| {
            let mut options = all.concat();
            options.truncate(40);
            options
        })
    }

    proptest! {
        /// A program lowers the first option, as user space does, and leaves every other SYN to it.
        #[test]
        fn a_program_lowers_the_first_option(
            options in options(),
            flags in any::<u8>(),
            first in any::<bool>(),
            most in any::<u16>(),
        ) {
            let options = if first { [&[2, 4, 0x05, 0xb4], &options[..36.min(options.len())]].concat() } else { options };
            let bytes = segment(flags, &options, b"data");
            let mut packet = Words(Bytes(bytes.clone()), None);
            let (messages, extent) = (Messages::V4, Extent::Whole);
            let read = Transport::read(&packet, 0, bytes.len(), protocol::TCP, messages, extent).unwrap();
            match find(&packet, &policy(), &read) {
                Ok(place) => {
                    let change = lower(&mut packet, 0, place, most).unwrap();
                    let field = Field::plain(tcp::CHECKSUM);
                    packet.patch_checksum(field, Change::of_content(change)).unwrap();
                    prop_assert_eq!(packet.0.0, clamp(&bytes, most));
                }
                Err(refusal) => {
                    prop_assert_eq!(refusal, Refusal::Slow(Slow::TcpOptions));
                    prop_assert!(flags & SYN != 0 && !options.starts_with(&OPTION));
                }
            }
        }

        /// Whatever the options are: at most the two bytes of the first MSS option change, it is
        /// never raised, the checksum stays right, and a second time changes nothing.
        #[test]
        fn any_options(
            options in options(),
            payload in prop::collection::vec(any::<u8>(), 0..9),
            most in any::<u16>(),
        ) {
            let before = segment(SYN, &options, &payload);
            let after = clamp(&before, most);
            assert_checksum(&after);
            prop_assert_eq!(announced(&after), announced(&before).map(|size| size.min(most)));
            prop_assert_eq!(clamp(&after, most), after.clone());
            let differ = (0..before.len()).filter(|n| before[*n] != after[*n]);
            let outside: Vec<_> = differ.filter(|n| !(tcp::CHECKSUM..tcp::CHECKSUM + 2).contains(n)).collect();
            prop_assert!(outside.len() <= 2 && outside.last().unwrap_or(&0) - outside.first().unwrap_or(&0) <= 1);
        }
    }
}
