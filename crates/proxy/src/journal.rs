//! The access log: a line of JSON for each request and tunnel, written by a thread of its own.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::counter::{Counter, Counters};
use crate::failure::Failure;
use crate::meter::Meter;
use crate::target::Target;

/// Lines that may wait for a slow disk.
const AHEAD: usize = 4_096;

/// Where lines go, if anywhere.
#[derive(Default)]
pub(crate) struct Journal(Option<(SyncSender<String>, Arc<Counters>)>);

impl Journal {
    /// Opens the file, and appends to it.
    pub(crate) fn open(path: &Path, counters: &Arc<Counters>) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let (sender, lines) = sync_channel(AHEAD);
        std::thread::Builder::new()
            .name("proxy-log".to_owned())
            .spawn(move || write(&lines, file))?;
        Ok(Self(Some((sender, counters.clone()))))
    }

    /// Begins a line about a client that speaks this protocol.
    pub(crate) fn entry(&self, protocol: &str, client: SocketAddr) -> Entry {
        let mut entry = Entry {
            fields: self.0.as_ref().map(|_| Map::new()),
            begun: Instant::now(),
        };
        if entry.fields.is_some() {
            entry.set("time", Timestamp::now().to_string());
            entry.set("client", client.ip().to_canonical().to_string());
            entry.set("client-port", client.port());
            entry.set("protocol", protocol);
        }
        entry
    }

    /// Writes a line. One that finds no room is lost, and counted.
    pub(crate) fn write(&self, entry: Entry) {
        if let Some((sender, counters)) = &self.0
            && sender.try_send(entry.line()).is_err()
        {
            counters.count(Counter::LogLost);
        }
    }
}

/// Writes lines until there is nobody left to send any.
fn write(lines: &Receiver<String>, file: File) {
    let mut file = BufWriter::new(file);
    while let Ok(line) = lines.recv() {
        let more = std::iter::from_fn(|| lines.try_recv().ok());
        let mut all = std::iter::once(line).chain(more);
        let written = all.try_for_each(|line| file.write_all(line.as_bytes()));
        if let Err(error) = written.and_then(|()| file.flush()) {
            tracing::warn!(%error, "the access log of the proxy cannot be written");
        }
    }
}

/// A line of the access log.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// `None` if nobody reads it.
    fields: Option<Map<String, Value>>,
    begun: Instant,
}

impl Entry {
    /// Adds something.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<Value>) {
        if let Some(fields) = &mut self.fields {
            fields.insert(key.to_owned(), value.into());
        }
    }

    /// Adds where the client wants to go.
    pub(crate) fn target(&mut self, target: &Target) {
        if self.fields.is_some() {
            self.set("target", target.to_string());
        }
    }

    /// Adds the server that was reached.
    pub(crate) fn server(&mut self, address: SocketAddr) {
        if self.fields.is_some() {
            self.set("server", address.to_string());
        }
    }

    /// Ends with why it failed.
    pub(crate) fn failed(mut self, failure: &Failure) -> Self {
        if self.fields.is_some() {
            self.set("error", failure.to_string());
        }
        self
    }

    /// Ends with the octets of a tunnel.
    pub(crate) fn ended(mut self, meter: &Meter) -> Self {
        let (up, down) = meter.octets();
        self.set("up", up);
        self.set("down", down);
        self
    }

    fn line(mut self) -> String {
        let elapsed = self.begun.elapsed().as_millis() as u64;
        self.set("milliseconds", elapsed);
        format!("{}\n", Value::Object(self.fields.unwrap_or_default()))
    }
}
