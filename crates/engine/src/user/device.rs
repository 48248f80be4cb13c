//! A TUN link with several queues.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use libc::{c_int, c_uint};

use super::{napi, vnet};
use crate::sys;

/// Offloads of `linux/if_tun.h`, by the kernel that brought them.
const CHECKSUM_AND_TCP: c_uint = 0x01 | 0x02 | 0x04 | 0x08;
/// UDP segmentation, since Linux 6.2.
const UDP: c_uint = 0x20 | 0x40;

/// How the kernel takes the packets written to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// A kernel thread per queue takes them in batches (NAPI), and forwards them when the writing thread has
    /// nothing more to do. This needs `/sys` of our network namespace, `CAP_SYS_NICE`, and kernel threads in
    /// `/proc`.
    Batched,
    /// As `Batched`, but the kernel thread may interrupt the writing thread for every packet.
    Threaded,
    /// Each write forwards its packet at once. NAPI without threads would be slower.
    Direct,
}

/// One open queue of a link.
#[derive(Debug)]
pub struct Queue {
    pub(super) file: File,
}

/// A name that no interface can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a valid link name: a link name has 1 to 15 bytes, none of them '/' or a space"
)]
pub struct NameError(String);

/// Why a link could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The name is not valid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The kernel has no TUN, or denies us access.
    #[error("/dev/net/tun: {0}")]
    Device(#[source] io::Error),
    /// The kernel refuses this link.
    #[error("TUN link {name}, {step}: {error}")]
    Link {
        /// Name of the link.
        name: String,
        /// The operation that failed.
        step: &'static str,
        /// The error from the kernel.
        error: io::Error,
    },
}

/// A link that exchanges packets with the kernel.
#[derive(Debug)]
pub struct Tun {
    name: String,
    delivery: Delivery,
    /// Its queues.
    pub queues: Vec<Queue>,
}

impl Tun {
    /// Opens a link, and creates it if it does not exist. Closing its queues removes it, unless it was made
    /// persistent by others. A new link is down and has no address.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(name: &str, queues: usize) -> Result<Self, OpenError> {
        let bytes = name_bytes(name)?;
        let open = |napi| {
            let queues = (0..queues).map(|_| open_queue(name, bytes, napi));
            queues.collect::<Result<Vec<_>, _>>()
        };
        let others = napi::threads(name);
        let mut opened = open(libc::IFF_NAPI)?;
        let delivery = match napi::start_threads(name) {
            Ok(()) => let_wait(name, &others, queues),
            Err(_) => {
                drop(opened);
                opened = open(0)?;
                Delivery::Direct
            }
        };
        Ok(Self {
            name: name.to_owned(),
            delivery,
            queues: opened,
        })
    }

    /// Returns how the kernel takes the packets that are written.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// Returns the name of the link.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Gives the kernel threads of this link batch priority, and returns whether all have it. `others` are the
/// threads that existed before, of links with the same name in other network namespaces.
fn let_wait(name: &str, others: &BTreeSet<i32>, queues: usize) -> Delivery {
    let threads = napi::threads(name);
    let ours: Vec<_> = threads.difference(others).copied().collect();
    // Threads that are hidden, or not ours to change, keep their priority.
    if ours.len() >= queues && napi::let_wait(&ours).is_ok() {
        Delivery::Batched
    } else {
        Delivery::Threaded
    }
}

fn name_bytes(name: &str) -> Result<[u8; libc::IFNAMSIZ], NameError> {
    let mut bytes = [0; libc::IFNAMSIZ];
    let refused = |byte: u8| byte == b'/' || byte == 0 || byte.is_ascii_whitespace();
    if name.is_empty() || name.len() >= bytes.len() || name.bytes().any(refused) {
        return Err(NameError(name.to_owned()));
    }
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    Ok(bytes)
}

fn open_queue(name: &str, bytes: [u8; libc::IFNAMSIZ], napi: c_int) -> Result<Queue, OpenError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")
        .map_err(OpenError::Device)?;
    let failed = |step| {
        move |error| OpenError::Link {
            name: name.to_owned(),
            step,
            error,
        }
    };
    let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_MULTI_QUEUE | libc::IFF_VNET_HDR;
    sys::tun_attach(&file, bytes, flags | napi).map_err(failed("attaching a queue"))?;
    sys::tun_set_header_length(&file, vnet::LENGTH as _).map_err(failed("setting its header"))?;
    // An older kernel refuses unknown offloads. UDP then arrives in single packets.
    sys::tun_set_offload(&file, CHECKSUM_AND_TCP | UDP)
        .or_else(|_| sys::tun_set_offload(&file, CHECKSUM_AND_TCP))
        .map_err(failed("setting offloads"))?;
    Ok(Queue { file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert!(name_bytes("isthmus0").is_ok());
        assert!(name_bytes("fifteen-bytes-x").is_ok());
        for name in ["", "sixteen-bytes-xx", "a b", "a/b", "a\0b"] {
            assert_eq!(name_bytes(name), Err(NameError(name.to_owned())));
        }
    }
}
