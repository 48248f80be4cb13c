//! The cost of the steps of a translation, measured by running our own code on packets in memory.
//!
//! Paper 001 took the time inside a kernel and on a machine without one. Here a step is repeated some thousand times
//! between two readings of the clock, and the median of many such batches counts.

use std::{
    hint::black_box,
    net::{Ipv4Addr, Ipv6Addr},
    path::Path,
    time::Instant,
};

use isthmus_core::address::rfc6052::Prefix;
use isthmus_core::address::{V4, V6};
use isthmus_core::checksum::{Change, ChecksumKind, Delta, Field, Sum};
use isthmus_core::incoming::{v4, v6};
use isthmus_core::packet::Packet;
use isthmus_core::wire::content::Messages;
use isthmus_core::wire::{ipv4, ipv6};
use isthmus_engine::{
    buffer::{Buffer, HEADROOM},
    offline::Translator,
};
use isthmus_gateway::{capture, config};

use super::super::{journal::Journal, profile::Profile, subject::Subject};
use crate::{
    LabError, Result,
    figures::{results::Point, statistics::median},
    network::plan,
};

/// The repetitions between two readings of the clock.
const BATCH: u32 = 2000;
/// Octets of the packets' payload, so that an IPv4 packet with UDP has 1024.
const PAYLOAD: usize = 996;
/// The prefix lengths of RFC 6052 section 2.2.
const LENGTHS: [u8; 6] = [32, 40, 48, 56, 64, 96];

/// Returns the time of one execution of a step, in seconds: a sample of each batch.
fn samples(profile: Profile, mut step: impl FnMut()) -> Vec<f64> {
    let batches = profile.exchanges().clamp(100, 2000);
    let batch = |_| {
        let start = Instant::now();
        for _ in 0..BATCH {
            step();
        }
        start.elapsed().as_secs_f64() / f64::from(BATCH)
    };
    // The first batches warm caches and branch prediction.
    (0..batches + 10).map(batch).skip(10).collect()
}

/// A protocol above IP.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Tcp,
    Udp,
    Icmp,
}

impl Protocol {
    const ALL: [Self; 3] = [Self::Tcp, Self::Udp, Self::Icmp];

    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Icmp => "icmp",
        }
    }

    /// Returns its number in the header of a family.
    fn number(self, family: Family) -> u8 {
        match (self, family) {
            (Self::Tcp, _) => 6,
            (Self::Udp, _) => 17,
            (Self::Icmp, Family::Four) => 1,
            (Self::Icmp, Family::Six) => 58,
        }
    }

    /// Returns its header without checksum, the offset of the checksum, and its treatment of zero.
    fn header(self, family: Family) -> (Vec<u8>, usize, ChecksumKind) {
        match self {
            Self::Tcp => {
                let mut header = vec![0x04, 0xd2, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10];
                header.extend([0xff, 0xff, 0, 0, 0, 0]);
                (header, 16, ChecksumKind::Plain)
            }
            Self::Udp => {
                let length = (PAYLOAD as u16 + 8).to_be_bytes();
                (
                    vec![0x04, 0xd2, 0, 9, length[0], length[1], 0, 0],
                    6,
                    ChecksumKind::Udp,
                )
            }
            Self::Icmp => {
                let request = match family {
                    Family::Four => 8,
                    Family::Six => 128,
                };
                (vec![request, 0, 0, 0, 0, 1, 0, 1], 2, ChecksumKind::Plain)
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Four,
    Six,
}

/// The directions, by the family of the packets that come.
const WAYS: [(Family, &str); 2] = [(Family::Four, "4to6"), (Family::Six, "6to4")];

/// Returns both ends of the packets in IPv6, by prefix. In IPv4 they are the plan's.
fn ends(prefix: &Prefix) -> [Ipv6Addr; 2] {
    [plan::HOST6_AS_IPV4, plan::HOST4].map(|address| Ipv6Addr::from(prefix.embed(address.into())))
}

/// Returns a packet of 1016 or 1024 octets over IPv4, and 20 more over IPv6, with right checksums.
fn packet(protocol: Protocol, family: Family, prefix: &Prefix) -> Vec<u8> {
    let (transport, checksum, _) = protocol.header(family);
    let length = transport.len() + PAYLOAD;
    let number = protocol.number(family);
    let (mut header, pseudo) = match family {
        Family::Four => {
            let [high, low] = (length as u16 + 20).to_be_bytes();
            let mut header = vec![0x45, 0, high, low, 0, 0, 0x40, 0, 64, number, 0, 0];
            header.extend(plan::HOST6_AS_IPV4.octets());
            header.extend(plan::HOST4.octets());
            let sum = Sum::ZERO.bytes(&header).checksum().to_be_bytes();
            header[10..12].copy_from_slice(&sum);
            let addresses = Sum::ZERO.bytes(&header[12..]);
            (header, addresses)
        }
        Family::Six => {
            let [high, low] = (length as u16).to_be_bytes();
            let mut header = vec![0x60, 0, 0, 0, high, low, number, 64];
            for address in ends(prefix) {
                header.extend(address.octets());
            }
            let addresses = Sum::ZERO.bytes(&header[8..]);
            (header, addresses)
        }
    };
    let start = header.len();
    header.extend(transport);
    header.extend((0..PAYLOAD).map(|octet| octet as u8));
    // ICMPv4 has no pseudo-header (RFC 792).
    let pseudo = match (protocol, family) {
        (Protocol::Icmp, Family::Four) => Sum::ZERO,
        _ => pseudo.number(length as u16).number(number.into()),
    };
    let field = start + checksum;
    let sum = Sum::ZERO.bytes(&header[start..]);
    let whole = Sum::ZERO
        .number(sum.fold())
        .number(pseudo.fold())
        .checksum();
    header[field..field + 2].copy_from_slice(&whole.to_be_bytes());
    header
}

/// Measures each step by itself, and the whole.
pub(crate) fn all(_: &Subject, profile: Profile, _: &Journal) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    each(profile, |step, samples| {
        points.extend(Point::of(step, 0.0, &samples));
    })?;
    Ok(points)
}

/// Calls a function with the samples of each step, by its name: the direction and the step.
fn each(profile: Profile, mut add: impl FnMut(&str, Vec<f64>)) -> Result<()> {
    let prefix = prefix(96)?;
    for (family, way) in WAYS {
        let mut add = |step: &str, samples: Vec<f64>| add(&format!("{way} {step}"), samples);
        let bytes = packet(Protocol::Udp, family, &prefix);
        add("parse", parse(profile, family, &bytes));
        add("address", address(profile, family, &prefix));
        add("header", whole(profile, &bytes, 96)?);
        for protocol in Protocol::ALL {
            let bytes = packet(protocol, family, &prefix);
            let samples = checksum(profile, protocol, family, &prefix, &bytes);
            add(protocol.name(), samples);
        }
    }
    Ok(())
}

/// Measures the whole translation, by the length of the prefix.
pub(crate) fn by_prefix(_: &Subject, profile: Profile, _: &Journal) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    each_prefix(profile, |way, length, samples| {
        points.extend(Point::of(way, f64::from(length), &samples));
    })?;
    Ok(points)
}

/// Calls a function with the samples of the whole translation, by direction and length of the prefix.
fn each_prefix(profile: Profile, mut add: impl FnMut(&str, u8, Vec<f64>)) -> Result<()> {
    for length in LENGTHS {
        let prefix = prefix(length)?;
        for (family, way) in WAYS {
            let bytes = packet(Protocol::Udp, family, &prefix);
            add(way, length, whole(profile, &bytes, length)?);
        }
    }
    Ok(())
}

/// Counts the instructions of each step and of the whole by the length of the prefix, where a nanosecond is an instruction:
/// `step-4to6-header`, `step-6to4-prefix-32`.
pub(crate) fn exact() -> Result<Vec<(String, f64)>> {
    let mut counts = Vec::new();
    let mut add = |row, mut samples: Vec<f64>| counts.push((row, median(&mut samples) * 1e9));
    each(Profile::Smoke, |step, samples| {
        add(format!("step-{}", step.replace(' ', "-")), samples);
    })?;
    each_prefix(Profile::Smoke, |way, length, samples| {
        add(format!("step-{way}-prefix-{length}"), samples);
    })?;
    Ok(counts)
}

fn prefix(length: u8) -> Result<Prefix> {
    let network = Ipv6Addr::from_bits(u128::from(0x2001_0db8_u32) << 96);
    Prefix::new(network, length).map_err(|error| inside(error.to_string()))
}

fn inside(problem: String) -> LabError {
    LabError::Output {
        tool: "our own code",
        output: problem,
    }
}

/// Measures the parsing and checking of a packet's headers.
fn parse(profile: Profile, family: Family, bytes: &[u8]) -> Vec<f64> {
    let mut storage = storage(bytes);
    let packet = Buffer::new(&mut storage, HEADROOM);
    samples(profile, || {
        let packet = black_box(&packet);
        let fine = match family {
            Family::Four => ipv4::Header::read(packet, 0)
                .is_ok_and(|header| v4::read(packet, header, Messages::V4).is_ok()),
            Family::Six => {
                ipv6::Header::read(packet, 0).is_ok_and(|header| v6::read(packet, header).is_ok())
            }
        };
        assert!(black_box(fine));
    })
}

/// Measures the translation of both addresses.
fn address(profile: Profile, family: Family, prefix: &Prefix) -> Vec<f64> {
    let four: [V4; 2] = [plan::HOST6_AS_IPV4, plan::HOST4].map(Ipv4Addr::into);
    let six: [V6; 2] = ends(prefix).map(Ipv6Addr::into);
    samples(profile, || match family {
        Family::Four => {
            black_box(black_box(four).map(|address| black_box(prefix).embed(address)));
        }
        Family::Six => {
            black_box(black_box(six).map(|address| black_box(prefix).extract(address)));
        }
    })
}

/// Measures the adjustment of the upper-layer checksum to the new addresses.
fn checksum(
    profile: Profile,
    protocol: Protocol,
    family: Family,
    prefix: &Prefix,
    bytes: &[u8],
) -> Vec<f64> {
    let (_, field, kind) = protocol.header(family);
    let at = field
        + match family {
            Family::Four => 20,
            Family::Six => 40,
        };
    let sums = [
        [plan::HOST6_AS_IPV4, plan::HOST4].map(|address| Sum::ZERO.bytes(&address.octets())),
        ends(prefix).map(|address| Sum::ZERO.bytes(&address.octets())),
    ];
    let [four, six] = sums
        .map(|[source, destination]| Sum::ZERO.number(source.fold()).number(destination.fold()));
    let (old, new) = match family {
        Family::Four => (four, six),
        Family::Six => (six, four),
    };
    let mut storage = storage(bytes);
    let mut packet = Buffer::new(&mut storage, HEADROOM);
    samples(profile, || {
        let pseudo = Delta::between(black_box(old), black_box(new));
        let (field, content) = (Field { at, kind }, Delta::NONE);
        let change = Change { pseudo, content };
        let done = black_box(&mut packet).patch_checksum(field, change);
        assert!(black_box(done).is_ok());
    })
}

/// Measures the whole path of a packet through the user-space engine.
fn whole(profile: Profile, bytes: &[u8], length: u8) -> Result<Vec<f64>> {
    let text = format!(
        "[[instance]]\nname = \"steps\"\nmechanism = \"siit\"\nprefix = \"{}\"\n",
        prefix(length)?
    );
    let loaded = config::parse("steps.toml", "steps", text, Path::new("/"))
        .map_err(|report| inside(report.to_string()))?;
    let mut engine =
        capture::user(&loaded.document, 1).map_err(|error| inside(error.to_string()))?;
    let mut out = 0_u64;
    let samples = samples(profile, || {
        let sent = engine.translate(black_box(bytes), 1, &mut |head, tail| {
            out += u64::from(!black_box(head).is_empty() || !tail.is_empty());
        });
        assert!(sent.is_ok());
    });
    let expected = (samples.len() as u64 + 10) * u64::from(BATCH);
    if out == expected {
        Ok(samples)
    } else {
        Err(inside(format!("{out} of {expected} packets came out")))
    }
}

/// Returns a packet with headroom.
fn storage(bytes: &[u8]) -> Vec<u8> {
    [&[0; HEADROOM], bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The referee is etherparse, which reads the packets and computes their checksums.
    #[test]
    fn packets_are_valid() {
        for length in LENGTHS {
            let prefix = prefix(length).unwrap();
            for protocol in Protocol::ALL {
                for family in [Family::Four, Family::Six] {
                    let bytes = packet(protocol, family, &prefix);
                    let headers = etherparse::PacketHeaders::from_ip_slice(&bytes).unwrap();
                    let (net, transport) = (headers.net.unwrap(), headers.transport.unwrap());
                    assert_eq!(headers.payload.slice().len(), PAYLOAD);
                    let mut again = transport.clone();
                    let payload = headers.payload.slice();
                    match &net {
                        etherparse::NetHeaders::Ipv4(header, _) => {
                            assert_eq!(header.header_checksum, header.calc_header_checksum());
                            again.update_checksum_ipv4(header, payload).unwrap();
                        }
                        etherparse::NetHeaders::Ipv6(header, _) => {
                            again.update_checksum_ipv6(header, payload).unwrap();
                        }
                        etherparse::NetHeaders::Arp(_) => unreachable!(),
                    }
                    assert_eq!(again, transport);
                }
            }
        }
    }

    #[test]
    fn every_step_takes_some_time_and_not_more_than_the_whole() {
        let points = all(
            &super::super::super::subjects()[0],
            Profile::Smoke,
            &Journal::default(),
        )
        .unwrap();
        assert_eq!(points.len(), 12);
        assert!(
            points
                .iter()
                .all(|point| point.value > 0.0 && point.value < 1e-3)
        );
    }
}
