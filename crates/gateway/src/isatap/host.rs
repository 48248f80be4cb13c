//! One host: the socket that it asks with, its timers, and the addresses that come of it.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::time::Duration;

use isthmus_core::address::isatap::{self, Unique};
use isthmus_core::mechanism::isatap::{is_link_local, link_local};
use netlink_packet_route::address::{AddressAttribute, CacheInfo};
use rtnetlink::Handle;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::{Advertisement, Ending, Prefix};
use crate::link;

/// A router solicitation without options (RFC 4861 section 4.1); the kernel computes its checksum.
const SOLICITATION: [u8; 8] = [133, 0, 0, 0, 0, 0, 0, 0];
/// The hop limit that shows that a message has crossed no router.
const HOP_LIMIT: u32 = 255;
/// Between two questions to routers that do not answer, at first and at most (RFC 7559 section 2).
const FIRST: Duration = Duration::from_secs(4);
const LONGEST: Duration = Duration::from_secs(3600);
/// MinRouterSolicitInterval (RFC 5214 section 8.3.4): between two questions to routers that do.
const LEAST: Duration = Duration::from_secs(120);
/// More than an advertisement has.
const LARGEST: usize = 4096;
/// Bits of the prefix of an address.
const PREFIX_LENGTH: u8 = 64;

/// A host of an ISATAP link.
pub(super) struct Host {
    index: u32,
    link: String,
    local: Ipv4Addr,
    routers: Vec<Ipv4Addr>,
}

impl Host {
    pub(super) fn new(index: u32, link: &str, local: Ipv4Addr, routers: Vec<Ipv4Addr>) -> Self {
        Self {
            index,
            link: link.to_owned(),
            local,
            routers,
        }
    }

    /// Asks and listens until `ending` resolves, and then removes the addresses that it has formed.
    ///
    /// # Errors
    /// There is no socket to be had.
    pub(super) async fn run(self, mut end: oneshot::Receiver<()>) -> io::Result<()> {
        let socket = UdpSocket::from_std(self.socket()?.into())?;
        let (connection, netlink, _) = rtnetlink::new_connection()?;
        let _connection = Ending(tokio::spawn(connection));
        let mut formed = BTreeSet::new();
        let mut wait = FIRST;
        self.ask(&socket).await;
        let mut next = Instant::now() + wait;
        loop {
            tokio::select! {
                _ = &mut end => break,
                () = sleep_until(next) => {
                    self.ask(&socket).await;
                    wait = (wait * 2).min(LONGEST);
                    next = Instant::now() + wait;
                }
                heard = self.hear(&socket) => {
                    let Some(said) = heard? else { continue };
                    for prefix in &said.prefixes {
                        let address = self.form(&netlink, prefix).await;
                        formed.insert(address);
                    }
                    if !said.prefixes.is_empty() {
                        wait = FIRST;
                        next = Instant::now() + said.refresh().unwrap_or(LONGEST).max(LEAST);
                    }
                }
            }
        }
        for address in formed {
            self.remove(&netlink, address).await;
        }
        Ok(())
    }

    /// Opens a socket for ICMPv6 on the gateway's link, from the link-local address of this host. It sends and receives
    /// with addresses like a UDP socket.
    fn socket(&self) -> io::Result<Socket> {
        let socket = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6))?;
        socket.bind_device(Some(self.link.as_bytes()))?;
        socket.set_unicast_hops_v6(HOP_LIMIT)?;
        socket.set_nonblocking(true)?;
        // The kernel takes a moment before it uses an address that is new.
        socket.set_freebind_v6(true)?;
        let own = Ipv6Addr::from(link_local(self.local.into()));
        socket.bind(&self.address(own).into())?;
        Ok(socket)
    }

    fn address(&self, address: Ipv6Addr) -> SocketAddrV6 {
        SocketAddrV6::new(address, 0, 0, self.index)
    }

    /// Asks all routers. What does not get out is asked again later.
    async fn ask(&self, socket: &UdpSocket) {
        for router in &self.routers {
            let to = self.address(link_local((*router).into()).into());
            if let Err(error) = socket.send_to(&SOLICITATION, to).await {
                tracing::debug!(%router, %error, "a router could not be asked");
            }
        }
    }

    /// The next message; `None` if it is no advertisement of one of the routers (RFC 5214 section 8.3.3).
    async fn hear(&self, socket: &UdpSocket) -> io::Result<Option<Advertisement>> {
        let mut buffer = vec![0; LARGEST];
        let (length, from) = socket.recv_from(&mut buffer).await?;
        let SocketAddr::V6(from) = from else {
            return Ok(None);
        };
        let is_router = |from: Ipv6Addr| {
            let mut routers = self.routers.iter();
            routers.any(|router| is_link_local(from.into(), (*router).into()))
        };
        if !is_router(*from.ip()) {
            return Ok(None);
        }
        Ok(buffer.get(..length).and_then(Advertisement::read))
    }

    /// Gives this machine its address under a prefix, for as long as the router says.
    async fn form(&self, netlink: &Handle, prefix: &Prefix) -> Ipv6Addr {
        let unique = Unique::of(self.local.into());
        let own = isatap::embed(prefix.network.into(), self.local.into(), unique);
        let own = Ipv6Addr::from(own);
        if prefix.valid == 0 {
            self.remove(netlink, own).await;
            return own;
        }
        let mut request = netlink
            .address()
            .add(self.index, own.into(), PREFIX_LENGTH)
            .replace();
        let mut lifetimes = CacheInfo::default();
        lifetimes.ifa_valid = prefix.valid;
        lifetimes.ifa_preferred = prefix.preferred;
        let attributes = &mut request.message_mut().attributes;
        attributes.push(AddressAttribute::CacheInfo(lifetimes));
        attributes.push(link::mark());
        match request.execute().await {
            Ok(()) => {
                tracing::info!(link = self.link, address = %own, valid = prefix.valid, "announced")
            }
            Err(error) => {
                tracing::warn!(link = self.link, address = %own, %error, "the address cannot be added")
            }
        }
        own
    }

    /// Takes an address back. The kernel may have done so, at its end.
    async fn remove(&self, netlink: &Handle, address: Ipv6Addr) {
        let mut request = netlink
            .address()
            .add(self.index, address.into(), PREFIX_LENGTH);
        let message = request.message_mut().clone();
        if let Err(error) = netlink.address().del(message).execute().await {
            tracing::debug!(link = self.link, %address, %error, "the address cannot be removed");
        }
    }
}
