//! The machine, as the kernel describes it.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use futures_util::TryStreamExt;
use ipnet::IpNet;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::address::{AddressAttribute, AddressMessage, AddressProtocol};
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkInfo, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteMessage, RouteProtocol, RouteType,
};
use rtnetlink::{Handle, RouteMessageBuilder};

use crate::link::LinkError;

/// The links, addresses and routes of a network namespace, and the files that describe the rest of the machine.
#[derive(Clone, Debug)]
pub struct Facts {
    /// `/`, except in tests.
    pub(super) root: PathBuf,
    pub(super) links: Vec<Link>,
    pub(super) addresses: Vec<Address>,
    pub(super) routes: Vec<Route>,
}

/// A link.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) number: u32,
    pub(super) name: String,
    pub(super) mtu: u32,
    pub(super) is_veth: bool,
}

/// An address of a link.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) link: u32,
    pub(super) network: IpNet,
    /// Whether the kernel made it of a router's advertisement.
    pub(super) by_router: bool,
}

/// A route of any table.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) to: IpNet,
    pub(super) link: Option<u32>,
    /// Whether it has a next hop, and so leads further than to a network of this machine.
    pub(super) leads_beyond: bool,
    /// Whether it comes from a router's advertisement.
    pub(super) by_router: bool,
}

impl Facts {
    /// Asks the kernel about the network namespace of the calling thread.
    ///
    /// # Errors
    /// There is no netlink socket, or the kernel does not tell.
    pub async fn gather() -> Result<Self, LinkError> {
        let (connection, handle, _) = rtnetlink::new_connection().map_err(LinkError::Socket)?;
        let connection = tokio::spawn(connection);
        let facts = Self::ask(&handle).await;
        connection.abort();
        facts
    }

    /// The same, for a thread without a runtime.
    ///
    /// # Errors
    /// The same.
    pub fn gather_now() -> Result<Self, LinkError> {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(LinkError::Socket)?
            .block_on(Self::gather())
    }

    async fn ask(handle: &Handle) -> Result<Self, LinkError> {
        let links: Vec<LinkMessage> = handle
            .link()
            .get()
            .execute()
            .try_collect()
            .await
            .map_err(LinkError::refused("list of links"))?;
        let addresses: Vec<AddressMessage> = handle
            .address()
            .get()
            .execute()
            .try_collect()
            .await
            .map_err(LinkError::refused("list of addresses"))?;
        let mut routes = Vec::new();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut message = RouteMessageBuilder::<IpAddr>::new().build();
            message.header.address_family = family;
            // There may be a million.
            let mut listed = handle.route().get(message).execute();
            let refused = || LinkError::refused("list of routes");
            while let Some(route) = listed.try_next().await.map_err(refused())? {
                routes.extend(Route::of(&route));
            }
        }
        Ok(Self {
            root: PathBuf::from("/"),
            links: links.iter().map(Link::of).collect(),
            addresses: addresses.iter().filter_map(Address::of).collect(),
            routes,
        })
    }

    /// The link of this name.
    pub(super) fn link(&self, name: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.name == name)
    }

    /// The addresses of a link.
    pub(super) fn addresses_of(&self, link: &Link) -> impl Iterator<Item = &Address> {
        let number = link.number;
        self.addresses.iter().filter(move |one| one.link == number)
    }

    /// The name of the link with this number.
    pub(super) fn name_of(&self, number: u32) -> &str {
        let link = self.links.iter().find(|link| link.number == number);
        link.map_or("?", |link| &link.name)
    }

    /// A value under `/proc/sys/net`, such as `ipv4/ip_forward`. `None`: there is no such value.
    pub(super) fn sysctl(&self, path: &str) -> Option<String> {
        let value = self.read(Path::new("proc/sys/net").join(path)).ok()?;
        Some(value.trim().to_owned())
    }

    /// A file of the machine.
    pub(super) fn read(&self, path: impl AsRef<Path>) -> io::Result<String> {
        fs::read_to_string(self.root.join(path))
    }
}

/// The command that sets a value under `/proc/sys/net`. Names of links may have dots.
pub(super) fn set(path: &str, value: &str) -> String {
    format!("sysctl -w {}={value}", key(path))
}

/// A value under `/proc/sys/net` as `sysctl` names it.
pub(super) fn key(path: &str) -> String {
    if path.contains('.') {
        format!("net/{path}")
    } else {
        format!("net.{}", path.replace('/', "."))
    }
}

impl Link {
    fn of(message: &LinkMessage) -> Self {
        let mut link = Self {
            number: message.header.index,
            name: String::new(),
            mtu: 0,
            is_veth: false,
        };
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name.clone_from(name),
                LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
                LinkAttribute::LinkInfo(infos) => {
                    link.is_veth = infos.contains(&LinkInfo::Kind(InfoKind::Veth));
                }
                _ => {}
            }
        }
        link
    }
}

impl Address {
    fn of(message: &AddressMessage) -> Option<Self> {
        let mut network = None;
        let mut by_router = false;
        for attribute in &message.attributes {
            match attribute {
                // Of a link with two ends, the address here is the local one.
                AddressAttribute::Local(address) => network = Some(*address),
                AddressAttribute::Address(address) => network = network.or(Some(*address)),
                AddressAttribute::Protocol(protocol) => {
                    by_router = *protocol == AddressProtocol::RouterAnnouncement;
                }
                _ => {}
            }
        }
        Some(Self {
            link: message.header.index,
            network: IpNet::new(network?, message.header.prefix_len).ok()?,
            by_router,
        })
    }
}

impl Route {
    /// A route to somewhere else; `None` for addresses of the machine, and what is refused.
    fn of(message: &RouteMessage) -> Option<Self> {
        if message.header.kind != RouteType::Unicast {
            return None;
        }
        let v6 = message.header.address_family == AddressFamily::Inet6;
        let mut to: IpAddr = if v6 { [0; 16].into() } else { [0; 4].into() };
        let (mut link, mut leads_beyond) = (None, false);
        for attribute in &message.attributes {
            match attribute {
                RouteAttribute::Destination(RouteAddress::Inet(address)) => to = (*address).into(),
                RouteAttribute::Destination(RouteAddress::Inet6(address)) => to = (*address).into(),
                RouteAttribute::Oif(number) => link = Some(*number),
                RouteAttribute::Gateway(_)
                | RouteAttribute::Via(_)
                | RouteAttribute::MultiPath(_) => leads_beyond = true,
                _ => {}
            }
        }
        Some(Self {
            to: IpNet::new(to, message.header.destination_prefix_length).ok()?,
            link,
            leads_beyond,
            by_router: message.header.protocol == RouteProtocol::Ra,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_dots_are_written_with_slashes() {
        assert_eq!(
            set("ipv4/ip_forward", "1"),
            "sysctl -w net.ipv4.ip_forward=1"
        );
        assert_eq!(
            set("ipv6/conf/eth0.10/accept_ra", "2"),
            "sysctl -w net/ipv6/conf/eth0.10/accept_ra=2"
        );
    }
}
