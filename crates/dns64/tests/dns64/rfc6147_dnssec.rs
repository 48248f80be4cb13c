//! RFC 6147 sections 3 and 5.5: what the DO and CD bits do.

use crate::common::*;
use hickory_proto::rr::RecordType;

fn signed() -> Book {
    let chain = "www.example. 60 CNAME b.example.";
    let mut found = Says::answers(&[chain, "b.example. 80 A 192.0.2.1"]);
    found.answers.push(rrsig(WWW, RecordType::CNAME));
    found.answers.push(rrsig("b.example.", RecordType::A));
    let mut no_data = Says::no_data(300);
    no_data.answers = vec![rr(chain), rrsig(WWW, RecordType::CNAME)];
    no_data.authorities.push(rrsig("example.", RecordType::SOA));
    Book::default()
        .on(WWW, RecordType::AAAA, no_data)
        .on(WWW, RecordType::A, found)
}

#[test]
fn rfc6147_3_case_1_do_clear_is_synthesized() {
    for client in [
        ask(WWW, RecordType::AAAA),
        ask(WWW, RecordType::AAAA).checking_disabled(),
    ] {
        let (response, _) = exchange(&site(), &client, &v4_only());
        assert_eq!(aaaa(&response).len(), 1);
    }
}

#[test]
fn rfc6147_3_case_3_do_set_and_cd_clear_is_synthesized_without_validation() {
    let (response, _) = exchange(&site(), &ask(WWW, RecordType::AAAA).dnssec_ok(), &signed());
    assert_eq!(
        response.answers,
        [
            rr("www.example. 60 CNAME b.example."),
            rrsig(WWW, RecordType::CNAME),
            rr("b.example. 80 AAAA 2001:db8:64::192.0.2.1"),
        ],
        "signatures of what is unchanged stay, the one of the A record goes"
    );
    assert!(!response.metadata.authentic_data);
    assert!(response.edns.unwrap().flags().dnssec_ok);
}

#[test]
fn rfc6147_5_5_do_and_cd_set_is_not_synthesized() {
    let client = ask(WWW, RecordType::AAAA).dnssec_ok().checking_disabled();
    let book = signed();
    let (response, asked) = exchange(&site(), &client, &book);
    assert_eq!(asked, ["www.example. AAAA"]);
    assert_eq!(response.answers, book.entries[0].2.answers);
    assert_eq!(response.authorities, book.entries[0].2.authorities);
}

#[test]
fn rfc6147_5_5_do_and_cd_go_upstream_as_they_came() {
    for (client, dnssec_ok, checking_disabled) in [
        (ask(WWW, RecordType::AAAA), false, false),
        (ask(WWW, RecordType::AAAA).dnssec_ok(), true, false),
        (ask(WWW, RecordType::AAAA).checking_disabled(), false, true),
    ] {
        let policy = isthmus_dns64::Policy::new(&site());
        let mut seen = Vec::new();
        let _ = isthmus_dns64::respond(
            &policy,
            &client.bytes(),
            isthmus_dns64::Transport::Udp,
            ID,
            |ask| {
                let question = ask.encode(ID, &isthmus_dns64::Dialect::Edns);
                seen.push(hickory_proto::op::Message::from_vec(&question).unwrap());
                None
            },
        );
        assert_eq!(seen.len(), 2);
        for message in seen {
            assert_eq!(message.edns.unwrap().flags().dnssec_ok, dnssec_ok);
            assert_eq!(message.metadata.checking_disabled, checking_disabled);
            assert!(message.metadata.recursion_desired);
        }
    }
}
