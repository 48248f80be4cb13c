//! Rules for every response: EDNS, truncation, refusals, names with an answer of our own.

use crate::common::*;
use hickory_proto::op::{Message, MessageType, OpCode, ResponseCode};
use hickory_proto::rr::{DNSClass, RData, RecordType};
use isthmus_dns64::{Config, Policy, Transport, respond};

/// An answer of about 1000 bytes.
fn large() -> Book {
    let answers = (0..30).map(|n| rr(&format!("www.example. 60 TXT \"record number {n:02}\"")));
    Book::default().on(
        WWW,
        RecordType::TXT,
        Says {
            answers: answers.collect(),
            ..Says::default()
        },
    )
}

fn over_udp(client: &Client, book: &Book) -> (Message, usize) {
    let bytes = respond(
        &Policy::new(&site()),
        &client.bytes(),
        Transport::Udp,
        ID,
        |ask| book.reply(&ask.encode(ID, &isthmus_dns64::Dialect::Edns)),
    );
    let bytes = bytes.unwrap();
    (Message::from_vec(&bytes).unwrap(), bytes.len())
}

#[test]
fn rfc1035_4_2_1_without_edns_512_bytes() {
    let (response, length) = over_udp(&ask(WWW, RecordType::TXT), &large());
    assert!(response.metadata.truncation && length <= 512);
    assert!(response.answers.is_empty() && response.edns.is_none());
    let (response, _) = exchange(&site(), &ask(WWW, RecordType::TXT), &large());
    assert!(!response.metadata.truncation, "over TCP");
    assert_eq!(response.answers.len(), 30);
}

#[test]
fn rfc6891_6_2_5_the_size_that_the_client_says_holds() {
    let (_, whole) = over_udp(&ask(WWW, RecordType::TXT).edns(4096), &large());
    assert!((512..=1232).contains(&whole));
    let (response, _) = over_udp(&ask(WWW, RecordType::TXT).edns(whole as u16), &large());
    assert!(!response.metadata.truncation);
    let (response, _) = over_udp(&ask(WWW, RecordType::TXT).edns(whole as u16 - 1), &large());
    assert!(response.metadata.truncation);
    assert!(
        response.edns.is_some(),
        "RFC 6891 section 7: also when truncated"
    );
}

#[test]
fn no_client_gets_more_than_1232_bytes_over_udp() {
    let answers = (0..90).map(|n| rr(&format!("www.example. 60 A 192.0.2.{n}")));
    let says = Says {
        answers: answers.collect(),
        ..Says::default()
    };
    let book = Book::default().on(WWW, RecordType::A, says);
    let (response, length) = over_udp(&ask(WWW, RecordType::A).edns(65_535), &book);
    assert!(response.metadata.truncation && length <= 1232);
}

#[test]
fn rfc6891_6_1_1_opt_is_in_the_response_if_it_was_in_the_query() {
    let book = Book::default().on(
        WWW,
        RecordType::A,
        Says::answers(&["www.example. 60 A 192.0.2.1"]),
    );
    let (response, _) = exchange(&site(), &ask(WWW, RecordType::A), &book);
    assert!(
        response.edns.is_none(),
        "though upstream was asked with EDNS"
    );
    let (response, _) = exchange(&site(), &ask(WWW, RecordType::A).dnssec_ok(), &book);
    let edns = response.edns.unwrap();
    assert_eq!((edns.max_payload(), edns.version()), (1232, 0));
    assert!(edns.flags().dnssec_ok, "RFC 3225 section 3: copied");
}

#[test]
fn rfc6891_6_1_3_other_versions_get_badvers() {
    let mut client = ask(WWW, RecordType::A).edns(1232);
    client.message.edns.as_mut().unwrap().set_version(1);
    let (response, asked) = exchange(&site(), &client, &Book::default());
    // IANA: 16 is BADVERS here and BADSIG in TSIG records; the codec knows one name.
    assert_eq!(u16::from(response.metadata.response_code), 16);
    assert_eq!(response.edns.unwrap().version(), 0);
    assert!(asked.is_empty());
}

#[test]
fn an_opt_record_of_upstream_never_reaches_the_client() {
    // In the middle of the additional section, where it is allowed to be.
    let bytes = respond(
        &Policy::new(&site()),
        &ask(WWW, RecordType::A).bytes(),
        Transport::Tcp,
        ID,
        |ask| {
            let question = ask.encode(ID, &isthmus_dns64::Dialect::Plain);
            let mut reply = Says::answers(&["www.example. 60 A 192.0.2.1"]).reply(&question);
            reply.extend_from_slice(b"\0\0\x29\x10\0\0\0\0\0\0\x04\0\x0a\0\0");
            reply.extend_from_slice(b"\x02ns\xc0\x10\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x35");
            reply[11] = 2;
            Some(reply)
        },
    );
    let response = Message::from_vec(&bytes.unwrap()).unwrap();
    assert!(response.edns.is_none());
    assert_eq!(response.answers.len(), 1);
    assert_eq!(response.additionals, [rr("ns.example. 60 A 192.0.2.53")]);
}

fn refused(client: &Client) -> ResponseCode {
    let (response, asked) = exchange(&site(), client, &Book::default());
    assert!(asked.is_empty());
    response.metadata.response_code
}

#[test]
fn what_is_not_answered() {
    assert_eq!(refused(&ask(WWW, RecordType::AXFR)), ResponseCode::Refused);
    assert_eq!(refused(&ask(WWW, RecordType::IXFR)), ResponseCode::Refused);
    assert_eq!(refused(&ask(WWW, RecordType::OPT)), ResponseCode::FormErr);
    let mut class_any = ask(WWW, RecordType::A);
    class_any.message.queries[0].set_query_class(DNSClass::ANY);
    assert_eq!(refused(&class_any), ResponseCode::Refused);
    let mut iterative = ask(WWW, RecordType::A);
    iterative.message.metadata.recursion_desired = false;
    assert_eq!(refused(&iterative), ResponseCode::Refused);
}

#[test]
fn rfc1035_4_1_1_other_opcodes_get_notimp() {
    let mut client = ask(WWW, RecordType::SOA);
    client.message.metadata.op_code = OpCode::Notify;
    let bytes = respond(
        &Policy::new(&site()),
        &client.bytes(),
        Transport::Udp,
        ID,
        |_| None,
    )
    .unwrap();
    let response = Message::from_vec(&bytes).unwrap();
    assert_eq!(response.metadata.response_code, ResponseCode::NotImp);
    assert_eq!(response.metadata.op_code, OpCode::Notify);
    assert_eq!(response.metadata.id, client.message.metadata.id);
}

#[test]
fn rfc8482_4_2_any_is_one_hinfo() {
    let (response, asked) = exchange(&site(), &ask(WWW, RecordType::ANY), &Book::default());
    assert!(asked.is_empty());
    let [record] = &response.answers[..] else {
        panic!("{:?}", response.answers)
    };
    let RData::HINFO(hinfo) = &record.data else {
        panic!("{record}")
    };
    assert_eq!(&*hinfo.cpu, b"RFC8482");
}

fn well_known(kind: RecordType) -> Message {
    let mut config = site();
    config.prefixes.push(prefix("64:ff9b::", 96));
    // RFC 6052 section 3.1 would refuse 192.0.0.0/24; the discovery of prefixes needs it.
    config.prefixes[1].non_global = isthmus_dns64::NonGlobal::Refuse;
    let (response, asked) = exchange(&config, &ask("ipv4only.arpa.", kind), &Book::default());
    assert!(asked.is_empty());
    assert!(
        response.metadata.authoritative,
        "RFC 8880 section 7.1: act as authoritative"
    );
    assert_eq!(response.metadata.response_code, ResponseCode::NoError);
    response
}

#[test]
fn rfc8880_7_1_ipv4only_arpa_a() {
    let expected = ["192.0.0.170", "192.0.0.171"].map(|a| a.parse::<std::net::Ipv4Addr>().unwrap());
    assert_eq!(a(&well_known(RecordType::A)), expected);
}

#[test]
fn rfc8880_7_1_ipv4only_arpa_aaaa_under_every_prefix() {
    let addresses: Vec<_> = aaaa(&well_known(RecordType::AAAA))
        .iter()
        .map(|(a, _)| *a)
        .collect();
    let expected = [
        "2001:db8:64::192.0.0.170",
        "64:ff9b::192.0.0.170",
        "2001:db8:64::192.0.0.171",
        "64:ff9b::192.0.0.171",
    ];
    assert_eq!(addresses, expected.map(v6));
}

#[test]
fn rfc8880_7_1_ipv4only_arpa_aaaa_also_for_those_who_validate() {
    let client = ask("ipv4only.arpa.", RecordType::AAAA)
        .dnssec_ok()
        .checking_disabled();
    let (response, _) = exchange(&site(), &client, &Book::default());
    assert_eq!(aaaa(&response).len(), 2);
}

#[test]
fn rfc8880_7_1_ipv4only_arpa_has_nothing_else() {
    for kind in [
        RecordType::NS,
        RecordType::SOA,
        RecordType::TXT,
        RecordType::ANY,
    ] {
        let response = well_known(kind);
        assert!(response.answers.is_empty(), "{kind}");
        assert_eq!(response.authorities.len(), 1);
    }
}

#[test]
fn rfc8880_7_1_below_ipv4only_arpa_is_nothing() {
    for owner in ["a.ipv4only.arpa.", "a.b.IPv4Only.ARPA."] {
        for kind in [RecordType::A, RecordType::AAAA, RecordType::DS] {
            let (response, asked) = exchange(&site(), &ask(owner, kind), &Book::default());
            assert_eq!(response.metadata.response_code, ResponseCode::NXDomain);
            assert!(asked.is_empty());
        }
    }
}

#[test]
fn rfc8880_7_1_ds_is_resolved_the_usual_way() {
    let book = Book::default().on("ipv4only.arpa.", RecordType::DS, Says::no_data(60));
    let (response, asked) = exchange(&site(), &ask("ipv4only.arpa.", RecordType::DS), &book);
    assert_eq!(asked.len(), 1);
    assert!(!response.metadata.authoritative);
}

#[test]
fn names_that_only_look_like_ipv4only_arpa_are_others() {
    for owner in ["xipv4only.arpa.", "ipv4only.arpa.example."] {
        let book = Book::default().on(owner, RecordType::A, Says::no_data(60));
        let (_, asked) = exchange(&site(), &ask(owner, RecordType::A), &book);
        assert_eq!(asked.len(), 1, "{owner}");
    }
    // The bytes of the suffix inside a longer label.
    let mut query = ask("a.example.", RecordType::A).bytes();
    query.splice(12..23, *b"\x0fa\x08ipv4only\x04arpa\0");
    let mut asked = 0;
    let _ = respond(&Policy::new(&site()), &query, Transport::Udp, ID, |_| {
        asked += 1;
        None
    });
    assert_eq!(asked, 1);
}

#[test]
fn rfc8880_7_2_1_reverse_names_of_the_well_known_addresses() {
    let config = Config::default();
    for digit in ["a.a", "b.a"] {
        let name = format!(
            "{digit}.0.0.0.0.0.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.9.f.f.4.6.0.0.ip6.arpa."
        );
        let (response, asked) = exchange(&config, &ask(&name, RecordType::PTR), &Book::default());
        assert!(asked.is_empty());
        assert_eq!(response.answers[0].data, rr("x. 1 PTR ipv4only.arpa.").data);
        assert_eq!(response.metadata.message_type, MessageType::Response);
    }
}
