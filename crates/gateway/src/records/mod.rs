//! Records of state for those who must answer "who had this address and port then?".
//!
//! There is one stream of [`Record`]s. A [`Recorder`] takes them from the data plane without ever
//! making it wait, holds them to the configured rate, and a thread of its own writes what is left
//! to every sink: JSON lines, syslog (RFC 5424) and IPFIX (RFC 8158). Records that the rate or a
//! full queue suppressed are counted, and the count is itself reported in every sink.

mod event;
mod ipfix;
mod json;
mod limiter;
mod recorder;
mod settings;
mod syslog;
mod writer;

#[cfg(test)]
pub(crate) use event::samples;
pub use event::{Binding, Block, Change, Record, Session, Subject};
pub(crate) use json::line;
pub use recorder::Recorder;
pub use settings::Settings;

use std::io;

use jiff::Timestamp;

/// Where records go.
trait Sink: Send {
    /// Its name in logs.
    fn name(&self) -> String;

    /// Takes one record. It may be kept until [`flush`](Self::flush).
    fn write(&mut self, record: &Record) -> io::Result<()>;

    /// Says that `total` records in all were not written so far.
    fn suppressed(&mut self, now: Timestamp, total: u64) -> io::Result<()>;

    /// Sends what was kept, and what is due by the clock.
    fn flush(&mut self, now: Timestamp) -> io::Result<()>;

    /// Closes and opens again what was opened by name, for log rotation.
    fn reopen(&mut self) -> io::Result<()>;
}
