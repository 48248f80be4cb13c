//! The running proxy: its sockets and threads, and the engine behind them that a reload exchanges.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::config::{Config, ConfigError, Protocol};
use crate::counter::Counters;
use crate::engine::{Engine, Lasting};
use crate::http;
use crate::journal::Journal;
use crate::proxy_header::Ends;
use crate::workers::Workers;
use crate::{sites, socks_server};

const BACKLOG: i32 = 1_024;
/// Pause when no connection can be accepted, such as for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why a proxy could not start, or take a new configuration.
#[derive(Debug, Error)]
pub enum StartError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An address could not be listened on.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The access log cannot be written.
    #[error("cannot write the access log {path}: {source}", path = path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

type Current = Arc<RwLock<Arc<Engine>>>;

/// One listening address.
struct Listening {
    protocol: Protocol,
    /// As it was asked for.
    wanted: SocketAddr,
    local: SocketAddr,
    /// One on each worker.
    tasks: Vec<JoinHandle<()>>,
}

impl Listening {
    fn abort(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// A running proxy. [`Handle::stop`] ends it, and so does dropping it.
pub struct Handle {
    workers: Workers,
    current: Current,
    lasting: Arc<Lasting>,
    listening: Vec<Listening>,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

/// A proxy. Begins with [`Server::start`].
#[derive(Debug)]
pub struct Server;

impl Server {
    /// Starts a proxy, with threads of its own.
    ///
    /// # Errors
    /// See [`StartError`]. Nothing is left running then.
    pub fn start(config: &Config) -> Result<Handle, StartError> {
        config.check()?;
        let workers = Workers::start().map_err(StartError::Thread)?;
        let lasting = Arc::new(Lasting::new());
        let engine = Engine::new(config, journal(config, &lasting)?, &lasting, None);
        let mut handle = Handle {
            workers,
            current: Arc::new(RwLock::new(Arc::new(engine))),
            lasting,
            listening: Vec::new(),
        };
        handle.listening = handle.listen(config, &[])?;
        Ok(handle)
    }
}

impl Handle {
    /// Takes another configuration. Connections that are there keep theirs.
    ///
    /// # Errors
    /// See [`StartError`]. Nothing has changed then.
    pub fn reload(&mut self, config: &Config) -> Result<(), StartError> {
        config.check()?;
        let journal = journal(config, &self.lasting)?;
        let wanted = config.listening();
        let (kept, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut self.listening)
            .into_iter()
            .partition(|it| wanted.contains(&(it.protocol, it.wanted)));
        let known: Vec<_> = kept.iter().map(|it| (it.protocol, it.wanted)).collect();
        match self.listen(config, &known) {
            Ok(new) => {
                let before = self.engine();
                let engine = Engine::new(config, journal, &self.lasting, Some(&before));
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(engine);
                self.listening = kept.into_iter().chain(new).collect();
                gone.iter().for_each(Listening::abort);
                Ok(())
            }
            Err(error) => {
                self.listening = kept.into_iter().chain(gone).collect();
                Err(error)
            }
        }
    }

    /// The numbers that it counts, over all reloads.
    #[must_use]
    pub fn counters(&self) -> &Arc<Counters> {
        &self.lasting.counters
    }

    /// Where it listens, with the ports that were found for port 0.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.listening.iter().map(|it| it.local)
    }

    /// Ends it, and all connections with it.
    pub async fn stop(mut self) {
        for listening in self.listening.drain(..) {
            listening.abort();
            for task in listening.tasks {
                // Afterwards somebody else may listen there.
                let _ = task.await;
            }
        }
    }

    fn engine(&self) -> Arc<Engine> {
        let current = self.current.read();
        current.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn listen(
        &self,
        config: &Config,
        except: &[(Protocol, SocketAddr)],
    ) -> Result<Vec<Listening>, StartError> {
        let wanted = config.listening().into_iter();
        wanted
            .filter(|it| !except.contains(it))
            .map(|(protocol, address)| {
                self.listen_on(protocol, address)
                    .map_err(|source| StartError::Bind { address, source })
            })
            .collect()
    }

    fn listen_on(&self, protocol: Protocol, wanted: SocketAddr) -> io::Result<Listening> {
        let sockets = bind(wanted, self.workers.len())?;
        let local = sockets[0].local_addr()?;
        let accepting = sockets.into_iter().zip(self.workers.iter());
        let accepting = accepting.map(|(socket, worker)| {
            let _guard = worker.enter();
            let listener = TcpListener::from_std(socket)?;
            Ok(worker.spawn(accept(listener, local, protocol, self.current.clone())))
        });
        Ok(Listening {
            protocol,
            wanted,
            local,
            tasks: accepting.collect::<io::Result<_>>()?,
        })
    }
}

fn journal(config: &Config, lasting: &Lasting) -> Result<Journal, StartError> {
    let Some(path) = &config.access_log else {
        return Ok(Journal::default());
    };
    let failed = |source| StartError::Log {
        path: path.clone(),
        source,
    };
    Journal::open(path, &lasting.counters).map_err(failed)
}

/// Sockets that share an address: the kernel gives each connection to one of them.
fn bind(wanted: SocketAddr, number: usize) -> io::Result<Vec<std::net::TcpListener>> {
    let first = socket(wanted)?;
    // Whoever has the address already is an error, and not somebody to share with.
    first.bind(&wanted.into())?;
    first.set_reuse_port(true)?;
    let mut sockets = vec![first];
    for _ in 1..number {
        let another = socket(wanted)?;
        another.set_reuse_port(true)?;
        another.bind(&sockets[0].local_addr()?)?;
        sockets.push(another);
    }
    sockets
        .iter()
        .try_for_each(|socket| socket.listen(BACKLOG))?;
    Ok(sockets.into_iter().map(Into::into).collect())
}

fn socket(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // Old connections in TIME-WAIT must not keep a new server from starting.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    // Every connection has it from here.
    socket.set_tcp_nodelay(true)?;
    Ok(socket)
}

/// Accepts connections until the task is aborted. Connections go on.
async fn accept(listener: TcpListener, at: SocketAddr, protocol: Protocol, current: Current) {
    loop {
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::debug!(%error, "a connection of the proxy could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let local = match at.ip().is_unspecified() {
            // Where the client has connected to.
            true => stream.local_addr().unwrap_or(at),
            false => at,
        };
        let engine = current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let Some(place) = engine.admit(from.ip().to_canonical()) else {
            continue;
        };
        let ends = Ends {
            client: from,
            local,
        };
        match protocol {
            Protocol::Http => tokio::spawn(http::proxy(stream, ends, engine, place)),
            Protocol::Socks => tokio::spawn(socks_server::serve(stream, ends, engine, place)),
            Protocol::Sites => tokio::spawn(sites::serve(stream, ends, engine, place)),
        };
    }
}
