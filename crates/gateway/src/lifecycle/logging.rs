//! The log: standard error, as text for people or as JSON lines.

use std::io::IsTerminal;

use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::Handle;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Registry, fmt, reload};

use crate::config::LogFormat;

/// Libraries whose own messages say nothing to an operator.
const QUIET: [&str; 4] = ["netlink_proto", "rtnetlink", "hyper", "hyper_util"];

/// The log, whose level can be changed.
#[derive(Clone, Debug)]
pub struct Logging {
    filter: Handle<Targets, Registry>,
}

impl Logging {
    /// Starts the log of this process.
    ///
    /// # Errors
    ///
    /// If there is one already.
    pub fn start(level: Level, format: LogFormat) -> Result<Self, TryInitError> {
        let (filter, handle) = reload::Layer::new(filter(level));
        let registry = tracing_subscriber::registry().with(filter);
        match format {
            LogFormat::Json => registry
                .with(fmt::layer().json().with_writer(std::io::stderr))
                .try_init()?,
            // The journal has a clock of its own.
            LogFormat::Text if std::env::var_os("JOURNAL_STREAM").is_some() => registry
                .with(
                    fmt::layer()
                        .without_time()
                        .with_target(false)
                        .with_ansi(false)
                        .with_writer(std::io::stderr),
                )
                .try_init()?,
            LogFormat::Text => registry
                .with(
                    fmt::layer()
                        .with_target(false)
                        .with_ansi(std::io::stderr().is_terminal())
                        .with_writer(std::io::stderr),
                )
                .try_init()?,
        }
        Ok(Self { filter: handle })
    }

    /// Changes which messages are written.
    pub fn set_level(&self, level: Level) {
        // Fails only if the log is gone.
        let _ = self.filter.reload(filter(level));
    }
}

fn filter(level: Level) -> Targets {
    let level = LevelFilter::from_level(level);
    // A library never logs more than this level.
    let quiet = QUIET.map(|library| (library, level.min(LevelFilter::WARN)));
    Targets::new().with_default(level).with_targets(quiet)
}
