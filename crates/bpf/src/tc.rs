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
use crate::stage::{self, Device, Stage, Stateful, Stateless, Tunnel};

/// Translates what belongs to an instance; everything else goes on to the kernel.
#[classifier]
pub fn isthmus_tc(context: TcContext) -> i32 {
    let configured = Configured::now();
    let link = match link(&context) {
        0 => return TC_ACT_UNSPEC,
        link => link,
    };
    let answer = match kind(&context) {
        Some(ethernet::IPV4) => {
            let searched = configured.search_v4(&Skb::new(&context));
            dispatch(&context, Family::V4, configured, searched, link)
        }
        Some(ethernet::IPV6) => {
            let searched = configured.search_v6(&Skb::new(&context));
            dispatch(&context, Family::V6, configured, searched, link)
        }
        _ => return TC_ACT_UNSPEC,
    };
    end(&context, answer)
}

/// Makes the session that an IPv4 packet needs, and has the first program look again.
#[classifier]
pub fn isthmus_tc_open_v4(context: TcContext) -> i32 {
    Skb::new(&context).linearise();
    end(&context, stage::open(&Skb::new(&context), Family::V4))
}

/// Makes the session that an IPv6 packet needs, and has the first program look again.
#[classifier]
pub fn isthmus_tc_open_v6(context: TcContext) -> i32 {
    Skb::new(&context).linearise();
    end(&context, stage::open(&Skb::new(&context), Family::V6))
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
    match (configured.mechanism(searched), family) {
        (Some(Mechanism::Siit(_)), Family::V4) => tc_v4_stateless(raw, number, searched, link),
        (Some(Mechanism::Siit(_)), Family::V6) => tc_v6_stateless(raw, number, searched, link),
        (Some(Mechanism::Nat64(_)), Family::V4) => tc_v4_stateful(raw, number, searched, link),
        (Some(Mechanism::Nat64(_)), Family::V6) => tc_v6_stateful(raw, number, searched, link),
        (Some(Mechanism::SixInFour(_) | Mechanism::FourInSix(_)), Family::V4) => {
            tc_v4_tunnel(raw, number, searched, link)
        }
        (Some(Mechanism::SixInFour(_) | Mechanism::FourInSix(_)), Family::V6) => {
            tc_v6_tunnel(raw, number, searched, link)
        }
        // The kernel routes it to the user-space engine.
        (Some(Mechanism::Nat44(_)), Family::V4) => {
            maps::count(Counter::SlowPath);
            TC_ACT_UNSPEC
        }
        (Some(Mechanism::Nat44(_)) | None, _) => {
            maps::count(Counter::NotOurs);
            TC_ACT_UNSPEC
        }
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

/// Translates an IPv4 packet without sessions; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn tc_v4_stateless(
    context: *mut __sk_buff,
    configured: u64,
    searched: u64,
    link: u32,
) -> i32 {
    translate::<Stateless>(
        &TcContext::new(context),
        link,
        Family::V4,
        configured,
        searched,
    )
}

/// Translates an IPv4 packet by the sessions that are there; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn tc_v4_stateful(
    context: *mut __sk_buff,
    configured: u64,
    searched: u64,
    link: u32,
) -> i32 {
    translate::<Stateful>(
        &TcContext::new(context),
        link,
        Family::V4,
        configured,
        searched,
    )
}

/// Translates an IPv6 packet without sessions; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn tc_v6_stateless(
    context: *mut __sk_buff,
    configured: u64,
    searched: u64,
    link: u32,
) -> i32 {
    translate::<Stateless>(
        &TcContext::new(context),
        link,
        Family::V6,
        configured,
        searched,
    )
}

/// Translates an IPv6 packet by the sessions that are there; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn tc_v6_stateful(
    context: *mut __sk_buff,
    configured: u64,
    searched: u64,
    link: u32,
) -> i32 {
    translate::<Stateful>(
        &TcContext::new(context),
        link,
        Family::V6,
        configured,
        searched,
    )
}

/// Takes an IPv4 packet into a tunnel or out of one; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn tc_v4_tunnel(
    context: *mut __sk_buff,
    configured: u64,
    searched: u64,
    link: u32,
) -> i32 {
    translate::<Tunnel>(
        &TcContext::new(context),
        link,
        Family::V4,
        configured,
        searched,
    )
}

/// Takes an IPv6 packet into a tunnel or out of one; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn tc_v6_tunnel(
    context: *mut __sk_buff,
    configured: u64,
    searched: u64,
    link: u32,
) -> i32 {
    translate::<Tunnel>(
        &TcContext::new(context),
        link,
        Family::V6,
        configured,
        searched,
    )
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
            return unsafe { bpf_redirect_neigh(way.link, core::ptr::null_mut(), 0, 0) as i32 };
        }
        let header = Ethernet::new(way.addresses, ethernet::kind_of(family));
        match self.set_ethernet(header) {
            // SAFETY: a helper without pointers.
            Some(()) => unsafe { bpf_redirect(way.link, 0) as i32 },
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
