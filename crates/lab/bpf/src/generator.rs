//! The packet generator, which sends the frames of user space one after the other, again and again.
//!
//! User space runs a program with `BPF_F_TEST_XDP_LIVE_FRAMES`. The kernel recycles the frames'
//! pages, and routers rewrite what is in them, so a program writes headers and the beginning of the
//! payload every time. There is one for each kind of header, whose length the compiler must know;
//! what follows, up to the length of the frame, is what user space gave to the run.
//!
//! Each comes twice: `generate` has whole frames to choose from, `vary` has one and what differs.
//! And each again as `tag`, which writes the number of the frame and the time into it.

use aya_ebpf::{
    bindings::xdp_action,
    btf_maps::{Array, PerCpuArray},
    helpers::{bpf_ktime_get_ns, bpf_redirect},
    macros::{btf_map, xdp},
    programs::XdpContext,
};
use isthmus_abi::lab::{
    generator::{Configuration, Differences, FINE, Frame, Places, Progress},
    tag,
};

use crate::frame::at;

/// Ethernet 14, IPv4 20, UDP 8, payload 18 bytes; what counts as 64 with the FCS.
const WORDS4: usize = 15;
/// Ethernet 14, IPv6 40, UDP 8, payload 18 bytes: the same payload, 20 bytes more of header.
const WORDS6: usize = 20;
/// Ethernet 14, IPv6 40 and IPv4 20 whichever is outside, UDP 8, payload 18 bytes.
const WORDS46: usize = 25;
/// Words at the end that are a tag's, but for its first two bytes.
const TAG: usize = 4;

#[btf_map]
static GENERATOR: Array<Configuration, 1, 0> = Array::new();
#[btf_map]
static PROGRESS: PerCpuArray<Progress, 1, 0> = PerCpuArray::new();
/// The frames. User space sets their number before it loads.
#[btf_map]
static FRAMES: Array<Frame, 1, 0> = Array::new();
/// The words in which each frame differs from the first of [`FRAMES`], at the places that [`PLACES`] tells.
/// User space sets the number of frames before it loads.
#[btf_map]
static DIFFERENCES: Array<Differences, 1, 0> = Array::new();
/// User space writes it before it loads.
#[unsafe(no_mangle)]
static PLACES: Places = [0; _];

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

/// Sends and tags the next IPv4 frame.
#[xdp]
pub fn tag4(context: XdpContext) -> u32 {
    tagged::<WORDS4>(&context).unwrap_or(xdp_action::XDP_DROP)
}

/// Sends and tags the next IPv6 frame.
#[xdp]
pub fn tag6(context: XdpContext) -> u32 {
    tagged::<WORDS6>(&context).unwrap_or(xdp_action::XDP_DROP)
}

/// Sends and tags the next frame with a packet of one protocol in one of the other.
#[xdp]
pub fn tag46(context: XdpContext) -> u32 {
    tagged::<WORDS46>(&context).unwrap_or(xdp_action::XDP_DROP)
}

/// Sends and tags the next of many IPv4 frames.
#[xdp]
pub fn tag_varied4(context: XdpContext) -> u32 {
    tagged_varied::<WORDS4>(&context).unwrap_or(xdp_action::XDP_DROP)
}

/// Sends and tags the next of many IPv6 frames.
#[xdp]
pub fn tag_varied6(context: XdpContext) -> u32 {
    tagged_varied::<WORDS6>(&context).unwrap_or(xdp_action::XDP_DROP)
}

/// Sends and tags the next of many frames with a packet of one protocol in one of the other.
#[xdp]
pub fn tag_varied46(context: XdpContext) -> u32 {
    tagged_varied::<WORDS46>(&context).unwrap_or(xdp_action::XDP_DROP)
}

#[inline(always)]
fn generate<const N: usize>(context: &XdpContext) -> Option<u32> {
    let configuration = GENERATOR.get(0)?;
    let turn = untimed_turn(configuration)?;
    copy::<N>(context, FRAMES.get(turn.frame)?, N)?;
    Some(redirect(configuration))
}

#[inline(always)]
fn vary<const N: usize>(context: &XdpContext) -> Option<u32> {
    let configuration = GENERATOR.get(0)?;
    let turn = untimed_turn(configuration)?;
    copy::<N>(context, FRAMES.get(0)?, N)?;
    overwrite::<N>(context, DIFFERENCES.get(turn.frame)?)?;
    Some(redirect(configuration))
}

#[inline(always)]
fn tagged<const N: usize>(context: &XdpContext) -> Option<u32> {
    let configuration = GENERATOR.get(0)?;
    let turn = timed_turn(configuration)?;
    copy::<N>(context, FRAMES.get(turn.frame)?, N - TAG)?;
    stamp::<N>(context, configuration, &turn)?;
    Some(redirect(configuration))
}

#[inline(always)]
fn tagged_varied<const N: usize>(context: &XdpContext) -> Option<u32> {
    let configuration = GENERATOR.get(0)?;
    let turn = timed_turn(configuration)?;
    copy::<N>(context, FRAMES.get(0)?, N - TAG)?;
    overwrite::<N>(context, DIFFERENCES.get(turn.frame)?)?;
    stamp::<N>(context, configuration, &turn)?;
    Some(redirect(configuration))
}

#[inline(always)]
fn redirect(configuration: &Configuration) -> u32 {
    // SAFETY: the helper takes plain numbers.
    unsafe { bpf_redirect(configuration.interface, 0) as u32 }
}

#[inline(always)]
fn clock() -> u64 {
    // SAFETY: the helper only reads the clock.
    unsafe { bpf_ktime_get_ns() }
}

/// The next frame to send.
struct Turn {
    /// Its index.
    frame: u32,
    /// The number of frames sent before.
    number: u64,
    /// The time.
    now: u64,
}

/// Returns the next frame, or nothing if none is due yet. The clock is read only if needed.
#[inline(always)]
fn untimed_turn(configuration: &Configuration) -> Option<Turn> {
    let progress = PROGRESS.get_ptr_mut(0)?;
    // SAFETY: the slot is this CPU's own, and frames are made with softirqs off.
    let progress = unsafe { &mut *progress };
    let now = if configuration.interval != 0 {
        clock()
    } else {
        0
    };
    turn(configuration, progress, now)
}

/// Returns the next frame, with the time at which it is sent.
#[inline(always)]
fn timed_turn(configuration: &Configuration) -> Option<Turn> {
    let progress = PROGRESS.get_ptr_mut(0)?;
    // SAFETY: the slot is this CPU's own, and frames are made with softirqs off.
    let progress = unsafe { &mut *progress };
    let turn = turn(configuration, progress, clock())?;
    if progress.begun == 0 {
        progress.begun = turn.now;
    }
    progress.ended = turn.now;
    Some(turn)
}

#[inline(always)]
fn turn(configuration: &Configuration, progress: &mut Progress, now: u64) -> Option<Turn> {
    if progress.sent >= configuration.until {
        return None;
    }
    if configuration.interval != 0 {
        wait_for_turn(configuration, progress, now)?;
    }
    let frame = progress.next as u32;
    let following = frame.wrapping_add(1);
    progress.next = if following < configuration.frames {
        following.into()
    } else {
        0
    };
    let number = progress.sent;
    progress.sent = number.wrapping_add(1);
    Some(Turn { frame, number, now })
}

/// Returns nothing until the next frame is due: the run continues without one.
#[inline(always)]
fn wait_for_turn(configuration: &Configuration, progress: &mut Progress, now: u64) -> Option<()> {
    let fine = now.wrapping_mul(FINE);
    if progress.due == 0 {
        progress.due = fine;
    }
    if fine < progress.due {
        return None;
    }
    let lateness = (fine - progress.due) / FINE;
    if lateness > configuration.tolerated {
        progress.late += 1;
    }
    if lateness > progress.latest {
        progress.latest = lateness;
    }
    if lateness > configuration.forgiven {
        progress.due = fine;
    }
    progress.due += configuration.interval;
    Some(())
}

/// Writes the first `count` of `N` words to the frame. Volatile, word by word: for anything else the
/// compiler calls a function that moves single bytes.
#[inline(always)]
fn copy<const N: usize>(context: &XdpContext, words: &Frame, count: usize) -> Option<()> {
    let frame = at::<[u32; N]>(context, 0)?.cast::<u32>();
    for (place, word) in words.iter().take(count).enumerate() {
        // SAFETY: `at` has shown that `N` words lie inside the page; a frame begins at an address
        // that is a multiple of four.
        unsafe { frame.add(place).write_volatile(*word) };
    }
    Some(())
}

/// Writes the words that differ.
#[inline(always)]
fn overwrite<const N: usize>(context: &XdpContext, differences: &Differences) -> Option<()> {
    let frame = at::<[u32; N]>(context, 0)?.cast::<u32>();
    for (number, word) in differences.iter().enumerate() {
        // SAFETY: a byte of a static; volatile, because the loader writes another value into it.
        let place = unsafe { (&raw const PLACES[number]).read_volatile() };
        // SAFETY: user space names places within the frame; the verifier knows them.
        unsafe { frame.add(place.into()).write_volatile(*word) };
    }
    Some(())
}

/// Writes the tag, whose first two bytes are those of the word before it.
#[inline(always)]
fn stamp<const N: usize>(
    context: &XdpContext,
    configuration: &Configuration,
    turn: &Turn,
) -> Option<()> {
    let frame = at::<[u32; N]>(context, 0)?.cast::<u32>();
    let word = tag::word(turn.now, configuration.stream, turn.number);
    // SAFETY: `at` has shown that `N` words lie inside the page.
    unsafe {
        let tag = frame.add(N - TAG).cast::<u64>();
        tag.write_unaligned(turn.now);
        tag.add(1).write_unaligned(word);
    }
    Some(())
}
