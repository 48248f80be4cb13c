//! Neighbour discovery on an ISATAP link (RFC 5214 section 8): messages of other nodes to the link-local
//! address of this one. A router answers solicitations, each to its sender alone. A host receives the
//! messages for it, and its kernel processes them.
//!
//! The answer takes the place of the solicitation, in its outer packet.

use crate::address::{self, V4, V6, special};
use crate::checksum::Sum;
use crate::encap::inner::Inner;
use crate::host::Host;
use crate::incoming::v4;
use crate::mechanism::isatap::{self, Isatap, IsatapRole};
use crate::mechanism::six_in_four::{PeerV4, SixInFour};
use crate::mechanism::{Instances, Member};
use crate::packet::{Family, Packet, Truncated};
use crate::policy::Policy;
use crate::reason::Counter;
use crate::verdict::{Refusal, Slow, Verdict};
use crate::wire::icmpv6::{
    NEIGHBOUR_ADVERTISEMENT, NEIGHBOUR_SOLICITATION, ROUTER_ADVERTISEMENT, ROUTER_SOLICITATION,
};
use crate::wire::ipv4::{self, Fragment};
use crate::wire::tuple::Ends;
use crate::wire::{ipv6, protocol};
use crate::word::Word;

/// The hop limit of a packet that has crossed no router (RFC 4861 section 3.1).
const UNCROSSED: u8 = 255;
/// All routers on the link.
const ALL_ROUTERS: (u64, u64) = (0xff02 << 48, 2);
/// Words of an answer at most: an advertisement, options for prefix and MTU.
const LONGEST: usize = 4 + 8 + 2;

/// Takes a packet that is for the link itself; the header is that of the outer packet.
///
/// # Errors
/// A node of the link may not send it, or there is no answer to it.
pub fn receive<P: Packet, H: Host>(
    packet: &mut P,
    host: &mut H,
    policy: &Policy,
    tunnel: &SixInFour,
    isatap: &Isatap,
    outer: &ipv4::Header,
) -> Result<Verdict, Refusal> {
    let payload = v4::check(packet, outer)?;
    if outer.fragment().is_fragment() {
        return Err(Refusal::Slow(Slow::Reassemble));
    }
    let mut inner = Inner::new(packet, outer.header_length(), payload)?;
    let header = ipv6::Header::read(&inner, 0)?;
    let length = usize::from(header.payload_length());
    if header.version() != 6 || ipv6::HEADER + length > payload {
        return Err(Refusal::Drop(Counter::MalformedHeader));
    }
    isatap::check(isatap, outer.source(), header.source())?;
    let message = Message::read(&inner, &header)?;
    let mine = isatap::is_link_local(header.destination(), tunnel.local);
    let answer = match (isatap.role, message.kind) {
        (IsatapRole::Host, ROUTER_ADVERTISEMENT) if mine => {
            inner.replace_front(0, 0, Family::V6)?;
            host.count(Counter::Decapsulated6In4);
            return Ok(Verdict::whole(Family::V6));
        }
        (IsatapRole::Router, ROUTER_SOLICITATION)
            if mine || header.destination().halves() == ALL_ROUTERS =>
        {
            advertisement(policy, isatap)
        }
        (_, NEIGHBOUR_SOLICITATION) if mine && message.target == header.destination() => {
            neighbour(isatap, message.target)
        }
        _ => return Err(Refusal::Drop(Counter::IcmpUntranslatable)),
    };
    let ends = Ends {
        source: tunnel.local,
        destination: outer.source(),
    };
    // RFC 5214 section 8.3.3: an advertisement comes from the link-local address.
    let own = match message.kind {
        ROUTER_SOLICITATION => isatap::link_local(tunnel.local),
        _ => header.destination(),
    };
    answer.write(packet, ends, (own, header.source()), host.random() as u16)?;
    host.count(Counter::NeighbourAnswered);
    Ok(Verdict::whole(Family::V4))
}

/// The number of the instance whose node this machine is and its tunnel, if this machine sends a packet
/// over an ISATAP link. Only user space sees such a packet.
#[inline(always)]
pub fn sender<'a, P: Packet, I: Instances + ?Sized>(
    instances: &'a I,
    header: &ipv6::Header,
) -> Option<(u32, &'a SixInFour)> {
    if !P::ABILITIES.neighbours {
        return None;
    }
    let mut index = 0;
    loop {
        if let Some(tunnel) = SixInFour::of(&instances.get(index)?.mechanism)
            && let PeerV4::Isatap(_) = &tunnel.peer
            && isatap::is_link_local(header.source(), tunnel.local)
        {
            return Some((index, tunnel));
        }
        index += 1;
    }
}

/// Sends a packet from the link-local address of this node to that of another. It is not forwarded, so
/// that its hop limit stays.
///
/// # Errors
/// The packet is not to be sent; it is unchanged then.
pub fn send<P: Packet, H: Host>(
    packet: &mut P,
    host: &mut H,
    tunnel: &SixInFour,
    header: &ipv6::Header,
) -> Result<Verdict, Refusal> {
    let destination = header.destination();
    let total = ipv6::HEADER + usize::from(header.payload_length());
    let Ok(outer_total) = u16::try_from(total + ipv4::HEADER) else {
        return Err(Refusal::Drop(Counter::TooBig));
    };
    if total > packet.len() {
        return Err(Refusal::Drop(Counter::MalformedHeader));
    }
    let other = address::isatap::extract(destination)
        .filter(|other| isatap::is_link_local(destination, *other))
        .filter(|other| !special::is_illegal_source_v4(*other))
        .ok_or(Refusal::Drop(Counter::TunnelDestination))?;
    let ends = Ends {
        source: tunnel.local,
        destination: other,
    };
    let identification = host.random() as u16;
    packet.replace_front(0, ipv4::HEADER, Family::V4)?;
    packet
        .set_words(0, outer(ends, outer_total, identification).0)
        .map_err(|Truncated| Refusal::Drop(Counter::EngineError))?;
    host.count(Counter::Encapsulated6In4);
    Ok(Verdict::whole(Family::V4))
}

/// The header around a packet of the link itself.
fn outer(ends: Ends<V4>, total_length: u16, identification: u16) -> ipv4::Header {
    ipv4::Header::from(ipv4::Fields {
        tos: 0,
        total_length,
        identification,
        dont_fragment: false,
        fragment: Fragment::WHOLE,
        ttl: 64,
        protocol: protocol::IPV6,
        source: ends.source,
        destination: ends.destination,
    })
}

/// The parts of a message that are used.
struct Message {
    kind: u8,
    /// Target of a neighbour solicitation.
    target: V6,
}

impl Message {
    /// The checks of RFC 4861 sections 6.1.1, 6.1.2 and 7.1.1, which are nearly the same.
    fn read<P: Packet>(packet: &P, header: &ipv6::Header) -> Result<Self, Refusal> {
        const MALFORMED: Refusal = Refusal::Drop(Counter::MalformedTransport);
        if header.next_header() != protocol::ICMPV6 {
            return Err(Refusal::Drop(Counter::UnsupportedProtocol));
        }
        let bytes = packet.bytes().ok_or(Refusal::Slow(Slow::Neighbour))?;
        let message = bytes
            .get(ipv6::HEADER..)
            .and_then(|rest| rest.get(..usize::from(header.payload_length())))
            .ok_or(MALFORMED)?;
        let pseudo = pseudo(header.source(), header.destination(), message.len());
        let [kind, code, ..] = *message else {
            return Err(MALFORMED);
        };
        let options_at = match kind {
            ROUTER_SOLICITATION => 8,
            ROUTER_ADVERTISEMENT => 16,
            _ => 24,
        };
        let whole = pseudo.bytes(message).fold() == 0xffff;
        if !whole || code != 0 || header.hop_limit() != UNCROSSED {
            return Err(MALFORMED);
        }
        let mut options = message.get(options_at..).ok_or(MALFORMED)?;
        while let [_, units, ..] = *options {
            let length = usize::from(units) * 8;
            if length == 0 {
                return Err(MALFORMED);
            }
            options = options.get(length..).ok_or(MALFORMED)?;
        }
        if !options.is_empty() {
            return Err(MALFORMED);
        }
        let target = match kind {
            NEIGHBOUR_SOLICITATION => V6(packet.words(ipv6::HEADER + 8)?),
            _ => V6::default(),
        };
        Ok(Self { kind, target })
    }
}

/// A message to be sent: its words, without a checksum yet.
struct Answer {
    words: [Word; LONGEST],
    count: usize,
}

/// A router advertisement (RFC 4861 section 4.2) with the prefix of the link and its MTU.
fn advertisement(policy: &Policy, isatap: &Isatap) -> Answer {
    const HOP_LIMIT: u32 = 64;
    const PREFIX: u32 = 3 << 24 | 4 << 16 | 64 << 8;
    const ON_LINK: u32 = 1 << 7;
    const AUTONOMOUS: u32 = 1 << 6;
    const MTU: u32 = 5 << 24 | 1 << 16;
    let (high, _) = isatap.prefix.halves();
    let mtu = u32::from(policy.ipv4_mtu).saturating_sub(ipv4::HEADER as u32);
    let numbers = [
        u32::from(ROUTER_ADVERTISEMENT) << 24,
        HOP_LIMIT << 24 | u32::from(isatap.lifetimes.router),
        0,
        0,
        PREFIX | ON_LINK | AUTONOMOUS,
        isatap.lifetimes.valid,
        isatap.lifetimes.preferred,
        0,
        (high >> 32) as u32,
        high as u32,
        0,
        0,
        MTU,
        mtu.max(u32::from(ipv6::MINIMUM_MTU)),
    ];
    Answer {
        words: numbers.map(Word::from_number),
        count: numbers.len(),
    }
}

/// A neighbour advertisement (RFC 4861 section 4.4). It has no link-layer address: that is in the other one.
fn neighbour(isatap: &Isatap, target: V6) -> Answer {
    const ROUTER: u32 = 1 << 31;
    const SOLICITED: u32 = 1 << 30;
    let router = match isatap.role {
        IsatapRole::Router => ROUTER,
        IsatapRole::Host => 0,
    };
    let mut words = [Word::default(); LONGEST];
    words[0] = Word::from_number(u32::from(NEIGHBOUR_ADVERTISEMENT) << 24);
    words[1] = Word::from_number(router | SOLICITED);
    words[2..6].copy_from_slice(&target.0);
    Answer { words, count: 6 }
}

impl Answer {
    /// Puts the message in the place of a packet.
    fn write<P: Packet>(
        &self,
        packet: &mut P,
        ends: Ends<V4>,
        (source, destination): (V6, V6),
        identification: u16,
    ) -> Result<(), Refusal> {
        let length = self.count * 4;
        let total = ipv4::HEADER + ipv6::HEADER + length;
        let outer = outer(ends, total as u16, identification);
        let inner = ipv6::Header::from(ipv6::Fields {
            traffic_class: 0,
            payload_length: length as u16,
            next_header: protocol::ICMPV6,
            hop_limit: UNCROSSED,
            source,
            destination,
        });
        let mut words = self.words;
        let sum = words
            .iter()
            .fold(pseudo(source, destination, length), |sum, word| {
                sum.word(*word)
            });
        words[0] = Word::from_halves(words[0].high(), sum.checksum());
        packet.replace_front(packet.len(), total, Family::V4)?;
        (|| {
            packet.set_words(0, outer.0)?;
            packet.set_words(ipv4::HEADER, inner.0)?;
            for (word, index) in words.into_iter().take(self.count).zip(0..) {
                packet.set_words(ipv4::HEADER + ipv6::HEADER + index * 4, [word])?;
            }
            Ok(())
        })()
        .map_err(|Truncated| Refusal::Drop(Counter::EngineError))
    }
}

/// RFC 8200 section 8.1.
fn pseudo(source: V6, destination: V6, length: usize) -> Sum {
    Sum::ZERO
        .words(&source.0)
        .words(&destination.0)
        .number(length as u16)
        .number(u16::from(protocol::ICMPV6))
}
