//! A split virtqueue (virtio 1.2 section 2.7) whose buffers are frames, one descriptor each. It works on batches: the card is
//! told once of all frames of a round, and only if it wants to know.
//!
//! The card is not believed: what it writes is only ever the number of a descriptor and a length, and both are checked.

use core::ptr::{self, NonNull};
use core::sync::atomic::{Ordering, fence};

use virtio_drivers::transport::{SomeTransport, Transport as _};

use crate::frame::Frame;
use crate::memory;

/// Places in a queue.
pub const SIZE: usize = 256;
/// The card may write into the buffer of a descriptor.
const WRITABLE: u16 = 2;

#[repr(C, align(16))]
struct Descriptor {
    address: u64,
    length: u32,
    flags: u16,
    next: u16,
}

/// The ring that the machine writes: frames that the card may use.
#[repr(C)]
struct Available {
    flags: u16,
    index: u16,
    ring: [u16; SIZE],
    /// The used entry at which the machine wants an interrupt.
    used_event: u16,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Element {
    id: u32,
    length: u32,
}

/// The ring that the card writes: frames that it has done with.
#[repr(C)]
struct Used {
    flags: u16,
    index: u16,
    ring: [Element; SIZE],
    /// The available entry at which the card wants to be told.
    available_event: u16,
}

#[repr(C)]
struct Rings {
    descriptors: [Descriptor; SIZE],
    available: Available,
    /// As virtio asks: aligned to 4.
    used: Used,
}

/// One direction of a card.
pub struct Queue {
    rings: NonNull<Rings>,
    number: u16,
    flags: u16,
    frames: [Option<Frame>; SIZE],
    /// Descriptors that nobody has: the first `spare` of these.
    free: [u16; SIZE],
    spare: usize,
    /// The next entry that the machine writes, and the one that the card was told of last.
    available: u16,
    told: u16,
    /// The next entry that the machine reads.
    used: u16,
}

impl Queue {
    /// Makes a queue into which the card writes, or from which it reads. `None`: there is no memory, or the card has no such
    /// queue.
    pub fn new(transport: &mut SomeTransport<'_>, number: u16, receives: bool) -> Option<Self> {
        if (transport.max_queue_size(number) as usize) < SIZE {
            return None;
        }
        let rings = NonNull::from(memory::take(size_of::<Rings>())?).cast::<Rings>();
        let base = rings.as_ptr().expose_provenance() as u64;
        transport.queue_set(
            number,
            SIZE as u32,
            base,
            base + core::mem::offset_of!(Rings, available) as u64,
            base + core::mem::offset_of!(Rings, used) as u64,
        );
        Some(Self {
            rings,
            number,
            flags: if receives { WRITABLE } else { 0 },
            frames: [const { None }; SIZE],
            free: core::array::from_fn(|at| at as u16),
            spare: SIZE,
            available: 0,
            told: 0,
            used: 0,
        })
    }

    /// Whether a frame has room.
    #[inline]
    pub const fn has_room(&self) -> bool {
        self.spare != 0
    }

    /// Lends a frame to the card, which may use it from now on. Returns it if there is no room.
    #[inline]
    pub fn lend(&mut self, mut frame: Frame) -> Result<(), Frame> {
        let Some(spare) = self.spare.checked_sub(1) else {
            return Err(frame);
        };
        self.spare = spare;
        let id = self.free[spare];
        let at = usize::from(id) % SIZE;
        let bytes = match self.flags {
            WRITABLE => frame.room(),
            _ => frame.packet_mut(),
        };
        let descriptor = Descriptor {
            address: bytes.as_mut_ptr().expose_provenance() as u64,
            length: bytes.len() as u32,
            flags: self.flags,
            next: 0,
        };
        let rings = self.rings.as_ptr();
        // SAFETY: the rings live as long as the machine. The card reads the descriptor after the index, which is written
        // after it; the frame is kept, and not touched, until the card has returned it.
        unsafe {
            (&raw mut (*rings).descriptors[at]).write(descriptor);
            let place = usize::from(self.available) % SIZE;
            ptr::write_volatile(&raw mut (*rings).available.ring[place], id);
            self.available = self.available.wrapping_add(1);
            fence(Ordering::Release);
            ptr::write_volatile(&raw mut (*rings).available.index, self.available);
        }
        self.frames[at] = Some(frame);
        Ok(())
    }

    /// Tells the card of the frames that it was lent since, if it wants to know.
    #[inline]
    pub fn tell(&mut self, transport: &mut SomeTransport<'_>) {
        if self.told == self.available {
            return;
        }
        // The card must see the index before the machine reads what the card waits for (section 2.7.13.4.1).
        fence(Ordering::SeqCst);
        // SAFETY: the rings live as long as the machine.
        let event =
            unsafe { ptr::read_volatile(&raw const (*self.rings.as_ptr()).used.available_event) };
        let since = self.available.wrapping_sub(self.told);
        if self.available.wrapping_sub(event).wrapping_sub(1) < since {
            match transport {
                // Inlined, which saves a hundredth of a packet's instructions.
                SomeTransport::Pci(card) => card.notify(self.number),
                card => card.notify(self.number),
            }
        }
        self.told = self.available;
    }

    /// The next frame that the card has done with, and how many bytes it wrote.
    #[inline]
    pub fn take_back(&mut self) -> Option<(Frame, usize)> {
        let rings = self.rings.as_ptr();
        // SAFETY: the rings live as long as the machine; the card writes an entry before the index.
        let element = unsafe {
            if ptr::read_volatile(&raw const (*rings).used.index) == self.used {
                return None;
            }
            fence(Ordering::Acquire);
            let place = usize::from(self.used) % SIZE;
            ptr::read_volatile(&raw const (*rings).used.ring[place])
        };
        self.used = self.used.wrapping_add(1);
        let id = element.id as usize % SIZE;
        let frame = self.frames[id].take()?;
        // There are not more than the queue has lent.
        self.free[self.spare % SIZE] = id as u16;
        self.spare += 1;
        Some((frame, element.length as usize))
    }

    /// Wants no interrupt for the next 32,768 entries.
    #[inline]
    pub fn stay_silent(&mut self) {
        // SAFETY: the rings live as long as the machine.
        unsafe {
            let event = &raw mut (*self.rings.as_ptr()).available.used_event;
            ptr::write_volatile(event, self.used.wrapping_sub(1));
        }
    }
}
