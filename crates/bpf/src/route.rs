//! The way out: a look into the kernel's forwarding table, and what is remembered of it.
//!
//! The kernel's answer takes longer than the rest of a translation. So each processor remembers
//! answers, for as long as the daemon has not seen a change of the kernel's tables and for a second
//! at most: see [`EPOCH`]. Where all destinations of a range have one next hop, as the customers of a border
//! have, they share one answer: see [`Question::of_many`].

use core::cell::Cell;
use core::ffi::c_void;

use aya_ebpf::bindings::{
    BPF_FIB_LKUP_RET_NO_NEIGH, BPF_FIB_LKUP_RET_SUCCESS, BPF_FIB_LOOKUP_SKIP_NEIGH, bpf_fib_lookup,
    bpf_fib_lookup__bindgen_ty_1,
};
use aya_ebpf::btf_maps::{Array, PerCpuArray};
use aya_ebpf::helpers::bpf_fib_lookup as fib_lookup;
use aya_ebpf::macros::btf_map;
use isthmus_abi::lines::MMAPABLE;
use isthmus_abi::routes::{self, Decides, EpochWords};
use isthmus_core::address::V6;
use isthmus_core::host::{Destination, Route};
use isthmus_core::verdict::Slow;

use crate::ethernet::{Addresses, Tag};
use crate::link::properties;
use crate::maps;
use crate::ranges;

/// How an engine finds the way out for a translated packet.
pub(crate) trait Egress {
    /// Looks the route up and remembers it.
    ///
    /// # Errors
    /// See [`Host::route`](isthmus_core::host::Host::route).
    fn find(&mut self, to: Destination) -> Result<Option<Route>, Slow>;
}

/// For a program that sends nothing.
pub(crate) struct NoWay;

impl Egress for NoWay {
    #[inline(always)]
    fn find(&mut self, _to: Destination) -> Result<Option<Route>, Slow> {
        Ok(None)
    }
}

/// Where a packet comes in: what a question to the forwarding table needs beside the destination.
pub(crate) trait Ingress {
    /// Whether links are given frames. Those that take socket buffers only can not be sent to then,
    /// and tags are the sender's business.
    const FRAMES: bool;
    /// The link that the packet came in on: the device of its VLAN, if it came with a tag.
    fn link(&self) -> u32;
    /// The Ethernet addresses that it came with, if they will be needed to pass it on.
    fn addresses(&self) -> Option<Addresses>;
    /// Has [`ask`] called in a global function, for the way at this place: the verifier looks at it
    /// once.
    fn ask(&self, place: u32);
}

/// What the forwarding table said.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send it there.
    Neighbour,
    /// Send it there, with a tag.
    Vlan,
    /// The link is known, its neighbour is not yet, and the engine can have the kernel find it.
    Link,
    /// The kernel has to see to it, or wants to.
    Kernel,
}

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// Room for a question and its answer, one for each processor: it is too large for the stack of a
/// program. Fields that [`ask`] does not write are zero, or are answers only.
#[btf_map]
static QUESTION: PerCpuArray<[u64; size_of::<bpf_fib_lookup>() / 8], 1> = PerCpuArray::new();

/// The state of the kernel's routes: see [`routes`].
#[btf_map]
static EPOCH: Array<EpochWords, 1, MMAPABLE> = Array::new();

/// Ways that each processor remembers: 256 KiB.
const WAYS: usize = 1 << WAYS_LOG2;
const WAYS_LOG2: u32 = 12;

/// Place of the question that is asked instead of another: it is too large for the stack.
const ASKED_FOR: u32 = WAYS as u32;

#[btf_map]
static KNOWN: PerCpuArray<[u64; 8], { WAYS + 1 }> = PerCpuArray::new();

/// A way as it is remembered, where the hash of its question says. In cells, because two places may be
/// one.
#[repr(C)]
pub(crate) struct Way {
    question: Asked,
    /// The epoch in which the kernel answered; 0: it is of no use for another packet.
    since: Cell<u32>,
    /// The link to send on.
    link: Cell<u32>,
    /// The Ethernet addresses to send with: those of the next hop, or those that the packet came
    /// with, for the kernel.
    addresses: [Cell<u16>; 6],
    /// 0 where the kernel does not say.
    mtu: Cell<u16>,
    /// What [`Next`] stands for it: 0 the neighbour, another small number the neighbour in the VLAN
    /// of [`Tag::number`]. Here and not in a variable, because the verifier looks at all that follows
    /// for each value of a variable that it knows.
    next: Cell<u16>,
}
const _: () = assert!(size_of::<Way>() == 64);

/// Not for this engine to send.
const ELSEWHERE: u16 = 1 << 13;
/// [`Next::Link`].
const LINK: u16 = 1 << 14;
/// [`Next::Kernel`].
const KERNEL: u16 = 1 << 15;

impl Way {
    /// Whether it is what the kernel says to a question in this epoch.
    #[inline(always)]
    fn answers(&self, question: &Question, epoch: u32) -> bool {
        self.since.get() == epoch && epoch != 0 && self.question.is(question)
    }

    /// The link to send on.
    #[inline(always)]
    pub(crate) fn link(&self) -> u32 {
        self.link.get()
    }

    /// The Ethernet addresses to send with.
    #[inline(always)]
    pub(crate) fn addresses(&self) -> Addresses {
        let [a, b, c, d, e, f] = &self.addresses;
        [a.get(), b.get(), c.get(), d.get(), e.get(), f.get()]
    }

    /// Sets them. Field by field: for the whole the compiler calls a function, which has a frame of its
    /// own.
    #[inline(always)]
    fn set_addresses(&self, addresses: Addresses) {
        let [a, b, c, d, e, f] = &self.addresses;
        a.set(addresses[0]);
        b.set(addresses[1]);
        c.set(addresses[2]);
        d.set(addresses[3]);
        e.set(addresses[4]);
        f.set(addresses[5]);
    }

    /// The tag to send with, if it is [`Next::Vlan`].
    #[inline(always)]
    pub(crate) fn tag(&self) -> Tag {
        Tag::from_number(self.next.get())
    }

    /// What the forwarding table said.
    #[inline(always)]
    pub(crate) fn next(&self) -> Next {
        match self.next.get() {
            0 => Next::Neighbour,
            LINK => Next::Link,
            KERNEL => Next::Kernel,
            _ => Next::Vlan,
        }
    }
}

/// All that the kernel's answer depends on.
#[repr(C)]
#[derive(Clone, Copy)]
struct Question {
    /// Source and destination, two words each; of an IPv4 packet both in the first, the rest is 0.
    addresses: [u64; 4],
    /// The link that the packet came in on, the family and the type of service; and [`OF_MANY`].
    from: u64,
}

/// The question stands for those of other packets too.
const OF_MANY: u64 = 1 << 63;

impl Question {
    #[inline(always)]
    fn new(to: Destination, link: u32) -> Self {
        let (addresses, family, tos) = match to {
            Destination::V4 {
                source,
                destination,
                tos,
            } => {
                let both = u64::from(source.0.0) << 32 | u64::from(destination.0.0);
                ([both, 0, 0, 0], AF_INET, tos)
            }
            Destination::V6 {
                source,
                destination,
                ..
            } => {
                let (source, destination) = (source.halves(), destination.halves());
                let addresses = [source.0, source.1, destination.0, destination.1];
                (addresses, AF_INET6, 0)
            }
        };
        Self {
            addresses,
            from: u64::from(link) << 16 | u64::from(family) << 8 | u64::from(tos),
        }
    }

    /// The question that is asked for this one: if no address decides on the way, or the destination
    /// alone, one without those that do not. For a range it is asked of its first address, for which the
    /// kernel has learned no path MTU of its own.
    #[inline(always)]
    fn of_many(&self, size: u32) -> Self {
        let [a, _, high, low] = self.addresses;
        let ipv6 = self.family() == AF_INET6;
        let destination = if ipv6 {
            high
        } else {
            u64::from(u32::from_be(a as u32))
        };
        let (first, decides) = ranges::find(size, ipv6, destination);
        let addresses = match (decides, ipv6) {
            (Decides::Addresses, _) => return *self,
            (Decides::Destination, true) => [0, 0, high, low],
            (Decides::Destination, false) => [u64::from(a as u32), 0, 0, 0],
            (Decides::Range, true) => [0, 0, first, 0],
            (Decides::Range, false) => [u64::from((first as u32).to_be()), 0, 0, 0],
        };
        Self {
            addresses,
            from: self.from | OF_MANY,
        }
    }

    #[inline(always)]
    fn family(&self) -> u8 {
        (self.from >> 8) as u8
    }

    /// Where it is remembered. Who aims at one place gains nothing but that the kernel is asked.
    #[inline(always)]
    fn place(&self) -> u32 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let [a, b, c, d] = self.addresses;
        let sum = a ^ b.wrapping_mul(ODD) ^ c.wrapping_mul(ODD).wrapping_mul(ODD) ^ d;
        ((sum ^ self.from).wrapping_mul(ODD) >> (64 - WAYS_LOG2)) as u32
    }
}

/// The question of a way that is remembered.
#[repr(C)]
struct Asked {
    addresses: [Cell<u64>; 4],
    from: Cell<u64>,
}

impl Asked {
    #[inline(always)]
    fn get(&self) -> Question {
        let [a, b, c, d] = &self.addresses;
        Question {
            addresses: [a.get(), b.get(), c.get(), d.get()],
            from: self.from.get(),
        }
    }

    #[inline(always)]
    fn set(&self, question: &Question) {
        let [a, b, c, d] = &self.addresses;
        let addresses = &question.addresses;
        a.set(addresses[0]);
        b.set(addresses[1]);
        c.set(addresses[2]);
        d.set(addresses[3]);
        self.from.set(question.from);
    }

    /// Whether it is this one. Word by word: for arrays the compiler calls a function with a loop.
    #[inline(always)]
    fn is(&self, other: &Question) -> bool {
        let (ours, theirs) = (&self.addresses, &other.addresses);
        self.from.get() == other.from
            && ours[0].get() == theirs[0]
            && ours[1].get() == theirs[1]
            && ours[2].get() == theirs[2]
            && ours[3].get() == theirs[3]
    }
}

/// The way of one packet.
pub(crate) struct Fib<I> {
    ingress: I,
    way: Option<&'static Way>,
}

impl<I: Ingress> Fib<I> {
    #[inline(always)]
    pub(crate) fn new(ingress: I) -> Self {
        Self { ingress, way: None }
    }

    /// The way that was found. Unless it is to the neighbour, its Ethernet addresses are those that
    /// the packet came with, if the engine has them.
    #[inline(always)]
    pub(crate) fn way(&self) -> Option<&'static Way> {
        self.way
    }
}

impl<I: Ingress> Egress for Fib<I> {
    #[inline(always)]
    fn find(&mut self, to: Destination) -> Result<Option<Route>, Slow> {
        let question = Question::new(to, self.ingress.link());
        let epoch = epoch();
        let mut place = u64::from(question.place());
        let mut found = false;
        // A loop, so that the key of the map has one place on the stack.
        let way = loop {
            let Some(way) = known(place as u32) else {
                return Ok(None);
            };
            if found || way.answers(&question, epoch) {
                break way;
            }
            let [a, b, c, d] = question.addresses;
            place = way_of_many(a, b, c, d, question.from);
            if place & TO_BE_ASKED != 0 {
                self.ingress.ask(place as u32);
            }
            found = true;
        };
        if way.next.get() == ELSEWHERE {
            return Err(Slow::Route);
        }
        if way.next.get() >= LINK
            && let Some(addresses) = self.ingress.addresses()
        {
            // The packet is still as it came.
            way.set_addresses(addresses);
        }
        self.way = Some(way);
        match way.mtu.get() {
            0 => Ok(None),
            mtu => Ok(Some(Route { mtu })),
        }
    }
}

#[inline(always)]
fn known(place: u32) -> Option<&'static Way> {
    let words = KNOWN.get_ptr_mut(place)?;
    // SAFETY: this processor's own, and no program of ours interrupts another; cells of plain old
    // data, of the same size and alignment in all.
    Some(unsafe { &*words.cast::<Way>() })
}

#[inline(always)]
fn epoch() -> u32 {
    state_of_routes(routes::NUMBER) as u32
}

/// A word of [`EPOCH`].
#[inline(always)]
fn state_of_routes(word: usize) -> u64 {
    // SAFETY: one of eight aligned words, which the daemon writes at once.
    EPOCH.get_ptr(0).map_or(0, |words| unsafe {
        words.cast::<u64>().add(word).read_volatile()
    })
}

/// In what [`way_of_many`] answers: the way at the place has a question and no answer yet.
const TO_BE_ASKED: u64 = 1 << 32;

/// Answers at which place there is the way that a question asks for, which is not at its own place; the
/// question word by word. A global function beside [`ask`] and not within, because each has much on the stack.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn way_of_many(a: u64, b: u64, c: u64, d: u64, from: u64) -> u64 {
    let epoch = epoch();
    let size = state_of_routes(routes::SIZE) as u32;
    let one = Question {
        addresses: [a, b, c, d],
        from,
    };
    let own = one.place();
    let Some(asked_for) = known(ASKED_FOR) else {
        return own.into();
    };
    asked_for.question.set(&one.of_many(size));
    let question = asked_for.question.get();
    let place = question.place();
    let Some(way) = known(place) else {
        return own.into();
    };
    if !way.answers(&question, epoch) {
        way.question.set(&question);
        return TO_BE_ASKED | u64::from(place);
    }
    // It is found sooner where it would be if it stood for one packet only. But there are more of these
    // than places, so none is driven out for it.
    if let Some(own) = known(own)
        && own.since.get() != epoch
    {
        own.question.set(&one);
        own.since.set(epoch);
        own.link.set(way.link());
        own.set_addresses(way.addresses());
        own.mtu.set(way.mtu.get());
        own.next.set(way.next.get());
    }
    place.into()
}

/// Asks the kernel the question of the way at this place, and writes its answer there.
#[inline(always)]
pub(crate) fn ask<I: Ingress>(context: *mut c_void, place: u32) {
    let Some(way) = known(place) else { return };
    way.since.set(0);
    way.next.set(KERNEL);
    way.mtu.set(0);
    let Some(words) = QUESTION.get_ptr_mut(0) else {
        return;
    };
    // SAFETY: this processor's own, and no program of ours interrupts another; plain old data of
    // the same size, aligned to more than it needs.
    let fib = unsafe { &mut *words.cast::<bpf_fib_lookup>() };
    let question = way.question.get();
    let Question {
        addresses: [a, b, c, d],
        from,
    } = question;
    fib.ifindex = (from >> 16) as u32;
    fib.family = question.family();
    // A length makes the kernel tell the MTU; 1 always fits.
    fib.__bindgen_anon_1 = bpf_fib_lookup__bindgen_ty_1 { tot_len: 1 };
    if fib.family == AF_INET {
        fib.__bindgen_anon_2.tos = from as u8;
        fib.__bindgen_anon_3.ipv4_src = (a >> 32) as u32;
        fib.__bindgen_anon_4.ipv4_dst = a as u32;
    } else {
        fib.__bindgen_anon_2.flowinfo = 0;
        fib.__bindgen_anon_3.ipv6_src = V6::from_halves(a, b).0.map(|word| word.0);
        fib.__bindgen_anon_4.ipv6_dst = V6::from_halves(c, d).0.map(|word| word.0);
    }
    let epoch = epoch();
    let by_kernel = properties(fib.ifindex).forwards_by_kernel();
    // Who does not send needs no neighbour.
    let flags = if by_kernel {
        BPF_FIB_LOOKUP_SKIP_NEIGH
    } else {
        0
    };
    let size = size_of::<bpf_fib_lookup>() as i32;
    // SAFETY: the context is that of the program's run, and the size is that of the structure.
    let result = unsafe { fib_lookup(context, fib, size, flags) as u32 };
    way.link.set(fib.ifindex);
    way.next
        .set(if by_kernel || maps::offline() || fib.family == AF_INET6 {
            KERNEL
        } else {
            // The kernel may not take an IPv4 packet from a link where such packets do not come from
            // (`rp_filter`), but it takes the IPv6 packet, for user space.
            ELSEWHERE
        });
    if result == BPF_FIB_LKUP_RET_SUCCESS {
        // SAFETY: the kernel wrote it, because the question had a length.
        way.mtu.set(unsafe { fib.__bindgen_anon_1.mtu_result });
        way.set_addresses(addresses(fib));
        way.since.set(epoch);
        if by_kernel {
            return;
        }
        if !I::FRAMES {
            way.next.set(0);
            return;
        }
        let link = properties(way.link());
        if link.takes_frames() {
            way.next.set(0);
            if let Some((below, tag)) = link.vlan() {
                way.link.set(below);
                way.next.set(tag);
            }
        }
    } else if result == BPF_FIB_LKUP_RET_NO_NEIGH && !I::FRAMES && !by_kernel {
        way.next.set(LINK);
    }
}

/// The Ethernet addresses of a successful answer.
#[inline(always)]
fn addresses(fib: &bpf_fib_lookup) -> Addresses {
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
