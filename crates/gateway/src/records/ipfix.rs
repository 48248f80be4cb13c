//! Records as IPFIX messages over UDP: RFC 7011 for the protocol, RFC 8158 for the templates of
//! NAT events.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use jiff::Timestamp;

use super::Sink;
use super::event::{Block, Event, Mapping, Protocol, Record, Session};

/// RFC 7011 section 3.1.
const VERSION: u16 = 10;
/// Bytes of a message header.
const HEADER: usize = 16;
/// Bytes of a message, so that the packet stays within 512 bytes over IPv6: RFC 7011 section
/// 10.3.3 for a path whose MTU is not known.
const LARGEST: usize = 512 - 48;
/// Set identifier of templates (RFC 7011 section 3.3.2).
const TEMPLATE_SET: u16 = 2;
/// Set identifier of options templates.
const OPTIONS_SET: u16 = 3;
/// Over UDP templates are sent again and again (RFC 7011 section 8.4); seconds between.
const TEMPLATES_EVERY: i64 = 60;

/// An information element: its number in IANA's registry and its length in bytes.
#[derive(Clone, Copy)]
struct Element(u16, u16);

const PROTOCOL_IDENTIFIER: Element = Element(4, 1);
const SOURCE_PORT: Element = Element(7, 2);
const SOURCE_V4: Element = Element(8, 4);
const DESTINATION_PORT: Element = Element(11, 2);
const DESTINATION_V4: Element = Element(12, 4);
const SOURCE_V6: Element = Element(27, 16);
const DESTINATION_V6: Element = Element(28, 16);
const EXPORTING_PROCESS: Element = Element(144, 4);
const NOT_SENT_FLOWS: Element = Element(166, 8);
const POST_NAT_SOURCE_V4: Element = Element(225, 4);
const POST_NAT_DESTINATION_V4: Element = Element(226, 4);
const POST_NAPT_SOURCE_PORT: Element = Element(227, 2);
const POST_NAPT_DESTINATION_PORT: Element = Element(228, 2);
const NAT_EVENT: Element = Element(230, 1);
/// `timeStamp` of RFC 8158: observationTimeMilliseconds in IANA's registry.
const TIME: Element = Element(323, 8);
const PORT_RANGE_START: Element = Element(361, 2);
const PORT_RANGE_END: Element = Element(362, 2);
const NAT_INSTANCE: Element = Element(463, 4);

/// A template: its number (256 and up, RFC 7011 section 3.4.1) and its fields.
struct Template(u16, &'static [Element]);

/// RFC 8158 section 4.6.2.
const NAT64_SESSION: Template = Template(
    256,
    &[
        TIME,
        NAT_EVENT,
        SOURCE_V6,
        POST_NAT_SOURCE_V4,
        PROTOCOL_IDENTIFIER,
        SOURCE_PORT,
        POST_NAPT_SOURCE_PORT,
        DESTINATION_V6,
        POST_NAT_DESTINATION_V4,
        DESTINATION_PORT,
        POST_NAPT_DESTINATION_PORT,
        NAT_INSTANCE,
    ],
);
/// RFC 8158 section 4.6.4.
const NAT64_BINDING: Template = Template(
    257,
    &[
        TIME,
        NAT_EVENT,
        SOURCE_V6,
        POST_NAT_SOURCE_V4,
        PROTOCOL_IDENTIFIER,
        SOURCE_PORT,
        POST_NAPT_SOURCE_PORT,
        NAT_INSTANCE,
    ],
);
/// RFC 8158 section 4.6.10, with an IPv6 subscriber.
const NAT64_BLOCK: Template = Template(
    258,
    &[
        TIME,
        NAT_EVENT,
        SOURCE_V6,
        POST_NAT_SOURCE_V4,
        PORT_RANGE_START,
        PORT_RANGE_END,
        NAT_INSTANCE,
    ],
);
/// RFC 8158 section 4.6.1.
const NAT44_SESSION: Template = Template(
    259,
    &[
        TIME,
        NAT_EVENT,
        SOURCE_V4,
        POST_NAT_SOURCE_V4,
        PROTOCOL_IDENTIFIER,
        SOURCE_PORT,
        POST_NAPT_SOURCE_PORT,
        DESTINATION_V4,
        POST_NAT_DESTINATION_V4,
        DESTINATION_PORT,
        POST_NAPT_DESTINATION_PORT,
        NAT_INSTANCE,
    ],
);
/// RFC 8158 section 4.6.3.
const NAT44_BINDING: Template = Template(
    260,
    &[
        TIME,
        NAT_EVENT,
        SOURCE_V4,
        POST_NAT_SOURCE_V4,
        PROTOCOL_IDENTIFIER,
        SOURCE_PORT,
        POST_NAPT_SOURCE_PORT,
        NAT_INSTANCE,
    ],
);
/// RFC 8158 section 4.6.10, with an IPv4 subscriber.
const NAT44_BLOCK: Template = Template(
    261,
    &[
        TIME,
        NAT_EVENT,
        SOURCE_V4,
        POST_NAT_SOURCE_V4,
        PORT_RANGE_START,
        PORT_RANGE_END,
        NAT_INSTANCE,
    ],
);
const TEMPLATES: [&Template; 6] = [
    &NAT64_SESSION,
    &NAT64_BINDING,
    &NAT64_BLOCK,
    &NAT44_SESSION,
    &NAT44_BINDING,
    &NAT44_BLOCK,
];
/// RFC 7011 section 4.3: how many records the exporting process did not send.
const RELIABILITY: Template = Template(262, &[EXPORTING_PROCESS, NOT_SENT_FLOWS]);

/// RFC 8158 section 4.3, table 2. The two families have numbers of their own.
fn nat_event(event: &Event, family: Family) -> u8 {
    match (event, family) {
        (Event::SessionCreated(_), Family::Nat44) => 4,
        (Event::SessionRemoved(_), Family::Nat44) => 5,
        (Event::SessionCreated(_), Family::Nat64) => 6,
        (Event::SessionRemoved(_), Family::Nat64) => 7,
        (Event::BindingCreated(_), Family::Nat44) => 8,
        (Event::BindingRemoved(_), Family::Nat44) => 9,
        (Event::BindingCreated(_), Family::Nat64) => 10,
        (Event::BindingRemoved(_), Family::Nat64) => 11,
        (Event::BlockAllocated(_), _) => 16,
        (Event::BlockReleased(_), _) => 17,
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
    socket: UdpSocket,
    collector: SocketAddr,
    domain: u32,
    /// Data records sent so far, modulo 2^32 (RFC 7011 section 3.1).
    sequence: u32,
    templates_sent: Option<Timestamp>,
    message: Vec<u8>,
    records: u32,
    /// Where the last set begins, and its number.
    set: Option<(usize, u16)>,
}

impl Ipfix {
    /// Will send to `collector`. UDP: nobody needs to listen there yet. `domain` is the
    /// observation domain, which tells the gateways of one exporter apart.
    pub(super) fn open(domain: u32, collector: SocketAddr) -> io::Result<Self> {
        Ok(Self {
            socket: super::recorder::udp_towards(collector)?,
            collector,
            domain,
            sequence: 0,
            templates_sent: None,
            message: vec![0; HEADER],
            records: 0,
            set: None,
        })
    }

    /// Adds a data record, after the templates if these are due, in a new message if this one is
    /// full.
    fn data(&mut self, now: Timestamp, template: &Template, record: &[u8]) -> io::Result<()> {
        debug_assert_eq!(
            record.len(),
            template
                .1
                .iter()
                .map(|element| element.1 as usize)
                .sum::<usize>()
        );
        self.templates(now)?;
        let set_header = match self.set {
            Some((_, number)) if number == template.0 => 0,
            _ => 4,
        };
        if self.message.len() + set_header + record.len() > LARGEST {
            self.send(now)?;
        }
        self.open_set(template.0);
        self.message.extend_from_slice(record);
        self.records += 1;
        Ok(())
    }

    /// Sends all templates in a message of their own if they were not sent lately.
    fn templates(&mut self, now: Timestamp) -> io::Result<()> {
        let due = match self.templates_sent {
            None => true,
            Some(sent) => now.as_second() - sent.as_second() >= TEMPLATES_EVERY,
        };
        if !due {
            return Ok(());
        }
        self.send(now)?;
        self.templates_sent = Some(now);
        self.open_set(TEMPLATE_SET);
        for Template(number, fields) in TEMPLATES {
            self.message.extend(number.to_be_bytes());
            self.message.extend((fields.len() as u16).to_be_bytes());
            self.fields(fields);
        }
        self.open_set(OPTIONS_SET);
        let Template(number, fields) = RELIABILITY;
        self.message.extend(number.to_be_bytes());
        self.message.extend((fields.len() as u16).to_be_bytes());
        // One scope field: the exporting process.
        self.message.extend(1_u16.to_be_bytes());
        self.fields(fields);
        self.send(now)
    }

    fn fields(&mut self, fields: &[Element]) {
        for Element(number, length) in fields {
            self.message.extend(number.to_be_bytes());
            self.message.extend(length.to_be_bytes());
        }
    }

    fn open_set(&mut self, number: u16) {
        if self.set.is_some_and(|(_, open)| open == number) {
            return;
        }
        self.close_set();
        self.set = Some((self.message.len(), number));
        self.message.extend(number.to_be_bytes());
        self.message.extend([0, 0]);
    }

    fn close_set(&mut self) {
        if let Some((start, _)) = self.set.take() {
            let length = (self.message.len() - start) as u16;
            self.message[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
        }
    }

    /// Sends the message if there is anything in it. What can not be sent is lost, as UDP may
    /// lose it, and shows as a gap in the sequence.
    fn send(&mut self, now: Timestamp) -> io::Result<()> {
        self.close_set();
        if self.message.len() == HEADER {
            return Ok(());
        }
        let length = self.message.len() as u16;
        self.message[0..2].copy_from_slice(&VERSION.to_be_bytes());
        self.message[2..4].copy_from_slice(&length.to_be_bytes());
        self.message[4..8].copy_from_slice(&(now.as_second() as u32).to_be_bytes());
        self.message[8..12].copy_from_slice(&self.sequence.to_be_bytes());
        self.message[12..16].copy_from_slice(&self.domain.to_be_bytes());
        let sent = self.socket.send(&self.message);
        self.message.truncate(HEADER);
        self.sequence = self.sequence.wrapping_add(self.records);
        self.records = 0;
        sent.map(drop)
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

    fn octet(mut self, octet: u8) -> Self {
        self.0.push(octet);
        self
    }

    fn port(mut self, port: u16) -> Self {
        self.0.extend(port.to_be_bytes());
        self
    }

    fn number(mut self, number: u32) -> Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    fn v4(mut self, address: Ipv4Addr) -> Self {
        self.0.extend(address.octets());
        self
    }

    fn v6(mut self, address: Ipv6Addr) -> Self {
        self.0.extend(address.octets());
        self
    }

    fn either(self, address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => self.v4(address),
            IpAddr::V6(address) => self.v6(address),
        }
    }

    fn mapping(self, mapping: &Mapping, family: Family) -> Self {
        self.either(mapping.inside.address)
            .v4(mapping.outside.address)
            .octet(protocol_number(mapping.protocol, family))
            .port(mapping.inside.port)
            .port(mapping.outside.port)
    }

    fn session(self, session: &Session, family: Family) -> Self {
        let fields = self.mapping(&session.mapping, family);
        let fields = match family {
            Family::Nat44 => fields.v4(session.remote.address),
            Family::Nat64 => fields.v6(session.remote_inside.unwrap_or(Ipv6Addr::UNSPECIFIED)),
        };
        fields
            .v4(session.remote.address)
            .port(session.remote.port)
            .port(session.remote.port)
    }

    fn block(self, block: &Block) -> Self {
        self.either(block.inside)
            .v4(block.outside)
            .port(block.first)
            .port(block.last)
    }
}

impl Sink for Ipfix {
    fn name(&self) -> String {
        format!("IPFIX {}", self.collector)
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        let family = Family::of(match &record.event {
            Event::SessionCreated(session) | Event::SessionRemoved(session) => {
                session.mapping.inside.address
            }
            Event::BindingCreated(mapping) | Event::BindingRemoved(mapping) => {
                mapping.inside.address
            }
            Event::BlockAllocated(block) | Event::BlockReleased(block) => block.inside,
        });
        let fields = Fields::new(record.time, nat_event(&record.event, family));
        let (template, fields) = match (&record.event, family) {
            (Event::SessionCreated(session) | Event::SessionRemoved(session), Family::Nat64) => {
                (&NAT64_SESSION, fields.session(session, family))
            }
            (Event::SessionCreated(session) | Event::SessionRemoved(session), Family::Nat44) => {
                (&NAT44_SESSION, fields.session(session, family))
            }
            (Event::BindingCreated(mapping) | Event::BindingRemoved(mapping), Family::Nat64) => {
                (&NAT64_BINDING, fields.mapping(mapping, family))
            }
            (Event::BindingCreated(mapping) | Event::BindingRemoved(mapping), Family::Nat44) => {
                (&NAT44_BINDING, fields.mapping(mapping, family))
            }
            (Event::BlockAllocated(block) | Event::BlockReleased(block), Family::Nat64) => {
                (&NAT64_BLOCK, fields.block(block))
            }
            (Event::BlockAllocated(block) | Event::BlockReleased(block), Family::Nat44) => {
                (&NAT44_BLOCK, fields.block(block))
            }
        };
        let fields = fields.number(record.number);
        self.data(record.time, template, &fields.0)
    }

    fn suppressed(&mut self, now: Timestamp, total: u64) -> io::Result<()> {
        let mut record = std::process::id().to_be_bytes().to_vec();
        record.extend(total.to_be_bytes());
        self.data(now, &RELIABILITY, &record)
    }

    fn flush(&mut self, now: Timestamp) -> io::Result<()> {
        self.templates(now)?;
        self.send(now)
    }

    fn reopen(&mut self) -> io::Result<()> {
        Ok(())
    }
}
