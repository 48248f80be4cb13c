//! Everything around the core for one packet that is more than a rewrite in place: waiting fragments,
//! fragmentation, ICMP errors to the sender. Sans-IO: the host gives time and random numbers, and packets leave
//! through an [`Output`].

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isthmus_alg::{Applications, Direction, Rewritten};
use isthmus_core::gateway;
use isthmus_core::host::Host;
use isthmus_core::packet::{Family, Packet};
use isthmus_core::reason::Counter;
use isthmus_core::slow::reply::Reply;
use isthmus_core::slow::segment::{self, Segments};
use isthmus_core::slow::split::Pieces;
use isthmus_core::slow::unexpected;
use isthmus_core::verdict::{IcmpError, Refusal, Slow, Split, Verdict};

use crate::buffer::{Buffer, HEADROOM};
use crate::counters::Owner;
use crate::fragments::datagram::{Fragment, Key, NoFragment};
use crate::fragments::{Fragments, Outcome, Purpose};
use crate::host::UserHost;
use crate::own::{self, Services, Taken, Unserved};
use crate::unexpected::Unexpected;

/// The sink of finished packets.
pub trait Output {
    /// Sends a translated packet. Its offload describes super-packets and partial checksums.
    fn packet(&mut self, packet: &mut Buffer<'_>);

    /// Sends a complete packet that was made here: `head` followed by `tail`.
    fn parts(&mut self, head: &[u8], tail: &[u8]);
}

/// State that the threads share: waiting packets, and the gateway's own services.
#[derive(Debug)]
pub struct SlowPath {
    services: Arc<dyn Services>,
    pub(crate) applications: Applications,
    waiting: Mutex<Waiting>,
    /// The number of packets in `waiting`, so that a packet takes no lock if none waits.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct Waiting {
    fragments: Fragments,
    unexpected: Unexpected,
}

impl Default for SlowPath {
    fn default() -> Self {
        Self {
            services: Arc::new(Unserved),
            applications: Applications::default(),
            waiting: Mutex::default(),
            count: AtomicUsize::new(0),
        }
    }
}

impl SlowPath {
    /// Returns a slow path that also offers the gateway's own services to the hosts in its softwires.
    #[must_use]
    pub fn serving(self, services: Arc<dyn Services>) -> Self {
        Self { services, ..self }
    }

    /// Processes one packet.
    #[inline]
    pub fn handle(&self, packet: &mut Buffer<'_>, host: &mut UserHost<'_>, out: &mut impl Output) {
        if self.count.load(Ordering::Relaxed) == 0 {
            self.translate(packet, host, out);
        } else {
            self.handle_with_waiting(packet, host, out);
        }
    }

    /// Processes one packet while others wait: fragments may wait for this one.
    #[cold]
    fn handle_with_waiting(
        &self,
        packet: &mut Buffer<'_>,
        host: &mut UserHost<'_>,
        out: &mut impl Output,
    ) {
        self.expire(host, out);
        let fragment = Fragment::read(packet.packet()).ok();
        self.translate(packet, host, out);
        self.release(fragment, host, out);
    }

    /// Translates the waiting fragments of a packet's datagram, if the packet was the first fragment.
    fn release(&self, fragment: Option<Fragment>, host: &mut UserHost<'_>, out: &mut impl Output) {
        let Some(first) = fragment.filter(Fragment::is_first) else {
            return;
        };
        for held in self.with(|waiting| waiting.fragments.release(&first.key)) {
            let mut storage = with_headroom(&held);
            let mut packet = Buffer::new(&mut storage, HEADROOM);
            host.owner = Owner::Gateway;
            match gateway::process(&mut packet, host, host.ruleset.instances()) {
                // The first fragment made no session for it.
                Err(Refusal::Slow(Slow::HoldFragment)) => host.count(Counter::FragmentTimeout),
                result => self.finish(result, &mut packet, host, out),
            }
        }
    }

    /// Whether packets wait, so that [`expire`](Self::expire) has work.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    /// Drops fragments that have waited too long at the time of `host`, and answers SYNs that have waited
    /// long enough.
    pub fn expire(&self, host: &mut UserHost<'_>, out: &mut impl Output) {
        let now = host.now;
        let expired = self.with(|waiting| waiting.fragments.expire(now));
        let counters = host.counters;
        counters.add(Owner::Gateway, Counter::FragmentTimeout, expired);
        while let Some(syn) = self.with(|waiting| waiting.unexpected.due(now)) {
            let instances = host.ruleset.instances();
            if let Some(instance) = unexpected::answered_by(host, instances, &syn) {
                host.select(instance);
                reply(&syn, IcmpError::PortUnreachable, host, out);
            }
        }
        host.owner = Owner::Gateway;
    }

    fn translate(&self, packet: &mut Buffer<'_>, host: &mut UserHost<'_>, out: &mut impl Output) {
        let result = gateway::process(packet, host, host.ruleset.instances());
        self.finish(result, packet, host, out);
    }

    #[inline]
    fn finish(
        &self,
        result: Result<Verdict, Refusal>,
        packet: &mut Buffer<'_>,
        host: &mut UserHost<'_>,
        out: &mut impl Output,
    ) {
        match result {
            Ok(Verdict::Forward {
                family: Family::V6,
                split: None,
            }) if Self::has_gateways(packet.packet(), host) && !packet.is_rewritten() => {
                self.look_at_incoming(packet, host, out);
            }
            Ok(Verdict::Forward { split: None, .. }) => {
                if packet.offload().segment.is_some() && segment::carried(packet.packet()).is_some()
                {
                    return segments(packet, host, out);
                }
                packet.trim();
                out.packet(packet);
            }
            Ok(Verdict::Forward {
                split: Some(split), ..
            }) => cut(packet, split, host, out),
            Ok(Verdict::Pass) => {}
            Ok(Verdict::Deliver) => {
                packet.trim();
                out.packet(packet);
            }
            Err(Refusal::Drop(counter)) => host.count(counter),
            Err(Refusal::Reply(error, counter)) => {
                host.count(counter);
                reply(packet.packet(), error, host, out);
            }
            Err(Refusal::Slow(Slow::HoldFragment)) => {
                self.wait(packet, Purpose::First, host, out);
            }
            Err(Refusal::Slow(Slow::Reassemble)) => {
                self.wait(packet, Purpose::Whole, host, out);
            }
            Err(Refusal::Slow(Slow::UnboundSyn)) => {
                self.wait_unexpected(packet, Counter::NoBinding, host);
            }
            Err(Refusal::Slow(Slow::FilteredSyn)) => {
                self.wait_unexpected(packet, Counter::Filtered, host);
            }
            Err(Refusal::Slow(Slow::Own)) => self.take_own(packet, host, out),
            Err(Refusal::Slow(Slow::Application)) => self.look_at_outgoing(packet, host, out),
            // The core asks this only of engines that lack all bytes or headroom.
            Err(Refusal::Slow(_)) => host.count(Counter::EngineError),
        }
    }

    #[cold]
    fn take_own(&self, packet: &mut Buffer<'_>, host: &mut UserHost<'_>, out: &mut impl Output) {
        match own::take(&*self.services, packet, host, out) {
            Taken::Done => {}
            Taken::Unreachable => {
                host.count(Counter::IllegalDestination);
                reply(packet.packet(), IcmpError::PortUnreachable, host, out);
            }
        }
    }

    /// Lets the gateways look at a packet before it is translated to IPv4.
    #[cold]
    fn look_at_outgoing(
        &self,
        packet: &mut Buffer<'_>,
        host: &mut UserHost<'_>,
        out: &mut impl Output,
    ) {
        packet.complete_checksum();
        match self.through_gateways(packet.packet(), Direction::Out, host) {
            Rewritten::Unchanged => {
                let unchanged = packet.packet().to_vec();
                self.translate_rewritten(&unchanged, host, out);
            }
            Rewritten::Packet(other) | Rewritten::Back(other) => {
                self.translate_rewritten(&other, host, out);
            }
        }
    }

    /// Lets the gateways look at a packet that was translated to IPv6.
    #[cold]
    fn look_at_incoming(
        &self,
        packet: &mut Buffer<'_>,
        host: &mut UserHost<'_>,
        out: &mut impl Output,
    ) {
        packet.complete_checksum();
        packet.trim();
        match self.through_gateways(packet.packet(), Direction::In, host) {
            Rewritten::Unchanged => out.packet(packet),
            Rewritten::Packet(other) => out.parts(&other, &[]),
            Rewritten::Back(other) => self.translate_rewritten(&other, host, out),
        }
    }

    /// Translates a packet that gateways have seen.
    fn translate_rewritten(&self, packet: &[u8], host: &mut UserHost<'_>, out: &mut impl Output) {
        let mut storage = with_headroom(packet);
        let mut packet = Buffer::new(&mut storage, HEADROOM).with_rewritten();
        host.owner = Owner::Gateway;
        self.translate(&mut packet, host, out);
    }

    #[cold]
    fn wait(
        &self,
        packet: &mut Buffer<'_>,
        purpose: Purpose,
        host: &mut UserHost<'_>,
        out: &mut impl Output,
    ) {
        packet.complete_checksum();
        let fragment = match Fragment::read(packet.packet()) {
            Ok(fragment) if packet.reassembled().is_none() => fragment,
            // A whole packet has no other fragments to wait for.
            Ok(_) | Err(NoFragment::Whole) => return host.count(Counter::EngineError),
            Err(NoFragment::Malformed) => return host.count(Counter::MalformedHeader),
            Err(NoFragment::Impossible(_)) => return host.count(Counter::BadFragment),
        };
        let bytes = &packet.packet()[..fragment.end()];
        let deadline = host.now.saturating_add(host.ruleset.fragment_wait());
        let limits = host.ruleset.fragment_limits();
        let wait = |waiting: &mut Waiting| {
            let fragments = &mut waiting.fragments;
            fragments.wait(&fragment, bytes, purpose, deadline, limits)
        };
        let waited = self.with(wait);
        let counters = host.counters;
        counters.add(Owner::Gateway, Counter::FragmentTimeout, waited.displaced);
        match waited.outcome {
            Outcome::Waiting => host.count(Counter::FragmentHeld),
            Outcome::Complete(whole) => self.translate_whole(&whole, fragment.key, host, out),
            Outcome::Bad(count) => host.counters.add(host.owner, Counter::BadFragment, count),
        }
    }

    /// Counts a SYN as dropped, and keeps it for its answer.
    #[cold]
    fn wait_unexpected(&self, packet: &mut Buffer<'_>, counter: Counter, host: &mut UserHost<'_>) {
        host.count(counter);
        let now = host.now;
        self.with(|waiting| waiting.unexpected.wait(packet.packet(), now));
    }

    fn translate_whole(
        &self,
        whole: &[u8],
        key: Key,
        host: &mut UserHost<'_>,
        out: &mut impl Output,
    ) {
        let mut storage = with_headroom(whole);
        let mut packet = Buffer::new(&mut storage, HEADROOM);
        // The reassembled packet may be the outer packet only. It is as it was sent, and may be a fragment
        // itself.
        let outside = segment::carried(whole).is_some() && !key.is_in_softwire();
        let fragment = Fragment::read(whole).ok().filter(|_| outside);
        if !outside {
            packet = packet.with_reassembled(key.identification());
        }
        host.owner = Owner::Gateway;
        self.translate(&mut packet, host, out);
        self.release(fragment, host, out);
    }

    fn with<T>(&self, change: impl FnOnce(&mut Waiting) -> T) -> T {
        // A panic in another thread leaves the store as consistent as before its operation.
        let mut waiting: MutexGuard<'_, _> =
            self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut waiting);
        let count = waiting.fragments.len() + waiting.unexpected.len();
        self.count.store(count, Ordering::Relaxed);
        result
    }
}

fn with_headroom(packet: &[u8]) -> Vec<u8> {
    let mut storage = vec![0; HEADROOM + packet.len()];
    storage[HEADROOM..].copy_from_slice(packet);
    storage
}

/// Fragments a translated packet. Its checksum is completed first, because no fragment has all of its bytes.
#[cold]
fn cut(packet: &mut Buffer<'_>, split: Split, host: &mut UserHost<'_>, out: &mut impl Output) {
    if let (Some(size), Some(_)) = (packet.offload().segment, segment::carried(packet.packet())) {
        packet.trim();
        return cut_segments(packet.packet(), size, split, host, out);
    }
    packet.complete_checksum();
    match Pieces::new(packet.packet(), split) {
        Ok(pieces) => {
            host.count(Counter::Split);
            for piece in pieces {
                out.parts(piece.header(), piece.payload);
            }
        }
        Err(_) => host.count(Counter::EngineError),
    }
}

/// Cuts a super-packet that was encapsulated into its segments, and each segment into fragments.
fn cut_segments(
    packet: &[u8],
    size: u16,
    split: Split,
    host: &mut UserHost<'_>,
    out: &mut impl Output,
) {
    let Ok(segments) = Segments::new(packet, size) else {
        return host.count(Counter::EngineError);
    };
    for (segment, number) in segments.zip(0..) {
        let whole = [segment.headers(), segment.payload].concat();
        // The fragments of two segments must not look like those of one.
        let split = Split {
            identification: split.identification.wrapping_add(number),
            ..split
        };
        match Pieces::new(&whole, split) {
            Ok(pieces) => {
                host.count(Counter::Split);
                for piece in pieces {
                    out.parts(piece.header(), piece.payload);
                }
            }
            Err(_) => host.count(Counter::EngineError),
        }
    }
}

/// Cuts a super-packet that was encapsulated: no link takes it whole.
#[cold]
fn segments(packet: &mut Buffer<'_>, host: &mut UserHost<'_>, out: &mut impl Output) {
    packet.trim();
    let size = packet.offload().segment.unwrap_or(0);
    match Segments::new(packet.packet(), size) {
        Ok(segments) => {
            for segment in segments {
                out.parts(segment.headers(), segment.payload);
            }
        }
        Err(_) => host.count(Counter::EngineError),
    }
}

/// Sends an ICMP error to the sender of a packet, within the rate limit of its instance.
#[cold]
fn reply(original: &[u8], error: IcmpError, host: &mut UserHost<'_>, out: &mut impl Output) {
    let Some((instance, limiter)) = host.ruleset.errors_of(host.owner) else {
        return;
    };
    let Some(reply) = Reply::new(original, error, instance) else {
        return;
    };
    if !limiter.take(host.now) {
        return host.count(Counter::IcmpErrorSuppressed);
    }
    host.count(Counter::IcmpErrorSent);
    match reply.outer() {
        [] => out.parts(reply.message(), &[]),
        outer => out.parts(outer, reply.message()),
    }
}
