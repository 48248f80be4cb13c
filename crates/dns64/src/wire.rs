//! A view of a DNS message that reads no more than the packet path needs: where names and records
//! begin and end, and which bytes are a TTL (RFC 1035 section 4.1).
//!
//! Nothing here panics or allocates more than a list of records, whatever the bytes are.

use std::ops::Range;

/// Bytes of the header.
pub(crate) const HEADER: usize = 12;
/// The longest name, as bytes of a message (RFC 1035 section 2.3.4).
pub(crate) const NAME_MAX: usize = 255;
/// Pointers followed for one name: a name has at most 127 labels, so more is an attempt to waste
/// our time.
const HOPS_MAX: usize = 127;
/// Where the question's name begins in every message with a question.
pub(crate) const QUESTION: usize = HEADER;

/// Types and classes that matter here (IANA DNS Parameters).
pub(crate) mod kind {
    pub(crate) const SOA: u16 = 6;
    pub(crate) const PTR: u16 = 12;
    pub(crate) const A: u16 = 1;
    pub(crate) const AAAA: u16 = 28;
    pub(crate) const OPT: u16 = 41;
    pub(crate) const DS: u16 = 43;
    pub(crate) const TKEY: u16 = 249;
    pub(crate) const TSIG: u16 = 250;
    pub(crate) const IXFR: u16 = 251;
    pub(crate) const AXFR: u16 = 252;
    pub(crate) const ANY: u16 = 255;

    pub(crate) const CLASS_IN: u16 = 1;
    pub(crate) const CLASS_NONE: u16 = 254;
    pub(crate) const CLASS_ANY: u16 = 255;
}

/// Bits of the second word of the header.
pub(crate) mod flag {
    pub(crate) const RESPONSE: u16 = 0x8000;
    pub(crate) const OPCODE: u16 = 0x7800;
    pub(crate) const AUTHORITATIVE: u16 = 0x0400;
    pub(crate) const TRUNCATED: u16 = 0x0200;
    pub(crate) const RECURSION_DESIRED: u16 = 0x0100;
    pub(crate) const RECURSION_AVAILABLE: u16 = 0x0080;
    pub(crate) const CHECKING_DISABLED: u16 = 0x0010;
    pub(crate) const RCODE: u16 = 0x000f;
}

/// Response codes (IANA DNS Parameters).
pub(crate) mod rcode {
    pub(crate) const NOERROR: u16 = 0;
    pub(crate) const FORMERR: u16 = 1;
    pub(crate) const SERVFAIL: u16 = 2;
    pub(crate) const NXDOMAIN: u16 = 3;
    pub(crate) const NOTIMP: u16 = 4;
    pub(crate) const REFUSED: u16 = 5;
    pub(crate) const BADVERS: u16 = 16;
    pub(crate) const BADCOOKIE: u16 = 23;
}

/// The 16 bits at an offset.
pub(crate) fn u16_at(message: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*message.get(at..)?.first_chunk()?))
}

/// The 32 bits at an offset.
pub(crate) fn u32_at(message: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*message.get(at..)?.first_chunk()?))
}

/// The end of the uncompressed name at `at`; `None` if it is compressed, too long or cut off.
pub(crate) fn plain_name(message: &[u8], at: usize) -> Option<usize> {
    let mut end = at;
    loop {
        let length = usize::from(*message.get(end)?);
        if length > 63 {
            return None;
        }
        end += 1 + length;
        if end - at > NAME_MAX {
            return None;
        }
        if length == 0 {
            return Some(end);
        }
    }
}

/// The end of the name at `at`, which may be compressed. Every pointer must point backwards and
/// the whole must be a legal name (RFC 1035 section 4.1.4); then no reader loops on it. The name
/// itself is appended to `out` in lower case.
pub(crate) fn read_name(message: &[u8], at: usize, out: &mut Vec<u8>) -> Option<usize> {
    let begin = out.len();
    let (mut position, mut end, mut bound) = (at, None, at);
    let mut hops = 0;
    loop {
        let length = usize::from(*message.get(position)?);
        match length {
            0 => {
                out.push(0);
                return (out.len() - begin <= NAME_MAX).then_some(end.unwrap_or(position + 1));
            }
            1..=63 => {
                let label = message.get(position..=position + length)?;
                out.extend(label.iter().map(u8::to_ascii_lowercase));
                if out.len() - begin > NAME_MAX {
                    return None;
                }
                position += 1 + length;
            }
            0xc0..=0xff => {
                let target = usize::from(u16_at(message, position)? & 0x3fff);
                end.get_or_insert(position + 2);
                hops += 1;
                if target >= bound || target < HEADER || hops > HOPS_MAX {
                    return None;
                }
                (position, bound) = (target, target);
            }
            _ => return None,
        }
    }
}

/// Where the parts of a record are.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) section: Section,
    pub(crate) begin: usize,
    pub(crate) kind: u16,
    pub(crate) ttl_at: usize,
    pub(crate) rdata: Range<usize>,
}

/// The three sections that hold records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Answer,
    Authority,
    Additional,
}

/// Where the parts of a message with exactly one question are.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The end of the question's name.
    pub(crate) name_end: usize,
    pub(crate) records: Vec<Record>,
    /// The end of the last record.
    pub(crate) end: usize,
}

impl Layout {
    /// Walks a message. The question's name must not be compressed. `None` if anything is cut
    /// off or illegal; bytes after the last record are ignored.
    pub(crate) fn of(message: &[u8]) -> Option<Self> {
        if u16_at(message, 4)? != 1 {
            return None;
        }
        let name_end = plain_name(message, QUESTION)?;
        let mut at = name_end + 4;
        message.get(..at)?;
        let counts = [
            (Section::Answer, u16_at(message, 6)?),
            (Section::Authority, u16_at(message, 8)?),
            (Section::Additional, u16_at(message, 10)?),
        ];
        let mut records = Vec::new();
        let mut name = Vec::with_capacity(NAME_MAX);
        for (section, count) in counts {
            for _ in 0..count {
                name.clear();
                let owner_end = read_name(message, at, &mut name)?;
                let length = usize::from(u16_at(message, owner_end + 8)?);
                let rdata = owner_end + 10..owner_end + 10 + length;
                message.get(rdata.clone())?;
                records.push(Record {
                    section,
                    begin: at,
                    kind: u16_at(message, owner_end)?,
                    ttl_at: owner_end + 4,
                    rdata: rdata.clone(),
                });
                at = rdata.end;
            }
        }
        Some(Self {
            name_end,
            records,
            end: at,
        })
    }

    /// The only OPT record, if there is one in the additional section.
    pub(crate) fn opt(&self) -> Option<&Record> {
        self.records
            .iter()
            .find(|record| record.kind == kind::OPT && record.section == Section::Additional)
    }
}

/// The data of an option in the data of an OPT record (RFC 6891 section 6.1.2). `None` if it is not
/// there or cut off.
pub(crate) fn edns_option(mut options: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16_at(options, 2)?);
        let data = options.get(4..4 + length)?;
        if u16_at(options, 0)? == wanted {
            return Some(data);
        }
        options = &options[4 + length..];
    }
}

/// The smaller of TTL and MINIMUM of an SOA record: how long a negative answer holds (RFC 2308
/// section 5). `None` if the record data is cut off.
pub(crate) fn negative_ttl(message: &[u8], soa: &Record) -> Option<u32> {
    let mut scratch = Vec::with_capacity(2 * NAME_MAX);
    let after_mname = read_name(message, soa.rdata.start, &mut scratch)?;
    let after_rname = read_name(message, after_mname, &mut scratch)?;
    if after_rname + 20 != soa.rdata.end {
        return None;
    }
    Some(ttl_at(message, soa.ttl_at)?.min(u32_at(message, after_rname + 16)?))
}

/// A TTL; with the first bit set it counts as zero (RFC 2181 section 8).
pub(crate) fn ttl(field: u32) -> u32 {
    if field > i32::MAX as u32 { 0 } else { field }
}

/// The TTL at an offset.
pub(crate) fn ttl_at(message: &[u8], at: usize) -> Option<u32> {
    u32_at(message, at).map(ttl)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A header with one question for `.`, then `names`.
    fn message(tail: &[u8]) -> Vec<u8> {
        let mut message = vec![0, 0, 0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1];
        message.extend_from_slice(tail);
        message
    }

    #[test]
    fn rfc1035_4_1_4_compression() {
        // F.ISI.ARPA at 17, FOO.F.ISI.ARPA as label and pointer, ARPA as pointer, root.
        let tail = b"\x01F\x03ISI\x04ARPA\0\x03FOO\xc0\x11\xc0\x17\0";
        let message = message(tail);
        let read = |at| {
            let mut name = Vec::new();
            read_name(&message, at, &mut name).map(|end| (end, name))
        };
        assert_eq!(read(17), Some((29, b"\x01f\x03isi\x04arpa\0".to_vec())));
        assert_eq!(
            read(29),
            Some((35, b"\x03foo\x01f\x03isi\x04arpa\0".to_vec()))
        );
        assert_eq!(read(35), Some((37, b"\x04arpa\0".to_vec())));
        assert_eq!(read(37), Some((38, b"\0".to_vec())));
    }

    #[test]
    fn pointers_forward_to_themselves_or_in_a_circle_are_refused() {
        for tail in [
            &b"\xc0\x11"[..],
            b"\xc0\x13\0",
            b"\x01a\xc0\x11",
            b"\xc0\x04",
            b"\x40a\0",
        ] {
            assert_eq!(
                read_name(&message(tail), 17, &mut Vec::new()),
                None,
                "{tail:?}"
            );
        }
    }

    #[test]
    fn rfc1035_2_3_4_names_have_at_most_255_bytes() {
        let label = [&[63u8][..], &[b'a'; 63]].concat();
        let fits = [label.repeat(3), [&[61u8][..], &[b'a'; 61], &[0]].concat()].concat();
        assert_eq!(fits.len(), 255);
        assert_eq!(plain_name(&fits, 0), Some(255));
        let long = [label.repeat(3), [&[62u8][..], &[b'a'; 62], &[0]].concat()].concat();
        assert_eq!(plain_name(&long, 0), None);
        assert_eq!(read_name(&message(&long), 17, &mut Vec::new()), None);
    }

    #[test]
    fn rfc2181_8_ttl_with_the_first_bit_is_zero() {
        assert_eq!(ttl(0x8000_0000), 0);
        assert_eq!(ttl(0x7fff_ffff), 0x7fff_ffff);
    }

    #[test]
    fn rfc6891_6_1_2_options() {
        let options = b"\0\x03\0\x02ab\0\x0a\0\x01c\0\x0a\0\x01d";
        assert_eq!(edns_option(options, 3), Some(&b"ab"[..]));
        assert_eq!(edns_option(options, 10), Some(&b"c"[..]), "the first");
        assert_eq!(edns_option(options, 4), None);
        assert_eq!(edns_option(&options[..5], 3), None, "cut off");
    }

    proptest! {
        #[test]
        fn arbitrary_options_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64), wanted in 0u16..4) {
            if let Some(data) = edns_option(&bytes, wanted) {
                prop_assert!(data.len() + 4 <= bytes.len());
            }
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600), at in 0usize..700) {
            let _ = plain_name(&bytes, at);
            let _ = read_name(&bytes, at, &mut Vec::new());
            if let Some(layout) = Layout::of(&bytes) {
                prop_assert!(layout.end <= bytes.len());
                for record in &layout.records {
                    let _ = negative_ttl(&bytes, record);
                }
            }
        }
    }
}
