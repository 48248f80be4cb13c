//! Hosts of ISATAP links: they ask the routers of their list, and have the addresses that are made of what
//! those announce (RFC 5214 section 8.3).
//!
//! Questions and answers go through the gateway's link, with the link-local address that it has there; the
//! packet path puts them into IPv4 packets. Addresses go with the link, or end as the router said.

mod advertisement;
mod host;
mod routers;

use std::net::Ipv4Addr;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::config::{Document, Mechanism};

pub use advertisement::{Advertisement, Prefix};
use host::Host;
pub use routers::RouterLists;

/// A host that has to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Site {
    instance: String,
    local: Ipv4Addr,
    routers: Vec<Ipv4Addr>,
}

/// The hosts of all links, each at work.
#[derive(Debug, Default)]
pub struct Solicitors {
    running: Vec<(Site, Running)>,
}

/// A task, and the sender that ends it.
#[derive(Debug)]
struct Running {
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// A task that ends when this is dropped.
#[derive(Debug)]
struct Ending(JoinHandle<()>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Running {
    async fn end(self) {
        // Fails if it has ended by itself.
        let _ = self.end.send(());
        let _ = self.task.await;
    }
}

impl Solicitors {
    /// Makes the hosts those of `document`; the gateway's link has this number and name. One that cannot
    /// ask says so in the log, and the rest of the gateway works.
    pub async fn apply(&mut self, document: &Document, index: u32, link: &str) {
        let wanted = sites(document);
        let mut kept = Vec::new();
        for (site, running) in std::mem::take(&mut self.running) {
            if wanted.contains(&site) && !running.task.is_finished() {
                kept.push((site, running));
            } else {
                running.end().await;
            }
        }
        for site in wanted {
            if kept.iter().any(|(there, _)| *there == site) {
                continue;
            }
            let host = Host::new(index, link, site.local, site.routers.clone());
            let instance = site.instance.clone();
            let (end, ending) = oneshot::channel();
            let task = tokio::spawn(async move {
                if let Err(error) = host.run(ending).await {
                    tracing::error!(instance, %error, "routers cannot be asked for a prefix");
                }
            });
            kept.push((site, Running { end, task }));
        }
        self.running = kept;
    }

    /// Ends all.
    pub async fn stop(&mut self) {
        for (_, running) in std::mem::take(&mut self.running) {
            running.end().await;
        }
    }
}

fn sites(document: &Document) -> Vec<Site> {
    let site = |instance: &crate::config::Instance| match &instance.mechanism {
        Mechanism::Composed(composed) if composed.solicits && !composed.is_waiting() => {
            Some(Site {
                instance: instance.name.value.clone(),
                local: composed.own.0?,
                routers: composed.routers().to_vec(),
            })
        }
        _ => None,
    };
    document.instances.iter().filter_map(site).collect()
}
