//! The format of the tables, which outlive the process.

use std::sync::atomic::Ordering;

use isthmus_core::datagrams::*;
use isthmus_core::nat::*;
use isthmus_core::wire::ipv4;
use isthmus_core::wire::tuple::Ports;

use crate::support::*;

/// A number for the contents of the tables after a few packets of every kind.
fn written(setup: &Setup) -> u64 {
    let mut nat = setup.nat();
    let remote = v4("192.0.2.1", 443);
    let client = |port| inside("2001:db8:1::1", port);
    for transport in [Udp, Icmp, Transport::Tcp(TcpFlags::SYN)] {
        nat.out(client(40_000), remote, transport).unwrap();
    }
    let outside = nat
        .out(client(40_002), remote, Transport::Tcp(TcpFlags::SYN))
        .unwrap();
    nat.back(outside, remote, Transport::Tcp(TcpFlags(0x12)))
        .unwrap();
    nat.sweep();
    nat.out(client(40_004), remote, Udp).unwrap();
    let fixed = StaticBinding {
        protocol: Protocol::Tcp,
        inside: client(80),
        outside: v4("203.0.113.1", 80),
    };
    insert_static(&nat.host.memory[..], &nat.cfg, nat.host.now, &fixed).unwrap();
    let first = FragmentKey::v4(&ipv4::Header::from(ipv4::Fields {
        tos: 0,
        total_length: 1500,
        identification: 7,
        dont_fragment: false,
        fragment: ipv4::Fragment::WHOLE,
        ttl: 64,
        protocol: 17,
        source: remote.address,
        destination: outside.address,
    }));
    let ports = Ports {
        source: 53,
        destination: 4000,
    };
    remember(&nat.host, &nat.cfg, &first, ports, true).unwrap();
    let words = nat.host.memory.iter().flatten();
    words.fold(0xcbf2_9ce4_8422_2325, |hash, word| {
        (hash ^ word.load(Ordering::Relaxed)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Fails if the tables of two versions differ. If an older version could not go on with them, raise [`FORMAT`];
/// then write the numbers that the test shows.
#[test]
fn another_format_has_another_number() {
    let blocks = Setup {
        filtering: Filtering::AddressDependent,
        blocks: Blocks::Dynamic {
            size: 64,
            per_subscriber: 2,
        },
        ..Setup::default()
    };
    let limits = Setup {
        limits: Limits {
            bindings: 9,
            sessions: 9,
            session_interval: 1_000_000,
        },
        ..Setup::default()
    };
    let now = [Setup::default(), blocks, limits].map(|setup| written(&setup));
    assert_eq!(
        (FORMAT, BorderDatagrams::LINES.end, now),
        (
            3,
            6771,
            [
                0x5988_3ad8_3d91_16c7,
                0x7836_336e_8316_ff1d,
                0xb965_e6d3_59b7_3d47
            ]
        ),
        "the format of the tables has changed"
    );
}
