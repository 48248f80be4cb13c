//! The way out: a look into the kernel's forwarding table.

use core::ffi::c_void;

use aya_ebpf::bindings::{bpf_fib_lookup, bpf_fib_lookup__bindgen_ty_1};
use aya_ebpf::btf_maps::PerCpuArray;
use aya_ebpf::helpers::bpf_fib_lookup as fib_lookup;
use aya_ebpf::macros::btf_map;
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
    /// The link is known, its neighbour is not yet.
    Link,
    /// The kernel has to see to it.
    Kernel,
}

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// Room for a question and its answer, one for each processor: it is too large for the stack of a
/// program. Fields that [`question`] does not write are zero, or are answers only.
#[btf_map]
static QUESTION: PerCpuArray<[u64; size_of::<bpf_fib_lookup>() / 8], 1> = PerCpuArray::new();

/// The last question with its answer.
#[inline(always)]
pub(crate) fn answer() -> Option<&'static mut bpf_fib_lookup> {
    let words = QUESTION.get_ptr_mut(0)?;
    // SAFETY: this processor's own, and no program of ours interrupts another; plain old data of
    // the same size, aligned to more than it needs. Nobody keeps the reference.
    Some(unsafe { &mut *words.cast::<bpf_fib_lookup>() })
}

/// The question for a destination.
#[inline(always)]
pub(crate) fn question(to: Destination, ifindex: u32) -> Option<&'static mut bpf_fib_lookup> {
    let fib = answer()?;
    fib.ifindex = ifindex;
    // A length makes the kernel tell the MTU; 1 always fits.
    fib.__bindgen_anon_1 = bpf_fib_lookup__bindgen_ty_1 { tot_len: 1 };
    match to {
        Destination::V4 {
            source,
            destination,
            tos,
        } => {
            fib.family = AF_INET;
            fib.__bindgen_anon_2.tos = tos;
            fib.__bindgen_anon_3.ipv4_src = source.0.0;
            fib.__bindgen_anon_4.ipv4_dst = destination.0.0;
        }
        Destination::V6 {
            source,
            destination,
            ..
        } => {
            fib.family = AF_INET6;
            fib.__bindgen_anon_2.flowinfo = 0;
            fib.__bindgen_anon_3.ipv6_src = source.0.map(|word| word.0);
            fib.__bindgen_anon_4.ipv6_dst = destination.0.map(|word| word.0);
        }
    }
    Some(fib)
}

/// Asks the kernel; one of its `BPF_FIB_LKUP_RET_*`, or another number if the question was wrong.
#[inline(always)]
pub(crate) fn ask(context: *mut c_void, fib: &mut bpf_fib_lookup) -> u32 {
    // SAFETY: the context is that of the program's run, and the size is that of the structure.
    unsafe { fib_lookup(context, fib, size_of::<bpf_fib_lookup>() as i32, 0) as u32 }
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

/// Writes Ethernet addresses where [`addresses`] finds them.
#[inline(always)]
pub(crate) fn set_addresses(fib: &mut bpf_fib_lookup, addresses: Addresses) {
    let destination = (&raw mut fib.dmac).cast::<u16>();
    let source = (&raw mut fib.smac).cast::<u16>();
    let [a, b, c, d, e, f] = addresses;
    // SAFETY: both are six bytes at an even offset of a structure that is aligned to more.
    unsafe {
        destination.write_volatile(a);
        destination.add(1).write_volatile(b);
        destination.add(2).write_volatile(c);
        source.write_volatile(d);
        source.add(1).write_volatile(e);
        source.add(2).write_volatile(f);
    }
}
