//! Tells the programs when what they remember of the kernel's routes is out of date, and of links that
//! come and go.
//!
//! A thread hears what the kernel announces of routes, rules, neighbours, addresses and links, and
//! counts the epoch up that the programs remember their ways with (`crates/bpf/src/route.rs`). What
//! the kernel does not announce, such as a path MTU that it learned, ends with the epoch after a
//! second.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use isthmus_core::table::Memory as _;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

use super::links::Links;
use crate::memory::Region;
use crate::sys;

/// `RTNLGRP_*` of `linux/rtnetlink.h`: links, neighbours, IPv4 and IPv6 addresses, routes and rules,
/// next-hop objects.
const GROUPS: [u32; 9] = [1, 3, 5, 7, 8, 9, 11, 19, 32];
/// How long an epoch lasts at most.
const LONGEST: Duration = Duration::from_secs(1);
/// How long an epoch lasts at least: a table that changes all the time is not worth remembering less.
const SHORTEST: Duration = Duration::from_millis(5);

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
    pub(super) fn start(epoch: Region, mut links: Links) -> io::Result<Self> {
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
            .spawn(move || watch(&socket, &stopped, &epoch, links))?;
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

fn watch(socket: &Socket, stop: &File, epoch: &Region, mut links: Links) {
    let set = |number: u32| {
        if let Some([word, ..]) = epoch.line(0) {
            word.store(u64::from(number), Ordering::Release);
        }
    };
    let mut announcements = Vec::with_capacity(64 * 1024);
    let mut number = 0_u32;
    let mut stale = false;
    loop {
        // 0 stands for no epoch.
        number = number.checked_add(1).unwrap_or(1);
        set(number);
        thread::sleep(SHORTEST);
        let waited = sys::wait_readable([socket.as_fd(), stop.as_fd()], Some(LONGEST));
        let stopped = (&mut &*stop).read(&mut [0; 8]).is_ok();
        if waited.is_err() || stopped {
            break;
        }
        // Before the next epoch, in which nobody remembers what the links were. If it fails, packets
        // take the kernel's way from links that are new, and the next announcement tries again.
        stale |= drain(socket, &mut announcements) == Heard::Links;
        if stale {
            stale = links.update().is_err();
        }
    }
    set(0);
}

/// What the kernel announced.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// Changes of links, perhaps among others.
    Links,
    /// Nothing, or other changes.
    Others,
}

/// Reads what there is. Of the content, only whether it is about links matters; what is lost may have
/// been.
fn drain(socket: &Socket, announcements: &mut Vec<u8>) -> Heard {
    let mut heard = Heard::Others;
    loop {
        announcements.clear();
        match socket.recv(announcements, libc::MSG_TRUNC) {
            Ok(_) if !is_of_link(announcements) => {}
            Ok(_) => heard = Heard::Links,
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => heard = Heard::Links,
            Err(_) => return heard,
        }
    }
}

/// Whether an announcement is about a link: the type comes after the length (`struct nlmsghdr`).
fn is_of_link(announcement: &[u8]) -> bool {
    let kind = match announcement {
        [_, _, _, _, a, b, ..] => u16::from_ne_bytes([*a, *b]),
        _ => return false,
    };
    matches!(kind, libc::RTM_NEWLINK | libc::RTM_DELLINK)
}
