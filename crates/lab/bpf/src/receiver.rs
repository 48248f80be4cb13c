//! The receiver of tagged frames: the fate and the delay of each.
//!
//! There is a program for each form in which frames can arrive. A frame with a UDP datagram of that
//! form is the generator's, and is dropped once it has been accounted for; everything else is passed
//! on, so that neighbours are found.
//!
//! Each CPU has counts of its own. Shared are the window, which tells what has been seen of the last
//! million frames, and the number that comes next.

use core::sync::atomic::Ordering::Relaxed;

use aya_ebpf::{
    bindings::xdp_action,
    btf_maps::{Array, PerCpuArray},
    helpers::bpf_ktime_get_ns,
    macros::{btf_map, xdp},
    programs::XdpContext,
};
use isthmus_abi::lab::{
    histogram::{STEPS, step},
    receiver::{DELAYS, Expected, LONGER, Received, SHORTER, TUPLE_WORDS, Tuple},
    tag::{self, TIME, WORD},
};
use isthmus_atomic::AtomicU64;

use crate::frame::{at, read};

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const IPV6: usize = 40;
const UDP: usize = 8;
/// Where IPv4 has its protocol, and IPv6 its next header.
const PROTOCOL4: usize = 9;
const PROTOCOL6: usize = 6;
/// Where addresses begin, which ports follow, and 32-bit words of both.
const ADDRESSES4: usize = 12;
const ADDRESSES6: usize = 8;
const TUPLE4: usize = 3;
const TUPLE6: usize = TUPLE_WORDS;
/// UDP's number there.
const UDP_PROTOCOL: u8 = 17;
const IPV4_TYPE: u16 = 0x0800;
const IPV6_TYPE: u16 = 0x86dd;

/// Frames whose numbers share a word of the window: its lower half.
const FRAMES_BITS: u32 = 5;
/// Words of the window, as a power of two.
const WORDS_BITS: u32 = 15;

#[btf_map]
static RECEIVER: Array<Expected, 1, 0> = Array::new();
#[btf_map]
static RECEIVED: PerCpuArray<Received, 1, 0> = PerCpuArray::new();
/// Which frames have been seen: a bit for each in the lower half of a word, and in the upper half
/// which turn of the window they belong to. So it is never cleared.
#[btf_map]
static WINDOW: Array<AtomicU64, { 1 << WORDS_BITS }, 0> = Array::new();

/// Addresses and ports of the frames of a trial, one after the other as frames have them, by their number in
/// it. User space sets how many before it loads.
#[btf_map]
static TUPLES: Array<Tuple, 1, 0> = Array::new();

/// Receives IPv4.
#[xdp]
pub fn receive4(context: XdpContext) -> u32 {
    const AT: usize = ETHERNET;
    receive::<IPV4_TYPE, { AT + PROTOCOL4 }, { AT + IPV4 + UDP }>(&context)
}

/// Receives IPv6.
#[xdp]
pub fn receive6(context: XdpContext) -> u32 {
    const AT: usize = ETHERNET;
    receive::<IPV6_TYPE, { AT + PROTOCOL6 }, { AT + IPV6 + UDP }>(&context)
}

/// Receives IPv6 in IPv4.
#[xdp]
pub fn receive_six_in_four(context: XdpContext) -> u32 {
    const AT: usize = ETHERNET + IPV4;
    receive::<IPV4_TYPE, { AT + PROTOCOL6 }, { AT + IPV6 + UDP }>(&context)
}

/// Receives IPv4 in IPv6.
#[xdp]
pub fn receive_four_in_six(context: XdpContext) -> u32 {
    const AT: usize = ETHERNET + IPV6;
    receive::<IPV6_TYPE, { AT + PROTOCOL4 }, { AT + IPV4 + UDP }>(&context)
}

/// Receives IPv4 and keeps addresses and ports.
#[xdp]
pub fn observe4(context: XdpContext) -> u32 {
    const AT: usize = ETHERNET;
    let receive = receive_and::<IPV4_TYPE, { AT + PROTOCOL4 }, { AT + IPV4 + UDP }>;
    receive(&context, observe::<{ AT + ADDRESSES4 }, TUPLE4>)
}

/// Receives IPv6 and keeps addresses and ports.
#[xdp]
pub fn observe6(context: XdpContext) -> u32 {
    const AT: usize = ETHERNET;
    let receive = receive_and::<IPV6_TYPE, { AT + PROTOCOL6 }, { AT + IPV6 + UDP }>;
    receive(&context, observe::<{ AT + ADDRESSES6 }, TUPLE6>)
}

/// Keeps the words of a frame from an offset on.
#[inline(always)]
fn observe<const AT: usize, const WORDS: usize>(context: &XdpContext, number: u64) -> Option<()> {
    let tuple = TUPLES.get_ptr_mut(number as u32)?.cast::<u32>();
    let words = at::<[u32; WORDS]>(context, AT)?.cast::<u32>();
    for place in 0..WORDS {
        // SAFETY: a map's value has room for the words of IPv6; `at` has shown the rest.
        unsafe {
            tuple
                .add(place)
                .write_volatile(words.add(place).read_unaligned())
        };
    }
    Some(())
}

#[inline(always)]
fn receive<const TYPE: u16, const PROTOCOL: usize, const PAYLOAD: usize>(
    context: &XdpContext,
) -> u32 {
    receive_and::<TYPE, PROTOCOL, PAYLOAD>(context, |_, _| Some(()))
}

/// Receives a frame, and does something else with it if it counts; it is given its number in the trial.
#[inline(always)]
fn receive_and<const TYPE: u16, const PROTOCOL: usize, const PAYLOAD: usize>(
    context: &XdpContext,
    more: impl FnOnce(&XdpContext, u64) -> Option<()>,
) -> u32 {
    let Some(received) = RECEIVED.get_ptr_mut(0) else {
        return xdp_action::XDP_ABORTED;
    };
    // SAFETY: the slot is this CPU's own, and XDP programs run with softirqs off.
    let received = unsafe { &mut *received };
    if read::<u16>(context, 12) != Some(TYPE.to_be())
        || read::<u8>(context, PROTOCOL) != Some(UDP_PROTOCOL)
    {
        received.other += 1;
        return xdp_action::XDP_PASS;
    }
    if let Some(number) = account::<PAYLOAD>(context, received) {
        more(context, number);
    }
    xdp_action::XDP_DROP
}

/// Accounts for a frame. Returns its number in the trial if it counts.
#[inline(always)]
fn account<const PAYLOAD: usize>(context: &XdpContext, received: &mut Received) -> Option<u64> {
    let expected = RECEIVER.get_ptr_mut(0)?;
    // SAFETY: a part of a map's value that programs do not write.
    let trial = unsafe { &(*expected).trial };
    if (context.data_end() - context.data()) as u64 != trial.length {
        received.resized += 1;
        return None;
    }
    let word = read::<u64>(context, PAYLOAD + WORD)?;
    let time = read::<u64>(context, PAYLOAD + TIME)?;
    let magic = read::<u16>(context, PAYLOAD)?;
    if !tag::is_whole(magic, time, word) {
        received.corrupt += 1;
        return None;
    }
    let number = tag::number(word);
    if tag::stream(word) != trial.stream || number < trial.first {
        received.strange += 1;
        return None;
    }
    // SAFETY: the helper only reads the clock.
    let now = unsafe { bpf_ktime_get_ns() };
    let delay = now.wrapping_sub(time);
    match see(number)? {
        Seen::Before => {
            received.duplicates += 1;
            return None;
        }
        Seen::TooLate => {
            received.expired += 1;
            return None;
        }
        Seen::Now if delay > trial.timeout => {
            received.expired += 1;
            return None;
        }
        Seen::Now => {}
    }
    order(received, expected, number, time);
    note_delay(received, number, delay);
    note_arrival(received, now);
    received.received += 1;
    Some(number - trial.first)
}

/// The state of a frame in the window.
enum Seen {
    /// This is the first time.
    Now,
    /// It has been seen before.
    Before,
    /// The window has moved past it: its state is unknown.
    TooLate,
}

/// Looks the frame up in the window and notes it there. Nothing if other CPUs are in the way.
#[inline(always)]
fn see(number: u64) -> Option<Seen> {
    let place = (number >> FRAMES_BITS) as u32 & ((1 << WORDS_BITS) - 1);
    let turn = number >> (FRAMES_BITS + WORDS_BITS);
    let bit = 1 << (number & ((1 << FRAMES_BITS) - 1));
    let word = WINDOW.get(place)?;
    for _ in 0..3 {
        let current = word.load(Relaxed);
        let new = match current >> 32 {
            same if same == turn && current & bit != 0 => return Some(Seen::Before),
            same if same == turn => current | bit,
            earlier if earlier < turn => turn << 32 | bit,
            _ => return Some(Seen::TooLate),
        };
        if word
            .compare_exchange(current, new, Relaxed, Relaxed)
            .is_ok()
        {
            return Some(Seen::Now);
        }
    }
    None
}

/// Notes whether the frame came in order (RFC 4737 section 3.3).
#[inline(always)]
fn order(received: &mut Received, expected: *mut Expected, number: u64, time: u64) {
    // SAFETY: a field of a map's value.
    let next = unsafe { &raw mut (*expected).next };
    // SAFETY: an aligned word, which the machine reads and writes at once. With frames on several CPUs
    // at the same time it may be a few frames behind.
    let expected = unsafe { next.read_volatile() };
    if number < expected {
        received.reordered += 1;
        return;
    }
    if number > expected {
        received.gap = time;
    }
    // SAFETY: as above.
    unsafe { next.write_volatile(number + 1) };
}

/// Delay, its variation from frame to frame (RFC 5481 section 4.1), and jitter.
#[inline(always)]
fn note_delay(received: &mut Received, number: u64, delay: u64) {
    count(received, DELAYS, delay);
    received.sum += delay;
    if received.received == 0 {
        received.shortest = delay;
    } else {
        if delay < received.shortest {
            received.shortest = delay;
        }
        let (histogram, variation) = if delay >= received.last_delay {
            (LONGER, delay - received.last_delay)
        } else {
            (SHORTER, received.last_delay - delay)
        };
        if number == received.last_number + 1 {
            count(received, histogram, variation);
        }
        received.jitter += variation;
        received.jitter -= (received.jitter + 8) >> 4;
    }
    if delay > received.longest {
        received.longest = delay;
    }
    received.last_number = number;
    received.last_delay = delay;
}

#[inline(always)]
fn note_arrival(received: &mut Received, now: u64) {
    if received.received == 0 {
        received.first_arrival = now;
    } else if now - received.last_arrival > received.silence {
        received.silence = now - received.last_arrival;
    }
    received.last_arrival = now;
}

/// Counts a value in a histogram.
#[inline(always)]
fn count(received: &mut Received, histogram: usize, value: u64) {
    let steps = (&raw mut received.histograms).cast::<u32>();
    let step = histogram * STEPS + (step(value) & (STEPS - 1));
    // SAFETY: the place is within the histograms.
    unsafe { *steps.add(step) += 1 };
}
