//! The crossing of tunnels that carry IPv4 over IPv6, and errors from inside of them.

use super::{Cross, Owner, pass};
use crate::encap::{four_in_six, tunnel_error};
use crate::host::Host;
use crate::mechanism::Instances;
use crate::mechanism::crossing::V4OverV6;
use crate::mechanism::four_in_six::FourInSix;
use crate::packet::{Family, Packet};
use crate::verdict::{Refusal, Verdict};
use crate::wire::{ipv4, ipv6, protocol};

impl Cross<FourInSix> for V4OverV6 {
    const LOOKS_AT_TRANSPORT: bool = false;

    #[inline(always)]
    fn v4<P: Packet, H: Host, I: Instances + ?Sized>(
        owner: &Owner<'_, FourInSix, I>,
        packet: &mut P,
        host: &mut H,
        header: ipv4::Header,
    ) -> Result<Verdict, Refusal> {
        four_in_six::enter(packet, host, owner.policy, header, owner.mechanism.ends())
    }

    #[inline(always)]
    fn v6<P: Packet, H: Host, I: Instances + ?Sized>(
        owner: &Owner<'_, FourInSix, I>,
        packet: &mut P,
        host: &mut H,
        header: ipv6::Header,
    ) -> Result<Verdict, Refusal> {
        if header.next_header() == protocol::ICMPV6 {
            return error(owner.mechanism, packet, host, &header);
        }
        if !four_in_six::carries(header.next_header()) {
            // The machine that has this address gets it for itself.
            return Ok(pass(host));
        }
        let accept = |inner: &ipv4::Header| owner.mechanism.accept(header.source(), inner);
        four_in_six::leave(packet, host, owner.policy, header, accept)
    }
}

/// An ICMPv6 message to the tunnel endpoint. If it is an error about a packet of the tunnel, the sender of
/// the inner packet gets an error.
#[inline(always)]
fn error<P: Packet, H: Host>(
    tunnel: &FourInSix,
    packet: &mut P,
    host: &mut H,
    header: &ipv6::Header,
) -> Result<Verdict, Refusal> {
    let Some(report) = tunnel_error::over_v6(packet, header)? else {
        return Ok(pass(host));
    };
    let inner = report.inner(packet).ok_or(tunnel_error::NOT_SENT)?;
    let destination = ipv4::Header::read(&inner, 0)?.destination();
    if !tunnel.takes(destination) || report.endpoint != tunnel.remote {
        return Err(tunnel_error::NOT_SENT);
    }
    report.learn(host);
    Err(report.tell(packet, Family::V4))
}
