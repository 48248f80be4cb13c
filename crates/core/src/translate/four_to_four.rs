//! From IPv4 to IPv4: addresses and ports are rewritten where they are, and options stay (RFC 3022
//! section 4). The packet may come out of a softwire, go into one, or both
//! ([`passage`](crate::mechanism::passage)).

use super::{Hop, mss, mtu, quoted_v4};
use crate::address::V4;
use crate::checksum::ChecksumKind;
use crate::checksum::{Delta, Sum};
use crate::encap::{self, class};
use crate::host::{Destination, Host};
use crate::incoming::v4;
use crate::mechanism::passage::{Exit, Passage};
use crate::mechanism::{Part, stateful};
use crate::packet::{Family, NoRoom, Packet, Truncated};
use crate::policy::Policy;
use crate::reason::Counter;
use crate::verdict::{IcmpError, Refusal, Slow, Verdict};
use crate::wire::icmp::Messages;
use crate::wire::transport::{Content, Transport};
use crate::wire::tuple::Tuple;
use crate::wire::{icmp, tcp, udp};
use crate::wire::{ipv4, ipv6};
use crate::word::Word;

/// The Don't Fragment flag in the second word of a header.
const DONT_FRAGMENT: u32 = 0x4000;

/// Takes a packet through a mechanism. `tos` is the type of service that it goes on with: another
/// than that of its header if it comes out of a softwire.
///
/// # Errors
/// The packet is not to be sent on; it is unchanged then.
#[inline(always)]
pub fn translate<P: Packet, H: Host, M: Passage>(
    packet: &mut P,
    host: &mut H,
    policy: &Policy,
    passage: &M,
    header: ipv4::Header,
    tos: u8,
    hop: Hop,
) -> Result<Verdict, Refusal> {
    let incoming = v4::read(packet, header, Messages::WithinV4)?;
    let transport = &incoming.transport;
    if header.ttl() <= 1 && hop == Hop::Forward {
        return Err(Refusal::Reply(
            IcmpError::TimeExceeded,
            Counter::HopLimitExceeded,
        ));
    }
    let ports = if header.fragment().is_fragment() {
        if !P::ABILITIES.fragments {
            return Err(Refusal::Slow(Slow::HoldFragment));
        }
        stateful::ports_of(
            host,
            passage.nat(),
            &passage.fragment_key(&header),
            transport,
        )?
    } else {
        transport.ports()
    };
    if transport.content == Content::IcmpError {
        return quoted_v4::within_v4(packet, host, policy, passage, &incoming, tos, hop);
    }
    let mss = mss::find(packet, policy, transport)?;
    let old = Tuple {
        source: header.source(),
        destination: header.destination(),
        source_port: ports.source,
        destination_port: ports.destination,
    };
    let passed = passage.pass(host, &old, transport, Part::Outer)?;
    let new = passed.tuple;
    let mut way = Way::new(host, policy, passed.exit, &new, tos)?;
    way.narrow(host, header.total_length());
    let size = mtu::WithinV4 {
        payload: transport.length,
        transport: transport.header,
        headers: header.header_length(),
        dont_fragment: header.dont_fragment(),
        softwire: matches!(way.exit, Exit::Softwire(_)),
        identification: if P::ABILITIES.splits {
            host.random()
        } else {
            0
        },
        link: way.link,
    };
    let split = mtu::within_v4(packet, &size)?;
    let most = mss::within_v4(policy.ipv4_mtu, way.inside());
    let at = way.make_room(packet)?;
    (|| {
        let mut flags = header.0[1];
        if split.is_some() && at == 0 {
            flags = Word::from_number(flags.number() & !DONT_FRAGMENT);
        }
        way.write(packet, header.total_length(), policy)?;
        rewrite_header(packet, at, &header, tos, flags, &new, hop)?;
        let lowered = mss::lower(packet, at + transport.at, mss, most)?;
        rewrite_transport(packet, at, transport, &old, &new, lowered)
    })()
    .map_err(|Truncated| Refusal::Drop(Counter::EngineError))?;
    if hop == Hop::Forward {
        host.count(M::COUNTER);
    }
    Ok(Verdict::Forward {
        family: way.family(),
        split,
    })
}

/// The way that a packet goes on.
pub(super) struct Way {
    exit: Exit,
    /// Type of service of the packet.
    tos: u8,
    /// MTU of the next link.
    link: u16,
}

impl Way {
    /// Asks for the route of a packet with these addresses.
    #[inline(always)]
    pub(super) fn new<H: Host>(
        host: &mut H,
        policy: &Policy,
        exit: Exit,
        tuple: &Tuple<V4>,
        tos: u8,
    ) -> Result<Self, Refusal> {
        let (to, default) = match exit {
            Exit::Link => (
                Destination::V4 {
                    source: tuple.source,
                    destination: tuple.destination,
                    tos,
                },
                policy.ipv4_mtu,
            ),
            Exit::Softwire(ends) => (
                Destination::V6 {
                    source: ends.source,
                    destination: ends.destination,
                    traffic_class: class::outer(policy.traffic_class, tos),
                },
                policy.ipv6_mtu,
            ),
        };
        let link = host.route(to)?.map_or(default, |route| route.mtu);
        Ok(Self { exit, tos, link })
    }

    /// Heeds what routers inside of a softwire said about packets of this length.
    #[inline(always)]
    fn narrow<H: Host>(&mut self, host: &H, length: u16) {
        if let Exit::Softwire(ends) = self.exit {
            let other = ends.destination;
            self.link = encap::four_in_six::narrowed(host, other, length, self.link);
        }
    }

    /// Bytes of the largest IPv4 packet.
    #[inline(always)]
    fn inside(&self) -> u16 {
        match self.exit {
            Exit::Link => self.link,
            Exit::Softwire(_) => self.link.saturating_sub(ipv6::HEADER as u16),
        }
    }

    /// Makes room for what comes before the packet, and takes away what it came out of. Gives the
    /// place where the IPv4 header begins then.
    #[inline(always)]
    pub(super) fn make_room<P: Packet>(&self, packet: &mut P) -> Result<usize, NoRoom> {
        match self.exit {
            Exit::Link => packet.replace_front(0, 0, Family::V4).map(|()| 0),
            Exit::Softwire(_) => packet
                .replace_front(0, ipv6::HEADER, Family::V6)
                .map(|()| ipv6::HEADER),
        }
    }

    /// Writes what comes before a packet of `length` bytes.
    #[inline(always)]
    pub(super) fn write<P: Packet>(
        &self,
        packet: &mut P,
        length: u16,
        policy: &Policy,
    ) -> Result<(), Truncated> {
        match self.exit {
            Exit::Link => Ok(()),
            Exit::Softwire(ends) => {
                let traffic_class = class::outer(policy.traffic_class, self.tos);
                let outer = encap::four_in_six::outer(ends, traffic_class, length);
                packet.set_words(0, outer.0)
            }
        }
    }

    /// Family of the packet as it leaves.
    #[inline(always)]
    pub(super) fn family(&self) -> Family {
        match self.exit {
            Exit::Link => Family::V4,
            Exit::Softwire(_) => Family::V6,
        }
    }
}

/// Writes addresses, type of service, TTL and the word with the flags into the header that begins
/// `at` bytes into a packet, and keeps its checksum right.
#[inline(always)]
pub(super) fn rewrite_header<P: Packet>(
    packet: &mut P,
    at: usize,
    header: &ipv4::Header,
    tos: u8,
    flags: Word,
    new: &Tuple<V4>,
    hop: Hop,
) -> Result<(), Truncated> {
    let mut ttl = header.ttl();
    hop.apply(&mut ttl);
    let first = header.0[0].number() & 0xff00_ffff | u32::from(tos) << 16;
    let third = header.0[2].number() & 0x00ff_ffff | u32::from(ttl) << 24;
    let words = [
        Word::from_number(first),
        flags,
        Word::from_number(third),
        new.source.0,
        new.destination.0,
    ];
    let change = Sum::ZERO.words(&words) - Sum::ZERO.words(&header.0);
    packet.set_words(at, words)?;
    crate::packet::patch_complete(packet, at + ipv4::CHECKSUM, ChecksumKind::Plain, change)
}

/// The change of the pseudo-header of TCP and UDP: the addresses.
#[inline(always)]
pub(super) fn pseudo_header(old: &Tuple<V4>, new: &Tuple<V4>) -> Delta {
    Sum::ZERO.word(new.source.0).word(new.destination.0)
        - Sum::ZERO.word(old.source.0).word(old.destination.0)
}

/// Adjusts the transport header of a packet that begins `start` bytes in, of which `changed` has
/// been changed. UDP without a checksum stays without (RFC 3022 section 4.1).
#[inline(always)]
fn rewrite_transport<P: Packet>(
    packet: &mut P,
    start: usize,
    transport: &Transport,
    old: &Tuple<V4>,
    new: &Tuple<V4>,
    changed: Delta,
) -> Result<(), Truncated> {
    let (at, first) = (start + transport.at, transport.first);
    let pseudo = pseudo_header(old, new);
    match transport.content {
        Content::Tcp => {
            let content = changed + super::set_ports(packet, at, first, new)?;
            packet.patch_checksum(at + tcp::CHECKSUM, ChecksumKind::Plain, pseudo, content)
        }
        Content::Udp => {
            let content = super::set_ports(packet, at, first, new)?;
            if transport.zero_checksum {
                return Ok(());
            }
            packet.patch_checksum(at + udp::CHECKSUM, ChecksumKind::Udp, pseudo, content)
        }
        Content::Echo(_) | Content::Query => {
            let identifier = super::changed_identifier(transport, new);
            let content = super::set_echo(packet, at, first.bytes()[0], first, identifier)?;
            packet.patch_checksum(
                at + icmp::CHECKSUM,
                ChecksumKind::Plain,
                Delta::NONE,
                content,
            )?;
            super::settle_zero(packet, at)
        }
        Content::IcmpError | Content::Other | Content::Continuation => Ok(()),
    }
}
