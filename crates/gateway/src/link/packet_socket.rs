//! A packet socket on one link, which hears what neighbours ask for addresses: ARP requests, or neighbour
//! solicitations, whatever group they are sent to. It ends with the process, and with it all that it changed.

use std::io;
use std::mem;
use std::os::fd::AsRawFd;

use isthmus_core::wire::icmpv6::NEIGHBOUR_SOLICITATION;
use isthmus_core::wire::protocol::ICMPV6;
use isthmus_core::wire::resolution::{ETHERNET, Mac};
use nix::libc;
use socket2::{Domain, Protocol, SockAddr, SockAddrStorage, SockFilter, Socket, Type};
use tokio::io::unix::AsyncFd;

/// The questions of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Questions {
    /// ARP requests.
    Arp,
    /// Neighbour solicitations.
    Solicitations,
}

impl Questions {
    /// The type in the Ethernet header.
    const fn kind(self) -> u16 {
        match self {
            Self::Arp => libc::ETH_P_ARP as u16,
            Self::Solicitations => libc::ETH_P_IPV6 as u16,
        }
    }

    /// Lets them pass, and nothing else: a link carries more than questions.
    fn filter(self) -> Vec<SockFilter> {
        use libc::{BPF_ABS, BPF_B, BPF_H, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET};
        let load = |size, at| SockFilter::new((BPF_LD | size | BPF_ABS) as u16, 0, 0, at);
        // How many steps are left out if it is another value.
        let only = |value: u8, steps| {
            SockFilter::new((BPF_JMP | BPF_JEQ | BPF_K) as u16, 0, steps, value.into())
        };
        let end = |bytes| SockFilter::new((BPF_RET | BPF_K) as u16, 0, 0, bytes);
        match self {
            Self::Arp => vec![load(BPF_H, 6), only(1, 1), end(u32::MAX), end(0)],
            Self::Solicitations => vec![
                load(BPF_B, 6),
                only(ICMPV6, 3),
                load(BPF_B, 40),
                only(NEIGHBOUR_SOLICITATION, 1),
                end(u32::MAX),
                end(0),
            ],
        }
    }
}

/// The socket.
#[derive(Debug)]
pub(super) struct PacketSocket {
    socket: AsyncFd<Socket>,
    link: u32,
    kind: u16,
}

impl PacketSocket {
    /// Opens one on the link with this number.
    ///
    /// # Errors
    /// There is no such link, or no right to do so: that takes `CAP_NET_RAW`.
    pub(super) fn open(link: u32, questions: Questions) -> io::Result<Self> {
        // Without a protocol it hears nothing before it has its filter.
        let kind = Type::DGRAM.nonblocking().cloexec();
        let socket = Socket::new(Domain::PACKET, kind, Some(Protocol::from(0)))?;
        socket.attach_filter(&questions.filter())?;
        socket.bind(&address(link, questions.kind(), None))?;
        if questions == Questions::Solicitations {
            hear_all_groups(&socket, link)?;
        }
        // SAFETY: a socket has one open descriptor from its making to its drop, and it is never taken out of the
        // `AsyncFd`.
        let socket = unsafe { AsyncFd::register(socket) }?;
        Ok(Self {
            socket,
            link,
            kind: questions.kind(),
        })
    }

    /// The next question, from the network header on, with the Ethernet address that it came from.
    ///
    /// # Errors
    /// The system's error, for example that the link is down. The socket is as good as before.
    pub(super) async fn receive<'b>(&self, buffer: &'b mut [u8]) -> io::Result<(&'b [u8], Mac)> {
        loop {
            let mut ready = self.socket.readable().await?;
            if let Ok(received) = ready.try_io(|socket| receive(socket.get_ref(), buffer)) {
                let (length, from) = received?;
                return Ok((&buffer[..length], from));
            }
        }
    }

    /// Sends a message to an Ethernet address; the kernel writes the Ethernet header.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn send(&self, message: &[u8], to: Mac) -> io::Result<()> {
        let to = address(self.link, self.kind, Some(to));
        self.socket.get_ref().send_to(message, &to).map(drop)
    }
}

fn receive(socket: &Socket, buffer: &mut [u8]) -> io::Result<(usize, Mac)> {
    // SAFETY: all zeros are an address of the kernel's; it writes no more than its size.
    let mut from: libc::sockaddr_ll = unsafe { mem::zeroed() };
    let mut size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel writes into the buffer and the address, no more than fits.
    let length = unsafe {
        libc::recvfrom(
            socket.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            libc::MSG_DONTWAIT,
            (&raw mut from).cast(),
            &raw mut size,
        )
    };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    let mut mac = [0; ETHERNET];
    mac.copy_from_slice(&from.sll_addr[..ETHERNET]);
    Ok((length, mac))
}

/// The address of a packet socket: a link and a type, and a node on the link.
fn address(link: u32, kind: u16, node: Option<Mac>) -> SockAddr {
    let mut storage = SockAddrStorage::zeroed();
    // SAFETY: the storage is large enough for every address, and all zeros are one.
    let fields = unsafe { storage.view_as::<libc::sockaddr_ll>() };
    fields.sll_family = libc::AF_PACKET as u16;
    fields.sll_protocol = kind.to_be();
    fields.sll_ifindex = link as i32;
    if let Some(node) = node {
        fields.sll_halen = ETHERNET as u8;
        fields.sll_addr[..ETHERNET].copy_from_slice(&node);
    }
    // SAFETY: family and length are those of what was written.
    unsafe { SockAddr::new(storage, size_of::<libc::sockaddr_ll>() as libc::socklen_t) }
}

/// Solicitations go to groups that depend on the last 24 bits of an address: of a prefix there are too many to join.
fn hear_all_groups(socket: &Socket, link: u32) -> io::Result<()> {
    let request = libc::packet_mreq {
        mr_ifindex: link as i32,
        mr_type: libc::PACKET_MR_ALLMULTI as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    // SAFETY: the kernel reads the request, which has this size.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            (&raw const request).cast(),
            size_of::<libc::packet_mreq>() as libc::socklen_t,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
