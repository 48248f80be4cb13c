//! Invalidates the programs' cache of kernel routes, and passes changes of links to the programs.
//!
//! A thread receives the kernel's announcements of routes, rules, neighbours, addresses and links, and increments
//! the epoch of the programs' route cache (`crates/bpf/src/route.rs`). Changes that the kernel does not
//! announce, such as a path MTU that it learned, take effect with the next epoch, after at most a second. When
//! the routes have been stable for a while, the thread writes ranges of destinations with a common next hop.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use isthmus_abi::routes::{NUMBER, SIZE};
use isthmus_core::table::Memory as _;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

use super::links::Links;
use super::ranges::Ranges;
use crate::memory::Region;
use crate::sys;

/// `RTNLGRP_*` of `linux/rtnetlink.h`: links, neighbours, IPv4 and IPv6 addresses, routes and rules,
/// next-hop objects.
const GROUPS: [u32; 9] = [1, 3, 5, 7, 8, 9, 11, 19, 32];
/// The longest duration of an epoch.
const LONGEST: Duration = Duration::from_secs(1);
/// The shortest duration of an epoch. A table that always changes must not make the cache useless.
const SHORTEST: Duration = Duration::from_millis(5);
/// Time without changes of routes before they are read.
const QUIET: Duration = Duration::from_millis(100);
/// Time until the routes are read again if there were too many.
const PATIENCE: Duration = Duration::from_secs(60);

/// The thread. Dropping it invalidates the cache.
#[derive(Debug)]
pub(super) struct RouteWatch {
    stop: File,
    thread: Option<JoinHandle<()>>,
}

impl RouteWatch {
    /// Starts to listen in the network namespace of the calling thread. `epoch` is the memory of the map `EPOCH`.
    /// The programs know the links when this returns.
    ///
    /// # Errors
    /// No socket or thread can be made, or the links cannot be listed.
    pub(super) fn start(epoch: Region, ranges: Ranges, mut links: Links) -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind(&SocketAddr::new(0, 0))?;
        for group in GROUPS {
            socket.add_membership(group)?;
        }
        socket.set_non_blocking(true)?;
        links.update()?;
        let stop = sys::event()?;
        let stopped = stop.try_clone()?;
        let thread = thread::Builder::new()
            .name("routes".into())
            .spawn(move || watch(&socket, &stopped, &epoch, &ranges, links))?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for RouteWatch {
    fn drop(&mut self) {
        // If the event cannot be written, a harmless thread remains.
        if self.stop.write_all(&1_u64.to_ne_bytes()).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _panicked = thread.join();
        }
    }
}

fn watch(socket: &Socket, stop: &File, epoch: &Region, ranges: &Ranges, mut links: Links) {
    let set = |word: usize, value: u64| {
        if let Some(line) = epoch.line(0) {
            line[word].store(value, Ordering::Release);
        }
    };
    let mut announcements = Vec::with_capacity(64 * 1024);
    let mut number = first_number();
    let mut stale = false;
    // The time to ask for what is not announced.
    let mut ask = Instant::now() + LONGEST;
    // The time to read the routes.
    let mut due = Some(Instant::now());
    loop {
        // 0 means no epoch.
        number = number.checked_add(1).unwrap_or(1);
        set(NUMBER, number.into());
        let now = Instant::now();
        if due.is_some_and(|due| due <= now) {
            match ranges.write() {
                Ok(size) => {
                    set(SIZE, size);
                    due = None;
                    continue;
                }
                // Every destination then needs its own FIB lookup.
                Err(_) => due = Some(now + PATIENCE),
            }
        }
        thread::sleep(SHORTEST);
        let left = due.map_or(LONGEST, |due| due.saturating_duration_since(now));
        let waited = sys::wait_readable([socket.as_fd(), stop.as_fd()], Some(left.min(LONGEST)));
        let stopped = (&mut &*stop).read(&mut [0; 8]).is_ok();
        if waited.is_err() || stopped {
            break;
        }
        let heard = drain(socket, &mut announcements);
        if heard.routes {
            set(SIZE, 0);
            due = due.max(Some(Instant::now() + QUIET));
        }
        // This comes before the next epoch, which forgets the old links. If it fails, packets from new links take the
        // kernel's path, and the next announcement tries again.
        stale |= heard.links;
        if ask <= Instant::now() {
            ask = Instant::now() + LONGEST;
            stale |= links.drivers_changed();
        }
        if stale {
            stale = links.update().is_err();
        }
    }
    set(SIZE, 0);
    set(NUMBER, 0);
}

/// A number that no epoch of an earlier process had: the programs of a process that was killed may have its
/// routes still. Numbers follow each other in [`SHORTEST`], and this clock has a shorter unit.
fn first_number() -> u32 {
    const { assert!(SHORTEST.as_nanos() > 1 << 22) }
    (sys::coarse_clock() >> 22) as u32
}

/// Kinds of announcements from the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Heard {
    /// Changes of links.
    links: bool,
    /// Changes that may add or remove routes: all but those of neighbours.
    routes: bool,
}

/// Reads all pending announcements. Only their type matters. Lost announcements count as changes of every
/// kind.
fn drain(socket: &Socket, announcements: &mut Vec<u8>) -> Heard {
    let mut heard = Heard::default();
    loop {
        announcements.clear();
        match socket.recv(announcements, libc::MSG_TRUNC) {
            Ok(_) => heard.learn(announcements),
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                heard = Heard {
                    links: true,
                    routes: true,
                };
            }
            Err(_) => return heard,
        }
    }
}

impl Heard {
    /// Reads one announcement. The type follows the length (`struct nlmsghdr`).
    fn learn(&mut self, announcement: &[u8]) {
        let kind = match announcement {
            [_, _, _, _, a, b, ..] => u16::from_ne_bytes([*a, *b]),
            _ => return,
        };
        self.links |= matches!(kind, libc::RTM_NEWLINK | libc::RTM_DELLINK);
        self.routes |= !matches!(kind, libc::RTM_NEWNEIGH | libc::RTM_DELNEIGH);
    }
}
