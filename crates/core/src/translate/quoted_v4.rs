//! Packets quoted in ICMP errors that stay IPv4 (RFC 5508 section 4): the quoted packet becomes what it
//! was on the other side of a [`passage`](crate::mechanism::passage). Sizes stay.

use super::quoted::{Adjust, INNER, Received, adjust_quoted, header_v4, read_v4, useless};
use super::{outgoing_v4, pseudo_header};
use crate::address::V4;
use crate::checksum::{Change, ChecksumKind, Delta, Field, Sum};
use crate::host::Host;
use crate::incoming::v4;
use crate::mechanism::Seen;
use crate::mechanism::passage::{Passage, Passed};
use crate::packet::{Packet, Truncated, patch_complete, verify_checksum};
use crate::policy::Policy;
use crate::reason::Counter;
use crate::verdict::{Refusal, Slow, Verdict};
use crate::wire::content::Messages;
use crate::wire::extension::{Body, Unit};
use crate::wire::transport::Transport;
use crate::wire::tuple::{Ports, Tuple};
use crate::wire::{icmp, ipv4};

/// Offset of the addresses in an IPv4 header.
const ADDRESSES: usize = 12;

/// Translates an ICMPv4 error within IPv4. A softwire may come around the error.
///
/// # Errors
/// The packet is not to be sent on; it is unchanged then.
#[inline(always)]
pub fn within_v4<P: Packet, H: Host, M: Passage>(
    packet: &mut P,
    host: &mut H,
    policy: &Policy,
    passage: &M,
    received: &v4::Incoming,
    tos: u8,
) -> Result<Verdict, Refusal> {
    if !P::ABILITIES.icmp_errors {
        return Err(Refusal::Slow(Slow::IcmpError));
    }
    let error = Received::read(packet, Unit::V4, &received.transport)?;
    error.verify(packet, &received.transport, Sum::ZERO)?;
    let quote = Quote::read(packet, error.quote_at, &error.body)?;
    if received.header.destination() != quote.tuple.source {
        return Err(INNER);
    }
    // The source of the error does not tell the side that it comes from, because a router between the NAT
    // and the outside may have an inside address: this machine has one.
    let passed = quote.pass(host, policy, passage)?;
    passage.check_reporter(received.header.source(), &passed)?;
    let new = passed.tuple.swapped();
    let source = if passed.hides {
        // A router before the inside host has no address outside: it gets the host's.
        new.destination
    } else {
        received.header.source()
    };
    let outer = Ports::NONE.between(source, new.source);
    let out = outgoing_v4::Outgoing::new(host, policy, passed.exit, &outer, tos)?;
    let start = out.make_room(packet)?;
    (|| {
        let (outside, flags) = (&received.header, received.header.0[1]);
        out.write(packet, outside.total_length(), policy)?;
        outgoing_v4::rewrite_header(packet, start, outside, tos, flags, &outer)?;
        let change = quote.write(packet, start + error.quote_at, &new)?;
        let field = start + received.transport.at + icmp::CHECKSUM;
        packet.patch_checksum(Field::plain(field), Change::of_content(change))
    })()
    .map_err(|Truncated| Refusal::Drop(Counter::EngineError))?;
    host.count(M::COUNTER);
    if passed.between.is_some() {
        host.count(Counter::Hairpinned);
    }
    Ok(Verdict::whole(out.family()))
}

/// Turns a packet that went through a passage into what it was before; `passage` is the one that leads
/// back. The packet is quoted as far as it is there.
///
/// # Errors
/// The packet did not come through; it is unchanged then.
pub fn restore<P: Packet, H: Host, M: Passage>(
    packet: &mut P,
    host: &mut H,
    policy: &Policy,
    passage: &M,
) -> Result<(), Refusal> {
    let body = Body {
        length: packet.len(),
        quote: None,
    };
    let quote = Quote::read(packet, 0, &body)?;
    let new = quote.pass(host, policy, passage)?.tuple.swapped();
    match quote.write(packet, 0, &new) {
        // No checksum covers the packet yet.
        Ok(_) => Ok(()),
        Err(Truncated) => Err(Refusal::Drop(Counter::EngineError)),
    }
}

/// A quoted packet.
struct Quote {
    header: ipv4::Header,
    transport: Transport,
    tuple: Tuple<V4>,
    /// Bytes of the transport header and payload that are quoted.
    available: usize,
}

impl Quote {
    /// Reads the packet that begins `at` bytes into another.
    #[inline(always)]
    fn read<P: Packet>(packet: &P, at: usize, body: &Body) -> Result<Self, Refusal> {
        let inner = header_v4(packet, at)?.header_length();
        verify_checksum(packet, at, inner, Sum::ZERO).ok_or(INNER)?;
        let available = body.quote.unwrap_or(body.length);
        let available = available.checked_sub(inner).ok_or(INNER)?;
        let quote = read_v4(packet, at, body, Messages::WithinV4)?;
        let v4::Incoming { header, transport } = quote;
        let tuple = transport.tuple(header.source(), header.destination());
        Ok(Self {
            header,
            transport,
            tuple,
            available,
        })
    }

    /// The quoted packet went the other way: maps it as if it came back.
    #[inline(always)]
    fn pass<H: Host, M: Passage>(
        &self,
        host: &mut H,
        policy: &Policy,
        passage: &M,
    ) -> Result<Passed, Refusal> {
        let back = self.tuple.swapped();
        passage
            .pass(host, Seen::quoted(policy, &back, &self.transport))
            .map_err(useless)
    }

    /// Writes other addresses and ports into the packet, which begins `at` bytes into another now, and
    /// returns the change of the sum of all its bytes.
    #[inline(always)]
    fn write<P: Packet>(
        &self,
        packet: &mut P,
        at: usize,
        new: &Tuple<V4>,
    ) -> Result<Delta, Truncated> {
        packet.set_words(at + ADDRESSES, [new.source.0, new.destination.0])?;
        let pseudo = pseudo_header(&self.tuple, new);
        let (field, kind) = (at + ipv4::CHECKSUM, ChecksumKind::Plain);
        patch_complete(packet, field, kind, pseudo)?;
        let header = ipv4::Header::read(packet, at)?;
        let mut change = header.sum() - self.header.sum();
        let adjust = Adjust {
            pseudo,
            echo_pseudo: Delta::NONE,
            unit: Unit::V4,
            available: self.available,
        };
        let transport = at + self.header.header_length();
        change += adjust_quoted(packet, transport, &self.transport, new, &adjust)?;
        Ok(change)
    }
}
