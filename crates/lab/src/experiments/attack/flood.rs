//! A sender of any IP packets, at a rate.
//!
//! Raw sockets send the packets as they are, with sources that are not the sender's. One thread on the tester's CPU
//! sends up to some hundred thousand packets a second. The kernel hands each to the gateway's interface on the same
//! CPU.

use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6},
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    net::{AddressFamily, Protocol, RawProtocol, SendFlags, SocketType, sendto, socket},
};
use serde::{Deserialize, Serialize};

use super::echo::problem;
use crate::{
    Result,
    network::{
        cores::{TESTER_CPU, cpu, pin},
        netns::Namespace,
    },
};

/// The pause after which a sender looks which packets are due.
const PAUSE: Duration = Duration::from_micros(500);
/// Packets that are sent between two looks at the clock.
const BATCH: u64 = 64;

/// Returns the IP packet of a number.
pub type Packets = Arc<dyn Fn(u64) -> Vec<u8> + Send + Sync>;

/// The rate of an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rate {
    /// Nothing is sent: the attack is a state.
    Still,
    /// Packets per second.
    PerSecond(u32),
    /// As many as one CPU can send.
    Full,
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Still => f.write_str("-"),
            Self::PerSecond(rate) => write!(f, "{rate}/s"),
            Self::Full => f.write_str("full"),
        }
    }
}

/// A running sender; dropping it ends it.
#[derive(Debug)]
pub struct Flood {
    ended: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    begun: Instant,
    thread: Option<JoinHandle<rustix::io::Result<()>>>,
}

impl Flood {
    /// Starts to send packets out of a namespace, from this number on.
    ///
    /// # Errors
    /// There is no raw socket to be had.
    pub fn start(node: &Namespace, packets: &Packets, first: u64, rate: Rate) -> Result<Self> {
        let version = (packets)(first)[0] >> 4;
        let socket = node.enter(|| raw(version).map_err(|errno| problem("flood", errno.into())))?;
        let ended = Arc::new(AtomicBool::new(rate == Rate::Still));
        let sent = Arc::new(AtomicU64::new(0));
        let (end, count, packets) = (Arc::clone(&ended), Arc::clone(&sent), Arc::clone(packets));
        let thread = thread::spawn(move || {
            // It also sends from another CPU.
            let _ = pin(cpu(TESTER_CPU));
            send_all(
                &socket,
                |number| packets(first + number),
                rate,
                &end,
                &count,
            )
        });
        Ok(Self {
            ended,
            sent,
            begun: Instant::now(),
            thread: Some(thread),
        })
    }

    /// Ends it and returns the number of packets sent, and the seconds that they took.
    ///
    /// # Errors
    /// A packet could not be sent.
    pub fn stop(mut self) -> Result<(u64, f64)> {
        self.ended.store(true, Ordering::Relaxed);
        let seconds = self.begun.elapsed().as_secs_f64();
        if let Some(thread) = self.thread.take() {
            match thread.join() {
                Ok(sent) => sent.map_err(|errno| problem("flood", errno.into()))?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok((self.sent(), seconds))
    }

    /// Returns the number of packets that the kernel has taken.
    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its result has not been asked for.
            let _ = thread.join();
        }
    }
}

/// Sends until it is ended, and counts the packets that the kernel took.
fn send_all(
    socket: &OwnedFd,
    packet: impl Fn(u64) -> Vec<u8>,
    rate: Rate,
    ended: &AtomicBool,
    sent: &AtomicU64,
) -> rustix::io::Result<()> {
    let begun = Instant::now();
    let mut number = 0;
    while !ended.load(Ordering::Relaxed) {
        let due = match rate {
            Rate::Still => 0,
            Rate::Full => number + BATCH,
            Rate::PerSecond(rate) => (begun.elapsed().as_secs_f64() * f64::from(rate)) as u64,
        };
        let batch = due.saturating_sub(number).min(BATCH);
        for _ in 0..batch {
            let taken = send(socket, &packet(number))?;
            sent.fetch_add(u64::from(taken), Ordering::Relaxed);
            number += 1;
        }
        if batch < BATCH {
            thread::sleep(PAUSE);
        }
    }
    Ok(())
}

fn raw(version: u8) -> rustix::io::Result<OwnedFd> {
    let family = match version {
        4 => AddressFamily::INET,
        _ => AddressFamily::INET6,
    };
    // Protocol 255 takes packets with their IP header.
    let protocol = RawProtocol::new(255).map(Protocol::from_raw);
    socket(family, SocketType::RAW, protocol)
}

/// Sends an IP packet; returns whether the kernel took it.
fn send(socket: &OwnedFd, packet: &[u8]) -> rustix::io::Result<bool> {
    let sent = match (packet.get(16..20), packet.get(24..40)) {
        (_, Some(octets)) if packet[0] >> 4 == 6 => {
            let mut address = [0; 16];
            address.copy_from_slice(octets);
            let to = SocketAddrV6::new(Ipv6Addr::from(address), 0, 0, 0);
            sendto(socket, packet, SendFlags::empty(), &to)
        }
        (Some(&[a, b, c, d]), _) => {
            let to = SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), 0);
            sendto(socket, packet, SendFlags::empty(), &to)
        }
        _ => Err(Errno::INVAL),
    };
    match sent {
        Ok(_) => Ok(true),
        Err(Errno::NOBUFS | Errno::AGAIN | Errno::INTR) => Ok(false),
        Err(errno) => Err(errno),
    }
}
