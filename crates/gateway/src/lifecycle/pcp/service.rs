//! A PCP server, as its tasks share it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ipnet::IpNet;
use isthmus_pcp::{Limits, Server};
use tokio::sync::watch;

use super::super::view::lock;
use super::ports::NatPorts;
use crate::config;

/// How often mappings whose time is over are looked for.
const TICK: Duration = Duration::from_secs(1);

/// A server, its permitted clients, and its clock.
pub(super) struct Service {
    server: Mutex<Server<NatPorts>>,
    /// Everybody if empty.
    clients: Mutex<Vec<IpNet>>,
    started: Instant,
    /// Changes when the server loses its mappings.
    epoch: watch::Sender<()>,
}

impl Service {
    pub(super) fn new(ports: NatPorts, wanted: &config::Pcp) -> Self {
        Self {
            server: Mutex::new(Server::new(ports, limits(wanted), Duration::ZERO)),
            clients: Mutex::new(clients(wanted)),
            started: Instant::now(),
            epoch: watch::Sender::new(()),
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn server(&self) -> MutexGuard<'_, Server<NatPorts>> {
        lock(&self.server)
    }

    /// The answer to a datagram, if there is to be one.
    pub(super) fn answer(&self, source: IpAddr, request: &[u8]) -> Option<Vec<u8>> {
        let source = source.to_canonical();
        let may = may_ask(&lock(&self.clients), source);
        may.then(|| self.server().answer(self.now(), source, request))?
    }

    /// The same for a datagram from a softwire.
    pub(super) fn answer_in_softwire(
        &self,
        customer: Ipv6Addr,
        source: Ipv4Addr,
        request: &[u8],
    ) -> Option<Vec<u8>> {
        let may = may_ask(&lock(&self.clients), customer.into());
        let answer = || {
            let now = self.now();
            self.server()
                .answer_in_softwire(now, customer, source, request)
        };
        may.then(answer)?
    }

    /// The message to hosts that their mappings are gone.
    pub(super) fn announcement(&self) -> Vec<u8> {
        self.server().announcement(self.now())
    }

    /// Changes when the server has lost its mappings.
    pub(super) fn epoch(&self) -> watch::Receiver<()> {
        self.epoch.subscribe()
    }

    /// The instance has another number, and is the same in all else.
    pub(super) fn renumber(&self, ports: &NatPorts) {
        self.server().ports_mut().renumber(ports);
    }

    /// Begins anew for another instance.
    pub(super) fn restart(&self, ports: NatPorts, wanted: &config::Pcp) {
        *lock(&self.clients) = clients(wanted);
        self.server().restart(self.now(), ports, limits(wanted));
        self.epoch.send_replace(());
    }

    /// Gives all ports back.
    pub(super) fn clear(&self) {
        self.server().clear();
    }

    /// Ends mappings when their time is over.
    pub(super) async fn expire(self: Arc<Self>) {
        loop {
            tokio::time::sleep(TICK).await;
            self.server().expire(self.now());
        }
    }
}

/// The limits and the permitted clients of a server.
pub(super) fn terms(wanted: &config::Pcp) -> (Limits, Vec<IpNet>) {
    (limits(wanted), clients(wanted))
}

fn limits(wanted: &config::Pcp) -> Limits {
    let (shortest, longest) = wanted.lifetime;
    Limits {
        shortest: Duration::from_secs(shortest.into()),
        longest: Duration::from_secs(longest.into()),
        per_host: wanted.per_host as usize,
        per_subscriber: Limits::default()
            .per_subscriber
            .max(wanted.per_host as usize),
        ..Limits::default()
    }
}

/// Whether a source may ask; every source may if there are no `clients`.
pub(super) fn may_ask(clients: &[IpNet], source: IpAddr) -> bool {
    clients.is_empty() || clients.iter().any(|net| net.contains(&source))
}

fn clients(wanted: &config::Pcp) -> Vec<IpNet> {
    wanted.clients.iter().map(|at| at.value).collect()
}
