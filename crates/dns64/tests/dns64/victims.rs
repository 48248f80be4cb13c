//! One client that takes what it can get, and a victim beside it that asks now and then.

use std::net::SocketAddr;
use std::time::Duration;

use crate::common::*;
use crate::service::*;
use crate::upstream::Upstream;
use hickory_proto::op::ResponseCode;
use hickory_proto::rr::RecordType;
use isthmus_dns64::{Allow, Counter};
use tokio::net::{TcpSocket, TcpStream, UdpSocket};

const ATTACKER: &str = "127.0.0.1";
const VICTIM: &str = "127.0.0.2";

async fn connect_from(host: &str, server: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket
        .bind(SocketAddr::new(host.parse().unwrap(), 0))
        .unwrap();
    socket.connect(server).await.unwrap()
}

/// Sends questions for names that no resolver answers, and reads nothing.
async fn ask_for_nothing(server: SocketAddr, names: u32) {
    let socket = UdpSocket::bind((ATTACKER, 0)).await.unwrap();
    for n in 0..names {
        let query = ask(&format!("n{n}.silent.example."), RecordType::AAAA);
        socket.send_to(&query.bytes(), server).await.unwrap();
        if n % 32 == 31 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

#[tokio::test]
async fn rfc5358_4_strangers_are_refused() {
    let resolver = Upstream::start(v4_only()).await;
    let (handle, server) = start(&[resolver.address], |c| {
        c.allow = Allow::Networks(vec!["127.0.0.2/32".parse().unwrap()]);
    })
    .await;
    let query = ask(WWW, RecordType::AAAA);
    let refused = udp_from(ATTACKER, server, &query).await.unwrap();
    assert_eq!(refused.metadata.response_code, ResponseCode::Refused);
    assert!(refused.answers.is_empty());
    let mut stream = connect_from(ATTACKER, server).await;
    assert!(receive_tcp(&mut stream).await.is_none());
    assert!(synthetic(&udp_from(VICTIM, server, &query).await.unwrap()));
    assert_eq!(handle.counters().get(Counter::Stranger), 2);

    // What a stranger sends is never answered by more than a thousand responses in a second.
    let socket = UdpSocket::bind((ATTACKER, 0)).await.unwrap();
    let mut told = 0;
    let mut buffer = [0; 512];
    for _ in 0..3_000 {
        socket.send_to(&query.bytes(), server).await.unwrap();
        told += u32::from(socket.try_recv(&mut buffer).is_ok());
    }
    assert!(told < 2_500, "{told} times REFUSED");
}

/// 400 a second used to be enough to make everybody wait for five seconds.
#[tokio::test]
async fn unanswerable_questions_of_one_client_do_not_starve_another() {
    let resolver = Upstream::start(v4_only()).await;
    let (handle, server) = start(&[resolver.address], |c| {
        c.max_in_flight = 64;
        c.client_questions = 16;
    })
    .await;
    ask_for_nothing(server, 400).await;
    let response = udp_from(VICTIM, server, &ask(WWW, RecordType::AAAA)).await;
    assert!(synthetic(&response.unwrap()));
    assert!(handle.counters().get(Counter::ClientQuestions) > 300);
    assert_eq!(handle.counters().get(Counter::Overload), 0);
    // When its questions have ended, the attacker is a client like any other.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert!(synthetic(
        &udp(server, &ask(WWW, RecordType::AAAA)).await.unwrap()
    ));
}

/// The same name again and again is one question upstream, but as many that wait.
#[tokio::test]
async fn waiting_for_one_answer_is_bounded_too() {
    let resolver = Upstream::start(v4_only()).await;
    let (handle, server) = start(&[resolver.address], |c| {
        c.max_in_flight = 4;
        c.client_questions = 16;
    })
    .await;
    let socket = UdpSocket::bind((ATTACKER, 0)).await.unwrap();
    let query = ask("one.silent.example.", RecordType::AAAA).bytes();
    for _ in 0..200 {
        socket.send_to(&query, server).await.unwrap();
    }
    let response = udp_from(VICTIM, server, &ask(WWW, RecordType::AAAA)).await;
    assert!(synthetic(&response.unwrap()));
    assert_eq!(handle.counters().get(Counter::Overload), 0);
    assert_eq!(handle.counters().get(Counter::ClientQuestions), 200 - 16);
}

/// 256 connections of one host used to deny TCP to all.
#[tokio::test]
async fn connections_of_one_client_leave_room_for_others() {
    let resolver = Upstream::start(v4_only()).await;
    let (handle, server) = start(&[resolver.address], |c| {
        c.tcp_connections = 64;
        c.client_connections = 8;
    })
    .await;
    let mut held = Vec::new();
    for _ in 0..64 {
        held.push(connect_from(ATTACKER, server).await);
    }
    let mut victim = connect_from(VICTIM, server).await;
    send_tcp(&mut victim, &ask(WWW, RecordType::AAAA).bytes()).await;
    assert!(synthetic(&receive_tcp(&mut victim).await.unwrap()));
    assert_eq!(handle.counters().get(Counter::ClientConnections), 56);
    drop(held);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut again = connect_from(ATTACKER, server).await;
    send_tcp(&mut again, &ask(WWW, RecordType::AAAA).bytes()).await;
    assert!(synthetic(&receive_tcp(&mut again).await.unwrap()));
}

/// RFC 5358 section 4: what leaves towards an address that may be forged is bounded, and no larger than
/// what came. Over TCP the owner of the address is served.
#[tokio::test]
async fn a_client_beyond_its_rate_is_told_to_use_tcp() {
    let resolver = Upstream::start(v4_only()).await;
    let (handle, server) = start(&[resolver.address], |c| c.client_rate = 50).await;
    let mut query = ask(WWW, RecordType::AAAA);
    assert!(synthetic(&udp(server, &query).await.unwrap()));
    let socket = UdpSocket::bind((ATTACKER, 0)).await.unwrap();
    for n in 0..400 {
        query.message.metadata.id = n;
        socket.send_to(&query.bytes(), server).await.unwrap();
    }
    let mut buffer = [0; 1500];
    let (mut whole, mut truncated) = (0, 0);
    while let Ok(received) =
        tokio::time::timeout(Duration::from_millis(300), socket.recv(&mut buffer)).await
    {
        let bytes = &buffer[..received.unwrap()];
        match bytes[2] & 2 {
            0 => whole += 1,
            _ => {
                assert_eq!(bytes.len(), query.bytes().len());
                truncated += 1;
            }
        }
    }
    // The bucket fills while they are sent.
    assert!((49..150).contains(&whole), "{whole} answers");
    assert!((100..180).contains(&truncated), "{truncated} hints");
    assert!(handle.counters().get(Counter::RateLimited) > 200);
    for _ in 0..10 {
        assert!(synthetic(&udp_from(VICTIM, server, &query).await.unwrap()));
    }
    let mut stream = connect_from(ATTACKER, server).await;
    send_tcp(&mut stream, &query.bytes()).await;
    assert!(synthetic(&receive_tcp(&mut stream).await.unwrap()));
}

/// Over TCP a client waits, and gets all its answers.
#[tokio::test]
async fn a_client_beyond_its_rate_waits_over_tcp() {
    let resolver = Upstream::start(v4_only()).await;
    let (handle, server) = start(&[resolver.address], |c| c.client_rate = 40).await;
    let mut stream = connect_from(ATTACKER, server).await;
    for _ in 0..48 {
        send_tcp(&mut stream, &ask(WWW, RecordType::AAAA).bytes()).await;
    }
    for _ in 0..48 {
        assert!(synthetic(&receive_tcp(&mut stream).await.unwrap()));
    }
    assert!(handle.counters().get(Counter::RateLimited) > 0);
}
