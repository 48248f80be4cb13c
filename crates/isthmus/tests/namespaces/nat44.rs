//! A NAT within IPv4 in the kernel's engines: no packet takes the slow path.

use std::net::UdpSocket;
use std::time::Duration;

use serde_json::Value;

use crate::counted;
use crate::forward::forwarded;
use crate::gateway::Gateway;
use crate::site::{HOME, Site, both_links};

const SERVER: &str = "192.0.2.2";
/// The gateway's address on that side, and a host on the other one.
const GATEWAY: &str = "192.0.2.1";
const HOST: &str = "192.168.7.2";
/// An address of the pool.
const POOL: &str = "203.0.113.40";

/// A gateway that both hosts have found.
fn begin(engine: &str) -> Option<(Site, Gateway)> {
    let site = Site::new()?;
    site.net.dual_stack();
    site.configure(&format!("{}{HOME}", both_links(engine, "")));
    let gateway = site.start();
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    Some((site, gateway))
}

/// How much these counters rise while `work` is done.
fn more<const N: usize>(gateway: &Gateway, names: [&str; N], work: impl FnOnce()) -> [u64; N] {
    let before = gateway.json("counters");
    work();
    let after: Value = gateway.json("counters");
    names.map(|name| counted(&after, name) - counted(&before, name))
}

/// Each `ping` has an identifier of its own, and so a session.
fn hosts_open_sessions(engine: &str) {
    let Some((site, gateway)) = begin(engine) else {
        return;
    };
    let rose = more(
        &gateway,
        ["session-created", "translated-4to4", "slow-path"],
        || {
            for _ in 0..3 {
                assert!(site.net.pings(SERVER), "{}", gateway.log());
            }
        },
    );
    assert_eq!((rose[0], rose[2]), (3, 0), "{rose:?}");
    assert!(
        rose[1] >= 18 && forwarded(&gateway, engine) >= 18,
        "{rose:?}"
    );
    assert!(gateway.stop().success());
}

fn strangers_cost_one_look(engine: &str) {
    let Some((site, gateway)) = begin(engine) else {
        return;
    };
    let rose = more(
        &gateway,
        ["no-binding", "session-created", "slow-path"],
        || {
            let mut ping = site.net.command("server", "ping");
            ping.args(["-n", "-c", "20", "-i", "0.01", "-W", "1", POOL]);
            assert!(!ping.output().unwrap().status.success());
            site.net.enter("server", || {
                let socket = UdpSocket::bind("192.0.2.2:0").unwrap();
                for port in 5000..5020 {
                    socket.send_to(b"stranger", (POOL, port)).unwrap();
                }
            });
        },
    );
    assert_eq!(rose, [40, 0, 0]);
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    assert!(gateway.stop().success());
}

#[test]
fn hosts_open_sessions_in_xdp() {
    hosts_open_sessions("xdp");
}

#[test]
fn hosts_open_sessions_in_tc() {
    hosts_open_sessions("tc");
}

#[test]
fn strangers_cost_one_look_in_xdp() {
    strangers_cost_one_look("xdp");
}

#[test]
fn strangers_cost_one_look_in_tc() {
    strangers_cost_one_look("tc");
}

/// What the gateway has itself is no destination outside: a host reaches it at its address there as its own, without a session.
fn the_gateway_is_reached(engine: &str) {
    let Some((site, gateway)) = begin(engine) else {
        return;
    };
    let listen = || UdpSocket::bind((GATEWAY, 7000)).unwrap();
    let listener = site.net.enter("gateway", listen);
    let patience = Some(Duration::from_secs(2));
    listener.set_read_timeout(patience).unwrap();
    let rose = more(&gateway, ["session-created"], || {
        site.net.enter("host", || {
            let socket = UdpSocket::bind((HOST, 0)).unwrap();
            socket.send_to(b"gateway", (GATEWAY, 7000)).unwrap();
        });
        let (_, from) = listener.recv_from(&mut [0; 16]).unwrap();
        assert_eq!(from.ip().to_string(), HOST, "{}", gateway.log());
        assert!(site.net.pings(GATEWAY), "{}", gateway.log());
    });
    assert_eq!(rose, [0]);
    assert!(gateway.stop().success());
}

#[test]
fn the_gateway_is_reached_in_user_space() {
    the_gateway_is_reached("user");
}

#[test]
fn the_gateway_is_reached_in_xdp() {
    the_gateway_is_reached("xdp");
}

#[test]
fn the_gateway_is_reached_in_tc() {
    the_gateway_is_reached("tc");
}
