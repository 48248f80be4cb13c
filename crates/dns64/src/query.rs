//! A query: its header, one question and EDNS, and nothing more.

use crate::wire::{self, flag, kind, rcode, u16_at, u32_at};

/// The largest response that we send over UDP: no fragments on any IPv6 path, and the size that
/// resolvers agreed on in 2020.
pub const UDP_MAX: u16 = 1232;
/// The bytes that a client without EDNS can receive over UDP (RFC 1035 section 4.2.1).
pub const UDP_PLAIN: u16 = 512;

/// Longest question: name, type and class.
const QUESTION_MAX: usize = wire::NAME_MAX + 4;

/// EDNS as the client speaks it (RFC 6891 section 6.1.2). Options are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edns {
    pub(crate) size: u16,
    pub(crate) version: u8,
    pub(crate) dnssec_ok: bool,
}

/// A query that can be answered.
#[derive(Clone)]
pub(crate) struct Query {
    pub(crate) id: u16,
    pub(crate) flags: u16,
    pub(crate) edns: Option<Edns>,
    length: u16,
    question: [u8; QUESTION_MAX],
    key: [u8; QUESTION_MAX + 1],
}

/// Why a datagram or message is not a query that can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswerable {
    /// Nothing may be sent back.
    Ignore,
    /// A response of this header alone is due.
    Header { id: u16, flags: u16, rcode: u16 },
}

impl Query {
    /// Reads a message from a client.
    pub(crate) fn parse(packet: &[u8]) -> Result<Self, Unanswerable> {
        let (Some(id), Some(flags), true) = (
            u16_at(packet, 0),
            u16_at(packet, 2),
            packet.len() >= wire::HEADER,
        ) else {
            return Err(Unanswerable::Ignore);
        };
        if flags & flag::RESPONSE != 0 {
            return Err(Unanswerable::Ignore);
        }
        let refuse = |rcode| Unanswerable::Header { id, flags, rcode };
        if flags & flag::OPCODE != 0 {
            return Err(refuse(rcode::NOTIMP));
        }
        Self::read(packet, id, flags).ok_or(refuse(rcode::FORMERR))
    }

    fn read(packet: &[u8], id: u16, flags: u16) -> Option<Self> {
        if packet[4..10] != [0, 1, 0, 0, 0, 0] {
            return None;
        }
        let name_end = wire::plain_name(packet, wire::QUESTION)?;
        let end = name_end + 4;
        let asked = packet.get(wire::QUESTION..end)?;
        let edns = read_additional(packet, end)?;

        let length = asked.len();
        let mut question = [0; QUESTION_MAX];
        question[..length].copy_from_slice(asked);
        let mut key = [0; QUESTION_MAX + 1];
        key[..length].copy_from_slice(asked);
        key[..length - 4].make_ascii_lowercase();
        let dnssec_ok = edns.is_some_and(|edns| edns.dnssec_ok);
        let checking_disabled = flags & flag::CHECKING_DISABLED != 0;
        key[length] = u8::from(dnssec_ok) | u8::from(checking_disabled) << 1;
        Some(Self {
            id,
            flags,
            edns,
            length: length as u16,
            question,
            key,
        })
    }

    /// The question as the client wrote it: name, type and class.
    pub(crate) fn question(&self) -> &[u8] {
        &self.question[..usize::from(self.length)]
    }

    /// The name in lower case, as bytes of a message.
    pub(crate) fn name(&self) -> &[u8] {
        &self.key[..usize::from(self.length) - 4]
    }

    /// The key that queries with identical answers have in common: the name in lower case, type, class, DO and CD.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key[..=usize::from(self.length)]
    }

    /// The type asked for.
    pub(crate) fn kind(&self) -> u16 {
        let at = usize::from(self.length) - 4;
        u16::from_be_bytes([self.key[at], self.key[at + 1]])
    }

    /// The class asked for.
    pub(crate) fn class(&self) -> u16 {
        let at = usize::from(self.length) - 2;
        u16::from_be_bytes([self.key[at], self.key[at + 1]])
    }

    pub(crate) fn dnssec_ok(&self) -> bool {
        self.edns.is_some_and(|edns| edns.dnssec_ok)
    }

    pub(crate) fn checking_disabled(&self) -> bool {
        self.flags & flag::CHECKING_DISABLED != 0
    }

    pub(crate) fn recursion_desired(&self) -> bool {
        self.flags & flag::RECURSION_DESIRED != 0
    }

    /// The largest response over UDP.
    pub(crate) fn udp_limit(&self) -> usize {
        let size = self.edns.map_or(UDP_PLAIN, |edns| edns.size);
        usize::from(size.clamp(UDP_PLAIN, UDP_MAX))
    }
}

/// The additional section of a query up to the end of the packet: at most one OPT record (RFC 6891
/// section 6.1.1); others are passed over. `None`: malformed.
fn read_additional(packet: &[u8], mut at: usize) -> Option<Option<Edns>> {
    let mut edns = None;
    for _ in 0..u16_at(packet, 10)? {
        // An OPT record belongs to the root.
        let root = *packet.get(at)? == 0;
        let owner_end = if root {
            at + 1
        } else {
            wire::read_name(packet, at, &mut Vec::new())?
        };
        let record = u16_at(packet, owner_end)?;
        let end = owner_end + 10 + usize::from(u16_at(packet, owner_end + 8)?);
        packet.get(..end)?;
        if record == kind::OPT {
            if !root || edns.is_some() {
                return None;
            }
            let bits = u32_at(packet, owner_end + 4)?;
            edns = Some(Edns {
                size: u16_at(packet, owner_end + 2)?,
                version: (bits >> 16) as u8,
                dnssec_ok: bits & 0x8000 != 0,
            });
        }
        at = end;
    }
    (at == packet.len()).then_some(edns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const QUERY: &[u8] = b"\x12\x34\x01\x00\0\x01\0\0\0\0\0\0\x03wWw\x07Example\0\0\x1c\0\x01";

    fn with_additional(records: &[&[u8]]) -> Vec<u8> {
        let mut packet = QUERY.to_vec();
        packet[11] = records.len() as u8;
        packet.extend(records.concat());
        packet
    }

    const OPT: &[u8] = b"\0\0\x29\x10\0\0\0\x80\0\0\0";
    const FORMERR: Unanswerable = Unanswerable::Header {
        id: 0x1234,
        flags: 0x0100,
        rcode: rcode::FORMERR,
    };

    fn refusal(packet: &[u8]) -> Unanswerable {
        match Query::parse(packet) {
            Ok(_) => panic!("parsed"),
            Err(refusal) => refusal,
        }
    }

    #[test]
    fn question_keeps_its_case_and_the_key_does_not() {
        let query = Query::parse(QUERY).unwrap();
        assert_eq!(query.question(), b"\x03wWw\x07Example\0\0\x1c\0\x01");
        assert_eq!(query.name(), b"\x03www\x07example\0");
        assert_eq!(query.key(), b"\x03www\x07example\0\0\x1c\0\x01\0");
        assert_eq!((query.kind(), query.class()), (28, 1));
        assert_eq!(query.udp_limit(), 512);
    }

    #[test]
    fn rfc6891_6_1_opt() {
        let query = Query::parse(&with_additional(&[OPT])).unwrap();
        assert_eq!(
            query.edns,
            Some(Edns {
                size: 4096,
                version: 0,
                dnssec_ok: true
            })
        );
        assert_eq!(query.udp_limit(), 1232);
        assert_eq!(*query.key().last().unwrap(), 1);
        // Two of them, one that does not belong to the root, one in a part of the packet.
        assert_eq!(refusal(&with_additional(&[OPT, OPT])), FORMERR);
        assert_eq!(
            refusal(&with_additional(&[b"\x01a\0\0\x29\x10\0\0\0\x80\0\0\0"])),
            FORMERR
        );
        assert_eq!(refusal(&with_additional(&[&OPT[..10]])), FORMERR);
    }

    #[test]
    fn rfc6891_6_2_3_sizes_below_512_count_as_512() {
        let query = Query::parse(&with_additional(&[b"\0\0\x29\0\x10\0\0\0\0\0\0"])).unwrap();
        assert_eq!(query.udp_limit(), 512);
    }

    #[test]
    fn responses_and_fragments_of_a_header_are_ignored() {
        let mut response = QUERY.to_vec();
        response[2] |= 0x80;
        assert_eq!(refusal(&response), Unanswerable::Ignore);
        assert_eq!(refusal(&QUERY[..11]), Unanswerable::Ignore);
    }

    #[test]
    fn rfc1035_4_1_1_other_opcodes_are_not_implemented() {
        let mut notify = QUERY.to_vec();
        notify[2] |= 4 << 3;
        let expected = Unanswerable::Header {
            id: 0x1234,
            flags: 0x2100,
            rcode: rcode::NOTIMP,
        };
        assert_eq!(refusal(&notify), expected);
    }

    #[test]
    fn malformed_queries() {
        for length in 12..QUERY.len() {
            assert_eq!(refusal(&QUERY[..length]), FORMERR, "{length} bytes");
        }
        let mut none = QUERY.to_vec();
        none[5] = 0;
        assert_eq!(refusal(&none), FORMERR);
        let mut two = QUERY.to_vec();
        two[5] = 2;
        assert_eq!(refusal(&two), FORMERR);
        assert_eq!(refusal(&[QUERY, b"x"].concat()), FORMERR);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Query::parse(&bytes);
        }

        #[test]
        fn damaged_queries_do_not_panic(at in 0usize..60, to: u8) {
            let mut packet = with_additional(&[OPT]);
            let at = at % packet.len();
            packet[at] = to;
            let _ = Query::parse(&packet);
        }
    }
}
