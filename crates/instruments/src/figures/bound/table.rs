//! A table of the mechanisms.

use std::fmt;

use serde::Serialize;

use super::{Mechanism, Mtu, Path, Payload, Rate, TcpOptions, Transport, ethernet};

/// The sizes of messages in the papers' figures, in bytes.
pub const PAPERS_PAYLOADS: [u32; 18] = [
    50, 100, 250, 500, 750, 1000, 1250, 1500, 1750, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000,
    10000,
];

/// The frame sizes for testers on Ethernet, in bytes with FCS (RFC 8219 section 5.1.1). 84 replaces 64 where a
/// translator makes IPv4 of IPv6.
pub const FRAMES: [u32; 14] = [
    64, 84, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048, 4096, 8192, 9216,
];

/// The quantity of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A measure of messages.
    Messages(Measure, Transport, Vec<Payload>),
    /// Frames per second, for [`FRAMES`].
    Frames,
}

/// A measure of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The throughput of messages without a pause, in bit/s.
    Throughput,
    /// The throughput of one message at a time, in bit/s.
    PingPong,
    /// The delay from end to end, in seconds.
    Delay,
}

impl Measure {
    fn of(self, path: &Path, transport: Transport, payload: Payload) -> f64 {
        match self {
            Self::Throughput => path.streaming(transport, payload),
            Self::PingPong => path.ping_pong(transport, payload),
            Self::Delay => path.delay(transport, payload),
        }
    }
}

impl Quantity {
    /// Returns its name, and the unit of its values.
    fn what(&self) -> (&'static str, Unit) {
        match self {
            Self::Messages(Measure::Throughput, ..) => ("throughput", Unit::BitsPerSecond),
            Self::Messages(Measure::PingPong, ..) => ("ping-pong", Unit::BitsPerSecond),
            Self::Messages(Measure::Delay, ..) => ("delay", Unit::Seconds),
            Self::Frames => ("frames", Unit::FramesPerSecond),
        }
    }

    fn transport(&self) -> Option<&'static str> {
        match self {
            Self::Messages(_, Transport::Udp, _) => Some("udp"),
            Self::Messages(_, Transport::Tcp(TcpOptions::None), _) => Some("tcp"),
            Self::Messages(_, Transport::Tcp(TcpOptions::Timestamps), _) => Some("tcp-timestamps"),
            Self::Frames => None,
        }
    }

    fn rows(&self, mechanisms: &[&Mechanism], rate: Rate, mtu: Mtu) -> Vec<Row> {
        let row = |bytes: u32, value: &dyn Fn(&Mechanism) -> f64| Row {
            bytes,
            values: mechanisms
                .iter()
                .map(|mechanism| value(mechanism))
                .collect(),
        };
        match self {
            Self::Messages(measure, transport, payloads) => {
                let payload_row = |&payload: &Payload| {
                    row(payload.bytes(), &|mechanism| {
                        measure.of(&mechanism.path(rate, mtu), *transport, payload)
                    })
                };
                payloads.iter().map(payload_row).collect()
            }
            Self::Frames => {
                let frame_row = |&bytes: &u32| {
                    row(bytes, &|mechanism| {
                        ethernet::frames_per_second(rate, bytes, mechanism.overhead()) as f64
                    })
                };
                FRAMES.iter().map(frame_row).collect()
            }
        }
    }
}

/// The unit of the values of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum Unit {
    #[serde(rename = "bit/s")]
    BitsPerSecond,
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "frames/s")]
    FramesPerSecond,
}

impl Unit {
    /// Returns the readable unit, its size in base units, and the number of decimals.
    fn legible(self) -> (&'static str, f64, usize) {
        match self {
            Self::BitsPerSecond => ("Mb/s", 1e-6, 4),
            Self::Seconds => ("µs", 1e6, 2),
            Self::FramesPerSecond => ("frames/s", 1.0, 0),
        }
    }
}

/// A row: the payload or the frame size in bytes, and a value for each mechanism.
#[derive(Debug, Serialize)]
struct Row {
    bytes: u32,
    values: Vec<f64>,
}

/// The heading of a column.
#[derive(Debug, Serialize)]
struct Column {
    name: &'static str,
    title: &'static str,
    links: usize,
}

/// The bounds of several mechanisms over several sizes. It serialises with base units; its `Display` is for people.
#[derive(Debug, Serialize)]
pub struct Table {
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<&'static str>,
    /// Bits per second.
    rate: u64,
    mtu: u32,
    unit: Unit,
    mechanisms: Vec<Column>,
    rows: Vec<Row>,
}

impl Table {
    /// Returns the bounds of these mechanisms on links of this rate and MTU.
    pub fn new(quantity: &Quantity, mechanisms: &[&Mechanism], rate: Rate, mtu: Mtu) -> Self {
        let columns = mechanisms.iter().map(|mechanism| Column {
            name: mechanism.name,
            title: mechanism.title,
            links: mechanism.path(rate, mtu).links().count(),
        });
        let (what, unit) = quantity.what();
        Self {
            what,
            transport: quantity.transport(),
            rate: rate.bits_per_second(),
            mtu: mtu.bytes(),
            unit,
            mechanisms: columns.collect(),
            rows: quantity.rows(mechanisms, rate, mtu),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale, decimals) = self.unit.legible();
        let text = |value: &f64| format!("{:.decimals$}", value * scale);
        let width = |place: usize, column: &Column| {
            let values = self.rows.iter().map(|row| text(&row.values[place]).len());
            values.max().unwrap_or(0).max(column.name.len())
        };
        let columns = self.mechanisms.iter().enumerate();
        let widths: Vec<usize> = columns
            .map(|(place, column)| width(place, column))
            .collect();
        write!(f, "{:>6}", "bytes")?;
        for (column, &width) in self.mechanisms.iter().zip(&widths) {
            write!(f, "  {:>width$}", column.name)?;
        }
        writeln!(f)?;
        for row in &self.rows {
            write!(f, "{:>6}", row.bytes)?;
            for (value, &width) in row.values.iter().zip(&widths) {
                write!(f, "  {:>width$}", text(value))?;
            }
            writeln!(f)?;
        }
        writeln!(f, "in {unit}\n")?;
        let names = self.mechanisms.iter().map(|column| column.name.len());
        let width = names.max().unwrap_or(0);
        for Column { name, title, .. } in &self.mechanisms {
            writeln!(f, "{name:<width$}  {title}")?;
        }
        Ok(())
    }
}
