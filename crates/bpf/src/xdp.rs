//! The XDP programs.

use core::ffi::c_void;

use aya_ebpf::EbpfContext as _;
use aya_ebpf::bindings::{xdp_action, xdp_md};
use aya_ebpf::helpers::bpf_redirect;
use aya_ebpf::macros::xdp;
use aya_ebpf::programs::XdpContext;
use isthmus_core::config::Mechanism;
use isthmus_core::packet::Family;
use isthmus_core::reason::Counter;

use crate::ethernet::{self, Addresses, Ethernet};
use crate::frame::Frame;
use crate::maps::{self, Configured, XDP_PROGRAMS};
use crate::route::{Fib, Ingress, Next};
use crate::stage::{self, Device, Stage, Stateful, Stateless};

/// Translates what belongs to an instance; everything else goes on to the kernel.
#[xdp]
pub fn isthmus_xdp(context: XdpContext) -> u32 {
    let configured = Configured::now();
    let answer = match kind(&context) {
        Some(ethernet::IPV4) => {
            let searched = configured.search_v4(&Frame::new(&context));
            v4(&context, configured, searched)
        }
        Some(ethernet::IPV6) => {
            let searched = configured.search_v6(&Frame::new(&context));
            v6(&context, configured, searched)
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

/// Translates an IPv4 packet by the mechanism of its instance.
#[inline(always)]
fn v4(context: &XdpContext, configured: Configured, searched: u64) -> i32 {
    let (raw, number) = (context.ctx, configured.number());
    match configured.mechanism(searched) {
        Some(Mechanism::Siit(_)) => xdp_v4_stateless(raw, number, searched),
        Some(Mechanism::Nat64(_)) => xdp_v4_stateful(raw, number, searched),
        // The kernel routes it, to the user-space engine if it is for that.
        Some(Mechanism::Nat44(_)) | None => {
            maps::count(configured.none(Family::V4));
            xdp_action::XDP_PASS as i32
        }
    }
}

/// Translates an IPv6 packet by the mechanism of its instance.
#[inline(always)]
fn v6(context: &XdpContext, configured: Configured, searched: u64) -> i32 {
    let (raw, number) = (context.ctx, configured.number());
    match configured.mechanism(searched) {
        Some(Mechanism::Siit(_)) => xdp_v6_stateless(raw, number, searched),
        Some(Mechanism::Nat64(_)) => xdp_v6_stateful(raw, number, searched),
        // The kernel routes it, to the user-space engine if it is for that.
        Some(Mechanism::Nat44(_)) | None => {
            maps::count(configured.none(Family::V6));
            xdp_action::XDP_PASS as i32
        }
    }
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
    maps::count(Counter::SlowPath);
    xdp_action::XDP_PASS
}

#[inline(always)]
fn kind(context: &XdpContext) -> Option<u16> {
    Frame::new(context).ethernet().map(Ethernet::kind)
}

// One global function per direction and mechanism: the verifier looks at each once, whatever came
// before.

/// Translates an IPv4 packet without sessions; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_v4_stateless(context: *mut xdp_md, configured: u64, searched: u64) -> i32 {
    translate::<Stateless>(XdpContext::new(context), Family::V4, configured, searched)
}

/// Translates an IPv4 packet by the sessions that are there; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_v4_stateful(context: *mut xdp_md, configured: u64, searched: u64) -> i32 {
    translate::<Stateful>(XdpContext::new(context), Family::V4, configured, searched)
}

/// Translates an IPv6 packet without sessions; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_v6_stateless(context: *mut xdp_md, configured: u64, searched: u64) -> i32 {
    translate::<Stateless>(XdpContext::new(context), Family::V6, configured, searched)
}

/// Translates an IPv6 packet by the sessions that are there; see [`stage::translate`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_v6_stateful(context: *mut xdp_md, configured: u64, searched: u64) -> i32 {
    translate::<Stateful>(XdpContext::new(context), Family::V6, configured, searched)
}

#[inline(always)]
fn translate<S: Stage>(context: XdpContext, family: Family, configured: u64, searched: u64) -> i32 {
    let way = Fib::new(&context);
    let configured = Configured::from_number(configured);
    stage::translate::<S, _>(&mut Frame::new(&context), way, family, configured, searched)
}

impl<'a> Device for Frame<'a> {
    type Way = Fib<&'a XdpContext>;
    const PASS: i32 = xdp_action::XDP_PASS as i32;
    const DROP: i32 = xdp_action::XDP_DROP as i32;

    /// To its neighbour, or up to the kernel if there is none yet.
    #[inline(always)]
    fn send(&mut self, fib: &Self::Way, family: Family) -> i32 {
        let Some(way) = fib.way() else {
            return Self::DROP;
        };
        let header = Ethernet::new(way.addresses, ethernet::kind_of(family));
        if self.set_ethernet(header).is_none() {
            return Self::DROP;
        }
        if fib.next() == Next::Neighbour {
            // SAFETY: a helper without pointers.
            unsafe { bpf_redirect(way.link, 0) as i32 }
        } else {
            Self::PASS
        }
    }
}

impl Ingress for &XdpContext {
    #[inline(always)]
    fn context(&self) -> *mut c_void {
        self.as_ptr()
    }

    #[inline(always)]
    fn link(&self) -> u32 {
        self.ingress_ifindex() as u32
    }

    #[inline(always)]
    fn addresses(&self) -> Option<Addresses> {
        Frame::new(self).ethernet().map(Ethernet::addresses)
    }
}
