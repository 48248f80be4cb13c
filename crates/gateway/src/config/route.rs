//! Which destinations have to come to the gateway.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};
use isthmus_core::config::AnyMechanism;

use super::document::{Document, Mechanism, Pool, Siit};
use super::overlap;
use super::source::At;

impl Document {
    /// Returns the destinations that the instances translate. Networks within others are left out, and neighbours are
    /// joined.
    #[must_use]
    pub fn routes(&self) -> Vec<IpNet> {
        let mut networks: Vec<IpNet> = Vec::new();
        for instance in &self.instances {
            let nat = match &instance.mechanism {
                Mechanism::Siit(siit) => {
                    siit_routes(siit, &mut networks);
                    continue;
                }
                Mechanism::Nat64(nat64) => {
                    networks.push(overlap::of_rfc6052(&nat64.prefix).into());
                    &nat64.nat
                }
                Mechanism::Nat44(nat44) => &nat44.nat,
                // What waits for its prefix has nothing sent to it.
                Mechanism::Composed(composed) if composed.is_waiting() => continue,
                Mechanism::Composed(composed) => {
                    networks.extend(&composed.routes);
                    networks.extend(
                        composed
                            .clat()
                            .map(|clat| IpNet::from(IpAddr::V6(clat.local))),
                    );
                    continue;
                }
            };
            networks.extend(nat.pool.iter().map(|pool| IpNet::V4(pool.addresses)));
        }
        IpNet::aggregate(&networks)
    }

    /// The outside addresses of all NATs, with the first and the last port of each and where the file says so.
    pub fn pools(&self) -> impl Iterator<Item = &At<Pool>> {
        let nats = self
            .instances
            .iter()
            .filter_map(|instance| match &instance.mechanism {
                Mechanism::Siit(_) => None,
                Mechanism::Nat64(nat64) => Some(&nat64.nat),
                Mechanism::Nat44(nat44) => Some(&nat44.nat),
                Mechanism::Composed(composed) => composed.nat.as_ref().map(|(nat, _)| nat),
            });
        nats.flat_map(|nat| &nat.pool)
    }

    /// The networks whose packets are translated wherever they go: the inside of a NAT within IPv4.
    #[must_use]
    pub fn routed_sources(&self) -> Vec<Ipv4Net> {
        let mut networks: Vec<Ipv4Net> = Vec::new();
        for instance in &self.instances {
            match &instance.mechanism {
                Mechanism::Nat44(nat44) => {
                    networks.extend(nat44.inside.iter().map(|net| net.value));
                }
                Mechanism::Composed(composed) if !composed.is_waiting() => {
                    networks.extend(&composed.sources);
                }
                Mechanism::Siit(_) | Mechanism::Nat64(_) | Mechanism::Composed(_) => {}
            }
        }
        Ipv4Net::aggregate(&networks)
    }
}

impl Document {
    /// The destinations of IPv6 packets and the sources of IPv4 packets that only inside hosts send, and nobody on a
    /// link whose `side` is `outside`.
    #[must_use]
    pub fn of_inside_hosts(&self) -> Vec<IpNet> {
        let mut networks: Vec<IpNet> = self.routed_sources().into_iter().map(IpNet::V4).collect();
        for instance in &self.instances {
            match &instance.mechanism {
                Mechanism::Nat64(nat64) => {
                    networks.push(overlap::of_rfc6052(&nat64.prefix).into());
                }
                Mechanism::Composed(composed) => match &composed.core {
                    AnyMechanism::Aftr(aftr) => {
                        networks.push(IpAddr::V6(aftr.local.into()).into());
                    }
                    AnyMechanism::NatPt(nat_pt) => {
                        networks.push(overlap::of_rfc6052(&nat_pt.of_addresses.prefix).into());
                    }
                    _ => {}
                },
                Mechanism::Siit(_) | Mechanism::Nat44(_) => {}
            }
        }
        networks
    }

    /// The addresses of the gateway's link: those that are configured, and those that this machine has by
    /// its mechanisms.
    #[must_use]
    pub fn addresses(&self) -> Vec<IpNet> {
        let mut addresses: Vec<IpNet> = self.tun.addresses.iter().map(|at| at.value).collect();
        for instance in &self.instances {
            if let Mechanism::Composed(composed) = &instance.mechanism {
                addresses.extend(&composed.addresses);
                addresses.extend(
                    composed
                        .clat()
                        .map(|clat| IpNet::from(IpAddr::V4(clat.address))),
                );
            }
        }
        addresses
    }

    /// Where these packets go without translation. The routes of all instances are of one link, so that
    /// they are the same for all; the check sees to that.
    #[must_use]
    pub fn exempt_destinations(&self) -> Vec<Ipv4Net> {
        let mut networks: Vec<Ipv4Net> = Vec::new();
        for instance in &self.instances {
            if let Mechanism::Nat44(nat44) = &instance.mechanism {
                networks.extend(nat44.exempt.iter().map(|net| net.value));
            }
        }
        Ipv4Net::aggregate(&networks)
    }
}

/// The IPv4 internet lies on one side of a stateless translator, and what comes out of it on that
/// side must not be routed into it again.
fn siit_routes(siit: &Siit, networks: &mut Vec<IpNet>) {
    let prefix = siit.prefix.iter().map(|p| IpNet::V6(overlap::of_prefix(p)));
    let everything = siit.hosts.iter().any(|hosts| hosts.prefix_len() == 0);
    if everything && !siit.eam.is_empty() {
        // The IPv4 internet is reached over IPv6, and IPv4 hosts are behind the mappings: a CLAT
        // (RFC 6877).
        networks.extend(siit.hosts.iter().map(|net| IpNet::V4(net.value)));
        networks.extend(siit.eam.iter().map(|m| IpNet::V6(overlap::of_mapping(m).1)));
        return;
    }
    networks.extend(prefix);
    if !everything {
        networks.extend(siit.hosts.iter().map(|net| IpNet::V4(net.value)));
    }
    // A mapping of all of IPv4 is one more prefix (RFC 7757 figure 2).
    networks.extend(siit.eam.iter().map(|m| match overlap::of_mapping(m) {
        (v4, v6) if v4.prefix_len() == 0 => IpNet::V6(v6),
        (v4, _) => IpNet::V4(v4),
    }));
}
