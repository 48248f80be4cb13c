//! The machine: takes each frame that a card has received to where it belongs.

use core::marker::PhantomData;
use core::net::IpAddr;

use chacha20::ChaCha8Rng;
use isthmus_core::config::Instance;
use isthmus_core::gateway;
use isthmus_core::host::Established;
use isthmus_core::packet::{Packet as _, Plain};
use isthmus_core::reason::Counter;
use isthmus_core::slow::datagram::{Fragment, Key, NoFragment};
use isthmus_core::slow::limiter::Limiter;
use isthmus_core::slow::reply::Reply;
use isthmus_core::slow::segment;
use isthmus_core::slow::split::Pieces;
use isthmus_core::slow::waiting::{self, Purpose};
use isthmus_core::table::Line;
use isthmus_core::verdict::{IcmpError, Refusal, Slow, Split, Verdict};
use isthmus_core::wire::resolution::{self, Mac};
use isthmus_image::{Address, CARDS, Hop, Image, Network};

use crate::card::Card;
use crate::clock::{self, Clock};
use crate::fragments::{Fragments, Outcome};
use crate::frame::{Frame, Pool, Whole};
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
    /// The card whose frames are taken.
    pub turn: usize,
    pub pool: Pool,
    pub neighbours: Neighbours,
    pub fragments: Fragments,
    /// Where a datagram is put together, unless that is going on.
    pub whole: Option<Whole>,
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
    /// When the machine looked at its cards last, in such ticks.
    looked: u64,
    /// The longest that it stayed away from them, in such ticks: a frame may have waited for so long.
    pub away: u64,
}

impl Work {
    /// Begins a round. An empty one counts, too: what comes meanwhile waits for the next one.
    #[inline]
    fn begin(&mut self) -> u64 {
        let now = clock::ticks();
        self.away = self.away.max(now - self.looked);
        self.looked = now;
        now
    }

    /// Leaves out what somebody at the console has asked for.
    pub fn pause(&mut self) {
        self.looked = clock::ticks();
    }
}

/// The core's answer about a packet.
#[derive(Clone, Copy)]
struct Passed {
    result: Result<Verdict, Refusal>,
    /// When it was, in nanoseconds.
    now: u64,
    /// The instance of the packet, or [`NOBODY`].
    owner: usize,
    /// The hop that it takes.
    hop: Option<&'static Hop>,
}

impl Passed {
    #[inline(always)]
    const fn of<E>(services: &Services<'_, E>, result: Result<Verdict, Refusal>) -> Self {
        Self {
            result,
            now: services.now,
            owner: services.owner,
            hop: services.hop,
        }
    }
}

/// Takes a packet through the core, whatever it is.
#[inline(never)]
fn process_any<const N: usize>(
    frame: &mut Frame<N>,
    mut services: Services<'_>,
    instances: &[Instance],
) -> Passed {
    let result = gateway::process(frame, &mut services, instances);
    Passed::of(&services, result)
}

/// Whether a packet has to wait for fragments.
const fn waits(refusal: Refusal) -> bool {
    matches!(
        refusal,
        Refusal::Slow(Slow::HoldFragment | Slow::Reassemble)
    )
}

impl Machine {
    /// Ends what was idle or has waited for too long, a few entries at a time.
    #[inline]
    pub fn sweep(&mut self) {
        let now = self.clock.nanos();
        if self.sweeper.is_due(now) {
            self.sweep_now(now);
        }
    }

    #[cold]
    fn sweep_now(&mut self, now: u64) {
        self.sweeper
            .step(self.image.instances, self.state, now, &mut self.counts);
        self.expire(now);
        self.sweeper.ended(self.clock.nanos());
    }

    /// Takes the time, if the [clock](Clock::tell) wants to be told, and ends all that has been idle until then.
    pub fn tell(&mut self, nanos: u64) -> bool {
        let is_told = self.clock.tell(nanos);
        if is_told {
            Sweeper::all(self.image.instances, self.state, nanos, &mut self.counts);
            self.expire(nanos);
        }
        is_told
    }

    /// Ends fragments that have waited for too long.
    fn expire(&mut self, now: u64) {
        let expired = self.fragments.expire(now, &mut self.pool);
        self.counts[NOBODY][Counter::FragmentTimeout as usize] += expired;
    }

    /// Takes the frames that came since, and returns how many there were.
    pub fn poll(&mut self) -> u64 {
        let began = self.work.begin();
        let mut count = 0;
        for card in 0..CARDS {
            self.turn = card;
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
            for card in &mut self.cards {
                card.end_round(&mut self.pool);
            }
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
        let own = |network: &&Network| network.card as usize == card;
        address == Address::from(IpAddr::V6(resolution::link_local(mac)))
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

    #[cold]
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
    #[inline]
    fn discovery(&mut self, card: usize, frame: &Frame, from: Mac) -> bool {
        let packet = frame.packet();
        // Next header and hop limit; solicitations are type 135, advertisements 136.
        if packet.get(6..8) != Some(&[58, 255]) || !matches!(packet.get(40), Some(135 | 136)) {
            return false;
        }
        self.discovered(card, frame, from);
        true
    }

    #[cold]
    fn discovered(&mut self, card: usize, frame: &Frame, from: Mac) {
        let packet = frame.packet();
        let mac = self.cards[card].mac();
        let ours = |address| Self::answers(&self.image, card, mac, address);
        let reply = resolution::neighbour(packet, from, mac, ours);
        if let Some((address, of)) = neighbours::read_neighbour(packet) {
            self.learn(card, address, of);
        }
        if let Some((reply, to)) = reply {
            self.send_parts(card, to, IPV6, &[&reply]);
        }
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

    /// Takes an IP packet to where it belongs. Returns a frame that nobody has any more.
    #[inline]
    fn packet(&mut self, frame: Frame) -> Option<Frame> {
        if self.fragments.is_empty() {
            return self.translate(frame);
        }
        self.packet_among_waiting(frame)
    }

    /// The same while fragments wait: some may wait for this one.
    #[cold]
    fn packet_among_waiting(&mut self, frame: Frame) -> Option<Frame> {
        let fragment = Fragment::read(frame.packet()).ok();
        let rest = self.translate(frame);
        self.release(fragment);
        rest
    }

    /// Translates the waiting fragments of a packet's datagram, if the packet was the first fragment.
    fn release(&mut self, fragment: Option<Fragment>) {
        let Some(first) = fragment.filter(Fragment::is_first) else {
            return;
        };
        while let Some(mut frame) = self.fragments.release(&first.key) {
            let passed = self.process(&mut frame);
            let rest = match passed.result {
                // The first fragment made no session for it.
                Err(Refusal::Slow(Slow::HoldFragment)) => {
                    self.count(passed.owner, Counter::FragmentTimeout);
                    Some(frame)
                }
                _ => self.finish(passed, frame),
            };
            if let Some(rest) = rest {
                self.pool.give(rest);
            }
        }
    }

    #[inline]
    fn translate(&mut self, mut frame: Frame) -> Option<Frame> {
        let passed = self.process(&mut frame);
        self.finish(passed, frame)
    }

    /// Takes a packet through the core: as a [plain](Plain) one of a session that is there, which most are, and as any if it
    /// is not that. A plain packet that is to be dropped is looked at once, or a flood of them would cost twice as much.
    #[inline(always)]
    fn process<const N: usize>(&mut self, frame: &mut Frame<N>) -> Passed {
        let mut services = Services::<Established> {
            image: &self.image,
            state: self.state,
            now: self.clock.nanos(),
            random: &mut self.random,
            counts: &mut self.counts,
            owner: NOBODY,
            hop: None,
            effort: PhantomData,
        };
        let instances = self.image.instances;
        match gateway::process(&mut Plain(frame), &mut services, instances) {
            Err(Refusal::Slow(_) | Refusal::Reply(..)) => {
                process_any(frame, services.thorough(), instances)
            }
            result => Passed::of(&services, result),
        }
    }

    /// Does with a packet what the core says.
    #[inline]
    fn finish(&mut self, passed: Passed, mut frame: Frame) -> Option<Frame> {
        let Passed {
            result,
            now,
            owner,
            hop,
        } = passed;
        match result {
            Ok(Verdict::Forward { split: None, .. }) => {
                frame.trim();
                return self.send_over(hop, frame, now);
            }
            Ok(Verdict::Forward {
                split: Some(split), ..
            }) => self.cut(frame.packet(), split, owner, now),
            Ok(Verdict::Pass | Verdict::Deliver) => return self.own(frame, now),
            Err(Refusal::Slow(Slow::HoldFragment)) => {
                return self.wait(frame, Purpose::First, passed);
            }
            Err(Refusal::Slow(Slow::Reassemble)) => {
                return self.wait(frame, Purpose::Whole, passed);
            }
            Err(refusal) => {
                self.refused(refusal, &mut frame, owner, now);
            }
        }
        Some(frame)
    }

    /// Counts a packet that does not go on, and tells its sender.
    #[cold]
    fn refused<const N: usize>(
        &mut self,
        refusal: Refusal,
        frame: &mut Frame<N>,
        owner: usize,
        now: u64,
    ) {
        match refusal {
            Refusal::Drop(counter) => self.count(owner, counter),
            Refusal::Reply(error, counter) => {
                self.count(owner, counter);
                self.reply(frame.packet(), error, owner, now);
            }
            Refusal::Slow(Slow::Own) => self.refuse(frame, owner, now),
            // The core asks this for a route that is not there.
            Refusal::Slow(_) => self.count(owner, Counter::EngineError),
        }
    }

    /// Lets a fragment wait for others of its datagram.
    #[cold]
    fn wait(&mut self, mut frame: Frame, purpose: Purpose, passed: Passed) -> Option<Frame> {
        let Passed { now, owner, .. } = passed;
        let fragment = match Fragment::read(frame.packet()) {
            Ok(fragment) => fragment,
            Err(problem) => {
                self.count(
                    owner,
                    match problem {
                        // A whole packet has no other fragments to wait for.
                        NoFragment::Whole => Counter::EngineError,
                        NoFragment::Malformed => Counter::MalformedHeader,
                        NoFragment::Impossible(_) => Counter::BadFragment,
                    },
                );
                return Some(frame);
            }
        };
        frame.truncate(fragment.end());
        let instances = self.image.instances.iter();
        let deadline = now.saturating_add(waiting::time(instances));
        let key = fragment.key;
        let (fragments, pool) = (&mut self.fragments, &mut self.pool);
        let (outcome, displaced) = fragments.wait((fragment, frame), purpose, deadline, pool);
        self.counts[NOBODY][Counter::FragmentTimeout as usize] += displaced;
        match outcome {
            Outcome::Waiting => self.count(owner, Counter::FragmentHeld),
            Outcome::Complete(at) => self.whole(at, key, owner),
            Outcome::Bad(count) => self.counts[owner][Counter::BadFragment as usize] += count,
        }
        None
    }

    /// Translates a datagram whose fragments have all come.
    fn whole(&mut self, at: usize, key: Key, owner: usize) {
        let Some(mut whole) = self.whole.take() else {
            return;
        };
        match self.fragments.take(at, whole.begin(), &mut self.pool) {
            Ok(length) => {
                whole.end(length, None);
                // It may be the outer packet only: then it is as it was sent, and what it carries may be a fragment itself.
                let is_outer = segment::carried(whole.packet()).is_some() && !key.is_in_softwire();
                if !is_outer {
                    whole.end(length, Some(key.identification()));
                }
                let fragment = Fragment::read(whole.packet()).ok().filter(|_| is_outer);
                self.translate_whole(whole);
                self.release(fragment);
            }
            Err(dropped) => {
                self.whole = Some(whole);
                self.counts[owner][Counter::BadFragment as usize] += dropped;
            }
        }
    }

    fn translate_whole(&mut self, mut whole: Whole) {
        let passed = self.process(&mut whole);
        let Passed { now, owner, .. } = passed;
        match passed.result {
            Ok(Verdict::Forward {
                split: Some(split), ..
            }) => self.cut(whole.packet(), split, owner, now),
            Err(refusal) if !waits(refusal) || whole.reassembled().is_some() => {
                self.refused(refusal, &mut whole, owner, now);
            }
            _ => {
                whole.trim();
                let copy = self
                    .pool
                    .take()
                    .map(|mut frame| (frame.fill(&[whole.packet()]), frame));
                // Another one may be put together meanwhile.
                self.whole = Some(whole);
                let rest = match copy {
                    Some((true, frame)) => self.finish(passed, frame),
                    // What goes on as it is fits in a frame: no link takes more.
                    Some((false, frame)) => {
                        self.count(owner, Counter::EngineError);
                        Some(frame)
                    }
                    None => None,
                };
                if let Some(rest) = rest {
                    self.pool.give(rest);
                }
                return;
            }
        }
        self.whole = Some(whole);
    }

    /// Answers a ping of one of the machine's own addresses.
    #[cold]
    fn own(&mut self, mut frame: Frame, now: u64) -> Option<Frame> {
        let Some(to) = destination(frame.packet()) else {
            return Some(frame);
        };
        // Every card has this address (RFC 4291 section 2.8), and who knows it is on its link.
        let link_local = IpAddr::V6(resolution::link_local(self.cards[self.turn].mac()));
        let is_link_local = to == link_local.into();
        let is_own = is_link_local || self.image.addresses.iter().any(|own| own.address == to);
        if !is_own || own::answer(&mut frame).is_none() {
            return Some(frame);
        }
        let card = self.turn;
        let way = destination(frame.packet()).and_then(|next| match is_link_local {
            true => Some(Way { card, next }),
            false => host::hop(self.image.hops, next).map(|hop| Way::over(hop, next)),
        });
        match way {
            Some(way) => self.send_by(way, frame, now),
            None => Some(frame),
        }
    }

    #[cold]
    fn cut(&mut self, packet: &[u8], split: Split, owner: usize, now: u64) {
        let Ok(pieces) = Pieces::new(packet, split) else {
            return self.count(owner, Counter::EngineError);
        };
        self.count(owner, Counter::Split);
        for piece in pieces {
            self.send_new(&[piece.header(), piece.payload], now);
        }
    }

    /// Sends an ICMP error to the sender of a packet, within the rate limit of its instance.
    #[cold]
    fn reply(&mut self, original: &[u8], error: IcmpError, owner: usize, now: u64) {
        let (Some(instance), Some(limiter)) =
            (self.image.instances.get(owner), self.limiters.get(owner))
        else {
            return;
        };
        let Some(reply) = Reply::new(original, error, instance) else {
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
    fn refuse<const N: usize>(&mut self, frame: &mut Frame<N>, owner: usize, now: u64) {
        match own::in_softwire(frame) {
            InSoftwire::Datagram => {
                self.count(owner, Counter::IllegalDestination);
                self.reply(frame.packet(), IcmpError::PortUnreachable, owner, now);
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
        let _ = frame.fill(parts);
        if let Some(rest) = self.send_over(None, frame, now) {
            self.pool.give(rest);
        }
    }

    /// Sends a packet over a hop, or that of the route to its destination. Returns it if there is none.
    #[inline]
    fn send_over(&mut self, hop: Option<&Hop>, frame: Frame, now: u64) -> Option<Frame> {
        let Some(to) = destination(frame.packet()) else {
            return Some(frame);
        };
        match hop.or_else(|| host::hop(self.image.hops, to)) {
            Some(hop) => self.send_by(Way::over(hop, to), frame, now),
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
                    _ => resolution::link_local(mac),
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
        let _ = frame.fill(parts);
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

/// The destination of an IP packet.
#[inline]
fn destination(packet: &[u8]) -> Option<Address> {
    match packet {
        [0x40..=0x4f, ..] => Some(Address::v4(*packet.get(16..)?.first_chunk()?)),
        [0x60..=0x6f, ..] => Some(Address::v6(*packet.get(24..)?.first_chunk()?)),
        _ => None,
    }
}
