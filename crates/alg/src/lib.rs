//! Application level gateways (RFC 2663 section 2.9): they rewrite addresses in the payload of packets that a translator
//! passes. A packet is always looked at as it is on its IPv6 side: before it is translated to IPv4, or after it was
//! translated from IPv4. So an answer has the same addresses and ports as its question, swapped.
//!
//! [`dns`] is the one of NAT-PT (RFC 2766 section 4), [`ftp`] is that of RFC 6384. Nothing here has a socket or a clock.

mod datagram;
pub mod dns;
pub mod ftp;
mod packet;
mod segment;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

use isthmus_core::address::rfc6052::Prefix;

/// The translator that a packet passes, which the engine lends.
pub trait Translator {
    /// The prefix under which IPv6 hosts see IPv4 hosts.
    fn prefix(&self) -> Prefix;

    /// The address that an IPv4 host sends to if it wants this IPv6 host: one of the pool, which the host has from now on.
    /// `asker` is the IPv4 host that wants to know. `None` if there is none for it.
    fn outside(&mut self, inside: Ipv6Addr, asker: Ipv4Addr) -> Option<Outside>;

    /// The IPv6 host that has an address of the pool.
    fn inside(&mut self, outside: Ipv4Addr) -> Option<Ipv6Addr>;

    /// The endpoint at which an IPv4 host reaches a TCP port of an IPv6 host, from now on. `remote` is the IPv4 host, as the
    /// IPv6 host sees it. `None` if there is none.
    fn bind(&mut self, inside: SocketAddrV6, remote: SocketAddrV6) -> Option<SocketAddrV4>;
}

/// The IPv4 address that an IPv6 host has outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outside {
    /// The address.
    pub address: Ipv4Addr,
    /// Whether it has it always, by the configuration.
    pub always: bool,
}

/// The direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From an IPv6 host to an IPv4 host.
    Out,
    /// From an IPv4 host to an IPv6 host.
    In,
}

/// The packet that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rewritten {
    /// The one that came.
    Unchanged,
    /// This one in its place.
    Packet(Vec<u8>),
    /// None. Instead, this one goes out from the IPv6 host that it was for.
    Back(Vec<u8>),
}

/// The gateways, with what they remember of the packets that have passed.
#[derive(Debug, Default)]
pub struct Applications {
    dns: dns::Gateway,
    ftp: ftp::Gateway,
}

impl Applications {
    /// Rewrites an IPv6 packet whose ports are those of an application. `now` is in nanoseconds.
    pub fn rewrite(
        &self,
        packet: &[u8],
        direction: Direction,
        now: u64,
        translator: &mut dyn Translator,
    ) -> Rewritten {
        if let Some(datagram) = datagram::Datagram::read(packet) {
            return self.dns.rewrite(&datagram, direction, now, translator);
        }
        let segment = segment::Segment::read(packet);
        let rewritten = segment.and_then(|it| self.ftp.rewrite(&it, direction, now, translator));
        rewritten.map_or(Rewritten::Unchanged, Rewritten::Packet)
    }
}
