//! The crossing of tunnels that carry IPv6 over IPv4, ISATAP's neighbour discovery included, and errors from
//! inside of them.

use super::{Cross, Owner, pass};
use crate::address::V6;
use crate::encap::{six_in_four, tunnel_error};
use crate::host::Host;
use crate::mechanism::crossing::V6OverV4;
use crate::mechanism::six_in_four::{PeerV4, SixInFour};
use crate::mechanism::{Instances, isatap};
use crate::packet::{Family, Packet, Truncated};
use crate::slow::neighbour;
use crate::verdict::{Refusal, Slow, Verdict};
use crate::wire::{ipv4, ipv6, protocol};

impl Cross<SixInFour> for V6OverV4 {
    const LOOKS_AT_TRANSPORT: bool = false;

    #[inline(always)]
    fn v4<P: Packet, H: Host, I: Instances + ?Sized>(
        owner: &Owner<'_, SixInFour, I>,
        packet: &mut P,
        host: &mut H,
        header: ipv4::Header,
    ) -> Result<Verdict, Refusal> {
        let (tunnel, policy) = (owner.mechanism, owner.policy);
        if header.protocol() == protocol::ICMP {
            return error(tunnel, packet, host, &header);
        }
        if let PeerV4::Isatap(link) = &tunnel.peer
            && is_for_link(packet, &header)
        {
            if !P::ABILITIES.neighbours {
                return Err(Refusal::Slow(Slow::Neighbour));
            }
            return neighbour::receive(packet, host, policy, tunnel, link, &header);
        }
        let accept = |inner: &ipv6::Header| tunnel.accept(header.source(), inner);
        six_in_four::leave(packet, host, policy, header, accept)
    }

    #[inline(always)]
    fn v6<P: Packet, H: Host, I: Instances + ?Sized>(
        owner: &Owner<'_, SixInFour, I>,
        packet: &mut P,
        host: &mut H,
        header: ipv6::Header,
    ) -> Result<Verdict, Refusal> {
        let (source, destination) = (header.source(), header.destination());
        let ends = owner.mechanism.ends(source, destination)?;
        six_in_four::enter(packet, host, owner.policy, header, ends)
    }
}

/// Whether the packet in a packet is for the nodes of an ISATAP link.
#[inline(always)]
fn is_for_link<P: Packet>(packet: &P, outer: &ipv4::Header) -> bool {
    const DESTINATION: usize = 24;
    if outer.fragment().is_fragment() {
        return false;
    }
    match packet.words::<4>(outer.header_length() + DESTINATION) {
        Ok(destination) => isatap::is_of_link(V6(destination)),
        Err(Truncated) => false,
    }
}

/// An ICMPv4 message to the tunnel endpoint. If it is an error about a packet of the tunnel, the sender of
/// the inner packet gets an error.
#[inline(always)]
fn error<P: Packet, H: Host>(
    tunnel: &SixInFour,
    packet: &mut P,
    host: &mut H,
    header: &ipv4::Header,
) -> Result<Verdict, Refusal> {
    let Some(report) = tunnel_error::over_v4(packet, header)? else {
        return Ok(pass(host));
    };
    let sent = match report.inner(packet) {
        Some(inner) => {
            let header = ipv6::Header::read(&inner, 0)?;
            let (source, destination) = (header.source(), header.destination());
            let ends = tunnel
                .ends(source, destination)
                .map_err(|_| tunnel_error::NOT_SENT)?;
            tunnel.destinations.contains(destination) && ends.destination == report.endpoint
        }
        None => tunnel.may_reach(report.endpoint),
    };
    if !sent {
        return Err(tunnel_error::NOT_SENT);
    }
    report.learn(host);
    Err(report.tell(packet, Family::V6))
}
