//! A virtio network card.

use isthmus_core::packet::NoRoom;
use isthmus_core::wire::resolution::Mac;
use virtio_drivers::transport::{DeviceStatus, SomeTransport, Transport as _};

use crate::card::Driver;
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
pub struct Virtio {
    transport: SomeTransport<'static>,
    mac: Mac,
    receiving: Queue,
    sending: Queue,
}

impl Driver for Virtio {
    type Found = SomeTransport<'static>;

    fn open(mut transport: Self::Found, pool: &mut Pool) -> Option<Self> {
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

    fn mac(&self) -> Mac {
        self.mac
    }

    #[inline(always)]
    fn receive(&mut self, pool: &mut Pool) -> Option<Frame> {
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

    #[inline(always)]
    fn send(&mut self, mut frame: Frame, pool: &mut Pool) {
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

    #[inline(always)]
    fn end_round(&mut self, pool: &mut Pool) {
        self.receiving.tell(&mut self.transport);
        self.sending.tell(&mut self.transport);
        self.reclaim(pool);
        self.receiving.stay_silent();
        self.sending.stay_silent();
    }
}

impl Virtio {
    /// Takes frames back that the card has sent.
    fn reclaim(&mut self, pool: &mut Pool) {
        while let Some((frame, _)) = self.sending.take_back() {
            pool.give(frame);
        }
    }
}
