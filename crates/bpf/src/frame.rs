//! A frame in the hands of XDP, as the core's packet.

use aya_ebpf::EbpfContext as _;
use aya_ebpf::bindings::xdp_md;
use aya_ebpf::helpers::{bpf_xdp_adjust_head, bpf_xdp_load_bytes};
use aya_ebpf::programs::XdpContext;
use isthmus_core::checksum::Sum;
use isthmus_core::packet::{Abilities, Family, NoRoom, Packet, Truncated};
use isthmus_core::word::Word;

use crate::ethernet::{self, Tag, Tagged};
use crate::linear::Linear;
use crate::sum::{self, sum_of};

/// An Ethernet frame. Offset 0 of the packet is its IP header.
pub(crate) struct Frame<'a> {
    pub(crate) context: &'a XdpContext,
}

impl<'a> Frame<'a> {
    #[inline(always)]
    pub(crate) fn new(context: &'a XdpContext) -> Self {
        Self { context }
    }
}

/// Frames of VLANs.
impl Frame<'_> {
    /// The header with a tag.
    #[inline(always)]
    pub(crate) fn tagged(&self) -> Option<Tagged> {
        let pointer = self.pointer(0, size_of::<Tagged>()).ok()?;
        // SAFETY: `pointer` checked that the header lies in the frame.
        Some(unsafe { Tagged::read(pointer.cast()) })
    }

    /// Takes the tag away, which [`tagged`](Self::tagged) has read.
    #[inline(always)]
    pub(crate) fn untag(&self, header: Tagged) -> Option<()> {
        self.move_head(ethernet::TAG as i32)?;
        self.set_ethernet(header.ethernet())
    }

    /// Puts a tag into the header.
    #[inline(always)]
    pub(crate) fn insert_tag(&self, tag: Tag) -> Option<()> {
        let header = Tagged::new(self.ethernet()?, tag);
        self.move_head(-(ethernet::TAG as i32))?;
        let pointer = self.pointer(0, size_of::<Tagged>()).ok()?;
        // SAFETY: `pointer` checked that the header lies in the frame.
        unsafe { header.write(pointer.cast()) };
        Some(())
    }

    #[inline(always)]
    fn move_head(&self, by: i32) -> Option<()> {
        // SAFETY: the context is that of this program's run; all pointers into the frame are made
        // anew at each access.
        match unsafe { bpf_xdp_adjust_head(self.context.as_ptr().cast(), by) } {
            0 => Some(()),
            _ => None,
        }
    }
}

/// The sum of bytes of a packet; see [`sum::folded`]. A global function: the verifier looks at it once.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn xdp_sum(context: *mut xdp_md, at: u32, length: u32) -> i32 {
    let at = at + ethernet::HEADER as u32;
    // SAFETY: the context is that of this program's run, and `folded` has room.
    sum::folded(length, |to, length| unsafe {
        bpf_xdp_load_bytes(context, at, to, length)
    })
}

impl Linear for Frame<'_> {
    #[inline(always)]
    fn bounds(&self) -> (u32, u32) {
        let frame = self.context.ctx;
        // SAFETY: two fields of the context.
        unsafe {
            (
                (&raw const (*frame).data).read_volatile(),
                (&raw const (*frame).data_end).read_volatile(),
            )
        }
    }
}

impl Packet for Frame<'_> {
    const ABILITIES: Abilities = Abilities::BPF;

    #[inline(always)]
    fn len(&self) -> usize {
        self.context.data_end() - self.context.data() - ethernet::HEADER
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
    fn change_word(
        &mut self,
        at: usize,
        change: impl FnOnce(Word) -> Word,
    ) -> Result<(), Truncated> {
        self.change_payload(at, change)
    }

    #[inline(always)]
    fn replace_front(
        &mut self,
        remove: usize,
        insert: usize,
        _family: Family,
    ) -> Result<(), NoRoom> {
        let delta = remove as i32 - insert as i32;
        if delta == 0 {
            return Ok(());
        }
        self.move_head(delta).ok_or(NoRoom)
    }

    #[inline(always)]
    fn sum(&self, at: usize, length: usize) -> Option<Sum> {
        sum_of(xdp_sum(self.context.ctx, at as u32, length as u32))
    }
}
