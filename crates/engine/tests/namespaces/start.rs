//! The order of a start: packets pass before the programs of rare ones are loaded.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::Duration;

use isthmus_core::reason::Counter;
use isthmus_engine::bpf::{Clock, Mode, Programs};

use super::common::{policy, ruleset};
use super::network::{Network, Node};
use super::{V4_HOST, start};

/// Sends a datagram to a port of the IPv4 host that nobody has, and waits for the error.
fn ask_in_vain(network: &Network) {
    let answer = network.inside(Node::V6, || {
        let socket = UdpSocket::bind("[::]:0").unwrap();
        let timeout = Some(Duration::from_secs(5));
        socket.set_read_timeout(timeout).unwrap();
        socket.connect(format!("[{V4_HOST}]:9")).unwrap();
        socket.send(b"anybody there?").unwrap();
        socket.recv(&mut [0; 16]).map_err(|error| error.kind())
    });
    assert_eq!(answer, Err(ErrorKind::ConnectionRefused));
}

/// To IPv6, and to IPv4. It is the error alone that comes as IPv4.
const TRANSLATED: [Counter; 2] = [Counter::Translated4To6, Counter::Translated6To4];

fn by_programs(programs: &Programs) -> [u64; 2] {
    let counters = programs.counters().unwrap();
    TRANSLATED.map(|it| counters.iter().map(|(_, counts)| counts.get(it)).sum())
}

#[test]
fn packets_pass_before_rare_ones_have_their_programs() {
    let Some(network) = Network::new() else {
        return;
    };
    // XDP of the stack cannot tell checksums that are left to a device.
    for node in [Node::V4, Node::V6] {
        network.exec(node, "ethtool -K eth0 tx off");
    }
    let engine = start(&network, 1);
    let mut programs = Programs::new(&[], 0, 1000, Clock::Kernel, None).unwrap();
    programs.put(&ruleset(policy(), 1000)).unwrap();
    let by_user_space = || TRANSLATED.map(|it| engine.counters().get(it));
    network.inside(Node::Gateway, || {
        for link in ["to4", "to6"] {
            programs.attach_tc(link).unwrap();
        }
    });
    ask_in_vain(&network);
    assert_eq!(by_programs(&programs), [0, 1]);
    assert_eq!(by_user_space(), [1, 0]);
    programs.load_rest().unwrap();
    ask_in_vain(&network);
    assert_eq!(by_programs(&programs), [1, 2]);
    assert_eq!(by_user_space(), [1, 0]);
    // Another hook that comes into use after the start has all of its programs at once.
    network.inside(Node::Gateway, || {
        for link in ["to4", "to6"] {
            programs.attach_xdp(link, Mode::Generic).unwrap();
        }
    });
    ask_in_vain(&network);
    assert_eq!(by_programs(&programs), [2, 3]);
    assert_eq!(by_user_space(), [1, 0]);
    engine.stop().unwrap();
}
