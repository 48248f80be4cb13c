//! The applications of paper 002, by the programs that people use: through a mechanism, natively at the same time, and
//! where they have to fail or to be bad.

use isthmus_lab::{
    LabError, Result,
    experiments::{measure::applications, subjects, testbed::Testbed},
    traffic::applications::everyday::{self, Judged, Verdict},
};

/// Tries the applications whose names begin so through a subject, whose network is changed before. Returns nothing if
/// this is not possible here.
fn judged(subject: &str, names: &str, change: &str) -> Vec<Judged> {
    let mut all = subjects().into_iter();
    let subject = all.find(|known| known.name == subject).unwrap();
    let change = |testbed: &Testbed| -> Result<()> { testbed.client()?.script(change) };
    match applications::judge(&subject, change, |name| name.starts_with(names)) {
        Ok(judged) => {
            for Judged { name, verdict } in &judged {
                println!("{subject}: {name}: {verdict:?}");
            }
            judged
        }
        Err(reason @ (LabError::NotRoot | LabError::Missing { .. })) => {
            println!("skipped: {reason}");
            Vec::new()
        }
        Err(error) => panic!("{error}"),
    }
}

/// Checks for each application whether it works. What cannot be asked here is printed; what is only slow is for those
/// who measure.
fn are(subject: &str, names: &str, expected: &[bool]) {
    let all = judged(subject, names, ":");
    for (Judged { name, verdict }, works) in all.iter().zip(expected) {
        match verdict {
            Verdict::NotAsked(why) => println!("skipped: {name}: {why}"),
            Verdict::Fails(_) => assert!(!works, "{all:?}"),
            Verdict::Works | Verdict::Degraded(_) => assert!(works, "{all:?}"),
            // A stream was bad natively too, so it was there; or the application fails natively.
            Verdict::Untold(why) => assert!(!why.contains("it fails"), "{all:?}"),
        }
    }
    let count = everyday::names()
        .filter(|name| name.starts_with(names))
        .count();
    assert_eq!(count, expected.len());
}

/// Behind a shared address, only who has asked for a port serves.
#[test]
fn behind_map_e_who_asks_for_a_port_serves() {
    are("map-e-isthmus-xdp", "BitTorrent", &[true, false, true]);
}

/// The B4 asks the AFTR.
#[test]
fn behind_ds_lite_who_asks_for_a_port_serves() {
    are("ds-lite-isthmus-user", "BitTorrent", &[true, false, true]);
}

/// The ports of ESP cannot be shared, as it has none; those of UDP can.
#[test]
fn a_vpn_passes_map_t_by_udp() {
    are("map-t-isthmus-xdp", "VPN", &[true, false, true]);
}

/// An IPv6-only host calls an IPv4-only office, by what speaks IPv6: xl2tpd does not.
#[test]
fn a_vpn_passes_a_nat64_by_udp() {
    are("nat64-isthmus-xdp", "VPN", &[true, false, false]);
}

#[test]
fn mail_passes_464xlat() {
    are("464xlat-isthmus-tc", "e-mail", &[true, true]);
}

#[test]
fn browsers_pass_464xlat() {
    are("464xlat-isthmus-xdp", "browser", &[true, true]);
}

#[test]
fn news_pass_map_t() {
    are("map-t-isthmus-user", "news", &[true]);
}

#[test]
fn banking_passes_lw4o6() {
    are("lw4o6-isthmus-user", "home banking", &[true]);
}

#[test]
fn a_film_passes_ds_lite() {
    are("ds-lite-isthmus-xdp", "video streaming", &[true]);
}

#[test]
fn a_video_call_passes_a_nat64() {
    are("nat64-isthmus-user", "video call", &[true, true]);
}

#[test]
fn a_game_passes_map_t() {
    are("map-t-isthmus-xdp", "online game", &[true]);
}

/// Each application fails where the network refuses all that leaves the host, while it works natively.
#[test]
fn nothing_works_where_nothing_passes() {
    let refuse = "nft add table inet wall\n\
        nft 'add chain inet wall out { type filter hook output priority 0; }'\n\
        nft 'add rule inet wall out oifname != lo meta l4proto { tcp, udp, esp } reject'";
    let all = judged("ds-lite-isthmus-user", "", refuse);
    for Judged { name, verdict } in &all {
        match verdict {
            Verdict::NotAsked(why) => println!("skipped: {name}: {why}"),
            Verdict::Fails(_) => {}
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// A game is degraded where every tenth datagram to the server is lost, but not natively. No process carries it, which a
/// busy machine could keep from working.
#[test]
fn streams_are_bad_where_datagrams_are_lost() {
    let lose = "nft add table inet wall\n\
        nft 'add chain inet wall out { type filter hook output priority 0; }'\n\
        nft 'add rule inet wall out oifname != lo meta l4proto udp numgen inc mod 10 == 0 drop'";
    for Judged { name, verdict } in judged("4in6-isthmus-xdp", "online game", lose) {
        match verdict {
            Verdict::Degraded(why) => assert!(why.contains("is lost"), "{name}: {why}"),
            // The machine has lost datagrams of the native game too.
            Verdict::Untold(why) if why.contains("is lost") => println!("skipped: {why}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// The VPN that operating systems bring, through what paper 002 compares. It needs a kernel with ESP and PPP, as that of
/// the guest is (`scripts/long/guest-laboratory`).
mod long {
    use super::{Verdict, are, judged};

    const NAME: &str = "VPN, L2TP/IPsec";

    #[test]
    fn l2tp_passes_ds_lite() {
        are("ds-lite-isthmus-user", NAME, &[true]);
    }

    #[test]
    fn l2tp_passes_464xlat() {
        are("464xlat-isthmus-user", NAME, &[true]);
    }

    #[test]
    fn l2tp_passes_map_e() {
        are("map-e-isthmus-user", NAME, &[true]);
    }

    #[test]
    fn l2tp_passes_map_t() {
        are("map-t-isthmus-user", NAME, &[true]);
    }

    /// The control: behind an address translator ESP needs the port of NAT traversal (RFC 3948).
    #[test]
    fn l2tp_fails_where_its_udp_is_dropped() {
        let drop = "nft add table inet wall\n\
            nft 'add chain inet wall out { type filter hook output priority 0; }'\n\
            nft 'add rule inet wall out udp dport 4500 drop'";
        for judged in judged("map-t-isthmus-user", NAME, drop) {
            match judged.verdict {
                Verdict::NotAsked(why) => println!("skipped: {NAME}: {why}"),
                Verdict::Fails(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }
}
