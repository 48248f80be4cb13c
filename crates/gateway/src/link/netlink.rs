//! The link over rtnetlink.

use std::collections::BTreeSet;
use std::net::IpAddr;

use futures_util::{StreamExt, TryStreamExt};
use ipnet::IpNet;
use netlink_packet_route::address::{AddressAttribute, AddressMessage, AddressProtocol};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteProtocol};
use nix::net::if_::if_nametoindex;
use rtnetlink::{Handle, LinkUnspec, RouteMessageBuilder};

use super::discipline::Discipline;
use super::host::Default;
use super::outside::Outside;
use super::own_sources::{self, OwnSources};
use super::shared::{Shared, SharedAddress};
use super::sources::{Sources, table_of};
use super::survey::Survey;
use super::wanted::Wanted;

/// The number that marks routes and addresses as ours (RTPROT_*, IFAPROT_*), as in RFC 6146. The
/// kernel and iproute2 leave it free.
pub const PROTOCOL: u8 = 146;

/// Why the link is not as wanted.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// There is no netlink socket to be had.
    #[error("netlink: {0}")]
    Socket(std::io::Error),
    /// There is no link of this name.
    #[error("there is no link {0:?}")]
    Missing(String),
    /// The kernel has it already.
    #[error("{0}: it is there already")]
    Exists(String),
    /// The kernel refuses a change.
    #[error("{what}: {reason}")]
    Refused {
        /// The change.
        what: String,
        /// The kernel's error.
        reason: String,
    },
}

impl LinkError {
    pub(crate) fn refused(what: impl Into<String>) -> impl FnOnce(rtnetlink::Error) -> Self {
        let what = what.into();
        move |error| match error {
            rtnetlink::Error::NetlinkError(message) => match message.to_io() {
                error if error.kind() == std::io::ErrorKind::AlreadyExists => Self::Exists(what),
                error => Self::Refused {
                    what,
                    reason: error.to_string(),
                },
            },
            other => Self::Refused {
                what,
                reason: other.to_string(),
            },
        }
    }
}

/// The changes that were made to a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Addresses and routes that are there now.
    pub added: Vec<String>,
    /// Addresses and routes that are gone.
    pub removed: Vec<String>,
}

/// A link that the gateway configures.
pub struct Link {
    handle: Handle,
    connection: tokio::task::JoinHandle<()>,
    index: u32,
    name: String,
    before: Before,
    mtu: u32,
    addresses: BTreeSet<IpNet>,
    routes: BTreeSet<IpNet>,
    sources: Sources,
    default: Default,
    discipline: Discipline,
    outside: Outside,
    shared: Shared,
}

/// The link as it was found; only of interest if it outlives the process.
struct Before {
    mtu: Option<u32>,
    queue: Option<u32>,
    up: bool,
}

impl Link {
    /// Finds the link, removes what an earlier run left on it, and makes it as wanted.
    ///
    /// # Errors
    ///
    /// If it is not there or the kernel refuses something; what was done is undone then.
    pub async fn configure(wanted: &Wanted) -> Result<Self, LinkError> {
        let (connection, handle, _) = rtnetlink::new_connection().map_err(LinkError::Socket)?;
        let connection = tokio::spawn(connection);
        let found = find(&handle, &wanted.name).await?;
        let mut link = Self {
            index: found.header.index,
            name: wanted.name.clone(),
            before: Before {
                mtu: found
                    .attributes
                    .iter()
                    .find_map(|attribute| match attribute {
                        LinkAttribute::Mtu(mtu) => Some(*mtu),
                        _ => None,
                    }),
                queue: found
                    .attributes
                    .iter()
                    .find_map(|attribute| match attribute {
                        LinkAttribute::TxQueueLen(packets) => Some(*packets),
                        _ => None,
                    }),
                up: found.header.flags.contains(LinkFlags::Up),
            },
            outside: Outside::new(handle.clone(), table_of(&wanted.name)),
            sources: Sources::new(handle.clone(), found.header.index, &wanted.name),
            default: Default::new(handle.clone(), found.header.index),
            discipline: Discipline::new(handle.clone(), found.header.index),
            shared: Shared::new(handle.clone(), found.header.index, &wanted.name),
            handle,
            connection,
            mtu: 0,
            addresses: BTreeSet::new(),
            routes: BTreeSet::new(),
        };
        link.quiet();
        link.purge().await?;
        link.shared.purge().await?;
        link.sources.purge().await?;
        match link.change(wanted).await {
            Ok(_) => {
                // The kernel chooses its default one when the link goes up.
                link.discipline.drop_queue().await;
                link.lengthen_queue(wanted.queue).await;
                Ok(link)
            }
            Err(error) => {
                link.remove().await;
                Err(error)
            }
        }
    }

    /// Number of the link.
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Whether it is there, and no other of its name.
    #[must_use]
    pub fn is_there(&self) -> bool {
        if_nametoindex(self.name.as_str()) == Ok(self.index)
    }

    /// Makes the link as wanted, all or nothing.
    ///
    /// # Errors
    ///
    /// If the kernel refuses something; what was added is removed again.
    pub async fn change(&mut self, wanted: &Wanted) -> Result<Changes, LinkError> {
        let old = (self.mtu, self.addresses.clone(), self.routes.clone());
        let default = self.default.wanted().clone();
        let mut changes = Changes::default();
        let added = self.add_wanted(wanted, &mut changes).await;
        if let Err(error) = added {
            let mut undone = Changes::default();
            if let Err(error) = self.default.change(&default, &mut undone).await {
                tracing::error!(link = self.name, %error, "the default route was lost");
            }
            for route in self.routes.difference(&old.2).copied().collect::<Vec<_>>() {
                self.remove_route(route).await;
            }
            for address in self
                .addresses
                .difference(&old.1)
                .copied()
                .collect::<Vec<_>>()
            {
                self.remove_address(address).await;
            }
            if old.0 != 0 && self.mtu != old.0 {
                self.set_mtu(old.0).await.unwrap_or_else(|error| {
                    tracing::error!(link = self.name, %error, "the MTU could not be restored");
                });
            }
            return Err(error);
        }
        for route in old.2.difference(&wanted.routes) {
            self.remove_route(*route).await;
            changes.removed.push(format!("route {route}"));
        }
        for address in old.1.difference(&wanted.addresses) {
            self.remove_address(*address).await;
            changes.removed.push(format!("address {address}"));
        }
        let is_v4 = |address: &IpNet| matches!(address, IpNet::V4(_));
        if old.1.iter().any(is_v4) && !self.addresses.iter().any(is_v4) {
            self.restore_v4().await;
        }
        Ok(changes)
    }

    /// Puts back what others took away. Returns what is there again.
    ///
    /// # Errors
    ///
    /// If the link is gone, or the kernel refuses something.
    pub async fn heal(&mut self) -> Result<Vec<String>, LinkError> {
        let found = find(&self.handle, &self.name).await?;
        if found.header.index != self.index {
            return Err(LinkError::Missing(self.name.clone()));
        }
        let mut again = Vec::new();
        let mtu = found.attributes.contains(&LinkAttribute::Mtu(self.mtu));
        if !found.header.flags.contains(LinkFlags::Up) || !mtu {
            self.set_mtu(self.mtu).await?;
            again.push(format!("{} up, mtu {}", self.name, self.mtu));
        }
        for address in self.addresses.clone() {
            let what = format!("address {address}");
            if is_new(self.add_address(address).await)? {
                again.push(what);
            }
        }
        for route in self.routes.clone() {
            let what = format!("route {route}");
            if is_new(self.add_route(route).await)? {
                again.push(what);
            }
        }
        self.default.heal(&mut again).await?;
        self.outside.heal(&mut again).await?;
        self.sources.heal(&mut again).await?;
        Ok(again)
    }

    /// Follows the MTU of the uplink of a machine's own CLAT.
    pub async fn follow(&mut self) {
        self.default.follow().await;
    }

    /// Looks at the links and addresses of the machine.
    ///
    /// # Errors
    ///
    /// The kernel does not tell.
    pub async fn survey(&self) -> Result<Survey, LinkError> {
        Survey::take(&self.handle).await
    }

    /// Leads packets to these outside addresses into the link, as far as they may belong to a session, though the
    /// addresses are this machine's own as well. Returns what is there that was not.
    ///
    /// # Errors
    ///
    /// If the kernel refuses something; the next call completes it.
    pub async fn share(
        &mut self,
        wanted: &BTreeSet<SharedAddress>,
    ) -> Result<Vec<String>, LinkError> {
        self.shared.change(wanted).await
    }

    /// Has the kernel take packets from the link whose source is the machine's own address, or drop them.
    pub fn accept_own(&self, own: OwnSources) {
        own_sources::accept(&self.name, own);
    }

    /// Makes the IPv4 routes again. The kernel takes all of a link's away with its last IPv4 address.
    async fn restore_v4(&self) {
        for to in self.routes.iter().filter(|to| matches!(to, IpNet::V4(_))) {
            let add = self.handle.route().add(self.route(*to)).replace();
            if let Err(error) = add.execute().await {
                tracing::error!(link = self.name, %to, %error, "a route was lost");
            }
        }
        self.sources.restore().await;
    }

    async fn add_wanted(
        &mut self,
        wanted: &Wanted,
        changes: &mut Changes,
    ) -> Result<(), LinkError> {
        if self.mtu != wanted.mtu {
            self.set_mtu(wanted.mtu).await?;
            changes.added.push(format!("mtu {}", wanted.mtu));
        }
        for address in wanted.addresses.difference(&self.addresses.clone()) {
            self.add_address(*address).await?;
            changes.added.push(format!("address {address}"));
        }
        for route in wanted.routes.difference(&self.routes.clone()) {
            self.add_route(*route).await?;
            changes.added.push(format!("route {route}"));
        }
        // An address that goes takes it with it, so that it goes before.
        self.default.change(&wanted.host, changes).await?;
        // The last: what was done before is undone by the caller, but these by themselves.
        let refused = self.outside.refused().clone();
        self.outside.change(&wanted.refused, changes).await?;
        let changed = self.sources.change(wanted, changes).await;
        if changed.is_err() {
            self.outside
                .change(&refused, &mut Changes::default())
                .await?;
        }
        changed
    }

    /// Takes everything back. What the kernel refuses is logged; most of it ends with the link.
    pub async fn remove(mut self) {
        self.shared.clear().await;
        self.sources.clear().await;
        self.outside.clear().await;
        self.default.clear().await;
        self.discipline.restore().await;
        for route in std::mem::take(&mut self.routes) {
            self.remove_route(route).await;
        }
        for address in std::mem::take(&mut self.addresses) {
            self.remove_address(address).await;
        }
        let mut message = LinkUnspec::new_with_index(self.index);
        if let Some(mtu) = self.before.mtu {
            message = message.mtu(mtu);
        }
        if let Some(packets) = self.before.queue {
            message = message.append_extra_attribute(LinkAttribute::TxQueueLen(packets));
        }
        if !self.before.up {
            message = message.down();
        }
        if let Err(error) = self.handle.link().set(message.build()).execute().await {
            tracing::debug!(link = self.name, %error, "the link could not be restored");
        }
        self.connection.abort();
    }

    /// A link between programs needs no address of the kernel's making and asks for no routers.
    fn quiet(&self) {
        for (family, leaf, value) in [
            ("ipv6", "addr_gen_mode", "1"),
            ("ipv6", "accept_ra", "0"),
            ("ipv6", "router_solicitations", "0"),
        ] {
            let path = format!("/proc/sys/net/{family}/conf/{}/{leaf}", self.name);
            if let Err(error) = std::fs::write(&path, value) {
                tracing::debug!(path, %error, "could not be set");
            }
        }
    }

    /// Removes addresses and routes with our mark.
    async fn purge(&self) -> Result<(), LinkError> {
        let mut routes = self
            .handle
            .route()
            .get(RouteMessageBuilder::<IpAddr>::new().build())
            .execute();
        let mut ours = Vec::new();
        while let Some(route) = routes
            .try_next()
            .await
            .map_err(LinkError::refused("list of routes"))?
        {
            let here = route.attributes.contains(&RouteAttribute::Oif(self.index));
            if here && route.header.protocol == RouteProtocol::from(PROTOCOL) {
                ours.push(route);
            }
        }
        for route in ours {
            tracing::warn!(link = self.name, "a route of an earlier run was removed");
            self.handle
                .route()
                .del(route)
                .execute()
                .await
                .map_err(LinkError::refused("removal of a route of an earlier run"))?;
        }
        let addresses = self
            .handle
            .address()
            .get()
            .set_link_index_filter(self.index)
            .execute();
        let addresses: Vec<AddressMessage> = addresses
            .try_collect()
            .await
            .map_err(LinkError::refused("list of addresses"))?;
        for address in addresses {
            if address.attributes.contains(&mark()) {
                tracing::warn!(link = self.name, "an address of an earlier run was removed");
                self.handle
                    .address()
                    .del(address)
                    .execute()
                    .await
                    .map_err(LinkError::refused(
                        "removal of an address of an earlier run",
                    ))?;
            }
        }
        Ok(())
    }

    async fn set_mtu(&mut self, mtu: u32) -> Result<(), LinkError> {
        let message = LinkUnspec::new_with_index(self.index).mtu(mtu).up().build();
        self.handle
            .link()
            .set(message)
            .execute()
            .await
            .map_err(LinkError::refused(format!(
                "link {} mtu {mtu} up",
                self.name
            )))?;
        self.mtu = mtu;
        Ok(())
    }

    /// A queue that the operator made longer stays.
    async fn lengthen_queue(&self, packets: u32) {
        if self.before.queue.unwrap_or(u32::MAX) >= packets {
            return;
        }
        if let Err(error) = self.set_queue(packets).await {
            tracing::warn!(link = self.name, packets, %error, "its queue stays short, and bursts may be lost");
        }
    }

    async fn set_queue(&self, packets: u32) -> Result<(), rtnetlink::Error> {
        let message = LinkUnspec::new_with_index(self.index)
            .append_extra_attribute(LinkAttribute::TxQueueLen(packets))
            .build();
        self.handle.link().set(message).execute().await
    }

    async fn add_address(&mut self, address: IpNet) -> Result<(), LinkError> {
        let mut request =
            self.handle
                .address()
                .add(self.index, address.addr(), address.prefix_len());
        request.message_mut().attributes.push(mark());
        request.execute().await.map_err(LinkError::refused(format!(
            "address {address} on {}",
            self.name
        )))?;
        self.addresses.insert(address);
        Ok(())
    }

    async fn remove_address(&mut self, address: IpNet) {
        self.addresses.remove(&address);
        let add = self
            .handle
            .address()
            .add(self.index, address.addr(), address.prefix_len())
            .message_mut()
            .clone();
        if let Err(error) = self.handle.address().del(add).execute().await {
            tracing::warn!(link = self.name, %address, %error, "an address could not be removed");
        }
    }

    fn route(&self, to: IpNet) -> RouteMessage {
        RouteMessageBuilder::<IpAddr>::new()
            .destination_prefix(to.addr(), to.prefix_len())
            .expect("a network's length is one of its family")
            .output_interface(self.index)
            .protocol(RouteProtocol::from(PROTOCOL))
            .build()
    }

    async fn add_route(&mut self, to: IpNet) -> Result<(), LinkError> {
        self.handle
            .route()
            .add(self.route(to))
            .execute()
            .await
            .map_err(LinkError::refused(format!("route {to} to {}", self.name)))?;
        self.routes.insert(to);
        Ok(())
    }

    async fn remove_route(&mut self, to: IpNet) {
        self.routes.remove(&to);
        if let Err(error) = self.handle.route().del(self.route(to)).execute().await {
            tracing::warn!(link = self.name, %to, %error, "a route could not be removed");
        }
    }
}

/// Whether something was added that was not there.
pub(super) fn is_new(added: Result<(), LinkError>) -> Result<bool, LinkError> {
    match added {
        Ok(()) => Ok(true),
        Err(LinkError::Exists(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The mark of our addresses.
pub(crate) fn mark() -> AddressAttribute {
    AddressAttribute::Protocol(AddressProtocol::Other(PROTOCOL))
}

pub(super) async fn find(handle: &Handle, name: &str) -> Result<LinkMessage, LinkError> {
    let mut links = Box::pin(handle.link().get().match_name(name).execute());
    match links.next().await {
        Some(Ok(link)) => Ok(link),
        Some(Err(_)) | None => Err(LinkError::Missing(name.into())),
    }
}
