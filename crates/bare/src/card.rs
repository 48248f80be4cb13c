//! A network card: virtio, polled. Frames go into it and come out of it without being copied.

use isthmus_core::packet::NoRoom;
use isthmus_core::wire::resolution::Mac;
use virtio_drivers::transport::{DeviceStatus, SomeTransport, Transport as _};

use crate::frame::{Frame, Pool};
use crate::queue::{Queue, SIZE};

/// The numbers of the queues.
const RECEIVING: u16 = 0;
const SENDING: u16 = 1;
/// The features that the machine takes of those that a card offers. No offloads, so that what arrives is complete.
const FEATURES: u64 = VERSION_1 | EVENT_INDEX | HAS_MAC;
const VERSION_1: u64 = 1 << 32;
/// Who lends frames is told when the other one wants to know (VIRTIO_F_EVENT_IDX).
const EVENT_INDEX: u64 = 1 << 29;
/// The card says which Ethernet address it has.
const HAS_MAC: u64 = 1 << 5;
/// The header that virtio has before each frame, without offloads: 12 bytes of zeros.
const HEADER: usize = 12;

/// A card and the frames that it has.
pub struct Card {
    transport: SomeTransport<'static>,
    mac: Mac,
    receiving: Queue,
    sending: Queue,
}

impl Card {
    /// Opens a card, and gives it memory to receive into. `None`: the card refuses.
    pub fn open(mut transport: SomeTransport<'static>, pool: &mut Pool) -> Option<Self> {
        let ready = DeviceStatus::ACKNOWLEDGE | DeviceStatus::DRIVER;
        transport.set_status(DeviceStatus::empty());
        transport.set_status(ready);
        if transport.read_device_features() & FEATURES != FEATURES {
            return None;
        }
        transport.write_driver_features(FEATURES);
        transport.set_status(ready | DeviceStatus::FEATURES_OK);
        if !transport.get_status().contains(DeviceStatus::FEATURES_OK) {
            return None;
        }
        let mac = transport.read_config_space(0).ok()?;
        let receiving = Queue::new(&mut transport, RECEIVING, true)?;
        let sending = Queue::new(&mut transport, SENDING, false)?;
        transport.set_status(ready | DeviceStatus::FEATURES_OK | DeviceStatus::DRIVER_OK);
        let mut card = Self {
            transport,
            mac,
            receiving,
            sending,
        };
        for _ in 0..SIZE {
            card.receiving.lend(pool.take()?).ok()?;
        }
        card.end_round(pool);
        Some(card)
    }

    /// The Ethernet address of the card.
    pub const fn mac(&self) -> Mac {
        self.mac
    }

    /// The next frame that came, from its Ethernet header on. The card gets another one in its place; if all are in use,
    /// it gets this one back, and the packet is lost.
    #[inline]
    pub fn receive(&mut self, pool: &mut Pool) -> Option<Frame> {
        let (mut frame, length) = self.receiving.take_back()?;
        let Some(next) = pool.take() else {
            // There is room: it has just come from there.
            let _ = self.receiving.lend(frame);
            return None;
        };
        let _ = self.receiving.lend(next);
        frame.received(HEADER, length.max(HEADER));
        Some(frame)
    }

    /// Sends a frame with its Ethernet header, when the round ends. It is lost if the card's queue is full.
    #[inline]
    pub fn send(&mut self, mut frame: Frame, pool: &mut Pool) {
        if !self.sending.has_room() {
            self.sending.tell(&mut self.transport);
            self.reclaim(pool);
        }
        let sent = match frame.put([0; HEADER]) {
            Ok(()) => self.sending.lend(frame),
            Err(NoRoom) => Err(frame),
        };
        if let Err(lost) = sent {
            pool.give(lost);
        }
    }

    /// Tells the card of all that it has to do since the last round, and takes back what it has done.
    #[inline]
    pub fn end_round(&mut self, pool: &mut Pool) {
        self.receiving.tell(&mut self.transport);
        self.sending.tell(&mut self.transport);
        self.reclaim(pool);
        self.receiving.stay_silent();
        self.sending.stay_silent();
    }

    /// Takes frames back that the card has sent.
    fn reclaim(&mut self, pool: &mut Pool) {
        while let Some((frame, _)) = self.sending.take_back() {
            pool.give(frame);
        }
    }
}
