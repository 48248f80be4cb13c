//! UDP through SOCKS5 (RFC 1928 section 7): one client's datagrams, for as long as its TCP connection is there.

use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use isthmus_dns64::{Family, NoAddress};
use socket2::{Domain, Socket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

use crate::counter::Counter;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::journal::Entry;
use crate::meter::Meter;
use crate::proxy_header::Ends;
use crate::socks::{self, Reply};
use crate::socks_server::{answer, nowhere};
use crate::target::{Host, Target};

/// Octets of the longest datagram.
const LONGEST: usize = 65_535;
/// Servers that one association may hear from.
const MOST_SERVERS: usize = 1_024;

/// The sockets of an association.
struct Association<'e> {
    engine: &'e Engine,
    /// Towards the client.
    inside: UdpSocket,
    /// The client's host, and its port once a datagram has shown it.
    client: (IpAddr, Option<u16>),
    v4: UdpSocket,
    v6: Option<UdpSocket>,
    /// Those that the client has sent to: only they are heard.
    servers: HashSet<SocketAddr>,
}

/// Relays datagrams until the client closes its connection. `port` is where it says that it sends from; 0: anywhere.
pub(crate) async fn run(
    mut stream: TcpStream,
    ends: Ends,
    engine: &Engine,
    entry: Entry,
    port: u16,
) {
    let mut association = match Association::open(ends, engine, port) {
        Ok(association) => association,
        Err(error) => {
            tracing::debug!(%error, "proxy: no sockets for datagrams");
            let _ = stream.write_all(&answer(Reply::Failure, nowhere())).await;
            return;
        }
    };
    let bound = association.inside.local_addr().unwrap_or(nowhere());
    if stream
        .write_all(&answer(Reply::Succeeded, bound))
        .await
        .is_err()
    {
        return;
    }
    let meter = Meter::new(engine.counters.clone());
    let until_closed = async {
        let mut octets = [0; 64];
        while matches!(stream.read(&mut octets).await, Ok(read) if read > 0) {}
    };
    let relayed = async {
        tokio::select! {
            () = until_closed => {}
            () = association.relay(&meter) => {}
        }
    };
    let _ = meter.unless_idle(engine.config.idle_timeout, relayed).await;
    engine.journal.write(entry.ended(&meter));
}

impl<'e> Association<'e> {
    fn open(ends: Ends, engine: &'e Engine, port: u16) -> io::Result<Self> {
        Ok(Self {
            engine,
            inside: bind(ends.local.ip())?,
            client: (ends.client.ip().to_canonical(), (port != 0).then_some(port)),
            v4: bind(Ipv4Addr::UNSPECIFIED.into())?,
            // A machine may have no IPv6.
            v6: bind(Ipv6Addr::UNSPECIFIED.into()).ok(),
            servers: HashSet::new(),
        })
    }

    async fn relay(&mut self, meter: &Meter) {
        let (mut up, mut down4, mut down6) = (buffer(), buffer(), buffer());
        loop {
            tokio::select! {
                Ok((octets, from)) = self.inside.recv_from(&mut up) => {
                    self.outwards(&up[..octets], from, meter).await;
                }
                Ok((octets, from)) = self.v4.recv_from(&mut down4) => {
                    self.inwards(&down4[..octets], from, meter).await;
                }
                Ok((octets, from)) = hear(self.v6.as_ref(), &mut down6) => {
                    self.inwards(&down6[..octets], from, meter).await;
                }
                // A socket that has an error to tell has told it.
                else => {}
            }
        }
    }

    async fn outwards(&mut self, octets: &[u8], from: SocketAddr, meter: &Meter) {
        let (host, port) = self.client;
        if from.ip().to_canonical() != host || port.is_some_and(|port| port != from.port()) {
            self.engine.counters.count(Counter::DatagramForeign);
            return;
        }
        self.client.1 = Some(from.port());
        let Some((target, data)) = socks::datagram(octets) else {
            self.engine.counters.count(Counter::BadRequest);
            return;
        };
        meter.up(data.len());
        match self.find(&target).await {
            Ok(to) => {
                if self.servers.len() >= MOST_SERVERS {
                    self.servers.clear();
                }
                self.servers.insert(to);
                let socket = if to.is_ipv4() {
                    Some(&self.v4)
                } else {
                    self.v6.as_ref()
                };
                if let Some(socket) = socket {
                    let _ = socket.send_to(data, to).await;
                }
            }
            Err(failure) => self.engine.counters.count(failure.counter()),
        }
    }

    async fn inwards(&self, data: &[u8], from: SocketAddr, meter: &Meter) {
        let (host, Some(port)) = self.client else {
            return;
        };
        if !self.servers.contains(&from) {
            self.engine.counters.count(Counter::DatagramForeign);
            return;
        }
        meter.down(data.len());
        let _ = self
            .inside
            .send_to(&socks::wrapped(from, data), (host, port))
            .await;
    }

    /// The address of a target that may be reached; IPv6 first.
    async fn find(&self, target: &Target) -> Result<SocketAddr, Failure> {
        let dialer = &self.engine.dialer;
        dialer.reach.port(target.port)?;
        let addresses = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => {
                dialer.reach.name(name)?;
                let v6 = dialer.resolver.addresses(name, Family::V6);
                let v4 = dialer.resolver.addresses(name, Family::V4);
                match tokio::join!(v6, v4) {
                    (Err(NoAddress::Silence | NoAddress::Failed), Err(_)) => {
                        return Err(Failure::NameTimeout);
                    }
                    (Err(_), Err(_)) => return Err(Failure::NameUnknown),
                    (v6, v4) => [v6.unwrap_or_default(), v4.unwrap_or_default()].concat(),
                }
            }
        };
        let mut why = Failure::NameUnknown;
        for address in addresses {
            match dialer.reach.address(address) {
                Ok(()) if address.is_ipv6() && self.v6.is_none() => {}
                Ok(()) => return Ok(SocketAddr::new(address, target.port)),
                Err(failure) => why = failure,
            }
        }
        Err(why)
    }
}

fn buffer() -> Vec<u8> {
    vec![0; LONGEST]
}

async fn hear(socket: Option<&UdpSocket>, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
    match socket {
        Some(socket) => socket.recv_from(into).await,
        None => std::future::pending().await,
    }
}

fn bind(address: IpAddr) -> io::Result<UdpSocket> {
    let address = SocketAddr::new(address, 0);
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    UdpSocket::from_std(socket.into())
}
