//! Routes by source: packets of the inside hosts of a NAT44 go into the link, whatever their destination. A rule for
//! each of their networks leads to a routing table of our own, whose default is the link. The table returns packets
//! to other inside hosts, and to exempt networks, to the machine's own tables.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use futures_util::TryStreamExt;
use ipnet::Ipv4Net;
use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteProtocol, RouteType};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use rtnetlink::{Handle, IpVersion, RouteMessageBuilder};

use super::netlink::{Changes, LinkError, PROTOCOL, is_new};
use super::wanted::Wanted;
use crate::hash;

/// Where our rules stand among others: behind that of local addresses, before the main table.
const PRIORITY: u32 = 14_600;

/// The networks whose packets are routed into a link.
pub(super) struct Sources {
    handle: Handle,
    link: u32,
    table: u32,
    networks: BTreeSet<Ipv4Net>,
    /// Destinations that they reach past the link: they themselves among them.
    past: BTreeSet<Ipv4Net>,
}

impl Sources {
    /// None, for the link with this number and name.
    pub(super) fn new(handle: Handle, link: u32, name: &str) -> Self {
        Self {
            handle,
            link,
            table: table_of(name),
            networks: BTreeSet::new(),
            past: BTreeSet::new(),
        }
    }

    /// Removes what an earlier run with a link of this name left.
    pub(super) async fn purge(&self) -> Result<(), LinkError> {
        let rules = self.handle.rule().get(IpVersion::V4).execute();
        let mut rules: Vec<RuleMessage> = rules
            .try_collect()
            .await
            .map_err(LinkError::refused("list of routing rules"))?;
        // A kernel without rules for IPv6 refuses to list them.
        let of_v6 = self.handle.rule().get(IpVersion::V6).execute();
        let of_v6: Result<Vec<RuleMessage>, _> = of_v6.try_collect().await;
        rules.extend(of_v6.unwrap_or_default());
        for rule in rules {
            if rule.attributes.contains(&RuleAttribute::Table(self.table)) {
                tracing::warn!("a routing rule of an earlier run was removed");
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
                tracing::warn!("a route of an earlier run was removed");
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

    /// Makes the networks and what they reach past the link these, all or nothing.
    pub(super) async fn change(
        &mut self,
        wanted: &Wanted,
        changes: &mut Changes,
    ) -> Result<(), LinkError> {
        let (networks, past) = (self.networks.clone(), self.past.clone());
        let wanted_past = wanted.sources.union(&wanted.exempt).copied().collect();
        if let Err(error) = self.grow(&wanted.sources, &wanted_past).await {
            self.shrink(&networks, &past).await;
            return Err(error);
        }
        self.shrink(&wanted.sources, &wanted_past).await;
        let missing = |from: &BTreeSet<Ipv4Net>, to: &BTreeSet<Ipv4Net>| -> Vec<String> {
            to.difference(from).map(|network| what(*network)).collect()
        };
        changes.added.extend(missing(&networks, &wanted.sources));
        changes.removed.extend(missing(&wanted.sources, &networks));
        Ok(())
    }

    /// Makes the route again that the kernel takes away with the last IPv4 address of the link.
    pub(super) async fn restore(&self) {
        if self.networks.is_empty() {
            return;
        }
        let add = self.handle.route().add(self.default_route()).replace();
        if let Err(error) = add.execute().await {
            tracing::error!(%error, "the route from inside was lost");
        }
    }

    /// Puts back what others took away, and adds it to `again`.
    pub(super) async fn heal(&self, again: &mut Vec<String>) -> Result<(), LinkError> {
        let mut routes = Vec::new();
        if !self.networks.is_empty() {
            routes.push(("route from inside".to_owned(), self.default_route()));
        }
        for network in &self.past {
            let what = format!("route to {network} past the link");
            routes.push((what, self.exception(*network)));
        }
        for (what, route) in routes {
            let add = self.handle.route().add(route).execute().await;
            if is_new(add.map_err(LinkError::refused(what.clone())))? {
                again.push(what);
            }
        }
        for network in &self.networks {
            let mut request = self.handle.rule().add();
            *request.message_mut() = self.rule(*network);
            let add = request.execute().await;
            if is_new(add.map_err(LinkError::refused(what(*network))))? {
                again.push(what(*network));
            }
        }
        Ok(())
    }

    /// Takes everything back.
    pub(super) async fn clear(&mut self) {
        self.shrink(&BTreeSet::new(), &BTreeSet::new()).await;
    }

    /// Adds missing routes and rules. Rules come last, so that a packet that follows one finds the table complete.
    async fn grow(
        &mut self,
        networks: &BTreeSet<Ipv4Net>,
        past: &BTreeSet<Ipv4Net>,
    ) -> Result<(), LinkError> {
        if self.networks.is_empty() && !networks.is_empty() {
            let add = self.handle.route().add(self.default_route()).execute();
            add.await
                .map_err(LinkError::refused("route from inside".to_owned()))?;
        }
        for network in past.difference(&self.past.clone()) {
            let add = self.handle.route().add(self.exception(*network)).execute();
            let refused = LinkError::refused(format!("route to {network} past the link"));
            add.await.map_err(refused)?;
            self.past.insert(*network);
        }
        for network in networks.difference(&self.networks.clone()) {
            let mut request = self.handle.rule().add();
            *request.message_mut() = self.rule(*network);
            let refused = LinkError::refused(what(*network));
            request.execute().await.map_err(refused)?;
            self.networks.insert(*network);
        }
        Ok(())
    }

    /// Removes other routes and rules than these. Errors are logged.
    async fn shrink(&mut self, networks: &BTreeSet<Ipv4Net>, past: &BTreeSet<Ipv4Net>) {
        let mut results = Vec::new();
        for network in self.networks.difference(networks) {
            let rule = self.rule(*network);
            results.push((what(*network), self.handle.rule().del(rule).execute().await));
        }
        let mut routes = Vec::new();
        for network in self.past.difference(past) {
            routes.push((format!("route to {network}"), self.exception(*network)));
        }
        if networks.is_empty() && !self.networks.is_empty() {
            routes.push(("route from inside".to_owned(), self.default_route()));
        }
        for (what, route) in routes {
            results.push((what, self.handle.route().del(route).execute().await));
        }
        for (what, result) in results {
            if let Err(error) = result {
                tracing::warn!(%error, "the {what} could not be removed");
            }
        }
        self.networks.retain(|network| networks.contains(network));
        self.past.retain(|network| past.contains(network));
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

    /// Packets to an inside host, or to a destination that is exempt, look into the machine's own tables.
    fn exception(&self, network: Ipv4Net) -> RouteMessage {
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

fn what(network: Ipv4Net) -> String {
    format!("route from {network}")
}

/// The number of the table of a link: [`PROTOCOL`] and 24 bits of the hash of its name, so that a restart
/// finds it again, and several gateways of a machine do not meet.
pub(super) fn table_of(name: &str) -> u32 {
    u32::from(PROTOCOL) << 24 | hash::of_name(name) & 0x00ff_ffff
}
