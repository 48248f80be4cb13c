//! The tc programs.

use core::hint::black_box;

use aya_ebpf::bindings::{__sk_buff, TC_ACT_SHOT, TC_ACT_UNSPEC};
use aya_ebpf::helpers::{bpf_redirect, bpf_redirect_neigh, bpf_skb_vlan_pop};
use aya_ebpf::programs::TcContext as Context;
use isthmus_abi::banks::InstanceWords;
use isthmus_core::customer::Queue;
use isthmus_core::for_each_mechanism;
use isthmus_core::gateway::Crosses;
use isthmus_core::mechanism::{self, AnyMechanism, Mechanism as _, Opens, Stage};
use isthmus_core::packet::Family;
use isthmus_core::reason::Counter;

use crate::configured::Configured;
use crate::ethernet::{self, Addresses, Ethernet, Tag};
use crate::hook::{self, Packets, crossing, crossings, family_of, programs};
use crate::linear::Linear as _;
use crate::maps::{self, TC_PROGRAMS};
use crate::owner::Chosen;
use crate::route::{self, Delivery, Fib, Ingress};
use crate::skb::Skb as Device;
use crate::stage::Device as _;
use crate::{owner, stage};

programs!("tc", "classifier", __sk_buff, i32);

/// `PACKET_HOST` of `linux/if_packet.h`: the packet is for the link's own address.
const PACKET_HOST: u32 = 0;

/// A packet as it comes in. The kernel keeps its tag.
struct Arrival {
    family: Family,
    /// The link, or the device of the VLAN.
    link: u32,
    vlan: (),
}

/// Finds the link of a packet, and brings its headers into reach. Packets for others go on to the kernel, which the
/// first program sees to.
#[inline(always)]
fn arrive(context: &Context, program: Stage) -> Option<Arrival> {
    let link = match link(context) {
        0 => return None,
        link => link,
    };
    resume(context);
    let family = family_of(Device::new(context).kind()?)?;
    if program.is(Stage::Base) && !is_ours(context, link) {
        maps::count(Counter::NotOurs);
        return None;
    }
    Some(Arrival {
        family,
        link,
        vlan: (),
    })
}

/// Whether a packet is for this machine (RFC 1812 section 5.3.4): the kernel has compared its destination with the
/// address of the link, and knows those of devices above it only later. `device` is that of its VLAN, or the link.
#[inline(always)]
fn is_ours(context: &Context, device: u32) -> bool {
    let skb = context.skb.skb;
    // SAFETY: fields of the context.
    let (kind, link) = unsafe { ((*skb).pkt_type, (*skb).ifindex) };
    kind == PACKET_HOST
        || Device::new(context)
            .addressed()
            .is_some_and(|(address, _)| {
                crate::link::whose(link, device, address) == crate::link::OURS
            })
}

/// Brings the headers of a packet into reach.
#[inline(always)]
fn resume(context: &Context) {
    Device::new(context).linearise();
}

/// The place of a VLAN's number among the arguments of global functions: the kernel has taken its tag.
#[inline(always)]
const fn number(_vlan: ()) -> u64 {
    0
}

/// Whether a packet came in where no inside host is.
#[inline(always)]
fn is_outside(context: &Context, vlan: u64) -> bool {
    // The kernel refuses a global function with an argument that nobody uses.
    let _unused = black_box(vlan);
    tc_is_outside(context.skb.skb) != 0
}

/// [`is_outside`]; 0: no. A global function: the verifier would go on once with a tag, and once without.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn tc_is_outside(context: *mut __sk_buff) -> u32 {
    crate::link::is_outside(link(&Context::new(context)))
}

/// Returns to the kernel, or calls another program. The packet is unchanged then: if the program is not
/// there, or too many have been called, the kernel takes it to the slow path.
#[inline(always)]
fn finish(context: &Context, answer: i32, _vlan: ()) -> i32 {
    let Some(program) = stage::next_program(answer) else {
        return answer;
    };
    // It does not return if the program is called.
    // SAFETY: the program array holds programs of this type only.
    unsafe { TC_PROGRAMS.tail_call(context, program) };
    maps::count(Counter::SlowPath);
    TC_ACT_UNSPEC
}

/// Leaves the forwarding of a translated packet to the kernel. The kernel uses the protocol of the socket
/// buffer; packet captures show the type in the Ethernet header.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn tc_up(context: *mut __sk_buff) -> i32 {
    let context = Context::new(context);
    let mut skb = Device::new(&context);
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
fn link(context: &Context) -> u32 {
    let skb = context.skb.skb;
    // SAFETY: fields of the context.
    let (number, tagged) = unsafe { ((*skb).ifindex, (*skb).vlan_present != 0) };
    if !tagged {
        return number;
    }
    // SAFETY: fields of the context.
    let (kind, control) = unsafe { ((*skb).vlan_proto, (*skb).vlan_tci) };
    let tag = Tag::new(u16::from_be(kind as u16), control as u16);
    crate::link::vlan(number, tag.number().into())
}

/// Forgets the tag that a packet came with: it is about to leave elsewhere.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn tc_untag(context: *mut __sk_buff) -> i32 {
    // SAFETY: the context is that of this run; all pointers are made anew at each access.
    unsafe { bpf_skb_vlan_pop(context) as i32 }
}

impl<'a> stage::Device for Device<'a> {
    type Route = Fib<Origin<'a>>;
    const PASS: i32 = TC_ACT_UNSPEC;
    const DROP: i32 = TC_ACT_SHOT;

    /// Sends to the neighbour, which the kernel resolves if need be, or up to the kernel.
    #[inline(always)]
    fn send(&mut self, route: &Self::Route, family: Family) -> i32 {
        let Some(hop) = route.next_hop() else {
            return Self::DROP;
        };
        if hop.delivery() == Delivery::Kernel {
            return tc_up(self.context.skb.skb);
        }
        // SAFETY: a field of the context.
        let tagged = unsafe { (*self.context.skb.skb).vlan_present != 0 };
        if tagged && tc_untag(self.context.skb.skb) != 0 {
            return Self::DROP;
        }
        if hop.delivery() == Delivery::Link {
            // SAFETY: without a pointer the kernel looks up the next hop in its table.
            return unsafe { bpf_redirect_neigh(hop.link(), core::ptr::null_mut(), 0, 0) as i32 };
        }
        let header = Ethernet::new(hop.addresses(), ethernet::kind_of(family));
        match self.set_ethernet(header) {
            // SAFETY: a helper without pointers.
            Some(()) => unsafe { bpf_redirect(hop.link(), 0) as i32 },
            None => Self::DROP,
        }
    }
}

/// Where a packet comes in.
pub(crate) struct Origin<'a> {
    context: &'a Context,
    /// The link, or the device of the VLAN.
    link: u32,
}

impl Ingress for Origin<'_> {
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
    fn look_up(&self, slot: u32) {
        look_up(self.context.skb.skb, slot);
    }

    #[inline(always)]
    fn is_local(&self, address: u32) -> bool {
        is_local(self.context.skb.skb, self.link, address) != 0
    }
}
