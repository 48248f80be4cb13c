//! Questions that are answered here, without anyone else: ipv4only.arpa (RFC 7050, RFC 8880),
//! the reverse names of its synthesized addresses, and ANY (RFC 8482).

use hickory_proto::op::{Message, OpCode, Query as Question, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, HINFO, PTR, SOA};
use hickory_proto::rr::{Name, RData, Record};
use hickory_proto::serialize::binary::{BinDecodable, BinDecoder};
use isthmus_core::address::pref64::WELL_KNOWN;

use crate::answer::{Answer, Authority};
use crate::policy::Policy;
use crate::query::Query;
use crate::reverse;
use crate::wire::kind;

/// RFC 8880 section 7.1, as bytes of a message.
pub(crate) const IPV4ONLY: &[u8] = b"\x08ipv4only\x04arpa\0";
/// Seconds; RFC 8880 appendix A.
const A_TTL: u32 = 86_400;
/// Seconds; RFC 6147 section 5.1.7, where no SOA says otherwise.
const AAAA_TTL: u32 = 600;
/// Seconds; the minimum in RFC 8880 appendix A.
const NEGATIVE_TTL: u32 = 60;
/// Seconds; as in the example of RFC 8482 section 4.2.
const ANY_TTL: u32 = 3_600;

/// The answer, if the question is one that we must answer ourselves.
pub(crate) fn answer(policy: &Policy, query: &Query) -> Option<Answer> {
    if query.class() != kind::CLASS_IN {
        return None;
    }
    match place(query.name()) {
        // RFC 8880 section 7.1: only DS is resolved as usual.
        Place::Apex if query.kind() == kind::DS => return None,
        Place::Apex => return ipv4only(policy, query),
        Place::Below => return denial(query, ResponseCode::NXDomain),
        Place::Elsewhere => {}
    }
    match query.kind() {
        kind::ANY => any(query),
        kind::PTR => well_known_ptr(policy, query),
        _ => None,
    }
}

/// Where a name is, seen from ipv4only.arpa.
enum Place {
    Apex,
    Below,
    Elsewhere,
}

fn place(name: &[u8]) -> Place {
    if name == IPV4ONLY {
        return Place::Apex;
    }
    if !name.ends_with(IPV4ONLY) {
        return Place::Elsewhere;
    }
    // The suffix must begin where a label does.
    let mut rest = name;
    while let Some((&length, after)) = rest.split_first() {
        if rest == IPV4ONLY {
            return Place::Below;
        }
        rest = after.get(usize::from(length)..).unwrap_or_default();
    }
    Place::Elsewhere
}

/// RFC 8880 section 7.1, item 4: two A records, the AAAA records for all prefixes, nothing else.
fn ipv4only(policy: &Policy, query: &Query) -> Option<Answer> {
    let name = name(query)?;
    let records: Vec<_> = match query.kind() {
        kind::A => WELL_KNOWN
            .map(|address| Record::from_rdata(name.clone(), A_TTL, RData::A(A(address))))
            .into(),
        kind::AAAA => WELL_KNOWN
            .iter()
            .flat_map(|&address| policy.announce(address))
            .map(|address| Record::from_rdata(name.clone(), AAAA_TTL, RData::AAAA(AAAA(address))))
            .collect(),
        _ => return denial(query, ResponseCode::NoError),
    };
    respond(
        query,
        ResponseCode::NoError,
        records,
        Vec::new(),
        Authority::Ours,
    )
}

/// No such records, or no such name, with the SOA that lets it be remembered (RFC 2308 section 2).
fn denial(query: &Query, code: ResponseCode) -> Option<Answer> {
    let zone = Name::read(&mut BinDecoder::new(IPV4ONLY)).ok()?;
    let person = Name::from_labels([&b"nobody"[..], b"invalid"]).ok()?;
    let soa = SOA::new(
        zone.clone(),
        person,
        1,
        7_200,
        3_600,
        15_724_800,
        NEGATIVE_TTL,
    );
    let soa = Record::from_rdata(zone, NEGATIVE_TTL, RData::SOA(soa));
    respond(query, code, Vec::new(), vec![soa], Authority::Ours)
}

/// RFC 8880 section 7.2.1: the reverse names of the synthesized well-known addresses.
fn well_known_ptr(policy: &Policy, query: &Query) -> Option<Answer> {
    let address = policy.represented(reverse::ip6_arpa(query.name())?)?;
    if !WELL_KNOWN.contains(&address) {
        return None;
    }
    let target = Name::read(&mut BinDecoder::new(IPV4ONLY)).ok()?;
    let record = Record::from_rdata(name(query)?, A_TTL, RData::PTR(PTR(target)));
    respond(
        query,
        ResponseCode::NoError,
        vec![record],
        Vec::new(),
        Authority::Ours,
    )
}

/// RFC 8482 section 4.2: one HINFO in place of everything that there may be.
fn any(query: &Query) -> Option<Answer> {
    let data = RData::HINFO(HINFO::new("RFC8482".into(), String::new()));
    let record = Record::from_rdata(name(query)?, ANY_TTL, data);
    respond(
        query,
        ResponseCode::NoError,
        vec![record],
        Vec::new(),
        Authority::None,
    )
}

fn name(query: &Query) -> Option<Name> {
    Name::read(&mut BinDecoder::new(query.name())).ok()
}

fn respond(
    query: &Query,
    code: ResponseCode,
    answers: Vec<Record>,
    authorities: Vec<Record>,
    authority: Authority,
) -> Option<Answer> {
    let mut message = Message::response(0, OpCode::Query);
    message.metadata.response_code = code;
    message.add_query(Question::query(name(query)?, query.kind().into()));
    message.insert_answers(answers);
    message.insert_authorities(authorities);
    Answer::keep(message.to_vec().ok()?, authority)
}
