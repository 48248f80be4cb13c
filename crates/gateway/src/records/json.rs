//! Records as JSON lines in a file.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;

use super::Sink;
use super::event::{Record, Remark, SUPPRESSED, Suppressed};

/// One line. Keys are stable.
#[derive(Serialize)]
struct Line<'a, F> {
    time: String,
    gateway: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<&'a str>,
    event: &'a str,
    #[serde(flatten)]
    fields: F,
}

/// A record in JSON, as files and followers get it.
pub(crate) fn line<'a>(gateway: &'a str, record: &'a Record) -> impl Serialize + 'a {
    Line {
        time: time(record.time),
        gateway,
        instance: Some(&record.instance),
        event: record.event(),
        fields: &record.subject,
    }
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

fn write(file: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *file, line)?;
    file.write_all(b"\n")
}

impl Sink for Json {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        write(&mut self.file, &line(&self.gateway, record))
    }

    fn suppressed(&mut self, now: Timestamp, total: Suppressed) -> io::Result<()> {
        let line = Line {
            time: time(now),
            gateway: &self.gateway,
            instance: None,
            event: SUPPRESSED,
            fields: total,
        };
        write(&mut self.file, &line)
    }

    fn remark(&mut self, now: Timestamp, remark: &Remark) -> io::Result<()> {
        let line = Line {
            time: time(now),
            gateway: &self.gateway,
            instance: None,
            event: remark.event(),
            fields: remark,
        };
        write(&mut self.file, &line)
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
    use super::super::event::{Change, Subject, samples};
    use super::*;

    fn text(record: &Record) -> String {
        serde_json::to_string(&line("edge", record)).unwrap()
    }

    #[test]
    fn a_session_has_all_six_ends() {
        let record = samples::record(Change::Began, Subject::Session(samples::session()));
        assert_eq!(
            text(&record),
            concat!(
                r#"{"time":"2026-11-21T08:09:10.123456Z","gateway":"edge","instance":"plat","#,
                r#""event":"session-created","protocol":"tcp","#,
                r#""inside-address":"2001:db8:1::7","inside-port":40000,"#,
                r#""outside-address":"203.0.113.1","outside-port":1024,"#,
                r#""remote-address":"192.0.2.80","remote-port":443}"#
            )
        );
    }

    /// RFC 2766 section 3.1: addresses are translated alone.
    #[test]
    fn a_session_of_addresses_has_no_ports() {
        let session = samples::session_of_addresses();
        let record = samples::record(Change::Began, Subject::Session(session));
        let text = text(&record);
        assert!(
            text.ends_with(concat!(
                r#""event":"session-created","protocol":"any","inside-address":"2001:db8:1::7","#,
                r#""outside-address":"203.0.113.1","remote-address":"192.0.2.80"}"#
            )),
            "{text}"
        );
        let mut read: super::super::Session = serde_json::from_str(&text).unwrap();
        read.remote_inside = session.remote_inside;
        assert_eq!(read, session);
    }

    #[test]
    fn a_block_has_its_range() {
        let record = samples::record(Change::Ended, Subject::Block(samples::block()));
        let line: serde_json::Value = serde_json::from_str(&text(&record)).unwrap();
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
        let record = samples::record(Change::Began, Subject::Session(samples::session()));
        let mut sink = Json::open("edge".into(), path.clone()).unwrap();
        sink.write(&record).unwrap();
        std::fs::rename(&path, &old).unwrap();
        sink.reopen().unwrap();
        let total = Suppressed {
            count: 7,
            bindings: 2,
        };
        sink.suppressed(record.time, total).unwrap();
        sink.flush(record.time).unwrap();
        assert_eq!(std::fs::read_to_string(old).unwrap().lines().count(), 1);
        let new = std::fs::read_to_string(path).unwrap();
        let value: serde_json::Value = serde_json::from_str(&new).unwrap();
        assert_eq!(value["event"], "records-suppressed");
        assert_eq!(value["count"], 7);
        assert_eq!(value["bindings"], 2);
    }

    #[test]
    fn a_remark_names_its_instance_or_configuration() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("records.jsonl");
        let mut sink = Json::open("edge".into(), path.clone()).unwrap();
        let now = "2026-11-21T08:09:10Z".parse().unwrap();
        for remark in [
            Remark::TablesEmpty {
                instance: "plat".into(),
            },
            Remark::Configuration {
                digest: "00ff".into(),
            },
        ] {
            sink.remark(now, &remark).unwrap();
        }
        sink.flush(now).unwrap();
        let head = r#"{"time":"2026-11-21T08:09:10.000000Z","gateway":"edge","event":"#;
        assert_eq!(
            std::fs::read_to_string(path).unwrap(),
            format!(
                "{head}\"tables-empty\",\"instance\":\"plat\"}}\n\
                 {head}\"configuration-in-force\",\"digest\":\"00ff\"}}\n"
            )
        );
    }
}
