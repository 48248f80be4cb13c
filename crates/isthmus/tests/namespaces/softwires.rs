//! Tunnels and shared addresses with both ends ours: a CE, a core that routes one protocol only, and a BR.

mod floods;
mod household;
pub(crate) mod net;
mod ports;
mod proxied;
pub(crate) mod traffic;

use isthmus_lab::subjects::provider::{self, Mechanism, Transport};
use serde_json::Value;

use crate::gateway::Gateway;
use crate::net::text;
use net::Net;

/// Bytes of a TCP connection in each direction.
const BYTES: u32 = 4 << 20;
/// Packets of a connection that may take the slow path, or tell its ends of the path MTU.
const FEW: u64 = 20;

/// Runs the traffic between client and server over a mechanism with an engine on both gateways.
fn carries(row: &Mechanism, engine: &str) {
    let Some(net) = Net::new(row) else {
        return;
    };
    let (ce, br) = net.start(row, engine);
    let hosts = net.hosts();
    let server = row.server.address;
    let seen = |gateway: &Gateway| {
        let counters = text(&gateway.client("counters"));
        format!("{}\n{counters}", gateway.log())
    };
    let fine = |result: Result<(), String>| {
        result.unwrap_or_else(|said| panic!("{said}\nedge: {}\nborder: {}", seen(&ce), seen(&br)));
    };
    fine(traffic::pings(hosts, server, 56));
    fine(traffic::pings(hosts, server, 4000));
    let aside = || [&ce, &br].map(|gateway| not_forwarded(&gateway.json("counters")));
    let before: u64 = aside().iter().sum();
    fine(traffic::tcp(hosts.to(server), BYTES));
    if engine == "tc" {
        // Super-packets stay whole, into a tunnel and out of it.
        let after = aside();
        let more = after.iter().sum::<u64>() - before;
        assert!(
            more <= FEW,
            "{after:?}\nedge: {}\nborder: {}",
            seen(&ce),
            seen(&br)
        );
        net.cut();
        fine(traffic::tcp(hosts.to(server), BYTES));
    }
    fine(traffic::udp(hosts.to(server)));
    fine(traffic::ftp(hosts, server));
    fine(traffic::hops(hosts, server));
    // Routers between the gateways report errors to the gateways, and these to the hosts.
    net.narrow(row);
    fine(traffic::path_mtu(hosts, server, row.mtu));
    fine(traffic::tcp(hosts.to(server), BYTES));
    fine(traffic::udp(hosts.to(server)));
    if row.transport == Transport::Tunnel {
        net.tell(row, engine, [&ce, &br]);
        fine(traffic::path_mtu(hosts, server, row.mtu));
        fine(traffic::tcp(hosts.to(server), BYTES));
        fine(traffic::udp(hosts.to(server)));
    }
    assert!(ce.stop().success() && br.stop().success());
}

/// The packets that programs did not forward.
fn not_forwarded(counters: &Value) -> u64 {
    let names = ["slow-path", "slow-path-share", "too-big"];
    names
        .map(|name| crate::counted(counters, name))
        .iter()
        .sum()
}

/// A host that sends from the port of its neighbour is refused and counted (RFC 7596 section 6.2).
fn refuses(row: &Mechanism, engine: &str) {
    let Some(net) = Net::new(row) else {
        return;
    };
    let (ce, br) = net.start(row, engine);
    // A node of the core takes the place of the CE.
    let (b4, aftr) = ("2001:db8:12::1", "2001:db8:ffff::1");
    crate::net::ip(&net.core, &format!("addr add {b4}/128 dev lo nodad"));
    let heard = |port| {
        let from = format!("192.0.2.18:{port}").parse().unwrap();
        traffic::softwire(&net, row.server.address, [b4, aftr], from).unwrap()
    };
    let spoofed = || crate::counted(&br.json("counters"), "tunnel-spoofed");
    // The first blocks of PSIDs 3 and 4: the 64 ports from 1024 on are PSID 0.
    let [own, neighbours] = [1216, 1280];
    // The core resolves its neighbour first, and may have no source address yet.
    assert!((0..5).any(|_| heard(own)), "{}", br.log());
    assert_eq!(spoofed(), 0);
    assert!(!heard(neighbours), "{}", br.log());
    assert_eq!(spoofed(), 1);
    assert!(heard(own + 1), "{}", br.log());
    assert_eq!(spoofed(), 1);
    assert!(ce.stop().success() && br.stop().success());
}

/// The programs of whoever has the NAT, a CE or an AFTR, make the sessions of its hosts themselves: no packet of a new one
/// takes the slow path.
fn opens(row: &Mechanism, engine: &str) {
    let Some(net) = Net::new(row) else {
        return;
    };
    let (ce, br) = net.start(row, engine);
    let ping = || traffic::pings(net.hosts(), row.server.address, 56).unwrap();
    // The first packets wait for neighbours.
    ping();
    let counters = || [&ce, &br].map(|gateway| gateway.json("counters"));
    let before = counters();
    ping();
    let after = counters();
    let more = |name| {
        let sum = |both: &[Value]| {
            both.iter()
                .map(|one| crate::counted(one, name))
                .sum::<u64>()
        };
        sum(&after) - sum(&before)
    };
    assert!(more("session-created") >= 2, "{after:?}");
    assert_eq!(more("slow-path"), 0, "{after:?}");
    assert!(ce.stop().success() && br.stop().success());
}

/// A test of the sessions of every CE and of the AFTR, in every engine of the kernel.
macro_rules! sessions {
    ($($engine:ident: $($name:ident $row:ident,)+;)+) => {$(
        mod $engine {
            $(
                #[test]
                fn $name() {
                    super::super::opens(&isthmus_lab::subjects::provider::$row, stringify!($engine));
                }
            )+
        }
    )+};
}

mod opens_in_bpf {
    sessions! {
        xdp: map_e MAP_E, map_t MAP_T, lw4o6 LW4O6, clat CLAT, aftr DS_LITE,;
        tc: map_e MAP_E, map_t MAP_T, lw4o6 LW4O6, clat CLAT, aftr DS_LITE,;
    }
}

mod strangers_flood {
    use isthmus_lab::subjects::provider;

    use super::floods::{AS_THEY_ARE, CUT, with_errors, with_forged_softwires, with_fragments};

    #[test]
    fn a_map_e_border_with_fragments_in_xdp() {
        with_fragments(&provider::MAP_E, "xdp", AS_THEY_ARE);
    }

    #[test]
    fn a_map_t_border_with_fragments_in_tc() {
        with_fragments(&provider::MAP_T, "tc", AS_THEY_ARE);
    }

    #[test]
    fn an_lwaftr_that_cuts_others_with_fragments_in_xdp() {
        with_fragments(&provider::LW4O6, "xdp", CUT);
    }

    #[test]
    fn a_map_t_border_that_cuts_others_with_fragments_in_tc() {
        with_fragments(&provider::MAP_T, "tc", CUT);
    }

    #[test]
    fn a_map_e_border_with_errors_in_tc() {
        with_errors(&provider::MAP_E, "tc");
    }

    #[test]
    fn a_map_t_border_with_errors_in_xdp() {
        with_errors(&provider::MAP_T, "xdp");
    }

    #[test]
    fn an_lwaftr_with_errors_in_xdp() {
        with_errors(&provider::LW4O6, "xdp");
    }

    #[test]
    fn an_aftr_with_errors_in_tc() {
        with_errors(&provider::DS_LITE, "tc");
    }

    #[test]
    fn an_aftr_with_forged_softwires_in_xdp() {
        with_forged_softwires(&provider::DS_LITE, "xdp");
    }

    #[test]
    fn a_map_e_border_with_forged_softwires_in_tc() {
        with_forged_softwires(&provider::MAP_E, "tc");
    }
}

mod a_neighbour_floods {
    use isthmus_lab::subjects::provider;

    use super::floods::{
        OF_THE_AFTR, OF_THE_LWAFTR, with_errors_of_a_neighbour, with_hairpins_of_a_neighbour,
    };

    #[test]
    fn an_aftr_with_errors_in_xdp() {
        with_errors_of_a_neighbour(&provider::DS_LITE, "xdp", OF_THE_AFTR);
    }

    #[test]
    fn an_lwaftr_with_errors_in_tc() {
        with_errors_of_a_neighbour(&provider::LW4O6, "tc", OF_THE_LWAFTR);
    }

    #[test]
    fn an_aftr_with_hairpins_to_nobody_in_xdp() {
        with_hairpins_of_a_neighbour(&provider::DS_LITE, "xdp", OF_THE_AFTR);
    }

    #[test]
    fn an_aftr_with_hairpins_to_nobody_in_tc() {
        with_hairpins_of_a_neighbour(&provider::DS_LITE, "tc", OF_THE_AFTR);
    }
}

mod one_host_floods {
    use isthmus_lab::subjects::provider;

    use super::household;

    #[test]
    fn and_another_opens_sessions_in_xdp() {
        household::opens("xdp");
    }

    #[test]
    fn and_another_opens_sessions_in_tc() {
        household::opens("tc");
    }

    #[test]
    fn and_another_goes_on_in_xdp() {
        household::goes_on(&provider::MAP_E, "xdp");
    }

    #[test]
    fn and_another_goes_on_in_tc() {
        household::goes_on(&provider::MAP_T, "tc");
    }
}

/// A test for every mechanism in every engine.
macro_rules! mechanisms {
    ($($engine:ident)+: $rows:tt) => {
        $(mechanisms!(@ $engine $rows);)+
    };
    (@ $engine:ident { $($name:ident $row:ident,)+ }) => {
        mod $engine {
            use super::{carries, provider, refuses};
            $(
                #[test]
                fn $name() {
                    carries(&provider::$row, stringify!($engine));
                }
            )+

            #[test]
            fn lw4o6_spoofed() {
                refuses(&provider::LW4O6, stringify!($engine));
            }
        }
    };
}

mechanisms! {
    user xdp tc: {
        six_in_four SIX_IN_FOUR,
        six_rd SIX_RD,
        six_to_four SIX_TO_FOUR,
        four_in_six FOUR_IN_SIX,
        ds_lite DS_LITE,
        map_e MAP_E,
        map_t MAP_T,
        lw4o6 LW4O6,
        clat CLAT,
    }
}
