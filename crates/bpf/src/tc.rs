//! The tc programs.

use aya_ebpf::EbpfContext as _;
use aya_ebpf::bindings::{
    BPF_FIB_LKUP_RET_NO_NEIGH, BPF_FIB_LKUP_RET_SUCCESS, TC_ACT_SHOT, TC_ACT_UNSPEC,
};
use aya_ebpf::helpers::{bpf_redirect, bpf_redirect_neigh};
use aya_ebpf::macros::classifier;
use aya_ebpf::programs::TcContext;
use isthmus_core::host::{Destination, Route};
use isthmus_core::packet::Family;

use crate::ethernet::{self, Ethernet};
use crate::maps::{self, Configured, TC_PROGRAMS};
use crate::route::{self, Egress, Next};
use crate::skb::Skb;
use crate::stage::{self, Device};

/// Translates what belongs to an instance; everything else goes on to the kernel.
#[classifier]
pub fn isthmus_tc(context: TcContext) -> i32 {
    let configured = Configured::now();
    let answer = match kind(&context) {
        Some(ethernet::IPV4) => {
            let instance = stage::instance_v4(&Skb::new(&context), configured);
            from_v4(&context, configured.number(), instance)
        }
        Some(ethernet::IPV6) => {
            let instance = stage::instance_v6(&Skb::new(&context), configured);
            from_v6(&context, configured.number(), instance)
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

/// Answers the kernel, or goes on with another program. The packet is unchanged then: if the
/// program is not there, or too many have been called, the kernel takes it to the slow path.
#[inline(always)]
fn end(context: &TcContext, answer: i32) -> i32 {
    let Some(program) = stage::next_program(answer) else {
        return answer;
    };
    // SAFETY: the program array holds programs of this type only.
    let _not_called = unsafe { TC_PROGRAMS.tail_call(context, program) };
    maps::count_slow_path();
    TC_ACT_UNSPEC
}

#[inline(always)]
fn kind(context: &TcContext) -> Option<u16> {
    let skb = Skb::new(context);
    skb.linearise();
    skb.ethernet().map(Ethernet::kind)
}

// One function per direction and program, so that the verifier and the stack see them one by one.

#[inline(never)]
fn from_v4(context: &TcContext, configured: u64, instance: u64) -> i32 {
    let configured = Configured::from_number(configured);
    let way = Fib::new(context);
    stage::translate(
        &mut Skb::new(context),
        way,
        Family::V4,
        configured,
        instance,
    )
}

#[inline(never)]
fn from_v6(context: &TcContext, configured: u64, instance: u64) -> i32 {
    let configured = Configured::from_number(configured);
    let way = Fib::new(context);
    stage::translate(
        &mut Skb::new(context),
        way,
        Family::V6,
        configured,
        instance,
    )
}

impl<'a> Device for Skb<'a> {
    type Way = Fib<'a>;
    const PASS: i32 = TC_ACT_UNSPEC;
    const DROP: i32 = TC_ACT_SHOT;

    /// To its neighbour, whom the kernel finds if need be, or up to the kernel.
    #[inline(always)]
    fn send(&mut self, way: &Fib<'a>, family: Family) -> i32 {
        let Some(fib) = route::answer() else {
            return Self::DROP;
        };
        match way.next {
            Next::Neighbour => {
                let header = Ethernet::new(route::addresses(fib), ethernet::kind_of(family));
                match self.set_ethernet(header) {
                    // SAFETY: a helper without pointers.
                    Some(()) => unsafe { bpf_redirect(fib.ifindex, 0) as i32 },
                    None => Self::DROP,
                }
            }
            // SAFETY: no pointer is given: the kernel asks its table for the next hop.
            Next::Link => unsafe {
                bpf_redirect_neigh(fib.ifindex, core::ptr::null_mut(), 0, 0) as i32
            },
            Next::Unknown | Next::Kernel => Self::PASS,
        }
    }
}

/// The forwarding table, asked from the link that the packet came in on.
pub(crate) struct Fib<'a> {
    context: &'a TcContext,
    next: Next,
}

impl<'a> Fib<'a> {
    #[inline(always)]
    fn new(context: &'a TcContext) -> Self {
        Self {
            context,
            next: Next::Unknown,
        }
    }
}

impl Egress for Fib<'_> {
    #[inline(always)]
    fn find(&mut self, to: Destination) -> Option<Route> {
        // SAFETY: a field of the context.
        let ifindex = unsafe { (*self.context.skb.skb).ifindex };
        let fib = route::question(to, ifindex)?;
        match route::ask(self.context.as_ptr(), fib) {
            BPF_FIB_LKUP_RET_SUCCESS => {
                self.next = Next::Neighbour;
                Some(Route {
                    mtu: route::mtu(fib),
                })
            }
            BPF_FIB_LKUP_RET_NO_NEIGH => {
                self.next = Next::Link;
                None
            }
            _ => {
                self.next = Next::Kernel;
                None
            }
        }
    }
}
