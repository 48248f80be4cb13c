//! Hears from the kernel when somebody takes away what the gateway put on its link.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::RouteProtocol;
use netlink_packet_route::rule::RuleAttribute;
use rtnetlink::MulticastGroup;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::netlink::{LinkError, PROTOCOL};

/// Time for a change to become complete: a network manager flushes one route after the other.
const QUIET: Duration = Duration::from_millis(200);

/// Announcements that may be about us.
const GROUPS: [MulticastGroup; 7] = [
    MulticastGroup::Link,
    MulticastGroup::Ipv4Ifaddr,
    MulticastGroup::Ipv6Ifaddr,
    MulticastGroup::Ipv4Route,
    MulticastGroup::Ipv6Route,
    MulticastGroup::Ipv4Rule,
    MulticastGroup::Ipv6Rule,
];

/// The listener.
#[derive(Debug)]
pub struct Monitor {
    changed: Arc<Notify>,
    tasks: [JoinHandle<()>; 2],
}

impl Monitor {
    /// Listens for changes of the link with this number, of routes and rules with our mark, and of addresses.
    ///
    /// # Errors
    /// There is no socket to be had.
    pub fn start(link: u32) -> Result<Self, LinkError> {
        let (connection, _, mut announcements) =
            rtnetlink::new_multicast_connection(&GROUPS).map_err(LinkError::Socket)?;
        let changed = Arc::new(Notify::new());
        let notify = Arc::clone(&changed);
        let listen = async move {
            while let Some((message, _)) = announcements.next().await {
                if !is_about(&message, link) {
                    continue;
                }
                tokio::time::sleep(QUIET).await;
                // Whatever was lost by now is put back at once.
                while let Some(Some(_)) = announcements.next().now_or_never() {}
                notify.notify_one();
            }
        };
        Ok(Self {
            changed,
            tasks: [tokio::spawn(connection), tokio::spawn(listen)],
        })
    }

    /// The signal that a change gives.
    #[must_use]
    pub fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.changed)
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Whether an announcement may be of a loss, or of another address of the machine. Announcements that were lost may
/// have been.
fn is_about(message: &NetlinkMessage<RouteNetlinkMessage>, link: u32) -> bool {
    match &message.payload {
        NetlinkPayload::InnerMessage(inner) => match inner {
            RouteNetlinkMessage::NewLink(it) | RouteNetlinkMessage::DelLink(it) => {
                it.header.index == link
            }
            // The machine may have got an address of a pool, or a network that one is in.
            RouteNetlinkMessage::NewAddress(_) | RouteNetlinkMessage::DelAddress(_) => true,
            RouteNetlinkMessage::DelRoute(it) => {
                it.header.protocol == RouteProtocol::from(PROTOCOL)
            }
            RouteNetlinkMessage::DelRule(it) => {
                let ours = RuleAttribute::Protocol(RouteProtocol::from(PROTOCOL));
                it.attributes.contains(&ours)
            }
            _ => false,
        },
        NetlinkPayload::Overrun(_) => true,
        _ => false,
    }
}
