//! A socket at which hosts ask for ports.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use isthmus_pcp::{CLIENT_PORT, SERVER_PORT};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until};

use super::service::Service;

/// The longest valid request is one octet shorter (RFC 6887 section 7), so that a longer one is detected.
pub(super) const LONGEST: usize = 1101;
/// How often, and how long after the first, hosts are notified that their mappings are gone; the time
/// between two doubles (RFC 6887 section 14.1.3).
const ANNOUNCEMENTS: u32 = 10;
const BETWEEN: Duration = Duration::from_millis(250);
/// Index of the loopback interface.
const LOOPBACK: u32 = 1;

/// An open socket.
#[derive(Clone)]
pub(super) struct Listener {
    socket: Arc<UdpSocket>,
    address: IpAddr,
    interface: Option<NonZeroU32>,
}

/// When hosts are notified that their mappings are gone.
pub(super) struct Announcements {
    made: u32,
    next: Instant,
}

impl Announcements {
    /// From now on.
    pub(super) fn begin() -> Self {
        Self {
            made: 0,
            next: Instant::now(),
        }
    }

    /// Waits for the next one; for ever if there is none.
    pub(super) async fn due(&mut self) {
        if self.made >= ANNOUNCEMENTS {
            return std::future::pending().await;
        }
        sleep_until(self.next).await;
        self.next = Instant::now() + BETWEEN * (1 << self.made);
        self.made += 1;
    }
}

impl Listener {
    /// Opens a socket at an address of this machine. It takes only what comes in over the interface
    /// that has the address, where hosts inside are (RFC 6887 section 8.2); an address of the
    /// loopback interface is one for all.
    pub(super) async fn open(address: IpAddr) -> io::Result<Self> {
        let interface = interface_of(address).await?;
        let domain = Domain::for_address(SocketAddr::new(address, SERVER_PORT));
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_nonblocking(true)?;
        match address {
            IpAddr::V4(v4) => {
                socket.bind_device_by_index_v4(interface)?;
                socket.set_multicast_if_v4(&v4)?;
            }
            IpAddr::V6(_) => {
                socket.set_only_v6(true)?;
                socket.bind_device_by_index_v6(interface)?;
            }
        }
        socket.bind(&SocketAddr::new(address, SERVER_PORT).into())?;
        Ok(Self {
            socket: Arc::new(UdpSocket::from_std(socket.into())?),
            address,
            interface,
        })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> IpAddr {
        self.address
    }

    /// Answers requests, and notifies hosts when their mappings are gone.
    pub(super) async fn run(self, service: Arc<Service>) {
        let mut epoch = service.epoch();
        let mut announcements = Announcements::begin();
        let mut request = [0; LONGEST];
        loop {
            tokio::select! {
                (length, source) = self.receive(&mut request) => {
                    let request = request.get(..length).unwrap_or(&[]);
                    if let Some(answer) = service.answer(source.ip(), request) {
                        self.send(&answer, source);
                    }
                }
                () = announcements.due() => self.announce(&service.announcement()),
                changed = epoch.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    announcements = Announcements::begin();
                }
            }
        }
    }

    /// Receives the next request. Returns its length and its sender.
    pub(super) async fn receive(&self, request: &mut [u8]) -> (usize, SocketAddr) {
        loop {
            // An error is that of an answer that was not delivered.
            if let Ok(received) = self.socket.recv_from(request).await {
                return received;
            }
        }
    }

    /// Sends a message to all hosts on the link.
    pub(super) fn announce(&self, message: &[u8]) {
        self.send(message, self.all_hosts());
    }

    /// Sends a message, or drops it if the socket is full: messages to hosts that do not answer to neighbour discovery
    /// stay in it, and nobody else must wait for them.
    pub(super) fn send(&self, message: &[u8], to: SocketAddr) {
        if let Err(error) = SockRef::from(&*self.socket).send_to(message, &to.into()) {
            tracing::debug!(address = %self.address, %to, %error, "a PCP message was not sent");
        }
    }

    /// Everybody on the link.
    fn all_hosts(&self) -> SocketAddr {
        match self.address {
            IpAddr::V4(_) => (Ipv4Addr::new(224, 0, 0, 1), CLIENT_PORT).into(),
            IpAddr::V6(_) => {
                let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
                let scope = self.interface.map_or(LOOPBACK, NonZeroU32::get);
                SocketAddrV6::new(all, CLIENT_PORT, 0, scope).into()
            }
        }
    }
}

/// The interface that has an address; `None` for that of the machine itself.
async fn interface_of(address: IpAddr) -> io::Result<Option<NonZeroU32>> {
    let (connection, handle, _) = rtnetlink::new_connection()?;
    let connection = tokio::spawn(connection);
    let found = handle
        .address()
        .get()
        .set_address_filter(address)
        .execute()
        .try_next()
        .await;
    connection.abort();
    match found.map_err(io::Error::other)? {
        Some(found) => {
            let index = NonZeroU32::new(found.header.index);
            Ok(index.filter(|index| index.get() != LOOPBACK))
        }
        None if address.is_loopback() => Ok(None),
        None => Err(io::Error::new(
            io::ErrorKind::AddrNotAvailable,
            "no interface of this machine has the address",
        )),
    }
}
