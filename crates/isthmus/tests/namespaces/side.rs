//! Links where nobody is an inside host: who sends like one from there, with a forged source for example, gets no
//! session.

use crate::site::{HOME, PLAT, Site, both_links};

const SERVER: &str = "64:ff9b::192.0.2.2";

/// Both links with this engine; this one leads to the outside.
fn links(engine: &str, outside: &str) -> String {
    let links = both_links(engine, "");
    let name = format!("name = \"{outside}\"");
    links.replace(&name, &format!("{name}\nside = \"outside\""))
}

#[test]
fn strangers_open_no_sessions_in_user_space() {
    refuses("user");
}

#[test]
fn strangers_open_no_sessions_in_xdp() {
    refuses("xdp");
}

#[test]
fn strangers_open_no_sessions_in_tc() {
    refuses("tc");
}

fn refuses(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    net.dual_stack();
    let before = net.dump();
    let rules = format!("{PLAT}{HOME}");
    site.configure(&format!("{}{rules}", links(engine, "toh")));
    let gateway = site.start();
    for server in [SERVER, "192.0.2.2"] {
        assert!(!net.pings(server), "{server}: {}", gateway.log());
    }
    assert_eq!(gateway.sessions(), 0, "{}", gateway.log());
    assert!(gateway.stop().success());
    assert_eq!(net.dump(), before);

    // The other link leads to the servers, as it should.
    site.configure(&format!("{}{rules}", links(engine, "tos")));
    let gateway = site.start();
    for server in [SERVER, "192.0.2.2"] {
        assert!(net.pings(server), "{server}: {}", gateway.log());
    }
    // What a crash leaves behind, the next run removes.
    gateway.signal("KILL");
    drop(gateway);
    site.configure(PLAT);
    let gateway = site.start();
    assert!(net.pings(SERVER), "{}", gateway.log());
    assert!(gateway.stop().success());
    assert_eq!(net.dump(), before);
}
