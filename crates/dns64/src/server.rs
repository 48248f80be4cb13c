//! The running server: its sockets, and the engine behind them that a reload exchanges.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use thiserror::Error;
use tokio::runtime::Handle as Runtime;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::config::{Config, ConfigError};
use crate::counter::Counters;
use crate::engine::Engine;
use crate::guard::Guard;
use crate::tcp::{self, Shared};
use crate::udp;

/// Free ports that are tried when any will do and UDP and TCP must have the same.
const PORT_TRIES: u32 = 16;

/// The engine of now.
#[derive(Clone)]
pub(crate) struct Current(Arc<RwLock<Arc<Engine>>>);

impl Current {
    fn new(engine: Engine) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(engine))))
    }

    pub(crate) fn get(&self) -> Arc<Engine> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, engine: Engine) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(engine);
    }
}

/// Why a server could not start, or take a new configuration.
#[derive(Debug, Error)]
pub enum StartError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An address could not be listened on.
    #[error("cannot listen on {address} over {transport}: {source}")]
    Bind {
        /// The address in `listen`.
        address: SocketAddr,
        /// UDP or TCP.
        transport: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

/// A DNS64 server. Begins with [`Server::start`].
#[derive(Debug)]
pub struct Server;

/// One listening address.
struct Listening {
    udp: udp::Listener,
    tcp: JoinHandle<()>,
    local: SocketAddr,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.tcp.abort();
    }
}

/// A running server. Dropping it stops the server; [`Handle::stop`] does so without blocking.
pub struct Handle {
    current: Current,
    counters: Arc<Counters>,
    guard: Arc<Guard>,
    listening: Vec<Listening>,
    config: Config,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Starts a server. Must be called in a tokio runtime, which does all but the cached answers
    /// over UDP; those have threads of their own.
    ///
    /// # Errors
    /// See [`StartError`]. Nothing is left running then.
    pub async fn start(config: Config) -> Result<Handle, StartError> {
        config.check()?;
        let counters = Arc::new(Counters::default());
        let guard = Arc::new(Guard::new(counters.clone()));
        let engine = Engine::new(
            &config,
            counters.clone(),
            guard.clone(),
            Runtime::current(),
            None,
        );
        let mut handle = Handle {
            current: Current::new(engine),
            counters,
            guard,
            listening: Vec::new(),
            config,
        };
        handle.listening = handle.listen(&handle.config, &[])?;
        Ok(handle)
    }
}

impl Handle {
    /// Exchanges the configuration. Questions in flight are finished under the old one; addresses
    /// in both keep their sockets, so that no query is lost; the cache is kept if prefixes,
    /// exclusions and upstream resolvers stay the same. The number of threads and the limits of TCP
    /// connections hold for addresses that are new.
    ///
    /// # Errors
    /// See [`StartError`]. Nothing has changed then.
    pub async fn reload(&mut self, config: Config) -> Result<(), StartError> {
        config.check()?;
        let kept: Vec<_> = self.listening.iter().map(|l| l.udp.address()).collect();
        let new = self.listen(&config, &kept)?;
        self.listening
            .retain(|l| config.listen.contains(&l.udp.address()));
        self.listening.extend(new);
        let before = self.current.get();
        self.current.set(Engine::new(
            &config,
            self.counters.clone(),
            self.guard.clone(),
            Runtime::current(),
            Some(&before),
        ));
        self.config = config;
        Ok(())
    }

    /// The counters, which live as long as the server and are never set back.
    #[must_use]
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The configuration of now.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The addresses that are listened on, with the ports that were found for port 0.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.listening.iter().map(|listening| listening.local)
    }

    /// Stops listening and waits until the threads have ended. Questions in flight get no answer.
    pub async fn stop(self) {
        // Joining threads blocks, though only for the batch that is being answered.
        let _ = tokio::task::spawn_blocking(move || drop(self)).await;
    }

    fn listen(&self, config: &Config, except: &[SocketAddr]) -> Result<Vec<Listening>, StartError> {
        let shared = Shared {
            current: self.current.clone(),
            counters: self.counters.clone(),
            places: Arc::new(Semaphore::new(config.tcp_connections)),
            idle: config.tcp_idle,
        };
        config
            .listen
            .iter()
            .filter(|address| !except.contains(address))
            .map(|&address| self.listen_on(address, config.udp_threads, shared.clone()))
            .collect()
    }

    fn listen_on(
        &self,
        address: SocketAddr,
        threads: usize,
        shared: Shared,
    ) -> Result<Listening, StartError> {
        let (sockets, stream) = bind_both(address, threads)?;
        let fail = |transport| {
            move |source| StartError::Bind {
                address,
                transport,
                source,
            }
        };
        let local = stream.local_addr().map_err(fail("TCP"))?;
        let stream = tokio::net::TcpListener::from_std(stream).map_err(fail("TCP"))?;
        let udp = udp::Listener::start(address, sockets, &self.current, &self.counters)
            .map_err(StartError::Thread)?;
        Ok(Listening {
            udp,
            tcp: tokio::spawn(tcp::run(stream, shared)),
            local,
        })
    }
}

/// Sockets for UDP and TCP with the same port.
fn bind_both(
    address: SocketAddr,
    threads: usize,
) -> Result<(Vec<std::net::UdpSocket>, std::net::TcpListener), StartError> {
    let fail = |transport| {
        move |source| StartError::Bind {
            address,
            transport,
            source,
        }
    };
    let mut tries = if address.port() == 0 { PORT_TRIES } else { 1 };
    loop {
        let sockets = udp::bind(address, threads).map_err(fail("UDP"))?;
        let local = sockets[0].local_addr().map_err(fail("UDP"))?;
        tries -= 1;
        match tcp::bind(local) {
            Ok(stream) => return Ok((sockets, stream)),
            Err(error) if tries == 0 => return Err(fail("TCP")(error)),
            Err(_) => {}
        }
    }
}
