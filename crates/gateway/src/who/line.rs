//! A line of records: JSON, or a message of RFC 5424 as a syslog server wrote it down.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use isthmus_core::nat::Protocol;
use jiff::Timestamp;
use serde::Deserialize;

use crate::config::Choice;
use crate::records::{STRUCTURE, event};

/// A record, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) time: Timestamp,
    pub(super) gateway: String,
    pub(super) content: Content,
}

/// The content of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A subscriber has a port, or ports.
    Use(Use),
    /// A process of the gateway begins.
    Started,
    /// The tables of the instance are empty from now on.
    TablesEmpty { instance: String },
    /// The configuration with this digest is in force from now on.
    Configuration { digest: String },
    /// So many records were not written since the start of the process.
    Suppressed {
        records: u64,
        /// Those of bindings; `None` if the version of the gateway did not tell.
        bindings: Option<u64>,
    },
    /// Something that does not matter here.
    Other,
}

/// A subscriber's use of ports of an outside address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) instance: String,
    pub(super) inside: IpAddr,
    /// Of a block there is none.
    pub(super) inside_port: Option<u16>,
    /// Of a block there is none: it is for all.
    pub(super) protocol: Option<Protocol>,
    pub(super) outside: Ipv4Addr,
    /// First and last port.
    pub(super) ports: (u16, u16),
    pub(super) sign: Sign,
}

/// The part of a use that a record tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// Its beginning.
    Made,
    /// It was there: a session of the binding began or ended.
    Seen,
    /// Its end.
    Gone,
}

/// The reason why a line is no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LineError {
    #[error("is no JSON object with the keys of a record: {0}")]
    Json(String),
    #[error("is no syslog message with the structure of a record")]
    Syslog,
    #[error("has no `{0}`")]
    Missing(&'static str),
    #[error("has {value:?} for `{key}`, which is no {expected}")]
    Value {
        key: &'static str,
        value: String,
        expected: &'static str,
    },
    #[error("is not UTF-8")]
    Encoding,
    #[error("is longer than any record")]
    Long,
    #[error("ends in its middle")]
    Cut,
}

/// A form of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Syslog,
    /// Of another program that writes to the same syslog.
    Foreign,
}

/// The form of a line.
pub(super) fn form(text: &str) -> Form {
    if text.starts_with('{') {
        Form::Json
    } else if text.contains(STRUCTURE) {
        Form::Syslog
    } else {
        Form::Foreign
    }
}

/// Reads a line. `None` if it is another program's.
pub(super) fn read(text: &str) -> Result<Option<Line>, LineError> {
    let raw = match form(text) {
        Form::Json => {
            serde_json::from_str(text).map_err(|error| LineError::Json(error.to_string()))?
        }
        Form::Syslog => syslog(text).ok_or(LineError::Syslog)?,
        Form::Foreign => return Ok(None),
    };
    raw.line().map(Some)
}

/// The fields of a line, as text or numbers.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Raw<'a> {
    #[serde(borrow)]
    time: Option<Cow<'a, str>>,
    #[serde(borrow)]
    gateway: Option<Cow<'a, str>>,
    #[serde(borrow)]
    instance: Option<Cow<'a, str>>,
    #[serde(borrow)]
    event: Option<Cow<'a, str>>,
    #[serde(borrow)]
    protocol: Option<Cow<'a, str>>,
    #[serde(borrow)]
    inside_address: Option<Cow<'a, str>>,
    inside_port: Option<u64>,
    #[serde(borrow)]
    outside_address: Option<Cow<'a, str>>,
    outside_port: Option<u64>,
    outside_port_last: Option<u64>,
    #[serde(borrow)]
    digest: Option<Cow<'a, str>>,
    count: Option<u64>,
    bindings: Option<u64>,
}

impl Raw<'_> {
    fn line(&self) -> Result<Line, LineError> {
        let name = needed("event", self.event.as_deref())?;
        Ok(Line {
            time: parsed("time", self.time.as_deref(), "time of RFC 3339")?,
            gateway: needed("gateway", self.gateway.as_deref())?.into(),
            content: self.content(name)?,
        })
    }

    fn content(&self, name: &str) -> Result<Content, LineError> {
        let instance = || Ok(needed("instance", self.instance.as_deref())?.into());
        let sign = match name {
            event::BINDING_CREATED | event::BLOCK_ALLOCATED => Sign::Made,
            event::SESSION_CREATED | event::SESSION_REMOVED => Sign::Seen,
            event::BINDING_REMOVED | event::BLOCK_RELEASED => Sign::Gone,
            event::STARTED => return Ok(Content::Started),
            event::TABLES_EMPTY => {
                return Ok(Content::TablesEmpty {
                    instance: instance()?,
                });
            }
            event::CONFIGURATION => {
                let digest = needed("digest", self.digest.as_deref())?.into();
                return Ok(Content::Configuration { digest });
            }
            event::SUPPRESSED => {
                return Ok(Content::Suppressed {
                    records: self.count.ok_or(LineError::Missing("count"))?,
                    bindings: self.bindings,
                });
            }
            _ => return Ok(Content::Other),
        };
        let first = || port("outside-port", self.outside_port);
        let is_block = matches!(name, event::BLOCK_ALLOCATED | event::BLOCK_RELEASED);
        let (ports, inside_port, protocol) = if is_block {
            let last = port("outside-port-last", self.outside_port_last)?;
            ((first()?, last), None, None)
        } else if self.protocol.as_deref() == Some(event::ANY_PROTOCOL) {
            // The address is the host's, with all ports.
            ((0, u16::MAX), None, None)
        } else {
            let inside = port("inside-port", self.inside_port)?;
            let protocol = protocol(needed("protocol", self.protocol.as_deref())?)?;
            ((first()?, first()?), Some(inside), Some(protocol))
        };
        Ok(Content::Use(Use {
            instance: instance()?,
            inside: parsed("inside-address", self.inside_address.as_deref(), "address")?,
            inside_port,
            protocol,
            outside: parsed(
                "outside-address",
                self.outside_address.as_deref(),
                "IPv4 address",
            )?,
            ports,
            sign,
        }))
    }
}

fn needed<'a>(key: &'static str, value: Option<&'a str>) -> Result<&'a str, LineError> {
    value.ok_or(LineError::Missing(key))
}

fn parsed<T: FromStr>(
    key: &'static str,
    value: Option<&str>,
    expected: &'static str,
) -> Result<T, LineError> {
    let value = needed(key, value)?;
    value.parse().map_err(|_| LineError::Value {
        key,
        value: value.into(),
        expected,
    })
}

fn port(key: &'static str, value: Option<u64>) -> Result<u16, LineError> {
    let value = value.ok_or(LineError::Missing(key))?;
    value.try_into().map_err(|_| LineError::Value {
        key,
        value: value.to_string(),
        expected: "port",
    })
}

fn protocol(name: &str) -> Result<Protocol, LineError> {
    let mut names = Protocol::NAMES.iter();
    let known = names.find(|(known, _)| *known == name);
    known
        .map(|(_, protocol)| *protocol)
        .ok_or(LineError::Value {
            key: "protocol",
            value: name.into(),
            expected: "protocol with records",
        })
}

/// The fields of a message of RFC 5424: time and message identifier of its header, and the parameters of our structure.
/// A server may have put something of its own before the time.
fn syslog(text: &str) -> Option<Raw<'_>> {
    let (header, rest) = text.split_once(&format!("[{STRUCTURE} "))?;
    let mut words = header.split_ascii_whitespace().rev();
    // TIMESTAMP HOSTNAME APP-NAME PROCID MSGID
    let event = words.next()?;
    let time = words.nth(3)?;
    let mut raw = Raw {
        event: Some(event.into()),
        time: Some(time.into()),
        ..Raw::default()
    };
    let mut rest = rest;
    loop {
        let (key, after) = rest.split_once("=\"")?;
        let (value, after) = value(after)?;
        let number = || value.parse().ok();
        match key {
            "gateway" => raw.gateway = Some(value),
            "instance" => raw.instance = Some(value),
            "protocol" => raw.protocol = Some(value),
            "inside-address" => raw.inside_address = Some(value),
            "inside-port" => raw.inside_port = Some(number()?),
            "outside-address" => raw.outside_address = Some(value),
            "outside-port" => raw.outside_port = Some(number()?),
            "outside-port-last" => raw.outside_port_last = Some(number()?),
            "digest" => raw.digest = Some(value),
            "count" => raw.count = Some(number()?),
            "bindings" => raw.bindings = Some(number()?),
            _ => {}
        }
        match after.strip_prefix(' ') {
            Some(more) => rest = more,
            None => return after.starts_with(']').then_some(raw),
        }
    }
}

/// A parameter's value up to its quote, without escapes (RFC 5424 section 6.3.3), and what follows.
fn value(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut plain = String::new();
    let mut from = 0;
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                let rest = text.get(at + 1..)?;
                let last = text.get(from..at)?;
                let value = if plain.is_empty() {
                    Cow::Borrowed(last)
                } else {
                    Cow::Owned(plain + last)
                };
                return Some((value, rest));
            }
            '\\' => {
                plain.push_str(text.get(from..at)?);
                // The escaped character begins what comes next.
                from = characters.next()?.0;
            }
            _ => {}
        }
    }
    None
}
