//! The XDP programs.

use aya_ebpf::EbpfContext as _;
use aya_ebpf::bindings::{BPF_FIB_LKUP_RET_SUCCESS, xdp_action};
use aya_ebpf::helpers::bpf_redirect;
use aya_ebpf::macros::xdp;
use aya_ebpf::programs::XdpContext;
use isthmus_core::host::{Destination, Route};
use isthmus_core::packet::Family;

use crate::ethernet::{self, Ethernet};
use crate::frame::Frame;
use crate::maps::{self, Configured, XDP_PROGRAMS};
use crate::route::{self, Egress, Next};
use crate::stage::{self, Device};

/// Translates what belongs to an instance; everything else goes on to the kernel.
#[xdp]
pub fn isthmus_xdp(context: XdpContext) -> u32 {
    let configured = Configured::now();
    let answer = match kind(&context) {
        Some(ethernet::IPV4) => {
            let instance = stage::instance_v4(&Frame::new(&context), configured);
            from_v4(&context, configured.number(), instance)
        }
        Some(ethernet::IPV6) => {
            let instance = stage::instance_v6(&Frame::new(&context), configured);
            from_v6(&context, configured.number(), instance)
        }
        _ => return xdp_action::XDP_PASS,
    };
    end(&context, answer)
}

/// Makes the session that an IPv4 packet needs, and has the first program look again.
#[xdp]
pub fn isthmus_xdp_open_v4(context: XdpContext) -> u32 {
    end(&context, stage::open(&Frame::new(&context), Family::V4))
}

/// Makes the session that an IPv6 packet needs, and has the first program look again.
#[xdp]
pub fn isthmus_xdp_open_v6(context: XdpContext) -> u32 {
    end(&context, stage::open(&Frame::new(&context), Family::V6))
}

/// Answers the kernel, or goes on with another program. The frame is unchanged then: if the program
/// is not there, or too many have been called, the kernel takes it to the slow path.
#[inline(always)]
fn end(context: &XdpContext, answer: i32) -> u32 {
    let Some(program) = stage::next_program(answer) else {
        return answer as u32;
    };
    // SAFETY: the program array holds programs of this type only.
    let _not_called = unsafe { XDP_PROGRAMS.tail_call(context, program) };
    maps::count_slow_path();
    xdp_action::XDP_PASS
}

#[inline(always)]
fn kind(context: &XdpContext) -> Option<u16> {
    Frame::new(context).ethernet().map(Ethernet::kind)
}

// One function per direction and program, so that the verifier and the stack see them one by one.

#[inline(never)]
fn from_v4(context: &XdpContext, configured: u64, instance: u64) -> i32 {
    let configured = Configured::from_number(configured);
    let way = Fib::new(context);
    stage::translate(
        &mut Frame::new(context),
        way,
        Family::V4,
        configured,
        instance,
    )
}

#[inline(never)]
fn from_v6(context: &XdpContext, configured: u64, instance: u64) -> i32 {
    let configured = Configured::from_number(configured);
    let way = Fib::new(context);
    stage::translate(
        &mut Frame::new(context),
        way,
        Family::V6,
        configured,
        instance,
    )
}

impl<'a> Device for Frame<'a> {
    type Way = Fib<'a>;
    const PASS: i32 = xdp_action::XDP_PASS as i32;
    const DROP: i32 = xdp_action::XDP_DROP as i32;

    /// To its neighbour, or up to the kernel if there is none yet.
    #[inline(always)]
    fn send(&mut self, way: &Fib<'a>, family: Family) -> i32 {
        let kind = ethernet::kind_of(family);
        let Some(fib) = route::answer() else {
            return Self::DROP;
        };
        if self
            .set_ethernet(Ethernet::new(route::addresses(fib), kind))
            .is_none()
        {
            return Self::DROP;
        }
        if way.next == Next::Neighbour {
            // SAFETY: a helper without pointers.
            unsafe { bpf_redirect(fib.ifindex, 0) as i32 }
        } else {
            Self::PASS
        }
    }
}

/// The forwarding table, asked from the link that the frame came in on.
/// The Ethernet addresses to send with stay in the answer: those of the next hop, or those that the
/// frame came with, for the kernel.
pub(crate) struct Fib<'a> {
    context: &'a XdpContext,
    next: Next,
}

impl<'a> Fib<'a> {
    #[inline(always)]
    fn new(context: &'a XdpContext) -> Self {
        Self {
            context,
            next: Next::Unknown,
        }
    }
}

impl Egress for Fib<'_> {
    #[inline(always)]
    fn find(&mut self, to: Destination) -> Option<Route> {
        let fib = route::question(to, self.context.ingress_ifindex() as u32)?;
        let result = route::ask(self.context.as_ptr(), fib);
        if result != BPF_FIB_LKUP_RET_SUCCESS {
            self.next = Next::Kernel;
            // The frame is still as it came.
            if let Some(ethernet) = Frame::new(self.context).ethernet() {
                route::set_addresses(fib, ethernet.addresses());
            }
            return None;
        }
        self.next = Next::Neighbour;
        Some(Route {
            mtu: route::mtu(fib),
        })
    }
}
