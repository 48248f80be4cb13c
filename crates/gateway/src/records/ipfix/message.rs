//! One message of IPFIX while it is filled (RFC 7011 section 3).

use jiff::Timestamp;

use super::template::{Element, RELIABILITY, TEMPLATES, Template};

/// RFC 7011 section 3.1.
const VERSION: u16 = 10;
/// Bytes of a message header.
const HEADER: usize = 16;
/// Bytes of a set header.
const SET_HEADER: usize = 4;
/// Bytes of a message, so that the packet stays within 512 bytes over IPv6: RFC 7011 section
/// 10.3.3 for a path whose MTU is not known.
const LARGEST: usize = 512 - 48;
/// Set identifier of templates (RFC 7011 section 3.3.2).
const TEMPLATE_SET: u16 = 2;
/// Set identifier of options templates.
const OPTIONS_SET: u16 = 3;

/// A message: room for the header, then sets.
pub(super) struct Message {
    bytes: Vec<u8>,
    /// Data records in it.
    pub(super) records: u32,
    /// Where the last set begins, and its number.
    set: Option<(usize, u16)>,
}

impl Message {
    pub(super) fn new() -> Self {
        Self {
            bytes: vec![0; HEADER],
            records: 0,
            set: None,
        }
    }

    /// Whether there is nothing in it.
    pub(super) const fn is_empty(&self) -> bool {
        self.bytes.len() == HEADER
    }

    /// Whether a data record of this template fits.
    pub(super) fn has_room(&self, template: &Template) -> bool {
        let header = match self.set {
            Some((_, number)) if number == template.0 => 0,
            _ => SET_HEADER,
        };
        self.bytes.len() + header + template.length() <= LARGEST
    }

    /// Adds a data record.
    pub(super) fn add(&mut self, template: &Template, record: &[u8]) {
        debug_assert_eq!(record.len(), template.length());
        self.open_set(template.0);
        self.bytes.extend_from_slice(record);
        self.records += 1;
    }

    /// Adds all templates.
    pub(super) fn add_templates(&mut self) {
        self.open_set(TEMPLATE_SET);
        for template in TEMPLATES {
            self.head(template);
            self.fields(template.1);
        }
        self.open_set(OPTIONS_SET);
        self.head(&RELIABILITY);
        // One scope field: the exporting process.
        self.bytes.extend(1_u16.to_be_bytes());
        self.fields(RELIABILITY.1);
    }

    /// Writes the header, after which the message is complete.
    pub(super) fn finish(&mut self, now: Timestamp, sequence: u32, domain: u32) -> &[u8] {
        self.close_set();
        let length = self.bytes.len() as u16;
        self.bytes[0..2].copy_from_slice(&VERSION.to_be_bytes());
        self.bytes[2..4].copy_from_slice(&length.to_be_bytes());
        self.bytes[4..8].copy_from_slice(&(now.as_second() as u32).to_be_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_be_bytes());
        self.bytes[12..16].copy_from_slice(&domain.to_be_bytes());
        &self.bytes
    }

    /// Removes everything.
    pub(super) fn clear(&mut self) {
        self.bytes.truncate(HEADER);
        self.records = 0;
        self.set = None;
    }

    fn head(&mut self, Template(number, fields): &Template) {
        self.bytes.extend(number.to_be_bytes());
        self.bytes.extend((fields.len() as u16).to_be_bytes());
    }

    fn fields(&mut self, fields: &[Element]) {
        for Element(number, length) in fields {
            self.bytes.extend(number.to_be_bytes());
            self.bytes.extend(length.to_be_bytes());
        }
    }

    fn open_set(&mut self, number: u16) {
        if self.set.is_some_and(|(_, open)| open == number) {
            return;
        }
        self.close_set();
        self.set = Some((self.bytes.len(), number));
        self.bytes.extend(number.to_be_bytes());
        self.bytes.extend([0, 0]);
    }

    fn close_set(&mut self) {
        if let Some((start, _)) = self.set.take() {
            let length = (self.bytes.len() - start) as u16;
            self.bytes[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
}
