//! Next hops, from the kernel's FIB, and a cache of them.
//!
//! A lookup in the FIB takes longer than the rest of a translation. So each processor caches next hops. An
//! entry is valid until the daemon sees a change of the kernel's tables, and for a second at most: see
//! [`EPOCH`]. All destinations of a range may have one next hop, as the CEs of a BR have. They share one
//! entry then: see [`FibKey::shared`].

use core::cell::Cell;
use core::ffi::c_void;
use core::sync::atomic::Ordering::{self, Acquire, Relaxed};

use aya_ebpf::bindings::{
    BPF_FIB_LKUP_RET_NO_NEIGH, BPF_FIB_LKUP_RET_NOT_FWDED, BPF_FIB_LKUP_RET_SUCCESS,
    BPF_FIB_LOOKUP_SKIP_NEIGH, bpf_fib_lookup, bpf_fib_lookup__bindgen_ty_1,
};
use aya_ebpf::btf_maps::{Array, PerCpuArray};
use aya_ebpf::helpers::bpf_fib_lookup as fib_lookup;
use aya_ebpf::macros::btf_map;
use isthmus_abi::lines::MMAPABLE;
use isthmus_abi::routes::{self, EpochWords, Granularity};
use isthmus_core::address::{V4, V6};
use isthmus_core::host::{Destination, Route};
use isthmus_core::table::Line;
use isthmus_core::verdict::Slow;

use crate::ethernet::{Addresses, Tag};
use crate::link::properties;
use crate::maps;
use crate::ranges;

/// The route lookup of a program.
pub(crate) trait Egress {
    /// Looks up the route of a translated packet and keeps its next hop.
    ///
    /// # Errors
    /// See [`Host::route`](isthmus_core::host::Host::route).
    fn find(&mut self, to: Destination) -> Result<Option<Route>, Slow>;

    /// Whether the kernel has this address for itself.
    fn is_local(&self, address: V4) -> bool;
}

/// For a program that sends nothing.
pub(crate) struct NoRoute;

impl Egress for NoRoute {
    #[inline(always)]
    fn find(&mut self, _to: Destination) -> Result<Option<Route>, Slow> {
        Ok(None)
    }

    #[inline(always)]
    fn is_local(&self, _address: V4) -> bool {
        false
    }
}

/// The arrival of a packet: the part of a FIB key that the packet itself does not have.
pub(crate) trait Ingress {
    /// Whether the program sends frames. It cannot send them to links that take socket buffers only, and
    /// it has to write VLAN tags itself.
    const FRAMES: bool;
    /// The link of arrival: the device of the VLAN, if the packet came with a tag.
    fn link(&self) -> u32;
    /// The Ethernet addresses of the frame as it came, if the kernel will need them.
    fn addresses(&self) -> Option<Addresses>;
    /// Calls [`look_up`] for this slot in a global function, because the verifier checks such a function
    /// once.
    fn look_up(&self, slot: u32);
    /// Calls [`is_local`] for this address in a global function.
    fn is_local(&self, address: u32) -> bool;
}

/// How a packet leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// To the neighbour.
    Neighbour,
    /// To the neighbour, with a VLAN tag.
    Vlan,
    /// To the link. The kernel resolves the neighbour.
    Link,
    /// Up to the kernel, which forwards it.
    Kernel,
}

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// The parameters of a FIB lookup, for each processor: they are too large for the stack of a program.
/// Fields that [`look_up`] does not write are zero, or are results only.
#[btf_map]
static FIB_LOOKUP: PerCpuArray<[u64; size_of::<bpf_fib_lookup>() / 8], 1> = PerCpuArray::new();

/// The state of the kernel's routes: see [`routes`].
#[btf_map]
static EPOCH: Array<EpochWords, 1, MMAPABLE> = Array::new();

/// Slots of the cache of a processor: 256 KiB.
const SLOTS: usize = 1 << SLOTS_LOG2;
const SLOTS_LOG2: u32 = 12;

/// The slot that holds the key of a lookup while others work: it is too large for the stack.
const KEPT_SLOT: u32 = SLOTS as u32;
/// The slot that holds the key that it shares.
const SHARED_SLOT: u32 = KEPT_SLOT + 1;

#[btf_map]
static NEXT_HOPS: PerCpuArray<[u64; 8], { SLOTS + 2 }> = PerCpuArray::new();

/// A next hop in the cache. The hash of its key gives the slot. The fields are cells, because two
/// references may be to one slot.
#[repr(C)]
pub(crate) struct NextHop {
    key: CachedKey,
    /// The epoch of the lookup; 0 if no other packet may use the entry.
    since: Cell<u32>,
    /// The link to send on.
    link: Cell<u32>,
    /// The Ethernet addresses to send with: those of the next hop, or for the kernel those that the
    /// packet came with.
    addresses: [Cell<u32>; 3],
    /// The MTU of the route; 0 if the kernel gave none.
    mtu: Cell<u16>,
    /// The [`Delivery`] as a number: 0 is the neighbour, and another small number is the neighbour in the
    /// VLAN of [`Tag::number`]. It is read from memory and not kept in a variable, because the verifier
    /// checks all that follows once for each known value of a variable.
    delivery: Cell<u16>,
}
const _: () = assert!(size_of::<NextHop>() == 64);

/// Another engine has to send the packet.
const NOT_HERE: u16 = 1 << 13;
/// [`Delivery::Link`].
const LINK: u16 = 1 << 14;
/// [`Delivery::Kernel`].
const KERNEL: u16 = 1 << 15;

impl NextHop {
    /// Whether the entry is for this key and valid in this epoch.
    #[inline(always)]
    fn is_for(&self, key: &FibKey, epoch: u32) -> bool {
        self.since.get() == epoch && epoch != 0 && self.key.is(key)
    }

    /// The link to send on.
    #[inline(always)]
    pub(crate) fn link(&self) -> u32 {
        self.link.get()
    }

    /// The Ethernet addresses to send with.
    #[inline(always)]
    pub(crate) fn addresses(&self) -> Addresses {
        let [a, b, c] = &self.addresses;
        [a.get(), b.get(), c.get()]
    }

    /// Sets the Ethernet addresses, field by field: for the whole the compiler calls a function, which has a
    /// frame of its own.
    #[inline(always)]
    fn set_addresses(&self, addresses: Addresses) {
        let [a, b, c] = &self.addresses;
        a.set(addresses[0]);
        b.set(addresses[1]);
        c.set(addresses[2]);
    }

    /// Sets the delivery to the neighbour on its link, where a program like this can send to it.
    #[inline(always)]
    fn deliver<I: Ingress>(&self) {
        if !I::FRAMES {
            self.delivery.set(0);
            return;
        }
        let link = properties(self.link());
        if link.takes_frames() {
            self.delivery.set(0);
            if let Some((below, tag)) = link.vlan() {
                self.link.set(below);
                self.delivery.set(tag);
            }
        }
    }

    /// The tag to send with, for [`Delivery::Vlan`].
    #[inline(always)]
    pub(crate) fn tag(&self) -> Tag {
        Tag::from_number(self.delivery.get())
    }

    /// How the packet leaves.
    #[inline(always)]
    pub(crate) fn delivery(&self) -> Delivery {
        match self.delivery.get() {
            0 => Delivery::Neighbour,
            LINK => Delivery::Link,
            KERNEL => Delivery::Kernel,
            _ => Delivery::Vlan,
        }
    }
}

/// The key of a FIB lookup: all that the result depends on.
#[repr(C)]
#[derive(Clone, Copy)]
struct FibKey {
    /// Source and destination, two words each. IPv4 has both in the first word, and the rest is 0.
    addresses: [u64; 4],
    /// The link of arrival, the family, the type of service, and [`SHARED`].
    from: u64,
}

/// The key is for several sources or destinations.
const SHARED: u64 = 1 << 63;

impl FibKey {
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

    /// The key that this one shares with other packets: it is without the addresses that the next hop does
    /// not depend on. A range is looked up by its first address, for which the kernel has learned no path
    /// MTU.
    #[inline(always)]
    fn shared(&self, size: u32) -> Self {
        let [a, _, high, low] = self.addresses;
        let ipv6 = self.family() == AF_INET6;
        let destination = if ipv6 {
            high
        } else {
            u64::from(u32::from_be(a as u32))
        };
        let (first, granularity) = ranges::find(size, ipv6, destination);
        let addresses = match (granularity, ipv6) {
            (Granularity::Addresses, _) => return *self,
            (Granularity::Destination, true) => [0, 0, high, low],
            (Granularity::Destination, false) => [u64::from(a as u32), 0, 0, 0],
            (Granularity::Range, true) => [0, 0, first, 0],
            (Granularity::Range, false) => [u64::from((first as u32).to_be()), 0, 0, 0],
        };
        Self {
            addresses,
            from: self.from | SHARED,
        }
    }

    #[inline(always)]
    fn family(&self) -> u8 {
        (self.from >> 8) as u8
    }

    /// Writes the parameters of a lookup.
    #[inline(always)]
    fn write_to(&self, fib: &mut bpf_fib_lookup) {
        let [a, b, c, d] = self.addresses;
        fib.ifindex = (self.from >> 16) as u32;
        fib.family = self.family();
        // A length makes the kernel give the MTU; 1 always fits.
        fib.__bindgen_anon_1 = bpf_fib_lookup__bindgen_ty_1 { tot_len: 1 };
        if fib.family == AF_INET {
            fib.__bindgen_anon_2.tos = self.from as u8;
            fib.__bindgen_anon_3.ipv4_src = (a >> 32) as u32;
            fib.__bindgen_anon_4.ipv4_dst = a as u32;
        } else {
            fib.__bindgen_anon_2.flowinfo = 0;
            fib.__bindgen_anon_3.ipv6_src = V6::from_halves(a, b).0.map(|word| word.0);
            fib.__bindgen_anon_4.ipv6_dst = V6::from_halves(c, d).0.map(|word| word.0);
        }
    }

    /// The slot of the cache. An attacker who aims at one slot only causes lookups in the FIB.
    #[inline(always)]
    fn slot(&self) -> u32 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let [a, b, c, d] = self.addresses;
        let sum = a ^ b.wrapping_mul(ODD) ^ c.wrapping_mul(ODD).wrapping_mul(ODD) ^ d;
        ((sum ^ self.from).wrapping_mul(ODD) >> (64 - SLOTS_LOG2)) as u32
    }
}

/// The key of an entry of the cache.
#[repr(C)]
struct CachedKey {
    addresses: [Cell<u64>; 4],
    from: Cell<u64>,
}

impl CachedKey {
    #[inline(always)]
    fn get(&self) -> FibKey {
        let [a, b, c, d] = &self.addresses;
        FibKey {
            addresses: [a.get(), b.get(), c.get(), d.get()],
            from: self.from.get(),
        }
    }

    #[inline(always)]
    fn set(&self, key: &FibKey) {
        let [a, b, c, d] = &self.addresses;
        let addresses = &key.addresses;
        a.set(addresses[0]);
        b.set(addresses[1]);
        c.set(addresses[2]);
        d.set(addresses[3]);
        self.from.set(key.from);
    }

    /// Whether the keys are equal, word by word: for arrays the compiler calls a function with a loop.
    #[inline(always)]
    fn is(&self, other: &FibKey) -> bool {
        let (ours, theirs) = (&self.addresses, &other.addresses);
        if self.from.get() != other.from || ours[0].get() != theirs[0] {
            return false;
        }
        // The family is the same now, and IPv4 has no more.
        other.family() == AF_INET
            || ours[1].get() == theirs[1]
                && ours[2].get() == theirs[2]
                && ours[3].get() == theirs[3]
    }
}

/// The route lookup of one packet, in the cache and the FIB.
pub(crate) struct Fib<I> {
    ingress: I,
    next_hop: Option<&'static NextHop>,
}

impl<I: Ingress> Fib<I> {
    #[inline(always)]
    pub(crate) fn new(ingress: I) -> Self {
        Self {
            ingress,
            next_hop: None,
        }
    }

    /// The next hop that was found. If it is not a neighbour, its Ethernet addresses are those that the
    /// packet came with, if the program has them.
    #[inline(always)]
    pub(crate) fn next_hop(&self) -> Option<&'static NextHop> {
        self.next_hop
    }
}

impl<I: Ingress> Egress for Fib<I> {
    #[inline(always)]
    fn find(&mut self, to: Destination) -> Result<Option<Route>, Slow> {
        let key = FibKey::new(to, self.ingress.link());
        let epoch = epoch(Relaxed);
        let mut slot = u64::from(key.slot());
        let mut found = false;
        // A loop, so that the key of the map has one slot on the stack.
        let hop = loop {
            let Some(hop) = cached(slot as u32) else {
                return Ok(None);
            };
            if found || hop.is_for(&key, epoch) {
                break hop;
            }
            let [a, b, c, d] = key.addresses;
            keep_key(a, b, c, d, key.from);
            let epoch = share_key();
            slot = shared_next_hop(key.slot(), epoch);
            if slot & MISS != 0 {
                self.ingress.look_up(slot as u32);
            }
            found = true;
        };
        if hop.delivery.get() == NOT_HERE {
            return Err(Slow::Route);
        }
        if hop.delivery.get() >= LINK
            && let Some(addresses) = self.ingress.addresses()
        {
            // The packet is still as it came.
            hop.set_addresses(addresses);
        }
        self.next_hop = Some(hop);
        match hop.mtu.get() {
            0 => Ok(None),
            mtu => Ok(Some(Route { mtu })),
        }
    }

    #[inline(always)]
    fn is_local(&self, address: V4) -> bool {
        self.ingress.is_local(address.0.0)
    }
}

#[inline(always)]
fn cached(slot: u32) -> Option<&'static NextHop> {
    let words = NEXT_HOPS.get_ptr_mut(slot)?;
    // SAFETY: this processor's own, and no program of ours interrupts another; cells of plain old
    // data, of the same size and alignment in all.
    Some(unsafe { &*words.cast::<NextHop>() })
}

/// The number of the state of routes. Who asks to look up what it belongs to acquires it.
#[inline(always)]
fn epoch(order: Ordering) -> u32 {
    state_of_routes(routes::NUMBER, order) as u32
}

/// A word of [`EPOCH`].
#[inline(always)]
fn state_of_routes(word: usize, order: Ordering) -> u64 {
    EPOCH.get_ptr(0).map_or(0, |words| {
        // SAFETY: eight aligned words, which the daemon writes one by one.
        let line = unsafe { &*words.cast::<Line>() };
        line[word].load(order)
    })
}

/// In the result of [`shared_next_hop`]: the slot has a key, and the FIB has to be looked up.
const MISS: u64 = 1 << 32;

/// Keeps a key that is not in its own slot for [`share_key`] and [`shared_next_hop`]; it comes word by word. These are
/// global functions, one after the other and not within each other, because each has much on the stack.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn keep_key(a: u64, b: u64, c: u64, d: u64, from: u64) -> i32 {
    if let Some(one) = cached(KEPT_SLOT) {
        let addresses = [a, b, c, d];
        one.key.set(&FibKey { addresses, from });
    }
    0
}

/// Finds the key that the kept one shares, by the ranges of the epoch that it returns, or of a later one.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn share_key() -> u32 {
    let epoch = epoch(Acquire);
    if let (Some(one), Some(shared)) = (cached(KEPT_SLOT), cached(SHARED_SLOT)) {
        let size = state_of_routes(routes::SIZE, Relaxed) as u32;
        shared.key.set(&one.key.get().shared(size));
    }
    epoch
}

/// Returns the slot of the next hop for the shared key; `own` is the slot of the kept one, and `epoch` that of the ranges.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn shared_next_hop(own: u32, epoch: u32) -> u64 {
    let (Some(one), Some(shared)) = (cached(KEPT_SLOT), cached(SHARED_SLOT)) else {
        return own.into();
    };
    let key = shared.key.get();
    let slot = key.slot();
    let Some(hop) = cached(slot) else {
        return own.into();
    };
    if !hop.is_for(&key, epoch) {
        hop.key.set(&key);
        return MISS | u64::from(slot);
    }
    // A copy in the own slot is found sooner. But there are more keys than slots, so the copy replaces no
    // valid entry.
    if let Some(own) = cached(own)
        && own.since.get() != epoch
    {
        own.key.set(&one.key.get());
        own.since.set(epoch);
        own.link.set(hop.link());
        own.set_addresses(hop.addresses());
        own.mtu.set(hop.mtu.get());
        own.delivery.set(hop.delivery.get());
    }
    slot.into()
}

/// Looks the key in this slot up in the kernel's FIB, and writes the next hop there.
#[inline(always)]
pub(crate) fn look_up<I: Ingress>(context: *mut c_void, slot: u32) {
    let Some(hop) = cached(slot) else { return };
    hop.since.set(0);
    hop.delivery.set(KERNEL);
    hop.mtu.set(0);
    let Some(words) = FIB_LOOKUP.get_ptr_mut(0) else {
        return;
    };
    // SAFETY: this processor's own, and no program of ours interrupts another; plain old data of
    // the same size, aligned to more than it needs.
    let fib = unsafe { &mut *words.cast::<bpf_fib_lookup>() };
    hop.key.get().write_to(fib);
    let epoch = epoch(Acquire);
    let by_kernel = properties(fib.ifindex).forwards_by_kernel();
    // A program that does not send needs no neighbour.
    let flags = if by_kernel {
        BPF_FIB_LOOKUP_SKIP_NEIGH
    } else {
        0
    };
    let size = size_of::<bpf_fib_lookup>() as i32;
    // SAFETY: the context is that of the program's run, and the size is that of the structure.
    let result = unsafe { fib_lookup(context, fib, size, flags) as u32 };
    hop.link.set(fib.ifindex);
    hop.delivery
        .set(if by_kernel || maps::offline() || fib.family == AF_INET6 {
            KERNEL
        } else {
            // The kernel may refuse an IPv4 packet on a link that such packets do not come from
            // (`rp_filter`), but it takes the IPv6 packet, for user space.
            NOT_HERE
        });
    if result == BPF_FIB_LKUP_RET_SUCCESS {
        // SAFETY: the kernel wrote it, because the parameters had a length.
        hop.mtu.set(unsafe { fib.__bindgen_anon_1.mtu_result });
        hop.set_addresses(addresses(fib));
        hop.since.set(epoch);
        if !by_kernel {
            hop.deliver::<I>();
        }
    } else if result == BPF_FIB_LKUP_RET_NO_NEIGH && !I::FRAMES && !by_kernel {
        hop.delivery.set(LINK);
    }
}

/// Whether the kernel would take a packet to this IPv4 address, given as it lies in the packet, for itself: it asks its
/// routes, as they are now. Nobody else has to keep a list of the machine's addresses.
#[inline(always)]
pub(crate) fn is_local(context: *mut c_void, link: u32, address: u32) -> bool {
    if maps::offline() {
        return false;
    }
    let Some(words) = FIB_LOOKUP.get_ptr_mut(0) else {
        return false;
    };
    // SAFETY: as in `look_up`.
    let fib = unsafe { &mut *words.cast::<bpf_fib_lookup>() };
    let key = FibKey {
        addresses: [u64::from(address), 0, 0, 0],
        from: u64::from(link) << 16 | u64::from(AF_INET) << 8,
    };
    key.write_to(fib);
    let (size, flags) = (
        size_of::<bpf_fib_lookup>() as i32,
        BPF_FIB_LOOKUP_SKIP_NEIGH,
    );
    // SAFETY: the context is that of the program's run, and the size is that of the structure.
    let result = unsafe { fib_lookup(context, fib, size, flags) as u32 };
    result == BPF_FIB_LKUP_RET_NOT_FWDED
}

/// Returns the Ethernet addresses of a successful lookup.
#[inline(always)]
fn addresses(fib: &bpf_fib_lookup) -> Addresses {
    let destination = (&raw const fib.dmac).cast::<u16>();
    let source = (&raw const fib.smac).cast::<u16>();
    // SAFETY: both are six bytes at an even offset of a structure that is aligned to more. The
    // reads are volatile so that they are not joined to wider ones, which would be misaligned.
    let half = |at: *const u16, index| u32::from(unsafe { at.add(index).read_volatile() });
    // A BPF program is little-endian here, as the words of the header are.
    [
        half(destination, 0) | half(destination, 1) << 16,
        half(destination, 2) | half(source, 0) << 16,
        half(source, 1) | half(source, 2) << 16,
    ]
}
