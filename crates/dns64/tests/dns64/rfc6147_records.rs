//! RFC 6147 section 5.3: PTR records, the additional section, all other records.

use crate::common::*;
use hickory_proto::op::ResponseCode;
use hickory_proto::rr::RecordType;

/// The name under ip6.arpa of 2001:db8:64::192.0.2.33.
const REVERSE: &str = "1.2.2.0.0.0.0.c.0.0.0.0.0.0.0.0.0.0.0.0.4.6.0.0.8.b.d.0.1.0.0.2.ip6.arpa.";

#[test]
fn rfc6147_5_3_1_ptr_is_a_cname_into_in_addr_arpa_with_its_data() {
    let v4 = "33.2.0.192.in-addr.arpa.";
    let found = Says::answers(&["33.2.0.192.in-addr.arpa. 90 PTR host.example."]);
    let book = Book::default().on(v4, RecordType::PTR, found);
    let (response, asked) = exchange(&site(), &ask(REVERSE, RecordType::PTR), &book);
    assert_eq!(asked, ["33.2.0.192.in-addr.arpa. PTR"]);
    let cname = rr(&format!("{REVERSE} 90 CNAME {v4}"));
    assert_eq!(
        response.answers,
        [cname, rr("33.2.0.192.in-addr.arpa. 90 PTR host.example.")]
    );
}

#[test]
fn rfc6147_5_3_1_no_cname_to_nothing() {
    let v4 = "33.2.0.192.in-addr.arpa.";
    for code in [ResponseCode::NoError, ResponseCode::NXDomain] {
        let book = Book::default().on(v4, RecordType::PTR, Says::no_data(300).with_code(code));
        let (response, _) = exchange(&site(), &ask(REVERSE, RecordType::PTR), &book);
        assert_eq!(response.metadata.response_code, code);
        assert!(response.answers.is_empty());
    }
}

#[test]
fn rfc6147_5_3_1_an_existing_cname_does_not_make_the_chain_longer() {
    // A delegation as in RFC 2317 section 4, with a hyphen for the slash.
    let book = Book::default().on(
        "33.2.0.192.in-addr.arpa.",
        RecordType::PTR,
        Says::answers(&[
            "33.2.0.192.in-addr.arpa. 50 CNAME 33.32-27.2.0.192.in-addr.arpa.",
            "33.32-27.2.0.192.in-addr.arpa. 90 PTR host.example.",
        ]),
    );
    let (response, _) = exchange(&site(), &ask(REVERSE, RecordType::PTR), &book);
    let cname = rr(&format!(
        "{REVERSE} 50 CNAME 33.32-27.2.0.192.in-addr.arpa."
    ));
    let found = rr("33.32-27.2.0.192.in-addr.arpa. 90 PTR host.example.");
    assert_eq!(response.answers, [cname, found]);
}

#[test]
fn rfc6147_5_3_1_the_well_known_prefix_matches_too() {
    // 64:ff9b::8.8.8.8 while another prefix is configured.
    let name = "8.0.8.0.8.0.8.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.9.f.f.4.6.0.0.ip6.arpa.";
    let found = Says::answers(&["8.8.8.8.in-addr.arpa. 90 PTR dns.example."]);
    let book = Book::default().on("8.8.8.8.in-addr.arpa.", RecordType::PTR, found);
    let (response, _) = exchange(&site(), &ask(name, RecordType::PTR), &book);
    assert_eq!(response.answers.len(), 2);
}

#[test]
fn rfc6147_5_3_1_other_ptr_questions_are_passed() {
    let name = "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.";
    let record = format!("{name} 90 PTR host.example.");
    let book = Book::default().on(name, RecordType::PTR, Says::answers(&[&record]));
    let (response, asked) = exchange(&site(), &ask(name, RecordType::PTR), &book);
    assert_eq!(response.answers, [rr(&record)]);
    assert_eq!(asked.len(), 1);
}

#[test]
fn rfc6147_5_3_2_the_additional_section_is_unchanged() {
    let mut book = v4_only();
    book.entries[1].2.additionals = vec![rr("ns.example. 60 A 192.0.2.53")];
    book.entries[1].2.authorities = vec![rr("example. 60 NS ns.example.")];
    let (response, _) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
    assert_eq!(aaaa(&response).len(), 1);
    assert_eq!(response.additionals, [rr("ns.example. 60 A 192.0.2.53")]);
    assert_eq!(
        response.authorities,
        [rr("example. 60 NS ns.example.")],
        "section 5.4"
    );
}

#[test]
fn rfc6147_5_3_3_other_records_are_unchanged() {
    let a_record = Says::answers(&["www.example. 3600 A 192.0.2.1"]);
    let mx = Says::answers(&["www.example. 3600 MX 10 mail.example."]);
    let unknown = Says {
        answers: vec![raw(WWW, 60, 65_400, b"\xc0\x0cwhatever")],
        ..Says::default()
    };
    let book = Book::default()
        .on(WWW, RecordType::A, a_record.clone())
        .on(WWW, RecordType::MX, mx.clone())
        .on(WWW, RecordType::Unknown(65_400), unknown.clone());
    for (kind, says) in [
        (RecordType::A, a_record),
        (RecordType::MX, mx),
        (RecordType::Unknown(65_400), unknown),
    ] {
        let (response, asked) = exchange(&site(), &ask(WWW, kind), &book);
        assert_eq!(response.answers, says.answers, "{kind}");
        assert_eq!(asked.len(), 1);
    }
}
