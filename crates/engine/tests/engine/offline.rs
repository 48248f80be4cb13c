//! The user-space engine on capture files. etherparse makes and reads the packets. The files are laid out here by
//! hand from the format's description.

use std::path::{Path, PathBuf};

use crate::common::{HOST_V4, OTHER_V4, policy, ruleset, v6};
use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use isthmus_core::reason::Counter;
use isthmus_engine::memory::Region;
use isthmus_engine::offline::{Error, Summary, UserTranslator, run};
use tempfile::TempDir;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// Returns a pcap file of version 2.4 with these packets at these times, in seconds and fractions.
fn pcap(magic: u32, link: u32, packets: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let header = [magic, 4 << 16 | 2, 0, 0, 65_535, link];
    let mut file = header.map(u32::to_le_bytes).concat();
    for (seconds, fraction, packet) in packets {
        let length = packet.len() as u32;
        let header = [*seconds, *fraction, length, length];
        file.extend(header.map(u32::to_le_bytes).concat());
        file.extend_from_slice(packet);
    }
    file
}

fn udp_v4(length: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv4(HOST_V4, OTHER_V4, 64)
        .udp(4000, 53)
        .write(&mut packet, &vec![7; length])
        .unwrap();
    packet
}

/// Seconds, fraction and bytes of a packet.
type Stamped = (u32, u32, Vec<u8>);

struct Files {
    directory: TempDir,
}

impl Files {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn run(&self, input: &[u8]) -> Result<Summary, Error> {
        std::fs::write(self.path("in.pcap"), input).unwrap();
        let state = Region::anonymous(0).unwrap();
        let mut engine = UserTranslator::new(ruleset(policy(), 1000), state, 1);
        run(&mut engine, &self.path("in.pcap"), &self.path("out.pcap"))
    }

    /// Returns the magic number and link type of the output, and the time and bytes of each packet.
    fn output(&self) -> (u32, u32, Vec<Stamped>) {
        let file = std::fs::read(self.path("out.pcap")).unwrap();
        let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        let mut packets = Vec::new();
        let mut at = 24;
        while at < file.len() {
            let length = number(at + 8) as usize;
            assert_eq!(number(at + 8), number(at + 12));
            let packet = file[at + 16..at + 16 + length].to_vec();
            packets.push((number(at), number(at + 4), packet));
            at += 16 + length;
        }
        (number(0), number(20), packets)
    }
}

/// Checks every length and checksum of an IPv6 UDP packet.
fn assert_udp_v6(packet: &[u8], payload: &[u8]) {
    let sliced = SlicedPacket::from_ip(packet).unwrap();
    let Some(NetSlice::Ipv6(ip)) = sliced.net else {
        panic!("not IPv6: {packet:02x?}");
    };
    assert_eq!(ip.header().source(), v6(HOST_V4));
    assert_eq!(ip.header().destination(), v6(OTHER_V4));
    assert_eq!(ip.header().hop_limit(), 63);
    let Some(TransportSlice::Udp(udp)) = sliced.transport else {
        panic!("not UDP: {packet:02x?}");
    };
    assert_eq!(udp.payload(), payload);
    let checksum = udp
        .to_header()
        .calc_checksum_ipv6_raw(v6(HOST_V4), v6(OTHER_V4), udp.payload())
        .unwrap();
    assert_eq!(udp.checksum(), checksum);
}

#[test]
fn raw_ip_in_raw_ip_out_with_the_same_times() {
    for (magic, fraction) in [(MICROSECONDS, 999_999), (NANOSECONDS, 999_999_999)] {
        let files = Files::new();
        let packet = udp_v4(20);
        let input = pcap(magic, 101, &[(7, fraction, &packet), (9, 1, &packet)]);
        let summary = files.run(&input).unwrap();
        assert_eq!((summary.read, summary.written), (2, 2));
        assert_eq!(summary.counters.get(Counter::Translated4To6), 2);
        let (written_magic, link, packets) = files.output();
        assert_eq!((written_magic, link), (magic, 101));
        assert_eq!((packets[0].0, packets[0].1), (7, fraction));
        assert_eq!((packets[1].0, packets[1].1), (9, 1));
        assert_udp_v6(&packets[0].2, &[7; 20]);
    }
}

#[test]
fn ethernet_with_vlan_tags_padding_and_arp() {
    let files = Files::new();
    let mut tagged = vec![2; 12];
    tagged.extend_from_slice(&[0x81, 0x00, 0x00, 0x07, 0x08, 0x00]);
    tagged.extend(udp_v4(1));
    tagged.resize(64, 0xff);
    let mut arp = vec![2; 12];
    arp.extend_from_slice(&[0x08, 0x06]);
    arp.resize(60, 0);
    let summary = files
        .run(&pcap(MICROSECONDS, 1, &[(1, 0, &tagged), (2, 0, &arp)]))
        .unwrap();
    assert_eq!((summary.read, summary.other, summary.written), (1, 1, 1));
    // The padding is not part of the packet.
    let packet = &files.output().2[0].2;
    assert_eq!(packet.len(), 40 + 8 + 1);
    assert_udp_v6(packet, &[7]);
}

/// A pcapng file with one packet of link type 101 at `time`, in the units of this `if_tsresol`.
fn pcapng(resolution: u8, time: u64, packet: &[u8]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, body, &length].concat()
    };
    let section = [
        &0x1a2b_3c4d_u32.to_le_bytes()[..],
        &[1, 0, 0, 0],
        &[0xff; 8],
    ]
    .concat();
    // Link type 101, no snap length, the option 9 of one byte.
    let interface = [
        101, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, resolution, 0, 0, 0, 0, 0, 0, 0,
    ];
    let header = [
        0,
        (time >> 32) as u32,
        time as u32,
        packet.len() as u32,
        packet.len() as u32,
    ];
    let body = [&header.map(u32::to_le_bytes).concat(), packet].concat();
    assert_eq!(body.len() % 4, 0);
    [
        block(0x0a0d_0d0a, &section),
        block(1, &interface),
        block(6, &body),
    ]
    .concat()
}

/// pcapng section 4.2, if_tsresol: a power of 10, or of 2 with the highest bit.
#[test]
fn pcapng_with_units_of_10_and_of_2() {
    for (resolution, time, seconds, nanoseconds) in [
        (9, 5_000_000_123, 5, 123),
        (6, 5_000_001, 5, 1_000),
        (0, 5, 5, 0),
        (0x80, 5, 5, 0),
        (0x80 | 10, 5 << 10 | 1, 5, 976_562),
        (0x80 | 32, 5 << 32 | 1 << 31, 5, 500_000_000),
        (0x80 | 63, 1 << 63 | 1 << 61, 1, 250_000_000),
    ] {
        let files = Files::new();
        let file = pcapng(resolution, time, &udp_v4(20));
        assert_eq!(files.run(&file).unwrap().written, 1);
        let (magic, _, packets) = files.output();
        assert_eq!(magic, NANOSECONDS);
        assert_eq!(
            (packets[0].0, packets[0].1),
            (seconds, nanoseconds),
            "{resolution:#x}"
        );
        assert_udp_v6(&packets[0].2, &[7; 20]);
    }
    for resolution in [20, 0x80 | 64] {
        let error = Files::new()
            .run(&pcapng(resolution, 5, &udp_v4(20)))
            .unwrap_err();
        assert!(error.to_string().contains("if_tsresol"), "{error}");
    }
}

/// The frames that tcpdump writes for the interface `any`.
#[test]
fn linux_cooked_frames() {
    let v1 = [
        &[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0][..],
        &udp_v4(20),
    ]
    .concat();
    let v2 = [
        &[8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0][..],
        &udp_v4(20),
    ]
    .concat();
    for (link, frame) in [(113, v1), (276, v2)] {
        let files = Files::new();
        let summary = files
            .run(&pcap(MICROSECONDS, link, &[(1, 0, &frame)]))
            .unwrap();
        assert_eq!((summary.read, summary.written), (1, 1));
        assert_udp_v6(&files.output().2[0].2, &[7; 20]);
    }
}

#[test]
fn bad_files_are_refused_with_file_offset_and_reason() {
    let packet = udp_v4(20);
    let good = pcap(MICROSECONDS, 101, &[(1, 0, &packet), (2, 0, &packet)]);
    let second = 24 + 16 + packet.len();
    let mut huge = good.clone();
    huge[second + 8..second + 12].copy_from_slice(&[0xff; 4]);
    let cases: [(&[u8], usize, &str); 5] = [
        (b"GET / HTTP/1.1\r\n", 0, "neither a pcap nor a pcapng"),
        (b"", 0, "neither a pcap nor a pcapng"),
        (&good[..good.len() - 1], second, "ends inside a record"),
        (&pcap(MICROSECONDS, 105, &[]), 0, "link type 105; expected"),
        (&huge, second, "ends inside a record"),
    ];
    for (input, offset, reason) in cases {
        let files = Files::new();
        let Err(Error::Input(error)) = files.run(input) else {
            panic!("{reason}: accepted");
        };
        assert_eq!(error.file, files.path("in.pcap"), "{error}");
        assert_eq!(error.offset, offset, "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn a_missing_file_is_named() {
    let files = Files::new();
    let state = Region::anonymous(0).unwrap();
    let mut engine = UserTranslator::new(ruleset(policy(), 1000), state, 1);
    let missing = Path::new("/nonexistent/in.pcap");
    let error = run(&mut engine, missing, &files.path("out.pcap")).unwrap_err();
    assert!(
        error.to_string().contains("/nonexistent/in.pcap"),
        "{error}"
    );
}

#[test]
fn the_same_seed_gives_the_same_file() {
    // 6 to 4 without a fragment header: the identification is random.
    let mut packet = Vec::new();
    PacketBuilder::ipv6(v6(OTHER_V4), v6(HOST_V4), 64)
        .udp(1, 2)
        .write(&mut packet, &[1; 30])
        .unwrap();
    let input = pcap(MICROSECONDS, 101, &[(1, 0, &packet), (2, 0, &packet)]);
    let outputs = [(), ()].map(|()| {
        let files = Files::new();
        assert_eq!(files.run(&input).unwrap().written, 2);
        files.output()
    });
    assert_eq!(outputs[0], outputs[1]);
}
