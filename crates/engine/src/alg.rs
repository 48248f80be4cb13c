//! Application level gateways between the engine and the core: they look at a packet as it is on its IPv6 side.

use std::net::{Ipv4Addr, Ipv6Addr};

use isthmus_alg::{Direction, Outside, Rewritten, Translator, dns};
use isthmus_core::address::rfc6052::Prefix;
use isthmus_core::config::{AnyMechanism, Policy};
use isthmus_core::mechanism::Mechanism as _;
use isthmus_core::mechanism::nat_pt::Assigned;

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
        alg.is_some_and(|alg| alg.dns && dns::concerns(packet))
    }
}
