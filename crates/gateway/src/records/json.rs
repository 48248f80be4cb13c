//! Records as JSON lines in a file.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;

use super::Sink;
use super::event::{Block, Event, Mapping, Record, Session};

/// One line. Keys are stable.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Line<'a> {
    time: String,
    gateway: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<&'a str>,
    event: &'a str,
    #[serde(flatten)]
    fields: Fields,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "kebab-case")]
struct Fields {
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inside_address: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inside_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outside_address: Option<Ipv4Addr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outside_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outside_port_last: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remote_address: Option<Ipv4Addr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remote_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

impl From<&Mapping> for Fields {
    fn from(mapping: &Mapping) -> Self {
        Self {
            protocol: Some(mapping.protocol.name()),
            inside_address: Some(mapping.inside.address),
            inside_port: Some(mapping.inside.port),
            outside_address: Some(mapping.outside.address),
            outside_port: Some(mapping.outside.port),
            ..Self::default()
        }
    }
}

impl From<&Session> for Fields {
    fn from(session: &Session) -> Self {
        Self {
            remote_address: Some(session.remote.address),
            remote_port: Some(session.remote.port),
            ..Self::from(&session.mapping)
        }
    }
}

impl From<&Block> for Fields {
    fn from(block: &Block) -> Self {
        Self {
            inside_address: Some(block.inside),
            outside_address: Some(block.outside),
            outside_port: Some(block.first),
            outside_port_last: Some(block.last),
            ..Self::default()
        }
    }
}

impl From<&Event> for Fields {
    fn from(event: &Event) -> Self {
        match event {
            Event::SessionCreated(session) | Event::SessionRemoved(session) => session.into(),
            Event::BindingCreated(mapping) | Event::BindingRemoved(mapping) => mapping.into(),
            Event::BlockAllocated(block) | Event::BlockReleased(block) => block.into(),
        }
    }
}

/// The record as one line of JSON without its newline, as files and followers get it.
pub(crate) fn line(gateway: &str, record: &Record) -> String {
    encode(&Line {
        time: time(record.time),
        gateway,
        instance: Some(&record.instance),
        event: record.event.name(),
        fields: (&record.event).into(),
    })
}

fn encode(line: &Line<'_>) -> String {
    serde_json::to_string(line).expect("strings, numbers and addresses always serialize")
}

/// RFC 3339 in UTC with microseconds, as RFC 5424 section 6.2.3 takes it too.
pub(super) fn time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// A file of JSON lines.
pub(super) struct Json {
    gateway: String,
    path: PathBuf,
    file: BufWriter<File>,
}

impl Json {
    /// Opens the file for appending; makes it, readable by its owner and group, if it is not there.
    pub(super) fn open(gateway: String, path: PathBuf) -> io::Result<Self> {
        let file = open(&path)?;
        Ok(Self {
            gateway,
            path,
            file,
        })
    }
}

fn open(path: &std::path::Path) -> io::Result<BufWriter<File>> {
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o640)
        .open(path)?;
    Ok(BufWriter::new(file))
}

impl Sink for Json {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        writeln!(self.file, "{}", line(&self.gateway, record))
    }

    fn suppressed(&mut self, now: Timestamp, total: u64) -> io::Result<()> {
        let line = Line {
            time: time(now),
            gateway: &self.gateway,
            instance: None,
            event: "records-suppressed",
            fields: Fields {
                count: Some(total),
                ..Fields::default()
            },
        };
        writeln!(self.file, "{}", encode(&line))
    }

    fn flush(&mut self, _now: Timestamp) -> io::Result<()> {
        self.file.flush()
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file = open(&self.path)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::samples;
    use super::*;

    #[test]
    fn a_session_has_all_six_ends() {
        let record = samples::record(Event::SessionCreated(samples::session()));
        assert_eq!(
            line("edge", &record),
            concat!(
                r#"{"time":"2026-11-21T08:09:10.123456Z","gateway":"edge","instance":"plat","#,
                r#""event":"session-created","protocol":"tcp","#,
                r#""inside-address":"2001:db8:1::7","inside-port":40000,"#,
                r#""outside-address":"203.0.113.1","outside-port":1024,"#,
                r#""remote-address":"192.0.2.80","remote-port":443}"#
            )
        );
    }

    #[test]
    fn a_block_has_its_range() {
        let record = samples::record(Event::BlockReleased(samples::block()));
        let line: serde_json::Value = serde_json::from_str(&line("edge", &record)).unwrap();
        assert_eq!(line["event"], "port-block-released");
        assert_eq!(line["outside-port"], 2048);
        assert_eq!(line["outside-port-last"], 2559);
        assert!(line.get("protocol").is_none());
    }

    #[test]
    fn rotation_leaves_the_old_file_and_makes_a_new_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("records.jsonl");
        let old = directory.path().join("records.jsonl.1");
        let record = samples::record(Event::SessionCreated(samples::session()));
        let mut sink = Json::open("edge".into(), path.clone()).unwrap();
        sink.write(&record).unwrap();
        std::fs::rename(&path, &old).unwrap();
        sink.reopen().unwrap();
        sink.suppressed(record.time, 7).unwrap();
        sink.flush(record.time).unwrap();
        assert_eq!(std::fs::read_to_string(old).unwrap().lines().count(), 1);
        let new = std::fs::read_to_string(path).unwrap();
        let value: serde_json::Value = serde_json::from_str(&new).unwrap();
        assert_eq!(value["event"], "records-suppressed");
        assert_eq!(value["count"], 7);
    }
}
