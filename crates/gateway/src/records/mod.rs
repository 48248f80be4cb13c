//! Records of state, for operators who must find the user of an address and port at a given time.
//!
//! There is one stream of [`Record`]s. A [`Recorder`] takes them from the data plane without blocking it, and applies
//! the configured rate. A thread of its own writes the others to every sink: JSON lines, syslog (RFC 5424) and IPFIX
//! (RFC 8158). Records that the rate or a full queue suppressed are counted, and every sink reports the count.

pub(crate) mod event;
mod ipfix;
mod json;
mod limiter;
mod recorder;
mod settings;
mod syslog;
mod writer;

pub(crate) use event::ANY_PROTOCOL;
use event::Suppressed;
#[cfg(test)]
pub(crate) use event::samples;
pub use event::{Binding, Block, Change, Record, Remark, Session, Subject};
pub(crate) use json::line;
pub use recorder::Recorder;
pub use settings::Settings;
pub(crate) use syslog::STRUCTURE;

use std::io;

use jiff::Timestamp;

/// Where records go.
trait Sink: Send {
    /// Its name in logs.
    fn name(&self) -> String;

    /// Takes one record. It may be kept until [`flush`](Self::flush).
    fn write(&mut self, record: &Record) -> io::Result<()>;

    /// Says how many records in all were not written so far.
    fn suppressed(&mut self, now: Timestamp, total: Suppressed) -> io::Result<()>;

    /// Takes a remark, if there is a form for it.
    fn remark(&mut self, _now: Timestamp, _remark: &Remark) -> io::Result<()> {
        Ok(())
    }

    /// Sends the queued records, and those that are due by the clock.
    fn flush(&mut self, _now: Timestamp) -> io::Result<()> {
        Ok(())
    }

    /// Closes and opens again what was opened by name, for log rotation.
    fn reopen(&mut self) -> io::Result<()> {
        Ok(())
    }
}
