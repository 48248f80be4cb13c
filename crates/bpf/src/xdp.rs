//! The XDP programs.

use aya_ebpf::bindings::{xdp_action, xdp_md};
use aya_ebpf::helpers::bpf_redirect;
use aya_ebpf::macros::xdp;
use aya_ebpf::programs::XdpContext;
use isthmus_core::config::Mechanism;
use isthmus_core::packet::Family;
use isthmus_core::reason::Counter;

use crate::ethernet::{self, Addresses, Ethernet, Tag};
use crate::frame::Frame;
use crate::link;
use crate::maps::{self, Configured, XDP_PROGRAMS};
use crate::route::{self, Fib, Ingress, Next};
use crate::stage::{self, Device, Stage, Stateful, Stateless, Tunnel};

/// Translates what belongs to an instance; everything else goes on to the kernel.
#[xdp]
pub fn isthmus_xdp(context: XdpContext) -> u32 {
    let configured = Configured::now();
    let mut kind = kind(&context);
    let mut vlan = Vlan::NONE;
    let mut link = context.ingress_ifindex() as u32;
    if let Some(ethernet::VLAN | ethernet::SERVICE_VLAN) = kind {
        vlan = Vlan(xdp_untag(context.ctx));
        if vlan == Vlan::NONE {
            return xdp_action::XDP_PASS;
        }
        link = vlan.link();
        kind = self::kind(&context);
    }
    let answer = match kind {
        Some(ethernet::IPV4) => {
            let searched = configured.search_v4(&Frame::new(&context));
            dispatch(&context, Family::V4, configured, searched, link)
        }
        Some(ethernet::IPV6) => {
            let searched = configured.search_v6(&Frame::new(&context));
            dispatch(&context, Family::V6, configured, searched, link)
        }
        _ => return xdp_action::XDP_PASS,
    };
    end(&context, answer, vlan)
}

/// Makes the session that an IPv4 packet needs, and has the first program look again.
#[xdp]
pub fn isthmus_xdp_open_v4(context: XdpContext) -> u32 {
    let vlan = Vlan(xdp_untag(context.ctx));
    let answer = stage::open(&Frame::new(&context), Family::V4);
    end(&context, answer, vlan)
}

/// Makes the session that an IPv6 packet needs, and has the first program look again.
#[xdp]
pub fn isthmus_xdp_open_v6(context: XdpContext) -> u32 {
    let vlan = Vlan(xdp_untag(context.ctx));
    let answer = stage::open(&Frame::new(&context), Family::V6);
    end(&context, answer, vlan)
}

/// The VLAN of a frame whose tag was taken away, as one number: the tag in the upper half, the
/// number of its device in the lower.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Vlan(u64);

impl Vlan {
    /// The frame is as it came.
    const NONE: Self = Self(0);

    #[inline(always)]
    fn link(self) -> u32 {
        self.0 as u32
    }
}

/// Takes the tag of an IP packet away, if the daemon knows the device of its VLAN; answers what
/// [`Vlan`] is made of.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_untag(context: *mut xdp_md) -> u64 {
    let context = XdpContext::new(context);
    let frame = Frame::new(&context);
    let Some(header) = frame.tagged() else {
        return 0;
    };
    let tag = header.tag();
    if !tag.is_known() || !matches!(header.ethernet().kind(), ethernet::IPV4 | ethernet::IPV6) {
        return 0;
    }
    match link::vlan(context.ingress_ifindex() as u32, tag.number().into()) {
        0 => 0,
        device => match frame.untag(header) {
            Some(()) => u64::from(tag.whole()) << 32 | u64::from(device),
            None => 0,
        },
    }
}

/// Puts the tag back that [`xdp_untag`] took, for the kernel or for another program.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_retag(context: *mut xdp_md, answer: i32, vlan: u64) -> i32 {
    let context = XdpContext::new(context);
    if answer != xdp_action::XDP_PASS as i32 && stage::next_program(answer).is_none() {
        return answer;
    }
    match Frame::new(&context).insert_tag(Tag::from_whole((vlan >> 32) as u32)) {
        Some(()) => answer,
        None => xdp_action::XDP_DROP as i32,
    }
}

/// Translates a packet by the mechanism of its instance.
#[inline(always)]
fn dispatch(
    context: &XdpContext,
    family: Family,
    configured: Configured,
    searched: u64,
    link: u32,
) -> i32 {
    let (raw, number) = (context.ctx, configured.number());
    match (configured.mechanism(searched), family) {
        (Some(Mechanism::Siit(_)), Family::V4) => xdp_v4_stateless(raw, number, searched, link),
        (Some(Mechanism::Siit(_)), Family::V6) => xdp_v6_stateless(raw, number, searched, link),
        (Some(Mechanism::Nat64(_)), Family::V4) => xdp_v4_stateful(raw, number, searched, link),
        (Some(Mechanism::Nat64(_)), Family::V6) => xdp_v6_stateful(raw, number, searched, link),
        (Some(Mechanism::SixInFour(_) | Mechanism::FourInSix(_)), Family::V4) => {
            xdp_v4_tunnel(raw, number, searched, link)
        }
        (Some(Mechanism::SixInFour(_) | Mechanism::FourInSix(_)), Family::V6) => {
            xdp_v6_tunnel(raw, number, searched, link)
        }
        // The kernel routes it to the user-space engine.
        (Some(Mechanism::Nat44(_)), Family::V4) => {
            maps::count(Counter::SlowPath);
            xdp_action::XDP_PASS as i32
        }
        (Some(Mechanism::Nat44(_)) | None, _) => {
            maps::count(Counter::NotOurs);
            xdp_action::XDP_PASS as i32
        }
    }
}

/// Answers the kernel, or goes on with another program. The frame is unchanged then: if the program
/// is not there, or too many have been called, the kernel takes it to the slow path.
#[inline(always)]
fn end(context: &XdpContext, mut answer: i32, vlan: Vlan) -> u32 {
    if vlan != Vlan::NONE {
        answer = xdp_retag(context.ctx, answer, vlan.0);
    }
    let Some(program) = stage::next_program(answer) else {
        return answer as u32;
    };
    // SAFETY: the program array holds programs of this type only.
    let _not_called = unsafe { XDP_PROGRAMS.tail_call(context, program) };
    maps::count(Counter::SlowPath);
    xdp_action::XDP_PASS
}

#[inline(always)]
fn kind(context: &XdpContext) -> Option<u16> {
    Frame::new(context).kind()
}

// One global function per direction and mechanism: the verifier looks at each once, whatever came
// before.

/// Translates an IPv4 packet without sessions; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_v4_stateless(
    context: *mut xdp_md,
    configured: u64,
    searched: u64,
    link: u32,
) -> i32 {
    translate::<Stateless>(
        &XdpContext::new(context),
        link,
        Family::V4,
        configured,
        searched,
    )
}

/// Translates an IPv4 packet by the sessions that are there; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_v4_stateful(
    context: *mut xdp_md,
    configured: u64,
    searched: u64,
    link: u32,
) -> i32 {
    translate::<Stateful>(
        &XdpContext::new(context),
        link,
        Family::V4,
        configured,
        searched,
    )
}

/// Translates an IPv6 packet without sessions; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_v6_stateless(
    context: *mut xdp_md,
    configured: u64,
    searched: u64,
    link: u32,
) -> i32 {
    translate::<Stateless>(
        &XdpContext::new(context),
        link,
        Family::V6,
        configured,
        searched,
    )
}

/// Translates an IPv6 packet by the sessions that are there; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_v6_stateful(
    context: *mut xdp_md,
    configured: u64,
    searched: u64,
    link: u32,
) -> i32 {
    translate::<Stateful>(
        &XdpContext::new(context),
        link,
        Family::V6,
        configured,
        searched,
    )
}

/// Takes an IPv4 packet into a tunnel or out of one; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_v4_tunnel(
    context: *mut xdp_md,
    configured: u64,
    searched: u64,
    link: u32,
) -> i32 {
    translate::<Tunnel>(
        &XdpContext::new(context),
        link,
        Family::V4,
        configured,
        searched,
    )
}

/// Takes an IPv6 packet into a tunnel or out of one; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_v6_tunnel(
    context: *mut xdp_md,
    configured: u64,
    searched: u64,
    link: u32,
) -> i32 {
    translate::<Tunnel>(
        &XdpContext::new(context),
        link,
        Family::V6,
        configured,
        searched,
    )
}

#[inline(always)]
fn translate<S: Stage>(
    context: &XdpContext,
    link: u32,
    family: Family,
    configured: u64,
    searched: u64,
) -> i32 {
    let way = Fib::new(Arrival { context, link });
    let configured = Configured::from_number(configured);
    stage::translate::<S, _>(&mut Frame::new(context), way, family, configured, searched)
}

/// Leaves the forwarding of a translated packet to the kernel.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_up(context: *mut xdp_md) -> i32 {
    let context = XdpContext::new(context);
    stage::up(&mut Frame::new(&context))
}

/// Sends a frame with a tag.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_send_tagged(context: *mut xdp_md, link: u32, tag: u32) -> i32 {
    let context = XdpContext::new(context);
    match Frame::new(&context).insert_tag(Tag::from_whole(tag)) {
        // SAFETY: a helper without pointers.
        Some(()) => unsafe { bpf_redirect(link, 0) as i32 },
        None => xdp_action::XDP_DROP as i32,
    }
}

impl<'a> Device for Frame<'a> {
    type Way = Fib<Arrival<'a>>;
    const PASS: i32 = xdp_action::XDP_PASS as i32;
    const DROP: i32 = xdp_action::XDP_DROP as i32;

    /// To its neighbour, or up to the kernel if there is none yet or the kernel forwards.
    #[inline(always)]
    fn send(&mut self, fib: &Self::Way, family: Family) -> i32 {
        let Some(way) = fib.way() else {
            return Self::DROP;
        };
        let header = Ethernet::new(way.addresses, ethernet::kind_of(family));
        if self.set_ethernet(header).is_none() {
            return Self::DROP;
        }
        match way.next() {
            // SAFETY: a helper without pointers.
            Next::Neighbour => unsafe { bpf_redirect(way.link, 0) as i32 },
            Next::Vlan => xdp_send_tagged(self.context.ctx, way.link, way.tag().whole()),
            Next::Link | Next::Kernel => xdp_up(self.context.ctx),
        }
    }
}

/// Where a frame comes in.
pub(crate) struct Arrival<'a> {
    context: &'a XdpContext,
    /// The link, or the device of the VLAN.
    link: u32,
}

impl Ingress for Arrival<'_> {
    const FRAMES: bool = true;

    #[inline(always)]
    fn link(&self) -> u32 {
        self.link
    }

    #[inline(always)]
    fn addresses(&self) -> Option<Addresses> {
        Frame::new(self.context).ethernet().map(Ethernet::addresses)
    }

    #[inline(always)]
    fn ask(&self, place: u32) {
        xdp_ask(self.context.ctx, place);
    }
}

/// Asks the kernel for a way; see [`route::ask`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_ask(context: *mut xdp_md, place: u32) -> i32 {
    route::ask::<Arrival<'_>>(context.cast(), place);
    0
}
