//! The way out: a look into the kernel's forwarding table.

use aya_ebpf::bindings::{bpf_fib_lookup, bpf_fib_lookup__bindgen_ty_1};
use isthmus_core::host::{Destination, Route};

use crate::ethernet::Addresses;

/// How an engine finds the way out for a translated packet.
pub(crate) trait Egress {
    /// Looks the route up and remembers it.
    fn find(&mut self, to: Destination) -> Option<Route>;
}

/// For a program that sends nothing.
pub(crate) struct NoWay;

impl Egress for NoWay {
    #[inline(always)]
    fn find(&mut self, _to: Destination) -> Option<Route> {
        None
    }
}

/// What the forwarding table said.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nobody asked.
    Unknown,
    /// Send it there.
    Neighbour,
    /// The kernel has to see to it: no neighbour entry yet, or not by this table.
    Kernel,
}

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// The question for a destination.
#[inline(always)]
pub(crate) fn question(to: Destination, ifindex: u32) -> bpf_fib_lookup {
    // SAFETY: plain old data of the kernel's interface; all zeroes is a valid value.
    let mut fib: bpf_fib_lookup = unsafe { core::mem::zeroed() };
    fib.ifindex = ifindex;
    // A length makes the kernel tell the MTU; 1 always fits.
    fib.__bindgen_anon_1 = bpf_fib_lookup__bindgen_ty_1 { tot_len: 1 };
    match to {
        Destination::V4 { source, destination, tos } => {
            fib.family = AF_INET;
            fib.__bindgen_anon_2.tos = tos;
            fib.__bindgen_anon_3.ipv4_src = source.0.0;
            fib.__bindgen_anon_4.ipv4_dst = destination.0.0;
        }
        Destination::V6 { source, destination, .. } => {
            fib.family = AF_INET6;
            fib.__bindgen_anon_3.ipv6_src = source.0.map(|word| word.0);
            fib.__bindgen_anon_4.ipv6_dst = destination.0.map(|word| word.0);
        }
    }
    fib
}

/// The MTU that a successful answer tells.
#[inline(always)]
pub(crate) fn mtu(fib: &bpf_fib_lookup) -> u16 {
    // SAFETY: the kernel wrote it, because the question had a length.
    unsafe { fib.__bindgen_anon_1.mtu_result }
}

/// The Ethernet addresses of a successful answer.
#[inline(always)]
pub(crate) fn addresses(fib: &bpf_fib_lookup) -> Addresses {
    let destination = (&raw const fib.dmac).cast::<u16>();
    let source = (&raw const fib.smac).cast::<u16>();
    // SAFETY: both are six bytes at an even offset of a structure that is aligned to more. The
    // reads are volatile so that they are not joined to wider ones, which would be misaligned.
    unsafe {
        [
            destination.read_volatile(),
            destination.add(1).read_volatile(),
            destination.add(2).read_volatile(),
            source.read_volatile(),
            source.add(1).read_volatile(),
            source.add(2).read_volatile(),
        ]
    }
}
