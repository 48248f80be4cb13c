//! Rules that refuse what only inside hosts may send, where it comes in over a link to the outside: packets to the
//! prefix of a NAT64 or NAT-PT or to an AFTR, and packets from the inside networks of a NAT within IPv4.

use std::collections::BTreeSet;

use ipnet::IpNet;
use netlink_packet_route::route::RouteProtocol;
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use rtnetlink::Handle;

use super::netlink::{Changes, LinkError, PROTOCOL, is_new};

/// Where these rules stand among others: before those that lead into our link.
const PRIORITY: u32 = 14_500;

/// Refused packets: those that come in over a link, from an IPv4 network or to an IPv6 network.
pub type Refused = (String, IpNet);

/// The rules of a gateway.
pub(super) struct Outside {
    handle: Handle,
    /// The table that marks them as ours; nobody looks into it by them.
    table: u32,
    refused: BTreeSet<Refused>,
}

impl Outside {
    /// None, with this mark.
    pub(super) fn new(handle: Handle, table: u32) -> Self {
        Self {
            handle,
            table,
            refused: BTreeSet::new(),
        }
    }

    /// The packets that are refused now.
    pub(super) const fn refused(&self) -> &BTreeSet<Refused> {
        &self.refused
    }

    /// Makes the rules these, all or nothing.
    pub(super) async fn change(
        &mut self,
        wanted: &BTreeSet<Refused>,
        changes: &mut Changes,
    ) -> Result<(), LinkError> {
        let before = self.refused.clone();
        for refused in wanted.difference(&before) {
            if let Err(error) = self.add(refused).await {
                self.keep(&before).await;
                return Err(error);
            }
            self.refused.insert(refused.clone());
            changes.added.push(what(refused));
        }
        self.keep(wanted).await;
        changes.removed.extend(before.difference(wanted).map(what));
        Ok(())
    }

    /// Puts back what others took away, and adds it to `again`.
    pub(super) async fn heal(&self, again: &mut Vec<String>) -> Result<(), LinkError> {
        for refused in &self.refused {
            if is_new(self.add(refused).await)? {
                again.push(what(refused));
            }
        }
        Ok(())
    }

    /// Takes everything back.
    pub(super) async fn clear(&mut self) {
        self.keep(&BTreeSet::new()).await;
    }

    async fn add(&self, refused: &Refused) -> Result<(), LinkError> {
        let mut request = self.handle.rule().add();
        *request.message_mut() = self.rule(refused);
        let added = request.execute().await;
        added.map_err(LinkError::refused(what(refused)))
    }

    /// Removes other rules than these. Errors are logged.
    async fn keep(&mut self, wanted: &BTreeSet<Refused>) {
        for refused in self.refused.difference(wanted) {
            let rule = self.rule(refused);
            if let Err(error) = self.handle.rule().del(rule).execute().await {
                tracing::warn!(%error, "the {} could not be removed", what(refused));
            }
        }
        self.refused.retain(|refused| wanted.contains(refused));
    }

    fn rule(&self, (link, network): &Refused) -> RuleMessage {
        let request = self
            .handle
            .rule()
            .add()
            .input_interface(link.as_str())
            .table_id(self.table)
            .action(RuleAction::Blackhole)
            .priority(PRIORITY);
        let mut message = match network {
            IpNet::V4(network) => {
                let mut request = request.v4();
                request = request.source_prefix(network.network(), network.prefix_len());
                request.message_mut().clone()
            }
            IpNet::V6(network) => {
                let mut request = request.v6();
                request = request.destination_prefix(network.network(), network.prefix_len());
                request.message_mut().clone()
            }
        };
        let protocol = RouteProtocol::from(PROTOCOL);
        message.attributes.push(RuleAttribute::Protocol(protocol));
        message
    }
}

fn what((link, network): &Refused) -> String {
    match network {
        IpNet::V4(_) => format!("refusal of packets from {network} on {link}"),
        IpNet::V6(_) => format!("refusal of packets to {network} on {link}"),
    }
}
