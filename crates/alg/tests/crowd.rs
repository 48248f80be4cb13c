//! One who asks or connects a lot does not make the gateways forget what others are about. The packets are etherparse's.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

use etherparse::{PacketBuilder, SlicedPacket, TransportSlice};
use hickory_proto::op::{Message, MessageType, OpCode, Query};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{Name, RData, Record, RecordType};
use isthmus_alg::{Applications, Direction, Outside, Rewritten, Translator};
use isthmus_core::address::rfc6052::Prefix;

const HOST: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1);
const SERVER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x64, 0, 0, 0, 0xc000, 0x202);

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
    let applications = Applications::default();
    let pass = |packet: &[u8], direction| applications.rewrite(packet, direction, 0, &mut Lent);
    let (host, server) = ((HOST, 4000), (SERVER, 21));
    assert_eq!(
        payload(pass(&tcp(host, server, b"EPSV 2\r\n"), Direction::Out)),
        b"PASV\r\n"
    );
    let reply = tcp(server, host, b"150 wait\r\n");
    assert_eq!(pass(&reply, Direction::In), Rewritten::Unchanged);
    for number in 0..10_000_u128 {
        let other = Ipv6Addr::from_bits(HOST.to_bits() + (number << 64));
        let packet = tcp((other, 4001), server, b"EPSV 2\r\n");
        payload(pass(&packet, Direction::Out));
    }
    let reply = tcp(server, host, b"227 go (192,0,2,2,237,19)\r\n");
    let told = payload(pass(&reply, Direction::In));
    assert_eq!(told, b"229 Entering Extended Passive Mode (|||60691|)\r\n");
}
