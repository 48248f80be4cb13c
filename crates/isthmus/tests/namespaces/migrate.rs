//! From Jool to a gateway that translates the same packets: one public address, and a service behind it.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use crate::gateway::ISTHMUS;
use crate::one_address::{behind_the_pool, reaches, serve, service};
use crate::site::Site;

/// As `jool file handle` takes it. The pool is the gateway's address on its uplink.
const JOOL: &str = r#"{
  "instance": "plat",
  "framework": "netfilter",
  "global": { "pool6": "64:ff9b::/96" },
  "pool4": [
    { "protocol": "TCP", "prefix": "192.0.2.1", "port range": "20000-29999" },
    { "protocol": "UDP", "prefix": "192.0.2.1", "port range": "20000-29999" },
    { "protocol": "ICMP", "prefix": "192.0.2.1", "port range": "20000-29999" }
  ],
  "bib": [
    { "protocol": "TCP", "ipv6 address": "2001:db8:1::2#8080", "ipv4 address": "192.0.2.1#20080" }
  ]
}"#;

#[test]
fn a_client_goes_through_the_pool_and_a_static_entry_of_jool() {
    let Some(site) = Site::new() else {
        return;
    };
    let file = site.path("jool.conf");
    fs::write(&file, JOOL).unwrap();
    let output = Command::new(ISTHMUS)
        .args(["import", "jool"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let imported = String::from_utf8(output.stdout).unwrap();
    // Tables of a test.
    let mechanism = "mechanism = \"nat64\"\n";
    let small = format!("{mechanism}max-sessions = 4096\nmax-bindings = 4096\n");
    site.configure(&imported.replace(mechanism, &small));

    let net = &site.net;
    let before = net.dump();
    let gateway = site.start();
    let host: SocketAddr = "[2001:db8:1::2]:8080".parse().unwrap();
    let _services = [service(net, "server", 80), serve(net, "host", host)];
    reaches(net, "host", "64:ff9b::192.0.2.2", 80).expect("the pool");
    let port: u16 = behind_the_pool(&gateway).parse().unwrap();
    assert!((20_000..30_000).contains(&port), "{port}");
    reaches(net, "server", "192.0.2.1", 20080).expect("the static entry");
    assert!(net.pings("64:ff9b::192.0.2.2"), "{}", gateway.log());
    assert!(gateway.stop().success());
    assert_eq!(net.dump(), before);
}
