//! The XDP programs.

use aya_ebpf::bindings::{xdp_action, xdp_md};
use aya_ebpf::helpers::bpf_redirect;
use aya_ebpf::macros::xdp;
use aya_ebpf::programs::XdpContext;
use isthmus_core::packet::Family;

use crate::ethernet::{self, Addresses, Ethernet};
use crate::frame::Frame;
use crate::maps::{self, Configured, XDP_PROGRAMS};
use crate::route::{self, Fib, Ingress, Next};
use crate::stage::{self, Device};

/// Translates what belongs to an instance; everything else goes on to the kernel.
#[xdp]
pub fn isthmus_xdp(context: XdpContext) -> u32 {
    let configured = Configured::now();
    let answer = match kind(&context) {
        Some(ethernet::IPV4) => {
            let searched = configured.search_v4(&Frame::new(&context));
            xdp_v4(context.ctx, configured.number(), searched)
        }
        Some(ethernet::IPV6) => {
            let searched = configured.search_v6(&Frame::new(&context));
            xdp_v6(context.ctx, configured.number(), searched)
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

// One global function per direction: the verifier looks at each once, whatever came before.

/// Translates an IPv4 packet; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_v4(context: *mut xdp_md, configured: u64, searched: u64) -> i32 {
    translate(XdpContext::new(context), Family::V4, configured, searched)
}

/// Translates an IPv6 packet; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_v6(context: *mut xdp_md, configured: u64, searched: u64) -> i32 {
    translate(XdpContext::new(context), Family::V6, configured, searched)
}

/// Leaves the forwarding of a translated packet to the kernel.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_up(context: *mut xdp_md) -> i32 {
    let context = XdpContext::new(context);
    stage::up(&mut Frame::new(&context))
}

#[inline(always)]
fn translate(context: XdpContext, family: Family, configured: u64, searched: u64) -> i32 {
    let way = Fib::new(&context);
    let configured = Configured::from_number(configured);
    stage::translate(&mut Frame::new(&context), way, family, configured, searched)
}

impl<'a> Device for Frame<'a> {
    type Way = Fib<&'a XdpContext>;
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
        if way.next() == Next::Neighbour {
            // SAFETY: a helper without pointers.
            unsafe { bpf_redirect(way.link, 0) as i32 }
        } else {
            xdp_up(self.context.ctx)
        }
    }
}

impl Ingress for &XdpContext {
    #[inline(always)]
    fn link(&self) -> u32 {
        self.ingress_ifindex() as u32
    }

    #[inline(always)]
    fn addresses(&self) -> Option<Addresses> {
        Frame::new(self).ethernet().map(Ethernet::addresses)
    }

    #[inline(always)]
    fn ask(&self, place: u32) {
        xdp_ask(self.ctx, place);
    }
}

/// Asks the kernel for a way; see [`route::ask`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_ask(context: *mut xdp_md, place: u32) -> i32 {
    route::ask(context.cast(), place);
    0
}
