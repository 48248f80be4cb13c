//! Potential router lists that are not configured: the machine's resolver is asked for a name, which the
//! hosts file, the DNS or another source of the machine may know (RFC 5214 section 8.3.2).

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use isthmus_core::address::special;
use isthmus_core::config::Routers;
use tokio::sync::{Notify, oneshot};

use super::Ending;
use crate::config::Document;

/// PrlRefreshInterval (RFC 5214 section 9).
const REFRESH: Duration = Duration::from_secs(3600);
/// Between two questions while nothing is known, at first and at most.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(64);

/// The lists of all hosts that look for one, by instance.
#[derive(Debug)]
pub struct RouterLists {
    running: BTreeMap<String, Running>,
    news: Arc<Notify>,
}

/// A list, and the task that keeps it.
#[derive(Debug)]
struct Running {
    name: String,
    found: Arc<Mutex<Vec<Ipv4Addr>>>,
    _task: Ending,
}

impl RouterLists {
    /// None yet. Whenever another list is found, `news` is notified.
    #[must_use]
    pub fn new(news: Arc<Notify>) -> Self {
        Self {
            running: BTreeMap::new(),
            news,
        }
    }

    /// Gives the instances of a configuration the routers that are known.
    pub fn fill_in(&self, document: &mut Document) {
        let wanted: Vec<_> = document
            .potential_routers()
            .filter_map(|(instance, potential)| {
                let running = self.running.get(instance)?;
                let known = (running.name == potential.name).then(|| running.found());
                Some((instance.to_owned(), known?))
            })
            .collect();
        for (instance, found) in wanted {
            document.set_routers(&instance, found);
        }
    }

    /// Makes the tasks what `document` wants.
    pub fn apply(&mut self, document: &Document) {
        let mut before = std::mem::take(&mut self.running);
        for (instance, potential) in document.potential_routers() {
            let old = before.remove(instance);
            let running = old.filter(|running| running.name == potential.name);
            let running = running.unwrap_or_else(|| self.start(&potential.name));
            self.running.insert(instance.to_owned(), running);
        }
    }

    /// Ends all.
    pub fn stop(&mut self) {
        self.running.clear();
    }

    fn start(&self, name: &str) -> Running {
        let found = Arc::default();
        let task = keep(name.to_owned(), Arc::clone(&found), Arc::clone(&self.news));
        Running {
            name: name.to_owned(),
            found,
            _task: Ending(tokio::spawn(task)),
        }
    }
}

impl Running {
    fn found(&self) -> Vec<Ipv4Addr> {
        let found = self.found.lock();
        found.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Asks again and again. A list that was found stays when no resolver answers any more: routers are likelier to
/// be there than not.
async fn keep(name: String, found: Arc<Mutex<Vec<Ipv4Addr>>>, news: Arc<Notify>) {
    let mut wait = FIRST;
    loop {
        let known = match ask(&name).await {
            Ok(routers) if !routers.is_empty() => {
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                if *found != routers {
                    *found = routers;
                    news.notify_one();
                }
                true
            }
            Ok(_) => {
                tracing::debug!(name, "no router has this name");
                false
            }
            Err(error) => {
                tracing::debug!(name, %error, "the resolver knows no routers");
                false
            }
        };
        if known {
            wait = FIRST;
            tokio::time::sleep(REFRESH).await;
        } else {
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST);
        }
    }
}

/// The IPv4 addresses of a name that can be a router's, in the order of numbers: resolvers turn them round.
/// The resolver may take its time. It does so in a thread that the end of the gateway does not wait for.
async fn ask(name: &str) -> io::Result<Vec<Ipv4Addr>> {
    let (sender, receiver) = oneshot::channel();
    let name = name.to_owned();
    thread::Builder::new()
        .name("resolver".into())
        .spawn(move || {
            let addresses = (name.as_str(), 0).to_socket_addrs();
            // The receiver may be gone.
            let _ = sender.send(addresses.map(routers));
        })?;
    receiver.await.map_err(io::Error::other)?
}

fn routers(addresses: impl Iterator<Item = SocketAddr>) -> Vec<Ipv4Addr> {
    let mut routers: Vec<_> = addresses
        .filter_map(|address| match address.ip() {
            IpAddr::V4(router) => Some(router),
            IpAddr::V6(_) => None,
        })
        .filter(|router| !special::is_illegal_source_v4((*router).into()))
        .collect();
    routers.sort_unstable();
    routers.dedup();
    routers.truncate(Routers::MOST);
    routers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_four_that_can_be_routers() {
        let addresses = [
            "192.0.2.9:0",
            "[2001:db8::1]:0",
            "224.0.0.1:0",
            "192.0.2.1:0",
            "192.0.2.9:0",
            "192.0.2.3:0",
            "192.0.2.7:0",
            "192.0.2.5:0",
        ];
        let found = routers(addresses.into_iter().map(|text| text.parse().unwrap()));
        let expected = [1, 3, 5, 7].map(|last| Ipv4Addr::new(192, 0, 2, last));
        assert_eq!(found, expected);
    }
}
