//! Following CNAME and DNAME from the question to the data (RFC 6147 section 5.1.5, RFC 6672).
//!
//! Only records of the chain from the question's name are taken from an answer; whatever else is in
//! it was not asked for.

use hickory_proto::rr::rdata::CNAME;
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use hickory_proto::serialize::binary::{BinDecodable, BinDecoder};

/// Links of a chain that are followed, over all replies. A loop ends here too.
const LINKS_MAX: usize = 16;

/// A chain as far as it is known.
#[derive(Debug)]
pub(crate) struct Chain {
    /// CNAME and DNAME records in the order of the chain, with their signatures.
    pub(crate) links: Vec<Record>,
    /// Where it has led to.
    pub(crate) end: Name,
    followed: usize,
}

/// Where an answer led.
#[derive(Debug)]
pub(crate) enum Reached {
    /// Records of the wanted type, and their signatures.
    Data {
        records: Vec<Record>,
        signatures: Vec<Record>,
    },
    /// No such records for the name at the end.
    Nothing(Progress),
    /// A loop, or too many links.
    Broken,
}

/// Whether an answer made a chain longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Further,
    None,
}

impl Chain {
    pub(crate) fn new(name: Name) -> Self {
        Self {
            links: Vec::new(),
            followed: 0,
            end: name,
        }
    }

    /// Follows the chain through the answer section of a reply.
    pub(crate) fn follow(&mut self, answers: &[Record], wanted: RecordType) -> Reached {
        let mut progress = Progress::None;
        loop {
            let owned = |kind| {
                answers
                    .iter()
                    .filter(move |r| r.record_type() == kind && r.dns_class == DNSClass::IN)
            };
            let records: Vec<_> = owned(wanted)
                .filter(|r| r.name == self.end)
                .cloned()
                .collect();
            if !records.is_empty() {
                let signatures = signatures(answers, &self.end, wanted);
                return Reached::Data {
                    records,
                    signatures,
                };
            }
            let dname = owned(RecordType::DNAME)
                .filter(|r| r.name.zone_of(&self.end) && r.name != self.end)
                .max_by_key(|r| labels(&r.name));
            let cname = owned(RecordType::CNAME).find(|r| r.name == self.end);
            if let Some(record) = dname
                && !self.links.contains(record)
            {
                self.links.push(record.clone());
                self.links
                    .extend(signatures(answers, &record.name, RecordType::DNAME));
            }
            let target = match (cname, dname) {
                (Some(record), _) => {
                    let RData::CNAME(target) = &record.data else {
                        return Reached::Broken;
                    };
                    self.links.push(record.clone());
                    self.links
                        .extend(signatures(answers, &self.end, RecordType::CNAME));
                    target.0.clone()
                }
                (None, Some(record)) => {
                    // RFC 6672 section 3.1: the CNAME belongs to the answer; some leave it out.
                    let Some(target) = substitute(&self.end, record) else {
                        return Reached::Broken;
                    };
                    let data = RData::CNAME(CNAME(target.clone()));
                    self.links
                        .push(Record::from_rdata(self.end.clone(), record.ttl, data));
                    target
                }
                (None, None) => return Reached::Nothing(progress),
            };
            self.followed += 1;
            if self.followed > LINKS_MAX {
                return Reached::Broken;
            }
            self.end = target;
            progress = Progress::Further;
        }
    }
}

/// RRSIG records for one set of records (RFC 4034 section 3.1.1: the first field is the type that
/// is covered).
fn signatures(answers: &[Record], owner: &Name, covered: RecordType) -> Vec<Record> {
    let covers = |record: &&Record| match &record.data {
        RData::Unknown { rdata, .. } => {
            rdata.anything.first_chunk() == Some(&u16::from(covered).to_be_bytes())
        }
        _ => false,
    };
    answers
        .iter()
        .filter(|record| record.record_type() == RecordType::RRSIG && record.name == *owner)
        .filter(covers)
        .cloned()
        .collect()
}

/// The name with the DNAME's owner replaced by its target (RFC 6672 section 2.2). `None` if that
/// is too long, or the record data is no name.
fn substitute(name: &Name, dname: &Record) -> Option<Name> {
    let RData::Unknown { rdata, .. } = &dname.data else {
        return None;
    };
    let target = Name::read(&mut BinDecoder::new(&rdata.anything)).ok()?;
    let kept = labels(name).checked_sub(labels(&dname.name))?;
    let prefix = Name::from_labels(name.iter().take(kept)).ok()?;
    prefix.append_domain(&target).ok()
}

/// All labels but the root, `*` among them.
fn labels(name: &Name) -> usize {
    name.iter().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hickory_proto::rr::rdata::{A, NULL};

    fn name(text: &str) -> Name {
        Name::from_ascii(text).unwrap()
    }

    fn cname(owner: &str, target: &str) -> Record {
        Record::from_rdata(name(owner), 60, RData::CNAME(CNAME(name(target))))
    }

    fn a(owner: &str) -> Record {
        Record::from_rdata(name(owner), 60, RData::A(A::new(192, 0, 2, 1)))
    }

    fn raw(owner: &str, kind: u16, data: &[u8]) -> Record {
        let rdata = NULL::with(data.to_vec());
        Record::from_rdata(
            name(owner),
            60,
            RData::Unknown {
                code: kind.into(),
                rdata,
            },
        )
    }

    #[test]
    fn rfc6147_5_1_5_cname_is_followed_in_any_order() {
        let answers = [
            a("c.example."),
            cname("B.example.", "C.example."),
            cname("a.example.", "b.example."),
        ];
        let mut chain = Chain::new(name("A.EXAMPLE."));
        let Reached::Data { records, .. } = chain.follow(&answers, RecordType::A) else {
            panic!()
        };
        assert_eq!(records, [a("c.example.")]);
        assert_eq!(chain.links, [answers[2].clone(), answers[1].clone()]);
    }

    #[test]
    fn records_off_the_chain_are_not_taken() {
        let answers = [a("victim.example."), cname("other.example.", "x.example.")];
        let mut chain = Chain::new(name("a.example."));
        let reached = chain.follow(&answers, RecordType::A);
        assert!(
            matches!(reached, Reached::Nothing(Progress::None)),
            "{reached:?}"
        );
        assert!(chain.links.is_empty());
    }

    #[test]
    fn loops_are_cut() {
        let answers = [
            cname("a.example.", "b.example."),
            cname("b.example.", "A.example."),
        ];
        let mut chain = Chain::new(name("a.example."));
        assert!(matches!(
            chain.follow(&answers, RecordType::A),
            Reached::Broken
        ));
        let itself = [cname("a.example.", "a.example.")];
        let mut chain = Chain::new(name("a.example."));
        assert!(matches!(
            chain.follow(&itself, RecordType::A),
            Reached::Broken
        ));
    }

    #[test]
    fn long_chains_are_cut() {
        let answers: Vec<_> = (0..100)
            .map(|n| cname(&format!("n{n}.example."), &format!("n{}.example.", n + 1)))
            .collect();
        let mut chain = Chain::new(name("n0.example."));
        assert!(matches!(
            chain.follow(&answers, RecordType::A),
            Reached::Broken
        ));
    }

    #[test]
    fn rfc6672_2_2_dname_substitution() {
        // The second line of the table in RFC 6672 section 2.2, and the CNAME left out.
        let dname = raw("example.com.", 39, b"\x07example\x03net\0");
        let mut chain = Chain::new(name("a.x.example.com."));
        let answers = [dname.clone(), a("a.x.example.net.")];
        let Reached::Data { .. } = chain.follow(&answers, RecordType::A) else {
            panic!()
        };
        assert_eq!(
            chain.links,
            [dname, cname("a.x.example.com.", "a.x.example.net.")]
        );
    }

    #[test]
    fn rfc6672_2_2_dname_does_not_redirect_its_own_name() {
        let dname = raw("example.com.", 39, b"\x07example\x03net\0");
        let mut chain = Chain::new(name("example.com."));
        assert!(matches!(
            chain.follow(&[dname], RecordType::A),
            Reached::Nothing(Progress::None)
        ));
    }

    #[test]
    fn rfc6672_2_2_overlong_substitution_breaks_the_chain() {
        let label = "x".repeat(63);
        let owner = format!("{label}.{label}.{label}.example.");
        let target = [&[63u8][..], &[b'y'; 63], b"\0"].concat();
        let mut chain = Chain::new(name(&owner));
        let reached = chain.follow(&[raw("example.", 39, &target)], RecordType::A);
        assert!(matches!(reached, Reached::Broken), "{reached:?}");
    }

    #[test]
    fn signatures_of_links_come_along_and_others_do_not() {
        let of_cname = raw("a.example.", 46, b"\0\x05rest");
        let of_other = raw("a.example.", 46, b"\0\x01rest");
        let answers = [
            cname("a.example.", "b.example."),
            of_cname.clone(),
            of_other,
        ];
        let mut chain = Chain::new(name("a.example."));
        let _ = chain.follow(&answers, RecordType::A);
        assert_eq!(chain.links, [answers[0].clone(), of_cname]);
    }
}
