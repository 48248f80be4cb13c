//! A gateway from its start to its end: `isthmus up`.
//!
//! Starting sets everything up in an order in which each step can be taken back; ending takes it
//! back. In between, a reload reads the whole configuration again, and either all of it holds
//! from then on or none.

mod clock;
mod compare;
mod described;
mod dns;
mod fills;
mod fixed;
mod heal;
mod history;
mod in_force;
mod kept;
mod ledger;
mod locals;
mod logging;
mod origin;
mod outcomes;
mod own_limits;
mod pcp;
mod placement;
mod port_use;
mod prefixes;
mod proxy;
mod reload;
mod rollback;
mod running;
mod start;
mod surroundings;
mod sweeper;
mod systemd;
mod tables;
mod top;
mod trace;
mod undo;
mod view;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::config::{self, CompileError, LoadError};
use crate::control::{Lock, SocketError};
use crate::engine::EngineError;
use crate::link::{self, LinkError, SysctlError, Sysctls};

pub use compare::differences;
pub use logging::Logging;

use kept::Leave;
use running::{Running, Wish};

/// Why a gateway does not start, or ends by itself.
#[derive(Debug, thiserror::Error)]
pub enum UpError {
    /// The configuration is not usable.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The configuration asks for what the data plane cannot do.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// There is no control socket.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// An engine does not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The link cannot be configured.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// Forwarding cannot be turned on.
    #[error(transparent)]
    Sysctl(#[from] SysctlError),
    /// DNS64 does not start.
    #[error("dns64: {0}")]
    Dns64(isthmus_dns64::StartError),
    /// The proxy does not start.
    #[error("proxy: {0}")]
    Proxy(isthmus_proxy::StartError),
    /// A reload wants what only a start can do.
    #[error(
        "{0} cannot change while the gateway runs; restart the gateway, or restore the old value"
    )]
    Fixed(String),
    /// Something else that the system refuses.
    #[error("{what}: {error}")]
    System {
        /// The operation.
        what: String,
        /// The system's error.
        error: io::Error,
    },
    /// An engine failed while it ran.
    #[error("the {0} engine on {1} failed; see the log")]
    Failed(String, String),
}

impl UpError {
    fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |error| Self::System { what, error }
    }
}

/// Runs the gateway that the file describes until SIGTERM or SIGINT. Everything that it added to
/// the machine is gone when this returns, but for the sessions that SIGTERM leaves to the next process.
///
/// # Errors
///
/// If it does not start, or an engine fails.
pub fn up(file: &Path) -> Result<(), UpError> {
    // Few threads: the engines and the sweeper have their own.
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("control")
        .enable_all()
        .build()
        .map_err(UpError::system("threads"))?
        .block_on(run(file.to_owned()))
}

/// Removes the sessions that the gateway of this file left to its next process, and takes back what it changed on the
/// machine and could not if it was killed.
///
/// # Errors
///
/// If the file cannot be read, the gateway runs, or the system refuses.
pub fn forget(file: &Path) -> Result<(), UpError> {
    let document = config::load(file)?.document;
    let control = document.gateway.control;
    let _alone = Lock::take(&control)?;
    kept::forget(&control).map_err(UpError::system("sessions"))?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(UpError::system("threads"))?
        .block_on(link::take_back(&document.tun.name.value))?;
    let mut sysctls = Sysctls::new(control.with_extension("state"))?;
    Ok(sysctls.restore()?)
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }
}

async fn run(file: PathBuf) -> Result<(), UpError> {
    // Before anything is made that a signal would leave behind.
    let mut signals = Signals::new().map_err(UpError::system("signals"))?;
    let mut running = Running::start(file).await?;
    systemd::ready(&running.summary());
    let watchdog = systemd::watchdog();
    let mut tick = tokio::time::interval(watchdog.unwrap_or(Duration::from_secs(1)));
    let ended = loop {
        tokio::select! {
            _ = signals.terminate.recv() => break Ok(("SIGTERM", Leave::Sessions)),
            // Somebody at a terminal is done with it.
            _ = signals.interrupt.recv() => break Ok(("SIGINT", Leave::Nothing)),
            _ = signals.hangup.recv() => {
                running.reopen();
                // What came of it is in the log.
                let _ = running.reload(None).await;
            }
            wish = running.wish() => match wish {
                Wish::Obey(order, reply) => {
                    let answer = running.obey(order).await;
                    // The client may have hung up.
                    let _ = reply.send(answer);
                }
                Wish::Undo => running.undo().await,
                Wish::Follow => running.follow().await,
                Wish::Heal => running.heal().await,
                Wish::Look => running.look().await,
            },
            _ = tick.tick() => {
                if running.failed_engine().is_some() {
                    // It may be that somebody deleted its link.
                    running.heal().await;
                }
                match running.failed_engine() {
                    None if watchdog.is_some() => systemd::alive(),
                    None => {}
                    Some((engine, interface)) => break Err(UpError::Failed(engine, interface)),
                }
            },
        }
    };
    systemd::stopping();
    let leave = match &ended {
        Ok((signal, leave)) => {
            tracing::info!(signal, "ending");
            *leave
        }
        Err(error) => {
            tracing::error!(%error, "ending");
            Leave::Sessions
        }
    };
    running.leave(leave);
    running.stop().await;
    ended.map(drop)
}
