//! Records as IPFIX messages over UDP or TCP: RFC 7011 for the protocol, RFC 8158 for the templates of
//! NAT events.

mod message;
mod template;
mod transport;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use isthmus_core::nat::Protocol;
use jiff::Timestamp;

use message::Message;
use template::{RELIABILITY, Template};
use transport::{Knowledge, Transport};

use super::Sink;
use super::event::{Binding, Block, Change, Record, Session, Subject, Suppressed};
use crate::config::Carrier;

/// Over UDP templates are sent again and again (RFC 7011 section 8.4); seconds between.
const TEMPLATES_EVERY: i64 = 60;

/// RFC 8158 section 4.3, table 2. Sessions and bindings have numbers of their own in each family.
fn nat_event(record: &Record, family: Family) -> u8 {
    let first = match (&record.subject, family) {
        (Subject::Session(_), Family::Nat44) => 4,
        (Subject::Session(_), Family::Nat64) => 6,
        (Subject::Binding(_), Family::Nat44) => 8,
        (Subject::Binding(_), Family::Nat64) => 10,
        (Subject::Block(_), _) => 16,
    };
    match record.change {
        Change::Began => first,
        Change::Ended => first + 1,
    }
}

/// Which kind of translation a record is about: the family of its subscriber.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Nat44,
    Nat64,
}

impl Family {
    const fn of(inside: IpAddr) -> Self {
        match inside {
            IpAddr::V4(_) => Self::Nat44,
            IpAddr::V6(_) => Self::Nat64,
        }
    }
}

/// IANA's protocol number as the subscriber's packets carry it.
const fn protocol_number(protocol: Protocol, family: Family) -> u8 {
    match (protocol, family) {
        (Protocol::Tcp, _) => 6,
        (Protocol::Udp, _) => 17,
        (Protocol::Icmp, Family::Nat44) => 1,
        (Protocol::Icmp, Family::Nat64) => 58,
    }
}

/// An IPFIX collector, and the message that is being filled for it.
pub(super) struct Ipfix {
    transport: Transport,
    collector: SocketAddr,
    domain: u32,
    /// Data records sent so far, modulo 2^32 (RFC 7011 section 3.1).
    sequence: u32,
    templates_sent: Option<Timestamp>,
    message: Message,
}

impl Ipfix {
    /// Opens a sink that sends to `collector`, which need not listen yet. A collector distinguishes the gateways of one
    /// exporter by `domain`, the observation domain.
    pub(super) fn open(domain: u32, collector: SocketAddr, carrier: Carrier) -> io::Result<Self> {
        Ok(Self {
            transport: Transport::open(collector, carrier)?,
            collector,
            domain,
            sequence: 0,
            templates_sent: None,
            message: Message::new(),
        })
    }

    /// Adds a data record, after the templates if these are due, in a new message if this one is
    /// full.
    fn data(&mut self, now: Timestamp, template: &Template, record: &[u8]) -> io::Result<()> {
        self.templates(now)?;
        if !self.message.has_room(template) {
            self.send(now)?;
        }
        self.message.add(template, record);
        Ok(())
    }

    /// Sends all templates in a message of their own if the collector may not have them.
    fn templates(&mut self, now: Timestamp) -> io::Result<()> {
        let due = match self.transport.reach()? {
            Knowledge::None => {
                // A new connection counts anew, and has nothing of the one before.
                self.message.clear();
                self.sequence = 0;
                true
            }
            Knowledge::All => false,
            Knowledge::Fading => self
                .templates_sent
                .is_none_or(|sent| now.as_second() - sent.as_second() >= TEMPLATES_EVERY),
        };
        if !due {
            return Ok(());
        }
        self.send(now)?;
        self.templates_sent = Some(now);
        self.message.add_templates();
        self.send(now)
    }

    /// Sends the message if there is anything in it. What cannot be sent is lost, as UDP may lose it, and shows as a gap
    /// in the sequence of the datagrams, or as a new connection.
    fn send(&mut self, now: Timestamp) -> io::Result<()> {
        if self.message.is_empty() {
            return Ok(());
        }
        let message = self.message.finish(now, self.sequence, self.domain);
        let sent = self.transport.send(message);
        self.sequence = self.sequence.wrapping_add(self.message.records);
        self.message.clear();
        sent
    }
}

/// The fields of a data record, one after the other.
struct Fields(Vec<u8>);

impl Fields {
    fn new(time: Timestamp, event: u8) -> Self {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend((time.as_millisecond() as u64).to_be_bytes());
        bytes.push(event);
        Self(bytes)
    }

    fn put<const N: usize>(mut self, bytes: [u8; N]) -> Self {
        self.0.extend(bytes);
        self
    }

    fn port(self, port: u16) -> Self {
        self.put(port.to_be_bytes())
    }

    fn v4(self, address: Ipv4Addr) -> Self {
        self.put(address.octets())
    }

    fn either(self, address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => self.v4(address),
            IpAddr::V6(address) => self.put(address.octets()),
        }
    }

    /// One of addresses has protocol 0 and ports 0: templates have them for all.
    fn binding(self, binding: &Binding, family: Family) -> Self {
        self.either(binding.inside_address)
            .v4(binding.outside_address)
            .put([binding.protocol.map_or(0, |it| protocol_number(it, family))])
            .port(binding.inside_port.unwrap_or(0))
            .port(binding.outside_port.unwrap_or(0))
    }

    fn session(self, session: &Session, family: Family) -> Self {
        let fields = self.binding(&session.binding, family);
        let fields = match family {
            Family::Nat44 => fields.v4(session.remote_address),
            Family::Nat64 => {
                let remote = session.remote_inside.unwrap_or(Ipv6Addr::UNSPECIFIED);
                fields.put(remote.octets())
            }
        };
        fields
            .v4(session.remote_address)
            .port(session.remote_port.unwrap_or(0))
            .port(session.remote_port.unwrap_or(0))
    }

    fn block(self, block: &Block) -> Self {
        self.either(block.inside_address)
            .v4(block.outside_address)
            .port(block.outside_port)
            .port(block.outside_port_last)
    }
}

impl Sink for Ipfix {
    fn name(&self) -> String {
        format!("IPFIX {}", self.collector)
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        let family = Family::of(record.subject.inside());
        let fields = Fields::new(record.time, nat_event(record, family));
        let templates = match family {
            Family::Nat64 => &template::NAT64,
            Family::Nat44 => &template::NAT44,
        };
        let (template, fields) = match &record.subject {
            Subject::Session(session) => (&templates.session, fields.session(session, family)),
            Subject::Binding(binding) => (&templates.binding, fields.binding(binding, family)),
            Subject::Block(block) => (&templates.block, fields.block(block)),
        };
        let fields = fields.put(record.number.to_be_bytes());
        self.data(record.time, template, &fields.0)
    }

    fn suppressed(&mut self, now: Timestamp, total: Suppressed) -> io::Result<()> {
        let mut record = std::process::id().to_be_bytes().to_vec();
        record.extend(total.count.to_be_bytes());
        self.data(now, &RELIABILITY, &record)
    }

    fn flush(&mut self, now: Timestamp) -> io::Result<()> {
        match self.templates(now) {
            // Nothing is lost but time.
            Err(_) if self.message.is_empty() => Ok(()),
            reached => reached.and_then(|()| self.send(now)),
        }
    }
}
