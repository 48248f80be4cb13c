//! A network card: virtio, polled. Frames go into it and come out of it without being copied.

use isthmus_core::packet::NoRoom;
use isthmus_core::wire::resolution::Mac;
use virtio_drivers::device::net::VirtIONetRaw;
use virtio_drivers::transport::pci::PciTransport;

use crate::frame::{Frame, Pool};
use crate::hal::Identity;

/// Places in a queue of the card.
const QUEUE: usize = 64;
/// The header that virtio has before each frame, without offloads: 12 bytes of zeros.
const HEADER: usize = 12;

/// A card and the frames that it has.
pub struct Card {
    device: VirtIONetRaw<Identity, PciTransport, QUEUE>,
    receiving: [Option<Frame>; QUEUE],
    sending: [Option<Frame>; QUEUE],
}

impl Card {
    /// Opens a card, and gives it memory to receive into. `None`: the card refuses.
    pub fn open(transport: PciTransport, pool: &mut Pool) -> Option<Self> {
        let mut device = VirtIONetRaw::new(transport).ok()?;
        device.disable_interrupts();
        let mut card = Self {
            device,
            receiving: [const { None }; QUEUE],
            sending: [const { None }; QUEUE],
        };
        for _ in 0..QUEUE {
            let frame = pool.take()?;
            card.lend(frame, pool);
        }
        Some(card)
    }

    /// The Ethernet address of the card.
    pub fn mac(&self) -> Mac {
        self.device.mac_address()
    }

    /// Lends a frame to the card, to receive into.
    fn lend(&mut self, mut frame: Frame, pool: &mut Pool) {
        // SAFETY: the frame is kept, and not touched, until the card has it ready.
        match unsafe { self.device.receive_begin(frame.room()) } {
            Ok(token) => self.receiving[usize::from(token) % QUEUE] = Some(frame),
            Err(_) => pool.give(frame),
        }
    }

    /// The next frame that came, from its Ethernet header on. The card gets another one in its place; if all are in use,
    /// it gets this one back, and the packet is lost.
    pub fn receive(&mut self, pool: &mut Pool) -> Option<Frame> {
        let token = self.device.poll_receive()?;
        let mut frame = self.receiving[usize::from(token) % QUEUE].take()?;
        // SAFETY: the same memory that was lent under this token.
        let result = unsafe { self.device.receive_complete(token, frame.room()) };
        let (Ok((header, length)), Some(next)) = (result, pool.take()) else {
            self.lend(frame, pool);
            return None;
        };
        self.lend(next, pool);
        frame.received(header, header + length);
        Some(frame)
    }

    /// Sends a frame with its Ethernet header. It is lost if the card's queue is full.
    pub fn send(&mut self, mut frame: Frame, pool: &mut Pool) {
        self.reclaim(pool);
        if !self.device.can_send() || frame.put([0; HEADER]) == Err(NoRoom) {
            return pool.give(frame);
        }
        // SAFETY: the frame is kept, and not touched, until the card has sent it.
        match unsafe { self.device.transmit_begin(frame.packet()) } {
            Ok(token) => self.sending[usize::from(token) % QUEUE] = Some(frame),
            Err(_) => pool.give(frame),
        }
    }

    /// Takes frames back that the card has sent.
    fn reclaim(&mut self, pool: &mut Pool) {
        while let Some(token) = self.device.poll_transmit() {
            let Some(frame) = self.sending[usize::from(token) % QUEUE].take() else {
                return;
            };
            // SAFETY: the same memory that was given under this token. An error means a card that lies, which has lost the
            // frame anyway.
            let _ = unsafe { self.device.transmit_complete(token, frame.packet()) };
            pool.give(frame);
        }
    }
}
