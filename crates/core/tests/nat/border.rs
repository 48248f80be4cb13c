//! The datagrams of borders without a NAT (RFC 7597 section 8.3.2), beside a flood of them.

use isthmus_core::address::{V4, V6};
use isthmus_core::datagrams::*;
use isthmus_core::reason::Counter;
use isthmus_core::table::Line;
use isthmus_core::time::{Instant, Span};
use isthmus_core::wire::tuple::Ports;

use crate::fragment::key;
use crate::support::*;

const BORDER: BorderDatagrams = BorderDatagrams {
    seed: [
        0x9216_d5d9_8979_fb1b,
        0xd131_0ba6_98df_b5ac,
        0x2ffd_72db_d01a_dfb7,
        0xb8e1_afed_6a26_7e96,
        0xba7c_9045_f12c_7f99,
        0x24a1_9947_b391_6cf7,
    ],
};
const UDP: u8 = 17;
const PORTS: Ports = Ports {
    source: 53,
    destination: 4000,
};
/// First fragments of a flood that come between two of a datagram of somebody else's: in 4 ms, 250,000 a second.
const BETWEEN: u32 = 1000;

fn host() -> TestHost {
    TestHost {
        memory: (0..BorderDatagrams::LINES.end)
            .map(|_| Line::default())
            .collect(),
        now: Instant(1_000_000),
        random: 1,
        own: None,
        counts: vec![0; Counter::ALL.len()],
    }
}

fn shared() -> V4 {
    v4("192.0.2.18", 0).address
}

#[test]
fn rfc7597_8_3_2_a_flood_of_datagrams_leaves_others_theirs() {
    let mut host = host();
    let server = v4("198.51.100.1", 0).address;
    let mut lost = 0;
    for round in 0..100 {
        let victim = key([server, shared()], round as u16, UDP);
        remember(&host, &BORDER, &victim, PORTS, false).unwrap();
        for number in 0..BETWEEN {
            let source = V4::from_number(0x2000_0000 | (round * BETWEEN + number));
            let made_up = key([source, shared()], number as u16, UDP);
            remember(&host, &BORDER, &made_up, PORTS, false).unwrap();
        }
        host.now = host.now + Span(4);
        lost += u32::from(recall(&host, &BORDER, &victim) != Some(PORTS));
    }
    assert_eq!(lost, 0);
}

#[test]
fn one_identification_of_two_customers_is_two_datagrams() {
    let host = host();
    let inner = key([shared(), v4("198.51.100.1", 0).address], 7, UDP);
    let [one, other] = [1, 2].map(|network| {
        inner.within(V6::from(std::net::Ipv6Addr::new(
            0x2001, 0xdb8, network, 0, 0, 0, 0, 1,
        )))
    });
    remember(&host, &BORDER, &one, PORTS, true).unwrap();
    assert_eq!(recall(&host, &BORDER, &other), None);
    assert_eq!(recall(&host, &BORDER, &one), Some(PORTS));
}

#[test]
fn it_writes_to_its_own_lines_only() {
    let host = host();
    for number in 0..20_000 {
        let key = key([V4::from_number(number), shared()], 7, UDP);
        remember(&host, &BORDER, &key, PORTS, true).unwrap();
    }
    let before = &host.memory[..BorderDatagrams::LINES.start as usize];
    let words = before.iter().flatten();
    assert!(
        words
            .into_iter()
            .all(|word| word.load(std::sync::atomic::Ordering::Relaxed) == 0)
    );
}
