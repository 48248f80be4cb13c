//! PCP proxies: requests are passed on to the server that has the ports (RFC 7648).

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ipnet::IpNet;
use isthmus_pcp::{Heard, Near, Proxy, SERVER_PORT};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::interval;

use super::super::UpError;
use super::super::described::Described;
use super::super::view::lock;
use super::listener::{Announcements, LONGEST, Listener};
use super::own::Own;
use super::ports::NatPorts;
use super::service::may_ask;
use crate::config::{Document, PcpPath, PcpProxy};

/// How often ports that are not needed any more are given back.
const TICK: Duration = Duration::from_secs(1);
/// Responses that wait for the proxy at most.
const RESPONSES: usize = 64;

/// All proxies, by the names of their instances.
#[derive(Default)]
pub(super) struct Relays(BTreeMap<String, Relay>);

/// The proxies of an instance, one for each place where it listens.
struct Relay {
    made_of: MadeOf,
    running: Vec<Running>,
}

struct Running {
    listener: Listener,
    proxy: Arc<Mutex<Proxy<NatPorts>>>,
    /// The receiver of responses that no socket gets.
    own: Option<(Arc<Own>, SocketAddrV6)>,
    task: JoinHandle<()>,
}

/// The keys of a proxy and, where it takes ports of its instance, that instance and its place.
type MadeOf = (PcpProxy, Option<(usize, Described)>);

/// The sockets of a proxy.
struct Sockets {
    listener: Listener,
    upstream: UdpSocket,
}

/// Sockets of the instances whose proxies are new or have changed.
pub(super) struct Opened(BTreeMap<String, (MadeOf, Vec<Sockets>)>);

impl Relays {
    /// Opens the sockets that `document` needs besides those that are there.
    ///
    /// # Errors
    ///
    /// If one cannot be had; nothing has changed then.
    pub(super) async fn open(
        &self,
        document: &Document,
        described: &[Described],
    ) -> Result<Opened, UpError> {
        let mut opened = BTreeMap::new();
        for (name, wanted) in wanted(document) {
            let made_of = made_of(name, wanted, described);
            let there = self.0.get(name);
            if there.is_some_and(|there| there.made_of == made_of) {
                continue;
            }
            let running = || there.iter().flat_map(|there| &there.running);
            let mut all = Vec::new();
            for address in wanted.listen.iter().map(|at| at.value) {
                let refused = UpError::system(format!("PCP of instance {name} at {address}"));
                let there = running().find(|there| there.listener.address() == address);
                let listener = match there {
                    Some(there) => there.listener.clone(),
                    None => Listener::open(address).await.map_err(refused)?,
                };
                let own = wanted.own;
                let refused = UpError::system(format!("PCP of instance {name} from {own}"));
                let upstream = bind(own).map_err(refused)?;
                all.push(Sockets { listener, upstream });
            }
            opened.insert(name.to_owned(), (made_of, all));
        }
        Ok(Opened(opened))
    }

    /// Runs the proxies of `document`. `ports` are those of an instance. `own` receives the packets to the proxies'
    /// addresses.
    pub(super) async fn apply(
        &mut self,
        mut opened: Opened,
        document: &Document,
        own: &Arc<Own>,
        ports: impl Fn(&str) -> Option<NatPorts>,
    ) {
        let mut before = std::mem::take(&mut self.0);
        for (name, wanted) in wanted(document) {
            let there = before.remove(name);
            let Some((made_of, sockets)) = opened.0.remove(name) else {
                self.0.extend(there.map(|relay| (name.to_owned(), relay)));
                continue;
            };
            if let Some(there) = there {
                there.stop().await;
            }
            let mut running = Vec::new();
            for sockets in sockets {
                let near = match (wanted.path, ports(name)) {
                    (PcpPath::Nat, Some(ports)) => Near::Nat(ports),
                    _ => Near::Hosts,
                };
                running.push(Running::start(wanted, sockets, near, own));
            }
            let relay = Relay { made_of, running };
            self.0.insert(name.to_owned(), relay);
        }
        for relay in before.into_values() {
            relay.stop().await;
        }
    }

    /// Ends all proxies. What they asked for stays with the server until its time is over.
    pub(super) async fn stop(&mut self) {
        for relay in std::mem::take(&mut self.0).into_values() {
            relay.stop().await;
        }
    }
}

/// The instances whose hosts are helped to ask, by name.
fn wanted(document: &Document) -> impl Iterator<Item = (&str, &PcpProxy)> {
    document.instances.iter().filter_map(|instance| {
        let proxy = instance.mechanism.pcp_proxy()?;
        Some((instance.name.value.as_str(), proxy))
    })
}

/// The keys of a proxy and, where it takes ports of its instance, that instance.
fn made_of(name: &str, wanted: &PcpProxy, described: &[Described]) -> MadeOf {
    let mut instances = described.iter().cloned().enumerate();
    let instance = match wanted.path {
        PcpPath::Softwire => None,
        PcpPath::Nat => instances.find(|(_, one)| one.name == name),
    };
    (wanted.clone(), instance)
}

/// A socket at an address; one of IPv6 need not be that of a link.
fn bind(own: IpAddr) -> io::Result<UdpSocket> {
    let own = SocketAddr::new(own, 0);
    let socket = Socket::new(Domain::for_address(own), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    if own.is_ipv6() {
        socket.set_freebind_v6(true)?;
    }
    socket.bind(&own.into())?;
    UdpSocket::from_std(socket.into())
}

impl Relay {
    async fn stop(self) {
        for running in self.running {
            running.stop().await;
        }
    }
}

impl Running {
    fn start(wanted: &PcpProxy, sockets: Sockets, near: Near<NatPorts>, own: &Arc<Own>) -> Self {
        let Sockets { listener, upstream } = sockets;
        let (sender, responses) = mpsc::channel(RESPONSES);
        // The address of a NAT does not belong to this machine, so that the engine receives the packets to it.
        let own = match (&near, upstream.local_addr(), wanted.server) {
            (Near::Nat(_), Ok(SocketAddr::V6(to)), IpAddr::V6(server)) => {
                own.listen(to, server, sender);
                Some((Arc::clone(own), to))
            }
            _ => None,
        };
        let started = Instant::now();
        let proxy = Proxy::new(wanted.own, near, started.elapsed());
        let proxy = Arc::new(Mutex::new(proxy));
        let relaying = Relaying {
            proxy: Arc::clone(&proxy),
            started,
            listener: listener.clone(),
            upstream,
            server: SocketAddr::new(wanted.server, SERVER_PORT),
            clients: wanted.clients.iter().map(|at| at.value).collect(),
        };
        Self {
            listener,
            proxy,
            own,
            task: tokio::spawn(relaying.run(responses)),
        }
    }

    async fn stop(self) {
        super::end(self.task).await;
        if let Some((own, to)) = self.own {
            own.deafen(&to);
        }
        lock(&self.proxy).clear();
    }
}

/// A proxy at work.
struct Relaying {
    proxy: Arc<Mutex<Proxy<NatPorts>>>,
    started: Instant,
    listener: Listener,
    upstream: UdpSocket,
    server: SocketAddr,
    clients: Vec<IpNet>,
}

impl Relaying {
    /// Passes messages on. `responses` are those that the socket does not get.
    async fn run(self, mut responses: mpsc::Receiver<Vec<u8>>) {
        let mut announcements = Announcements::begin();
        let mut tick = interval(TICK);
        let (mut request, mut response) = ([0; LONGEST], [0; LONGEST]);
        loop {
            tokio::select! {
                (length, client) = self.listener.receive(&mut request) => {
                    self.pass(client, request.get(..length).unwrap_or(&[])).await;
                }
                // An error is that of a request that was not delivered: the host asks again.
                Ok((length, from)) = self.upstream.recv_from(&mut response) => {
                    let response = response.get(..length).filter(|_| from == self.server);
                    self.answer(response.unwrap_or(&[]), &mut announcements).await;
                }
                Some(response) = responses.recv() => {
                    self.answer(&response, &mut announcements).await;
                }
                () = announcements.due() => {
                    let message = lock(&self.proxy).announcement(self.started.elapsed());
                    self.listener.announce(&message);
                }
                _ = tick.tick() => lock(&self.proxy).expire(self.started.elapsed()),
            }
        }
    }

    async fn pass(&self, client: SocketAddr, request: &[u8]) {
        if !may_ask(&self.clients, client.ip().to_canonical()) {
            return;
        }
        let passed = lock(&self.proxy).request(self.started.elapsed(), client, request);
        if let Some(answer) = passed.answer {
            self.listener.send(&answer, client);
        }
        for message in passed.on {
            if let Err(error) = self.upstream.send_to(&message, self.server).await {
                tracing::debug!(%client, %error, "a PCP request was not passed on");
            }
        }
    }

    async fn answer(&self, response: &[u8], announcements: &mut Announcements) {
        let heard = lock(&self.proxy).response(self.started.elapsed(), response);
        let Heard { answer, lost } = heard;
        if let Some((client, answer)) = answer {
            self.listener.send(&answer, client);
        }
        if lost {
            *announcements = Announcements::begin();
        }
    }
}
