//! The networks of paper 000 in which tunnels end in hosts.
//!
//! ```text
//! ISATAP   host6 ═══ gateway ─── host4      the first link has IPv4 only, the second one IPv6
//! 6to4     host6 ═══ gateway ═══ host4      IPv4 only
//! ```
//!
//! Each tunnel has an IPv4 address of its own, to which the router has a route.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use super::subject::{Ends, HostTunnel, ours};
use crate::{
    Result,
    network::{
        cores::GATEWAY_CPU,
        device::Started,
        netns::Namespace,
        plan,
        topology::{HOST4, HOST6, Neighbours, Network, Offloads, Topology},
    },
    subjects::isthmus::{Engine, Keys, LINK},
};

/// The IPv4 address of the first host's tunnel, and its 6to4 prefix.
const NEAR: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 10);
const NEAR_6TO4: Ipv6Addr = Ipv6Addr::new(0x2002, 0xcb00, 0x710a, 0, 0, 0, 0, 1);
/// The same for the second host.
const FAR: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 20);
const FAR_6TO4: Ipv6Addr = Ipv6Addr::new(0x2002, 0xcb00, 0x7114, 0, 0, 0, 0, 1);
/// The time for an address from a router advertisement.
const PATIENCE: Duration = Duration::from_secs(15);

const ISATAP_HOST: Keys = &[r#"mechanism = "isatap"
role = "host"
local = "203.0.113.10"
routers = ["203.0.113.1"]"#];
const ISATAP_ROUTER: Keys = &[r#"mechanism = "isatap"
role = "router"
local = "203.0.113.1"
prefix = "2001:db8:fea::/64"
icmp-source-v6 = "2001:db8:4::1""#];
/// The first host's address (RFC 5214 section 6.1): its IPv4 address is not known to be unique in the world.
const ISATAP_HOST_ADDRESS: Ipv6Addr =
    Ipv6Addr::new(0x2001, 0xdb8, 0xfea, 0, 0, 0x5efe, 0xcb00, 0x710a);

/// The kernel's router of ISATAP.
const KERNEL_ROUTER: &str = "ip addr add 203.0.113.1/32 dev lo
ip tunnel add tunnel mode isatap local 203.0.113.1 ttl 64
ip link set tunnel up
ip addr add 2001:db8:fea::5efe:cb00:7101/64 dev tunnel nodad";
const KERNEL_HOST: &str = "ip addr add 203.0.113.10/32 dev lo
ip tunnel add tunnel mode isatap local 203.0.113.10 ttl 64
ip tunnel prl dev tunnel prl-default 203.0.113.1
ip link set tunnel up
ip addr add 2001:db8:fea::5efe:cb00:710a/64 dev tunnel nodad
ip route add default via fe80::5efe:cb00:7101 dev tunnel";

const NEAR_KEYS: Keys = &[r#"mechanism = "6to4"
local = "203.0.113.10"
icmp-source-v6 = "2002:cb00:710a::1""#];
const FAR_KEYS: Keys = &[r#"mechanism = "6to4"
local = "203.0.113.20"
icmp-source-v6 = "2002:cb00:7114::1""#];

/// Returns the network, in which the router has routes to the tunnels.
pub(super) fn topology(tunnel: HostTunnel, offloads: Offloads) -> Topology {
    let mut topology = Topology::dual_stack(Neighbours::Resolved, offloads);
    let without_ipv6 = match tunnel {
        HostTunnel::Isatap(_) => 1,
        HostTunnel::SixToFour(_) => 2,
    };
    let is_ipv4 = |text: &String| !text.contains(':');
    for (link, host) in [0, 2].into_iter().enumerate().take(without_ipv6) {
        for end in &mut topology.links[link].ends {
            end.addresses.retain(is_ipv4);
        }
        topology.nodes[host].routes.retain(is_ipv4);
    }
    topology.nodes[1].routes = vec![
        format!("{NEAR} via {}", plan::HOST6_AS_IPV4),
        format!("{FAR} via {}", plan::HOST4),
    ];
    topology
}

/// Starts the ends of the tunnel, and returns the addresses of both hosts.
pub(super) fn start(tunnel: HostTunnel, network: &Network) -> Result<(Vec<Started>, [IpAddr; 2])> {
    match tunnel {
        HostTunnel::Isatap(Ends::Kernel) => {
            // The router of the kernel has no daemon for solicitations (isatapd) or advertisements (radvd).
            network.gateway()?.script(KERNEL_ROUTER)?;
            network.host6()?.script(KERNEL_HOST)?;
            let own = [ISATAP_HOST_ADDRESS, plan::HOST4_AS_IPV6].map(IpAddr::V6);
            Ok((Vec::new(), own))
        }
        HostTunnel::SixToFour(Ends::Kernel) => {
            let ends = [(HOST6, NEAR, NEAR_6TO4), (HOST4, FAR, FAR_6TO4)];
            for (node, v4, v6) in ends {
                network.node(node)?.ip(&[
                    format!("addr add {v4}/32 dev lo"),
                    format!("link add tunnel type sit local {v4} ttl 64"),
                    "link set tunnel up".into(),
                    format!("addr add {v6}/16 dev tunnel nodad"),
                ])?;
            }
            Ok((Vec::new(), [NEAR_6TO4, FAR_6TO4].map(IpAddr::V6)))
        }
        HostTunnel::Isatap(Ends::Isthmus(engine)) => {
            let router = ours("ISATAP router", ISATAP_ROUTER, engine);
            let router = router.up(network.gateway()?, Some(GATEWAY_CPU))?;
            let mut host = end(network.host6()?, "ISATAP host", ISATAP_HOST)?;
            let node = network.host6()?;
            host.processes[0].wait_until(PATIENCE, || {
                let addresses = node.run(&format!("ip -6 addr show dev {LINK}"));
                addresses.is_ok_and(|all| all.contains(&ISATAP_HOST_ADDRESS.to_string()))
            })?;
            let own = [ISATAP_HOST_ADDRESS, plan::HOST4_AS_IPV6].map(IpAddr::V6);
            Ok((vec![router.into_started(), host], own))
        }
        HostTunnel::SixToFour(Ends::Isthmus(_)) => {
            let ends = [(HOST6, NEAR_KEYS, NEAR_6TO4), (HOST4, FAR_KEYS, FAR_6TO4)];
            let mut started = Vec::new();
            for (node, keys, address) in ends {
                let node = network.node(node)?;
                started.push(end(node, "6to4 host", keys)?);
                node.ip(&[format!("addr add {address}/128 dev {LINK} nodad")])?;
            }
            Ok((started, [NEAR_6TO4, FAR_6TO4].map(IpAddr::V6)))
        }
    }
}

/// Starts a host's end, which is a process.
fn end(node: &Namespace, name: &'static str, keys: Keys) -> Result<Started> {
    let host = ours(name, keys, Engine::User);
    Ok(host.up(node, Some(GATEWAY_CPU))?.into_started())
}
