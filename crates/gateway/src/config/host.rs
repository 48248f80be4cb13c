//! A CLAT for the machine itself (RFC 6877 section 6.3, "without a dedicated prefix"): its programs have an IPv4
//! address and a default route, and the network sees one more IPv6 address of this machine.

use std::net::{Ipv4Addr, Ipv6Addr};

use isthmus_core::address::eam::Mapping;
use isthmus_core::address::rfc6052::Prefix;
use isthmus_core::config::{
    AnyMechanism, EamTable, Hairpin, Overlap, PrefixMapping, Siit, V4Network, V4Networks,
};

use super::composed::{self, Composed};
use super::discovery::{self, Discovery};
use super::document::Document;
use super::instance;
use super::source::At;
use super::table::Reader;

/// The address of the machine's programs (RFC 7335).
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 1);
/// The dummy address, which stands for nodes without an IPv4 address (RFC 7600 section 4.8): errors of the gateway
/// itself, which the machine would not believe from its own address.
const DUMMY: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

/// The keys of a CLAT that this one has as well.
const KEYS: [&str; 5] = ["uplink", "local", "address", "prefix", "discovery"];

/// The machine that a CLAT is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The link to the IPv6 network.
    pub uplink: At<String>,
    /// The IPv4 address of its programs.
    pub address: Ipv4Addr,
    /// The prefix of the NAT64, if it is configured.
    prefix: Option<Prefix>,
    /// The IPv6 address of the CLAT: configured, or made of a network of the uplink; `None` while there is none.
    pub local: Option<Ipv6Addr>,
    /// Whether it is configured.
    pub is_fixed: bool,
}

/// `uplink`, and the keys beside it.
pub(super) fn host(reader: &Reader<'_>) -> Option<Composed> {
    let uplink = reader.needs("uplink", "\"wlan0\"", |v| Some(v.at(v.link_name()?)));
    let fixed = reader
        .get("local")
        .map(|_| composed::v6(reader, "local", "\"2001:db8:1::464\""));
    let address = match reader.get("address") {
        None => Some(ADDRESS),
        Some(value) => value.ipv4(),
    };
    for (key, _) in instance::of_mechanism("clat") {
        if let Some(value) = reader.get(key).filter(|_| !KEYS.contains(key)) {
            value.refuse(
                "is for the CLAT of other hosts",
                "expected it in an instance without `uplink`",
            );
        }
    }
    let uplink = uplink?;
    let plat = discovery::of_host(reader, &uplink);
    let (fixed, (prefix, discovery), address) = (
        fixed.map_or(Some(None), |v6| v6.map(Some))?,
        plat?,
        address?,
    );
    let mut composed = Composed::new("clat", nothing());
    composed.own.0 = Some(DUMMY);
    composed.plan = plan(
        &uplink.value,
        address,
        fixed.as_ref(),
        prefix,
        discovery.as_ref(),
    );
    composed.discovery = discovery;
    composed.host = Some(Host {
        uplink,
        address,
        prefix,
        local: fixed.as_ref().map(|at| at.value),
        is_fixed: fixed.is_some(),
    });
    Some(composed)
}

fn plan(
    uplink: &str,
    address: Ipv4Addr,
    local: Option<&At<Ipv6Addr>>,
    prefix: Option<Prefix>,
    discovery: Option<&Discovery>,
) -> Vec<String> {
    let local = match local {
        Some(local) => local.value.to_string(),
        None => format!("an address of its own in the network of {uplink}"),
    };
    let plat = match (prefix, discovery) {
        (Some(prefix), _) => prefix.to_string(),
        (None, Some(discovery)) => format!("a prefix from {}", discovery.places()),
        (None, None) => "a prefix".into(),
    };
    vec![
        format!("IPv4 packets of this machine itself, from {address}, leave from {local}"),
        format!("the IPv4 internet is behind {plat}"),
        format!("default IPv4 route with metric {METRIC}: any other is preferred"),
        format!("IPv6 packets are forwarded to and from {uplink}, which goes on hearing routers"),
    ]
}

/// The metric of the default route: a dual-stack network that the machine joins later is preferred, whatever manages
/// it.
pub(crate) const METRIC: u32 = 2048;

impl Host {
    /// The translator between the machine's address and the IPv4 internet, without its mapping: that lies in a table.
    fn mechanism(&self, prefix: Prefix) -> AnyMechanism {
        let mut hosts = V4Networks::default();
        // There is room for one.
        let _ = hosts.push(V4Network::new(Ipv4Addr::UNSPECIFIED.into(), 0));
        siit(prefix.into(), hosts)
    }
}

impl Composed {
    /// The mechanism of the machine's own CLAT, if it is one.
    pub(super) fn of_host(&self) -> Option<AnyMechanism> {
        let host = self.host.as_ref()?;
        Some(match self.clat() {
            Some(clat) => host.mechanism(clat.prefix),
            None => nothing(),
        })
    }

    /// The machine's own CLAT, once all of it is known.
    #[must_use]
    pub fn clat(&self) -> Option<Clat> {
        let host = self.host.as_ref()?;
        let found = self
            .discovery
            .as_ref()
            .and_then(|discovery| discovery.found);
        Some(Clat {
            uplink: host.uplink.value.clone(),
            prefix: host.prefix.or(found)?,
            address: host.address,
            local: host.local?,
        })
    }
}

/// A CLAT of the machine itself of which all is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clat {
    /// The link to the IPv6 network.
    pub uplink: String,
    /// The prefix of the NAT64.
    pub prefix: Prefix,
    /// The IPv4 address of the machine's programs.
    pub address: Ipv4Addr,
    /// The IPv6 address that stands for it.
    pub local: Ipv6Addr,
}

impl Clat {
    /// The mapping of its addresses (RFC 7757).
    pub(super) fn mapping(&self) -> Option<Mapping> {
        Mapping::new(self.address.into(), 32, self.local.into(), 128).ok()
    }
}

impl Document {
    /// The machine's own CLATs, with the names of their instances.
    pub fn hosts(&self) -> impl Iterator<Item = (&str, &Host)> {
        let all = self.composed();
        all.filter_map(|(name, composed)| Some((name, composed.host.as_ref()?)))
    }

    /// The machine's own CLAT, once all of it is known.
    #[must_use]
    pub fn clat(&self) -> Option<Clat> {
        self.composed().find_map(|(_, composed)| composed.clat())
    }

    /// Gives the CLAT of an instance an address in the network of the uplink, or takes it away.
    pub fn set_local(&mut self, instance: &str, local: Option<Ipv6Addr>) {
        let composed = self.composed_mut(instance);
        if let Some(host) = composed.and_then(|composed| composed.host.as_mut())
            && !host.is_fixed
        {
            host.local = local;
        }
    }
}

/// A translator that owns no packets.
fn nothing() -> AnyMechanism {
    siit(PrefixMapping::NONE, V4Networks::default())
}

fn siit(prefix: PrefixMapping, hosts: V4Networks) -> AnyMechanism {
    AnyMechanism::Siit(Siit {
        prefix,
        hosts,
        eam: EamTable::default(),
        overlap: Overlap::Apart,
        hairpin: Hairpin::Intrinsic,
    })
}
