//! Builds the ICMP errors that the gateway itself sends: RFC 792 and RFC 1812 section 4.3 for
//! IPv4, RFC 4443 for IPv6.

use super::leading_words;
use crate::address::{V4, V6};
use crate::checksum::Sum;
use crate::policy::Policy;
use crate::verdict::IcmpError;
use crate::wire::ipv4::{self, Fragment};
use crate::wire::{icmp, ipv6, protocol};
use crate::word::Word;

/// The longest ICMPv4 error (RFC 1812 section 4.3.2.3).
pub const LONGEST_V4: usize = 576;
/// The longest ICMPv6 error: the minimum MTU (RFC 4443 section 2.4 (c)).
pub const LONGEST_V6: usize = ipv6::MINIMUM_MTU as usize;

/// TTL or hop limit of the errors (RFC 1812 section 4.3.2.2 leaves the choice to us).
const TTL: u8 = 64;
/// Precedence 6, Internetwork Control (RFC 1812 section 4.3.2.5).
const INTERNETWORK_CONTROL: u8 = 0xc0;
/// The bits of the TOS octet that an error repeats: neither precedence nor ECN.
const TOS_BITS: u8 = 0x1c;

/// Writes the error about `original` into `buffer` and returns its length.
///
/// `original` is the packet as it came, or as much of it as another error quoted. The result is `None`
/// where no error may be sent (RFC 1812 section 4.3.2.7, RFC 4443 section 2.4 (e)), where this error does
/// not exist in the family of the packet, and where the policy has no address to send it from. `buffer`
/// must have room for [`LONGEST_V6`] bytes; a shorter one gives `None` as well.
pub fn build(
    original: &[u8],
    error: IcmpError,
    policy: &Policy,
    buffer: &mut [u8],
) -> Option<usize> {
    match original.first()? >> 4 {
        4 => build_v4(original, error, policy.own_v4, buffer),
        6 => build_v6(original, error, policy.own_v6, buffer),
        _ => None,
    }
}

fn build_v4(original: &[u8], error: IcmpError, source: V4, buffer: &mut [u8]) -> Option<usize> {
    let header = ipv4::Header(leading_words(original)?);
    let (kind, code, rest) = v4_message(error, header.protocol())?;
    if !may_answer_v4(original, &header) || source == V4::default() {
        return None;
    }
    let most = usize::from(header.total_length()).min(LONGEST_V4 - ipv4::HEADER - icmp::HEADER);
    let quote = &original[..original.len().min(most)];
    let length = ipv4::HEADER + icmp::HEADER + quote.len();
    let outer = ipv4::Header::from(ipv4::Fields {
        tos: INTERNETWORK_CONTROL | (header.tos() & TOS_BITS),
        total_length: length as u16,
        // Never cut, so the identification says nothing (RFC 6864 section 4.1).
        identification: 0,
        dont_fragment: true,
        fragment: Fragment::WHOLE,
        ttl: TTL,
        protocol: protocol::ICMP,
        source,
        destination: header.source(),
    });
    write(buffer, &outer.0, [kind, code], rest, quote, Sum::ZERO)
}

fn build_v6(original: &[u8], error: IcmpError, source: V6, buffer: &mut [u8]) -> Option<usize> {
    let header = ipv6::Header(leading_words(original)?);
    let (kind, code, rest) = v6_message(error)?;
    if !may_answer_v6(original, &header) || source == V6::default() {
        return None;
    }
    let total = ipv6::HEADER + usize::from(header.payload_length());
    let most = total.min(LONGEST_V6 - ipv6::HEADER - icmp::HEADER);
    let quote = &original[..original.len().min(most)];
    let payload_length = (icmp::HEADER + quote.len()) as u16;
    let outer = ipv6::Header::from(ipv6::Fields {
        traffic_class: 0,
        payload_length,
        next_header: protocol::ICMPV6,
        hop_limit: TTL,
        source,
        destination: header.source(),
    });
    // RFC 8200 section 8.1.
    let pseudo = Sum::ZERO
        .words(&source.0)
        .words(&header.source().0)
        .number(payload_length)
        .number(u16::from(protocol::ICMPV6));
    write(buffer, &outer.0, [kind, code], rest, quote, pseudo)
}

/// Puts the parts of the error together; `pseudo` enters its checksum.
fn write(
    buffer: &mut [u8],
    outer: &[Word],
    kind_and_code: [u8; 2],
    rest: u32,
    quote: &[u8],
    pseudo: Sum,
) -> Option<usize> {
    let length = outer.len() * 4 + icmp::HEADER + quote.len();
    let (header, message) = buffer.get_mut(..length)?.split_at_mut(outer.len() * 4);
    for (bytes, word) in header.chunks_exact_mut(4).zip(outer) {
        bytes.copy_from_slice(&word.bytes());
    }
    message[..2].copy_from_slice(&kind_and_code);
    message[2..4].fill(0);
    message[4..8].copy_from_slice(&rest.to_be_bytes());
    message[8..].copy_from_slice(quote);
    let checksum = (Sum::ZERO.bytes(message) + pseudo).checksum();
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    Some(length)
}

/// Type, code and second word in ICMPv4 (RFC 792, RFC 1191 section 4, RFC 1812 section 5.2.7.1).
const fn v4_message(error: IcmpError, about: u8) -> Option<(u8, u8, u32)> {
    const UNREACHABLE: u8 = 3;
    Some(match error {
        IcmpError::TimeExceeded => (11, 0, 0),
        IcmpError::TooBig(mtu) => (UNREACHABLE, 4, mtu as u32),
        IcmpError::SourceRouteFailed => (UNREACHABLE, 5, 0),
        IcmpError::Prohibited => (UNREACHABLE, 13, 0),
        IcmpError::AddressUnreachable => (UNREACHABLE, 1, 0),
        // A protocol without ports: Protocol Unreachable (RFC 6146 section 3.4).
        IcmpError::PortUnreachable => match about {
            protocol::TCP | protocol::UDP => (UNREACHABLE, 3, 0),
            _ => (UNREACHABLE, 2, 0),
        },
        IcmpError::ParameterProblem(_) | IcmpError::SourcePolicy => return None,
    })
}

/// Type, code and second word in ICMPv6 (RFC 4443 section 3).
const fn v6_message(error: IcmpError) -> Option<(u8, u8, u32)> {
    const UNREACHABLE: u8 = 1;
    Some(match error {
        IcmpError::TimeExceeded => (3, 0, 0),
        IcmpError::TooBig(mtu) => (2, 0, mtu as u32),
        IcmpError::ParameterProblem(offset) => (4, 0, offset),
        IcmpError::Prohibited => (UNREACHABLE, 1, 0),
        IcmpError::AddressUnreachable => (UNREACHABLE, 3, 0),
        IcmpError::PortUnreachable => (UNREACHABLE, 4, 0),
        IcmpError::SourcePolicy => (UNREACHABLE, 5, 0),
        IcmpError::SourceRouteFailed => return None,
    })
}

/// RFC 1812 section 4.3.2.7.
fn may_answer_v4(original: &[u8], header: &ipv4::Header) -> bool {
    // Network zero, loopback, multicast, class E with the limited broadcast.
    let no_host = |address: V4| matches!(address.number() >> 24, 0 | 127 | 224..);
    header.fragment().offset == 0
        && !no_host(header.source())
        && !matches!(header.destination().number() >> 24, 0 | 224..)
        && (header.protocol() != protocol::ICMP
            || original
                .get(header.header_length())
                .is_some_and(|kind| is_icmp_query(*kind)))
}

/// The ICMPv4 types that are no errors (IANA). An unknown type may be one, so it counts as one.
const fn is_icmp_query(kind: u8) -> bool {
    matches!(kind, 0 | 8 | 9 | 10 | 13..=18 | 42 | 43)
}

/// RFC 4443 section 2.4 (e).
fn may_answer_v6(original: &[u8], header: &ipv6::Header) -> bool {
    let is_multicast = |address: V6| address.0[0].bytes()[0] == 0xff;
    let is_loopback_or_unspecified = matches!(header.source().halves(), (0, 0 | 1));
    !is_multicast(header.source())
        && !is_multicast(header.destination())
        && !is_loopback_or_unspecified
        && !may_be_icmpv6_error(original, header.next_header())
}

/// Whether the packet is an ICMPv6 error or redirect, or may be one for all that it shows.
fn may_be_icmpv6_error(original: &[u8], mut next_header: u8) -> bool {
    const REDIRECT: u8 = 137;
    let mut at = ipv6::HEADER;
    while matches!(
        next_header,
        protocol::ICMPV6
            | protocol::HOP_BY_HOP
            | protocol::ROUTING
            | protocol::DESTINATION_OPTIONS
            | protocol::FRAGMENT
    ) {
        let Some([next, length, offset_high, offset_low]) =
            original.get(at..).and_then(<[u8]>::first_chunk).copied()
        else {
            return true;
        };
        match next_header {
            protocol::ICMPV6 => return next < 128 || next == REDIRECT,
            protocol::FRAGMENT => {
                // The type of an ICMPv6 message is in its first fragment only.
                if u16::from_be_bytes([offset_high, offset_low]) >> 3 != 0 {
                    return next == protocol::ICMPV6;
                }
                at += ipv6::FRAGMENT_HEADER;
            }
            _ => at += 8 + usize::from(length) * 8,
        }
        next_header = next;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{ServiceClass, ZeroUdpChecksum};
    use core::net::{Ipv4Addr, Ipv6Addr};
    use etherparse::{
        Icmpv4Slice, Icmpv4Type, Icmpv6Slice, Icmpv6Type, IpNumber, Ipv4HeaderSlice, Ipv6Header,
        PacketBuilder,
    };
    use std::vec::Vec;

    const OWN_V4: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
    const OWN_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
    const HOST_V4: [u8; 4] = [192, 0, 2, 1];
    const HOST_V6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];

    fn policy() -> Policy {
        Policy {
            traffic_class: ServiceClass::Copy,
            tos: ServiceClass::Copy,
            lowest_ipv6_mtu: 1280,
            ipv4_mtu: 1500,
            ipv6_mtu: 1500,
            zero_udp_checksum: ZeroUdpChecksum::Compute,
            allow_non_global: false,
            mss_clamp: false,
            icmp_pool: (Ipv4Addr::new(192, 0, 0, 8).into(), 1),
            own_v4: OWN_V4.into(),
            own_v6: OWN_V6.into(),
            icmp_errors: 1000,
            customer_prefix: 64,
            alg: crate::policy::Alg::default(),
        }
    }

    fn answer(original: &[u8], error: IcmpError) -> Option<Vec<u8>> {
        // A dirty buffer: a byte that is not written shows.
        let mut buffer = [0xaa; LONGEST_V6];
        let length = build(original, error, &policy(), &mut buffer)?;
        Some(buffer[..length].to_vec())
    }

    fn udp_v4(length: usize) -> Vec<u8> {
        let mut packet = Vec::new();
        PacketBuilder::ipv4(HOST_V4, [198, 51, 100, 9], 1)
            .udp(4000, 53)
            .write(&mut packet, &std::vec![5; length])
            .unwrap();
        packet
    }

    fn udp_v6(length: usize) -> Vec<u8> {
        let mut packet = Vec::new();
        PacketBuilder::ipv6(HOST_V6, [0x30; 16], 1)
            .udp(4000, 53)
            .write(&mut packet, &std::vec![5; length])
            .unwrap();
        packet
    }

    fn with(mut packet: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
        packet[at..at + bytes.len()].copy_from_slice(bytes);
        packet
    }

    /// The referee's reading of an ICMPv4 error, checksums checked.
    fn read_v4(error: &[u8]) -> (Icmpv4Type, Vec<u8>) {
        let header = Ipv4HeaderSlice::from_slice(error).unwrap();
        assert_eq!(usize::from(header.total_len()), error.len());
        assert_eq!(
            header.header_checksum(),
            header.to_header().calc_header_checksum()
        );
        assert_eq!(header.source_addr(), OWN_V4);
        assert_eq!(header.destination(), HOST_V4);
        assert_eq!(header.ttl(), 64);
        assert_eq!(header.protocol(), IpNumber::ICMP);
        let icmp = Icmpv4Slice::from_slice(&error[20..]).unwrap();
        let computed = icmp.icmp_type().calc_checksum(icmp.payload());
        assert_eq!(icmp.checksum(), computed);
        (icmp.icmp_type(), icmp.payload().to_vec())
    }

    /// The referee's reading of an ICMPv6 error, checksum checked.
    fn read_v6(error: &[u8]) -> (Icmpv6Type, Vec<u8>) {
        let (header, rest) = Ipv6Header::from_slice(error).unwrap();
        assert_eq!(usize::from(header.payload_length), rest.len());
        assert_eq!(header.source_addr(), OWN_V6);
        assert_eq!(header.destination, HOST_V6);
        assert_eq!(header.hop_limit, 64);
        assert_eq!(header.next_header, IpNumber::IPV6_ICMP);
        let icmp = Icmpv6Slice::from_slice(rest).unwrap();
        assert!(icmp.is_checksum_valid(header.source, header.destination));
        (icmp.icmp_type(), icmp.payload().to_vec())
    }

    #[test]
    fn rfc792_rfc1812_messages() {
        use etherparse::icmpv4::DestUnreachableHeader as Unreachable;
        use etherparse::icmpv4::TimeExceededCode;
        let packet = udp_v4(100);
        #[rustfmt::skip]
        let kinds = [
            (IcmpError::TimeExceeded, Icmpv4Type::TimeExceeded(TimeExceededCode::TtlExceededInTransit)),
            (IcmpError::TooBig(1260),
             Icmpv4Type::DestinationUnreachable(Unreachable::FragmentationNeeded { next_hop_mtu: 1260 })),
            (IcmpError::SourceRouteFailed,
             Icmpv4Type::DestinationUnreachable(Unreachable::SourceRouteFailed)),
            (IcmpError::Prohibited, Icmpv4Type::DestinationUnreachable(Unreachable::FilterProhibited)),
            (IcmpError::AddressUnreachable, Icmpv4Type::DestinationUnreachable(Unreachable::Host)),
            (IcmpError::PortUnreachable, Icmpv4Type::DestinationUnreachable(Unreachable::Port)),
        ];
        for (error, kind) in kinds {
            assert_eq!(
                read_v4(&answer(&packet, error).unwrap()),
                (kind, packet.clone())
            );
        }
        assert_eq!(answer(&packet, IcmpError::ParameterProblem(0)), None);
    }

    #[test]
    fn rfc4443_messages() {
        use etherparse::icmpv6::DestUnreachableCode as Code;
        use etherparse::icmpv6::{ParameterProblemCode, ParameterProblemHeader, TimeExceededCode};
        let packet = udp_v6(100);
        let problem = ParameterProblemHeader {
            code: ParameterProblemCode::ErroneousHeaderField,
            pointer: 43,
        };
        #[rustfmt::skip]
        let kinds = [
            (IcmpError::TimeExceeded, Icmpv6Type::TimeExceeded(TimeExceededCode::HopLimitExceeded)),
            (IcmpError::TooBig(1280), Icmpv6Type::PacketTooBig { mtu: 1280 }),
            (IcmpError::ParameterProblem(43), Icmpv6Type::ParameterProblem(problem)),
            (IcmpError::Prohibited, Icmpv6Type::DestinationUnreachable(Code::Prohibited)),
            (IcmpError::AddressUnreachable, Icmpv6Type::DestinationUnreachable(Code::Address)),
            (IcmpError::PortUnreachable, Icmpv6Type::DestinationUnreachable(Code::Port)),
        ];
        for (error, kind) in kinds {
            assert_eq!(
                read_v6(&answer(&packet, error).unwrap()),
                (kind, packet.clone())
            );
        }
        assert_eq!(answer(&packet, IcmpError::SourceRouteFailed), None);
    }

    #[test]
    fn rfc6146_3_4_a_protocol_without_ports_is_unreachable() {
        use etherparse::icmpv4::DestUnreachableHeader as Unreachable;
        let gre = with(udp_v4(20), 9, &[47]);
        let (kind, _) = read_v4(&answer(&gre, IcmpError::PortUnreachable).unwrap());
        assert_eq!(
            kind,
            Icmpv4Type::DestinationUnreachable(Unreachable::Protocol)
        );
    }

    #[test]
    fn quotes_as_much_as_fits() {
        let packet = udp_v4(1400);
        let error = answer(&packet, IcmpError::TimeExceeded).unwrap();
        assert_eq!(error.len(), 576);
        assert_eq!(read_v4(&error).1, packet[..548]);
        let packet = udp_v6(1400);
        let error = answer(&packet, IcmpError::TimeExceeded).unwrap();
        assert_eq!(error.len(), 1280);
        assert_eq!(read_v6(&error).1, packet[..1232]);
    }

    #[test]
    fn link_layer_padding_is_not_quoted() {
        let mut packet = udp_v4(10);
        let length = packet.len();
        packet.extend_from_slice(&[0; 8]);
        let error = answer(&packet, IcmpError::TimeExceeded).unwrap();
        assert_eq!(read_v4(&error).1, packet[..length]);
    }

    #[test]
    fn rfc1812_4_3_2_5_precedence_and_tos() {
        let packet = with(udp_v4(10), 1, &[0b0010_1111]);
        let error = answer(&packet, IcmpError::TimeExceeded).unwrap();
        assert_eq!(error[1], 0b1100_1100);
    }

    #[test]
    fn rfc1812_4_3_2_7_silence() {
        let time_exceeded = |packet: Vec<u8>| answer(&packet, IcmpError::TimeExceeded).is_some();
        assert!(time_exceeded(udp_v4(10)));
        for source in [[0, 1, 2, 3], [127, 0, 0, 1], [224, 0, 0, 1], [255; 4]] {
            assert!(!time_exceeded(with(udp_v4(10), 12, &source)), "{source:?}");
        }
        for destination in [[239, 0, 0, 1], [255; 4]] {
            assert!(!time_exceeded(with(udp_v4(10), 16, &destination)));
        }
        assert!(time_exceeded(with(udp_v4(10), 6, &[0x20, 0])));
        assert!(!time_exceeded(with(udp_v4(10), 6, &[0, 1])));
        for (kind, answered) in [(3, false), (5, false), (11, false), (12, false), (8, true)] {
            let packet = with(with(udp_v4(10), 9, &[1]), 20, &[kind]);
            assert_eq!(time_exceeded(packet), answered, "type {kind}");
        }
    }

    #[test]
    fn rfc4443_2_4_e_silence() {
        let time_exceeded = |packet: Vec<u8>| answer(&packet, IcmpError::TimeExceeded).is_some();
        let loopback = Ipv6Addr::LOCALHOST.octets();
        let multicast: Ipv6Addr = "ff02::1".parse().unwrap();
        for source in [[0; 16], loopback, multicast.octets()] {
            assert!(!time_exceeded(with(udp_v6(10), 8, &source)), "{source:?}");
        }
        assert!(!time_exceeded(with(udp_v6(10), 24, &multicast.octets())));
        for (kind, answered) in [
            (1, false),
            (3, false),
            (127, false),
            (128, true),
            (137, false),
        ] {
            let packet = with(with(udp_v6(16), 6, &[58]), 40, &[kind]);
            assert_eq!(time_exceeded(packet), answered, "type {kind}");
            // Behind destination options, and in a first fragment.
            let options = with(udp_v6(16), 6, &[60]);
            let options = with(with(options, 40, &[58, 0]), 48, &[kind]);
            assert_eq!(time_exceeded(options), answered, "type {kind}");
            let first = with(udp_v6(16), 6, &[44]);
            let first = with(with(first, 40, &[58, 0, 0, 1]), 48, &[kind]);
            assert_eq!(time_exceeded(first), answered, "type {kind}");
        }
        // A later fragment of an ICMPv6 message may be that of an error; one of UDP is not.
        let later = with(udp_v6(16), 6, &[44]);
        assert!(!time_exceeded(with(later.clone(), 40, &[58, 0, 0, 8])));
        assert!(time_exceeded(with(later.clone(), 40, &[17, 0, 0, 8])));
        // Its content is no ICMPv6 header, although it looks like that of an echo request.
        let content = with(with(later.clone(), 40, &[58, 0, 0, 8]), 48, &[128]);
        assert!(!time_exceeded(content));
        // The reserved octet of a Fragment header is no length (RFC 8200 section 4.5).
        let reserved = with(with(later, 40, &[58, 1, 0, 1]), 48, &[1]);
        assert!(!time_exceeded(reserved));
    }

    #[test]
    fn no_address_no_error() {
        let mut policy = policy();
        policy.own_v4 = V4::default();
        policy.own_v6 = V6::default();
        let mut buffer = [0; LONGEST_V6];
        for packet in [udp_v4(10), udp_v6(10)] {
            let error = build(&packet, IcmpError::TimeExceeded, &policy, &mut buffer);
            assert_eq!(error, None);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_safe(packet in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = answer(&packet, IcmpError::TimeExceeded);
        }
    }
}
