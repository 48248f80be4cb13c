//! Asks the kernel about a link and the programs on it: others can take a program off, or change the MTU.

use std::io;

use aya::util::KernelVersion;
use isthmus_abi::programs::Hook;
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoKind, LinkAttribute, LinkExtentMask, LinkInfo, LinkMessage, LinkXdp,
};
use netlink_packet_route::tc::{TcAttribute, TcFilterBpfOption, TcHandle, TcMessage, TcOption};

use super::dump::request;
use super::frames::{self, XdpAbilities};
use crate::sys;

/// The parent of the filters at the ingress of a link: `TC_H_CLSACT` and `TC_H_MIN_INGRESS` of
/// `linux/pkt_sched.h`.
pub(super) const INGRESS: TcHandle = TcHandle {
    major: 0xffff,
    minor: 0xfff2,
};

/// A link of the network namespace of the calling thread, as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkNow {
    /// Its number, which no later link of its name has.
    pub number: u32,
    /// Bytes of its largest packet. Drivers refuse XDP programs where it is too large.
    pub mtu: u32,
}

impl LinkNow {
    /// Asks for the link of this name, if there is one.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn of(interface: &str) -> io::Result<Option<Self>> {
        let Ok(number) = sys::link_number(interface) else {
            return Ok(None);
        };
        let mut now = Self { number, mtu: 0 };
        about(number, |attribute| {
            if let LinkAttribute::Mtu(mtu) = attribute {
                now.mtu = mtu;
            }
        })?;
        Ok(Some(now))
    }
}

/// Whether tc programs have links of their own, rather than filters of a queueing discipline.
pub(super) fn has_tcx() -> bool {
    KernelVersion::current().is_ok_and(|kernel| kernel >= KernelVersion::new(6, 6, 0))
}

/// Whether attachments of a hook are descriptors, so that the programs of another process can be attached as well. The
/// loader attaches filters, and only of programs that it has loaded.
pub(super) fn is_descriptor(hook: Hook) -> bool {
    match hook {
        Hook::Xdp => true,
        Hook::Tc => has_tcx(),
    }
}

/// Whether the device of a link takes the tags of VLANs off, so that XDP programs do not see them.
///
/// # Errors
/// The kernel does not tell.
pub fn takes_tags_off(interface: &str) -> io::Result<bool> {
    sys::takes_tags_off(interface)
}

/// The abilities of the driver of a link with XDP. `None`: the kernel, older than 6.3, does not know, or has no such
/// link.
///
/// # Errors
/// The kernel does not tell.
pub fn xdp_abilities(interface: &str) -> io::Result<Option<XdpAbilities>> {
    let Ok(number) = sys::link_number(interface) else {
        return Ok(None);
    };
    Ok(frames::abilities()?.and_then(|all| all.get(&number).copied()))
}

/// Whether a link is a veth whose other end does not poll, so that XDP cannot send there.
///
/// # Errors
/// The kernel does not tell.
pub fn is_deaf(interface: &str) -> io::Result<bool> {
    let refuses = xdp_abilities(interface)?.is_some_and(|can| !can.takes_frames);
    if !refuses {
        return Ok(false);
    }
    let mut is_veth = false;
    about(sys::link_number(interface)?, |attribute| {
        if let LinkAttribute::LinkInfo(infos) = attribute {
            is_veth = infos.contains(&LinkInfo::Kind(InfoKind::Veth));
        }
    })?;
    Ok(is_veth)
}

/// Returns the numbers of the programs of a hook on a link.
pub(super) fn programs(hook: Hook, link: u32) -> io::Result<Vec<u32>> {
    match hook {
        Hook::Xdp => xdp_programs(link),
        Hook::Tc if has_tcx() => sys::bpf::tcx_programs(link),
        Hook::Tc => filters(link),
    }
}

fn xdp_programs(link: u32) -> io::Result<Vec<u32>> {
    let mut programs = Vec::new();
    about(link, |attribute| {
        if let LinkAttribute::Xdp(about) = attribute {
            programs.extend(about.into_iter().filter_map(|one| match one {
                LinkXdp::DrvProgId(number) | LinkXdp::SkbProgId(number) => Some(number),
                _ => None,
            }));
        }
    })?;
    Ok(programs)
}

/// The programs of filters.
fn filters(link: u32) -> io::Result<Vec<u32>> {
    let mut message = TcMessage::with_index(link as i32);
    message.header.parent = INGRESS;
    let mut programs = Vec::new();
    let filters = RouteNetlinkMessage::GetTrafficFilter(message);
    request(filters, NLM_F_REQUEST | NLM_F_DUMP, |answer| {
        if let RouteNetlinkMessage::NewTrafficFilter(filter) = answer {
            let options = filter.attributes.into_iter().filter_map(|one| match one {
                TcAttribute::Options(options) => Some(options),
                _ => None,
            });
            programs.extend(options.flatten().filter_map(|option| match option {
                TcOption::Bpf(TcFilterBpfOption::ProgId(number)) => Some(number),
                _ => None,
            }));
        }
        Ok(())
    })?;
    Ok(programs)
}

/// Passes all attributes of a link to `take`.
pub(super) fn about(link: u32, mut take: impl FnMut(LinkAttribute)) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = link;
    let brief = LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]);
    message.attributes.push(brief);
    let link = RouteNetlinkMessage::GetLink(message);
    request(link, NLM_F_REQUEST, |answer| {
        if let RouteNetlinkMessage::NewLink(link) = answer {
            link.attributes.into_iter().for_each(&mut take);
        }
        Ok(())
    })
}
