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
use crate::stage::{
    self, Border, Concentrator, Device, Edge, LwAftr, Stage, Stateful, Stateless,
    TranslatingBorder, TranslatingEdge, Tunnel,
};

/// Translates what belongs to an instance; everything else goes on to the kernel.
#[xdp]
pub fn isthmus_xdp(context: XdpContext) -> u32 {
    run::<{ stage::FIRST_PART }>(&context)
}

/// Goes on with a packet of a mechanism that shares IPv4 addresses over IPv6.
#[xdp]
pub fn isthmus_xdp_sharing(context: XdpContext) -> u32 {
    run::<{ stage::SECOND_PART }>(&context)
}

/// Goes on with a packet of MAP-T or a CLAT.
#[xdp]
pub fn isthmus_xdp_map_t(context: XdpContext) -> u32 {
    run::<{ stage::THIRD_PART }>(&context)
}

/// Finds the instance of a packet, and has it go on.
#[inline(always)]
fn run<const PART: u32>(context: &XdpContext) -> u32 {
    let configured = Configured::now();
    let mut kind = kind(context);
    let mut vlan = Vlan::NONE;
    let mut link = context.ingress_ifindex() as u32;
    if let Some(ethernet::VLAN | ethernet::SERVICE_VLAN) = kind {
        vlan = Vlan(xdp_untag(context.ctx));
        if vlan == Vlan::NONE {
            return xdp_action::XDP_PASS;
        }
        link = vlan.link();
        kind = self::kind(context);
    }
    let answer = match kind {
        Some(ethernet::IPV4) => {
            let told = || xdp_told(context.ctx) as u8;
            let searched = configured.search_v4(&Frame::new(context), told);
            go_on::<PART>(context, Family::V4, configured, searched, link)
        }
        Some(ethernet::IPV6) => {
            let searched = configured.search_v6(&Frame::new(context));
            go_on::<PART>(context, Family::V6, configured, searched, link)
        }
        _ => return xdp_action::XDP_PASS,
    };
    end(context, answer, vlan)
}

/// The protocol that tells whose an ICMPv4 message is.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_told(context: *mut xdp_md) -> u32 {
    maps::told(&Frame::new(&XdpContext::new(context)))
}

/// Makes the session that an IPv4 packet needs, and has the first program look again.
#[xdp]
pub fn isthmus_xdp_open_v4(context: XdpContext) -> u32 {
    let vlan = Vlan(xdp_untag(context.ctx));
    let answer = stage::open(&mut Frame::new(&context), Family::V4);
    end(&context, answer, vlan)
}

/// Makes the session that an IPv6 packet needs, and has the first program look again.
#[xdp]
pub fn isthmus_xdp_open_v6(context: XdpContext) -> u32 {
    let vlan = Vlan(xdp_untag(context.ctx));
    let answer = stage::open(&mut Frame::new(&context), Family::V6);
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

/// Takes a packet through the mechanism of its instance, as far as a part of the programs does it.
#[inline(always)]
fn go_on<const PART: u32>(
    context: &XdpContext,
    family: Family,
    configured: Configured,
    searched: u64,
    link: u32,
) -> i32 {
    if PART == stage::FIRST_PART {
        dispatch(context, family, configured, searched, link)
    } else if PART == stage::SECOND_PART {
        share(context, family, configured, searched, link)
    } else {
        map_t(context, family, configured, searched, link)
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
    let Some(mechanism) = configured.mechanism(searched) else {
        maps::count(Counter::NotOurs);
        return xdp_action::XDP_PASS as i32;
    };
    match (mechanism, family) {
        (Mechanism::Siit(_), Family::V4) => xdp_v4_stateless(raw, number, searched, link),
        (Mechanism::Siit(_), Family::V6) => xdp_v6_stateless(raw, number, searched, link),
        (Mechanism::Nat64(_), Family::V4) => xdp_v4_stateful(raw, number, searched, link),
        (Mechanism::Nat64(_), Family::V6) => xdp_v6_stateful(raw, number, searched, link),
        // The kernel routes it to the user-space engine.
        (Mechanism::Nat44(_), Family::V4) => {
            maps::count(Counter::SlowPath);
            xdp_action::XDP_PASS as i32
        }
        (Mechanism::Nat44(_), Family::V6) => {
            maps::count(Counter::NotOurs);
            xdp_action::XDP_PASS as i32
        }
        (Mechanism::SixInFour(_) | Mechanism::FourInSix(_), Family::V4) => {
            xdp_v4_tunnel(raw, number, searched, link)
        }
        (Mechanism::SixInFour(_) | Mechanism::FourInSix(_), Family::V6) => {
            xdp_v6_tunnel(raw, number, searched, link)
        }
        (Mechanism::MapTBorder(_) | Mechanism::MapTCustomer(_), _) => stage::TRANSLATE,
        _ => stage::SHARE,
    }
}

/// Takes a packet through a mechanism that shares IPv4 addresses over IPv6.
#[inline(always)]
fn share(
    context: &XdpContext,
    family: Family,
    configured: Configured,
    searched: u64,
    link: u32,
) -> i32 {
    let (raw, number) = (context.ctx, configured.number());
    let Some(mechanism) = configured.mechanism(searched) else {
        return xdp_action::XDP_PASS as i32;
    };
    match (mechanism, family) {
        (Mechanism::Aftr(_), Family::V4) => xdp_v4_aftr(raw, number, searched, link),
        (Mechanism::Aftr(_), Family::V6) => xdp_v6_aftr(raw, number, searched, link),
        (Mechanism::SoftwireBorder(_), Family::V4) => xdp_v4_border(raw, number, searched, link),
        (Mechanism::SoftwireBorder(_), Family::V6) => xdp_v6_border(raw, number, searched, link),
        (Mechanism::LwAftr(_), Family::V4) => xdp_v4_lw_aftr(raw, number, searched, link),
        (Mechanism::LwAftr(_), Family::V6) => xdp_v6_lw_aftr(raw, number, searched, link),
        (Mechanism::SoftwireCustomer(_), Family::V4) => xdp_v4_edge(raw, number, searched, link),
        (Mechanism::SoftwireCustomer(_), Family::V6) => xdp_v6_edge(raw, number, searched, link),
        // The configuration was changed meanwhile.
        _ => xdp_action::XDP_PASS as i32,
    }
}

/// Takes a packet through a mechanism that does so by translation.
#[inline(always)]
fn map_t(
    context: &XdpContext,
    family: Family,
    configured: Configured,
    searched: u64,
    link: u32,
) -> i32 {
    let (raw, number) = (context.ctx, configured.number());
    let Some(mechanism) = configured.mechanism(searched) else {
        return xdp_action::XDP_PASS as i32;
    };
    match (mechanism, family) {
        (Mechanism::MapTBorder(_), Family::V4) => xdp_v4_map_t_border(raw, number, searched, link),
        (Mechanism::MapTBorder(_), Family::V6) => xdp_v6_map_t_border(raw, number, searched, link),
        (Mechanism::MapTCustomer(_), Family::V4) => xdp_v4_map_t_edge(raw, number, searched, link),
        (Mechanism::MapTCustomer(_), Family::V6) => xdp_v6_map_t_edge(raw, number, searched, link),
        // The configuration was changed meanwhile.
        _ => xdp_action::XDP_PASS as i32,
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

/// Such functions.
macro_rules! functions {
    ($($(#[$about:meta])+ $name:ident: $family:ident, $stage:ident;)+) => {$(
        $(#[$about])+
        #[unsafe(no_mangle)]
        #[inline(never)]
        pub extern "C" fn $name(
            context: *mut xdp_md,
            configured: u64,
            searched: u64,
            link: u32,
        ) -> i32 {
            let context = XdpContext::new(context);
            translate::<$stage>(&context, link, Family::$family, configured, searched)
        }
    )+};
}

functions! {
    /// From IPv4 to IPv6 without sessions.
    xdp_v4_stateless: V4, Stateless;
    /// From IPv6 to IPv4 without sessions.
    xdp_v6_stateless: V6, Stateless;
    /// From IPv4 to IPv6 by the sessions that are there.
    xdp_v4_stateful: V4, Stateful;
    /// From IPv6 to IPv4 by the sessions that are there.
    xdp_v6_stateful: V6, Stateful;
    /// An IPv4 packet into a tunnel or out of one.
    xdp_v4_tunnel: V4, Tunnel;
    /// An IPv6 packet into a tunnel or out of one.
    xdp_v6_tunnel: V6, Tunnel;
    /// An IPv4 packet to a host behind a softwire.
    xdp_v4_aftr: V4, Concentrator;
    /// An IPv4 packet from a host behind a softwire.
    xdp_v6_aftr: V6, Concentrator;
    /// An IPv4 packet to a customer who shares its address.
    xdp_v4_border: V4, Border;
    /// An IPv4 packet from a customer who shares its address.
    xdp_v6_border: V6, Border;
    /// An IPv4 packet to a lwB4 of the table.
    xdp_v4_lw_aftr: V4, LwAftr;
    /// An IPv4 packet from a lwB4 of the table.
    xdp_v6_lw_aftr: V6, LwAftr;
    /// An IPv4 packet from a host behind a customer's edge.
    xdp_v4_edge: V4, Edge;
    /// An IPv4 packet to a host behind a customer's edge.
    xdp_v6_edge: V6, Edge;
    /// The same, translated.
    xdp_v4_map_t_border: V4, TranslatingBorder;
    /// The same, translated.
    xdp_v6_map_t_border: V6, TranslatingBorder;
    /// The same, translated.
    xdp_v4_map_t_edge: V4, TranslatingEdge;
    /// The same, translated.
    xdp_v6_map_t_edge: V6, TranslatingEdge;
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
        let header = Ethernet::new(way.addresses(), ethernet::kind_of(family));
        if self.set_ethernet(header).is_none() {
            return Self::DROP;
        }
        match way.next() {
            // SAFETY: a helper without pointers.
            Next::Neighbour => unsafe { bpf_redirect(way.link(), 0) as i32 },
            Next::Vlan => xdp_send_tagged(self.context.ctx, way.link(), way.tag().whole()),
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
