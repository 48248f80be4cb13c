//! Traffic of the gateway machine itself: out through the TUN link, back in through the programs.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::forward::{PINGS, translated};
use crate::gateway::Gateway;
use crate::net::Net;
use crate::site::{PLAT, Site, both_links};

const SERVER: &str = "64:ff9b::192.0.2.2";

#[test]
fn xdp_gateways_reach_ipv4_servers_themselves() {
    reaches("xdp");
}

#[test]
fn tc_gateways_reach_ipv4_servers_themselves() {
    reaches("tc");
}

#[test]
fn tc_gateways_move_super_packets_themselves() {
    if Command::new("iperf3").arg("--version").output().is_err() {
        eprintln!("skipped: iperf3 is not installed");
        return;
    }
    on_a_gateway("tc", |net, _| {
        moves(net, &[]);
        moves(net, &["--reverse"]);
    });
}

/// The gateway machine pings the server.
fn reaches(engine: &str) {
    on_a_gateway(engine, |net, gateway| {
        assert!(net.pings_from("gateway", SERVER), "{}", gateway.log());
        // Out by the slow path, in by the fast path.
        assert_eq!(translated(gateway, "user"), PINGS);
        assert_eq!(translated(gateway, engine), PINGS);
    });
}

fn on_a_gateway(engine: &str, task: impl FnOnce(&Net, &Gateway)) {
    let Some(site) = Site::new() else {
        return;
    };
    site.configure(&format!("{}{PLAT}", both_links(engine, "")));
    let gateway = site.start();
    task(&site.net, &gateway);
}

/// Transfers some megabytes between the gateway machine and the server, in super-packets.
fn moves(net: &Net, direction: &[&str]) {
    let mut server = net
        .command("server", "iperf3")
        .args(["--server", "--one-off"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut done = false;
    // Wait until the server listens.
    for _ in 0..20 {
        let mut client = net.command("gateway", "iperf3");
        client.args([
            "--client",
            SERVER,
            "--bytes",
            "20M",
            "--connect-timeout",
            "2000",
        ]);
        client.args(direction).stdout(Stdio::null());
        done = client.status().is_ok_and(|status| status.success());
        if done {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let _ended = server.kill();
    let _status = server.wait();
    assert!(done, "iperf3 {direction:?}");
}
