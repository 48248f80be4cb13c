//! Translation of addresses alone between IPv6 hosts and IPv4 hosts: Basic NAT-PT (RFC 2766 section 3.1), with headers as
//! RFC 7915 has them. NAPT-PT, which translates ports as well (section 3.2), is the same as [`Nat64`].
//!
//! An IPv6 host has an outside address for itself, and its packets keep their ports. So the NAT sees addresses only:
//! each address of its pool has [one port](ADDRESS_PORT), hosts have port 0, and a session is all that two hosts say to
//! each other. It opens and is established as a TCP connection that never ends.

use super::crossing::{Translation, Translator};
use super::nat64::Nat64;
use super::{Hosts, Instances, Mechanism, PacketV4, Seen, Stage};
use crate::address::rfc6052::Prefix;
use crate::address::{V4, V6};
use crate::customer::{Destination, Receiver};
use crate::host::Host;
use crate::nat::{self, Endpoint4, NatConfig, Pool, Protocol, TcpFlags};
use crate::policy::Policy;
use crate::reason::Counter;
use crate::verdict::Refusal;
use crate::wire::content::Content;
use crate::wire::protocol;
use crate::wire::transport::Transport;
use crate::wire::tuple::{Ports, Tuple};

/// The port that stands for a whole outside address.
pub const ADDRESS_PORT: u16 = 1;

/// A translator of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct NatPt {
    /// Prefix, hosts and NAT. Its pool has [`ADDRESS_PORT`] only.
    pub of_addresses: Nat64,
}

/// An outside address, and the host that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assigned {
    /// The host.
    pub host: V6,
    /// Its address outside.
    pub outside: V4,
    /// Whether it has it always.
    pub always: bool,
}

impl NatPt {
    /// Gives a host an outside address, if it has none, because an IPv4 host wants to send to it (RFC 2766 section 4.1).
    /// The address is the host's until nobody used it for a while, as if the host had sent to the other one.
    ///
    /// # Errors
    /// As for a packet of the host.
    pub fn assign<H: Host>(
        &self,
        host: &mut H,
        policy: &Policy,
        inside: V6,
        asker: V4,
    ) -> Result<Assigned, Refusal> {
        let tuple = Ports::NONE.between(inside, self.of_addresses.prefix.embed(asker));
        let transport = of_addresses(&Transport::continuation(0, 0, protocol::TCP));
        let seen = Seen::outer(policy, &tuple, &transport);
        let mapped = self.of_addresses.to_v4(host, seen)?;
        self.assigned(host, mapped.source)
            .ok_or(Refusal::Drop(Counter::TableContention))
    }

    /// The host that has an outside address. `None` if nobody has it.
    pub fn assigned<H: Host>(&self, host: &H, outside: V4) -> Option<Assigned> {
        let endpoint = Endpoint4 {
            address: outside,
            port: ADDRESS_PORT,
        };
        let nat = &self.of_addresses.nat;
        let (inside, always) = nat::bound_to(host.state(), nat, endpoint, Protocol::Tcp)?;
        Some(Assigned {
            host: inside.address,
            outside,
            always,
        })
    }
}

impl Mechanism for NatPt {
    type Crossing = Translation;

    const STAGE: Stage = Stage::MapT;

    #[inline(always)]
    fn owns_v4<H: Host>(&self, host: &H, packet: &PacketV4<impl Fn() -> u8>) -> bool {
        self.of_addresses.owns_v4(host, packet)
    }

    #[inline(always)]
    fn owns_v6<H: Host>(&self, host: &H, source: V6, destination: V6) -> bool {
        self.of_addresses.owns_v6(host, source, destination)
    }

    #[inline(always)]
    fn pool_of_v6(&self) -> Option<&Pool> {
        self.of_addresses.pool_of_v6()
    }

    #[inline(always)]
    fn nat(&self) -> Option<&NatConfig> {
        self.of_addresses.nat()
    }

    #[inline(always)]
    fn receiver<H: Host>(&self, _host: &H, to: &Destination) -> Option<Receiver> {
        Some(Receiver::V4(to.address))
    }

    fn nat_mut(&mut self) -> Option<&mut NatConfig> {
        self.of_addresses.nat_mut()
    }

    fn prefix(&self) -> Option<&Prefix> {
        self.of_addresses.prefix()
    }

    fn hosts(&self) -> Hosts {
        self.of_addresses.hosts()
    }
}

impl Translator for NatPt {
    const BY_PORTS: bool = false;

    const HAS_GATEWAYS: bool = true;

    #[inline(always)]
    fn to_v4<H: Host>(&self, host: &mut H, seen: Seen<'_, V6>) -> Result<Tuple<V4>, Refusal> {
        let tuple = with_ports(seen.tuple, (0, 0));
        let transport = of_addresses(seen.transport);
        let mapped = self.of_addresses.to_v4(
            host,
            Seen {
                policy: seen.policy,
                tuple: &tuple,
                transport: &transport,
                part: seen.part,
            },
        )?;
        Ok(seen.tuple.between(mapped.source, mapped.destination))
    }

    #[inline(always)]
    fn to_v6<H: Host>(&self, host: &mut H, seen: Seen<'_, V4>) -> Result<Tuple<V6>, Refusal> {
        let tuple = with_ports(seen.tuple, (0, ADDRESS_PORT));
        let transport = of_addresses(seen.transport);
        let mapped = self.of_addresses.to_v6(
            host,
            Seen {
                policy: seen.policy,
                tuple: &tuple,
                transport: &transport,
                part: seen.part,
            },
        )?;
        Ok(seen.tuple.between(mapped.source, mapped.destination))
    }

    #[inline(always)]
    fn hairpins<H: Host, I: Instances + ?Sized>(
        &self,
        host: &H,
        instances: &I,
        from: V6,
        destination: V4,
    ) -> bool {
        self.of_addresses
            .hairpins(host, instances, from, destination)
    }

    #[inline(always)]
    fn error_source_v6<H: Host>(&self, host: &H, policy: &Policy, source: V4) -> V6 {
        self.of_addresses.error_source_v6(host, policy, source)
    }

    #[inline(always)]
    fn error_source_v4<H: Host>(&self, host: &H, policy: &Policy, source: V6, outside: V4) -> V4 {
        self.of_addresses
            .error_source_v4(host, policy, source, outside)
    }
}

/// A tuple with the same addresses.
#[inline(always)]
const fn with_ports<A: Copy>(tuple: &Tuple<A>, (source, destination): (u16, u16)) -> Tuple<A> {
    Tuple {
        source: tuple.source,
        destination: tuple.destination,
        source_port: source,
        destination_port: destination,
    }
}

/// The transport of a packet as the NAT sees it: whatever the host says, it opens a connection, and whatever the other
/// one says is the answer.
#[inline(always)]
const fn of_addresses(transport: &Transport) -> Transport {
    Transport {
        content: Content::Tcp,
        protocol: protocol::TCP,
        tcp_flags: TcpFlags::SYN.0,
        ..*transport
    }
}
