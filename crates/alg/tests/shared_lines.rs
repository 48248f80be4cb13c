//! Commands of FTP that two segments share (RFC 6384 section 5). The packets are etherparse's.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

use etherparse::{PacketBuilder, SlicedPacket, TransportSlice};
use isthmus_alg::{Applications, Direction, Outside, Rewritten, Translator};
use isthmus_core::address::rfc6052::Prefix;

const CLIENT: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1);
const SERVER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x64, 0, 0, 0, 0xc000, 0x202);
/// The client's first sequence number.
const FIRST: u32 = 1_000;

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
        let address = Ipv4Addr::new(203, 0, 113, 1);
        Some(SocketAddrV4::new(address, inside.port()))
    }
}

/// A connection through the gateway.
#[derive(Default)]
struct Talk(Applications);

impl Talk {
    /// The part of this segment that the server gets: its number, its text, and whether it ends the stream.
    fn client(&self, at: u32, text: &str) -> (u32, String, bool) {
        self.segment(at, text, false)
    }

    fn segment(&self, at: u32, text: &str, ends: bool) -> (u32, String, bool) {
        let builder = PacketBuilder::ipv6(CLIENT.octets(), SERVER.octets(), 64);
        let mut builder = builder.tcp(40_000, 21, FIRST + at, 65_535).ack(1).psh();
        if ends {
            builder = builder.fin();
        }
        let mut packet = Vec::new();
        builder.write(&mut packet, text.as_bytes()).unwrap();
        let passed = match self.0.rewrite(&packet, Direction::Out, 0, &mut Lent) {
            Rewritten::Unchanged => packet,
            Rewritten::Packet(packet) => packet,
            Rewritten::Back(_) => panic!("no segment goes back"),
        };
        let sliced = SlicedPacket::from_ip(&passed).unwrap();
        let Some(TransportSlice::Tcp(tcp)) = sliced.transport else {
            panic!("it is no segment any more");
        };
        let header = tcp.to_header();
        let checksum =
            header.calc_checksum_ipv6_raw(CLIENT.octets(), SERVER.octets(), tcp.payload());
        assert_eq!(checksum.unwrap(), tcp.checksum());
        let text = String::from_utf8(tcp.payload().to_vec()).unwrap();
        (tcp.sequence_number() - FIRST, text, tcp.fin())
    }
}

fn passes(at: u32, text: &str) -> (u32, String, bool) {
    (at, text.to_owned(), false)
}

#[test]
fn a_command_in_two_segments_is_translated_when_it_comes_whole() {
    let talk = Talk::default();
    assert_eq!(talk.client(0, "EPS"), passes(0, ""));
    assert_eq!(talk.client(3, "V\r\n"), passes(3, ""));
    assert_eq!(talk.client(0, "EPSV\r\n"), passes(0, "PASV\r\n"));
    assert_eq!(talk.client(6, "RETR x\r\n"), passes(6, "RETR x\r\n"));
}

#[test]
fn what_is_in_front_of_it_passes_and_numbers_follow() {
    let talk = Talk::default();
    let eprt = format!("EPRT |2|{CLIENT}|5282|\r\n");
    let (half, rest) = eprt.split_at(9);
    assert_eq!(
        talk.client(0, &format!("NOOP\r\n{half}")),
        passes(0, "NOOP\r\n")
    );
    assert_eq!(talk.client(6 + half.len() as u32, rest), passes(15, ""));
    let port = "PORT 203,0,113,1,20,162\r\n";
    assert_eq!(talk.client(6, &eprt), passes(6, port));
    let after = 6 + eprt.len() as u32;
    assert_eq!(
        talk.client(after, "LIST\r\n"),
        passes(6 + port.len() as u32, "LIST\r\n")
    );
}

/// A part that nobody finishes is not kept back for ever, and the end of a stream is not before its last octets.
#[test]
fn a_part_that_stays_one_passes_in_the_end() {
    let talk = Talk::default();
    for _ in 0..4 {
        assert_eq!(talk.segment(0, "PO", true), passes(0, ""));
    }
    assert_eq!(talk.segment(0, "PO", true), (0, "PO".to_owned(), true));
}

#[test]
fn other_parts_pass_at_once() {
    let talk = Talk::default();
    for (at, text) in [
        (0, "USER ano"),
        (8, "nymous\r\n"),
        (16, "X"),
        (17, "CUP\r\n"),
        (22, ""),
    ] {
        assert_eq!(talk.client(at, text), passes(at, text));
    }
}
