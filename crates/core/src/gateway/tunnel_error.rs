//! ICMP errors from inside a tunnel: what they are about is what the mechanism would have sent, as it
//! came to the mechanism, and its sender is told.

use super::pass;
use crate::config::SixInFour;
use crate::encap::Ends;
use crate::encap::tunnel_error::{self, NOT_SENT};
use crate::host::Host;
use crate::mechanism::{Task, aftr, four_in_six, lwaftr, six_in_four, softwire};
use crate::packet::{Family, Packet};
use crate::translate::quoted_v4::restore;
use crate::verdict::{Refusal, Verdict};
use crate::wire::{ipv4, ipv6};

/// An ICMPv4 message to the end of a tunnel over IPv4.
#[inline(always)]
pub(super) fn over_v4<P: Packet, H: Host>(
    packet: &mut P,
    host: &mut H,
    tunnel: &SixInFour,
    header: &ipv4::Header,
) -> Result<Verdict, Refusal> {
    let Some(report) = tunnel_error::over_v4(packet, header)? else {
        return Ok(pass(host));
    };
    let sent = match report.inner(packet) {
        Some(inner) => {
            let header = ipv6::Header::read(&inner, 0)?;
            let (source, destination) = (header.source(), header.destination());
            let ends = six_in_four::ends(tunnel, source, destination).map_err(|_| NOT_SENT)?;
            six_in_four::owns_v6(tunnel, destination) && ends.destination == report.other
        }
        None => six_in_four::may_reach(tunnel, report.other),
    };
    if !sent {
        return Err(NOT_SENT);
    }
    report.learn(host);
    Err(report.tell(packet, Family::V6))
}

/// An ICMPv6 message to the end of a tunnel or softwire over IPv6.
#[inline(always)]
pub(super) fn over_v6<P: Packet, H: Host>(
    packet: &mut P,
    host: &mut H,
    task: Task<'_>,
    header: &ipv6::Header,
) -> Result<Verdict, Refusal> {
    let Some(report) = tunnel_error::over_v6(packet, header)? else {
        return Ok(pass(host));
    };
    let mut inner = report.inner(packet).ok_or(NOT_SENT)?;
    let other = report.other;
    match task {
        Task::FourInSix(tunnel) => {
            let destination = ipv4::Header::read(&inner, 0)?.destination();
            if !four_in_six::owns_v4(tunnel, destination) || other != tunnel.remote {
                return Err(NOT_SENT);
            }
        }
        // The way back of a packet to the other end is that of one that comes from there.
        Task::Aftr(aftr) => {
            let softwire = other;
            restore(&mut inner, host, &aftr::Up { aftr, softwire })?;
        }
        Task::SoftwireBorder(border) => {
            let softwire = other;
            restore(&mut inner, host, &softwire::Up { border, softwire })?;
        }
        Task::LwAftr(aftr) => {
            let ends = Ends {
                source: other,
                destination: header.destination(),
            };
            restore(&mut inner, host, &lwaftr::Up { aftr, ends })?;
        }
        Task::SoftwireCustomer(customer) => {
            let sender = other;
            restore(&mut inner, host, &softwire::In { customer, sender })?;
        }
        Task::Translate | Task::Nat44(_) | Task::SixInFour(_) => return Err(NOT_SENT),
    }
    report.learn(host);
    Err(report.tell(packet, Family::V4))
}
