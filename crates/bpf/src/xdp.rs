//! The XDP programs.

use aya_ebpf::bindings::{xdp_action, xdp_md};
use aya_ebpf::helpers::bpf_redirect;
use aya_ebpf::programs::XdpContext as Context;
use isthmus_abi::banks::InstanceWords;
use isthmus_core::customer::Queue;
use isthmus_core::for_each_mechanism;
use isthmus_core::gateway::Crosses;
use isthmus_core::mechanism::{self, AnyMechanism, Mechanism as _, Opens, Stage};
use isthmus_core::packet::Family;
use isthmus_core::reason::Counter;

use crate::configured::Configured;
use crate::ethernet::{self, Addresses, Ethernet, Tag};
use crate::frame::Frame as Device;
use crate::hook::{self, Packets, crossing, crossings, family_of, programs};
use crate::linear::Linear as _;
use crate::maps::{self, XDP_PROGRAMS};
use crate::owner::Chosen;
use crate::route::{self, Delivery, Fib, Ingress};
use crate::stage::Device as _;
use crate::{link, owner, stage};

programs!("xdp", "xdp", xdp_md, u32);

/// A frame as it comes in.
struct Arrival {
    family: Family,
    /// The link, or the device of the VLAN.
    link: u32,
    vlan: Vlan,
}

/// Takes the tag off a frame, if it has one. Frames for others go on to the kernel, which the first program sees to.
#[inline(always)]
fn arrive(context: &Context, program: Stage) -> Option<Arrival> {
    let frame = Device::new(context);
    let (destination, kind) = frame.addressed()?;
    if let ethernet::VLAN | ethernet::SERVICE_VLAN = kind {
        let vlan = resume(context);
        if vlan == Vlan::NONE {
            return None;
        }
        return Some(Arrival {
            family: family_of(Device::new(context).kind()?)?,
            link: vlan.link(),
            vlan,
        });
    }
    let family = family_of(kind)?;
    let link = context.ingress_ifindex() as u32;
    if program.is(Stage::Base) && !link::takes(link, link, destination) {
        maps::count(Counter::NotOurs);
        return None;
    }
    Some(Arrival {
        family,
        link,
        vlan: Vlan::NONE,
    })
}

/// Takes the tag off a frame that another program put back.
#[inline(always)]
fn resume(context: &Context) -> Vlan {
    Vlan(xdp_untag(context.ctx))
}

/// A VLAN as global functions take it.
#[inline(always)]
const fn number(vlan: Vlan) -> u64 {
    vlan.0
}

/// Whether a frame came in where no inside host is; `vlan` is the [`number`] of its VLAN.
#[inline(always)]
fn is_outside(context: &Context, vlan: u64) -> bool {
    xdp_is_outside(context.ctx, vlan) != 0
}

/// [`is_outside`]; 0: no. A global function: the verifier would go on once with a tag, and once without.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_is_outside(context: *mut xdp_md, vlan: u64) -> u32 {
    let link = match Vlan(vlan) {
        Vlan::NONE => Context::new(context).ingress_ifindex() as u32,
        vlan => vlan.link(),
    };
    link::is_outside(link)
}

/// Returns to the kernel, or calls another program. The frame is unchanged then: if the program is not
/// there, or too many have been called, the kernel takes it to the slow path.
#[inline(always)]
fn finish(context: &Context, mut answer: i32, vlan: Vlan) -> u32 {
    if vlan != Vlan::NONE {
        answer = xdp_retag(context.ctx, answer, vlan.0);
    }
    let Some(program) = stage::next_program(answer) else {
        return answer as u32;
    };
    // It does not return if the program is called.
    // SAFETY: the program array holds programs of this type only.
    unsafe { XDP_PROGRAMS.tail_call(context, program) };
    maps::count(Counter::SlowPath);
    xdp_action::XDP_PASS
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

/// Takes the tag of an IP packet for this machine away, if the daemon knows the device of its VLAN. Returns the
/// number in [`Vlan`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_untag(context: *mut xdp_md) -> u64 {
    let context = Context::new(context);
    let frame = Device::new(&context);
    let Some(header) = frame.tagged() else {
        return 0;
    };
    let tag = header.tag();
    if !tag.is_known() || !matches!(header.ethernet().kind(), ethernet::IPV4 | ethernet::IPV6) {
        return 0;
    }
    let link = context.ingress_ifindex() as u32;
    let device = link::vlan(link, tag.number().into());
    if device == 0 {
        return 0;
    }
    let Some((destination, _)) = frame.addressed() else {
        return 0;
    };
    if !link::takes(link, device, destination) {
        maps::count(Counter::NotOurs);
        return 0;
    }
    match frame.untag(header) {
        Some(()) => u64::from(tag.whole()) << 32 | u64::from(device),
        None => 0,
    }
}

/// Puts the tag back that [`xdp_untag`] took, for the kernel or for another program.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_retag(context: *mut xdp_md, answer: i32, vlan: u64) -> i32 {
    let context = Context::new(context);
    if answer != xdp_action::XDP_PASS as i32 && stage::next_program(answer).is_none() {
        return answer;
    }
    match Device::new(&context).insert_tag(Tag::from_whole((vlan >> 32) as u32)) {
        Some(()) => answer,
        None => xdp_action::XDP_DROP as i32,
    }
}

/// Leaves the forwarding of a translated packet to the kernel.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_up(context: *mut xdp_md) -> i32 {
    let context = Context::new(context);
    stage::up(&mut Device::new(&context))
}

/// Sends a frame with a tag.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_send_tagged(context: *mut xdp_md, link: u32, tag: u32) -> i32 {
    let context = Context::new(context);
    match Device::new(&context).insert_tag(Tag::from_whole(tag)) {
        // SAFETY: a helper without pointers.
        Some(()) => unsafe { bpf_redirect(link, 0) as i32 },
        None => xdp_action::XDP_DROP as i32,
    }
}

impl<'a> stage::Device for Device<'a> {
    type Route = Fib<Origin<'a>>;
    const PASS: i32 = xdp_action::XDP_PASS as i32;
    const DROP: i32 = xdp_action::XDP_DROP as i32;

    /// Sends to the neighbour, or up to the kernel if there is none yet or the kernel forwards.
    #[inline(always)]
    fn send(&mut self, route: &Self::Route, family: Family) -> i32 {
        let Some(hop) = route.next_hop() else {
            return Self::DROP;
        };
        let header = Ethernet::new(hop.addresses(), ethernet::kind_of(family));
        if self.set_ethernet(header).is_none() {
            return Self::DROP;
        }
        match hop.delivery() {
            // SAFETY: a helper without pointers.
            Delivery::Neighbour => unsafe { bpf_redirect(hop.link(), 0) as i32 },
            Delivery::Vlan => xdp_send_tagged(self.context.ctx, hop.link(), hop.tag().whole()),
            Delivery::Link | Delivery::Kernel => xdp_up(self.context.ctx),
        }
    }
}

/// Where a frame comes in.
pub(crate) struct Origin<'a> {
    context: &'a Context,
    /// The link, or the device of the VLAN.
    link: u32,
}

impl Ingress for Origin<'_> {
    const FRAMES: bool = true;

    #[inline(always)]
    fn link(&self) -> u32 {
        self.link
    }

    #[inline(always)]
    fn addresses(&self) -> Option<Addresses> {
        Device::new(self.context)
            .ethernet()
            .map(Ethernet::addresses)
    }

    #[inline(always)]
    fn look_up(&self, slot: u32) {
        look_up(self.context.ctx, slot);
    }

    #[inline(always)]
    fn is_local(&self, address: u32) -> bool {
        is_local(self.context.ctx, self.link, address) != 0
    }
}
