//! The XDP programs: the entry, which does what is common, and one that makes sessions, which needs
//! the stack for itself.

use aya_ebpf::EbpfContext as _;
use aya_ebpf::bindings::{BPF_FIB_LKUP_RET_SUCCESS, bpf_fib_lookup, xdp_action};
use aya_ebpf::helpers::{bpf_fib_lookup as fib_lookup, bpf_redirect};
use aya_ebpf::macros::xdp;
use aya_ebpf::programs::XdpContext;
use isthmus_core::gateway;
use isthmus_core::host::{Destination, Host as _, Route};
use isthmus_core::packet::Family;
use isthmus_core::reason::Counter;
use isthmus_core::verdict::{Refusal, Slow, Verdict};

use crate::ethernet::{self, Addresses, Ethernet};
use crate::frame::Frame;
use crate::maps::{
    Common, Configured, ESTABLISHED, OPEN, Opening, PROGRAMS, Services, Stage,
};
use crate::route::{self, Egress, Next, NoWay};

/// What a function answers instead of an action: another program has to go on.
const GO_ON: u32 = 1 << 16;

/// Translates what belongs to an instance; everything else goes on to the kernel.
#[xdp]
pub fn isthmus_xdp(context: XdpContext) -> u32 {
    let action = match kind(&context) {
        Some(ethernet::IPV4) => from_v4(&context),
        Some(ethernet::IPV6) => from_v6(&context),
        _ => xdp_action::XDP_PASS,
    };
    if action >= GO_ON { go_on(&context, action - GO_ON) } else { action }
}

/// Makes the session that a packet needs, and has the first program look again.
#[xdp]
pub fn isthmus_xdp_open(context: XdpContext) -> u32 {
    let action = match kind(&context) {
        Some(ethernet::IPV4) => open_from_v4(&context),
        Some(ethernet::IPV6) => open_from_v6(&context),
        _ => xdp_action::XDP_PASS,
    };
    if action >= GO_ON { go_on(&context, action - GO_ON) } else { action }
}

/// The frame is unchanged: if the program is not there, or too many have been called, the kernel
/// takes it to the slow path.
#[inline(always)]
fn go_on(context: &XdpContext, program: u32) -> u32 {
    // SAFETY: the program array holds programs of this type only.
    let _not_called = unsafe { PROGRAMS.tail_call(context, program) };
    xdp_action::XDP_PASS
}

#[inline(always)]
fn kind(context: &XdpContext) -> Option<u16> {
    Frame::new(context).ethernet().map(Ethernet::kind)
}

// One function per direction and program, so that the verifier and the stack see them one by one.

#[inline(never)]
fn from_v4(context: &XdpContext) -> u32 {
    let mut frame = Frame::new(context);
    let mut services = Services::<Common, _>::new(Fib::new(context));
    let verdict = gateway::process_v4(&mut frame, &mut services, &Configured);
    finish(&frame, &mut services, verdict)
}

#[inline(never)]
fn from_v6(context: &XdpContext) -> u32 {
    let mut frame = Frame::new(context);
    let mut services = Services::<Common, _>::new(Fib::new(context));
    let verdict = gateway::process_v6(&mut frame, &mut services, &Configured);
    finish(&frame, &mut services, verdict)
}

#[inline(never)]
fn open_from_v4(context: &XdpContext) -> u32 {
    let mut services = Services::<Opening, _>::new(NoWay);
    let opened = gateway::open_v4(&Frame::new(context), &mut services, &Configured);
    opened.map_or_else(|refusal| refuse(&mut services, refusal), |()| GO_ON + ESTABLISHED)
}

#[inline(never)]
fn open_from_v6(context: &XdpContext) -> u32 {
    let mut services = Services::<Opening, _>::new(NoWay);
    let opened = gateway::open_v6(&Frame::new(context), &mut services, &Configured);
    opened.map_or_else(|refusal| refuse(&mut services, refusal), |()| GO_ON + ESTABLISHED)
}

/// What becomes of the frame.
#[inline(always)]
fn finish<S: Stage>(
    frame: &Frame<'_>,
    services: &mut Services<S, Fib<'_>>,
    verdict: Result<Verdict, Refusal>,
) -> u32 {
    match verdict {
        Ok(Verdict::Forward { family, .. }) => send(frame, &services.egress, family),
        Ok(Verdict::Pass) => xdp_action::XDP_PASS,
        Err(refusal) => refuse(services, refusal),
    }
}

/// The frame is not sent on from here.
#[inline(always)]
fn refuse<S: Stage, E: Egress>(services: &mut Services<S, E>, refusal: Refusal) -> u32 {
    match refusal {
        Refusal::Drop(counter) => {
            services.count(counter);
            xdp_action::XDP_DROP
        }
        Refusal::Slow(Slow::Session) => GO_ON + OPEN,
        Refusal::Reply(..) | Refusal::Slow(_) => {
            services.count(Counter::SlowPath);
            xdp_action::XDP_PASS
        }
    }
}

/// The forwarding table, asked from the link that the frame came in on.
struct Fib<'a> {
    context: &'a XdpContext,
    next: Next,
    /// Link to send on.
    ifindex: u32,
    /// Ethernet addresses to send with. Before there is a way: those that the frame came with, for
    /// the kernel.
    addresses: Addresses,
}

impl<'a> Fib<'a> {
    #[inline(always)]
    fn new(context: &'a XdpContext) -> Self {
        let addresses = Frame::new(context).ethernet().map_or([0; 6], Ethernet::addresses);
        Self { context, next: Next::Unknown, ifindex: 0, addresses }
    }
}

impl Egress for Fib<'_> {
    #[inline(always)]
    fn find(&mut self, to: Destination) -> Option<Route> {
        let mut fib = route::question(to, self.context.ingress_ifindex() as u32);
        // SAFETY: the context is that of this run, and the size is that of the structure.
        let result = unsafe {
            fib_lookup(
                self.context.as_ptr(),
                &raw mut fib,
                size_of::<bpf_fib_lookup>() as i32,
                0,
            )
        };
        if result != i64::from(BPF_FIB_LKUP_RET_SUCCESS) {
            self.next = Next::Kernel;
            return None;
        }
        self.next = Next::Neighbour;
        self.ifindex = fib.ifindex;
        self.addresses = route::addresses(&fib);
        Some(Route { mtu: route::mtu(&fib) })
    }
}

/// Sends a translated frame to its neighbour, or up to the kernel if there is none yet.
#[inline(always)]
fn send(frame: &Frame<'_>, fib: &Fib<'_>, family: Family) -> u32 {
    let kind = match family {
        Family::V4 => ethernet::IPV4,
        Family::V6 => ethernet::IPV6,
    };
    if frame.set_ethernet(Ethernet::new(fib.addresses, kind)).is_none() {
        return xdp_action::XDP_DROP;
    }
    if fib.next == Next::Neighbour {
        // SAFETY: a helper without pointers.
        unsafe { bpf_redirect(fib.ifindex, 0) as u32 }
    } else {
        xdp_action::XDP_PASS
    }
}
