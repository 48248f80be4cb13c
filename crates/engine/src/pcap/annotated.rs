//! Writes pcapng files: packets of several links, each with a comment.

use std::io::{self, Write};

/// What the packets of a link begin with (`LINKTYPE_ETHERNET`, `LINKTYPE_RAW`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Begins {
    /// An Ethernet header.
    Ethernet = 1,
    /// That of IPv4 or of IPv6.
    Ip = 101,
}

/// Where a packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Direction {
    /// As it came.
    Inbound = 1,
    /// As it left.
    Outbound = 2,
}

/// A packet with all that is said of it.
#[derive(Clone, Copy, Debug)]
pub struct Annotated<'a> {
    /// The number of its link, in the order in which they were [added](Annotator::link).
    pub link: u32,
    /// Nanoseconds since 1970.
    pub time: u64,
    /// Its length, also of what is not there.
    pub length: u32,
    /// Its first bytes, or all.
    pub bytes: &'a [u8],
    /// Where it was seen.
    pub direction: Direction,
    /// What is to be said of it.
    pub comment: &'a str,
}

/// Types of blocks and options (draft-ietf-opsawg-pcapng).
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const COMMENT: u16 = 1;
const NAME: u16 = 2;
const FLAGS: u16 = 2;
const RESOLUTION: u16 = 9;
const APPLICATION: u16 = 4;
/// A resolution: nanoseconds.
const NANOSECONDS: u8 = 9;

/// A pcapng file that is being written, in little-endian byte order.
#[derive(Debug)]
pub struct Annotator<W> {
    out: W,
    links: u32,
}

impl<W: Write> Annotator<W> {
    /// Writes the header of a file.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn new(out: W, application: &str) -> io::Result<Self> {
        let mut this = Self { out, links: 0 };
        let mut body = [BYTE_ORDER, 1, u32::MAX, u32::MAX]
            .map(u32::to_le_bytes)
            .concat();
        option(&mut body, APPLICATION, application.as_bytes());
        this.block(SECTION, body)?;
        Ok(this)
    }

    /// Adds a link, and returns its number.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn link(&mut self, name: &str, begins: Begins) -> io::Result<u32> {
        let mut body = [u32::from(begins as u16), 0].map(u32::to_le_bytes).concat();
        option(&mut body, NAME, name.as_bytes());
        option(&mut body, RESOLUTION, &[NANOSECONDS]);
        self.block(INTERFACE, body)?;
        self.links += 1;
        Ok(self.links - 1)
    }

    /// Appends a packet, and flushes the output: somebody may be watching.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn write(&mut self, packet: Annotated<'_>) -> io::Result<()> {
        let words = [
            packet.link,
            (packet.time >> 32) as u32,
            packet.time as u32,
            packet.bytes.len() as u32,
            packet.length,
        ];
        let mut body = words.map(u32::to_le_bytes).concat();
        body.extend(packet.bytes);
        pad(&mut body);
        option(&mut body, COMMENT, packet.comment.as_bytes());
        option(&mut body, FLAGS, &(packet.direction as u32).to_le_bytes());
        self.block(PACKET, body)?;
        self.out.flush()
    }

    /// Writes a block whose body ends with options.
    fn block(&mut self, kind: u32, mut body: Vec<u8>) -> io::Result<()> {
        // The end of the options.
        body.extend([0; 4]);
        let length = (body.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length)?;
        self.out.write_all(&body)?;
        self.out.write_all(&length)
    }
}

/// Appends an option.
fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(u16::MAX.into())];
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

/// Blocks, and options in them, begin at multiples of 32 bits.
fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcap::{Reader, Record};

    #[test]
    fn a_file_can_be_read() {
        let mut annotator = Annotator::new(Vec::new(), "isthmus").unwrap();
        let link = annotator.link("eth0", Begins::Ip).unwrap();
        let packet = [[0x45, 0, 0, 21].as_slice(), &[0; 17]].concat();
        annotator
            .write(Annotated {
                link,
                time: 1_700_000_000_123_456_789,
                length: 21,
                bytes: &packet,
                direction: Direction::Inbound,
                comment: "came",
            })
            .unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &annotator.out).unwrap();
        let mut reader = Reader::open(file.path()).unwrap();
        let expected = Record::Ip {
            time: 1_700_000_000_123_456_789,
            packet,
        };
        assert_eq!(reader.read().unwrap(), Some(expected));
        assert_eq!(reader.read().unwrap(), None);
    }
}
