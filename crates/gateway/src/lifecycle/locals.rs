//! The IPv6 addresses of the machine's own CLATs, which follow the networks of their uplinks.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rtnetlink::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::config::Document;
use crate::link::{LinkError, Local, Uplink};

/// Time between two looks at the uplink.
const LOOK: Duration = Duration::from_secs(1);
/// Time until addresses of a network are tried again after all were taken.
const PATIENCE: Duration = Duration::from_secs(60);

/// The addresses, by instance.
#[derive(Debug)]
pub(super) struct Locals {
    running: BTreeMap<String, Running>,
    news: Arc<Notify>,
}

/// An address, and the task that keeps it.
#[derive(Debug)]
struct Running {
    uplink: String,
    found: Found,
    task: JoinHandle<()>,
}

/// The address that the task has found; `None` while there is none.
type Found = Arc<Mutex<Option<Ipv6Addr>>>;

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Locals {
    /// None yet. Whenever another address is found, `news` is notified.
    pub(super) fn new(news: Arc<Notify>) -> Self {
        Self {
            running: BTreeMap::new(),
            news,
        }
    }

    /// Gives the instances of a configuration the addresses that are known.
    pub(super) fn fill_in(&self, document: &mut Document) {
        let known = |(instance, uplink): (&str, &str)| {
            let running = self.running.get(instance);
            let found = running.filter(|running| running.uplink == uplink);
            (instance.to_owned(), found.and_then(Running::found))
        };
        let wanted: Vec<_> = wanted(document).map(known).collect();
        for (instance, local) in wanted {
            document.set_local(&instance, local);
        }
    }

    /// Makes the tasks what `document` wants.
    pub(super) fn apply(&mut self, document: &Document) {
        let mut before = std::mem::take(&mut self.running);
        for (instance, uplink) in wanted(document) {
            let old = before.remove(instance);
            let running = old.filter(|running| running.uplink == uplink);
            let running = running.unwrap_or_else(|| self.start(instance, uplink));
            self.running.insert(instance.to_owned(), running);
        }
    }

    /// Ends all.
    pub(super) fn stop(&mut self) {
        self.running.clear();
    }

    fn start(&self, instance: &str, uplink: &str) -> Running {
        let found = Found::default();
        let keeper = Keeper {
            instance: instance.to_owned(),
            uplink: uplink.to_owned(),
            found: Arc::clone(&found),
            news: Arc::clone(&self.news),
        };
        Running {
            uplink: uplink.to_owned(),
            found,
            task: tokio::spawn(keeper.run()),
        }
    }
}

impl Running {
    fn found(&self) -> Option<Ipv6Addr> {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The instances whose addresses are looked for, with their uplinks.
fn wanted(document: &Document) -> impl Iterator<Item = (&str, &str)> {
    let hosts = document.hosts().filter(|(_, host)| !host.is_fixed);
    hosts.map(|(instance, host)| (instance, host.uplink.value.as_str()))
}

/// The task of one instance.
struct Keeper {
    instance: String,
    uplink: String,
    found: Found,
    news: Arc<Notify>,
}

impl Keeper {
    async fn run(self) {
        let (connection, handle, _) = match rtnetlink::new_connection() {
            Ok(connection) => connection,
            Err(error) => {
                return tracing::error!(instance = self.instance, %error, "there will be no address");
            }
        };
        tokio::select! {
            () = connection => {}
            () = self.keep(&handle) => {}
        }
    }

    async fn keep(&self, handle: &Handle) {
        let mut local = None;
        loop {
            let wait = match self.look(handle, &mut local).await {
                Ok(wait) => wait,
                Err(error) => {
                    tracing::debug!(instance = self.instance, %error, "the uplink was not looked at");
                    LOOK
                }
            };
            sleep(wait).await;
        }
    }

    /// Has the address follow the uplink. Returns the time until it is worth to look again.
    async fn look(
        &self,
        handle: &Handle,
        local: &mut Option<Local>,
    ) -> Result<Duration, LinkError> {
        let uplink = Uplink::look(handle, &self.uplink).await?;
        let network = uplink.as_ref().and_then(|it| it.network(local.as_ref()));
        let Some((uplink, network)) = uplink.as_ref().zip(network) else {
            self.publish(None);
            *local = None;
            return Ok(LOOK);
        };
        if local
            .as_ref()
            .is_some_and(|local| local.is_of(uplink, network))
        {
            return Ok(LOOK);
        }
        // While another is tried, the one before goes on.
        let claimed = uplink.claim(handle, network, &self.instance).await?;
        self.publish(claimed.as_ref().map(|local| local.address));
        *local = claimed;
        if local.is_some() {
            return Ok(LOOK);
        }
        tracing::error!(instance = self.instance, %network, "no address is free there");
        Ok(PATIENCE)
    }

    fn publish(&self, local: Option<Ipv6Addr>) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if *found != local {
            *found = local;
            self.news.notify_one();
        }
    }
}
