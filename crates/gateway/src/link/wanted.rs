//! How the link should be, by the configuration.

use std::collections::BTreeSet;

use ipnet::{IpNet, Ipv4Net};
use isthmus_core::customer::Queue;

use super::host::HostRoute;
use super::outside::Refused;
use crate::config::{Document, Routes, Side};

/// Packets that wait in a TUN link's queue if nobody says otherwise (`TUN_READQ_SIZE` of the kernel).
const KERNEL_QUEUE: u32 = 500;

/// The TUN link as the configuration wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Name of the link.
    pub name: String,
    /// Bytes of an IP packet.
    pub mtu: u32,
    /// Packets that must find room in each of its queues.
    pub queue: u32,
    /// Addresses on it.
    pub addresses: BTreeSet<IpNet>,
    /// The destinations that are routed into it.
    pub routes: BTreeSet<IpNet>,
    /// Networks whose packets are routed into it, whatever their destination.
    pub sources: BTreeSet<Ipv4Net>,
    /// Destinations that they reach past it.
    pub exempt: BTreeSet<Ipv4Net>,
    /// The packets that are refused on links to the outside.
    pub refused: BTreeSet<Refused>,
    /// The default route of a machine that has its own CLAT.
    pub host: Option<HostRoute>,
    /// Whether the machine must forward packets between this link and others.
    pub forwarding: Forwarding,
    /// Links on which the machine has to go on hearing routers, though it forwards.
    pub uplinks: BTreeSet<String>,
}

/// Whether the gateway turns forwarding on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarding {
    /// It is needed, and turned on where it is off.
    Needed,
    /// That of IPv6 is: IPv4 packets are the machine's own.
    Ipv6,
    /// The operator looks after it.
    LeftAlone,
}

impl Wanted {
    /// The link that `document` asks for.
    #[must_use]
    pub fn of(document: &Document) -> Self {
        let automatic = document.tun.routes == Routes::Auto;
        Self {
            name: document.tun.name.value.clone(),
            mtu: document.tun.mtu.into(),
            queue: queue(document),
            addresses: document.addresses().into_iter().collect(),
            routes: match document.tun.routes {
                Routes::Auto => document.routes().into_iter().collect(),
                Routes::None => BTreeSet::new(),
            },
            sources: match document.tun.routes {
                Routes::Auto => document.routed_sources().into_iter().collect(),
                Routes::None => BTreeSet::new(),
            },
            exempt: match document.tun.routes {
                Routes::Auto => document.exempt_destinations().into_iter().collect(),
                Routes::None => BTreeSet::new(),
            },
            refused: refused(document),
            host: document.clat().filter(|_| automatic).map(|clat| HostRoute {
                source: clat.address,
                uplink: clat.uplink,
            }),
            forwarding: forwarding(document),
            uplinks: document
                .hosts()
                .filter(|_| automatic)
                .map(|(_, host)| host.uplink.value.clone())
                .collect(),
        }
    }
}

/// The length of a queue in which packets that programs hand up wait, beside those that the machine itself routes into the
/// link: for these the kernel's default is enough.
fn queue(document: &Document) -> u32 {
    if document.interfaces.is_empty() {
        0
    } else {
        Queue::PLACES + KERNEL_QUEUE
    }
}

fn forwarding(document: &Document) -> Forwarding {
    let is_host = document.hosts().count() == document.instances.len();
    match (document.tun.routes, document.interfaces.is_empty()) {
        (Routes::Auto, true) if is_host && !document.instances.is_empty() => Forwarding::Ipv6,
        (Routes::None, true) => Forwarding::LeftAlone,
        (Routes::Auto, _) | (Routes::None, false) => Forwarding::Needed,
    }
}

fn refused(document: &Document) -> BTreeSet<Refused> {
    let interfaces = document.interfaces.iter();
    let outside = interfaces.filter(|interface| interface.side == Side::Outside);
    let networks = document.of_inside_hosts();
    let on = |name: &String| {
        let name = name.clone();
        networks.iter().map(move |network| (name.clone(), *network))
    };
    outside
        .flat_map(|interface| on(&interface.name.value))
        .collect()
}
