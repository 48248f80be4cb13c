//! The crossing of mechanisms that share IPv4 addresses by softwires, with hairpins, and errors from
//! inside of softwires.

use super::{Cross, Owner, pass, turn};
use crate::address::{V4, V6, special};
use crate::datagrams::FragmentKey;
use crate::encap::four_in_six::{Softwire, carries};
use crate::encap::{class, tunnel_error};
use crate::host::Host;
use crate::incoming::v4;
use crate::mechanism::crossing::{SharesV4, Softwires};
use crate::mechanism::passage::{Passage, Passed};
use crate::mechanism::{Instances, Remembered, Seen};
use crate::nat::NatConfig;
use crate::packet::{Family, Packet};
use crate::policy::Policy;
use crate::reason::Counter;
use crate::translate::four_to_four;
use crate::translate::quoted_v4::restore;
use crate::verdict::{IcmpError, Refusal, Verdict};
use crate::wire::content::{Content, Messages};
use crate::wire::transport::Extent;
use crate::wire::tuple::Ends;
use crate::wire::{ipv4, ipv6, protocol};

impl<M: SharesV4> Cross<M> for Softwires {
    #[inline(always)]
    fn v4<P: Packet, H: Host, I: Instances + ?Sized>(
        owner: &Owner<'_, M, I>,
        packet: &mut P,
        host: &mut H,
        header: ipv4::Header,
    ) -> Result<Verdict, Refusal> {
        let (into, policy) = (ToSoftwire(owner.mechanism), owner.policy);
        let tos = header.tos();
        four_to_four::translate(packet, host, policy, &into, header, tos)
    }

    #[inline(always)]
    fn v6<P: Packet, H: Host, I: Instances + ?Sized>(
        owner: &Owner<'_, M, I>,
        packet: &mut P,
        host: &mut H,
        header: ipv6::Header,
    ) -> Result<Verdict, Refusal> {
        if header.next_header() == protocol::ICMPV6 {
            return error(owner, packet, host, &header);
        }
        if !carries(header.next_header()) {
            // The machine that has this address gets it for itself.
            return Ok(pass(host));
        }
        leave(owner, packet, host, &header)
    }
}

/// Takes an IPv4 packet out of its softwire; it goes back into another one if it is a hairpin (RFC 6333
/// section 8.1, RFC 7596 section 6.2, RFC 7597 section 8.1).
#[inline(always)]
fn leave<M: SharesV4, P: Packet, H: Host, I: ?Sized>(
    owner: &Owner<'_, M, I>,
    packet: &mut P,
    host: &mut H,
    outer: &ipv6::Header,
) -> Result<Verdict, Refusal> {
    let (mechanism, policy) = (owner.mechanism, owner.policy);
    let ends = Ends::new(outer.source(), outer.destination());
    let out = FromSoftwire { mechanism, ends };
    let mut softwire = Softwire::open(packet, outer)?;
    let header = softwire.header;
    let destination = header.destination();
    let hairpin = mechanism.hairpins(destination);
    if special::is_illegal_destination_v4(destination) {
        return Err(Refusal::Drop(Counter::IllegalDestination));
    }
    Refusal::unless_taken::<P>(hairpin)?;
    let tos = class::inner(outer.traffic_class(), header.tos())?;
    let inner = &mut softwire.inner;
    let verdict = if hairpin {
        let halves = (&out, &ToSoftwire(mechanism));
        turn::within_v4(inner, host, policy, halves, header, tos)
    } else {
        four_to_four::translate(inner, host, policy, &out, header, tos)
    };
    match verdict {
        Err(refusal @ Refusal::Reply(..)) => {
            let answer = answer(&softwire, host, &out, policy, refusal);
            // An error about the source is about the packet as it came.
            let is_outer = matches!(answer, Refusal::Reply(IcmpError::SourcePolicy, _));
            if !M::PRIVATE_SOFTWIRES && !is_outer {
                softwire.leave();
            }
            Err(answer)
        }
        other => other,
    }
}

/// The refusal of a packet from a softwire that is to be answered: the answer, unless its source is not the
/// sender's, which comes first (RFC 7597 section 8.1, RFC 7596 section 6.2). Nobody answers an error or a
/// later fragment, so that their source need not be known.
#[inline(always)]
fn answer<M: SharesV4, P: Packet, H: Host>(
    softwire: &Softwire<'_, P>,
    host: &H,
    out: &FromSoftwire<'_, M>,
    policy: &Policy,
    answer: Refusal,
) -> Refusal {
    if !P::ABILITIES.replies {
        return answer;
    }
    let (header, at) = (&softwire.header, softwire.header.header_length());
    let length = usize::from(header.total_length()).saturating_sub(at);
    let (messages, extent) = (Messages::WithinV4, Extent::Whole);
    let transport = match v4::transport(&softwire.inner, header, at, length, messages, extent) {
        Ok(transport) => transport,
        Err(refusal) => return refusal,
    };
    if let Content::IcmpError | Content::Continuation = transport.content {
        return answer;
    }
    let tuple = transport.tuple(header.source(), header.destination());
    let seen = Seen::outer(policy, &tuple, &transport);
    match out.mechanism.check_sender(host, &out.ends, seen) {
        Ok(()) => answer,
        Err(refusal) => refusal,
    }
}

/// An ICMPv6 message to the endpoint of softwires. If it is an error about a packet in a softwire, the
/// sender of that packet gets an error.
#[inline(always)]
fn error<M: SharesV4, P: Packet, H: Host, I: ?Sized>(
    owner: &Owner<'_, M, I>,
    packet: &mut P,
    host: &mut H,
    header: &ipv6::Header,
) -> Result<Verdict, Refusal> {
    let Some(report) = tunnel_error::over_v6(packet, header)? else {
        return Ok(pass(host));
    };
    let mut inner = report.inner(packet).ok_or(tunnel_error::NOT_SENT)?;
    // The reverse of a packet to the tunnel endpoint is a packet from there.
    let ends = Ends::new(report.endpoint, header.destination());
    let mechanism = owner.mechanism;
    let back = FromSoftwire { mechanism, ends };
    restore(&mut inner, host, owner.policy, &back)?;
    report.learn(host);
    Err(report.tell(packet, Family::V4))
}

/// From a softwire between these ends to IPv4.
pub(super) struct FromSoftwire<'a, M> {
    pub(super) mechanism: &'a M,
    /// The addresses of the outer header.
    pub(super) ends: Ends<V6>,
}

/// The key of a datagram that comes out of a softwire from this address.
#[inline(always)]
pub(super) const fn fragment_key(
    header: &ipv4::Header,
    by_softwire: bool,
    softwire: V6,
) -> FragmentKey {
    let key = FragmentKey::v4(header);
    if by_softwire {
        key.within(softwire)
    } else {
        key
    }
}

/// From IPv4 to a softwire.
struct ToSoftwire<'a, M>(&'a M);

impl<M: SharesV4> Passage for FromSoftwire<'_, M> {
    const COUNTER: Counter = Counter::Decapsulated4In6;

    #[inline(always)]
    fn pass<H: Host>(&self, host: &mut H, seen: Seen<'_, V4>) -> Result<Passed, Refusal> {
        self.mechanism.check_sender(host, &self.ends, seen)?;
        self.mechanism.decapsulate(host, &self.ends, seen)
    }

    #[inline(always)]
    fn check_reporter(&self, reporter: V4, passed: &Passed) -> Result<(), Refusal> {
        self.mechanism.check_reporter(reporter, passed)
    }

    #[inline(always)]
    fn datagrams(&self) -> Option<Remembered<'_>> {
        self.mechanism.datagrams()
    }

    #[inline(always)]
    fn counting_nat(&self) -> Option<&NatConfig> {
        self.mechanism.counting_nat()
    }

    #[inline(always)]
    fn fragment_key(&self, header: &ipv4::Header) -> FragmentKey {
        fragment_key(header, M::FRAGMENTS_BY_SOFTWIRE, self.ends.source)
    }
}

impl<M: SharesV4> Passage for ToSoftwire<'_, M> {
    const COUNTER: Counter = Counter::Encapsulated4In6;

    #[inline(always)]
    fn pass<H: Host>(&self, host: &mut H, seen: Seen<'_, V4>) -> Result<Passed, Refusal> {
        self.0.encapsulate(host, seen)
    }

    #[inline(always)]
    fn datagrams(&self) -> Option<Remembered<'_>> {
        self.0.datagrams()
    }

    #[inline(always)]
    fn counting_nat(&self) -> Option<&NatConfig> {
        self.0.counting_nat()
    }
}
