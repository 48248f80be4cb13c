//! A ring of descriptors of Intel's network cards, whose buffers are frames, one descriptor each (82574 datasheet, chapter 7: legacy
//! descriptors, section 7.1.8: the ring). It works on batches: the card is told once of all frames of a round.
//!
//! The card is not believed: what it writes is only ever a length and some bits, and the length is checked.

use core::ptr::{self, NonNull};
use core::sync::atomic::{Ordering, fence};

use crate::e1000e::Registers;
use crate::frame::Frame;
use crate::memory;

const SIZE: usize = 256;
/// Frames in a ring at most. One place stays empty: a ring whose tail has come round to its head is one without frames.
pub const PLACES: usize = SIZE - 1;
/// Where the card begins to write in a frame's room, so that the packet behind the Ethernet header begins at a multiple of four, as
/// with virtio.
const BEFORE: usize = 12;

/// The registers of a ring, by their distance from the first one: the address of the ring (RDBAL, RDBAH; TDBAL, TDBAH), its bytes
/// (RDLEN; TDLEN), and the next descriptors of the card (RDH; TDH) and of the machine (RDT; TDT).
const BASE_LOW: usize = 0x00;
const BASE_HIGH: usize = 0x04;
const BYTES: usize = 0x08;
const HEAD: usize = 0x10;
const TAIL: usize = 0x18;

/// A legacy descriptor: an address, and a word with the length in its lowest 16 bits.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Descriptor {
    address: u64,
    word: u64,
}

/// Of the word, in both directions: the card has done with the descriptor (STATUS.DD).
const DONE: u64 = 1 << 32;
/// Of a frame that came: this is all of it (STATUS.EOP); the card found faults (ERRORS).
const WHOLE: u64 = 1 << 33;
const FAULTS: u64 = 0xff << 40;
/// Of a frame to be sent: this is all of it, with a CRC from the card, which is to say when it has done (CMD.EOP, IFCS and RS).
const SEND: u64 = (1 | 1 << 1 | 1 << 3) << 24;

/// The direction of a ring.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

/// One direction of a card.
pub struct Ring {
    descriptors: NonNull<Descriptor>,
    way: Way,
    /// Where its registers begin.
    registers: usize,
    frames: [Option<Frame>; SIZE],
    /// The next place that the machine lends, and the one that the card was told of last.
    tail: usize,
    told: usize,
    /// The next place that the machine takes back.
    next: usize,
}

impl Ring {
    /// Makes a ring whose frames the card fills. `None`: there is no memory.
    pub fn receiving(card: &Registers, registers: usize) -> Option<Self> {
        Self::new(card, registers, Way::In)
    }

    /// Makes a ring whose frames the card sends. `None`: there is no memory.
    pub fn sending(card: &Registers, registers: usize) -> Option<Self> {
        Self::new(card, registers, Way::Out)
    }

    fn new(card: &Registers, registers: usize, way: Way) -> Option<Self> {
        let bytes = SIZE * size_of::<Descriptor>();
        let descriptors = NonNull::from(memory::take(bytes)?).cast::<Descriptor>();
        let base = descriptors.as_ptr().expose_provenance() as u64;
        card.write(registers + BASE_LOW, base as u32);
        card.write(registers + BASE_HIGH, (base >> 32) as u32);
        card.write(registers + BYTES, bytes as u32);
        card.write(registers + HEAD, 0);
        card.write(registers + TAIL, 0);
        Some(Self {
            descriptors,
            way,
            registers,
            frames: [const { None }; SIZE],
            tail: 0,
            told: 0,
            next: 0,
        })
    }

    /// Whether a frame has room.
    #[inline]
    pub const fn has_room(&self) -> bool {
        (self.tail + 1) % SIZE != self.next
    }

    /// Lends a frame to the card, which may use it from when it is told. Returns it if there is no room.
    #[inline]
    pub fn lend(&mut self, mut frame: Frame) -> Result<(), Frame> {
        if !self.has_room() {
            return Err(frame);
        }
        let (bytes, command) = match self.way {
            Way::In => (&mut frame.room()[BEFORE..], 0),
            Way::Out => (frame.packet_mut(), SEND),
        };
        let descriptor = Descriptor {
            address: bytes.as_mut_ptr().expose_provenance() as u64,
            word: command | bytes.len() as u64,
        };
        let place = self.tail % SIZE;
        // SAFETY: the ring lives as long as the machine, and has this place. The card reads it after the tail, which is written after
        // it; the frame is kept, and not touched, until the card has returned it.
        unsafe { ptr::write_volatile(self.descriptors.as_ptr().add(place), descriptor) };
        self.frames[place] = Some(frame);
        self.tail = (place + 1) % SIZE;
        Ok(())
    }

    /// Tells the card of the frames that it was lent since.
    #[inline]
    pub fn tell(&mut self, card: &Registers) {
        if self.told != self.tail {
            fence(Ordering::Release);
            card.write(self.registers + TAIL, self.tail as u32);
            self.told = self.tail;
        }
    }

    /// The next frame that the card has done with: of those that came, from the Ethernet header on, and empty if it is not whole or has
    /// faults.
    #[inline]
    pub fn take_back(&mut self) -> Option<Frame> {
        if self.next == self.tail {
            return None;
        }
        let place = self.next % SIZE;
        // SAFETY: the ring lives as long as the machine, and has this place.
        let word =
            unsafe { ptr::read_volatile(&raw const (*self.descriptors.as_ptr().add(place)).word) };
        if word & DONE == 0 {
            return None;
        }
        fence(Ordering::Acquire);
        self.next = (place + 1) % SIZE;
        let mut frame = self.frames[place].take()?;
        if self.way == Way::In {
            let length = match word & (WHOLE | FAULTS) {
                WHOLE => word as u16,
                _ => 0,
            };
            frame.received(BEFORE, BEFORE + usize::from(length));
        }
        Some(frame)
    }
}
