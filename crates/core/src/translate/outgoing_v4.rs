//! An outgoing IPv4 packet whose addresses have changed: its route, its softwire, its header.

use crate::address::V4;
use crate::checksum::{ChecksumKind, Sum};
use crate::encap::{self, class};
use crate::host::{Destination, Host};
use crate::mechanism::passage::Exit;
use crate::packet::{Family, NoRoom, Packet, Truncated};
use crate::policy::Policy;
use crate::verdict::Refusal;
use crate::wire::tuple::Tuple;
use crate::wire::{ipv4, ipv6};
use crate::word::Word;

/// How an IPv4 packet leaves: by its own header, or in a softwire.
pub(super) struct Outgoing {
    pub(super) exit: Exit,
    /// Type of service of the packet.
    tos: u8,
    /// MTU of the next link.
    pub(super) link: u16,
}

impl Outgoing {
    /// Looks up the route of a packet with these addresses.
    #[inline(always)]
    pub(super) fn new<H: Host>(
        host: &mut H,
        policy: &Policy,
        exit: Exit,
        tuple: &Tuple<V4>,
        tos: u8,
    ) -> Result<Self, Refusal> {
        let (to, default) = match exit {
            Exit::Link => (
                Destination::V4 {
                    source: tuple.source,
                    destination: tuple.destination,
                    tos,
                },
                policy.ipv4_mtu,
            ),
            Exit::Softwire(ends) => (
                Destination::V6 {
                    source: ends.source,
                    destination: ends.destination,
                    traffic_class: class::outer(policy.traffic_class, tos),
                },
                policy.ipv6_mtu,
            ),
        };
        let link = host.route(to)?.map_or(default, |route| route.mtu);
        Ok(Self { exit, tos, link })
    }

    /// Lowers the MTU to the path MTU of the softwire for packets of this length.
    #[inline(always)]
    pub(super) fn narrow<H: Host>(&mut self, host: &H, length: u16) {
        if let Exit::Softwire(ends) = self.exit {
            let other = ends.destination;
            self.link = encap::four_in_six::narrowed(host, other, length, self.link);
        }
    }

    /// Bytes of the largest IPv4 packet.
    #[inline(always)]
    pub(super) fn inside(&self) -> u16 {
        match self.exit {
            Exit::Link => self.link,
            Exit::Softwire(_) => self.link.saturating_sub(ipv6::HEADER as u16),
        }
    }

    /// Makes room for the outer header of the packet, if it has one, and removes the old one. Returns the
    /// offset of the IPv4 header.
    #[inline(always)]
    pub(super) fn make_room<P: Packet>(&self, packet: &mut P) -> Result<usize, NoRoom> {
        match self.exit {
            Exit::Link => packet.replace_front(0, 0, Family::V4).map(|()| 0),
            Exit::Softwire(_) => packet
                .replace_front(0, ipv6::HEADER, Family::V6)
                .map(|()| ipv6::HEADER),
        }
    }

    /// Writes the outer header of a packet of `length` bytes, if it has one.
    #[inline(always)]
    pub(super) fn write<P: Packet>(
        &self,
        packet: &mut P,
        length: u16,
        policy: &Policy,
    ) -> Result<(), Truncated> {
        match self.exit {
            Exit::Link => Ok(()),
            Exit::Softwire(ends) => {
                let traffic_class = class::outer(policy.traffic_class, self.tos);
                let outer = encap::four_in_six::outer(ends, traffic_class, length);
                packet.set_words(0, outer.0)
            }
        }
    }

    /// Family of the packet as it leaves.
    #[inline(always)]
    pub(super) fn family(&self) -> Family {
        match self.exit {
            Exit::Link => Family::V4,
            Exit::Softwire(_) => Family::V6,
        }
    }
}

/// Writes addresses, type of service, TTL and the word with the flags into the header that begins
/// `at` bytes into a packet, and keeps its checksum right.
#[inline(always)]
pub(super) fn rewrite_header<P: Packet>(
    packet: &mut P,
    at: usize,
    header: &ipv4::Header,
    tos: u8,
    flags: Word,
    new: &Tuple<V4>,
) -> Result<(), Truncated> {
    let ttl = header.ttl().wrapping_sub(1);
    let first = header.0[0].number() & 0xff00_ffff | u32::from(tos) << 16;
    let third = header.0[2].number() & 0x00ff_ffff | u32::from(ttl) << 24;
    let words = [
        Word::from_number(first),
        flags,
        Word::from_number(third),
        new.source.0,
        new.destination.0,
    ];
    let change = Sum::ZERO.words(&words) - Sum::ZERO.words(&header.0);
    packet.set_words(at, words)?;
    crate::packet::patch_complete(packet, at + ipv4::CHECKSUM, ChecksumKind::Plain, change)
}
