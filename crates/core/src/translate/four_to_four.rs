//! From IPv4 to IPv4: addresses and ports are rewritten where they are, and options stay (RFC 3022
//! section 4). The packet may come out of a softwire, go into one, or both
//! ([`passage`](crate::mechanism::passage)).

use super::outgoing_v4::{Outgoing, rewrite_header};
use super::{mss, mtu, pseudo_header, quoted_v4};
use crate::address::V4;
use crate::checksum::{Change, Delta, Field};
use crate::host::Host;
use crate::incoming::v4;
use crate::mechanism::passage::{Exit, Passage, Passed};
use crate::mechanism::{Seen, fragments, stateful};
use crate::packet::{Packet, Truncated};
use crate::policy::Policy;
use crate::reason::Counter;
use crate::verdict::{Refusal, Verdict};
use crate::wire::content::{Content, Messages};
use crate::wire::transport::Transport;
use crate::wire::tuple::Tuple;
use crate::wire::{icmp, ipv4, tcp, udp};
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
) -> Result<Verdict, Refusal> {
    let incoming = v4::read(packet, header, Messages::WithinV4)?;
    let transport = &incoming.transport;
    if header.ttl() <= 1 {
        return Err(Refusal::hop_limit());
    }
    let ports = if header.fragment().is_fragment() {
        let key = || passage.fragment_key(&header);
        fragments::ports_of::<P, _>(host, passage.datagrams(), key, transport)?
    } else {
        transport.ports()
    };
    if transport.content == Content::IcmpError {
        return quoted_v4::within_v4(packet, host, policy, passage, &incoming, tos);
    }
    let mss = mss::find(packet, policy, transport)?;
    let old = ports.between(header.source(), header.destination());
    let passed = passage.pass(host, Seen::outer(policy, &old, transport))?;
    let new = passed.tuple;
    let mut out = Outgoing::new(host, policy, passed.exit, &new, tos)?;
    out.narrow(host, header.total_length());
    let size = mtu::WithinV4 {
        payload: transport.length,
        transport: transport.header,
        headers: header.header_length(),
        dont_fragment: header.dont_fragment(),
        softwire: matches!(out.exit, Exit::Softwire(_)),
        identification: identification::<P, H>(host),
        link: out.link,
    };
    let split = mtu::within_v4(packet, &size)?;
    carried(host, passage, transport, &old, &passed);
    let at = out.make_room(packet)?;
    (|| {
        let flags = flags(&header, split.is_some() && at == 0);
        out.write(packet, header.total_length(), policy)?;
        rewrite_header(packet, at, &header, tos, flags, &new)?;
        let most = mss::within_v4(policy.ipv4_mtu, out.inside());
        let lowered = mss::lower(packet, at + transport.at, mss, most)?;
        rewrite_transport(packet, at, transport, &old, &new, lowered)
    })()
    .map_err(|Truncated| Refusal::Drop(Counter::EngineError))?;
    host.count(M::COUNTER);
    if passed.between.is_some() {
        host.count(Counter::Hairpinned);
    }
    Ok(Verdict::Forward {
        family: out.family(),
        split,
    })
}

/// Counts a packet that is on its way, where the NAT counts what sessions carry.
#[inline(always)]
fn carried<H: Host, M: Passage>(
    host: &H,
    passage: &M,
    transport: &Transport,
    old: &Tuple<V4>,
    passed: &Passed,
) {
    let nat = passage.counting_nat();
    if let Some(between) = &passed.between {
        stateful::carried_out(host, nat, transport, between);
        stateful::carried_back(host, nat, transport, between);
    } else if passed.hides {
        stateful::carried_out(host, nat, transport, &passed.tuple);
    } else {
        stateful::carried_back(host, nat, transport, old);
    }
}

/// An identification for the fragments of an outer packet, where this engine makes them.
#[inline(always)]
fn identification<P: Packet, H: Host>(host: &mut H) -> u32 {
    if P::ABILITIES.splits {
        host.random()
    } else {
        0
    }
}

/// The word of a header with its flags: of a packet that is `cut` without Don't Fragment.
#[inline(always)]
fn flags(header: &ipv4::Header, cut: bool) -> Word {
    let flags = header.0[1];
    if cut {
        Word::from_number(flags.number() & !DONT_FRAGMENT)
    } else {
        flags
    }
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
            packet.patch_checksum(Field::plain(at + tcp::CHECKSUM), Change { pseudo, content })
        }
        Content::Udp => {
            let content = super::set_ports(packet, at, first, new)?;
            if transport.zero_checksum {
                return Ok(());
            }
            packet.patch_checksum(Field::udp(at + udp::CHECKSUM), Change { pseudo, content })
        }
        Content::Echo(_) | Content::Query => {
            let identifier = super::changed_identifier(transport, new);
            let content = super::set_echo(packet, at, first.bytes()[0], first, identifier)?;
            let change = Change::of_content(content);
            packet.patch_checksum(Field::plain(at + icmp::CHECKSUM), change)?;
            super::settle_zero(packet, at)
        }
        Content::IcmpError | Content::Other | Content::Continuation => Ok(()),
    }
}
