//! A frame in the hands of XDP, as the core's packet.

use aya_ebpf::EbpfContext as _;
use aya_ebpf::helpers::bpf_xdp_adjust_head;
use aya_ebpf::programs::XdpContext;
use isthmus_core::packet::{Abilities, Family, NoRoom, Packet, Truncated};
use isthmus_core::word::Word;

use crate::ethernet::{self, Ethernet, Tag, Tagged};

/// Headers end before this offset; the verifier wants a bound that it can see.
const REACH: usize = 1024;

/// An Ethernet frame. Offset 0 of the packet is its IP header.
pub(crate) struct Frame<'a> {
    pub(crate) context: &'a XdpContext,
}

impl<'a> Frame<'a> {
    #[inline(always)]
    pub(crate) fn new(context: &'a XdpContext) -> Self {
        Self { context }
    }

    /// A pointer to `size` bytes that begin `at` bytes into the frame.
    #[inline(always)]
    fn pointer(&self, at: usize, size: usize) -> Result<*mut u8, Truncated> {
        if at > REACH {
            return Err(Truncated);
        }
        let frame = self.context.ctx;
        // SAFETY: two fields of the context. Read anew each time, because the verifier follows a
        // packet pointer only where it is not moved as a 32-bit number, which it is in the context.
        let (start, end) = unsafe {
            (
                (&raw const (*frame).data).read_volatile(),
                (&raw const (*frame).data_end).read_volatile(),
            )
        };
        let start = start as usize + at;
        if start + size > end as usize {
            return Err(Truncated);
        }
        Ok(start as *mut u8)
    }

    /// The Ethernet header.
    #[inline(always)]
    pub(crate) fn ethernet(&self) -> Option<Ethernet> {
        let pointer = self.pointer(0, ethernet::HEADER).ok()?;
        // SAFETY: `pointer` checked that the header lies in the frame.
        Some(unsafe { Ethernet::read(pointer.cast()) })
    }

    /// The type of the payload of the Ethernet header.
    #[inline(always)]
    pub(crate) fn kind(&self) -> Option<u16> {
        let pointer = self.pointer(0, ethernet::HEADER).ok()?;
        // SAFETY: `pointer` checked that the header lies in the frame; its last two bytes.
        Some(u16::from_be(unsafe { pointer.cast::<u16>().add(6).read() }))
    }

    /// Overwrites the Ethernet header.
    #[inline(always)]
    pub(crate) fn set_ethernet(&self, header: Ethernet) -> Option<()> {
        let pointer = self.pointer(0, ethernet::HEADER).ok()?;
        // SAFETY: `pointer` checked that the header lies in the frame.
        unsafe { header.write(pointer.cast()) };
        Some(())
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

impl Packet for Frame<'_> {
    const ABILITIES: Abilities = Abilities::BPF;

    #[inline(always)]
    fn len(&self) -> usize {
        self.context.data_end() - self.context.data() - ethernet::HEADER
    }

    #[inline(always)]
    fn words<const N: usize>(&self, at: usize) -> Result<[Word; N], Truncated> {
        let pointer = self.pointer(at + ethernet::HEADER, 4 * N)?;
        // SAFETY: `pointer` checked that these bytes lie in the frame; `Word` is a plain `u32`.
        Ok(unsafe { pointer.cast::<[Word; N]>().read() })
    }

    #[inline(always)]
    fn set_words<const N: usize>(&mut self, at: usize, words: [Word; N]) -> Result<(), Truncated> {
        let pointer = self.pointer(at + ethernet::HEADER, 4 * N)?;
        // SAFETY: `pointer` checked that these bytes lie in the frame.
        unsafe { pointer.cast::<[Word; N]>().write(words) };
        Ok(())
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
}
