//! A network card, polled. Frames go into it and come out of it without being copied.

use isthmus_core::wire::resolution::Mac;
use virtio_drivers::transport::SomeTransport;

use crate::e1000e::{E1000e, Registers};
use crate::frame::{Frame, Pool};
use crate::virtio::Virtio;

/// The driver of a kind of card: a card and the frames that it has.
pub trait Driver: Sized {
    /// A card that was found and nobody uses yet.
    type Found;

    /// Opens a card, and gives it memory to receive into. `None`: the card refuses.
    fn open(found: Self::Found, pool: &mut Pool) -> Option<Self>;

    /// The Ethernet address of the card.
    fn mac(&self) -> Mac;

    /// The next frame that came, from its Ethernet header on. The card gets another one in its place; if all are in use,
    /// it gets this one back, and the packet is lost.
    fn receive(&mut self, pool: &mut Pool) -> Option<Frame>;

    /// Sends a frame with its Ethernet header, when the round ends. It is lost if the card's queue is full.
    fn send(&mut self, frame: Frame, pool: &mut Pool);

    /// Tells the card of all that it has to do since the last round, and takes back what it has done.
    fn end_round(&mut self, pool: &mut Pool);
}

/// A card of any kind that was found.
pub enum Found {
    Virtio(SomeTransport<'static>),
    E1000e(Registers),
}

/// A card of any kind.
pub struct Card {
    mac: Mac,
    kind: Kind,
}

/// A packet asks for the kind seven times: most cards are of virtio, whose way is inlined, and those of Intel are a call.
#[expect(
    clippy::large_enum_variant,
    reason = "there are two cards, which lie in the machine: nothing is allocated"
)]
enum Kind {
    Virtio(Virtio),
    E1000e(E1000e),
}

impl Card {
    /// [`Driver::open`].
    pub fn open(found: Found, pool: &mut Pool) -> Option<Self> {
        let (mac, kind) = match found {
            Found::Virtio(found) => {
                let card = Virtio::open(found, pool)?;
                (card.mac(), Kind::Virtio(card))
            }
            Found::E1000e(found) => {
                let card = E1000e::open(found, pool)?;
                (card.mac(), Kind::E1000e(card))
            }
        };
        Some(Self { mac, kind })
    }

    /// [`Driver::mac`].
    pub const fn mac(&self) -> Mac {
        self.mac
    }

    /// [`Driver::receive`].
    #[inline(always)]
    pub fn receive(&mut self, pool: &mut Pool) -> Option<Frame> {
        match &mut self.kind {
            Kind::Virtio(card) => card.receive(pool),
            Kind::E1000e(card) => card.receive(pool),
        }
    }

    /// [`Driver::send`].
    #[inline(always)]
    pub fn send(&mut self, frame: Frame, pool: &mut Pool) {
        match &mut self.kind {
            Kind::Virtio(card) => card.send(frame, pool),
            Kind::E1000e(card) => card.send(frame, pool),
        }
    }

    /// [`Driver::end_round`].
    #[inline(always)]
    pub fn end_round(&mut self, pool: &mut Pool) {
        match &mut self.kind {
            Kind::Virtio(card) => card.end_round(pool),
            Kind::E1000e(card) => card.end_round(pool),
        }
    }
}
