//! The IPv4 default route of a machine that has its own CLAT.

use std::net::Ipv4Addr;

use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteMetric, RouteProtocol};
use rtnetlink::{Handle, RouteMessageBuilder};

use super::netlink::{Changes, LinkError, PROTOCOL, is_new};
use crate::config::METRIC;

/// The difference between the IPv6 header and that of IPv4.
const LONGER_BY: u32 = 20;

/// Where a machine's own IPv4 packets go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRoute {
    /// Their source.
    pub source: Ipv4Addr,
    /// The link that they leave by once they are translated.
    pub uplink: String,
}

/// The route on a link.
pub(super) struct Default {
    handle: Handle,
    link: u32,
    wanted: Option<HostRoute>,
    /// That of the route that is there.
    mtu: u32,
}

impl Default {
    /// None, for the link with this number.
    pub(super) fn new(handle: Handle, link: u32) -> Self {
        Self {
            handle,
            link,
            wanted: None,
            mtu: 0,
        }
    }

    /// The route that was asked for.
    pub(super) const fn wanted(&self) -> &Option<HostRoute> {
        &self.wanted
    }

    /// Makes it this one.
    pub(super) async fn change(
        &mut self,
        wanted: &Option<HostRoute>,
        changes: &mut Changes,
    ) -> Result<(), LinkError> {
        if self.wanted == *wanted {
            return Ok(());
        }
        if let Some(before) = self.wanted.take() {
            changes.removed.push(what(&before));
            self.remove(&before).await;
        }
        if let Some(route) = wanted {
            self.mtu = mtu(&route.uplink);
            let add = self.handle.route().add(self.message(route)).execute();
            add.await.map_err(LinkError::refused(what(route)))?;
            changes.added.push(what(route));
            self.wanted = Some(route.clone());
        }
        Ok(())
    }

    /// Puts it back if somebody took it away, and adds it to `again`.
    pub(super) async fn heal(&mut self, again: &mut Vec<String>) -> Result<(), LinkError> {
        self.follow().await;
        let Some(route) = &self.wanted else {
            return Ok(());
        };
        let add = self.handle.route().add(self.message(route)).execute().await;
        if is_new(add.map_err(LinkError::refused(what(route))))? {
            again.push(what(route));
        }
        Ok(())
    }

    /// Gives the route the MTU of the uplink, if that has changed.
    pub(super) async fn follow(&mut self) {
        let Some(route) = &self.wanted else {
            return;
        };
        let now = mtu(&route.uplink);
        if now == self.mtu {
            return;
        }
        self.mtu = now;
        let add = self.handle.route().add(self.message(route)).replace();
        match add.execute().await {
            Ok(()) => tracing::info!(
                uplink = route.uplink,
                mtu = now,
                "the MTU of the {} is another",
                what(route)
            ),
            Err(error) => tracing::warn!(%error, "the {} could not be changed", what(route)),
        }
    }

    /// Takes it back.
    pub(super) async fn clear(&mut self) {
        if let Some(route) = self.wanted.take() {
            self.remove(&route).await;
        }
    }

    async fn remove(&self, route: &HostRoute) {
        let removed = self.handle.route().del(self.message(route)).execute().await;
        if let Err(error) = removed {
            tracing::warn!(%error, "the {} could not be removed", what(route));
        }
    }

    fn message(&self, route: &HostRoute) -> RouteMessage {
        let mut message = RouteMessageBuilder::<Ipv4Addr>::new()
            .output_interface(self.link)
            .pref_source(route.source)
            .priority(METRIC)
            .protocol(RouteProtocol::from(PROTOCOL))
            .build();
        let metrics = vec![RouteMetric::Mtu(self.mtu)];
        message.attributes.push(RouteAttribute::Metrics(metrics));
        message
    }
}

/// The most bytes of an IPv4 packet that fit the uplink when they are translated. Routers may announce less than the
/// link could carry.
fn mtu(uplink: &str) -> u32 {
    const LEAST: u32 = 1280;
    let path = format!("/proc/sys/net/ipv6/conf/{uplink}/mtu");
    let value = std::fs::read_to_string(path).ok();
    let value = value.and_then(|text| text.trim().parse().ok());
    value.unwrap_or(1500).clamp(LEAST, 65_535) - LONGER_BY
}

fn what(route: &HostRoute) -> String {
    format!("default route from {}", route.source)
}
