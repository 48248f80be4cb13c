//! Gateways with a known fault, for tests of the tester: they redirect IPv4 frames to one interface
//! and do something wrong to one of every so many.
//!
//! A program cannot keep a frame. But it can keep a tag, and give it to a later frame: since all tags
//! have the same sum, that frame is then the earlier one, held back.

use aya_ebpf::{
    bindings::{BPF_F_BROADCAST, xdp_action},
    btf_maps::{Array, DevMap},
    helpers::{bpf_ktime_get_ns, bpf_redirect, bpf_xdp_adjust_tail},
    macros::{btf_map, xdp},
    programs::XdpContext,
};
use isthmus_abi::lab::{
    fault::{COPIES, Configuration},
    tag::{MAGIC, TIME, WORD},
};

use crate::frame::{at, read};

/// Where the payload of UDP in IPv4 begins.
const PAYLOAD: usize = 42;
/// Most tags that can be held.
const HELD_BITS: u32 = 14;
/// The nanoseconds for which frames may come before their time: that of a burst of the generator's.
const CREDIT: u64 = 500_000;

#[btf_map]
static FAULT: Array<Configuration, 1, 0> = Array::new();
/// Frames so far, and of these the ones that were held; or when a policer has been paid for all. One link is
/// polled by one CPU at a time, but not always by the same.
#[btf_map]
static FAULT_COUNTS: Array<[u64; 2], 1, 0> = Array::new();
/// Time and word of tags that are held.
#[btf_map]
static HELD: Array<[u64; 2], { 1 << HELD_BITS }, 0> = Array::new();
/// Two interfaces, for a frame that leaves twice.
#[btf_map]
static TWICE: DevMap<COPIES, 0> = DevMap::new();

/// Drops some.
#[xdp]
pub fn drop_some(context: XdpContext) -> u32 {
    run(&context, |_, _, _| Some(xdp_action::XDP_DROP))
}

/// Changes a bit in the tag of some, another each time.
#[xdp]
pub fn corrupt_some(context: XdpContext) -> u32 {
    run(&context, |context, configuration, number| {
        let word = at::<u64>(context, PAYLOAD + WORD)?;
        let bit = number.checked_div(configuration.every.into())? & 63;
        // SAFETY: `at` has shown that the word lies inside the frame.
        unsafe { word.write_unaligned(word.read_unaligned() ^ (1 << bit)) };
        Some(redirect(configuration))
    })
}

/// Takes the last octet off some.
#[xdp]
pub fn shorten_some(context: XdpContext) -> u32 {
    run(&context, |context, configuration, _| {
        // SAFETY: the helper takes the context that the program was given.
        unsafe { bpf_xdp_adjust_tail(context.ctx, -1) };
        Some(redirect(configuration))
    })
}

/// Sends some twice.
#[xdp]
pub fn duplicate_some(context: XdpContext) -> u32 {
    run(&context, |_, _, _| {
        TWICE.redirect(0, BPF_F_BROADCAST.into()).ok()
    })
}

/// Holds all frames until more have come, except some, which overtake them.
#[xdp]
pub fn hold_back(context: XdpContext) -> u32 {
    let held = |context: &XdpContext, configuration: &Configuration| {
        let counts = FAULT_COUNTS.get_ptr_mut(0)?;
        // SAFETY: one CPU at a time polls the link.
        let counts = unsafe { &mut *counts };
        let number = counts[1];
        counts[1] += 1;
        let place = number.checked_rem(configuration.held.into())?;
        let slot = HELD.get_ptr_mut(place as u32 & ((1 << HELD_BITS) - 1))?;
        let word = at::<u64>(context, PAYLOAD + WORD)?;
        let time = at::<u64>(context, PAYLOAD + TIME)?;
        // SAFETY: one CPU at a time polls the link; `at` has shown the rest.
        unsafe {
            let earlier = *slot;
            *slot = [time.read_unaligned(), word.read_unaligned()];
            time.write_unaligned(earlier[0]);
            word.write_unaligned(earlier[1]);
        }
        (number >= u64::from(configuration.held)).then(|| redirect(configuration))
    };
    let overtake = |_: &XdpContext, configuration: &Configuration, _| Some(redirect(configuration));
    serve(&context, overtake, held).unwrap_or(xdp_action::XDP_DROP)
}

/// Passes a number of frames per second, and drops the rest.
#[xdp]
pub fn police(context: XdpContext) -> u32 {
    let tagged = |_: &XdpContext, configuration: &Configuration| {
        let counts = FAULT_COUNTS.get_ptr_mut(0)?;
        // SAFETY: one CPU at a time polls the link; the helper takes nothing.
        let (counts, now) = unsafe { (&mut *counts, bpf_ktime_get_ns()) };
        let paid = counts[1].max(now);
        if paid - now > CREDIT {
            return None;
        }
        counts[1] = paid + u64::from(configuration.interval);
        Some(redirect(configuration))
    };
    serve(&context, |_, _, _| None, tagged).unwrap_or(xdp_action::XDP_DROP)
}

#[inline(always)]
fn redirect(configuration: &Configuration) -> u32 {
    // SAFETY: the helper takes plain numbers.
    unsafe { bpf_redirect(configuration.interface, 0) as u32 }
}

/// Redirects frames, and treats some in another way.
#[inline(always)]
fn run(
    context: &XdpContext,
    fault: impl FnOnce(&XdpContext, &Configuration, u64) -> Option<u32>,
) -> u32 {
    let forward = |_: &XdpContext, configuration: &Configuration| Some(redirect(configuration));
    serve(context, fault, forward).unwrap_or(xdp_action::XDP_DROP)
}

/// Does one thing with one of N tagged frames, and another with the rest.
#[inline(always)]
fn serve(
    context: &XdpContext,
    fault: impl FnOnce(&XdpContext, &Configuration, u64) -> Option<u32>,
    rest: impl FnOnce(&XdpContext, &Configuration) -> Option<u32>,
) -> Option<u32> {
    let configuration = FAULT.get(0)?;
    if read::<u16>(context, PAYLOAD) != Some(MAGIC) {
        return Some(redirect(configuration));
    }
    let counts = FAULT_COUNTS.get_ptr_mut(0)?;
    // SAFETY: one CPU at a time polls the link.
    let counts = unsafe { &mut *counts };
    counts[0] += 1;
    let number = counts[0];
    if configuration.every != 0 && number % u64::from(configuration.every) == 0 {
        fault(context, configuration, number)
    } else {
        rest(context, configuration)
    }
}
