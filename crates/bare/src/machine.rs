//! The machine: takes each frame that a card has received to where it belongs.

use core::net::{IpAddr, Ipv6Addr};

use chacha20::ChaCha8Rng;
use isthmus_core::config::Instance;
use isthmus_core::gateway;
use isthmus_core::host::Host as _;
use isthmus_core::mechanism::Instances;
use isthmus_core::reason::Counter;
use isthmus_core::slow::limiter::Limiter;
use isthmus_core::slow::reply::Reply;
use isthmus_core::slow::split::Pieces;
use isthmus_core::table::Line;
use isthmus_core::verdict::{IcmpError, Refusal, Slow, Split, Verdict};
use isthmus_core::wire::resolution::{self, Mac};
use isthmus_image::{Address, CARDS, Image, Member};

use crate::card::Card;
use crate::clock::{self, Clock};
use crate::frame::{Frame, Pool};
use crate::host::{self, Counts, NOBODY, Services, Way};
use crate::neighbours::{self, Answer, Neighbours};
use crate::own::{self, InSoftwire};
use crate::sweeper::Sweeper;

const BROADCAST: Mac = [0xff; 6];
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
const ARP: [u8; 2] = [0x08, 0x06];
/// Frames of a card that are taken before the other card's turn.
const BURST: usize = 32;

/// All that the machine has.
pub struct Machine {
    pub image: Image<'static>,
    pub state: &'static [Line],
    pub cards: [Card; CARDS],
    pub pool: Pool,
    pub neighbours: Neighbours,
    pub counts: Counts,
    pub limiters: [Limiter; NOBODY],
    pub random: ChaCha8Rng,
    pub clock: Clock,
    pub sweeper: Sweeper,
    pub work: Work,
}

/// What the machine has done so far.
#[derive(Clone, Copy, Default)]
pub struct Work {
    /// Frames that cards received.
    pub frames: u64,
    /// Ticks of the time-stamp counter in rounds that had frames.
    pub ticks: u64,
}

/// The instances of the image, as the core looks at them.
struct Members<'a>(&'a [Member]);

impl Instances for Members<'_> {
    #[inline(always)]
    fn get(&self, index: u32) -> Option<&Instance> {
        self.0.get(index as usize).map(|member| &member.instance)
    }
}

impl Machine {
    /// Ends what was idle for too long, a few entries at a time.
    #[inline]
    pub fn sweep(&mut self) {
        let now = self.clock.nanos();
        self.sweeper
            .step(self.image.members, self.state, now, &mut self.counts);
    }

    /// Takes the frames that came since, and returns how many there were.
    pub fn poll(&mut self) -> u64 {
        let began = clock::ticks();
        let mut count = 0;
        for card in 0..CARDS {
            for _ in 0..BURST {
                let Some(frame) = self.cards[card].receive(&mut self.pool) else {
                    break;
                };
                count += 1;
                if let Some(rest) = self.frame(card, frame) {
                    self.pool.give(rest);
                }
            }
        }
        if count != 0 {
            self.work.frames += count;
            self.work.ticks += clock::ticks() - began;
        }
        count
    }

    /// Takes a frame to where it belongs. Returns one that nobody has any more.
    fn frame(&mut self, card: usize, mut frame: Frame) -> Option<Frame> {
        let header: [u8; 14] = match frame.take() {
            Some(header) => header,
            None => return Some(frame),
        };
        let [to @ .., _, _, _, _, _, _, _, _] = header;
        let from: Mac = header[6..12].try_into().unwrap_or_default();
        let is_for_us = to == self.cards[card].mac();
        match [header[12], header[13]] {
            ARP => self.arp(card, frame),
            IPV6 if !is_for_us && to[0] & 1 == 0 => Some(frame),
            IPV6 if self.discovery(card, &frame, from) => Some(frame),
            IPV4 | IPV6 if is_for_us => self.packet(frame),
            _ => Some(frame),
        }
    }

    /// Whether a card answers neighbours for an address.
    fn answers(image: &Image<'_>, card: usize, mac: Mac, address: IpAddr) -> bool {
        let address = Address::from(address);
        let own = |network: &&isthmus_image::Network| network.card as usize == card;
        address == Address::from(IpAddr::V6(link_local(mac)))
            || image
                .addresses
                .iter()
                .filter(own)
                .any(|own| own.address == address)
            || image
                .answered
                .iter()
                .filter(own)
                .any(|network| network.contains(address))
    }

    fn arp(&mut self, card: usize, frame: Frame) -> Option<Frame> {
        let mac = self.cards[card].mac();
        let ours = |address| Self::answers(&self.image, card, mac, address);
        let reply = resolution::arp(frame.packet(), mac, ours);
        if let Some((address, of)) = neighbours::read_arp(frame.packet()) {
            self.learn(card, address, of);
        }
        if let Some((reply, to)) = reply {
            self.send_parts(card, to, ARP, &[&reply]);
        }
        Some(frame)
    }

    /// Answers and remembers neighbours. Whether it was a message of theirs.
    fn discovery(&mut self, card: usize, frame: &Frame, from: Mac) -> bool {
        let packet = frame.packet();
        // Next header and hop limit; solicitations are type 135, advertisements 136.
        if packet.get(6..8) != Some(&[58, 255]) || !matches!(packet.get(40), Some(135 | 136)) {
            return false;
        }
        let mac = self.cards[card].mac();
        let ours = |address| Self::answers(&self.image, card, mac, address);
        let reply = resolution::neighbour(packet, from, mac, ours);
        if let Some((address, of)) = neighbours::read_neighbour(packet) {
            self.learn(card, address, of);
        }
        if let Some((reply, to)) = reply {
            self.send_parts(card, to, IPV6, &[&reply]);
        }
        true
    }

    fn learn(&mut self, card: usize, address: IpAddr, mac: Mac) {
        let way = Way {
            card,
            next: address.into(),
        };
        let now = self.clock.nanos();
        if let Some(frame) = self.neighbours.learn(way, mac, now) {
            self.send(card, mac, frame);
        }
    }

    /// Takes an IP packet through the core.
    #[inline]
    fn packet(&mut self, mut frame: Frame) -> Option<Frame> {
        let mut services = Services {
            image: &self.image,
            state: self.state,
            now: self.clock.nanos(),
            random: &mut self.random,
            counts: &mut self.counts,
            owner: NOBODY,
            way: None,
        };
        let result = gateway::process(&mut frame, &mut services, &Members(self.image.members));
        let (now, owner, way) = (services.now, services.owner, services.way);
        match result {
            Ok(Verdict::Forward { split: None, .. }) => {
                frame.trim();
                match way {
                    Some(way) => return self.send_by(way, frame, now),
                    None => return self.send_routed(frame, now),
                }
            }
            Ok(Verdict::Forward {
                split: Some(split), ..
            }) => self.cut(&frame, split, owner, now),
            Ok(Verdict::Pass | Verdict::Deliver) => return self.own(frame, now),
            Err(Refusal::Drop(counter)) => services.count(counter),
            Err(Refusal::Reply(error, counter)) => {
                services.count(counter);
                self.reply(&frame, error, owner, now);
            }
            Err(Refusal::Slow(Slow::Own)) => self.refuse(&mut frame, owner, now),
            // The core asks this for a store of fragments, which is not here, and for a route that is not there.
            Err(Refusal::Slow(_)) => services.count(Counter::EngineError),
        }
        Some(frame)
    }

    #[cold]
    fn own(&mut self, mut frame: Frame, now: u64) -> Option<Frame> {
        let Some(to) = destination(frame.packet()) else {
            return Some(frame);
        };
        let is_own = self.image.addresses.iter().any(|own| own.address == to);
        if !is_own || own::answer(&mut frame).is_none() {
            return Some(frame);
        }
        self.send_routed(frame, now)
    }

    #[cold]
    fn cut(&mut self, frame: &Frame, split: Split, owner: usize, now: u64) {
        let Ok(pieces) = Pieces::new(
            isthmus_core::packet::Packet::bytes(frame).unwrap_or_default(),
            split,
        ) else {
            return self.count(owner, Counter::EngineError);
        };
        self.count(owner, Counter::Split);
        for piece in pieces {
            self.send_new(&[piece.header(), piece.payload], now);
        }
    }

    /// Sends an ICMP error to the sender of a packet, within the rate limit of its instance.
    #[cold]
    fn reply(&mut self, frame: &Frame, error: IcmpError, owner: usize, now: u64) {
        let (Some(member), Some(limiter)) =
            (self.image.members.get(owner), self.limiters.get(owner))
        else {
            return;
        };
        let Some(reply) = Reply::new(frame.packet(), error, &member.instance) else {
            return;
        };
        if limiter.take(now) {
            self.count(owner, Counter::IcmpErrorSent);
            self.send_new(&[reply.outer(), reply.message()], now);
        } else {
            self.count(owner, Counter::IcmpErrorSuppressed);
        }
    }

    /// Refuses what hosts in softwires send to the machine: it has no services for them.
    #[cold]
    fn refuse(&mut self, frame: &mut Frame, owner: usize, now: u64) {
        match own::in_softwire(frame) {
            InSoftwire::Datagram => {
                self.count(owner, Counter::IllegalDestination);
                self.reply(frame, IcmpError::PortUnreachable, owner, now);
            }
            InSoftwire::Other(counter) => self.count(owner, counter),
        }
    }

    fn count(&mut self, owner: usize, counter: Counter) {
        self.counts[owner][counter as usize] += 1;
    }

    /// Sends a packet that was made here.
    fn send_new(&mut self, parts: &[&[u8]], now: u64) {
        let Some(mut frame) = self.pool.take() else {
            return;
        };
        frame.fill(parts);
        if let Some(rest) = self.send_routed(frame, now) {
            self.pool.give(rest);
        }
    }

    /// Sends a packet by the route to its destination. Returns it if there is none.
    fn send_routed(&mut self, frame: Frame, now: u64) -> Option<Frame> {
        match destination(frame.packet()).and_then(|to| host::way(self.image.hops, to)) {
            Some((way, _)) => self.send_by(way, frame, now),
            None => Some(frame),
        }
    }

    /// Sends a packet to the next hop, when its Ethernet address is known. Returns one that is lost.
    #[inline]
    fn send_by(&mut self, way: Way, frame: Frame, now: u64) -> Option<Frame> {
        let (rest, ask) = match self.neighbours.find(way, frame, now) {
            Answer::Known(frame, mac) => {
                self.send(way.card, mac, frame);
                return None;
            }
            Answer::Old(frame, mac) => {
                self.send(way.card, mac, frame);
                (None, true)
            }
            Answer::Ask(before) => (before, true),
            Answer::Asked(before) => (before, false),
        };
        if ask {
            self.ask(way);
        }
        rest
    }

    /// Asks for the Ethernet address of a neighbour.
    #[cold]
    fn ask(&mut self, way: Way) {
        let mac = self.cards[way.card].mac();
        let own = |is: fn(&IpAddr) -> bool| {
            let mut own = self
                .image
                .addresses
                .iter()
                .filter(|own| own.card as usize == way.card);
            let near = own
                .clone()
                .find(|own| own.contains(way.next) && is(&own.address.into()));
            near.or_else(|| own.find(|own| is(&own.address.into())))
                .map(|own| IpAddr::from(own.address))
        };
        match IpAddr::from(way.next) {
            IpAddr::V4(target) => {
                if let Some(IpAddr::V4(own)) = own(IpAddr::is_ipv4) {
                    let message = neighbours::request(mac, own, target);
                    self.send_parts(way.card, BROADCAST, ARP, &[&message]);
                }
            }
            IpAddr::V6(target) => {
                let own = match own(IpAddr::is_ipv6) {
                    Some(IpAddr::V6(own)) if !target.is_unicast_link_local() => own,
                    _ => link_local(mac),
                };
                let message = neighbours::solicitation(mac, own, target);
                self.send_parts(way.card, neighbours::group(target), IPV6, &[&message]);
            }
        }
    }

    fn send_parts(&mut self, card: usize, to: Mac, kind: [u8; 2], parts: &[&[u8]]) {
        let Some(mut frame) = self.pool.take() else {
            return;
        };
        frame.fill(parts);
        self.send_as(card, to, kind, frame);
    }

    /// Sends an IP packet to a neighbour.
    #[inline]
    fn send(&mut self, card: usize, to: Mac, frame: Frame) {
        let kind = match frame.packet().first() {
            Some(0x60..=0x6f) => IPV6,
            _ => IPV4,
        };
        self.send_as(card, to, kind, frame);
    }

    #[inline]
    fn send_as(&mut self, card: usize, to: Mac, kind: [u8; 2], mut frame: Frame) {
        let from = self.cards[card].mac();
        let mut header = [0; 14];
        header[..6].copy_from_slice(&to);
        header[6..12].copy_from_slice(&from);
        header[12..].copy_from_slice(&kind);
        match frame.put(header) {
            Ok(()) => self.cards[card].send(frame, &mut self.pool),
            Err(_) => self.pool.give(frame),
        }
    }
}

/// The link-local address of a card (RFC 4291 appendix A).
fn link_local(mac: Mac) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac;
    Ipv6Addr::from([
        0xfe,
        0x80,
        0,
        0,
        0,
        0,
        0,
        0,
        a ^ 2,
        b,
        c,
        0xff,
        0xfe,
        d,
        e,
        f,
    ])
}

/// The destination of an IP packet.
fn destination(packet: &[u8]) -> Option<Address> {
    let address: IpAddr = match packet.first()? >> 4 {
        4 => (*packet.get(16..)?.first_chunk::<4>()?).into(),
        6 => (*packet.get(24..)?.first_chunk::<16>()?).into(),
        _ => return None,
    };
    Some(address.into())
}
