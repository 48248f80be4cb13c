//! A cached response: encoded once, and adapted to each client by changing a few bytes.
//!
//! ID, RD, CD and the spelling of the question are the client's, TTLs are counted down, OPT comes last (RFC 6891
//! section 7), and a response that is too large for UDP is truncated (RFC 2181 section 9).

use hickory_proto::op::Message;

use crate::query::{Query, UDP_MAX};
use crate::wire::{self, Layout, Section, flag, kind, rcode, u16_at};

/// How long a failure is remembered (RFC 9520 section 3.2 asks for at least one second).
const FAILURE_TTL: u32 = 5;
/// How long any answer is kept at most (RFC 8767 section 4 has a week; a day is usual).
const POSITIVE_TTL_MAX: u32 = 86_400;
/// How long a negative answer is kept at most (RFC 2308 section 5).
const NEGATIVE_TTL_MAX: u32 = 10_800;

/// Whether we speak for the zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Authority {
    /// An answer of an upstream resolver.
    None,
    /// RFC 8880 section 7.1: we act as authoritative for ipv4only.arpa.
    Ours,
}

/// How a response travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// In one datagram, of the size that the client can receive and at most [`UDP_MAX`].
    Udp,
    /// In a stream, of any size that a message may have.
    Tcp,
}

/// A response without OPT record, ready to be adapted.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    wire: Box<[u8]>,
    /// Where the TTLs are.
    ttls: Box<[u16]>,
    /// Seconds for which it may be repeated; 0: not at all.
    lifetime: u32,
}

/// The outcome of rendering a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rendered {
    Whole,
    Truncated,
}

impl Answer {
    /// Keeps a response. TTLs are brought into range, an OPT record is taken out. `None` if the
    /// bytes are not a readable response with one question.
    pub(crate) fn keep(mut wire: Vec<u8>, authority: Authority) -> Option<Self> {
        let mut layout = Layout::of(&wire)?;
        if let Some(opt) = layout.opt().cloned() {
            if opt.rdata.end == layout.end {
                let count = u16_at(&wire, 10)? - 1;
                wire[10..12].copy_from_slice(&count.to_be_bytes());
                wire.truncate(opt.begin);
            } else {
                // Records behind it may point at each other: encode anew.
                let mut message = Message::from_vec(&wire).ok()?;
                message.edns = None;
                wire = message.to_vec().ok()?;
            }
            layout = Layout::of(&wire)?;
        }
        wire.truncate(layout.end);
        if wire.len() > usize::from(u16::MAX) - 11 {
            return None;
        }
        let rcode = u16_at(&wire, 2)? & flag::RCODE;
        let mut flags = flag::RESPONSE | flag::RECURSION_AVAILABLE | rcode;
        if authority == Authority::Ours {
            flags |= flag::AUTHORITATIVE;
        }
        wire[..2].fill(0);
        wire[2..4].copy_from_slice(&flags.to_be_bytes());
        let lifetime = settle_ttls(&mut wire, &layout, rcode);
        let ttls = layout
            .records
            .iter()
            .map(|record| record.ttl_at as u16)
            .collect();
        Some(Self {
            wire: wire.into(),
            ttls,
            lifetime,
        })
    }

    /// A response without records.
    pub(crate) fn empty(query: &Query, rcode: u16) -> Self {
        let mut wire = vec![0; wire::HEADER];
        wire[5] = 1;
        wire.extend_from_slice(query.question());
        let flags = flag::RESPONSE | flag::RECURSION_AVAILABLE | (rcode & flag::RCODE);
        wire[2..4].copy_from_slice(&flags.to_be_bytes());
        let lifetime = if rcode == rcode::SERVFAIL {
            FAILURE_TTL
        } else {
            0
        };
        Self {
            wire: wire.into(),
            ttls: Box::new([]),
            lifetime,
        }
    }

    /// Seconds for which it may be repeated.
    pub(crate) fn lifetime(&self) -> u32 {
        self.lifetime
    }

    /// Bytes that it takes in memory, about.
    pub(crate) fn size(&self) -> usize {
        self.wire.len() + 2 * self.ttls.len() + size_of::<Self>()
    }

    /// Writes the response for `query` into `out`, `age` seconds after the answer was made. The
    /// query asks the question that the answer was kept for, save for upper and lower case.
    pub(crate) fn render(
        &self,
        query: &Query,
        age: u32,
        transport: Transport,
        out: &mut Vec<u8>,
    ) -> Rendered {
        out.clear();
        let question_end = wire::HEADER + query.question().len();
        let opt = if query.edns.is_some() { 11 } else { 0 };
        let limit = match transport {
            Transport::Udp => query.udp_limit(),
            Transport::Tcp => usize::from(u16::MAX),
        };
        let whole = self.wire.len() + opt <= limit;
        let source = if whole {
            &self.wire[..]
        } else {
            &self.wire[..question_end]
        };
        out.extend_from_slice(source);
        if whole {
            for &at in &self.ttls {
                let field = usize::from(at)..usize::from(at) + 4;
                if let Some(ttl) = wire::u32_at(out, field.start) {
                    out[field].copy_from_slice(&ttl.saturating_sub(age).to_be_bytes());
                }
            }
        } else {
            out[6..12].fill(0);
        }
        let cut = if whole { 0 } else { flag::TRUNCATED };
        finish(query, cut, 0, question_end, out);
        if whole {
            Rendered::Whole
        } else {
            Rendered::Truncated
        }
    }
}

/// Writes a response without records, with any of the twelve bits of a response code that EDNS has
/// room for. Without EDNS the upper ones are lost, as they must be.
pub(crate) fn render_error(query: &Query, rcode: u16, out: &mut Vec<u8>) {
    out.clear();
    out.resize(wire::HEADER, 0);
    out[5] = 1;
    out.extend_from_slice(query.question());
    let flags = flag::RESPONSE | flag::RECURSION_AVAILABLE | (rcode & flag::RCODE);
    out[2..4].copy_from_slice(&flags.to_be_bytes());
    finish(query, 0, (rcode >> 4) as u8, out.len(), out);
}

/// Writes a response without records that has a client ask again over TCP (RFC 2181 section 9).
pub(crate) fn render_truncated(query: &Query, out: &mut Vec<u8>) {
    render_error(query, rcode::NOERROR, out);
    out[2] |= (flag::TRUNCATED >> 8) as u8;
}

/// Writes a response of a header alone, to something that has no readable question.
pub(crate) fn render_header(id: u16, flags: u16, rcode: u16, out: &mut Vec<u8>) {
    out.clear();
    let kept = flags & (flag::OPCODE | flag::RECURSION_DESIRED | flag::CHECKING_DISABLED);
    let flags = flag::RESPONSE | flag::RECURSION_AVAILABLE | kept | rcode;
    out.extend_from_slice(&id.to_be_bytes());
    out.extend_from_slice(&flags.to_be_bytes());
    out.extend_from_slice(&[0; 8]);
}

/// The parts that every response takes from its query.
fn finish(query: &Query, set: u16, extended: u8, question_end: usize, out: &mut Vec<u8>) {
    out[..2].copy_from_slice(&query.id.to_be_bytes());
    let echoed = query.flags & (flag::RECURSION_DESIRED | flag::CHECKING_DISABLED);
    let flags = u16::from_be_bytes([out[2], out[3]]) | echoed | set;
    out[2..4].copy_from_slice(&flags.to_be_bytes());
    out[wire::QUESTION..question_end].copy_from_slice(query.question());
    if let Some(edns) = query.edns {
        let [high, low] = UDP_MAX.to_be_bytes();
        let dnssec_ok = u8::from(edns.dnssec_ok) << 7;
        out.extend_from_slice(&[
            0,
            0,
            kind::OPT as u8,
            high,
            low,
            extended,
            0,
            dnssec_ok,
            0,
            0,
            0,
        ]);
        let count = u16::from_be_bytes([out[10], out[11]]) + 1;
        out[10..12].copy_from_slice(&count.to_be_bytes());
    }
}

/// Brings TTLs into range and says how long the whole may be kept: the least TTL of an answer, the
/// SOA's word for a negative one (RFC 2308 section 5), a moment for a failure.
fn settle_ttls(wire: &mut [u8], layout: &Layout, rcode: u16) -> u32 {
    let asked = u16_at(wire, layout.name_end).unwrap_or_default();
    let mut least = u32::MAX;
    let mut negative = None;
    let mut answered = false;
    for record in &layout.records {
        let mut ttl = wire::ttl_at(wire, record.ttl_at).unwrap_or_default();
        if record.section == Section::Authority && record.kind == kind::SOA {
            ttl = wire::negative_ttl(wire, record).unwrap_or_default();
            negative = Some(ttl);
        }
        answered |=
            record.section == Section::Answer && (record.kind == asked || asked == kind::ANY);
        least = least.min(ttl);
        wire[record.ttl_at..record.ttl_at + 4].copy_from_slice(&ttl.to_be_bytes());
    }
    match (rcode, negative) {
        (rcode::NOERROR, _) if answered => least.min(POSITIVE_TTL_MAX),
        (rcode::NOERROR | rcode::NXDOMAIN, Some(_)) => least.min(NEGATIVE_TTL_MAX),
        // RFC 2308 section 5: a negative answer without SOA is not cached.
        (rcode::NOERROR | rcode::NXDOMAIN, None) => 0,
        _ => FAILURE_TTL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A response for `a.` and this type, with records as bytes.
    fn response(kind: u8, rcode: u8, counts: [u8; 3], records: &[&[u8]]) -> Vec<u8> {
        let [answers, authorities, additionals] = counts;
        let mut wire = vec![
            9,
            9,
            0x87,
            0xa0 | rcode,
            0,
            1,
            0,
            answers,
            0,
            authorities,
            0,
            additionals,
        ];
        wire.extend_from_slice(&[1, b'a', 0, 0, kind, 0, 1]);
        wire.extend(records.concat());
        wire
    }

    const A_60: &[u8] = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x01";
    const A_FOREVER: &[u8] = b"\xc0\x0c\0\x01\0\x01\x7f\xff\xff\xff\0\x04\xc0\0\x02\x01";
    const A_MSB: &[u8] = b"\xc0\x0c\0\x01\0\x01\x80\0\0\x3c\0\x04\xc0\0\x02\x01";
    const CNAME_30: &[u8] = b"\xc0\x0c\0\x05\0\x01\0\0\0\x1e\0\x02\xc0\x0c";
    /// TTL 3600, MINIMUM 300.
    const SOA: &[u8] =
        b"\0\0\x06\0\x01\0\0\x0e\x10\0\x16\0\0\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\x01\x2c";
    const OPT: &[u8] = b"\0\0\x29\x04\xd0\0\0\0\0\0\0";

    fn lifetime(wire: Vec<u8>) -> u32 {
        Answer::keep(wire, Authority::None).unwrap().lifetime()
    }

    #[test]
    fn rfc2308_5_how_long_answers_are_kept() {
        assert_eq!(lifetime(response(1, 0, [1, 0, 0], &[A_60])), 60);
        assert_eq!(
            lifetime(response(1, 0, [2, 0, 0], &[CNAME_30, A_60])),
            30,
            "the least"
        );
        assert_eq!(
            lifetime(response(1, 0, [1, 0, 0], &[A_FOREVER])),
            86_400,
            "a day at most"
        );
        assert_eq!(
            lifetime(response(1, 0, [1, 0, 0], &[A_MSB])),
            0,
            "RFC 2181 section 8"
        );
        assert_eq!(
            lifetime(response(1, 0, [0, 1, 0], &[SOA])),
            300,
            "MINIMUM of the SOA"
        );
        assert_eq!(lifetime(response(1, 3, [0, 1, 0], &[SOA])), 300, "NXDOMAIN");
        assert_eq!(
            lifetime(response(28, 0, [1, 1, 0], &[CNAME_30, SOA])),
            30,
            "alias to nothing"
        );
        assert_eq!(
            lifetime(response(1, 0, [0, 0, 0], &[])),
            0,
            "negative without SOA"
        );
        assert_eq!(lifetime(response(1, 3, [0, 0, 0], &[])), 0);
        assert_eq!(
            lifetime(response(28, 0, [1, 0, 0], &[CNAME_30])),
            0,
            "nor with an alias"
        );
        assert_eq!(lifetime(response(1, 2, [0, 0, 0], &[])), 5, "SERVFAIL");
    }

    fn render(wire: Vec<u8>, age: u32) -> Vec<u8> {
        let query = b"\x12\x34\x01\x10\0\x01\0\0\0\0\0\0\x01A\0\0\x01\0\x01";
        let query = Query::parse(query).ok().unwrap();
        let mut out = Vec::new();
        let answer = Answer::keep(wire, Authority::None).unwrap();
        assert_eq!(
            answer.render(&query, age, Transport::Udp, &mut out),
            Rendered::Whole
        );
        out
    }

    #[test]
    fn a_kept_answer_takes_on_what_is_the_clients() {
        // Kept: AA, AD and the ID of upstream, its OPT record. Rendered: RD, CD, RA, case and ID.
        let out = render(response(1, 0, [1, 0, 1], &[A_60, OPT]), 7);
        let expected = b"\x12\x34\x81\x90\0\x01\0\x01\0\0\0\0\x01A\0\0\x01\0\x01\
            \xc0\x0c\0\x01\0\x01\0\0\0\x35\0\x04\xc0\0\x02\x01";
        assert_eq!(out, expected);
    }

    #[test]
    fn bytes_after_the_last_record_are_not_handed_on() {
        let records = [A_60, b"rubbish"];
        assert_eq!(
            render(response(1, 0, [1, 0, 0], &records), 0).len(),
            19 + A_60.len()
        );
    }

    #[test]
    fn unreadable_responses_are_not_kept() {
        for cut in 1..A_60.len() {
            let wire = response(1, 0, [1, 0, 0], &[&A_60[..cut]]);
            assert!(Answer::keep(wire, Authority::None).is_none(), "{cut}");
        }
    }
}
