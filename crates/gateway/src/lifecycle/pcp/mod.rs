//! PCP and NAT-PMP as a part of the gateway: a server for every instance whose hosts may ask for
//! ports, and a proxy for every one whose ports are elsewhere.

mod listener;
mod own;
mod ports;
mod relay;
mod service;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use isthmus_core::mechanism::Hosts;
use isthmus_engine::counters::Counters;
use isthmus_engine::memory::Region;
use isthmus_pcp::Limits;
use tokio::task::JoinHandle;

use super::UpError;
use super::described::{self, Described};
use super::tables::Table;
use crate::config::{self, Document};
use listener::Listener;
use ports::NatPorts;
use relay::Relays;
use service::Service;

pub(super) use own::Own;

/// The servers and proxies.
pub(super) struct Pcp {
    state: Arc<Region>,
    counters: Arc<Counters>,
    served: BTreeMap<String, Served>,
    own: Arc<Own>,
    relays: Relays,
}

/// The server of one instance.
struct Served {
    /// Its instance and limits: mappings of another instance have no place in it.
    terms: Terms,
    service: Arc<Service>,
    listening: BTreeMap<IpAddr, JoinHandle<()>>,
    expiring: JoinHandle<()>,
}

/// The instance, the limits of its server, and the clients that it serves.
type Terms = (Option<Described>, (Limits, Vec<IpNet>));

/// Sockets that a configuration needs and that are not there yet, by instance.
pub(super) struct Opened {
    listeners: BTreeMap<String, Vec<Listener>>,
    relays: relay::Opened,
}

impl Pcp {
    /// No servers; the tables of all instances lie in `state`. The engines hand packets for the gateway to
    /// `own`.
    pub(super) fn new(state: Arc<Region>, own: Arc<Own>) -> Self {
        Self {
            state,
            counters: Arc::default(),
            served: BTreeMap::new(),
            own,
            relays: Relays::default(),
        }
    }

    /// The counters: bindings that hosts asked for.
    pub(super) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Opens the sockets that `document` needs besides those that are there. `described` shows which
    /// instances are what they were.
    ///
    /// # Errors
    ///
    /// If one cannot be had; nothing has changed then.
    pub(super) async fn open(
        &self,
        document: &Document,
        described: &[Described],
    ) -> Result<Opened, UpError> {
        let mut listeners: BTreeMap<String, Vec<Listener>> = BTreeMap::new();
        for (name, wanted) in wanted(document) {
            let served = self.served.get(name);
            for address in wanted.listen.iter().map(|at| at.value) {
                if served.is_some_and(|served| served.listening.contains_key(&address)) {
                    continue;
                }
                let refused = UpError::system(format!("PCP of instance {name} at {address}"));
                let listener = Listener::open(address).await.map_err(refused)?;
                listeners.entry(name.to_owned()).or_default().push(listener);
            }
        }
        let relays = self.relays.open(document, described).await?;
        Ok(Opened { listeners, relays })
    }

    /// Runs the servers of `document`. This comes before its tables are swept, because it releases expired mappings.
    /// `described` shows which instances are unchanged.
    pub(super) async fn apply(
        &mut self,
        mut opened: Opened,
        document: &Document,
        tables: &[Table],
        described: &[Described],
    ) {
        let mut before = std::mem::take(&mut self.served);
        let mut in_softwires = BTreeMap::new();
        for (name, wanted) in wanted(document) {
            let Some(table) = tables.iter().find(|table| &*table.name == name) else {
                continue;
            };
            let terms = (
                described::find(described, name).cloned(),
                service::terms(wanted),
            );
            let ports = NatPorts::new(&self.state, &self.counters, table);
            let mut served = match before.remove(name) {
                Some(served) => served.changed(terms, ports, wanted),
                None => Served::start(terms, ports, wanted),
            };
            let opened = opened.listeners.remove(name).unwrap_or_default();
            served.listen(wanted, opened).await;
            if let (true, Hosts::Softwires { local, .. }) = (wanted.in_softwires, table.hosts) {
                in_softwires.insert(local.into(), Arc::clone(&served.service));
            }
            self.served.insert(name.to_owned(), served);
        }
        self.own.serve(in_softwires);
        let ports = |name: &str| {
            let table = tables.iter().find(|table| &*table.name == name)?;
            Some(NatPorts::new(&self.state, &self.counters, table))
        };
        let (relays, own) = (&mut self.relays, &self.own);
        relays.apply(opened.relays, document, own, ports).await;
        for served in before.into_values() {
            served.stop().await;
        }
    }

    /// Ends all servers.
    pub(super) async fn stop(&mut self) {
        self.relays.stop().await;
        self.own.serve(BTreeMap::new());
        for served in std::mem::take(&mut self.served).into_values() {
            served.stop().await;
        }
    }
}

/// The instances whose hosts may ask, by name.
fn wanted(document: &Document) -> impl Iterator<Item = (&str, &config::Pcp)> {
    document.instances.iter().filter_map(|instance| {
        let pcp = instance.mechanism.nat()?.pcp.as_ref()?;
        Some((instance.name.value.as_str(), pcp))
    })
}

impl Served {
    fn start(terms: Terms, ports: NatPorts, wanted: &config::Pcp) -> Self {
        let service = Arc::new(Service::new(ports, wanted));
        Self {
            terms,
            expiring: tokio::spawn(Arc::clone(&service).expire()),
            service,
            listening: BTreeMap::new(),
        }
    }

    /// The same server for what the instance is now.
    fn changed(self, terms: Terms, ports: NatPorts, wanted: &config::Pcp) -> Self {
        if self.terms == terms {
            self.service.renumber(&ports);
        } else {
            self.service.restart(ports, wanted);
        }
        Self { terms, ..self }
    }

    /// Listens where it is wanted, and nowhere else.
    async fn listen(&mut self, wanted: &config::Pcp, opened: Vec<Listener>) {
        let gone: Vec<IpAddr> = self
            .listening
            .keys()
            .copied()
            .filter(|address| wanted.listen.iter().all(|at| at.value != *address))
            .collect();
        for address in gone {
            if let Some(task) = self.listening.remove(&address) {
                end(task).await;
            }
        }
        for listener in opened {
            let address = listener.address();
            let task = tokio::spawn(listener.run(Arc::clone(&self.service)));
            self.listening.insert(address, task);
        }
    }

    async fn stop(self) {
        end(self.expiring).await;
        for task in self.listening.into_values() {
            end(task).await;
        }
        self.service.clear();
    }
}

async fn end(task: JoinHandle<()>) {
    task.abort();
    // A task that was aborted has dropped what it held.
    let _ = task.await;
}
