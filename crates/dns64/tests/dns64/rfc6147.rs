//! RFC 6147 sections 5.1, 5.2 and 5.4: AAAA questions. Each test's name has the section that its
//! expectation is from.

use crate::common::*;
use hickory_proto::op::ResponseCode;
use hickory_proto::rr::{DNSClass, RecordType};
use isthmus_dns64::Config;

fn only_a(says: Says) -> Book {
    Book::default().on(WWW, RecordType::AAAA, says).on(
        WWW,
        RecordType::A,
        Says::answers(&["www.example. 3600 A 192.0.2.1"]),
    )
}

#[test]
fn rfc6147_7_1_example() {
    let mut config = site();
    config.prefixes = vec![prefix("64:ff9b::", 96)];
    let h2 = "h2.example.com.";
    let book = Book::default()
        .on(h2, RecordType::AAAA, Says::default())
        .on(
            h2,
            RecordType::A,
            Says::answers(&["h2.example.com. 60 A 192.0.2.1"]),
        );
    let (response, asked) = exchange(&config, &ask(h2, RecordType::AAAA), &book);
    assert_eq!(aaaa(&response), [(v6("64:ff9b::192.0.2.1"), 60)]);
    assert_eq!(asked, ["h2.example.com. AAAA", "h2.example.com. A"]);
}

#[test]
fn rfc6147_5_1_1_real_aaaa_is_passed_and_nothing_is_synthesized() {
    let book = Book::default().on(
        WWW,
        RecordType::AAAA,
        Says::answers(&["www.example. 60 AAAA 2001:db8::1"]),
    );
    let (response, asked) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
    assert_eq!(aaaa(&response), [(v6("2001:db8::1"), 60)]);
    assert_eq!(asked, ["www.example. AAAA"]);
}

#[test]
fn rfc6147_5_1_other_classes_have_no_dns64() {
    let mut client = ask(WWW, RecordType::AAAA);
    client.message.queries[0].set_query_class(DNSClass::CH);
    let book = v4_only();
    let (response, asked) = exchange(&site(), &client, &book);
    assert!(response.answers.is_empty());
    assert_eq!(asked, ["www.example. AAAA"]);
}

#[test]
fn rfc6147_5_1_2_nxdomain_is_passed() {
    let book = only_a(Says::no_data(300).with_code(ResponseCode::NXDomain));
    let (response, asked) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
    assert_eq!(response.metadata.response_code, ResponseCode::NXDomain);
    assert_eq!(response.authorities.len(), 1);
    assert_eq!(asked, ["www.example. AAAA"]);
}

#[test]
fn rfc6147_5_1_2_other_errors_count_as_empty() {
    for code in [
        ResponseCode::FormErr,
        ResponseCode::ServFail,
        ResponseCode::NotImp,
        ResponseCode::Refused,
        ResponseCode::YXDomain,
    ] {
        let (response, _) = exchange(
            &site(),
            &ask(WWW, RecordType::AAAA),
            &only_a(Says::code(code)),
        );
        assert_eq!(
            response.metadata.response_code,
            ResponseCode::NoError,
            "{code}"
        );
        assert_eq!(
            aaaa(&response),
            [(v6("2001:db8:64::192.0.2.1"), 600)],
            "{code}"
        );
    }
}

#[test]
fn rfc6147_5_1_3_a_timeout_counts_as_server_failure_and_so_as_empty() {
    let book = Book::default().on(
        WWW,
        RecordType::A,
        Says::answers(&["www.example. 60 A 192.0.2.1"]),
    );
    let (response, asked) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
    assert_eq!(aaaa(&response), [(v6("2001:db8:64::192.0.2.1"), 60)]);
    assert_eq!(asked.len(), 2);
}

#[test]
fn rfc6147_5_1_3_no_reply_at_all_is_server_failure() {
    let (response, _) = exchange(&site(), &ask(WWW, RecordType::AAAA), &Book::default());
    assert_eq!(response.metadata.response_code, ResponseCode::ServFail);
    let (response, _) = exchange(&site(), &ask(WWW, RecordType::MX), &Book::default());
    assert_eq!(response.metadata.response_code, ResponseCode::ServFail);
}

#[test]
fn rfc6147_5_1_4_only_excluded_aaaa_count_as_empty() {
    let book = only_a(Says::answers(&["www.example. 60 AAAA ::ffff:192.0.2.9"]));
    let (response, _) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
    assert_eq!(aaaa(&response), [(v6("2001:db8:64::192.0.2.1"), 600)]);
}

#[test]
fn rfc6147_5_1_4_excluded_aaaa_are_taken_out_of_an_answer() {
    let book = only_a(Says::answers(&[
        "www.example. 60 AAAA ::ffff:192.0.2.9",
        "www.example. 60 AAAA 2001:db8::1",
    ]));
    let (response, asked) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
    assert_eq!(aaaa(&response), [(v6("2001:db8::1"), 60)]);
    assert_eq!(asked.len(), 1);
}

#[test]
fn rfc6147_5_1_4_excluded_aaaa_never_come_back_when_there_is_no_a() {
    let book = Book::default()
        .on(
            WWW,
            RecordType::AAAA,
            Says::answers(&["www.example. 60 AAAA ::ffff:192.0.2.9"]),
        )
        .on(WWW, RecordType::A, Says::no_data(300));
    let (response, _) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
    assert_eq!(response.metadata.response_code, ResponseCode::NoError);
    assert!(response.answers.is_empty());
    assert_eq!(response.authorities.len(), 1);
}

#[test]
fn rfc6147_5_1_4_the_exclusion_set_is_configurable() {
    let mut config = site();
    config.exclude = vec!["2001:db8:bad::/48".parse().unwrap()];
    let book = only_a(Says::answers(&["www.example. 60 AAAA 2001:db8:bad::1"]));
    let (response, _) = exchange(&config, &ask(WWW, RecordType::AAAA), &book);
    assert_eq!(aaaa(&response), [(v6("2001:db8:64::192.0.2.1"), 600)]);
}

#[test]
fn rfc6147_5_1_5_the_cname_chain_is_part_of_the_answer() {
    let chain = [
        "www.example. 60 CNAME a.example.",
        "a.example. 70 CNAME b.example.",
    ];
    let mut no_data = Says::answers(&chain);
    no_data.authorities = Says::no_data(300).authorities;
    let found = Says::answers(&[chain[0], chain[1], "b.example. 80 A 192.0.2.1"]);
    let book = Book::default()
        .on(WWW, RecordType::AAAA, no_data)
        .on(WWW, RecordType::A, found);
    let (response, _) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
    let synthetic = rr("b.example. 80 AAAA 2001:db8:64::192.0.2.1");
    assert_eq!(response.answers, [rr(chain[0]), rr(chain[1]), synthetic]);
}

#[test]
fn rfc6147_5_1_5_the_dname_is_part_of_the_answer() {
    let dname = raw("example.", 60, 39, b"\x03net\0");
    let cname = rr("www.example. 60 CNAME www.net.");
    let mut found = Says::answers(&["www.net. 80 A 192.0.2.1"]);
    found.answers.splice(0..0, [dname.clone(), cname.clone()]);
    let mut no_data = Says::no_data(300);
    no_data.answers = vec![dname.clone(), cname.clone()];
    let book = Book::default()
        .on(WWW, RecordType::AAAA, no_data)
        .on(WWW, RecordType::A, found);
    let (response, _) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
    let synthetic = rr("www.net. 80 AAAA 2001:db8:64::192.0.2.1");
    assert_eq!(response.answers, [dname, cname, synthetic]);
}

#[test]
fn rfc6147_5_1_5_a_chain_that_upstream_does_not_follow_is_followed() {
    let link = "www.example. 60 CNAME there.example.";
    let there = "there.example.";
    let book = Book::default()
        .on(WWW, RecordType::AAAA, Says::answers(&[link]))
        .on(there, RecordType::AAAA, Says::no_data(300))
        .on(WWW, RecordType::A, Says::answers(&[link]))
        .on(
            there,
            RecordType::A,
            Says::answers(&["there.example. 80 A 192.0.2.1"]),
        );
    let (response, asked) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
    let synthetic = rr("there.example. 80 AAAA 2001:db8:64::192.0.2.1");
    assert_eq!(response.answers, [rr(link), synthetic]);
    assert_eq!(asked.len(), 4, "{asked:?}");
}

#[test]
fn rfc6147_5_1_5_a_chain_to_real_aaaa_is_kept_with_it() {
    let link = "www.example. 60 CNAME there.example.";
    let book = Book::default()
        .on(WWW, RecordType::AAAA, Says::answers(&[link]))
        .on(
            "there.example.",
            RecordType::AAAA,
            Says::answers(&["there.example. 80 AAAA 2001:db8::1"]),
        );
    let (response, _) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
    assert_eq!(
        response.answers,
        [rr(link), rr("there.example. 80 AAAA 2001:db8::1")]
    );
}

#[test]
fn rfc6147_5_1_5_loops_end_in_server_failure() {
    let around = Says::answers(&[
        "www.example. 60 CNAME b.example.",
        "b.example. 60 CNAME www.example.",
    ]);
    let book = Book::default().on(WWW, RecordType::AAAA, around);
    let (response, _) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
    assert_eq!(response.metadata.response_code, ResponseCode::ServFail);
    assert!(response.answers.is_empty());
}

#[test]
fn rfc6147_5_1_6_an_empty_answer_for_a_gives_the_empty_answer_for_aaaa() {
    let mut first = Says::no_data(300);
    first.authorities[0].ttl = 299;
    let book =
        Book::default()
            .on(WWW, RecordType::AAAA, first)
            .on(WWW, RecordType::A, Says::no_data(111));
    let (response, _) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
    assert_eq!(response.metadata.response_code, ResponseCode::NoError);
    assert!(response.answers.is_empty());
    assert_eq!(
        response.authorities[0].ttl, 299,
        "section 5.4: the answer to the original query"
    );
}

#[test]
fn rfc6147_5_1_6_an_error_for_a_is_the_answer() {
    for code in [
        ResponseCode::NXDomain,
        ResponseCode::Refused,
        ResponseCode::ServFail,
    ] {
        let book = Book::default()
            .on(WWW, RecordType::AAAA, Says::no_data(300))
            .on(WWW, RecordType::A, Says::code(code));
        let (response, _) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
        assert_eq!(response.metadata.response_code, code);
        assert!(response.answers.is_empty());
    }
}

#[test]
fn rfc6147_5_1_6_a_records_are_not_in_the_answer() {
    let (response, _) = exchange(&site(), &ask(WWW, RecordType::AAAA), &v4_only());
    assert!(a(&response).is_empty());
    assert_eq!(response.answers.len(), 1);
}

#[test]
fn rfc6147_5_1_7_ttl_is_the_lesser_of_a_and_soa() {
    for (a_ttl, soa_ttl, expected) in [(3600, 300, 300), (30, 300, 30), (3600, 0, 0)] {
        let record = format!("www.example. {a_ttl} A 192.0.2.1");
        let book = Book::default()
            .on(WWW, RecordType::AAAA, Says::no_data(soa_ttl))
            .on(WWW, RecordType::A, Says::answers(&[&record]));
        let (response, _) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
        assert_eq!(aaaa(&response)[0].1, expected);
    }
}

#[test]
fn rfc6147_5_1_7_without_soa_the_ttl_is_at_most_600() {
    for (a_ttl, expected) in [(3600, 600), (599, 599)] {
        let record = format!("www.example. {a_ttl} A 192.0.2.1");
        let book = Book::default()
            .on(WWW, RecordType::AAAA, Says::default())
            .on(WWW, RecordType::A, Says::answers(&[&record]));
        let (response, _) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
        assert_eq!(aaaa(&response)[0].1, expected);
    }
}

#[test]
fn rfc6147_5_1_7_ranges_select_the_prefix() {
    let mut config = site();
    config.prefixes = vec![prefix("2001:db8:64::", 96), prefix("2001:db8:65::", 96)];
    config.prefixes[0].except = vec!["192.0.2.0/24".parse().unwrap()];
    config.prefixes[1].ranges = vec!["192.0.2.0/24".parse().unwrap()];
    let book = Book::default()
        .on(WWW, RecordType::AAAA, Says::no_data(300))
        .on(
            WWW,
            RecordType::A,
            Says::answers(&[
                "www.example. 60 A 192.0.2.1",
                "www.example. 60 A 198.51.100.1",
            ]),
        );
    let (response, _) = exchange(&config, &ask(WWW, RecordType::AAAA), &book);
    let expected = [
        (v6("2001:db8:65::192.0.2.1"), 60),
        (v6("2001:db8:64::198.51.100.1"), 60),
    ];
    assert_eq!(aaaa(&response), expected);
}

#[test]
fn rfc6147_5_1_7_addresses_that_no_prefix_has_give_the_empty_answer() {
    let mut config = site();
    config.prefixes[0].except = vec!["192.0.2.0/24".parse().unwrap()];
    let (response, _) = exchange(&config, &ask(WWW, RecordType::AAAA), &v4_only());
    assert_eq!(response.metadata.response_code, ResponseCode::NoError);
    assert!(response.answers.is_empty());
    assert_eq!(response.authorities.len(), 1);
}

#[test]
fn rfc6052_3_1_private_addresses_are_not_synthesized_under_the_well_known_prefix() {
    let config = Config::default();
    let book = Book::default()
        .on(WWW, RecordType::AAAA, Says::no_data(300))
        .on(
            WWW,
            RecordType::A,
            Says::answers(&["www.example. 60 A 10.0.0.1", "www.example. 60 A 8.8.8.8"]),
        );
    let (response, _) = exchange(&config, &ask(WWW, RecordType::AAAA), &book);
    assert_eq!(aaaa(&response), [(v6("64:ff9b::8.8.8.8"), 60)]);
}

#[test]
fn rfc6147_5_2_without_a_prefix_the_well_known_one_is_used() {
    let book = only_a_with("8.8.8.8");
    let (response, _) = exchange(&Config::default(), &ask(WWW, RecordType::AAAA), &book);
    assert_eq!(aaaa(&response)[0].0, v6("64:ff9b::8.8.8.8"));
}

#[test]
fn rfc6147_5_2_with_a_prefix_the_well_known_one_is_not_used() {
    let (response, _) = exchange(
        &site(),
        &ask(WWW, RecordType::AAAA),
        &only_a_with("8.8.8.8"),
    );
    assert_eq!(aaaa(&response).len(), 1);
    assert_eq!(aaaa(&response)[0].0, v6("2001:db8:64::8.8.8.8"));
}

fn only_a_with(address: &str) -> Book {
    let record = format!("www.example. 60 A {address}");
    Book::default()
        .on(WWW, RecordType::AAAA, Says::no_data(300))
        .on(WWW, RecordType::A, Says::answers(&[&record]))
}

#[test]
fn rfc6147_5_2_one_aaaa_for_each_prefix_in_every_length_of_rfc6052_2_4() {
    // RFC 6052 section 2.4, tables 1 and 2, for 192.0.2.33.
    let table = [
        ("2001:db8::", 32, "2001:db8:c000:221::"),
        ("2001:db8:100::", 40, "2001:db8:1c0:2:21::"),
        ("2001:db8:122::", 48, "2001:db8:122:c000:2:2100::"),
        ("2001:db8:122:300::", 56, "2001:db8:122:3c0:0:221::"),
        ("2001:db8:122:344::", 64, "2001:db8:122:344:c0:2:2100::"),
        ("2001:db8:122:344::", 96, "2001:db8:122:344::192.0.2.33"),
    ];
    let mut config = site();
    config.prefixes = table
        .iter()
        .map(|(network, length, _)| prefix(network, *length))
        .collect();
    let (response, _) = exchange(
        &config,
        &ask(WWW, RecordType::AAAA),
        &only_a_with("192.0.2.33"),
    );
    let expected: Vec<_> = table
        .iter()
        .map(|(_, _, address)| (v6(address), 60))
        .collect();
    assert_eq!(aaaa(&response), expected);
}

#[test]
fn rfc6147_5_4_the_question_is_copied_with_its_case() {
    let mut client = ask("WwW.eXample.", RecordType::AAAA);
    client.message.metadata.checking_disabled = true;
    let (response, _) = exchange(&site(), &client, &v4_only());
    assert!(response.queries[0].name().eq_case(&name("WwW.eXample.")));
    assert!(response.metadata.recursion_desired && response.metadata.checking_disabled);
    assert!(!response.metadata.authoritative);
}

#[test]
fn a_record_of_someone_else_is_not_taken() {
    let found = Says::answers(&[
        "www.example. 60 A 192.0.2.1",
        "victim.example. 60 A 192.0.2.66",
    ]);
    let book = Book::default()
        .on(WWW, RecordType::AAAA, Says::no_data(300))
        .on(WWW, RecordType::A, found);
    let (response, _) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
    assert_eq!(
        response.answers,
        [rr("www.example. 60 AAAA 2001:db8:64::192.0.2.1")]
    );
}

#[test]
fn rfc6147_5_1_4_excluded_aaaa_of_someone_else_do_not_come_along() {
    let found = Says::answers(&[
        "www.example. 60 AAAA 2001:db8::1",
        "other.example. 60 AAAA ::ffff:192.0.2.9",
    ]);
    let book = Book::default().on(WWW, RecordType::AAAA, found);
    let (response, _) = exchange(&site(), &ask(WWW, RecordType::AAAA), &book);
    assert_eq!(response.answers, [rr("www.example. 60 AAAA 2001:db8::1")]);
}
