//! The Ethernet addresses at which a gateway listens: frames to others are not its own (RFC 1812 section 5.3.4).

use std::thread;
use std::time::Duration;

use crate::forward::{PINGS, translated};
use crate::gateway::Gateway;
use crate::net::Net;
use crate::site::{PLAT, Site, both_links};

const SERVER: &str = "64:ff9b::192.0.2.2";
const STRANGER: &str = "02:00:00:00:99:99";
const NEW: &str = "02:00:00:00:00:77";

#[test]
fn xdp_leaves_frames_to_others_alone() {
    leaves_alone("xdp");
}

#[test]
fn tc_leaves_frames_to_others_alone() {
    leaves_alone("tc");
}

#[test]
fn xdp_follows_the_addresses_of_a_link() {
    follows("xdp");
}

#[test]
fn tc_follows_the_addresses_of_a_link() {
    follows("tc");
}

fn start(engine: &str) -> Option<(Site, Gateway)> {
    let site = Site::new()?;
    site.configure(&format!("{}{PLAT}", both_links(engine, "")));
    let gateway = site.start();
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    Some((site, gateway))
}

/// Has the host send what it has for the gateway to this address.
fn aim(net: &Net, address: &str) {
    let neighbour = format!("neigh replace 2001:db8:1::1 lladdr {address} dev eth0 nud permanent");
    net.ip("host", &neighbour);
}

fn leaves_alone(engine: &str) {
    let Some((site, gateway)) = start(engine) else {
        return;
    };
    let net = &site.net;
    let before = gateway.json("counters");
    let translated_before = translated(&gateway, engine);
    for address in [STRANGER, "ff:ff:ff:ff:ff:ff", "33:33:00:00:00:01"] {
        aim(net, address);
        assert!(!net.pings(SERVER), "{address}: {}", gateway.log());
    }
    // A switch that does not know a station yet sends its frames everywhere.
    net.ip("gateway", "link set toh promisc on");
    aim(net, STRANGER);
    assert!(!net.pings(SERVER), "promiscuous: {}", gateway.log());
    assert_eq!(translated(&gateway, engine), translated_before);
    let not_ours = |counters: &serde_json::Value| {
        let rows = counters.as_array().unwrap().iter();
        let rows = rows.filter(|row| row["counter"] == "not-ours");
        rows.map(|row| row["value"].as_u64().unwrap()).sum::<u64>()
    };
    let counted = not_ours(&gateway.json("counters")) - not_ours(&before);
    assert!(counted >= 4 * PINGS, "{counted}");
}

/// Checks that the engine translates what comes to this address, soon.
fn reaches(net: &Net, gateway: &Gateway, engine: &str, address: &str) {
    aim(net, address);
    // The daemon hears of a change at once, and writes it within milliseconds.
    thread::sleep(Duration::from_millis(300));
    let before = translated(gateway, engine);
    assert!(net.pings(SERVER), "{address}: {}", gateway.log());
    assert_eq!(translated(gateway, engine) - before, 2 * PINGS, "{address}");
}

fn follows(engine: &str) {
    let Some((site, gateway)) = start(engine) else {
        return;
    };
    let net = &site.net;
    net.ip("gateway", &format!("link set toh address {NEW}"));
    reaches(net, &gateway, engine, NEW);
    // VRRP has the address of its router on such a device.
    let vrrp = "00:00:5e:00:02:01";
    net.ip(
        "gateway",
        &format!("link add link toh name vrrp address {vrrp} type macvlan mode private"),
    );
    net.ip("gateway", "link set vrrp addrgenmode none up");
    reaches(net, &gateway, engine, vrrp);
    net.ip("gateway", "link del vrrp");
    thread::sleep(Duration::from_millis(300));
    assert!(!net.pings(SERVER), "{}", gateway.log());
    reaches(net, &gateway, engine, NEW);
}
