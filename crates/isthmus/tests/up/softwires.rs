//! Tunnels and shared addresses with both ends ours: a customer's edge, a core of one protocol that
//! knows nothing of the other, a border.

pub(crate) mod net;
mod ports;
pub(crate) mod rows;
pub(crate) mod traffic;

use crate::gateway::Gateway;
use crate::net::text;
use net::Net;
use rows::Row;

/// What goes over a TCP connection each way.
const BYTES: u32 = 4 << 20;

/// What the client and the server do over a mechanism with an engine on both gateways.
fn carries(row: &Row, engine: &str) {
    let Some(net) = Net::new(row) else {
        return;
    };
    let (edge, border) = net.start(row, engine);
    let hosts = net.hosts();
    let server = row.server.address;
    let seen = |gateway: &Gateway| {
        let counters = text(&gateway.client("counters"));
        format!("{}\n{counters}", gateway.log())
    };
    let fine = |result: Result<(), String>| {
        result.unwrap_or_else(|said| {
            panic!("{said}\nedge: {}\nborder: {}", seen(&edge), seen(&border))
        });
    };
    fine(traffic::pings(hosts, server, 56));
    fine(traffic::pings(hosts, server, 4000));
    fine(traffic::tcp(hosts, server, BYTES));
    fine(traffic::udp(hosts, server));
    fine(traffic::hops(hosts, server));
    net.narrow(row, engine, [&edge, &border]);
    fine(traffic::path_mtu(hosts, server, row.mtu));
    fine(traffic::tcp(hosts, server, BYTES));
    fine(traffic::udp(hosts, server));
    assert!(edge.stop().success() && border.stop().success());
}

/// A test for every mechanism.
macro_rules! mechanisms {
    ($($engine:ident: $($name:ident $row:ident),+;)+) => {$(
        mod $engine {
            use super::{carries, rows};
            $(
                #[test]
                fn $name() {
                    carries(&rows::$row, stringify!($engine));
                }
            )+
        }
    )+};
}

mechanisms! {
    user:
        six_in_four SIX_IN_FOUR,
        six_rd SIX_RD,
        six_to_four SIX_TO_FOUR,
        four_in_six FOUR_IN_SIX,
        ds_lite DS_LITE,
        map_e MAP_E,
        map_t MAP_T,
        clat CLAT;
    xdp:
        six_in_four SIX_IN_FOUR,
        six_rd SIX_RD,
        six_to_four SIX_TO_FOUR,
        four_in_six FOUR_IN_SIX,
        ds_lite DS_LITE,
        map_e MAP_E,
        map_t MAP_T,
        clat CLAT;
    tc:
        six_in_four SIX_IN_FOUR,
        six_rd SIX_RD,
        six_to_four SIX_TO_FOUR,
        four_in_six FOUR_IN_SIX,
        ds_lite DS_LITE,
        map_e MAP_E,
        map_t MAP_T,
        clat CLAT;
}
