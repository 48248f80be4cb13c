//! Outside addresses that are this machine's own as well: one public address, of which the pool is a range of ports.
//! The kernel would take every packet to them for itself. Rules before that of local addresses lead those into the
//! link that may belong to a session. The rest stays with the kernel, or returns to it from the link.
//!
//! In their order, for each address:
//!
//! - [`MINE`]: packets from the link are for the machine; so are TCP and UDP with a port outside the pool, fragments
//!   excepted, which show no port;
//! - [`THROUGH`]: all other TCP, UDP and ICMP goes into the link, also from the machine itself: an answer to an inside
//!   host that came by the outside address;
//! - [`LOCAL`]: the rule of local addresses, which is the first of all otherwise. Rules without a protocol would hide
//!   the address from ARP.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use futures_util::TryStreamExt;
use ipnet::{IpNet, Ipv4Net};
use netlink_packet_route::IpProtocol;
use netlink_packet_route::route::{RouteMessage, RouteProtocol};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage, RulePortRange};
use rtnetlink::{Handle, IpVersion, RouteMessageBuilder};

use super::netlink::{LinkError, PROTOCOL, is_new};
use super::sources::table_of;

/// Packets that are the machine's.
const MINE: u32 = 1;
/// Packets that may be a session's.
const THROUGH: u32 = 2;
/// The rule of local addresses, in place of [`FIRST`].
const LOCAL: u32 = 3;
/// Where the kernel has the rule of local addresses.
const FIRST: u32 = 0;
/// The table of local addresses (`RT_TABLE_LOCAL`).
const TABLE: u32 = 255;
/// `RTPROT_KERNEL`.
const KERNEL: u8 = 2;
/// The last port that a rule can name.
const LAST_PORT: u16 = u16::MAX - 1;

/// An outside address that is this machine's own as well, and the ports of the pool there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SharedAddress {
    /// The address.
    pub address: Ipv4Addr,
    /// The first and the last port.
    pub ports: (u16, u16),
}

/// The rules of a gateway.
pub(super) struct Shared {
    handle: Handle,
    name: String,
    link: u32,
    addresses: BTreeSet<SharedAddress>,
}

impl Shared {
    /// None, for the link with this number and name.
    pub(super) fn new(handle: Handle, link: u32, name: &str) -> Self {
        Self {
            handle,
            name: name.into(),
            link,
            addresses: BTreeSet::new(),
        }
    }

    /// Removes what an earlier run with a link of this name left.
    pub(super) async fn purge(&self) -> Result<(), LinkError> {
        purge(&self.handle, &self.name).await
    }

    /// Shares these addresses and no others. Returns what is there that was not, one line each.
    ///
    /// # Errors
    /// The kernel refuses something; what is there by then stays, and is completed the next time.
    pub(super) async fn change(
        &mut self,
        wanted: &BTreeSet<SharedAddress>,
    ) -> Result<Vec<String>, LinkError> {
        let gone: Vec<_> = self.addresses.difference(wanted).copied().collect();
        for shared in gone {
            self.remove(shared).await;
        }
        let mut again = Vec::new();
        if wanted.is_empty() {
            return give_back(&self.handle).await.map(|()| again);
        }
        // First the rule that leads to the machine's addresses: there is one at every moment.
        let rule = local_rule(&self.handle, LOCAL, PROTOCOL);
        if is_new(self.add_rule(rule).await)? {
            again.push("rule of local addresses".into());
        }
        for shared in wanted {
            let mut new = is_new(self.add_route(*shared).await)?;
            self.addresses.insert(*shared);
            for rule in self.rules(*shared) {
                new |= is_new(self.add_rule(rule).await)?;
            }
            if new {
                again.push(format!("sharing of {}", shared.address));
            }
        }
        // Nothing is ours before this.
        let rules = rules(&self.handle).await?.into_iter();
        for mut rule in rules.filter(|rule| is_local_rule(rule, FIRST)) {
            rule.attributes.push(RuleAttribute::Priority(FIRST));
            let removed = self.handle.rule().del(rule).execute().await;
            removed.map_err(LinkError::refused("removal of rule 0"))?;
        }
        Ok(again)
    }

    /// Takes everything back.
    pub(super) async fn clear(&mut self) {
        if self.addresses.is_empty() {
            return;
        }
        for shared in std::mem::take(&mut self.addresses) {
            self.remove(shared).await;
        }
        if let Err(error) = give_back(&self.handle).await {
            tracing::warn!(%error, "the rule of local addresses could not be put back");
        }
    }

    async fn remove(&mut self, shared: SharedAddress) {
        self.addresses.remove(&shared);
        for rule in self.rules(shared) {
            if let Err(error) = self.handle.rule().del(rule).execute().await {
                tracing::warn!(%error, address = %shared.address, "a rule could not be removed");
            }
        }
        let route = self.route(shared);
        if let Err(error) = self.handle.route().del(route).execute().await {
            tracing::debug!(%error, address = %shared.address, "a route could not be removed");
        }
    }

    async fn add_rule(&self, rule: RuleMessage) -> Result<(), LinkError> {
        let mut request = self.handle.rule().add();
        *request.message_mut() = rule;
        let added = request.execute().await;
        added.map_err(LinkError::refused("rule for an address that is shared"))
    }

    async fn add_route(&self, shared: SharedAddress) -> Result<(), LinkError> {
        let added = self.handle.route().add(self.route(shared)).execute().await;
        added.map_err(LinkError::refused(format!("route to {}", shared.address)))
    }

    fn route(&self, shared: SharedAddress) -> RouteMessage {
        RouteMessageBuilder::<Ipv4Addr>::new()
            .destination_prefix(shared.address, 32)
            .output_interface(self.link)
            .table_id(table_of(&self.name))
            .protocol(RouteProtocol::from(PROTOCOL))
            .build()
    }

    /// The rules of an address, in their order.
    fn rules(&self, shared: SharedAddress) -> Vec<RuleMessage> {
        let with = |priority, table, attributes: &[RuleAttribute]| {
            let request = self.handle.rule().add().v4();
            let mut request = request
                .destination_prefix(shared.address, 32)
                .table_id(table)
                .action(RuleAction::ToTable)
                .priority(priority);
            let attributes = attributes.iter().cloned();
            request.message_mut().attributes.extend(attributes);
            marked(request.message_mut(), PROTOCOL)
        };
        let mut rules = vec![with(
            MINE,
            TABLE,
            &[RuleAttribute::Iifname(self.name.clone())],
        )];
        for protocol in [IpProtocol::Tcp, IpProtocol::Udp] {
            for range in others(shared.ports) {
                let ports = RuleAttribute::DestinationPortRange(range);
                rules.push(with(
                    MINE,
                    TABLE,
                    &[RuleAttribute::IpProtocol(protocol), ports],
                ));
            }
        }
        for protocol in [IpProtocol::Tcp, IpProtocol::Udp, IpProtocol::Icmp] {
            let of = RuleAttribute::IpProtocol(protocol);
            rules.push(with(THROUGH, table_of(&self.name), &[of]));
        }
        rules
    }
}

/// Removes the rules that a gateway with a link of this name left that was killed.
///
/// # Errors
///
/// If the kernel refuses something.
pub async fn take_back(name: &str) -> Result<(), LinkError> {
    let (connection, handle, _) = rtnetlink::new_connection().map_err(LinkError::Socket)?;
    let connection = tokio::spawn(connection);
    let purged = purge(&handle, name).await;
    connection.abort();
    purged
}

/// An address belongs to one gateway: that whose link its rules name.
async fn purge(handle: &Handle, name: &str) -> Result<(), LinkError> {
    let rules: Vec<_> = rules(handle).await?.into_iter().filter(is_ours).collect();
    let link = RuleAttribute::Iifname(name.into());
    let named = rules.iter().filter(|rule| rule.attributes.contains(&link));
    let addresses: Vec<_> = named.filter_map(destination).collect();
    for rule in rules {
        if destination(&rule).is_some_and(|address| addresses.contains(&address)) {
            tracing::warn!("a routing rule of an earlier run was removed");
            let removed = handle.rule().del(rule).execute().await;
            removed.map_err(LinkError::refused(
                "removal of a routing rule of an earlier run",
            ))?;
        }
    }
    give_back(handle).await
}

/// Puts the rule of local addresses back where the kernel has it, unless somebody needs it elsewhere.
async fn give_back(handle: &Handle) -> Result<(), LinkError> {
    let moved = has(handle, |rule| is_local_rule(rule, LOCAL)).await?;
    if !moved || has(handle, is_ours).await? {
        return Ok(());
    }
    let mut request = handle.rule().add();
    *request.message_mut() = local_rule(handle, FIRST, KERNEL);
    let added = request.execute().await;
    is_new(added.map_err(LinkError::refused("rule of local addresses")))?;
    let rule = local_rule(handle, LOCAL, PROTOCOL);
    let removed = handle.rule().del(rule).execute().await;
    removed.map_err(LinkError::refused("removal of rule 3"))
}

async fn rules(handle: &Handle) -> Result<Vec<RuleMessage>, LinkError> {
    let rules = handle.rule().get(IpVersion::V4).execute();
    let rules: Result<Vec<RuleMessage>, _> = rules.try_collect().await;
    rules.map_err(LinkError::refused("list of routing rules"))
}

async fn has(handle: &Handle, is: impl Fn(&RuleMessage) -> bool) -> Result<bool, LinkError> {
    Ok(rules(handle).await?.iter().any(is))
}

fn destination(rule: &RuleMessage) -> Option<IpAddr> {
    rule.attributes
        .iter()
        .find_map(|attribute| match attribute {
            RuleAttribute::Destination(address) => Some(*address),
            _ => None,
        })
}

/// Whether it is a rule of an address, of this gateway or another one.
fn is_ours(rule: &RuleMessage) -> bool {
    let protocol = RuleAttribute::Protocol(RouteProtocol::from(PROTOCOL));
    rule.attributes.contains(&protocol) && [MINE, THROUGH].contains(&priority(rule))
}

/// Whether it is the rule of local addresses at this place.
fn is_local_rule(rule: &RuleMessage, place: u32) -> bool {
    let header = &rule.header;
    priority(rule) == place
        && header.src_len == 0
        && header.dst_len == 0
        && rule.attributes.contains(&RuleAttribute::Table(TABLE))
}

/// The kernel leaves it out if it is 0.
fn priority(rule: &RuleMessage) -> u32 {
    let mut attributes = rule.attributes.iter();
    let priority = attributes.find_map(|attribute| match attribute {
        RuleAttribute::Priority(priority) => Some(*priority),
        _ => None,
    });
    priority.unwrap_or(0)
}

fn local_rule(handle: &Handle, place: u32, protocol: u8) -> RuleMessage {
    let request = handle.rule().add().v4();
    let mut request = request
        .table_id(TABLE)
        .action(RuleAction::ToTable)
        .priority(place);
    marked(request.message_mut(), protocol)
}

fn marked(message: &mut RuleMessage, protocol: u8) -> RuleMessage {
    let protocol = RouteProtocol::from(protocol);
    message.attributes.push(RuleAttribute::Protocol(protocol));
    message.clone()
}

/// The ports before and behind the pool's, as far as rules can name them.
fn others((low, high): (u16, u16)) -> impl Iterator<Item = RulePortRange> {
    let before = (low > 1).then(|| RulePortRange {
        start: 1,
        end: low - 1,
    });
    let behind = (high < LAST_PORT).then(|| RulePortRange {
        start: high + 1,
        end: LAST_PORT,
    });
    before.into_iter().chain(behind)
}

/// The addresses of pools that are among those of the machine.
pub fn shared_among(
    pools: impl IntoIterator<Item = (Ipv4Net, (u16, u16))>,
    own: &[IpNet],
) -> BTreeSet<SharedAddress> {
    let shared = |(network, ports): (Ipv4Net, (u16, u16))| {
        own.iter().filter_map(move |own| match own {
            IpNet::V4(own) if network.contains(&own.addr()) => Some(SharedAddress {
                address: own.addr(),
                ports,
            }),
            _ => None,
        })
    };
    pools.into_iter().flat_map(shared).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_the_ports_around_a_pool() {
        let others =
            |ports| -> Vec<_> { super::others(ports).map(|it| (it.start, it.end)).collect() };
        assert_eq!(others((1024, 40_000)), [(1, 1023), (40_001, 65_534)]);
        assert_eq!(others((1, 65_535)), []);
        assert_eq!(others((1, 65_534)), []);
        assert_eq!(others((1, 65_533)), [(65_534, 65_534)]);
        assert_eq!(others((2, 65_535)), [(1, 1)]);
    }

    #[test]
    fn an_address_is_shared_that_the_machine_has() {
        let pool = |text: &str| (text.parse().unwrap(), (1024, 40_000));
        let own =
            ["192.0.2.1/24", "203.0.113.9/32", "2001:db8::1/64"].map(|it| it.parse().unwrap());
        let shared = shared_among([pool("203.0.113.8/29"), pool("198.51.100.0/24")], &own);
        let expected = SharedAddress {
            address: "203.0.113.9".parse().unwrap(),
            ports: (1024, 40_000),
        };
        assert_eq!(shared, BTreeSet::from([expected]));
    }
}
