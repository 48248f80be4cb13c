//! A socket buffer in the hands of tc, as the core's packet.

use aya_ebpf::EbpfContext as _;
use aya_ebpf::bindings::__sk_buff;
use aya_ebpf::helpers::{
    bpf_l4_csum_replace, bpf_skb_adjust_room, bpf_skb_change_proto, bpf_skb_load_bytes,
    bpf_skb_pull_data,
};
use aya_ebpf::programs::TcContext;
use isthmus_core::checksum::{Change, ChecksumKind, Delta, Field, Sum};
use isthmus_core::packet::{Abilities, Family, NoRoom, Packet, Truncated};
use isthmus_core::word::Word;

use crate::ethernet;
use crate::linear::Linear;
use crate::sum::{self, sum_of};

/// Bytes that are made linear: Ethernet, IPv6, a fragment header and TCP with room to spare.
const LINEAR: u32 = 128;

const PSEUDO_HEADER: u64 = 1 << 4;
const MANGLED_ZERO: u64 = 1 << 5;
/// Bytes are put or taken right behind the Ethernet header.
const ROOM_AT_MAC: u32 = 1;
/// Segments keep their size when a header is put before them.
const FIXED_GSO: u64 = 1;
const ENCAPSULATES_IN_V4: u64 = 1 << 1;
const ENCAPSULATES_IN_V6: u64 = 1 << 2;

/// A socket buffer with an Ethernet header. Offset 0 of the packet is its IP header.
pub(crate) struct Skb<'a> {
    pub(crate) context: &'a TcContext,
}

impl<'a> Skb<'a> {
    #[inline(always)]
    pub(crate) fn new(context: &'a TcContext) -> Self {
        Self { context }
    }

    /// Makes the headers linear, which they are as a rule. The kernel makes them writable before a
    /// program that writes.
    #[inline(always)]
    pub(crate) fn linearise(&self) {
        let length = self.context.len().min(LINEAR);
        if self.context.data_end() - self.context.data() < length as usize {
            // SAFETY: the context is that of this run. A failure shows in the next access.
            let _ = unsafe { bpf_skb_pull_data(self.context.as_ptr().cast(), length) };
        }
    }

    #[inline(always)]
    fn replace(&self, at: usize, change: Delta, flags: u64) -> Result<(), Truncated> {
        let at = (at + ethernet::HEADER) as u32;
        let difference = u64::from(change.fold().to_be());
        // SAFETY: the context is that of this run; a size of 0 says that `to` is a difference.
        let result =
            unsafe { bpf_l4_csum_replace(self.context.as_ptr().cast(), at, 0, difference, flags) };
        if result == 0 { Ok(()) } else { Err(Truncated) }
    }
}

/// A header that is put before a packet, with nothing taken away, makes a tunnel, which the kernel
/// has to know of a super-packet. Otherwise changes the protocol first, which adds or removes the
/// difference of the fixed headers and keeps a super-packet whole, and then what options, a
/// fragment header, a tunnel that ends or the headers that an ICMP error quotes make of it. A global function: the
/// verifier looks at it once.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn skb_replace_front(
    context: *mut __sk_buff,
    growth: i32,
    kind: u16,
    removed: u32,
) -> i32 {
    let fixed = match kind {
        ethernet::IPV4 => -20,
        _ => 20,
    };
    let tunnel = match kind {
        _ if removed != 0 => 0,
        ethernet::IPV4 if growth > 0 => ENCAPSULATES_IN_V4,
        ethernet::IPV6 if growth >= 40 => ENCAPSULATES_IN_V6,
        _ => 0,
    };
    if tunnel != 0 {
        let flags = tunnel | FIXED_GSO;
        // SAFETY: the context is that of this run; all pointers are made anew at each access.
        let grown = unsafe { bpf_skb_adjust_room(context, growth, ROOM_AT_MAC, flags) };
        if grown != 0 {
            return grown as i32;
        }
        Skb::new(&TcContext::new(context)).linearise();
        return 0;
    }
    // SAFETY: as above.
    let changed = unsafe { bpf_skb_change_proto(context, kind.to_be(), 0) };
    if changed != 0 {
        return changed as i32;
    }
    if growth != fixed {
        // The segments of a super-packet that leaves a tunnel are what they were in it.
        let flags = match removed {
            0 => 0,
            _ => FIXED_GSO,
        };
        // SAFETY: as above.
        let moved = unsafe { bpf_skb_adjust_room(context, growth - fixed, ROOM_AT_MAC, flags) };
        if moved != 0 {
            return moved as i32;
        }
    }
    Skb::new(&TcContext::new(context)).linearise();
    0
}

/// The sum of bytes of a packet; see [`sum::folded`]. A global function: the verifier looks at it once.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn tc_sum(context: *mut __sk_buff, at: u32, length: u32) -> i32 {
    let at = at + ethernet::HEADER as u32;
    // SAFETY: the context is that of this program's run, and `folded` has room.
    sum::folded(length, |to, length| unsafe {
        bpf_skb_load_bytes(context.cast(), at, to, length)
    })
}

impl Linear for Skb<'_> {
    #[inline(always)]
    fn bounds(&self) -> (u32, u32) {
        let skb = self.context.skb.skb;
        // SAFETY: two fields of the context.
        unsafe {
            (
                (&raw const (*skb).data).read_volatile(),
                (&raw const (*skb).data_end).read_volatile(),
            )
        }
    }
}

impl Packet for Skb<'_> {
    const ABILITIES: Abilities = Abilities::BPF;

    #[inline(always)]
    fn len(&self) -> usize {
        self.context.len() as usize - ethernet::HEADER
    }

    #[inline(always)]
    fn words<const N: usize>(&self, at: usize) -> Result<[Word; N], Truncated> {
        self.payload(at)
    }

    #[inline(always)]
    fn set_words<const N: usize>(&mut self, at: usize, words: [Word; N]) -> Result<(), Truncated> {
        self.set_payload(at, words)
    }

    #[inline(always)]
    fn replace_front(
        &mut self,
        remove: usize,
        insert: usize,
        family: Family,
    ) -> Result<(), NoRoom> {
        if remove == insert {
            return Ok(());
        }
        let growth = insert as i32 - remove as i32;
        let kind = ethernet::kind_of(family);
        match skb_replace_front(self.context.skb.skb, growth, kind, remove as u32) {
            0 => Ok(()),
            _ => Err(NoRoom),
        }
    }

    /// The kernel knows whether the checksum is complete or left to the hardware.
    #[inline(always)]
    fn patch_checksum(&mut self, field: Field, change: Change) -> Result<(), Truncated> {
        let flags = match field.kind {
            ChecksumKind::Plain => 0,
            ChecksumKind::Udp => MANGLED_ZERO,
        };
        self.replace(field.at, change.pseudo, flags | PSEUDO_HEADER)?;
        self.replace(field.at, change.content, flags)
    }

    #[inline(always)]
    fn gso_size(&self) -> Option<u16> {
        // SAFETY: a field of the context.
        let size = unsafe { (*self.context.skb.skb).gso_size };
        if size == 0 { None } else { Some(size as u16) }
    }

    #[inline(always)]
    fn sum(&self, at: usize, length: usize) -> Option<Sum> {
        sum_of(tc_sum(self.context.skb.skb, at as u32, length as u32))
    }
}
