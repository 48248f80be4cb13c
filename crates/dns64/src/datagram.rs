//! Datagrams in batches: `recvmmsg` and `sendmmsg`, with the local address that each came to, so
//! that the response leaves from there (a server on a wildcard address has many).
//!
//! The system calls are made by hand: nix's `sendmmsg` has one set of control messages for a whole batch,
//! where each response needs the address that its query came to, and its `recvmmsg` needs new buffers for
//! every call. All `unsafe` of this crate is here.

use std::io;
use std::mem::{MaybeUninit, offset_of, size_of};
use std::net::{IpAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;

/// Datagrams per system call.
pub const BATCH: usize = 32;
/// Largest query that is received; queries have one question.
const QUERY_MAX: usize = 1_500;
/// Room for one control message with a packet information structure of either family.
const CONTROL_MAX: usize = 64;

/// A control buffer, aligned as `cmsghdr` wants it.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_MAX]);

/// Where a datagram came from and which of our addresses it came to.
#[derive(Clone, Copy)]
pub struct Peer {
    name: libc::sockaddr_storage,
    name_length: libc::socklen_t,
    control: Control,
    control_length: usize,
}

impl Peer {
    /// The peer that a connected socket is connected to.
    #[must_use]
    pub fn connected() -> Self {
        // SAFETY: `sockaddr_storage` is plain data for which zeroes are valid.
        let name = unsafe { MaybeUninit::zeroed().assume_init() };
        Self {
            name,
            name_length: 0,
            control: Control([0; CONTROL_MAX]),
            control_length: 0,
        }
    }
}

impl Peer {
    /// The address that the datagram came from; `None` if the kernel did not say.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        let name = &raw const self.name;
        match i32::from(self.name.ss_family) {
            libc::AF_INET => {
                // SAFETY: with this family it is a `sockaddr_in`, for which there is room and alignment.
                let v4 = unsafe { &*name.cast::<libc::sockaddr_in>() };
                Some(u32::from_be(v4.sin_addr.s_addr).to_be_bytes().into())
            }
            libc::AF_INET6 => {
                // SAFETY: with this family it is a `sockaddr_in6`, for which there is room and alignment.
                let v6 = unsafe { &*name.cast::<libc::sockaddr_in6>() };
                Some(v6.sin6_addr.s6_addr.into())
            }
            _ => None,
        }
    }
}

/// Buffers for a batch of datagrams and for the response to each.
pub struct Batch {
    buffers: Box<[[u8; QUERY_MAX]; BATCH]>,
    lengths: [usize; BATCH],
    peers: Box<[Peer; BATCH]>,
    /// Responses; an empty one is not sent.
    out: Vec<Vec<u8>>,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            buffers: Box::new([[0; QUERY_MAX]; BATCH]),
            lengths: [0; BATCH],
            peers: Box::new([Peer::connected(); BATCH]),
            out: (0..BATCH).map(|_| Vec::with_capacity(QUERY_MAX)).collect(),
        }
    }
}

/// How one message of a batch is handed to the kernel.
fn header(iov: *mut libc::iovec) -> libc::mmsghdr {
    // SAFETY: `mmsghdr` is plain data for which zeroes are valid: null pointers and lengths of 0.
    let mut header: libc::mmsghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    header.msg_hdr.msg_iov = iov;
    header.msg_hdr.msg_iovlen = 1;
    header
}

const NO_IOV: libc::iovec = libc::iovec {
    iov_base: ptr::null_mut(),
    iov_len: 0,
};

impl Batch {
    /// Receives all pending datagrams, without waiting. Forgets earlier datagrams and responses.
    ///
    /// # Errors
    /// Those of `recvmmsg(2)`; `WouldBlock` if nothing is there.
    pub fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        let mut iovs = [NO_IOV; BATCH];
        let mut headers: [libc::mmsghdr; BATCH] = std::array::from_fn(|_| header(ptr::null_mut()));
        for i in 0..BATCH {
            let buffer = &mut self.buffers[i];
            iovs[i] = libc::iovec {
                iov_base: buffer.as_mut_ptr().cast(),
                iov_len: buffer.len(),
            };
            headers[i] = header(&raw mut iovs[i]);
            let peer = &mut self.peers[i];
            headers[i].msg_hdr.msg_name = (&raw mut peer.name).cast();
            headers[i].msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            headers[i].msg_hdr.msg_control = (&raw mut peer.control).cast();
            // Not all C libraries have the same type for it.
            headers[i].msg_hdr.msg_controllen = CONTROL_MAX as _;
            self.out[i].clear();
        }
        // SAFETY: every header points to a name, a control buffer and one iovec of the lengths
        // given; `iovs`, `self.buffers` and `self.peers` outlive the call and are not touched
        // otherwise during it.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as _,
                libc::MSG_DONTWAIT as _,
                ptr::null_mut(),
            )
        };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        for (i, header) in headers.iter().take(count).enumerate() {
            // What was cut off is not a query of one question: hand on nothing of it.
            let cut = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
            self.lengths[i] = if cut { 0 } else { header.msg_len as usize };
            self.peers[i].name_length = header.msg_hdr.msg_namelen;
            self.peers[i].control_length = header.msg_hdr.msg_controllen as _;
            leave_route_to_kernel(&mut self.peers[i]);
        }
        Ok(count)
    }

    /// A received datagram, where it came from, and room for the response.
    ///
    /// # Panics
    /// If `i` is not below [`BATCH`].
    pub fn exchange(&mut self, i: usize) -> (&[u8], &Peer, &mut Vec<u8>) {
        (
            &self.buffers[i][..self.lengths[i]],
            &self.peers[i],
            &mut self.out[i],
        )
    }

    /// Sends the responses to the first `count` datagrams, without waiting; empty ones are passed
    /// over. Returns how many the socket did not take.
    pub fn send(&mut self, socket: &UdpSocket, count: usize) -> usize {
        let mut iovs = [NO_IOV; BATCH];
        let mut headers: [libc::mmsghdr; BATCH] = std::array::from_fn(|_| header(ptr::null_mut()));
        let mut filled = 0;
        for (peer, out) in self.peers.iter_mut().zip(&mut self.out).take(count) {
            if !out.is_empty() {
                fill(&mut headers[filled], &mut iovs[filled], peer, out);
                filled += 1;
            }
        }
        let mut sent = 0;
        let mut lost = 0;
        while sent < filled {
            // SAFETY: the headers from `sent` to `filled` were filled above with pointers into
            // `self` and `iovs`, which outlive the call.
            let result = unsafe {
                libc::sendmmsg(
                    socket.as_raw_fd(),
                    headers[sent..filled].as_mut_ptr(),
                    (filled - sent) as _,
                    libc::MSG_DONTWAIT as _,
                )
            };
            match usize::try_from(result) {
                Ok(n) if n > 0 => sent += n,
                // The first one could not be sent: to the next.
                _ => {
                    lost += 1;
                    sent += 1;
                }
            }
        }
        lost
    }
}

/// Sends one response.
///
/// # Errors
/// Those of `sendmmsg(2)`.
pub fn send_one(socket: &UdpSocket, mut peer: Peer, mut out: Vec<u8>) -> io::Result<()> {
    let mut iov = NO_IOV;
    let mut header = header(ptr::null_mut());
    fill(&mut header, &mut iov, &mut peer, &mut out);
    // SAFETY: the header points to `iov`, `peer` and `out`, which outlive the call.
    let sent = unsafe {
        libc::sendmmsg(
            socket.as_raw_fd(),
            &raw mut header,
            1,
            libc::MSG_DONTWAIT as _,
        )
    };
    if sent == 1 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Points a header to a response and its peer.
fn fill(header_: &mut libc::mmsghdr, iov: &mut libc::iovec, peer: &mut Peer, out: &mut [u8]) {
    *iov = libc::iovec {
        iov_base: out.as_mut_ptr().cast(),
        iov_len: out.len(),
    };
    *header_ = header(iov);
    if peer.name_length > 0 {
        header_.msg_hdr.msg_name = (&raw mut peer.name).cast();
        header_.msg_hdr.msg_namelen = peer.name_length;
    }
    if peer.control_length > 0 {
        header_.msg_hdr.msg_control = (&raw mut peer.control).cast();
        header_.msg_hdr.msg_controllen = peer.control_length as _;
    }
}

/// Clears the interface by which a datagram came, unless the local address means nothing without it,
/// so that the response takes the route that the routing table says.
fn leave_route_to_kernel(peer: &mut Peer) {
    const DATA: usize = size_of::<libc::cmsghdr>();
    let bytes = &mut peer.control.0[..peer.control_length.min(CONTROL_MAX)];
    let field = |bytes: &[u8], at: usize| {
        bytes
            .get(at..at + 4)
            .and_then(|b| b.try_into().ok())
            .map(i32::from_ne_bytes)
    };
    let level = field(bytes, offset_of!(libc::cmsghdr, cmsg_level));
    let kind = field(bytes, offset_of!(libc::cmsghdr, cmsg_type));
    let index = match (level, kind) {
        (Some(libc::IPPROTO_IP), Some(libc::IP_PKTINFO)) => {
            DATA + offset_of!(libc::in_pktinfo, ipi_ifindex)
        }
        (Some(libc::IPPROTO_IPV6), Some(libc::IPV6_PKTINFO)) => {
            let link_local = bytes
                .get(DATA..DATA + 2)
                .is_some_and(|b| b[0] == 0xfe && b[1] & 0xc0 == 0x80);
            if link_local {
                return;
            }
            DATA + offset_of!(libc::in6_pktinfo, ipi6_ifindex)
        }
        _ => return,
    };
    if let Some(field) = bytes.get_mut(index..index + 4) {
        field.fill(0);
    }
}

/// Has a socket report the local address of each datagram, if it is bound to all of them, and never
/// use what ICMP says about path MTUs, which anyone can forge: our responses fit the smallest.
///
/// # Errors
/// Those of `setsockopt(2)`.
pub fn prepare(socket: &UdpSocket) -> io::Result<()> {
    let ip = socket.local_addr()?.ip();
    let (level, mtu, omit, tell) = match ip {
        IpAddr::V4(_) => (
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
            libc::IP_PMTUDISC_OMIT,
            libc::IP_PKTINFO,
        ),
        IpAddr::V6(_) => (
            libc::IPPROTO_IPV6,
            libc::IPV6_MTU_DISCOVER,
            libc::IPV6_PMTUDISC_OMIT,
            libc::IPV6_RECVPKTINFO,
        ),
    };
    set(socket, level, mtu, omit)?;
    if ip.is_unspecified() {
        set(socket, level, tell, 1)
    } else {
        Ok(())
    }
}

fn set(socket: &UdpSocket, level: i32, option: i32, value: i32) -> io::Result<()> {
    // SAFETY: the option's value is an int, and its address and size are given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Why [`wait`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// There may be something to receive.
    Datagram,
    /// The other end of the wake-up pair was closed or written to.
    Stop,
}

/// Waits for a datagram, or for the end of `stop`.
///
/// # Errors
/// Those of `poll(2)`.
pub fn wait(socket: &UdpSocket, stop: BorrowedFd<'_>) -> io::Result<Woken> {
    let watch = |fd: BorrowedFd<'_>| libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut fds = [watch(socket.as_fd()), watch(stop)];
    // SAFETY: the array has the length that is given, and outlives the call.
    let result = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as _, -1) };
    if result < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(if fds[1].revents != 0 {
        Woken::Stop
    } else {
        Woken::Datagram
    })
}
