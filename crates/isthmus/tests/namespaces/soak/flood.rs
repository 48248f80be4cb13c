//! Floods, as those of `isthmus lab attack`.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use isthmus_lab::experiments::attack::{Flood, Packets, Rate, datagram};
use isthmus_lab::traffic::packet::Ends;

use crate::net::Net;

/// Packets per second.
const RATE: Rate = Rate::PerSecond(10_000);
/// Where nobody answers, as hosts see it (RFC 2544 appendix C.2.2).
const NOWHERE: Ipv6Addr = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0xc612, 0x0001);

/// One subscriber opens flows.
pub(crate) fn new_flows(net: &Net, length: Duration) -> u64 {
    let host = Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 1);
    flood(net, "host", length, move |number| outward(host, number))
}

/// Every flow is of another subscriber.
pub(crate) fn spray(net: &Net, length: Duration) -> u64 {
    flood(net, "host", length, |number| {
        let network = (number % 0xffff) as u16;
        outward(Ipv6Addr::new(0x2001, 0xdb8, 3, network, 0, 0, 0, 1), number)
    })
}

/// Strangers send to the pool.
pub(crate) fn strangers(net: &Net, length: Duration) -> u64 {
    flood(net, "server", length, |number| {
        let number = number as u32;
        let from = Ipv4Addr::from_bits(0xc612_0000 | number & 0x1_ffff);
        let to = Ipv4Addr::new(203, 0, 113, (number % 16) as u8);
        let port = 1024 + (number.wrapping_mul(40_503) % 60_000) as u16;
        datagram(Ends::V4(from, to), (9, port), &[0; 18])
    })
}

fn outward(host: Ipv6Addr, number: u64) -> Vec<u8> {
    let port = 1024 + (number % 60_000) as u16;
    datagram(Ends::V6(host, NOWHERE), (port, 9), &[0; 18])
}

fn flood(
    net: &Net,
    node: &str,
    length: Duration,
    packet: impl Fn(u64) -> Vec<u8> + Send + Sync + 'static,
) -> u64 {
    let packets: Packets = Arc::new(packet);
    let flood = Flood::start(net.node(node), &packets, 0, RATE).unwrap();
    std::thread::sleep(length);
    flood.stop().unwrap().0
}
