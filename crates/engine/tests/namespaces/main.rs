//! The engines in the kernel: the user-space engine on a TUN link between real hosts, in network namespaces, and what the
//! verifier says of the programs.

#[path = "../engine/common.rs"]
mod common;
mod network;
mod start;
mod verifier;

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use common::{policy, ruleset};
use isthmus_core::reason::Counter;
use isthmus_engine::memory::Region;
use isthmus_engine::own::Unserved;
use isthmus_engine::user::{Delivery, Engine, Tun};
use network::{Network, Node};

/// The IPv4 host as seen by the IPv6 host, and the reverse.
const V4_HOST: &str = "2001:db8:64::192.0.2.1";
const V6_HOST: &str = "198.51.100.9";

fn start(network: &Network, queues: usize) -> Engine {
    let tun = network.inside_with_sysfs(Node::Gateway, || Tun::open("isthmus0", queues).unwrap());
    assert_eq!(tun.delivery(), Delivery::Batched);
    start_on(network, tun)
}

fn start_on(network: &Network, tun: Tun) -> Engine {
    let state = Arc::new(Region::anonymous(0).unwrap());
    let ruleset = Arc::new(ruleset(policy(), 1000));
    let engine = Engine::start(
        tun.queues,
        ruleset,
        state,
        [7; 32],
        Arc::new(Unserved),
        None,
    )
    .unwrap();
    network.route_into("isthmus0");
    engine
}

/// Sends `length` patterned bytes from one host to another over TCP, and checks them at the receiver.
fn transfer(network: &Network, from: Node, to: Node, address: &str, length: usize) {
    let listener = network.inside(to, || {
        let any = match to {
            Node::V6 => "[::]:0",
            _ => "0.0.0.0:0",
        };
        TcpListener::bind(any).unwrap()
    });
    let port = listener.local_addr().unwrap().port();
    let target = if address.contains(':') {
        format!("[{address}]:{port}")
    } else {
        format!("{address}:{port}")
    };
    let receiver = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        received
    });
    let data: Vec<u8> = (0..length as u32)
        .flat_map(|i| (i / 3).to_be_bytes())
        .collect();
    let data = &data[..length];
    let mut stream = network.inside(from, || {
        let target = target.parse().unwrap();
        TcpStream::connect_timeout(&target, Duration::from_secs(5)).unwrap()
    });
    stream
        .set_write_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    stream.write_all(data).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert!(receiver.join().unwrap() == data, "the bytes differ");
}

#[test]
fn ping_and_fragmented_ping_both_ways() {
    let Some(network) = Network::new() else {
        return;
    };
    let engine = start(&network, 2);
    for size in [56, 1452, 4000] {
        let options = format!("-c 2 -i 0.2 -W 2 -s {size}");
        network.exec(Node::V4, &format!("ping {options} {V6_HOST}"));
        network.exec(Node::V6, &format!("ping {options} {V4_HOST}"));
    }
    assert!(engine.is_running());
    let counters = engine.counters();
    assert!(counters.get(Counter::Translated4To6) >= 12);
    assert!(counters.get(Counter::FragmentHeld) > 0);
    assert_eq!(counters.get(Counter::EngineError), 0);
    engine.stop().unwrap();
}

#[test]
fn tcp_travels_in_super_packets() {
    let Some(network) = Network::new() else {
        return;
    };
    let engine = start(&network, 1);
    let mut before = 0;
    for (from, to, address) in [(Node::V4, Node::V6, V6_HOST), (Node::V6, Node::V4, V4_HOST)] {
        transfer(&network, from, to, address, 30_000_000);
        let super_packets = engine.load()[0].super_packets;
        assert!(super_packets > before + 100, "from {from:?}");
        before = super_packets;
    }
    assert_eq!(engine.counters().get(Counter::EngineError), 0);
    // 60 MB, acknowledgements included, take far fewer packets than segments of 1500 bytes would.
    assert!(engine.load()[0].packets < 40_000, "{:?}", engine.load());
    engine.stop().unwrap();
}

/// Sends one buffer as ten datagrams of 1200 bytes, which the kernel segments as late as it can (GSO).
fn ten_datagrams(network: &Network, from: Node, to: Node, address: &str) {
    let any = |node| match node {
        Node::V6 => "[::]:0",
        _ => "0.0.0.0:0",
    };
    let receiver = network.inside(to, || UdpSocket::bind(any(to)).unwrap());
    receiver
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let port = receiver.local_addr().unwrap().port();
    let data: Vec<u8> = (0..12_000_u32).map(|i| (i / 7) as u8).collect();
    network.inside(from, || {
        let sender = UdpSocket::bind(any(from)).unwrap();
        let segment: libc::c_int = 1200;
        // SAFETY: the kernel reads one `int`.
        let set = unsafe {
            libc::setsockopt(
                sender.as_raw_fd(),
                libc::SOL_UDP,
                libc::UDP_SEGMENT,
                (&raw const segment).cast(),
                size_of_val(&segment) as _,
            )
        };
        assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
        let target: IpAddr = address.parse().unwrap();
        assert_eq!(sender.send_to(&data, (target, port)).unwrap(), data.len());
    });
    let mut buffer = [0; 2000];
    for expected in data.chunks(1200) {
        let length = receiver.recv(&mut buffer).unwrap();
        assert!(
            buffer[..length] == *expected,
            "from {from:?}: {length} bytes"
        );
    }
}

#[test]
fn udp_travels_in_super_packets() {
    let Some(network) = Network::new() else {
        return;
    };
    let engine = start(&network, 1);
    ten_datagrams(&network, Node::V4, Node::V6, V6_HOST);
    ten_datagrams(&network, Node::V6, Node::V4, V4_HOST);
    // A kernel before 6.2 segments before the link. This then tests plain UDP.
    let load = engine.load()[0];
    assert!(load.super_packets == 2 || load.packets >= 20, "{load:?}");
    assert_eq!(engine.counters().get(Counter::EngineError), 0);
    engine.stop().unwrap();
}

#[test]
fn tcp_without_offloads() {
    let Some(network) = Network::new() else {
        return;
    };
    for node in [Node::V4, Node::V6] {
        network.exec(node, "ethtool -K eth0 tso off gso off tx off");
    }
    // Nobody puts together again what they send.
    for link in ["to4", "to6"] {
        network.exec(Node::Gateway, &format!("ethtool -K {link} gro off"));
    }
    let engine = start(&network, 1);
    transfer(&network, Node::V4, Node::V6, V6_HOST, 3_000_000);
    transfer(&network, Node::V6, Node::V4, V4_HOST, 3_000_000);
    engine.stop().unwrap();
}

#[test]
fn without_sysfs_each_write_delivers_its_packet() {
    let Some(network) = Network::new() else {
        return;
    };
    let tun = network.inside(Node::Gateway, || Tun::open("isthmus0", 2).unwrap());
    assert_eq!(tun.delivery(), Delivery::Direct);
    let engine = start_on(&network, tun);
    transfer(&network, Node::V4, Node::V6, V6_HOST, 10_000_000);
    assert_eq!(engine.counters().get(Counter::EngineError), 0);
    engine.stop().unwrap();
}

#[test]
fn the_configuration_is_swapped_under_traffic() {
    let Some(network) = Network::new() else {
        return;
    };
    let engine = start(&network, 2);
    thread::scope(|scope| {
        let transfer = scope.spawn(|| transfer(&network, Node::V4, Node::V6, V6_HOST, 50_000_000));
        let mut swaps = 0;
        while !transfer.is_finished() || swaps < 100 {
            engine.swap(Arc::new(ruleset(policy(), 1000)));
            swaps += 1;
            thread::sleep(Duration::from_micros(300));
        }
    });
    // The kernel's own messages to neighbours are not ours. All other packets were translated.
    let counters = engine.counters();
    let accounted = [
        Counter::Translated4To6,
        Counter::Translated6To4,
        Counter::NotOurs,
    ];
    let accounted: u64 = accounted.iter().map(|counter| counters.get(*counter)).sum();
    let read: u64 = engine.load().iter().map(|load| load.packets).sum();
    assert_eq!(accounted, read);
    assert_eq!(counters.get(Counter::EngineError), 0);
    engine.stop().unwrap();
}

#[test]
fn a_narrow_link_behind_the_gateway_is_discovered() {
    let Some(network) = Network::new() else {
        return;
    };
    network.ip(Node::Gateway, "link set to6 mtu 1400");
    network.ip(Node::V6, "link set eth0 mtu 1400");
    let engine = start(&network, 1);
    transfer(&network, Node::V4, Node::V6, V6_HOST, 3_000_000);
    engine.stop().unwrap();
}
