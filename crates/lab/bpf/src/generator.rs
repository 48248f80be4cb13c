//! The packet generator: sends frames that user space has made, one after the other and again.
//!
//! User space runs a `generate` program with `BPF_F_TEST_XDP_LIVE_FRAMES`. The kernel recycles the
//! frames' pages, and routers rewrite what is in them, so a program writes its whole frame every
//! time. There is one for each length, which the compiler must know.
//!
//! Each comes twice: `generate` has whole frames to choose from, `vary` has one and what differs.

use aya_ebpf::{
    bindings::xdp_action,
    btf_maps::{Array, PerCpuArray},
    helpers::{bpf_ktime_get_ns, bpf_redirect},
    macros::{btf_map, xdp},
    programs::XdpContext,
};

use crate::frame::at;

/// Ethernet 14, IPv4 20, UDP 8, payload 18 bytes; what counts as 64 with the FCS.
const WORDS4: usize = 15;
/// Ethernet 14, IPv6 40, UDP 8, payload 18 bytes: the same payload, 20 bytes more of header.
const WORDS6: usize = 20;
/// Ethernet 14, IPv6 40 and IPv4 20 whichever is outside, UDP 8, payload 18 bytes.
const WORDS46: usize = 25;

/// Room for a frame: two cache lines.
const ROOM: usize = 32;
/// Words of a frame that may differ: half a cache line.
const VARYING: usize = 8;

const STOPPED: u32 = u32::MAX;
/// A frame that is later than this many nanoseconds is not made up for.
const FORGIVEN: u64 = 1_000_000;

/// What user space says of the next frames. Its twin is `generator::Configuration` in the lab.
#[repr(C)]
pub struct Configuration {
    /// Where to redirect to.
    interface: u32,
    /// Nanoseconds from frame to frame; 0: no pause; `STOPPED`: no more frames.
    interval: u32,
    /// Number of frames, 1 or more.
    frames: u32,
}

/// Where each CPU is in its sequence of frames.
#[repr(C)]
pub struct Progress {
    /// Frames sent so far.
    sent: u64,
    /// The frame that is next.
    next: u64,
    /// When it is due, in nanoseconds of the monotonic clock.
    due: u64,
}

#[btf_map]
static GENERATOR: Array<Configuration, 1, 0> = Array::new();
#[btf_map]
static PROGRESS: PerCpuArray<Progress, 1, 0> = PerCpuArray::new();
/// The frames. User space sets their number before it loads.
#[btf_map]
static FRAMES: Array<[u32; ROOM], 1, 0> = Array::new();
/// The words in which each frame differs from the first of [`FRAMES`], at the places that [`PLACES`] tells.
/// User space sets the number of frames before it loads.
#[btf_map]
static DIFFERENCES: Array<[u32; VARYING], 1, 0> = Array::new();
/// User space writes it before it loads.
#[unsafe(no_mangle)]
static PLACES: [u8; VARYING] = [0; VARYING];

/// Sends the next IPv4 frame.
#[xdp]
pub fn generate4(context: XdpContext) -> u32 {
    generate::<WORDS4>(&context).unwrap_or(xdp_action::XDP_DROP)
}

/// Sends the next IPv6 frame.
#[xdp]
pub fn generate6(context: XdpContext) -> u32 {
    generate::<WORDS6>(&context).unwrap_or(xdp_action::XDP_DROP)
}

/// Sends the next frame with a packet of one protocol in one of the other.
#[xdp]
pub fn generate46(context: XdpContext) -> u32 {
    generate::<WORDS46>(&context).unwrap_or(xdp_action::XDP_DROP)
}

/// Sends the next of many IPv4 frames.
#[xdp]
pub fn vary4(context: XdpContext) -> u32 {
    vary::<WORDS4>(&context).unwrap_or(xdp_action::XDP_DROP)
}

/// Sends the next of many IPv6 frames.
#[xdp]
pub fn vary6(context: XdpContext) -> u32 {
    vary::<WORDS6>(&context).unwrap_or(xdp_action::XDP_DROP)
}

/// Sends the next of many frames with a packet of one protocol in one of the other.
#[xdp]
pub fn vary46(context: XdpContext) -> u32 {
    vary::<WORDS46>(&context).unwrap_or(xdp_action::XDP_DROP)
}

#[inline(always)]
fn generate<const N: usize>(context: &XdpContext) -> Option<u32> {
    let configuration = GENERATOR.get(0)?;
    let next = turn(configuration)?;
    copy::<N>(context, FRAMES.get(next)?)?;
    // SAFETY: the helper takes plain numbers.
    Some(unsafe { bpf_redirect(configuration.interface, 0) } as u32)
}

#[inline(always)]
fn vary<const N: usize>(context: &XdpContext) -> Option<u32> {
    let configuration = GENERATOR.get(0)?;
    let next = turn(configuration)?;
    copy::<N>(context, FRAMES.get(0)?)?;
    let frame = at::<[u32; N]>(context, 0)?.cast::<u32>();
    for (number, word) in DIFFERENCES.get(next)?.iter().enumerate() {
        // SAFETY: a byte of a static; volatile, because the loader writes another value into it.
        let place = unsafe { (&raw const PLACES[number]).read_volatile() };
        // SAFETY: user space names places within the frame; the verifier knows them.
        unsafe { frame.add(place.into()).write_volatile(*word) };
    }
    // SAFETY: the helper takes plain numbers.
    Some(unsafe { bpf_redirect(configuration.interface, 0) } as u32)
}

/// The number of the frame whose turn it is; none, if it is nobody's yet.
#[inline(always)]
fn turn(configuration: &Configuration) -> Option<u32> {
    let progress = PROGRESS.get_ptr_mut(0)?;
    // SAFETY: the slot is this CPU's own, and frames are made with softirqs off.
    let progress = unsafe { &mut *progress };
    if configuration.interval != 0 {
        wait_for_turn(configuration, progress)?;
    }
    let next = progress.next as u32;
    let following = next.wrapping_add(1);
    progress.next = if following < configuration.frames {
        following.into()
    } else {
        0
    };
    progress.sent = progress.sent.wrapping_add(1);
    Some(next)
}

/// Writes the first `N` words to the frame. Volatile, word by word: for anything else the compiler
/// calls a function that moves single bytes.
#[inline(always)]
fn copy<const N: usize>(context: &XdpContext, words: &[u32; ROOM]) -> Option<()> {
    let frame = at::<[u32; N]>(context, 0)?.cast::<u32>();
    for (place, word) in words.iter().take(N).enumerate() {
        // SAFETY: `at` has shown that `N` words lie inside the page; a frame begins at an address
        // that is a multiple of four.
        unsafe { frame.add(place).write_volatile(*word) };
    }
    Some(())
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
