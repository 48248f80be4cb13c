//! 464XLAT whose CLAT discovers the prefix from router advertisements of our NAT64 or from our DNS64, and follows
//! its changes.

mod net;

use std::net::Ipv6Addr;

use serde_json::Value;

use crate::counted;
use crate::gateway::Gateway;
use net::{Net, PLAT};

/// Router advertisements to the CLAT.
const ANNOUNCE: &str = "[[announce]]\ninterface = \"toc\"\nlifetime = 1800\n";
const BY_ROUTERS: &str = "{ interface = \"tow\", resolvers = [] }";

/// The prefix in a CLAT's status.
fn prefix(clat: &Gateway) -> Value {
    let status = clat.json("status");
    assert_eq!(status["instances"][0]["mechanism"], "clat");
    status["instances"][0]["prefix"].clone()
}

fn wait_for(clat: &Gateway, prefix: &str) {
    clat.wait_until(|clat| self::prefix(clat)["prefix"] == *prefix);
    clat.wait_until(|clat| clat.log().contains(prefix));
}

fn wait_for_none(clat: &Gateway) {
    clat.wait_until(|clat| prefix(clat).as_object().is_some_and(|told| told.is_empty()));
}

/// The life of a prefix: awaited, announced, in use, changed, withdrawn.
fn follows(engine: &str) {
    let Some(net) = Net::new(engine) else {
        return;
    };
    let before = net.routes();
    let clat = net.clat(engine, BY_ROUTERS);
    wait_for_none(&clat);
    // The gateway has no prefix yet: its kernel reports that there is no route.
    let said = net.ping();
    assert!(
        said.contains("Network is unreachable") || said.contains("Net Unreachable"),
        "{said}"
    );
    assert_eq!(net.routes(), before);
    let status = clat.client("status");
    assert!(
        crate::net::text(&status).contains("clat: waiting for a prefix"),
        "{status:?}"
    );

    let plat = net.plat(&format!("prefix = \"2001:db8:64::/96\"\n{PLAT}{ANNOUNCE}"));
    wait_for(&clat, "2001:db8:64::/96");
    let told = prefix(&clat);
    let origin = told["origin"].as_str().unwrap();
    let router = origin.strip_prefix("router ").unwrap();
    assert!(router.parse::<Ipv6Addr>().unwrap().is_unicast_link_local());
    let left = told["expires"].as_u64().unwrap();
    assert!((1700..=1800).contains(&left), "{told}");
    assert_eq!(
        plat.json("status")["announcements"][0]["prefixes"][0],
        "2001:db8:64::/96"
    );
    net.carries(&clat);

    // The prefix of the NAT64 changes while both run.
    net.configure(
        "plat",
        &format!("prefix = \"2001:db8:65::/96\"\n{PLAT}{ANNOUNCE}"),
    );
    plat.json("reload");
    wait_for(&clat, "2001:db8:65::/96");
    net.carries(&clat);
    assert!(plat.sessions() > 0 && clat.sessions() > 0);

    // The NAT64 withdraws it.
    assert!(plat.stop().success());
    wait_for_none(&clat);
    assert_eq!(net.routes(), before);
    assert!(clat.stop().success());
}

#[test]
fn a_clat_follows_routers_in_user_space() {
    follows("user");
}

#[test]
fn a_clat_follows_routers_in_xdp() {
    follows("xdp");
}

#[test]
fn a_clat_follows_routers_in_tc() {
    follows("tc");
}

/// RFC 7050, with the machine's resolver and with a configured one. RFC 8781 section 5.1: router
/// advertisements have priority.
#[test]
fn a_clat_asks_the_dns() {
    for discovery in [
        "{}",
        "{ interface = \"tow\", resolvers = [\"[2001:db8:c::1]:53\"] }",
    ] {
        let Some(net) = Net::new("user") else {
            return;
        };
        net.resolver();
        let dns64 = "[dns64]\nlisten = [\"[2001:db8:c::1]:53\"]\nupstream = [\"[::1]:5353\"]\n";
        let plat = net.plat(&format!("prefix = \"2001:db8:64::/96\"\n{PLAT}{dns64}"));
        let clat = net.clat("user", discovery);
        wait_for(&clat, "2001:db8:64::/96");
        assert_eq!(prefix(&clat)["origin"], "DNS");
        net.carries(&clat);
        let asked = counted(&clat.json("counters"), "pref64-asked");
        assert_eq!(asked, 1, "{}", clat.log());

        let other = format!("prefix = \"2001:db8:65::/96\"\n{PLAT}{dns64}{ANNOUNCE}");
        net.configure("plat", &other);
        plat.json("reload");
        if discovery != "{}" {
            wait_for(&clat, "2001:db8:65::/96");
            net.carries(&clat);
        }
        assert!(clat.stop().success() && plat.stop().success());
    }
}

/// RFC 4861 section 6.1.2 and RFC 8781 section 4: discarded messages are counted by reason. A reload that keeps
/// the sources keeps the discovered prefix.
#[test]
fn hostile_advertisements_are_refused() {
    let Some(net) = Net::new("user") else {
        return;
    };
    let clat = net.clat("user", BY_ROUTERS);
    let good = "86000000000000000000000000000000 260207080064ff9b0000000000000000";
    let counters = |name: &str| counted(&clat.json("counters"), name);
    let refused = |name: &str| clat.wait_until(|_| counters(name) == 1);
    net.advertise("fe80::1", 64, good);
    refused("pref64-advertisement-hop-limit");
    net.advertise("2001:db8:c::1", 255, good);
    refused("pref64-advertisement-source");
    // An option without length.
    net.advertise(
        "fe80::1",
        255,
        "86000000000000000000000000000000 2600070800000000",
    );
    refused("pref64-advertisement-malformed");
    // A length of three, and a prefix length code of seven, in one advertisement.
    net.advertise(
        "fe80::1",
        255,
        "86000000000000000000000000000000 260307080064ff9b00000000000000000000000000000000
         2602070f0064ff9b0000000000000000",
    );
    clat.wait_until(|_| counters("pref64-option-ignored") == 2);
    // IPv4-mapped addresses.
    net.advertise(
        "fe80::1",
        255,
        "86000000000000000000000000000000 2602070800000000000000000000ffff",
    );
    clat.wait_until(|_| counters("pref64-option-ignored") == 3);
    wait_for_none(&clat);

    net.advertise("fe80::1", 255, good);
    wait_for(&clat, "64:ff9b::/96");
    clat.json("reload");
    assert_eq!(prefix(&clat)["prefix"], "64:ff9b::/96");
    // Withdrawn by a router that never announced it, then by its own router.
    let zero = good.replace("26020708", "26020000");
    net.advertise("fe80::99", 255, &zero);
    clat.wait_until(|_| counters("pref64-advertisement-heard") == 3);
    assert_eq!(prefix(&clat)["prefix"], "64:ff9b::/96");
    net.advertise("fe80::1", 255, &zero);
    wait_for_none(&clat);
    assert!(clat.stop().success());
}

/// A link that goes and returns is a new link: both ends recover.
#[test]
fn a_link_that_comes_back_is_listened_to() {
    let Some(net) = Net::new("user") else {
        return;
    };
    let clat = net.clat("user", BY_ROUTERS);
    let plat = net.plat(&format!("prefix = \"2001:db8:64::/96\"\n{PLAT}{ANNOUNCE}"));
    wait_for(&clat, "2001:db8:64::/96");
    net.part();
    net.join();
    clat.wait_until(|clat| clat.log().contains("the link was replaced"));
    plat.wait_until(|plat| plat.log().contains("the link was replaced"));
    wait_for(&clat, "2001:db8:64::/96");
    // The prefix may still be the one that was known before.
    clat.wait_until(|_| net.ping().contains("3 received"));
    net.carries(&clat);
    assert!(clat.stop().success() && plat.stop().success());
}

/// RFC 8781 section 5.2: announcements of another router on the link are compared with ours.
#[test]
fn routers_that_disagree_are_told_of() {
    let Some(net) = Net::new("user") else {
        return;
    };
    let plat = net.plat(&format!("prefix = \"64:ff9b::/96\"\n{PLAT}{ANNOUNCE}"));
    let from_there = |prefix: &str| {
        let message = format!("86000000000000000000000000000000 26020708{prefix}");
        net.advertise_from_clat("fe80::7", 255, &message);
    };
    from_there("0064ff9b0000000000000000");
    from_there("20010db80064000000000000");
    from_there("20010db80064000000000000");
    plat.wait_until(|plat| counted(&plat.json("counters"), "pref64-inconsistent") == 2);
    assert_eq!(plat.log().matches("another router announces").count(), 1);
    assert!(plat.log().contains("fe80::7") && plat.log().contains("2001:db8:64::/96"));
    assert!(plat.stop().success());
}

/// RFC 4861 section 6.2.6: solicitations are answered, at most once every three seconds. Section 4.2: the
/// advertisement makes no default router and carries nothing else.
#[test]
fn hosts_that_solicit_are_answered() {
    let Some(net) = Net::new("user") else {
        return;
    };
    let plat = net.plat(&format!("prefix = \"64:ff9b::/96\"\n{PLAT}{ANNOUNCE}"));
    // The first ones are at most 16 seconds apart, so that an earlier one is an answer.
    let heard = net.solicit(40);
    assert!((2..=3).contains(&heard.len()), "{heard:?}");
    for (_, hop_limit, message) in &heard {
        assert_eq!(*hop_limit, 255);
        // All but the checksum: router lifetime 0, PREF64 alone, 1800 seconds.
        let expected = "86000000000000000000000000000000260207080064ff9b0000000000000000";
        let mut message = message.clone();
        message[2..4].fill(0);
        let hex: String = message.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
    }
    for pair in heard.windows(2) {
        assert!((pair[1].0 - pair[0].0).as_secs_f64() > 2.9, "{heard:?}");
    }
    let counters = plat.json("counters");
    assert_eq!(counted(&counters, "pref64-solicitation-heard"), 40);
    assert!(plat.stop().success());
}
