//! Replies of upstream resolvers are hard to forge, by the case of letters and by DNS cookies
//! (RFC 7873). The resolvers here have cookies of their own making.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::*;
use crate::service::*;
use crate::upstream::Upstream;
use hickory_proto::rr::RecordType;
use isthmus_dns64::Counter;

/// Where the option of a cookie begins in a question: OPT comes last, and has nothing else.
fn cookie(question: &[u8]) -> Option<&[u8]> {
    let name = question[12..].iter().position(|b| *b == 0).unwrap();
    let opt = question.get(12 + name + 5..)?;
    let (number, data) = (opt.get(11..13)?, opt.get(15..)?);
    assert_eq!(number, [0, 10]);
    assert_eq!(opt[13..15], (data.len() as u16).to_be_bytes());
    Some(data)
}

/// A reply with an OPT record of this data and extended response code.
fn with_option(mut reply: Vec<u8>, code: u8, data: &[u8]) -> Vec<u8> {
    reply[11] += 1;
    reply[3] |= code & 0xf;
    reply.extend_from_slice(&[0, 0, 41, 4, 0xd0, code >> 4, 0, 0, 0]);
    reply.extend_from_slice(&(4 + data.len() as u16).to_be_bytes());
    reply.extend_from_slice(&[0, 10]);
    reply.extend_from_slice(&(data.len() as u16).to_be_bytes());
    reply.extend_from_slice(data);
    reply
}

/// The name in a message, as it is spelled.
fn spelling(message: &[u8]) -> String {
    let end = message[12..].iter().position(|b| *b == 0).unwrap();
    String::from_utf8_lossy(&message[12..12 + end]).into_owned()
}

fn in_lower_case(mut reply: Vec<u8>) -> Vec<u8> {
    let end = reply[12..].iter().position(|b| *b == 0).unwrap();
    reply[12..12 + end].make_ascii_lowercase();
    reply
}

#[tokio::test]
async fn every_question_is_spelled_by_chance_and_clients_do_not_see_it() {
    let spelled = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = spelled.clone();
    let name = "a-name-with-many-letters.example.";
    let found = format!("{name} 0 A 192.0.2.1");
    let book = Book::default().on(name, RecordType::A, Says::answers(&[&found]));
    let resolver = Upstream::start_with(book, Duration::ZERO, move |question, reply| {
        seen.lock().unwrap().insert(spelling(question));
        reply.into_iter().collect()
    })
    .await;
    let (_handle, server) = start(&[resolver.address], |_| ()).await;
    for _ in 0..20 {
        let response = udp(server, &ask(name, RecordType::A)).await.unwrap();
        assert_eq!(response.queries[0].name().to_ascii(), name);
        assert_eq!(response.answers[0].name.to_ascii(), name);
    }
    assert_eq!(spelled.lock().unwrap().len(), 20);
}

#[tokio::test]
async fn a_reply_in_another_spelling_is_not_believed() {
    let resolver = Upstream::start_with(v4_only(), Duration::ZERO, |_, reply| {
        let good = reply.unwrap();
        let mut forged = in_lower_case(good.clone());
        // An address of the forger's.
        let last = forged.len() - 1;
        forged[last] ^= 0xff;
        vec![forged, good]
    })
    .await;
    let (handle, server) = start(&[resolver.address], |_| ()).await;
    let response = udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap();
    assert!(synthetic(&response));
    assert_eq!(resolver.tcp(), 2);
    assert_eq!(handle.counters().get(Counter::UpstreamRespelled), 2);
}

#[tokio::test]
async fn a_resolver_that_changes_the_case_is_asked_in_lower_case() {
    let resolver = Upstream::lower_case(v4_only()).await;
    let (_handle, server) = start(&[resolver.address], |c| c.cache_entries = 0).await;
    for _ in 0..3 {
        assert!(synthetic(
            &udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap()
        ));
    }
    assert_eq!((resolver.udp(), resolver.tcp()), (6, 1));
}

#[tokio::test]
async fn rfc7873_5_3_a_reply_without_the_cookie_is_not_believed() {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let seen = sent.clone();
    let resolver = Upstream::start_with(v4_only(), Duration::ZERO, move |question, reply| {
        let good = reply.unwrap();
        let ours = cookie(question).unwrap().to_vec();
        seen.lock().unwrap().push(ours.clone());
        let client = &ours[..8];
        let other = [&[!client[0]], &client[1..], &[7; 8]].concat();
        let right = with_option(good.clone(), 0, &[client, &[7; 8]].concat());
        let mut forged = with_option(good, 0, &other);
        let last = forged.len() - 28;
        forged[last] ^= 0xff;
        vec![forged, right]
    })
    .await;
    let (handle, server) = start(&[resolver.address], |_| ()).await;
    assert!(synthetic(
        &udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap()
    ));
    assert_eq!(resolver.tcp(), 0);
    assert_eq!(handle.counters().get(Counter::UpstreamMismatch), 2);
    let sent = sent.lock().unwrap().clone();
    // RFC 7873 section 5.2: the second question has what the first reply gave.
    assert_eq!(sent[0].len(), 8);
    assert_eq!(sent[1], [&sent[0][..], &[7; 8]].concat());
}

#[tokio::test]
async fn rfc7873_5_3_a_known_server_without_its_cookie_is_asked_over_tcp() {
    let asked = Arc::new(Mutex::new(0));
    let resolver = Upstream::start_with(v4_only(), Duration::ZERO, move |question, reply| {
        let good = reply.unwrap();
        let mut asked = asked.lock().unwrap();
        *asked += 1;
        if *asked > 1 {
            return vec![good];
        }
        let client = &cookie(question).unwrap()[..8];
        vec![with_option(good, 0, &[client, &[7; 8]].concat())]
    })
    .await;
    let (handle, server) = start(&[resolver.address], |c| c.cache_entries = 0).await;
    assert!(synthetic(
        &udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap()
    ));
    assert_eq!(handle.counters().get(Counter::UpstreamCookieless), 1);
    assert_eq!(resolver.tcp(), 1);
    // Over TCP it has none either: it has given them up.
    assert!(synthetic(
        &udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap()
    ));
    assert_eq!(resolver.tcp(), 1);
}

#[tokio::test]
async fn rfc7873_5_3_badcookie_is_answered_with_the_new_cookie() {
    let resolver = Upstream::start_with(v4_only(), Duration::ZERO, |question, reply| {
        let good = reply.unwrap();
        let ours = cookie(question).unwrap();
        let full = [&ours[..8], &[9; 16]].concat();
        let code = if ours == full { 0 } else { 23 };
        vec![with_option(good, code, &full)]
    })
    .await;
    let (_handle, server) = start(&[resolver.address], |_| ()).await;
    assert!(synthetic(
        &udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap()
    ));
    assert_eq!((resolver.udp(), resolver.tcp()), (3, 0));
}

/// Something on the way may drop what it does not know.
#[tokio::test]
async fn a_question_that_is_lost_is_repeated_without_a_cookie() {
    let resolver =
        Upstream::start_with(v4_only(), Duration::ZERO, |question, reply| {
            match cookie(question) {
                Some(_) => Vec::new(),
                None => reply.into_iter().collect(),
            }
        })
        .await;
    let (_handle, server) = start(&[resolver.address], |_| ()).await;
    assert!(synthetic(
        &udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap()
    ));
}
