//! The thread of one queue: it reads, translates in place, and writes.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use arc_swap::Cache;
use chacha20::ChaCha8Rng;
use isthmus_core::packet::Family;
use isthmus_core::reason::Counter;

use super::device::Queue;
use super::turn::Turn;
use super::vnet::{self, Header};
use super::{Figures, Shared, follow};
use crate::buffer::{Buffer, HEADROOM};
use crate::counters::{Counters, Owner};
use crate::host::UserHost;
use crate::slowpath::Output;
use crate::sys;

/// The largest packet that a TUN device gives, with room to spare.
const LARGEST: usize = 1 << 16;
/// Number of looks at an empty queue before the thread sleeps. Sleeping and waking cost more than a few looks,
/// and under load the next packet arrives sooner.
const LOOKS: u32 = 8;
/// Interval at which an idle thread checks the waiting packets.
const TICK: Duration = Duration::from_millis(500);

pub(super) struct Worker {
    queue: Queue,
    shared: Arc<Shared>,
    figures: Arc<Figures>,
    random: ChaCha8Rng,
}

impl Worker {
    pub(super) fn new(
        queue: Queue,
        shared: Arc<Shared>,
        figures: Arc<Figures>,
        random: ChaCha8Rng,
    ) -> Self {
        Self {
            queue,
            shared,
            figures,
            random,
        }
    }

    /// Runs until the engine stops.
    pub(super) fn run(mut self) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let figures = Arc::clone(&self.figures);
        let mut rulesets = Cache::new(&shared.ruleset);
        let mut storage = vec![0; HEADROOM + LARGEST];
        let mut looks = 0;
        let mut turn = Turn::new(shared.handed_up.as_ref());
        while !shared.stopping.load(Ordering::Relaxed) {
            // The packet is read behind the headroom, with its header right before it.
            let space = &mut storage[HEADROOM - vnet::LENGTH..];
            let length = match (&self.queue.file).read(space) {
                Ok(length) => length,
                Err(error) => {
                    self.without_packet(error, &mut looks, &mut turn)?;
                    continue;
                }
            };
            looks = 0;
            turn.with_packet();
            let Some(header) = space[..length].first_chunk() else {
                continue;
            };
            let header = Header::from_bytes(*header);
            let offload = header.offload();
            add(&figures.packets);
            if offload.segment.is_some() {
                add(&figures.super_packets);
            }
            let mut host = UserHost {
                ruleset: rulesets.load(),
                state: &shared.state,
                now: sys::coarse_clock(),
                random: &mut self.random,
                counters: &figures.counters,
                owner: Owner::Gateway,
            };
            if !header.is_known() {
                figures
                    .counters
                    .add(Owner::Gateway, Counter::EngineError, 1);
                continue;
            }
            let end = HEADROOM - vnet::LENGTH + length;
            let mut packet = Buffer::new(&mut storage[..end], HEADROOM).with_offload(offload);
            let mut out = Sender {
                queue: &self.queue,
                header,
                counters: &figures.counters,
            };
            follow::handle(&shared, &mut packet, &mut host, &mut out);
        }
        Ok(())
    }

    /// Goes on after a look that found no packet. `looks` are those before it that found none.
    fn without_packet(
        &mut self,
        error: io::Error,
        looks: &mut u32,
        turn: &mut Turn<'_>,
    ) -> io::Result<()> {
        match error.kind() {
            ErrorKind::WouldBlock => match turn.without_packet() {
                Some(pause) => self.idle(Some(pause))?,
                None if *looks < LOOKS => {
                    if *looks == 0 {
                        // What was written waits for the kernel's thread, which may have no other processor than this.
                        thread::yield_now();
                    }
                    *looks += 1;
                }
                None => {
                    self.idle(None)?;
                    *looks = 0;
                }
            },
            ErrorKind::Interrupted => {}
            _ => return Err(error),
        }
        Ok(())
    }

    /// Waits for a packet or for the stop event, no longer than `pause` if there is one.
    fn idle(&mut self, pause: Option<Duration>) -> io::Result<()> {
        add(&self.figures.idle);
        let shared = &self.shared;
        let timeout = pause.or(shared.slowpath.is_waiting().then_some(TICK));
        sys::wait_readable([self.queue.file.as_fd(), shared.stop.as_fd()], timeout)?;
        if shared.slowpath.is_waiting() {
            let mut host = UserHost {
                ruleset: &shared.ruleset.load(),
                state: &shared.state,
                now: sys::coarse_clock(),
                random: &mut self.random,
                counters: &self.figures.counters,
                owner: Owner::Gateway,
            };
            let mut out = Sender {
                queue: &self.queue,
                header: Header::default(),
                counters: &self.figures.counters,
            };
            shared.slowpath.expire(&mut host, &mut out);
        }
        Ok(())
    }
}

/// Adds one to a figure that only this thread writes.
fn add(figure: &AtomicU64) {
    figure.store(figure.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// Writes packets back to the queue that they came from.
struct Sender<'a> {
    queue: &'a Queue,
    /// The header that the current packet arrived with.
    header: Header,
    counters: &'a Counters,
}

impl Sender<'_> {
    fn check(&self, result: io::Result<usize>) {
        // The kernel refuses a packet if the link is down or memory is short. Only this packet is lost.
        if result.is_err() {
            self.counters.add(Owner::Gateway, Counter::EngineError, 1);
        }
    }
}

impl Output for Sender<'_> {
    #[inline]
    fn packet(&mut self, packet: &mut Buffer<'_>) {
        let family = match packet.packet().first().map(|first| first >> 4) {
            Some(4) => Family::V4,
            _ => Family::V6,
        };
        let header = self.header.translated(family, packet.offload());
        let Some(bytes) = packet.packet_with_prefix(vnet::LENGTH) else {
            return self.check(Err(ErrorKind::InvalidInput.into()));
        };
        bytes[..vnet::LENGTH].copy_from_slice(&header);
        self.check((&self.queue.file).write(bytes));
    }

    fn parts(&mut self, head: &[u8], tail: &[u8]) {
        let nothing_to_do = [0; vnet::LENGTH];
        let parts = [&nothing_to_do, head, tail].map(IoSlice::new);
        self.check((&self.queue.file).write_vectored(&parts));
    }
}
