//! A packet in a fixed piece of memory with room before it, which the machine lends to the core and to its cards.

use isthmus_core::packet::{Abilities, Family, NoRoom, Packet, Truncated};
use isthmus_core::word::Word;

use crate::fragments::STORE;
use crate::{memory, neighbours, queue};

/// Bytes of the memory of a frame: a packet of 1500 bytes, and what comes before it.
const SIZE: usize = 2048 - size_of::<Bounds>();
/// Where the card begins to write: translation from IPv4 to IPv6 adds 28 bytes, a softwire 40. With the headers of virtio
/// and Ethernet, the packet begins at a multiple of four.
pub const ROOM: usize = 66;
/// Bytes of the memory of a whole packet that was put together from fragments.
const WHOLE: usize = ROOM + 40 + 65_535 + 3;
/// How many frames there are: for the queues of the cards, for packets that wait for neighbours, and for fragments.
const FRAMES: usize = 4 * queue::SIZE + neighbours::MOST + STORE.memory;

/// A packet, and the memory that it lies in, which it owns: a pointer, so that it is cheap to hand on.
pub struct Frame<const BYTES: usize = SIZE>(&'static mut Memory<BYTES>);

#[repr(C)]
struct Memory<const BYTES: usize> {
    at: Bounds,
    bytes: [u8; BYTES],
}

struct Bounds {
    /// The packet is `bytes[start..end]`; `start <= end <= BYTES`.
    start: usize,
    end: usize,
    /// The identification of the datagram, of a packet that was put together from fragments.
    reassembled: Option<u32>,
}

/// The memory for a packet that is put together from fragments.
pub type Whole = Frame<WHOLE>;

impl Whole {
    /// Makes it. `None`: there is too little memory.
    pub fn new() -> Option<Self> {
        Self::inside(memory::take(size_of::<Memory<WHOLE>>())?)
    }

    /// The memory for the packet.
    pub fn begin(&mut self) -> &mut [u8] {
        &mut self.0.bytes[ROOM..]
    }

    /// So many bytes are the packet now. The identification is that of its datagram, if it may be cut again.
    pub fn end(&mut self, length: usize, reassembled: Option<u32>) {
        self.0.at.start = ROOM;
        self.0.at.end = (ROOM + length).min(WHOLE);
        self.0.at.reassembled = reassembled;
    }
}

impl<const BYTES: usize> Frame<BYTES> {
    /// An empty one inside this memory. `None`: it is too small.
    fn inside(memory: &'static mut [u8]) -> Option<Self> {
        let place = memory.as_mut_ptr().cast::<Memory<BYTES>>();
        if memory.len() < size_of::<Memory<BYTES>>() || !place.is_aligned() {
            return None;
        }
        let at = Bounds {
            start: ROOM,
            end: ROOM,
            reassembled: None,
        };
        // SAFETY: there is room, which nobody else has from here on; its bytes have been written before.
        unsafe {
            (&raw mut (*place).at).write(at);
            Some(Self(&mut *place))
        }
    }

    /// The packet.
    #[inline]
    pub fn packet(&self) -> &[u8] {
        &self.0.bytes[self.0.at.start..self.0.at.end]
    }

    /// The packet, to be written.
    #[inline]
    pub fn packet_mut(&mut self) -> &mut [u8] {
        &mut self.0.bytes[self.0.at.start..self.0.at.end]
    }

    /// The memory that a card writes into.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.0.bytes[ROOM..]
    }

    /// Bytes `from..to` of what a card wrote are the packet now. The card is not believed: what lies outside is left out.
    pub fn received(&mut self, from: usize, to: usize) {
        self.0.at.end = (ROOM + to).min(BYTES);
        self.0.at.start = (ROOM + from).min(self.0.at.end);
    }

    /// Takes `count` bytes off the front, if there are so many.
    pub fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let front = *self.packet().first_chunk()?;
        self.0.at.start += N;
        Some(front)
    }

    /// Puts bytes before the packet.
    pub fn put<const N: usize>(&mut self, bytes: [u8; N]) -> Result<(), NoRoom> {
        self.0.at.start = self.0.at.start.checked_sub(N).ok_or(NoRoom)?;
        self.0.bytes[self.0.at.start..][..N].copy_from_slice(&bytes);
        Ok(())
    }

    /// Makes the parts, one after the other, the packet. Whether all of them had room: bytes that have none are left out.
    pub fn fill(&mut self, parts: &[&[u8]]) -> bool {
        self.0.at.start = ROOM + 26;
        self.0.at.end = self.0.at.start;
        for part in parts {
            let to = (self.0.at.end + part.len()).min(BYTES);
            let length = to - self.0.at.end;
            self.0.bytes[self.0.at.end..to].copy_from_slice(&part[..length]);
            self.0.at.end = to;
        }
        self.len() == parts.iter().map(|part| part.len()).sum()
    }

    /// Removes the bytes that follow the packet by its own header, such as the padding of Ethernet.
    pub fn trim(&mut self) {
        let length = match *self.packet() {
            [0x40..=0x4f, _, high, low, ..] => u16::from_be_bytes([high, low]).into(),
            [0x60..=0x6f, _, _, _, high, low, ..] => {
                usize::from(u16::from_be_bytes([high, low])) + 40
            }
            _ => return,
        };
        self.truncate(length);
    }
}

impl<const BYTES: usize> Packet for Frame<BYTES> {
    const ABILITIES: Abilities = Abilities::ALONE;

    #[inline(always)]
    fn len(&self) -> usize {
        self.0.at.end - self.0.at.start
    }

    #[inline(always)]
    fn words<const N: usize>(&self, at: usize) -> Result<[Word; N], Truncated> {
        let bytes = self.packet().get(at..).ok_or(Truncated)?;
        let words = bytes.as_chunks::<4>().0.first_chunk::<N>();
        Ok(words.ok_or(Truncated)?.map(Word::from_bytes))
    }

    #[inline(always)]
    fn set_words<const N: usize>(&mut self, at: usize, words: [Word; N]) -> Result<(), Truncated> {
        let bytes = self.packet_mut().get_mut(at..).ok_or(Truncated)?;
        let place = bytes.as_chunks_mut::<4>().0.first_chunk_mut::<N>();
        *place.ok_or(Truncated)? = words.map(Word::bytes);
        Ok(())
    }

    #[inline(always)]
    fn replace_front(&mut self, remove: usize, insert: usize, _: Family) -> Result<(), NoRoom> {
        if remove > self.len() {
            return Err(NoRoom);
        }
        self.0.at.start = (self.0.at.start + remove)
            .checked_sub(insert)
            .ok_or(NoRoom)?;
        Ok(())
    }

    #[inline(always)]
    fn bytes(&self) -> Option<&[u8]> {
        Some(self.packet())
    }

    #[inline(always)]
    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        Some(self.packet_mut())
    }

    #[inline(always)]
    fn truncate(&mut self, length: usize) {
        self.0.at.end = self.0.at.end.min(self.0.at.start + length);
    }

    #[inline(always)]
    fn reassembled(&self) -> Option<u32> {
        match BYTES {
            WHOLE => self.0.at.reassembled,
            _ => None,
        }
    }
}

/// The frames that nobody uses.
pub struct Pool {
    free: [Option<Frame>; FRAMES],
    count: usize,
}

impl Pool {
    /// Makes all frames. `None`: there is too little memory.
    pub fn new() -> Option<Self> {
        let each = size_of::<Memory<SIZE>>();
        let mut pieces = memory::take(FRAMES * each)?.chunks_exact_mut(each);
        Some(Self {
            free: core::array::from_fn(|_| pieces.next().and_then(Frame::inside)),
            count: FRAMES,
        })
    }

    /// Takes one; `None` if all are in use.
    pub fn take(&mut self) -> Option<Frame> {
        self.count = self.count.checked_sub(1)?;
        self.free[self.count].take()
    }

    /// Takes one back.
    pub fn give(&mut self, frame: Frame) {
        // There are not more than the pool has made.
        self.free[self.count] = Some(frame);
        self.count += 1;
    }
}
