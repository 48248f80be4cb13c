//! Reads pcap and pcapng files, one packet at a time.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use pcap_parser::pcapng::InterfaceDescriptionBlock;
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{Block, LegacyPcapBlock, PcapBlockOwned, PcapError, PcapHeader, create_reader};

use super::Resolution;
use super::link::Link;

/// Size of the read buffer. Records may be longer, up to [`LONGEST_RECORD`].
const CAPACITY: usize = 1 << 16;
/// The longest accepted record. A larger length means a damaged file.
const LONGEST_RECORD: usize = 1 << 24;
const SECOND: u64 = 1_000_000_000;

/// The reason why a capture file cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{file}: at byte {offset}: {problem}")]
pub struct Error {
    /// The file.
    pub file: PathBuf,
    /// Offset of the record that cannot be read.
    pub offset: usize,
    /// The problem.
    pub problem: Problem,
}

/// The problem with a capture file.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The system could not open or read it.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is no capture file.
    #[error("this is neither a pcap nor a pcapng file")]
    NotCapture,
    /// The file is cut off.
    #[error("the file ends inside a record; expected its remaining bytes")]
    CutOff,
    /// A length field is not possible.
    #[error("a record has a length of more than {LONGEST_RECORD} bytes; expected at most that")]
    TooLong,
    /// A record contradicts itself.
    #[error("the record is damaged: its lengths contradict each other")]
    Damaged,
    /// Frames of an unknown link type.
    #[error(
        "link type {0}; expected Ethernet (1), raw IP (101, 228, 229) or Linux cooked frames (113, 276)"
    )]
    LinkType(i32),
    /// Units of time that are too short.
    #[error(
        "the times have a resolution (if_tsresol) of {0:#04x}; expected at most 10^-19 s (0x13) or 2^-63 s (0xbf)"
    )]
    Resolution(u8),
    /// A pcapng packet of an interface that the file does not describe.
    #[error("the packet belongs to interface {0}, which the file has not described")]
    Interface(u32),
}

/// One packet of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Record {
    /// An IP packet, as far as it was captured.
    Ip {
        /// Nanoseconds since 1970.
        time: u64,
        /// The bytes from its first header to the end of the frame.
        packet: Vec<u8>,
    },
    /// A frame that carries no IP.
    Other,
}

/// A capture file that is being read.
pub struct Reader {
    file: PathBuf,
    blocks: Box<dyn PcapReaderIterator + Send>,
    format: Format,
    /// The body of the block that was read last.
    offset: usize,
}

#[derive(Debug)]
enum Format {
    Pcap(Resolution, Link),
    Pcapng(Vec<Interface>),
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: Result<Link, i32>,
    /// Time units per second.
    units: u64,
    /// Seconds to add.
    offset: i64,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("file", &self.file)
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

impl Reader {
    /// Opens a file and reads its header; `-` is the standard input.
    ///
    /// # Errors
    /// The file cannot be opened, or is no capture of a known link type.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let error = |problem| Error {
            file: path.to_owned(),
            offset: 0,
            problem,
        };
        if path == Path::new("-") {
            return Self::new(path.to_owned(), io::stdin()).map_err(error);
        }
        let file = File::open(path).map_err(|e| error(e.into()))?;
        Self::new(path.to_owned(), file).map_err(error)
    }

    fn new(file: PathBuf, input: impl Read + Send + 'static) -> Result<Self, Problem> {
        let blocks = create_reader(CAPACITY, input).map_err(|error| match error {
            PcapError::ReadError => Problem::Io(io::ErrorKind::Other.into()),
            _ => Problem::NotCapture,
        })?;
        let mut reader = Self {
            file,
            blocks,
            format: Format::Pcapng(Vec::new()),
            offset: 0,
        };
        // Both formats begin with a block that says how to read the rest.
        reader.step()?;
        Ok(reader)
    }

    /// Returns the resolution of the file's times. A pcapng file counts as nanoseconds.
    #[must_use]
    pub fn resolution(&self) -> Resolution {
        match self.format {
            Format::Pcap(resolution, _) => resolution,
            Format::Pcapng(_) => Resolution::Nanoseconds,
        }
    }

    /// Returns the next packet; `None` at the end of the file.
    ///
    /// # Errors
    /// The file is damaged from here on.
    pub fn read(&mut self) -> Result<Option<Record>, Error> {
        loop {
            match self.step() {
                Ok(Step::Record(record)) => return Ok(Some(record)),
                Ok(Step::Nothing) => {}
                Ok(Step::End) => return Ok(None),
                Err(problem) => {
                    return Err(Error {
                        file: self.file.clone(),
                        offset: self.offset,
                        problem,
                    });
                }
            }
        }
    }

    /// Reads one block.
    fn step(&mut self) -> Result<Step, Problem> {
        let mut capacity = CAPACITY;
        loop {
            self.offset = self.blocks.consumed();
            let error = match self.blocks.next() {
                Ok((length, block)) => {
                    let step = self.format.take(&block)?;
                    self.blocks.consume(length);
                    return Ok(step);
                }
                Err(error) => error,
            };
            match error {
                PcapError::Eof => return Ok(Step::End),
                PcapError::Incomplete(_) => {
                    self.blocks
                        .refill()
                        .map_err(|_| io::Error::last_os_error())?;
                }
                PcapError::BufferTooSmall => {
                    capacity *= 2;
                    if capacity > LONGEST_RECORD || !self.blocks.grow(capacity) {
                        return Err(Problem::TooLong);
                    }
                    self.blocks
                        .refill()
                        .map_err(|_| io::Error::last_os_error())?;
                }
                PcapError::UnexpectedEof => return Err(Problem::CutOff),
                PcapError::ReadError => return Err(io::Error::last_os_error().into()),
                PcapError::HeaderNotRecognized => return Err(Problem::NotCapture),
                PcapError::NomError(..) | PcapError::OwnedNomError(..) => {
                    return Err(Problem::Damaged);
                }
            }
        }
    }
}

enum Step {
    Record(Record),
    Nothing,
    End,
}

impl Format {
    fn take(&mut self, block: &PcapBlockOwned<'_>) -> Result<Step, Problem> {
        match (block, &mut *self) {
            (PcapBlockOwned::LegacyHeader(header), _) => {
                *self = Self::pcap(header)?;
                Ok(Step::Nothing)
            }
            (PcapBlockOwned::Legacy(block), Self::Pcap(resolution, link)) => {
                let frame = captured(block)?;
                let time = legacy_time(block, *resolution);
                Ok(Step::Record(record(*link, time, frame)))
            }
            (PcapBlockOwned::NG(block), Self::Pcapng(interfaces)) => take_ng(interfaces, block),
            _ => Err(Problem::Damaged),
        }
    }

    fn pcap(header: &PcapHeader) -> Result<Self, Problem> {
        let resolution = if header.is_nanosecond_precision() {
            Resolution::Nanoseconds
        } else {
            Resolution::Microseconds
        };
        // The upper bits give the length of the frame check sequence (FCS), which counts as padding.
        let number = header.network.0 & 0x0fff_ffff;
        let link = Link::from_number(number).ok_or(Problem::LinkType(number))?;
        Ok(Self::Pcap(resolution, link))
    }
}

fn captured<'a>(block: &LegacyPcapBlock<'a>) -> Result<&'a [u8], Problem> {
    block
        .data
        .get(..block.caplen as usize)
        .ok_or(Problem::Damaged)
}

fn legacy_time(block: &LegacyPcapBlock<'_>, resolution: Resolution) -> u64 {
    let fraction = u64::from(block.ts_usec);
    let nanos = match resolution {
        Resolution::Microseconds => fraction * 1000,
        Resolution::Nanoseconds => fraction,
    };
    u64::from(block.ts_sec) * SECOND + nanos
}

fn take_ng(interfaces: &mut Vec<Interface>, block: &Block<'_>) -> Result<Step, Problem> {
    match block {
        // Each section numbers its interfaces from 0.
        Block::SectionHeader(_) => {
            interfaces.clear();
            Ok(Step::Nothing)
        }
        Block::InterfaceDescription(description) => {
            interfaces.push(Interface::new(description)?);
            Ok(Step::Nothing)
        }
        Block::EnhancedPacket(packet) => {
            let interface = interfaces.get(packet.if_id as usize);
            let interface = interface.ok_or(Problem::Interface(packet.if_id))?;
            let units = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
            let link = interface.link.map_err(Problem::LinkType)?;
            let time = interface.time(units);
            Ok(Step::Record(record(link, time, packet.packet_data())))
        }
        // The packet has no time and belongs to the first interface.
        Block::SimplePacket(packet) => {
            let interface = interfaces.first().ok_or(Problem::Interface(0))?;
            let link = interface.link.map_err(Problem::LinkType)?;
            Ok(Step::Record(record(link, 0, packet.packet_data())))
        }
        _ => Ok(Step::Nothing),
    }
}

impl Interface {
    fn new(description: &InterfaceDescriptionBlock<'_>) -> Result<Self, Problem> {
        let number = description.linktype.0;
        // A power of 2 with the highest bit, else of 10 (pcapng, section 4.2). pcap-parser 0.17 knows the second only.
        let resolution = description.if_tsresol;
        let units = match u32::from(resolution & 0x7f) {
            exponent if resolution & 0x80 != 0 => 2u64.checked_pow(exponent),
            exponent => 10u64.checked_pow(exponent),
        };
        Ok(Self {
            link: Link::from_number(number).ok_or(number),
            units: units.ok_or(Problem::Resolution(resolution))?,
            offset: description.ts_offset(),
        })
    }

    fn time(&self, units: u64) -> u64 {
        let seconds = (units / self.units).saturating_add_signed(self.offset);
        let fraction = u128::from(units % self.units) * u128::from(SECOND);
        let nanos = (fraction / u128::from(self.units)) as u64;
        seconds.saturating_mul(SECOND).saturating_add(nanos)
    }
}

fn record(link: Link, time: u64, frame: &[u8]) -> Record {
    match link.packet(frame) {
        Some(place) => Record::Ip {
            time,
            packet: frame[place].to_vec(),
        },
        None => Record::Other,
    }
}
