//! Programs that look at those of Isthmus while they work (`fentry` and `fexit` of a BPF program): what came, what
//! left, and which counters changed between. Nothing of them is in the way of a packet unless somebody follows
//! packets.
//!
//! They read the kernel's own structures behind the context of the program that they look at. Where its fields lie
//! is told by the loader, who asks the kernel.
#![no_std]
#![no_main]

use core::ffi::c_void;

use aya_ebpf::btf_maps::{Array, PerCpuArray, RingBuf};
use aya_ebpf::helpers::{bpf_ktime_get_ns, generated};
use aya_ebpf::macros::btf_map;
use isthmus_abi::banks::Active;
use isthmus_abi::counts;
use isthmus_abi::trace::{Event, Filter, Form, HEAD, LONGEST, Offsets, ROOM, ROWS, Settings};

#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";

#[btf_map]
static SETTINGS: Array<Settings, 1> = Array::new();

#[btf_map]
static EVENTS: RingBuf<u8, ROOM> = RingBuf::new();

#[btf_map]
static LOST: PerCpuArray<u64, 1> = PerCpuArray::new();

/// Which instances there are. The loader puts the gateway's own map in the place of this one, as of the next.
#[btf_map]
static ACTIVE: Array<Active, 1> = Array::new();

#[btf_map]
static COUNTS: PerCpuArray<u64, { counts::ENTRIES as usize }> = PerCpuArray::new();

/// The counters of a processor when the packet came.
#[btf_map]
static BEFORE: PerCpuArray<[u64; counts::ENTRIES as usize], 1> = PerCpuArray::new();

/// The power of two above [`LONGEST`].
const MASK: u64 = (LONGEST as u64).next_power_of_two();

/// An event, with room for the bytes behind it.
#[repr(C)]
struct Told {
    /// Whether it met the conditions as it came.
    wanted: u64,
    event: Event,
    bytes: [u8; MASK as usize + LONGEST],
}

/// The event of the packet that a processor works on.
#[btf_map]
static TOLD: PerCpuArray<Told, 1> = PerCpuArray::new();

/// `ETH_P_8021Q` and `ETH_P_8021AD` of `linux/if_ether.h`.
const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// Bytes of an Ethernet header, and of a tag; its type is the last two of them.
const ETHERNET: u64 = 14;
const TAG: u64 = 4;
/// Tags that a frame has at most (IEEE 802.1ad).
const MOST_TAGS: u32 = 2;

/// The kind of the structure behind a context.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Kind {
    Frame,
    Skb,
}

/// A packet comes to an XDP program.
#[unsafe(no_mangle)]
#[unsafe(link_section = "fentry/isthmus_xdp")]
pub extern "C" fn trace_xdp_came(context: *mut c_void) -> i32 {
    came(context, Kind::Frame);
    0
}

/// An XDP program, and all that it has handed the packet to, is done.
#[unsafe(no_mangle)]
#[unsafe(link_section = "fexit/isthmus_xdp")]
pub extern "C" fn trace_xdp_left(context: *mut c_void) -> i32 {
    left(context, Kind::Frame);
    0
}

/// A packet comes to a tc program.
#[unsafe(no_mangle)]
#[unsafe(link_section = "fentry/isthmus_tc")]
pub extern "C" fn trace_tc_came(context: *mut c_void) -> i32 {
    came(context, Kind::Skb);
    0
}

/// A tc program is done.
#[unsafe(no_mangle)]
#[unsafe(link_section = "fexit/isthmus_tc")]
pub extern "C" fn trace_tc_left(context: *mut c_void) -> i32 {
    left(context, Kind::Skb);
    0
}

/// Reads a value of the kernel's memory; zero where there is none.
#[inline(always)]
fn read<T: Default>(at: u64) -> T {
    let mut value = T::default();
    // SAFETY: the helper writes as many bytes as the value has, and refuses addresses that cannot be read.
    unsafe {
        generated::bpf_probe_read_kernel(
            (&raw mut value).cast(),
            size_of::<T>() as u32,
            at as *const c_void,
        );
    }
    value
}

/// The structure behind the context of the program that is looked at.
#[inline(always)]
fn subject(context: *mut c_void) -> u64 {
    let mut subject = 0;
    // SAFETY: the helper writes a word.
    unsafe { generated::bpf_get_func_arg(context, 0, &raw mut subject) };
    subject
}

/// Where a packet is.
struct Place {
    data: u64,
    length: u32,
    /// Bytes that lie together.
    linear: u32,
}

/// Finds a packet.
#[inline(always)]
fn place(subject: u64, kind: Kind, offsets: &Offsets) -> Place {
    let data: u64 = read(subject + u64::from(offsets.data));
    let end = subject + u64::from(offsets.end);
    match kind {
        Kind::Frame => {
            let length = (read::<u64>(end) - data) as u32;
            Place {
                data,
                length,
                linear: length,
            }
        }
        Kind::Skb => {
            let length: u32 = read(end);
            let paged: u32 = read(subject + u64::from(offsets.paged));
            Place {
                data,
                length,
                linear: length.wrapping_sub(paged),
            }
        }
    }
}

/// The number of the link that a packet came in on.
#[inline(always)]
fn link(subject: u64, kind: Kind, offsets: &Offsets) -> u32 {
    let mut device: u64 = read(subject + u64::from(offsets.device));
    if kind == Kind::Frame {
        device = read(device + u64::from(offsets.device_of_queue));
    }
    read(device + u64::from(offsets.number))
}

/// Where the structure has its fields.
#[inline(always)]
fn offsets(settings: &Settings, kind: Kind) -> &Offsets {
    match kind {
        Kind::Frame => &settings.frame,
        Kind::Skb => &settings.skb,
    }
}

/// Copies the beginning of a packet to `at`, and returns how much of it.
#[inline(always)]
fn copy(told: &mut Told, at: u64, place: &Place, snap: u32) -> u64 {
    // Words: the verifier follows no bound of a half of one into a pointer.
    let (mut length, snap) = (u64::from(place.linear), u64::from(snap));
    if length > snap {
        length = snap;
    }
    if length > LONGEST as u64 {
        return 0;
    }
    // A mask is a bound that the verifier sees wherever the compiler keeps the number.
    let at = at & (MASK - 1);
    // SAFETY: there is room for so much from any place below the mask on, and the helper refuses addresses that cannot be read.
    let copied = unsafe {
        let to = told.bytes.as_mut_ptr().add(at as usize);
        generated::bpf_probe_read_kernel(to.cast(), length as u32, place.data as *const c_void)
    };
    if copied == 0 { length } else { 0 }
}

/// Notes what came, and the counters of before.
#[inline(always)]
fn came(context: *mut c_void, kind: Kind) {
    let (Some(settings), Some(told), Some(before)) =
        (SETTINGS.get(0), TOLD.get_ptr_mut(0), BEFORE.get_ptr_mut(0))
    else {
        return;
    };
    // SAFETY: this processor's own, and no program of one kind interrupts another.
    let (told, before) = unsafe { (&mut *told, &mut *before) };
    let subject = subject(context);
    let offsets = offsets(settings, kind);
    let place = place(subject, kind, offsets);
    // SAFETY: a helper without arguments.
    told.event.time = unsafe { bpf_ktime_get_ns() };
    told.event.hook = kind as u32;
    told.event.link = link(subject, kind, offsets);
    told.event.came = Form {
        length: place.length,
        told: copy(told, 0, &place, settings.snap) as u32,
    };
    told.wanted = is_wanted(&settings.filter, &place).into();
    each_counter(|row, place, count| before[row * counts::ROW as usize + place] = count);
}

/// Shows the counters of the instances, and of the gateway: by row, and place in it.
#[inline(always)]
fn each_counter(mut show: impl FnMut(usize, usize, u64)) {
    let Some(active) = ACTIVE.get(0) else {
        return;
    };
    let instances = u32::from(active.count());
    let mut row = 0;
    while row < ROWS as u32 {
        if row < instances || row + 1 == ROWS as u32 {
            let mut place = 0;
            while place < counts::ROW {
                if let Some(count) = COUNTS.get(row * counts::ROW + place) {
                    show(row as usize, place as usize, *count);
                }
                place += 1;
            }
        }
        row += 1;
    }
}

/// Tells what left, and which counters are not as before.
#[inline(always)]
fn left(context: *mut c_void, kind: Kind) {
    let (Some(settings), Some(told), Some(before)) =
        (SETTINGS.get(0), TOLD.get_ptr_mut(0), BEFORE.get_ptr_mut(0))
    else {
        return;
    };
    // SAFETY: as above.
    let (told, before) = unsafe { (&mut *told, &*before) };
    let place = place(subject(context), kind, offsets(settings, kind));
    if told.wanted == 0 && !is_wanted(&settings.filter, &place) {
        return;
    }
    let came = u64::from(told.event.came.told);
    let copied = copy(told, came, &place, settings.snap);
    told.event.left = Form {
        length: place.length,
        told: copied as u32,
    };
    let mut answer = 0;
    // SAFETY: the helper writes a word.
    unsafe { generated::bpf_get_func_ret(context, &raw mut answer) };
    told.event.answer = answer as i32;
    let changes = &mut told.event.changes;
    each_counter(|row, place, count| {
        // Without a branch, of which the verifier would follow both sides.
        let difference = count ^ before[row * counts::ROW as usize + place];
        let differs = (difference | difference.wrapping_neg()) >> 63;
        let others = if place == 0 { 0 } else { changes[row] };
        changes[row] = others | differs << place;
    });
    let length = came + copied;
    if length > 2 * LONGEST as u64 {
        return;
    }
    let length = length + size_of::<Event>() as u64;
    // SAFETY: the event and the bytes behind it lie together, and the kernel reads no more of them.
    let sent = unsafe {
        generated::bpf_ringbuf_output(
            (&raw const EVENTS).cast_mut().cast(),
            (&raw mut told.event).cast(),
            length,
            0,
        )
    };
    if sent != 0
        && let Some(lost) = LOST.get_ptr_mut(0)
    {
        // SAFETY: this processor's own.
        unsafe { *lost += 1 };
    }
}

/// Whether a packet meets the conditions.
#[inline(always)]
fn is_wanted(filter: &Filter, place: &Place) -> bool {
    if filter.conditions == 0 {
        return true;
    }
    let mut at = place.data + ETHERNET;
    let mut tags = 0;
    while tags < MOST_TAGS && TAGS.contains(&u16::from_be(read(at - 2))) {
        at += TAG;
        tags += 1;
    }
    let mut head = [0; HEAD];
    // SAFETY: the helper writes as many bytes, or zeros where it cannot read.
    unsafe {
        generated::bpf_probe_read_kernel(head.as_mut_ptr().cast(), HEAD as u32, at as *const c_void)
    };
    filter.admits(&head)
}
