//! Messages crafted to hurt: whatever a client or an upstream resolver sends, nothing panics, and
//! every response can be read and is no larger than it may be.

use crate::common::*;
use hickory_proto::op::Message;
use hickory_proto::rr::RecordType;
use isthmus_dns64::{Ask, Dialect, Policy, Transport, respond};
use proptest::prelude::*;

fn check(query: &[u8], upstream: impl FnMut(&Ask) -> Option<Vec<u8>>) -> Option<Message> {
    let response = respond(&Policy::new(&site()), query, Transport::Udp, ID, upstream)?;
    assert!(response.len() <= 1232);
    assert_eq!(response[..2], query[..2]);
    assert_ne!(response[2] & 0x80, 0);
    Message::from_vec(&response).ok()
}

fn kinds() -> impl Strategy<Value = RecordType> {
    prop::sample::select(vec![
        RecordType::AAAA,
        RecordType::A,
        RecordType::PTR,
        RecordType::TXT,
    ])
}

/// Good replies, to be damaged.
fn replies() -> Vec<Says> {
    let mut signed = Says::answers(&[
        "www.example. 60 CNAME a.example.",
        "a.example. 60 A 192.0.2.1",
        "a.example. 60 A 10.0.0.1",
    ]);
    signed.answers.push(raw("example.", 60, 39, b"\x03net\0"));
    signed.answers.push(rrsig("a.example.", RecordType::A));
    signed.additionals = vec![rr("ns.example. 60 A 192.0.2.53")];
    let aaaa = Says::answers(&[
        "www.example. 60 AAAA ::ffff:192.0.2.1",
        "www.example. 60 AAAA 2001:db8::1",
    ]);
    vec![signed, aaaa, Says::no_data(300), Says::default()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_queries(query in prop::collection::vec(any::<u8>(), 0..700)) {
        let _ = check(&query, |ask| Some(Says::no_data(1).reply(&ask.encode(ID, &Dialect::Edns))));
    }

    #[test]
    fn damaged_queries(at in prop::collection::vec((0usize..64, any::<u8>()), 1..4)) {
        let mut query = ask("www.example.", RecordType::AAAA).dnssec_ok().bytes();
        for (at, to) in at {
            let at = at % query.len();
            query[at] = to;
        }
        let _ = check(&query, |_| None);
    }

    #[test]
    fn arbitrary_replies(kind in kinds(), tail in prop::collection::vec(any::<u8>(), 0..400), counts: [u8; 3], rcode in 0u8..16) {
        let query = ask("www.example.", kind).edns(1232).bytes();
        let response = check(&query, |ask| {
            let mut reply = ask.encode(ID, &Dialect::Plain);
            reply[2] |= 0x80;
            reply[3] |= rcode;
            (reply[7], reply[9], reply[11]) = (counts[0] % 8, counts[1] % 8, counts[2] % 8);
            reply.extend_from_slice(&tail);
            Some(reply)
        });
        prop_assert!(response.is_some() || !tail.is_empty());
    }

    #[test]
    fn damaged_replies(kind in kinds(), which in 0usize..4, at in prop::collection::vec((0usize..400, any::<u8>()), 1..6)) {
        let query = ask("www.example.", kind).dnssec_ok().bytes();
        let _ = check(&query, |ask| {
            let mut reply = replies()[which].reply(&ask.encode(ID, &Dialect::Edns));
            for (at, to) in &at {
                let at = 2 + at % (reply.len() - 2);
                reply[at] = *to;
            }
            Some(reply)
        });
    }

    /// Pointers everywhere: names that point at names that point at names.
    #[test]
    fn pointers(targets in prop::collection::vec(0u8..255, 1..40)) {
        let query = ask("www.example.", RecordType::AAAA).bytes();
        let _ = check(&query, |ask| {
            let mut reply = ask.encode(ID, &Dialect::Plain);
            reply[2] |= 0x80;
            reply[7] = targets.len() as u8;
            for target in &targets {
                reply.extend_from_slice(&[0xc0, *target, 0, 5, 0, 1, 0, 0, 0, 9, 0, 2, 0xc0, *target]);
            }
            Some(reply)
        });
    }
}

#[test]
fn very_many_a_records_make_a_bounded_answer() {
    let answers = (0..4_000u32).map(|n| {
        let [_, _, c, d] = n.to_be_bytes();
        rr(&format!("www.example. 60 A 198.18.{c}.{d}"))
    });
    let found = Says {
        answers: answers.collect(),
        ..Says::default()
    };
    let book = Book::default()
        .on("www.example.", RecordType::AAAA, Says::no_data(60))
        .on("www.example.", RecordType::A, found);
    let mut config = site();
    config.prefixes = vec![prefix("2001:db8:1::", 96), prefix("2001:db8:2::", 96)];
    let (response, _) = exchange(&config, &ask("www.example.", RecordType::AAAA), &book);
    assert_eq!(response.answers.len(), 1024);
}

#[test]
fn an_upstream_that_chains_for_ever_is_given_up() {
    let mut asked = 0;
    let query = ask("n0.example.", RecordType::AAAA).bytes();
    let response = check(&query, |ask| {
        asked += 1;
        let question = ask.encode(ID, &Dialect::Plain);
        let owner = Message::from_vec(&question).unwrap().queries[0]
            .name()
            .to_ascii();
        Some(Says::answers(&[&format!("{owner} 60 CNAME n{asked}.example.")]).reply(&question))
    });
    let code = response.unwrap().metadata.response_code;
    assert_eq!(code, hickory_proto::op::ResponseCode::ServFail);
    assert!(asked <= 16, "{asked} questions");
}
