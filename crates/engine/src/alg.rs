//! Application level gateways between the engine and the core: they look at a packet as it is on its IPv6 side.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

use isthmus_alg::{Direction, Outside, Rewritten, Translator, dns, ftp};
use isthmus_core::address::rfc6052::Prefix;
use isthmus_core::address::{V4, V6};
use isthmus_core::config::{AnyMechanism, Policy};
use isthmus_core::mechanism::nat_pt::Assigned;
use isthmus_core::mechanism::{Mechanism as _, Seen, crossing};
use isthmus_core::nat::TcpFlags;
use isthmus_core::wire::content::Content;
use isthmus_core::wire::protocol;
use isthmus_core::wire::transport::Transport;
use isthmus_core::wire::tuple::Tuple;

use crate::counters::Owner;
use crate::host::UserHost;
use crate::slowpath::SlowPath;

/// The translator that a packet passes.
struct Lent<'a, 'h> {
    mechanism: &'a AnyMechanism,
    policy: &'a Policy,
    prefix: Prefix,
    host: &'a mut UserHost<'h>,
}

impl Translator for Lent<'_, '_> {
    fn prefix(&self) -> Prefix {
        self.prefix
    }

    fn outside(&mut self, inside: Ipv6Addr, asker: Ipv4Addr) -> Option<Outside> {
        let AnyMechanism::NatPt(nat_pt) = self.mechanism else {
            // Where hosts share an address, nobody outside can begin.
            return None;
        };
        let assigned = nat_pt.assign(self.host, self.policy, inside.into(), asker.into());
        let Assigned {
            outside, always, ..
        } = assigned.ok()?;
        Some(Outside {
            address: outside.into(),
            always,
        })
    }

    fn inside(&mut self, outside: Ipv4Addr) -> Option<Ipv6Addr> {
        let AnyMechanism::NatPt(nat_pt) = self.mechanism else {
            return None;
        };
        let assigned = nat_pt.assigned(self.host, outside.into())?;
        Some(assigned.host.into())
    }

    fn bind(&mut self, inside: SocketAddrV6, remote: SocketAddrV6) -> Option<SocketAddrV4> {
        let ends = Tuple {
            source: V6::from(*inside.ip()),
            destination: V6::from(*remote.ip()),
            source_port: inside.port(),
            destination_port: remote.port(),
        };
        let (host, policy) = (&mut *self.host, self.policy);
        let outside = match self.mechanism {
            AnyMechanism::Nat64(nat64) => open(nat64, host, policy, &ends),
            AnyMechanism::NatPt(nat_pt) => open(nat_pt, host, policy, &ends),
            _ => None,
        }?;
        Some(SocketAddrV4::new(
            outside.source.into(),
            outside.source_port,
        ))
    }
}

/// Opens a connection in a NAT, as if the host had sent its first segment. The answer is the tuple outside.
fn open(
    mechanism: &impl crossing::Translator,
    host: &mut UserHost<'_>,
    policy: &Policy,
    ends: &Tuple<V6>,
) -> Option<Tuple<V4>> {
    let transport = Transport {
        content: Content::Tcp,
        tcp_flags: TcpFlags::SYN.0,
        ..Transport::continuation(0, 0, protocol::TCP)
    };
    let seen = Seen::outer(policy, ends, &transport);
    mechanism.to_v4(host, seen).ok()
}

impl SlowPath {
    /// Lets the gateways of the packet's instance look at an IPv6 packet.
    pub(crate) fn through_gateways(
        &self,
        packet: &[u8],
        direction: Direction,
        host: &mut UserHost<'_>,
    ) -> Rewritten {
        let ruleset = host.ruleset;
        let Owner::Instance(index) = host.owner else {
            return Rewritten::Unchanged;
        };
        let Some(instance) = ruleset.instances().get(index as usize) else {
            return Rewritten::Unchanged;
        };
        let Some(prefix) = instance.mechanism.prefix() else {
            return Rewritten::Unchanged;
        };
        let now = host.now;
        let mut lent = Lent {
            mechanism: &instance.mechanism,
            policy: &instance.policy,
            prefix: *prefix,
            host,
        };
        self.applications.rewrite(packet, direction, now, &mut lent)
    }

    /// Whether a packet that was translated to IPv6 passes through gateways.
    #[inline]
    pub(crate) fn has_gateways(packet: &[u8], host: &UserHost<'_>) -> bool {
        let Owner::Instance(index) = host.owner else {
            return false;
        };
        let instance = host.ruleset.instances().get(index as usize);
        let alg = instance.map(|instance| instance.policy.alg);
        alg.is_some_and(|alg| {
            (alg.dns && dns::concerns(packet)) || (alg.ftp && ftp::concerns(packet))
        })
    }
}
