//! A raw ICMPv6 socket on one link, for router solicitations and advertisements.

use std::io::{self, IoSliceMut};
use std::net::{Ipv6Addr, SocketAddrV6};
use std::os::fd::AsRawFd;
use std::time::Duration;

use isthmus_core::wire::icmpv6::{ROUTER_ADVERTISEMENT, ROUTER_SOLICITATION};
use isthmus_core::wire::router::{Envelope, HOP_LIMIT};
use nix::cmsg_space;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn6, recvmsg};
use socket2::{Domain, Protocol, SockFilter, Socket, Type};
use tokio::io::unix::AsyncFd;

/// All nodes of the link (RFC 4291 section 2.7.1).
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// All routers of the link (RFC 4291 section 2.7.1).
pub const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);

/// How often it is worth to look for [another link](RouterSocket::renewed).
pub const LOOK: Duration = Duration::from_secs(2);

/// Longest message that is read; what does not fit counts as cut short.
const LONGEST: usize = 2048;

/// A socket that hears solicitations and advertisements of a link, and nothing else.
#[derive(Debug)]
pub struct RouterSocket {
    socket: AsyncFd<Socket>,
    link: u32,
}

/// A message that came in.
#[derive(Clone, Debug)]
pub struct Message {
    /// The facts of the header around it.
    pub envelope: Envelope,
    /// The message, from its ICMPv6 type on; its checksum is right.
    pub bytes: Vec<u8>,
}

impl RouterSocket {
    /// Opens one on a link.
    ///
    /// # Errors
    /// There is no such link, or no right to do so: that takes `CAP_NET_RAW`.
    pub fn open(link: &str) -> io::Result<Self> {
        let socket = Socket::new(
            Domain::IPV6,
            Type::RAW.nonblocking().cloexec(),
            Some(Protocol::ICMPV6),
        )?;
        let index = if_nametoindex(link)?;
        socket.attach_filter(&filter())?;
        socket.bind_device(Some(link.as_bytes()))?;
        socket.set_recv_hoplimit_v6(true)?;
        socket.set_multicast_if_v6(index)?;
        socket.set_multicast_hops_v6(HOP_LIMIT.into())?;
        socket.set_unicast_hops_v6(HOP_LIMIT.into())?;
        // What this machine says is not news to it.
        socket.set_multicast_loop_v6(false)?;
        socket.join_multicast_v6(&ALL_ROUTERS, index)?;
        // SAFETY: a socket has one open descriptor from its making to its drop, and it is never taken
        // out of the `AsyncFd`.
        let socket = unsafe { AsyncFd::register(socket) }?;
        Ok(Self {
            socket,
            link: index,
        })
    }

    /// Opens one on the link that has the name now, if that is another one: links come back under
    /// their name when a modem has dialled again. `None`: it is the same, or there is none.
    #[must_use]
    pub fn renewed(&self, link: &str) -> Option<Self> {
        let index = if_nametoindex(link).ok()?;
        (index != self.link).then(|| Self::open(link).ok())?
    }

    /// The next message.
    ///
    /// # Errors
    /// The system's error, for example that the link is down. The socket is as good as before.
    pub async fn receive(&self) -> io::Result<Message> {
        loop {
            let mut ready = self.socket.readable().await?;
            match ready.try_io(|socket| receive(socket.get_ref())) {
                Ok(message) => return message,
                Err(_would_block) => {}
            }
        }
    }

    /// Sends a message to all nodes or all routers of the link.
    ///
    /// # Errors
    /// The system's error: the link is down, or has no link-local address yet.
    pub fn send(&self, message: &[u8], to: Ipv6Addr) -> io::Result<()> {
        let to = SocketAddrV6::new(to, 0, 0, self.link);
        self.socket.get_ref().send_to(message, &to.into())?;
        Ok(())
    }
}

fn receive(socket: &Socket) -> io::Result<Message> {
    let mut bytes = vec![0; LONGEST];
    let mut control = cmsg_space!(nix::libc::c_int);
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let received = recvmsg::<SockaddrIn6>(
        socket.as_raw_fd(),
        &mut parts,
        Some(&mut control),
        MsgFlags::MSG_DONTWAIT,
    )?;
    let hop_limit = received.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::Ipv6HopLimit(hops) => u8::try_from(hops).ok(),
        _ => None,
    });
    let source = received.address.map(|address| address.ip());
    let length = received.bytes;
    bytes.truncate(length);
    Ok(Message {
        envelope: Envelope {
            source: source.unwrap_or(Ipv6Addr::UNSPECIFIED),
            // Without one it cannot be checked.
            hop_limit: hop_limit.unwrap_or(0),
        },
        bytes,
    })
}

/// Lets the two types of messages pass: a raw socket would hear every ping.
fn filter() -> [SockFilter; 5] {
    use nix::libc::{BPF_ABS, BPF_B, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET};
    let equals = |value: u8, yes, no| {
        SockFilter::new((BPF_JMP | BPF_JEQ | BPF_K) as u16, yes, no, value.into())
    };
    [
        SockFilter::new((BPF_LD | BPF_B | BPF_ABS) as u16, 0, 0, 0),
        equals(ROUTER_SOLICITATION, 1, 0),
        equals(ROUTER_ADVERTISEMENT, 0, 1),
        SockFilter::new((BPF_RET | BPF_K) as u16, 0, 0, u32::MAX),
        SockFilter::new((BPF_RET | BPF_K) as u16, 0, 0, 0),
    ]
}
