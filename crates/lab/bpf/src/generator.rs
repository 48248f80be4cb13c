//! The packet generator.
//!
//! User space runs `generate4` or `generate6` with `BPF_F_TEST_XDP_LIVE_FRAMES`. The kernel
//! recycles the frames' pages, and routers rewrite what is in them, so a program writes its whole
//! frame every time: template first, then what tells the flows apart, then the checksums.
//!
//! All words are in network order as they lie in memory; ones' complement sums do not mind.

use aya_ebpf::{
    bindings::xdp_action,
    btf_maps::{Array, PerCpuArray},
    helpers::{bpf_ktime_get_ns, bpf_redirect},
    macros::{btf_map, xdp},
    programs::XdpContext,
};

use crate::frame::{at, fold};

/// Ethernet 14, IPv4 20, UDP 8, payload 18 bytes; what counts as 64 with the FCS.
const WORDS4: usize = 15;
/// Ethernet 14, IPv6 40, UDP 8, payload 18 bytes: the same payload, 20 bytes more of header.
const WORDS6: usize = 20;

const ORDER_RANDOM: u32 = 1;
const HOST_IN_SUBNET: u32 = 1;
const STOPPED: u32 = u32::MAX;
/// A frame that is later than this many nanoseconds is not made up for.
const FORGIVEN: u64 = 1_000_000;

/// What user space says of the next frames. Its twin is `generator::Configuration` in the lab.
#[repr(C)]
pub struct Configuration {
    /// The frame with flow-dependent fields, tag and checksums zero.
    template: [u32; WORDS6],
    /// Where to redirect to.
    interface: u32,
    /// Number of different flows, 1 or more.
    flows: u32,
    /// `ORDER_RANDOM`, or in sequence.
    order: u32,
    /// Flows of one source address; then the next address begins.
    ports: u32,
    /// The lowest source port.
    first_port: u32,
    /// The lowest value of the varied 16 bits of the source address.
    first_host: u32,
    /// IPv6: `HOST_IN_SUBNET` varies bits 48..63 of the source address, else 112..127.
    host: u32,
    /// Sum of the template's IPv4 header.
    header_sum: u32,
    /// Sum of the template's pseudo-header, UDP header and payload.
    datagram_sum: u32,
    /// Nanoseconds from frame to frame; 0: no pause; `STOPPED`: no more frames.
    interval: u32,
}

/// Where each CPU is in its sequence of frames.
#[repr(C)]
pub struct Progress {
    /// Frames made so far.
    sequence: u64,
    /// State of the random order (splitmix64).
    random: u64,
    /// When the next frame is due, in nanoseconds of the monotonic clock.
    due: u64,
}

#[btf_map]
static GENERATOR: Array<Configuration, 1, 0> = Array::new();
#[btf_map]
static PROGRESS: PerCpuArray<Progress, 1, 0> = PerCpuArray::new();

/// Writes one IPv4 UDP frame and sends it.
#[xdp]
pub fn generate4(context: XdpContext) -> u32 {
    try_generate4(&context).unwrap_or(xdp_action::XDP_DROP)
}

/// Writes one IPv6 UDP frame and sends it.
#[xdp]
pub fn generate6(context: XdpContext) -> u32 {
    try_generate6(&context).unwrap_or(xdp_action::XDP_DROP)
}

#[inline(always)]
fn try_generate4(context: &XdpContext) -> Option<u32> {
    let configuration = GENERATOR.get(0)?;
    let flow = next_flow(configuration)?;
    copy::<WORDS4>(context, configuration)?;
    let header = u64::from(configuration.header_sum) + u64::from(flow.host);
    write(context, 24, !fold(header))?;
    write(context, 28, flow.host)?;
    write(context, 34, flow.port)?;
    finish(context, configuration, &flow, 40, 42)
}

#[inline(always)]
fn try_generate6(context: &XdpContext) -> Option<u32> {
    let configuration = GENERATOR.get(0)?;
    let flow = next_flow(configuration)?;
    copy::<WORDS6>(context, configuration)?;
    if configuration.host == HOST_IN_SUBNET {
        write(context, 28, flow.host)?;
    } else {
        write(context, 36, flow.host)?;
    }
    write(context, 54, flow.port)?;
    finish(context, configuration, &flow, 60, 62)
}

/// Writes the first `N` words of the template to the frame. Volatile, word by word: for anything
/// else the compiler calls a function that moves single bytes.
#[inline(always)]
fn copy<const N: usize>(context: &XdpContext, configuration: &Configuration) -> Option<()> {
    let frame = at::<[u32; N]>(context, 0)?.cast::<u32>();
    for (place, word) in configuration.template.iter().take(N).enumerate() {
        // SAFETY: `at` has shown that `N` words lie inside the page; a frame begins at an address
        // that is a multiple of four.
        unsafe { frame.add(place).write_volatile(*word) };
    }
    Some(())
}

/// Writes tag and UDP checksum, and sends the frame.
#[inline(always)]
fn finish(
    context: &XdpContext,
    configuration: &Configuration,
    flow: &Flow,
    checksum: usize,
    tag: usize,
) -> Option<u32> {
    write(context, tag, flow.tag)?;
    let sum = fold(
        u64::from(configuration.datagram_sum)
            + u64::from(flow.host)
            + u64::from(flow.port)
            + u64::from(flow.tag),
    );
    // A UDP checksum of zero means "none": all ones stand for it (RFC 768).
    let complement = if sum == 0xffff { sum } else { !sum };
    write(context, checksum, complement)?;
    // SAFETY: the helper takes plain numbers.
    Some(unsafe { bpf_redirect(configuration.interface, 0) } as u32)
}

#[inline(always)]
fn write<T>(context: &XdpContext, offset: usize, value: T) -> Option<()> {
    let field = at::<T>(context, offset)?;
    // SAFETY: `at` has shown that all of `T` lies inside the frame.
    unsafe { field.write_unaligned(value) };
    Some(())
}

/// What is particular to one frame, in network order.
struct Flow {
    host: u16,
    port: u16,
    tag: u32,
}

#[inline(always)]
fn next_flow(configuration: &Configuration) -> Option<Flow> {
    let progress = PROGRESS.get_ptr_mut(0)?;
    // SAFETY: the slot is this CPU's own, and frames are made with softirqs off.
    let progress = unsafe { &mut *progress };
    if configuration.interval != 0 {
        wait_for_turn(configuration, progress)?;
    }
    let sequence = progress.sequence;
    progress.sequence = sequence.wrapping_add(1);
    let index = if configuration.order == ORDER_RANDOM {
        let random = splitmix(&mut progress.random);
        ((random >> 32) * u64::from(configuration.flows)) >> 32
    } else {
        sequence.checked_rem(u64::from(configuration.flows))?
    };
    let ports = u64::from(configuration.ports);
    Some(Flow {
        host: (configuration.first_host as u16)
            .wrapping_add(index.checked_div(ports)? as u16)
            .to_be(),
        port: (configuration.first_port as u16)
            .wrapping_add(index.checked_rem(ports)? as u16)
            .to_be(),
        tag: (sequence as u32).to_be(),
    })
}

/// Nothing until the next frame is due: the run goes on without one.
#[inline(always)]
fn wait_for_turn(configuration: &Configuration, progress: &mut Progress) -> Option<()> {
    if configuration.interval == STOPPED {
        return None;
    }
    // SAFETY: the helper only reads the clock.
    let now = unsafe { bpf_ktime_get_ns() };
    if now < progress.due {
        return None;
    }
    if now > progress.due + FORGIVEN {
        progress.due = now;
    }
    progress.due += u64::from(configuration.interval);
    Some(())
}

#[inline(always)]
fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
