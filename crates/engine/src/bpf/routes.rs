//! Tells the programs when what they remember of the kernel's routes is out of date, and of links that
//! come and go.
//!
//! A thread hears what the kernel announces of routes, rules, neighbours, addresses and links, and
//! counts the epoch up that the programs remember their ways with (`crates/bpf/src/route.rs`). What
//! the kernel does not announce, such as a path MTU that it learned, ends with the epoch after a
//! second. When the routes have not changed for a while, it tells which destinations share a way.

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
/// How long an epoch lasts at most.
const LONGEST: Duration = Duration::from_secs(1);
/// How long an epoch lasts at least: a table that changes all the time is not worth remembering less.
const SHORTEST: Duration = Duration::from_millis(5);
/// How long the routes have to stay as they are before they are read.
const QUIET: Duration = Duration::from_millis(100);
/// After how long they are read again if there were too many.
const PATIENCE: Duration = Duration::from_secs(60);

/// The thread. When it is dropped, the programs remember nothing any more.
#[derive(Debug)]
pub(super) struct RouteWatch {
    stop: File,
    thread: Option<JoinHandle<()>>,
}

impl RouteWatch {
    /// Begins to listen in the network namespace of the calling thread. `epoch` is the memory of the
    /// map `EPOCH`. The programs know the links when this returns.
    ///
    /// # Errors
    /// There is no socket or no thread to be had, or the links can not be asked for.
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
        // An event that can not be written leaves a thread that does no harm.
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
    let mut number = 0_u32;
    let mut stale = false;
    // When to read the routes.
    let mut due = Some(Instant::now());
    loop {
        // 0 stands for no epoch.
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
                // Every way is asked for by itself then.
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
        // Before the next epoch, in which nobody remembers what the links were. If it fails, packets
        // take the kernel's way from links that are new, and the next announcement tries again.
        stale |= heard.links;
        if stale {
            stale = links.update().is_err();
        }
    }
    set(SIZE, 0);
    set(NUMBER, 0);
}

/// What the kernel announced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Heard {
    /// Changes of links.
    links: bool,
    /// Changes that routes may come or go with: all but those of neighbours.
    routes: bool,
}

/// Reads what there is. Of the content, only what it is about matters; what is lost may have been about
/// anything.
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
    /// Reads one announcement: the type comes after the length (`struct nlmsghdr`).
    fn learn(&mut self, announcement: &[u8]) {
        let kind = match announcement {
            [_, _, _, _, a, b, ..] => u16::from_ne_bytes([*a, *b]),
            _ => return,
        };
        self.links |= matches!(kind, libc::RTM_NEWLINK | libc::RTM_DELLINK);
        self.routes |= !matches!(kind, libc::RTM_NEWNEIGH | libc::RTM_DELNEIGH);
    }
}
