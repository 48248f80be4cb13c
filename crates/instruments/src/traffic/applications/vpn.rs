//! The packets of an IPsec VPN without UDP encapsulation, which have no ports (RFC 4303).

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    time::Duration,
};

use rustix::net::{AddressFamily, Protocol, RawProtocol, SocketType, socket};

use super::{Call, Trouble};
use crate::{LabError, network::netns::Namespace};

/// The protocol number of ESP.
const ESP: u32 = 50;
/// A security parameter index and a sequence number (RFC 4303 section 2); the rest would be encrypted.
const PACKET: [u8; 33] = *b"\x00\x00\x10\x01\x00\x00\x00\x01encrypted for all we know";
/// The octets of an IPv4 header, which raw sockets receive as well.
const IPV4_HEADER: usize = 20;
/// The time that a packet may take; the first ones may be lost during address resolution.
const REACH: Duration = Duration::from_millis(300);
const TIMES: usize = 3;

/// The server receives a packet of the client, and answers its source.
pub(super) fn echo(call: &Call<'_>) -> Result<(), Trouble> {
    let [client, server] = call.own;
    let (near, far) = (raw(call.client, client)?, raw(call.server, server)?);
    for _ in 0..TIMES {
        if let Err(error) = near.send_to(&PACKET, SocketAddr::new(call.target, 0)) {
            return Err(Trouble::Fails(format!("it is not sent: {error}")));
        }
        let Some(from) = hears(&far, server) else {
            continue;
        };
        let answered = far.send_to(&PACKET, SocketAddr::new(from, 0)).is_ok();
        if answered && hears(&near, client).is_some() {
            return Ok(());
        }
        return Err(Trouble::Fails(format!("an answer to {from} does not come")));
    }
    Err(Trouble::Fails("the server hears nothing".into()))
}

/// Opens a socket for the protocol.
fn raw(node: &Namespace, own: IpAddr) -> crate::Result<UdpSocket> {
    let (family, any): (_, IpAddr) = match own {
        IpAddr::V4(_) => (AddressFamily::INET, Ipv4Addr::UNSPECIFIED.into()),
        IpAddr::V6(_) => (AddressFamily::INET6, Ipv6Addr::UNSPECIFIED.into()),
    };
    let problem = |source: io::Error| LabError::Socket {
        action: "speak ESP from",
        address: SocketAddr::new(any, 0),
        source,
    };
    node.enter(|| {
        let protocol = RawProtocol::new(ESP).map(Protocol::from_raw);
        let socket = socket(family, SocketType::RAW, protocol);
        let socket = UdpSocket::from(socket.map_err(|errno| problem(errno.into()))?);
        socket.set_read_timeout(Some(REACH)).map_err(problem)?;
        Ok(socket)
    })
}

/// Returns the sender of the packet, if it arrives.
fn hears(socket: &UdpSocket, own: IpAddr) -> Option<IpAddr> {
    let mut packet = [0; 128];
    let (length, from) = socket.recv_from(&mut packet).ok()?;
    let header = if own.is_ipv4() { IPV4_HEADER } else { 0 };
    (packet.get(header..length) == Some(&PACKET[..])).then(|| from.ip())
}
