//! The tc programs.

use aya_ebpf::bindings::{__sk_buff, TC_ACT_SHOT, TC_ACT_UNSPEC};
use aya_ebpf::helpers::{bpf_redirect, bpf_redirect_neigh, bpf_skb_vlan_pop};
use aya_ebpf::macros::classifier;
use aya_ebpf::programs::TcContext;
use isthmus_core::config::Mechanism;
use isthmus_core::packet::Family;
use isthmus_core::reason::Counter;

use crate::ethernet::{self, Addresses, Ethernet, Tag};
use crate::link;
use crate::maps::{self, Configured, TC_PROGRAMS};
use crate::route::{self, Fib, Ingress, Next};
use crate::skb::Skb;
use crate::stage::{
    self, Border, Concentrator, Device, Edge, LwAftr, Stage, Stateful, Stateless,
    TranslatingBorder, TranslatingEdge, Tunnel,
};

/// Translates what belongs to an instance; everything else goes on to the kernel.
#[classifier]
pub fn isthmus_tc(context: TcContext) -> i32 {
    run::<{ stage::FIRST_PART }>(&context)
}

/// Goes on with a packet of a mechanism that shares IPv4 addresses over IPv6.
#[classifier]
pub fn isthmus_tc_sharing(context: TcContext) -> i32 {
    run::<{ stage::SECOND_PART }>(&context)
}

/// Goes on with a packet of MAP-T or a CLAT.
#[classifier]
pub fn isthmus_tc_map_t(context: TcContext) -> i32 {
    run::<{ stage::THIRD_PART }>(&context)
}

/// Finds the instance of a packet, and has it go on.
#[inline(always)]
fn run<const PART: u32>(context: &TcContext) -> i32 {
    let configured = Configured::now();
    let link = match link(context) {
        0 => return TC_ACT_UNSPEC,
        link => link,
    };
    let answer = match kind(context) {
        Some(ethernet::IPV4) => {
            let told = || tc_told(context.skb.skb) as u8;
            let searched = configured.search_v4(&Skb::new(context), told);
            go_on::<PART>(context, Family::V4, configured, searched, link)
        }
        Some(ethernet::IPV6) => {
            let searched = configured.search_v6(&Skb::new(context));
            go_on::<PART>(context, Family::V6, configured, searched, link)
        }
        _ => return TC_ACT_UNSPEC,
    };
    end(context, answer)
}

/// The protocol that tells whose an ICMPv4 message is.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn tc_told(context: *mut __sk_buff) -> u32 {
    maps::told(&Skb::new(&TcContext::new(context)))
}

/// Makes the session that an IPv4 packet needs, and has the first program look again.
#[classifier]
pub fn isthmus_tc_open_v4(context: TcContext) -> i32 {
    Skb::new(&context).linearise();
    end(&context, stage::open(&mut Skb::new(&context), Family::V4))
}

/// Makes the session that an IPv6 packet needs, and has the first program look again.
#[classifier]
pub fn isthmus_tc_open_v6(context: TcContext) -> i32 {
    Skb::new(&context).linearise();
    end(&context, stage::open(&mut Skb::new(&context), Family::V6))
}

/// Takes a packet through the mechanism of its instance, as far as a part of the programs does it.
#[inline(always)]
fn go_on<const PART: u32>(
    context: &TcContext,
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
    context: &TcContext,
    family: Family,
    configured: Configured,
    searched: u64,
    link: u32,
) -> i32 {
    let (raw, number) = (context.skb.skb, configured.number());
    let Some(mechanism) = configured.mechanism(searched) else {
        maps::count(Counter::NotOurs);
        return TC_ACT_UNSPEC;
    };
    match (mechanism, family) {
        (Mechanism::Siit(_), Family::V4) => tc_v4_stateless(raw, number, searched, link),
        (Mechanism::Siit(_), Family::V6) => tc_v6_stateless(raw, number, searched, link),
        (Mechanism::Nat64(_), Family::V4) => tc_v4_stateful(raw, number, searched, link),
        (Mechanism::Nat64(_), Family::V6) => tc_v6_stateful(raw, number, searched, link),
        // The kernel routes it to the user-space engine.
        (Mechanism::Nat44(_), Family::V4) => {
            maps::count(Counter::SlowPath);
            TC_ACT_UNSPEC
        }
        (Mechanism::Nat44(_), Family::V6) => {
            maps::count(Counter::NotOurs);
            TC_ACT_UNSPEC
        }
        (Mechanism::SixInFour(_) | Mechanism::FourInSix(_), Family::V4) => {
            tc_v4_tunnel(raw, number, searched, link)
        }
        (Mechanism::SixInFour(_) | Mechanism::FourInSix(_), Family::V6) => {
            tc_v6_tunnel(raw, number, searched, link)
        }
        (Mechanism::MapTBorder(_) | Mechanism::MapTCustomer(_), _) => stage::TRANSLATE,
        _ => stage::SHARE,
    }
}

/// Takes a packet through a mechanism that shares IPv4 addresses over IPv6.
#[inline(always)]
fn share(
    context: &TcContext,
    family: Family,
    configured: Configured,
    searched: u64,
    link: u32,
) -> i32 {
    let (raw, number) = (context.skb.skb, configured.number());
    let Some(mechanism) = configured.mechanism(searched) else {
        return TC_ACT_UNSPEC;
    };
    match (mechanism, family) {
        (Mechanism::Aftr(_), Family::V4) => tc_v4_aftr(raw, number, searched, link),
        (Mechanism::Aftr(_), Family::V6) => tc_v6_aftr(raw, number, searched, link),
        (Mechanism::SoftwireBorder(_), Family::V4) => tc_v4_border(raw, number, searched, link),
        (Mechanism::SoftwireBorder(_), Family::V6) => tc_v6_border(raw, number, searched, link),
        (Mechanism::LwAftr(_), Family::V4) => tc_v4_lw_aftr(raw, number, searched, link),
        (Mechanism::LwAftr(_), Family::V6) => tc_v6_lw_aftr(raw, number, searched, link),
        (Mechanism::SoftwireCustomer(_), Family::V4) => tc_v4_edge(raw, number, searched, link),
        (Mechanism::SoftwireCustomer(_), Family::V6) => tc_v6_edge(raw, number, searched, link),
        // The configuration was changed meanwhile.
        _ => TC_ACT_UNSPEC,
    }
}

/// Takes a packet through a mechanism that does so by translation.
#[inline(always)]
fn map_t(
    context: &TcContext,
    family: Family,
    configured: Configured,
    searched: u64,
    link: u32,
) -> i32 {
    let (raw, number) = (context.skb.skb, configured.number());
    let Some(mechanism) = configured.mechanism(searched) else {
        return TC_ACT_UNSPEC;
    };
    match (mechanism, family) {
        (Mechanism::MapTBorder(_), Family::V4) => tc_v4_map_t_border(raw, number, searched, link),
        (Mechanism::MapTBorder(_), Family::V6) => tc_v6_map_t_border(raw, number, searched, link),
        (Mechanism::MapTCustomer(_), Family::V4) => tc_v4_map_t_edge(raw, number, searched, link),
        (Mechanism::MapTCustomer(_), Family::V6) => tc_v6_map_t_edge(raw, number, searched, link),
        // The configuration was changed meanwhile.
        _ => TC_ACT_UNSPEC,
    }
}

/// Answers the kernel, or goes on with another program. The packet is unchanged then: if the
/// program is not there, or too many have been called, the kernel takes it to the slow path.
#[inline(always)]
fn end(context: &TcContext, answer: i32) -> i32 {
    let Some(program) = stage::next_program(answer) else {
        return answer;
    };
    // SAFETY: the program array holds programs of this type only.
    let _not_called = unsafe { TC_PROGRAMS.tail_call(context, program) };
    maps::count(Counter::SlowPath);
    TC_ACT_UNSPEC
}

#[inline(always)]
fn kind(context: &TcContext) -> Option<u16> {
    let skb = Skb::new(context);
    skb.linearise();
    skb.kind()
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
            context: *mut __sk_buff,
            configured: u64,
            searched: u64,
            link: u32,
        ) -> i32 {
            let context = TcContext::new(context);
            translate::<$stage>(&context, link, Family::$family, configured, searched)
        }
    )+};
}

functions! {
    /// From IPv4 to IPv6 without sessions.
    tc_v4_stateless: V4, Stateless;
    /// From IPv6 to IPv4 without sessions.
    tc_v6_stateless: V6, Stateless;
    /// From IPv4 to IPv6 by the sessions that are there.
    tc_v4_stateful: V4, Stateful;
    /// From IPv6 to IPv4 by the sessions that are there.
    tc_v6_stateful: V6, Stateful;
    /// An IPv4 packet into a tunnel or out of one.
    tc_v4_tunnel: V4, Tunnel;
    /// An IPv6 packet into a tunnel or out of one.
    tc_v6_tunnel: V6, Tunnel;
    /// An IPv4 packet to a host behind a softwire.
    tc_v4_aftr: V4, Concentrator;
    /// An IPv4 packet from a host behind a softwire.
    tc_v6_aftr: V6, Concentrator;
    /// An IPv4 packet to a customer who shares its address.
    tc_v4_border: V4, Border;
    /// An IPv4 packet from a customer who shares its address.
    tc_v6_border: V6, Border;
    /// An IPv4 packet to a lwB4 of the table.
    tc_v4_lw_aftr: V4, LwAftr;
    /// An IPv4 packet from a lwB4 of the table.
    tc_v6_lw_aftr: V6, LwAftr;
    /// An IPv4 packet from a host behind a customer's edge.
    tc_v4_edge: V4, Edge;
    /// An IPv4 packet to a host behind a customer's edge.
    tc_v6_edge: V6, Edge;
    /// The same, translated.
    tc_v4_map_t_border: V4, TranslatingBorder;
    /// The same, translated.
    tc_v6_map_t_border: V6, TranslatingBorder;
    /// The same, translated.
    tc_v4_map_t_edge: V4, TranslatingEdge;
    /// The same, translated.
    tc_v6_map_t_edge: V6, TranslatingEdge;
}

#[inline(always)]
fn translate<S: Stage>(
    context: &TcContext,
    link: u32,
    family: Family,
    configured: u64,
    searched: u64,
) -> i32 {
    let way = Fib::new(Arrival { context, link });
    let configured = Configured::from_number(configured);
    stage::translate::<S, _>(&mut Skb::new(context), way, family, configured, searched)
}

/// Leaves the forwarding of a translated packet to the kernel. It goes by the protocol of the
/// socket buffer; who captures packets sees the type in the Ethernet header.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn tc_up(context: *mut __sk_buff) -> i32 {
    let context = TcContext::new(context);
    let mut skb = Skb::new(&context);
    // SAFETY: a field of the context.
    let kind = u16::from_be(unsafe { (*context.skb.skb).protocol } as u16);
    match skb.ethernet() {
        Some(header) => skb.set_ethernet(Ethernet::new(header.addresses(), kind)),
        None => None,
    };
    stage::up(&mut skb)
}

/// The link that a packet came in on: the device of its VLAN, if it came with a tag, which the
/// kernel has taken out of the packet and put beside it. 0 if there is no such device.
#[inline(always)]
fn link(context: &TcContext) -> u32 {
    let skb = context.skb.skb;
    // SAFETY: fields of the context.
    let (number, tagged) = unsafe { ((*skb).ifindex, (*skb).vlan_present != 0) };
    if !tagged {
        return number;
    }
    // SAFETY: fields of the context.
    let (kind, control) = unsafe { ((*skb).vlan_proto, (*skb).vlan_tci) };
    let tag = Tag::new(u16::from_be(kind as u16), control as u16);
    link::vlan(number, tag.number().into())
}

/// Forgets the tag that a packet came with: it is about to leave elsewhere.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn tc_untag(context: *mut __sk_buff) -> i32 {
    // SAFETY: the context is that of this run; all pointers are made anew at each access.
    unsafe { bpf_skb_vlan_pop(context) as i32 }
}

impl<'a> Device for Skb<'a> {
    type Way = Fib<Arrival<'a>>;
    const PASS: i32 = TC_ACT_UNSPEC;
    const DROP: i32 = TC_ACT_SHOT;

    /// To its neighbour, whom the kernel finds if need be, or up to the kernel.
    #[inline(always)]
    fn send(&mut self, fib: &Self::Way, family: Family) -> i32 {
        let Some(way) = fib.way() else {
            return Self::DROP;
        };
        if way.next() == Next::Kernel {
            return tc_up(self.context.skb.skb);
        }
        // SAFETY: a field of the context.
        let tagged = unsafe { (*self.context.skb.skb).vlan_present != 0 };
        if tagged && tc_untag(self.context.skb.skb) != 0 {
            return Self::DROP;
        }
        if way.next() == Next::Link {
            // SAFETY: no pointer is given: the kernel asks its table for the next hop.
            return unsafe { bpf_redirect_neigh(way.link(), core::ptr::null_mut(), 0, 0) as i32 };
        }
        let header = Ethernet::new(way.addresses(), ethernet::kind_of(family));
        match self.set_ethernet(header) {
            // SAFETY: a helper without pointers.
            Some(()) => unsafe { bpf_redirect(way.link(), 0) as i32 },
            None => Self::DROP,
        }
    }
}

/// Where a packet comes in.
pub(crate) struct Arrival<'a> {
    context: &'a TcContext,
    /// The link, or the device of the VLAN.
    link: u32,
}

impl Ingress for Arrival<'_> {
    const FRAMES: bool = false;

    #[inline(always)]
    fn link(&self) -> u32 {
        self.link
    }

    /// The kernel keeps them.
    #[inline(always)]
    fn addresses(&self) -> Option<Addresses> {
        None
    }

    #[inline(always)]
    fn ask(&self, place: u32) {
        tc_ask(self.context.skb.skb, place);
    }
}

/// Asks the kernel for a way; see [`route::ask`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn tc_ask(context: *mut __sk_buff, place: u32) -> i32 {
    route::ask::<Arrival<'_>>(context.cast(), place);
    0
}
