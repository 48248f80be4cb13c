//! Routes by source: what the inside hosts of a NAT within IPv4 send goes into the link, wherever it
//! is to. A rule for each of their networks leads to a routing table of our own, whose default is the
//! link, and which sends what is for other inside hosts back to the machine's own tables.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use futures_util::TryStreamExt;
use ipnet::Ipv4Net;
use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteProtocol, RouteType};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use rtnetlink::{Handle, IpVersion, RouteMessageBuilder};

use super::netlink::{Changes, LinkError, PROTOCOL};

/// Where our rules stand among others: behind that of local addresses, before the main table.
const PRIORITY: u32 = 14_600;

/// The networks whose packets are routed into a link.
pub(super) struct Sources {
    handle: Handle,
    link: u32,
    table: u32,
    networks: BTreeSet<Ipv4Net>,
}

impl Sources {
    /// None, for the link with this number and name.
    pub(super) fn new(handle: Handle, link: u32, name: &str) -> Self {
        Self {
            handle,
            link,
            table: table_of(name),
            networks: BTreeSet::new(),
        }
    }

    /// Removes what an earlier run with a link of this name left.
    pub(super) async fn purge(&self) -> Result<(), LinkError> {
        let rules = self.handle.rule().get(IpVersion::V4).execute();
        let rules: Vec<RuleMessage> = rules
            .try_collect()
            .await
            .map_err(LinkError::refused("list of routing rules"))?;
        for rule in rules {
            if rule.attributes.contains(&RuleAttribute::Table(self.table)) {
                tracing::warn!("a routing rule of an earlier run is removed");
                let refused = LinkError::refused("removal of a routing rule of an earlier run");
                self.handle
                    .rule()
                    .del(rule)
                    .execute()
                    .await
                    .map_err(refused)?;
            }
        }
        let routes = self
            .handle
            .route()
            .get(RouteMessageBuilder::<Ipv4Addr>::new().build())
            .execute();
        let routes: Vec<RouteMessage> = routes
            .try_collect()
            .await
            .map_err(LinkError::refused("list of routes"))?;
        for route in routes {
            if route
                .attributes
                .contains(&RouteAttribute::Table(self.table))
            {
                tracing::warn!("a route of an earlier run is removed");
                let refused = LinkError::refused("removal of a route of an earlier run");
                self.handle
                    .route()
                    .del(route)
                    .execute()
                    .await
                    .map_err(refused)?;
            }
        }
        Ok(())
    }

    /// Makes the networks these, all or nothing.
    pub(super) async fn change(
        &mut self,
        wanted: &BTreeSet<Ipv4Net>,
        changes: &mut Changes,
    ) -> Result<(), LinkError> {
        let old = self.networks.clone();
        for network in wanted.difference(&old) {
            if let Err(error) = self.add(*network).await {
                for added in self.networks.difference(&old).copied().collect::<Vec<_>>() {
                    self.remove(added).await;
                }
                return Err(error);
            }
            changes.added.push(format!("route from {network}"));
        }
        for network in old.difference(wanted) {
            self.remove(*network).await;
            changes.removed.push(format!("route from {network}"));
        }
        Ok(())
    }

    /// Takes everything back.
    pub(super) async fn clear(&mut self) {
        for network in self.networks.clone() {
            self.remove(network).await;
        }
    }

    async fn add(&mut self, network: Ipv4Net) -> Result<(), LinkError> {
        let what = || format!("route from {network}");
        let first = self.networks.is_empty();
        self.networks.insert(network);
        if first {
            let add = self.handle.route().add(self.default_route()).execute();
            add.await.map_err(LinkError::refused(what()))?;
        }
        let add = self.handle.route().add(self.way_back(network)).execute();
        add.await.map_err(LinkError::refused(what()))?;
        let mut request = self.handle.rule().add();
        *request.message_mut() = self.rule(network);
        request.execute().await.map_err(LinkError::refused(what()))
    }

    async fn remove(&mut self, network: Ipv4Net) {
        self.networks.remove(&network);
        let mut results = vec![self.handle.rule().del(self.rule(network)).execute().await];
        let mut routes = vec![self.way_back(network)];
        if self.networks.is_empty() {
            routes.push(self.default_route());
        }
        for route in routes {
            results.push(self.handle.route().del(route).execute().await);
        }
        for error in results.into_iter().filter_map(Result::err) {
            tracing::warn!(%network, %error, "the route from a network could not be removed");
        }
    }

    /// Packets from a network look into our table.
    fn rule(&self, network: Ipv4Net) -> RuleMessage {
        let request = self
            .handle
            .rule()
            .add()
            .v4()
            .source_prefix(network.network(), network.prefix_len())
            .table_id(self.table)
            .action(RuleAction::ToTable)
            .priority(PRIORITY);
        let mut request = request;
        let message = request.message_mut();
        let protocol = RouteProtocol::from(PROTOCOL);
        message.attributes.push(RuleAttribute::Protocol(protocol));
        message.clone()
    }

    /// What is for an inside host is not ours: on with the machine's own tables.
    fn way_back(&self, network: Ipv4Net) -> RouteMessage {
        self.route()
            .destination_prefix(network.network(), network.prefix_len())
            .kind(RouteType::Throw)
            .build()
    }

    fn default_route(&self) -> RouteMessage {
        self.route().output_interface(self.link).build()
    }

    fn route(&self) -> RouteMessageBuilder<Ipv4Addr> {
        RouteMessageBuilder::<Ipv4Addr>::new()
            .table_id(self.table)
            .protocol(RouteProtocol::from(PROTOCOL))
    }
}

/// The number of the table of a link: [`PROTOCOL`] and 24 bits of its name (FNV-1a), so that a restart
/// finds it again, and several gateways of a machine do not meet.
fn table_of(name: &str) -> u32 {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    u32::from(PROTOCOL) << 24 | hash & 0x00ff_ffff
}
