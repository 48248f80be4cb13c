//! One who asks or connects a lot does not make the gateways forget what others are about. The packets are etherparse's.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use etherparse::{PacketBuilder, SlicedPacket, TransportSlice};
use hickory_proto::op::{Message, MessageType, OpCode, Query};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{Name, RData, Record, RecordType};
use isthmus_alg::{Applications, Direction, Outside, Rewritten, Translator};
use isthmus_core::address::rfc6052::Prefix;

const HOST: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1);
const SERVER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x64, 0, 0, 0, 0xc000, 0x202);

const FTP: (Ipv6Addr, u16) = (SERVER, 21);
/// Where an IPv6 packet has the flags of its TCP header.
const FLAGS: usize = 40 + 13;
const SECOND: u64 = 1_000_000_000;

struct Lent;

impl Translator for Lent {
    fn prefix(&self) -> Prefix {
        Prefix::new("2001:db8:64::".parse().unwrap(), 96).unwrap()
    }

    fn outside(&mut self, _: Ipv6Addr, _: Ipv4Addr) -> Option<Outside> {
        None
    }

    fn inside(&mut self, _: Ipv4Addr) -> Option<Ipv6Addr> {
        None
    }

    fn bind(&mut self, inside: SocketAddrV6, _: SocketAddrV6) -> Option<SocketAddrV4> {
        Some(SocketAddrV4::new(
            Ipv4Addr::new(203, 0, 113, 1),
            inside.port(),
        ))
    }
}

fn udp(source: (Ipv6Addr, u16), destination: (Ipv6Addr, u16), payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ipv6(source.0.octets(), destination.0.octets(), 64);
    let mut packet = Vec::new();
    let builder = builder.udp(source.1, destination.1);
    builder.write(&mut packet, payload).unwrap();
    packet
}

fn tcp(source: (Ipv6Addr, u16), destination: (Ipv6Addr, u16), payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ipv6(source.0.octets(), destination.0.octets(), 64);
    let mut packet = Vec::new();
    let builder = builder.tcp(source.1, destination.1, 1000, 65_535).ack(1);
    builder.write(&mut packet, payload).unwrap();
    packet
}

fn question(id: u16, record: RecordType) -> Message {
    let mut message = Message::new(id, MessageType::Query, OpCode::Query);
    let name = Name::from_ascii("a.example.").unwrap();
    message.queries.push(Query::query(name, record));
    message
}

fn answer(id: u16, record: RecordType) -> Message {
    let mut message = question(id, record);
    message.metadata.message_type = MessageType::Response;
    message
}

/// The packet of a connection that ends its sender's direction.
fn last(source: (Ipv6Addr, u16), destination: (Ipv6Addr, u16)) -> Vec<u8> {
    let mut packet = tcp(source, destination, b"");
    packet[FLAGS] |= 0x01;
    packet
}

/// Everything that a victim's session needs: a command that becomes another, and the reply to it.
struct Session<'a> {
    applications: &'a Applications,
    host: (Ipv6Addr, u16),
}

impl Session<'_> {
    fn pass(&self, packet: &[u8], direction: Direction, now: u64) -> Rewritten {
        self.applications.rewrite(packet, direction, now, &mut Lent)
    }

    fn asks(&self, now: u64) {
        let packet = tcp(self.host, FTP, b"EPSV 2\r\n");
        let asked = payload(self.pass(&packet, Direction::Out, now));
        assert_eq!(asked, b"PASV\r\n", "{:?}", self.host);
    }

    /// The server says something that stays as it is.
    fn waits(&self, now: u64) {
        let packet = tcp(FTP, self.host, b"150 wait\r\n");
        assert_eq!(self.pass(&packet, Direction::In, now), Rewritten::Unchanged);
    }

    fn is_told(&self, now: u64) {
        let packet = tcp(FTP, self.host, b"227 go (192,0,2,2,237,19)\r\n");
        let told = payload(self.pass(&packet, Direction::In, now));
        let right = b"229 Entering Extended Passive Mode (|||60691|)\r\n";
        assert_eq!(told, right, "{:?}", self.host);
    }

    fn ends(&self, now: u64) {
        self.pass(&last(self.host, FTP), Direction::Out, now);
        self.pass(&last(FTP, self.host), Direction::In, now);
    }
}

/// The payload of a rewritten packet, whose checksum etherparse agrees with.
fn payload(rewritten: Rewritten) -> Vec<u8> {
    let (Rewritten::Packet(packet) | Rewritten::Back(packet)) = rewritten else {
        panic!("it is as it was");
    };
    let sliced = SlicedPacket::from_ip(&packet).unwrap();
    let etherparse::NetSlice::Ipv6(ip) = sliced.net.as_ref().unwrap() else {
        panic!("another family");
    };
    let ip = ip.header().to_header();
    match sliced.transport.unwrap() {
        TransportSlice::Udp(udp) => {
            let right = udp
                .to_header()
                .calc_checksum_ipv6(&ip, udp.payload())
                .unwrap();
            assert_eq!(udp.checksum(), right);
            udp.payload().to_vec()
        }
        TransportSlice::Tcp(tcp) => {
            let right = tcp
                .to_header()
                .calc_checksum_ipv6(&ip, tcp.payload())
                .unwrap();
            assert_eq!(tcp.checksum(), right);
            tcp.payload().to_vec()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn strangers_who_ask_a_lot_do_not_hurt_inside_hosts() {
    let applications = Applications::default();
    let pass = |packet: &[u8], direction| applications.rewrite(packet, direction, 0, &mut Lent);
    let mine = question(7, RecordType::AAAA).to_vec().unwrap();
    pass(&udp((HOST, 4000), (SERVER, 53), &mine), Direction::Out);
    for number in 0..100_000_u32 {
        let stranger = Ipv6Addr::from_bits(SERVER.to_bits() + u128::from(number >> 16));
        let theirs = question(number as u16, RecordType::A).to_vec().unwrap();
        let packet = udp((stranger, 4000), (HOST, 53), &theirs);
        payload(pass(&packet, Direction::In));
    }
    let empty = answer(7, RecordType::AAAA).to_vec().unwrap();
    let back = payload(pass(
        &udp((SERVER, 53), (HOST, 4000), &empty),
        Direction::In,
    ));
    let asked = Message::from_vec(&back).unwrap();
    assert_eq!(asked.queries[0].query_type(), RecordType::A);
    let mut found = answer(7, RecordType::A);
    let name = found.queries[0].name().clone();
    let address = RData::A(A(Ipv4Addr::new(192, 0, 2, 9)));
    found.answers.push(Record::from_rdata(name, 60, address));
    let packet = udp((SERVER, 53), (HOST, 4000), &found.to_vec().unwrap());
    let told = Message::from_vec(&payload(pass(&packet, Direction::In))).unwrap();
    let embedded = "2001:db8:64::192.0.2.9".parse::<Ipv6Addr>().unwrap();
    assert_eq!(told.answers[0].data, RData::AAAA(embedded.into()));
}

#[test]
fn made_up_connections_do_not_displace_one_that_a_server_answers() {
    let applications = &Applications::default();
    let session = |host| Session { applications, host };
    let victim = session((HOST, 4000));
    victim.asks(0);
    victim.waits(0);
    for number in 0..10_000_u128 {
        let other = Ipv6Addr::from_bits(HOST.to_bits() + (number << 64));
        session((other, 4001)).asks(0);
    }
    victim.is_told(0);
}

/// The attacker has a server, too: each of its connections is a real one, in which a command waits.
#[test]
fn connections_of_one_host_and_its_server_take_nothing_from_its_neighbours() {
    let applications = &Applications::default();
    let session = |host| Session { applications, host };
    let neighbour = Ipv6Addr::from_bits(HOST.to_bits() + 1);
    let victims = [neighbour, "2001:db8:2::1".parse().unwrap()].map(|host| session((host, 4000)));
    for (now, victim) in (0..).zip(&victims) {
        victim.asks(now);
        victim.waits(now);
    }
    for port in 5_001..=15_000 {
        let attacker = session((HOST, port));
        attacker.asks(u64::from(port) * SECOND / 20);
        attacker.waits(u64::from(port) * SECOND / 20);
    }
    let now = 1_001 * SECOND;
    for victim in &victims {
        // What had begun goes on, and what begins now is translated.
        victim.is_told(now);
        let later = session((victim.host.0, 4001));
        later.asks(now);
        later.is_told(now);
    }
}

/// A customer has a /56, and an address for each connection.
#[test]
fn connections_of_one_site_take_nothing_from_another() {
    let applications = &Applications::default();
    let session = |host| Session { applications, host };
    let victim = session(("2001:db8:2::1".parse().unwrap(), 4000));
    victim.asks(0);
    victim.waits(0);
    for number in 1..=10_000 {
        let host = Ipv6Addr::from_bits(HOST.to_bits() + ((number % 256) << 64) + (number << 8));
        let attacker = session((host, 4000));
        attacker.asks(number as u64);
        attacker.waits(number as u64);
    }
    victim.is_told(20_000);
}

/// Those that both sides have ended go before one that is open, however many each of their hosts had.
#[test]
fn connections_that_have_ended_make_room() {
    let applications = &Applications::default();
    let session = |host| Session { applications, host };
    let victims = [4000, 4001].map(|port| session((HOST, port)));
    for victim in &victims {
        victim.asks(0);
        victim.waits(0);
    }
    for number in 1..=10_000 {
        let now = number as u64 * SECOND;
        let other = session((Ipv6Addr::from_bits(HOST.to_bits() + (number << 72)), 4000));
        other.asks(now);
        other.is_told(now);
        other.ends(now);
        if number % 1_000 == 0 {
            // They wait for a long transfer.
            victims.iter().for_each(|victim| victim.waits(now));
        }
    }
    victims
        .iter()
        .for_each(|victim| victim.is_told(10_001 * SECOND));
}

/// A stranger guesses the ports of a connection. The host that gets the reset knows that it is not in order.
#[test]
fn a_made_up_reset_does_not_end_a_connection() {
    let applications = &Applications::default();
    let victim = Session {
        applications,
        host: (HOST, 4000),
    };
    victim.asks(0);
    for (flags, direction) in [(0x04, Direction::In), (0x02, Direction::In)] {
        let mut packet = tcp(FTP, victim.host, b"");
        packet[FLAGS] |= flags;
        victim.pass(&packet, direction, 1);
    }
    victim.is_told(2);
}

/// A segment that is changed is remembered, so that a datagram of 64 KB made of fragments would cost as much memory twice.
#[test]
fn a_segment_that_no_link_carries_passes_as_it_is() {
    let applications = &Applications::default();
    let session = |host| Session { applications, host };
    let long = b"EPSV 2\r\n".repeat(190);
    let packet = tcp((HOST, 4000), FTP, &long);
    let passed = session((HOST, 4000)).pass(&packet, Direction::Out, 0);
    assert_eq!(passed, Rewritten::Unchanged);
    let longest = b"EPSV 2\r\n".repeat(180);
    let packet = tcp((HOST, 4001), FTP, &longest);
    let passed = payload(session((HOST, 4001)).pass(&packet, Direction::Out, 0));
    assert_eq!(passed, b"PASV\r\n".repeat(180));
}

/// The victim's first command costs no more because others have filled the memory.
#[test]
fn a_full_memory_is_about_as_fast_as_an_empty_one() {
    const SESSIONS: u128 = 4_000;
    let time = |applications: &Applications, first: u128| -> Duration {
        let begun = Instant::now();
        for number in first..first + SESSIONS {
            let host = (Ipv6Addr::from_bits(HOST.to_bits() + (number << 72)), 4000);
            Session { applications, host }.asks(number as u64);
        }
        begun.elapsed()
    };
    let full = Applications::default();
    time(&full, 0);
    time(&full, SESSIONS);
    let turns = (2..7).map(|turn| {
        let empty = time(&Applications::default(), 0);
        let full = time(&full, turn * SESSIONS);
        (full.as_secs_f64() / empty.as_secs_f64() * 100.0) as u64
    });
    let mut turns: Vec<_> = turns.collect();
    turns.sort_unstable();
    assert!(
        turns[2] < 500,
        "hundredths of the empty one's time: {turns:?}"
    );
}

/// The links of both directions have threads of their own.
#[test]
fn segments_of_both_directions_meet() {
    let applications = &Applications::default();
    let session = |port| Session {
        applications,
        host: (HOST, port),
    };
    let current = AtomicU16::new(4_000);
    thread::scope(|scope| {
        scope.spawn(|| {
            while let port @ 1.. = current.load(Ordering::Relaxed) {
                let empty = tcp(FTP, (HOST, port), b"");
                session(port).pass(&empty, Direction::In, 0);
            }
        });
        let mut ports = 4_000..24_000;
        let lost = ports.find(|&port| {
            current.store(port, Ordering::Relaxed);
            let command = tcp((HOST, port), FTP, b"EPSV 2\r\n");
            session(port).pass(&command, Direction::Out, 0);
            let reply = tcp(FTP, (HOST, port), b"227 go (192,0,2,2,237,19)\r\n");
            session(port).pass(&reply, Direction::In, 0) == Rewritten::Unchanged
        });
        // The other thread ends before this one may panic.
        current.store(0, Ordering::Relaxed);
        assert_eq!(
            lost, None,
            "the port of a connection whose reply is not translated"
        );
    });
}
