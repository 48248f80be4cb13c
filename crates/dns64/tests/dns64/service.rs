//! The running server over loopback: sockets, cache, upstream resolvers good and bad, reload, stop.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::common::*;
use crate::upstream::Upstream;
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::RecordType;
use isthmus_dns64::{Config, Counter, Handle, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

const SYNTHETIC: &str = "2001:db8:64::192.0.2.1";

pub(crate) async fn start(
    upstreams: &[SocketAddr],
    change: impl FnOnce(&mut Config),
) -> (Handle, SocketAddr) {
    let mut config = Config {
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        upstream: upstreams.to_vec(),
        upstream_timeout: Duration::from_millis(150),
        deadline: Duration::from_millis(1_000),
        ..site()
    };
    change(&mut config);
    let handle = Server::start(config).await.unwrap();
    let address = handle.addresses().next().unwrap();
    (handle, address)
}

pub(crate) async fn udp(server: SocketAddr, client: &Client) -> Option<Message> {
    udp_from("127.0.0.1", server, client).await
}

pub(crate) async fn udp_from(host: &str, server: SocketAddr, client: &Client) -> Option<Message> {
    let socket = UdpSocket::bind((host, 0)).await.unwrap();
    socket.send_to(&client.bytes(), server).await.unwrap();
    let mut buffer = [0; 4096];
    let received = tokio::time::timeout(Duration::from_secs(3), socket.recv_from(&mut buffer));
    let (length, from) = received.await.ok()?.unwrap();
    assert_eq!(from, server);
    Some(Message::from_vec(&buffer[..length]).unwrap())
}

pub(crate) async fn send_tcp(stream: &mut TcpStream, message: &[u8]) {
    stream.write_u16(message.len() as u16).await.unwrap();
    stream.write_all(message).await.unwrap();
}

pub(crate) async fn receive_tcp(stream: &mut TcpStream) -> Option<Message> {
    let length = stream.read_u16().await.ok()?;
    let mut bytes = vec![0; usize::from(length)];
    stream.read_exact(&mut bytes).await.unwrap();
    Some(Message::from_vec(&bytes).unwrap())
}

pub(crate) fn synthetic(message: &Message) -> bool {
    aaaa(message)
        .iter()
        .map(|(address, _)| *address)
        .eq([v6(SYNTHETIC)])
}

#[tokio::test]
async fn answers_over_udp_and_tcp_and_from_the_cache() {
    let resolver = Upstream::start(v4_only()).await;
    let (handle, server) = start(&[resolver.address], |_| ()).await;
    let client = ask(WWW, RecordType::AAAA);
    assert!(synthetic(&udp(server, &client).await.unwrap()));
    assert!(synthetic(
        &udp(server, &ask("WWW.Example.", RecordType::AAAA))
            .await
            .unwrap()
    ));
    let mut stream = TcpStream::connect(server).await.unwrap();
    send_tcp(&mut stream, &client.bytes()).await;
    assert!(synthetic(&receive_tcp(&mut stream).await.unwrap()));
    assert_eq!(resolver.udp(), 2, "AAAA and A, once");
    let counters = handle.counters().clone();
    assert_eq!(counters.get(Counter::AnsweredUpstream), 1);
    assert_eq!(counters.get(Counter::AnsweredCache), 2);
    assert_eq!(counters.get(Counter::Synthesized), 1);
    assert_eq!(
        (
            counters.get(Counter::QueryUdp),
            counters.get(Counter::QueryTcp)
        ),
        (2, 1)
    );
    handle.stop().await;
    assert!(
        TcpStream::connect(server).await.is_err(),
        "nobody listens any more"
    );
    std::net::UdpSocket::bind(server).expect("the port is free");
}

#[tokio::test]
async fn rfc2308_5_ttls_count_down_and_answers_end() {
    let book = Book::default()
        .on(
            WWW,
            RecordType::A,
            Says::answers(&["www.example. 3 A 192.0.2.1"]),
        )
        .on("none.example.", RecordType::A, Says::no_data(3))
        .on("nosoa.example.", RecordType::A, Says::default());
    let resolver = Upstream::start(book).await;
    let (_handle, server) = start(&[resolver.address], |_| ()).await;
    for owner in [WWW, "none.example.", "nosoa.example."] {
        udp(server, &ask(owner, RecordType::A)).await.unwrap();
    }
    assert_eq!(resolver.udp(), 3);
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let positive = udp(server, &ask(WWW, RecordType::A)).await.unwrap();
    assert!(
        (1..=2).contains(&positive.answers[0].ttl),
        "{}",
        positive.answers[0].ttl
    );
    let negative = udp(server, &ask("none.example.", RecordType::A))
        .await
        .unwrap();
    assert!((1..=2).contains(&negative.authorities[0].ttl));
    assert_eq!(resolver.udp(), 3);
    udp(server, &ask("nosoa.example.", RecordType::A))
        .await
        .unwrap();
    assert_eq!(resolver.udp(), 4, "without SOA it is not kept");
    tokio::time::sleep(Duration::from_millis(2_000)).await;
    udp(server, &ask(WWW, RecordType::A)).await.unwrap();
    udp(server, &ask("none.example.", RecordType::A))
        .await
        .unwrap();
    assert_eq!(resolver.udp(), 6, "their time is over");
}

#[tokio::test]
async fn identical_questions_are_asked_once() {
    let resolver = Upstream::start_with(v4_only(), Duration::from_millis(100), |_, r| {
        r.into_iter().collect()
    })
    .await;
    let (handle, server) = start(&[resolver.address], |_| ()).await;
    let mut clients = tokio::task::JoinSet::new();
    for n in 0..20u16 {
        let mut client = ask(WWW, RecordType::AAAA);
        client.message.metadata.id = n;
        clients.spawn(async move { (n, udp(server, &client).await.unwrap()) });
    }
    while let Some(joined) = clients.join_next().await {
        let (n, response) = joined.unwrap();
        assert_eq!(response.metadata.id, n);
        assert!(synthetic(&response));
    }
    assert_eq!(resolver.udp(), 2);
    assert_eq!(handle.counters().get(Counter::Coalesced), 19);
}

#[tokio::test]
async fn truncated_replies_are_asked_for_over_tcp() {
    let resolver = Upstream::start_with(v4_only(), Duration::ZERO, |_, reply| {
        let mut reply = reply.unwrap();
        reply[2] |= 2;
        reply.truncate(40);
        vec![reply]
    })
    .await;
    let (_handle, server) = start(&[resolver.address], |_| ()).await;
    assert!(synthetic(
        &udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap()
    ));
    assert_eq!((resolver.udp(), resolver.tcp()), (2, 2));
}

#[tokio::test]
async fn rfc5452_9_forged_replies_are_passed_over() {
    let resolver = Upstream::start_with(v4_only(), Duration::ZERO, |_, reply| {
        let good = reply.unwrap();
        let mut wrong_id = good.clone();
        wrong_id[0] ^= 0xff;
        let mut wrong_question = good.clone();
        wrong_question[13] = b'x';
        vec![wrong_id, wrong_question, b"garbage".to_vec(), good]
    })
    .await;
    let (handle, server) = start(&[resolver.address], |_| ()).await;
    assert!(synthetic(
        &udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap()
    ));
    assert_eq!(handle.counters().get(Counter::UpstreamMismatch), 6);
}

#[tokio::test]
async fn rfc5452_9_3_a_flood_of_forgeries_moves_the_question_to_tcp() {
    let resolver = Upstream::start_with(v4_only(), Duration::ZERO, |_, reply| {
        let good = reply.unwrap();
        (0..40)
            .map(|n| [&[n, good[1] ^ 1], &good[2..]].concat())
            .collect()
    })
    .await;
    let (_handle, server) = start(&[resolver.address], |_| ()).await;
    assert!(synthetic(
        &udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap()
    ));
    assert_eq!(resolver.tcp(), 2);
}

#[tokio::test]
async fn rfc5452_9_2_ids_and_ports_vary() {
    let mut book = Book::default();
    for n in 0..40 {
        book = book.on(&format!("n{n}.example."), RecordType::A, Says::no_data(60));
    }
    let resolver = Upstream::start(book).await;
    let (_handle, server) = start(&[resolver.address], |_| ()).await;
    for n in 0..40 {
        udp(server, &ask(&format!("n{n}.example."), RecordType::A))
            .await
            .unwrap();
    }
    let seen = resolver.seen.lock().unwrap().clone();
    let ports: std::collections::BTreeSet<_> = seen.iter().map(|(port, _)| port).collect();
    let ids: std::collections::BTreeSet<_> = seen.iter().map(|(_, id)| id).collect();
    assert!(
        ports.len() > 35 && ids.len() > 35,
        "{} ports, {} IDs",
        ports.len(),
        ids.len()
    );
    let steady = seen
        .windows(2)
        .filter(|w| w[1].1 == w[0].1.wrapping_add(1))
        .count();
    assert!(steady < 3, "IDs are not counted up");
}

#[tokio::test]
async fn rfc6891_7_a_resolver_without_edns_is_asked_without() {
    let resolver = Upstream::start_with(v4_only(), Duration::ZERO, |question, reply| {
        if question[11] == 0 {
            return reply.into_iter().collect();
        }
        let mut formerr = question[..12].to_vec();
        formerr[2] |= 0x80;
        formerr[3] = 1;
        formerr[4..12].fill(0);
        vec![formerr]
    })
    .await;
    let (_handle, server) = start(&[resolver.address], |_| ()).await;
    assert!(synthetic(
        &udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap()
    ));
    assert_eq!(resolver.udp(), 4);
}

#[tokio::test]
async fn the_next_resolver_is_asked_when_one_is_silent_or_gone_or_fails() {
    let silent = Upstream::start(Book::default()).await;
    let failing = Upstream::start(
        Book::default()
            .on(WWW, RecordType::AAAA, Says::code(ResponseCode::ServFail))
            .on(WWW, RecordType::A, Says::code(ResponseCode::Refused)),
    )
    .await;
    let gone = own_address();
    let good = Upstream::start(v4_only()).await;
    for bad in [silent.address, failing.address, gone] {
        let (_handle, server) = start(&[bad, good.address], |_| ()).await;
        let response = udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap();
        assert!(synthetic(&response), "after {bad}: {response}");
    }
}

#[tokio::test]
async fn a_silent_resolver_comes_last_after_three_failures() {
    let silent = Upstream::start(Book::default()).await;
    let mut book = Book::default();
    for n in 0..6 {
        book = book.on(&format!("n{n}.example."), RecordType::A, Says::no_data(60));
    }
    let good = Upstream::start(book).await;
    let (handle, server) = start(&[silent.address, good.address], |_| ()).await;
    for n in 0..6 {
        udp(server, &ask(&format!("n{n}.example."), RecordType::A))
            .await
            .unwrap();
    }
    assert_eq!((silent.udp(), good.udp()), (3, 6));
    assert_eq!(handle.counters().get(Counter::UpstreamDown), 1);
}

#[tokio::test]
async fn an_unreachable_resolver_is_server_failure_quickly() {
    let gone = own_address();
    let (handle, server) = start(&[gone], |c| c.deadline = Duration::from_secs(5)).await;
    let begun = Instant::now();
    let response = udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap();
    assert_eq!(response.metadata.response_code, ResponseCode::ServFail);
    // It did not wait for the deadline.
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
    // RFC 9520 section 3.2: the failure is remembered.
    udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap();
    assert_eq!(handle.counters().get(Counter::AnsweredCache), 1);
}

#[tokio::test]
async fn rfc6147_5_1_3_silence_on_aaaa_leaves_time_for_a() {
    let book = Book::default().on(
        WWW,
        RecordType::A,
        Says::answers(&["www.example. 60 A 192.0.2.1"]),
    );
    let resolver = Upstream::start(book).await;
    let (_handle, server) = start(&[resolver.address], |c| {
        c.upstream_timeout = Duration::from_secs(9)
    })
    .await;
    let begun = Instant::now();
    assert!(synthetic(
        &udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap()
    ));
    // Nor did it wait for an answer to the first.
    assert!(begun.elapsed() < Duration::from_secs(9));
}

#[tokio::test]
async fn rfc7766_6_2_1_1_pipelined_queries_are_answered_as_they_are_ready() {
    let book = v4_only().on("slow.example.", RecordType::A, Says::no_data(60));
    let resolver = Upstream::start(book).await;
    let (_handle, server) = start(&[resolver.address], |_| ()).await;
    udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap();
    let mut stream = TcpStream::connect(server).await.unwrap();
    let mut slow = ask("silent.example.", RecordType::A);
    slow.message.metadata.id = 1;
    let mut quick = ask(WWW, RecordType::AAAA);
    quick.message.metadata.id = 2;
    let both: Vec<u8> = [slow, quick]
        .iter()
        .flat_map(|client| {
            let bytes = client.bytes();
            [&(bytes.len() as u16).to_be_bytes()[..], &bytes].concat()
        })
        .collect();
    // In pieces, as a stream may bring them.
    for piece in both.chunks(7) {
        stream.write_all(piece).await.unwrap();
        stream.flush().await.unwrap();
    }
    assert_eq!(receive_tcp(&mut stream).await.unwrap().metadata.id, 2);
    let late = receive_tcp(&mut stream).await.unwrap();
    assert_eq!(
        (late.metadata.id, late.metadata.response_code),
        (1, ResponseCode::ServFail)
    );
}

#[tokio::test]
async fn tcp_connections_are_bounded_and_idle_ones_closed() {
    let resolver = Upstream::start(v4_only()).await;
    let (handle, server) = start(&[resolver.address], |c| {
        c.tcp_connections = 2;
        c.tcp_idle = Duration::from_millis(300);
    })
    .await;
    let mut first = TcpStream::connect(server).await.unwrap();
    let mut second = TcpStream::connect(server).await.unwrap();
    send_tcp(&mut second, &ask(WWW, RecordType::AAAA).bytes()).await;
    assert!(receive_tcp(&mut second).await.is_some());
    let mut third = TcpStream::connect(server).await.unwrap();
    assert!(receive_tcp(&mut third).await.is_none(), "closed at once");
    assert_eq!(handle.counters().get(Counter::ConnectionRefused), 1);
    // A length without message is as idle as nothing.
    first.write_all(&[0, 200, 1]).await.unwrap();
    let begun = Instant::now();
    assert!(receive_tcp(&mut first).await.is_none());
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(receive_tcp(&mut second).await.is_none());
    assert_eq!(handle.counters().get(Counter::ConnectionIdle), 2);
    let mut again = TcpStream::connect(server).await.unwrap();
    send_tcp(&mut again, &ask(WWW, RecordType::AAAA).bytes()).await;
    assert!(receive_tcp(&mut again).await.is_some());
}

#[tokio::test]
async fn questions_under_way_are_bounded() {
    let silent = Upstream::start(Book::default()).await;
    let (handle, server) = start(&[silent.address], |c| c.max_in_flight = 2).await;
    let mut clients = tokio::task::JoinSet::new();
    for n in 0..6 {
        let client = ask(&format!("n{n}.example."), RecordType::A);
        clients.spawn(async move { udp(server, &client).await.unwrap().metadata.response_code });
    }
    while let Some(code) = clients.join_next().await {
        assert_eq!(code.unwrap(), ResponseCode::ServFail);
    }
    assert_eq!(handle.counters().get(Counter::Overload), 4);
}

#[tokio::test]
async fn a_reload_changes_everything_or_nothing() {
    let resolver = Upstream::start(v4_only()).await;
    let (mut handle, server) = start(&[resolver.address], |_| ()).await;
    assert!(synthetic(
        &udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap()
    ));

    let mut same = handle.config().clone();
    same.deadline = Duration::from_secs(2);
    handle.reload(same).await.unwrap();
    assert!(synthetic(
        &udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap()
    ));
    assert_eq!(resolver.udp(), 2, "the cache is kept");

    let mut bad = handle.config().clone();
    bad.prefixes = vec![prefix("2001:db8:99::", 96)];
    bad.listen.push("192.0.2.1:53".parse().unwrap());
    assert!(
        handle
            .reload(bad)
            .await
            .unwrap_err()
            .to_string()
            .contains("192.0.2.1:53")
    );
    assert!(synthetic(
        &udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap()
    ));

    let mut good = handle.config().clone();
    good.prefixes = vec![prefix("2001:db8:99::", 96)];
    good.listen.push("[::1]:0".parse().unwrap());
    handle.reload(good).await.unwrap();
    let response = udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap();
    assert_eq!(aaaa(&response)[0].0, v6("2001:db8:99::192.0.2.1"));
    assert_eq!(handle.addresses().count(), 2);

    let mut fewer = handle.config().clone();
    fewer.listen.remove(0);
    handle.reload(fewer).await.unwrap();
    assert!(TcpStream::connect(server).await.is_err());
}

#[tokio::test]
async fn no_query_is_lost_to_a_hundred_reloads() {
    let resolver = Upstream::start(v4_only()).await;
    let (mut handle, server) = start(&[resolver.address], |_| ()).await;
    let client = tokio::spawn(async move {
        let mut answered = 0;
        for _ in 0..500 {
            answered += u32::from(synthetic(
                &udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap(),
            ));
        }
        answered
    });
    for n in 0..100 {
        let mut config = handle.config().clone();
        config.cache_entries = 1_000 + n;
        handle.reload(config).await.unwrap();
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(client.await.unwrap(), 500);
}

#[tokio::test]
async fn the_response_leaves_from_the_address_that_was_asked() {
    let resolver = Upstream::start(v4_only()).await;
    let (_handle, server) = start(&[resolver.address], |c| {
        c.listen = vec!["0.0.0.0:0".parse().unwrap()]
    })
    .await;
    for address in ["127.0.0.1", "127.0.0.77"] {
        // `udp` checks where the response is from.
        let asked = SocketAddr::new(address.parse().unwrap(), server.port());
        assert!(synthetic(
            &udp(asked, &ask(WWW, RecordType::AAAA)).await.unwrap()
        ));
        // Once more, from the cache.
        assert!(synthetic(
            &udp(asked, &ask(WWW, RecordType::AAAA)).await.unwrap()
        ));
    }
}

#[tokio::test]
async fn a_question_under_way_does_not_keep_the_address() {
    let silent = Upstream::start(Book::default()).await;
    let (handle, server) = start(&[silent.address], |_| ()).await;
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket
        .send_to(&ask(WWW, RecordType::A).bytes(), server)
        .await
        .unwrap();
    while silent.udp() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    handle.stop().await;
    std::net::UdpSocket::bind(server).expect("the port is free");
}

#[tokio::test]
async fn the_response_leaves_from_the_address_that_was_asked_over_ipv6() {
    let resolver = Upstream::start(v4_only()).await;
    let (_handle, server) = start(&[resolver.address], |c| {
        c.listen = vec!["[::]:0".parse().unwrap()]
    })
    .await;
    let asked = SocketAddr::new("::1".parse().unwrap(), server.port());
    let socket = UdpSocket::bind("[::1]:0").await.unwrap();
    for _ in 0..2 {
        socket
            .send_to(&ask(WWW, RecordType::AAAA).bytes(), asked)
            .await
            .unwrap();
        let mut buffer = [0; 1500];
        let received = tokio::time::timeout(Duration::from_secs(3), socket.recv_from(&mut buffer));
        let (length, from) = received.await.unwrap().unwrap();
        assert_eq!(from, asked);
        assert!(synthetic(&Message::from_vec(&buffer[..length]).unwrap()));
    }
}

#[tokio::test]
async fn when_all_resolvers_are_down_failures_come_sooner() {
    let silent = Upstream::start(Book::default()).await;
    let (_handle, server) = start(&[silent.address], |_| ()).await;
    for n in 0..2 {
        let response = udp(server, &ask(&format!("n{n}.example."), RecordType::A))
            .await
            .unwrap();
        assert_eq!(response.metadata.response_code, ResponseCode::ServFail);
    }
    assert_eq!(silent.udp(), 4, "twice each");
    udp(server, &ask("n2.example.", RecordType::A))
        .await
        .unwrap();
    assert_eq!(silent.udp(), 5, "once");
}
