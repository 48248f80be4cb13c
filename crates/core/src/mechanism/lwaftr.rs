//! The lwAFTR of lw4o6: a binding table tells which lwB4 has which address and ports (RFC 7596 sections
//! 6 and 8).

use super::crossing::{SharesV4, Softwires};
use super::passage::Passed;
use super::{Mechanism, PacketV4, Part, Remembered, Seen, Stage};
use crate::address::port_set::Sharing;
use crate::address::softwire::{self, B4Key, SharedNetworks, SoftwireTable};
use crate::address::{V4, V6};
use crate::customer::{Destination, Receiver};
use crate::datagrams::BorderDatagrams;
use crate::host::Host;
use crate::packet::Family;
use crate::reason::Counter;
use crate::verdict::{IcmpError, Refusal};
use crate::wire::content::Content;
use crate::wire::protocol;
use crate::wire::transport::Transport;
use crate::wire::tuple::Ends;

/// An lwAFTR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct LwAftr {
    /// The addresses of this end of softwires.
    pub borders: Borders,
    /// The IPv4 addresses that lwB4s have, and how their ports are divided.
    pub shared: SharedNetworks,
    /// The softwires of the lwB4s.
    pub softwires: SoftwireTable,
    /// The operator's choices.
    pub policy: LwAftrPolicy,
    /// The datagrams whose ports it knows.
    pub datagrams: BorderDatagrams,
}

/// The choices that RFC 7596 leaves to the operator of an lwAFTR (sections 6.2 and 8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct LwAftrPolicy {
    /// Whether packets go from one softwire to another.
    pub hairpin: Permission,
    /// Whether ICMPv4 messages go into softwires.
    pub incoming_icmp: Permission,
    /// The action for a packet from IPv4 without a softwire for its destination.
    pub unbound_v4: Unbound,
    /// The action for a packet from IPv6 without a softwire for its sources.
    pub unbound_v6: Unbound,
}

/// Whether something may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Permission {
    /// It may.
    Allow,
    /// It is dropped.
    Drop,
}

/// The action for a packet without a softwire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Unbound {
    /// Its sender gets an error.
    Answer,
    /// Nothing.
    Drop,
}

/// A few addresses of this end of softwires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Borders {
    addresses: [V6; Self::MOST],
    count: u32,
}

impl Borders {
    /// The most addresses that fit.
    pub const MOST: usize = 8;

    /// Adds an address, if it is not there yet, and returns its number; `None` if there is no room.
    pub fn push(&mut self, address: V6) -> Option<u8> {
        let there = self.iter().position(|other| other == address);
        let number = there.unwrap_or(self.count as usize);
        *self.addresses.get_mut(number)? = address;
        self.count = self.count.max(number as u32 + 1);
        u8::try_from(number).ok()
    }

    /// The addresses in their order.
    pub fn iter(&self) -> impl Iterator<Item = V6> {
        self.addresses.iter().copied().take(self.count as usize)
    }

    /// The address with this number.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, number: u8) -> V6 {
        // The remainder is for the verifier of BPF, which does not know that numbers are below it.
        self.addresses[usize::from(number) % Self::MOST]
    }

    /// Whether an address is one of them.
    #[inline(always)]
    #[must_use]
    pub fn contains(&self, address: V6) -> bool {
        for (index, border) in self.addresses.iter().enumerate() {
            if index as u32 >= self.count {
                return false;
            }
            if border.is(address) {
                return true;
            }
        }
        false
    }
}

impl Mechanism for LwAftr {
    type Crossing = Softwires;

    const STAGE: Stage = Stage::Softwires;
    const ERRORS_IN_BPF: bool = true;
    const HAIRPINS_IN_BPF: Option<Family> = Some(Family::V6);
    const FRAGMENTS_IN_BPF: bool = true;
    const FRAGMENTS_BY_SOFTWIRE: bool = true;

    #[inline(always)]
    fn owns_v4<H: Host>(&self, _host: &H, packet: &PacketV4<impl Fn() -> u8>) -> bool {
        self.shared.find(packet.destination).is_some()
    }

    #[inline(always)]
    fn owns_v6<H: Host>(&self, _host: &H, _source: V6, destination: V6) -> bool {
        self.borders.contains(destination)
    }

    #[inline(always)]
    fn receiver<H: Host>(&self, host: &H, to: &Destination) -> Option<Receiver> {
        let sharing = self.shared.find(to.address)?;
        let psid = match to.port {
            Some(port) => sharing.psid_of(port)?,
            None if sharing.is_whole() => 0,
            None => return None,
        };
        let bound = self.bound(host, B4Key::new(to.address, psid, sharing))?;
        Some(Receiver::V6(bound.destination))
    }

    #[inline(always)]
    fn datagrams(&self) -> Option<Remembered<'_>> {
        Some(Remembered::ByBorder(&self.datagrams))
    }

    fn datagrams_mut(&mut self) -> Option<&mut BorderDatagrams> {
        Some(&mut self.datagrams)
    }

    fn rules_base_mut(&mut self) -> Option<&mut u32> {
        Some(&mut self.softwires.base)
    }
}

impl SharesV4 for LwAftr {
    /// RFC 7596 section 6.2: IPv6 address, IPv4 address and port must match a single softwire.
    #[inline(always)]
    fn check_sender<H: Host>(
        &self,
        host: &H,
        ends: &Ends<V6>,
        seen: Seen<'_, V4>,
    ) -> Result<(), Refusal> {
        let spoofed = match self.policy.unbound_v6 {
            Unbound::Answer => Refusal::Reply(IcmpError::SourcePolicy, Counter::TunnelSpoofed),
            Unbound::Drop => Refusal::Drop(Counter::TunnelSpoofed),
        };
        let tuple = seen.tuple;
        let (address, port) = (tuple.source, tuple.source_port);
        let bound = self
            .find(host, address, port, seen.transport)
            .ok_or(spoofed)?;
        if !bound.destination.is(ends.source) || !bound.source.is(ends.destination) {
            return Err(spoofed);
        }
        Ok(())
    }

    /// From a lwB4 to the internet.
    #[inline(always)]
    fn decapsulate<H: Host>(
        &self,
        _host: &mut H,
        _ends: &Ends<V6>,
        seen: Seen<'_, V4>,
    ) -> Result<Passed, Refusal> {
        let tuple = seen.tuple;
        // "The hairpinning policy MUST be configurable."
        if self.policy.hairpin == Permission::Drop && self.hairpins(tuple.destination) {
            return Err(Refusal::prohibited(Counter::Filtered));
        }
        Ok(Passed::by_link(*tuple))
    }

    /// From the internet to a lwB4.
    #[inline(always)]
    fn encapsulate<H: Host>(&self, host: &mut H, seen: Seen<'_, V4>) -> Result<Passed, Refusal> {
        self.may_come_in(seen.transport, seen.part)?;
        let (address, port) = (seen.tuple.destination, seen.tuple.destination_port);
        let bound = self.find(host, address, port, seen.transport);
        let bound = bound.ok_or(match self.policy.unbound_v4 {
            Unbound::Answer => {
                Refusal::Reply(IcmpError::AddressUnreachable, Counter::TunnelDestination)
            }
            Unbound::Drop => Refusal::Drop(Counter::TunnelDestination),
        })?;
        Ok(Passed::by_softwire(*seen.tuple, bound))
    }

    /// RFC 7596 section 6.2: the source address of an ICMP error must be the softwire's as well.
    #[inline(always)]
    fn check_reporter(&self, reporter: V4, passed: &Passed) -> Result<(), Refusal> {
        if reporter == passed.tuple.source {
            Ok(())
        } else {
            Err(Refusal::Drop(Counter::TunnelSpoofed))
        }
    }

    /// RFC 7596 section 6.2.
    #[inline(always)]
    fn hairpins(&self, destination: V4) -> bool {
        self.shared.find(destination).is_some()
    }
}

impl LwAftr {
    /// The ICMPv4 messages that come in: echo messages, and errors, of which the quoted packet is seen here
    /// (RFC 7596 section 8.1: "the lwAFTR MUST discard all" others); none if the operator says so.
    #[inline(always)]
    fn may_come_in(&self, transport: &Transport, part: Part) -> Result<(), Refusal> {
        let is_icmp =
            part == Part::Quoted || matches!(transport.content, Content::Echo(_) | Content::Query);
        if is_icmp && self.policy.incoming_icmp == Permission::Drop {
            return Err(Refusal::Drop(Counter::Filtered));
        }
        match (part, transport.content) {
            (Part::Outer, Content::Query) => Err(Refusal::Drop(Counter::IcmpUntranslatable)),
            _ => Ok(()),
        }
    }

    /// The ends of the softwire of an address and a port, as a packet to the lwB4 has them.
    #[inline(always)]
    fn find<H: Host>(
        &self,
        host: &H,
        address: V4,
        port: u16,
        transport: &Transport,
    ) -> Option<Ends<V6>> {
        let sharing = self.shared.find(address)?;
        let psid = psid(sharing, port, transport)?;
        self.bound(host, B4Key::new(address, psid, sharing))
    }

    /// The ends of a softwire, as a packet to the lwB4 has them.
    #[inline(always)]
    fn bound<H: Host>(&self, host: &H, key: B4Key) -> Option<Ends<V6>> {
        let place = host.find_softwire(&self.softwires, key)?;
        let (b4, border) = softwire::read(host.rules(), &self.softwires, place, key)?;
        Some(Ends::new(self.borders.get(border), b4))
    }
}

/// The PSID of the lwB4 that has a port. A packet without a port belongs to no lwB4 of a shared address.
#[inline(always)]
fn psid(sharing: Sharing, port: u16, transport: &Transport) -> Option<u16> {
    let has_port = match transport.content {
        Content::Other | Content::IcmpError => false,
        Content::Continuation => matches!(transport.protocol, protocol::TCP | protocol::UDP),
        _ => true,
    };
    if has_port || sharing.is_whole() {
        sharing.psid_of(port)
    } else {
        None
    }
}
