//! Our gateway at one end and another implementation at the other: the kernel's tunnels, and TAYGA.
//!
//! One gateway runs all pairs in turn, each after a reload, because loading BPF programs takes an emulated machine
//! longer than all other steps.

mod pairs;
mod world;

use crate::forward::forwarded;
use crate::gateway::Gateway;
use crate::net::{possible, text};
use crate::softwires::traffic::{self, Hosts};
use pairs::{Pair, Pings, Reach, Side};
use world::World;

/// A test for every engine, or for each end that our gateway may be: two tests run side by side.
macro_rules! engines {
    ($($theirs:ident $pairs:ident: $($test:ident = $engine:ident as $sides:expr),+;)+) => {$(
        mod $theirs {
            use super::*;
            $(
                #[test]
                fn $test() {
                    meets(stringify!($engine), &pairs::$pairs, &$sides);
                }
            )+
        }
    )+};
}

engines! {
    kernel KERNEL:
        user_as_br = user as [Side::Br],
        user_as_ce = user as [Side::Ce],
        xdp = xdp as BOTH,
        tc = tc as BOTH;
    tayga TAYGAS:
        user = user as BOTH,
        xdp = xdp as BOTH,
        tc = tc as BOTH;
}

/// Our gateway as each end.
const BOTH: [Side; 2] = [Side::Br, Side::Ce];

/// Bytes of a TCP connection in each direction.
const BYTES: u32 = 1 << 20;

/// The least number of packets that the engine under test must forward, with packets as large as a connection
/// makes them.
const PACKETS: u64 = 32;

/// Runs all pairs with this engine in our gateway, as each of these ends of them.
fn meets(engine: &'static str, pairs: &[Pair], sides: &[Side]) {
    if !possible() {
        return;
    }
    let world = World::new(engine);
    if let Some(lack) = pairs.iter().find_map(|pair| world.lacks(pair)) {
        eprintln!("skipped: {lack}");
        return;
    }
    let gateway = world.start();
    let mut problems = String::new();
    let mut met = 0;
    for pair in pairs {
        for (ours, theirs) in pair.both().filter(|(ours, _)| sides.contains(ours)) {
            met += 1;
            world.rest(&gateway);
            let turn = world.set(pair, ours, theirs);
            world.work(pair, ours, &gateway);
            let result = turn.and_then(|_turn| works(&world, pair, ours, &gateway));
            let place = format!("{}, ours the {}", pair.name, ours.name());
            if let Err(problem) = result {
                let counters = text(&gateway.client("counters"));
                problems += &format!("{place}: {problem}\n{counters}\n");
            } else {
                println!("passed: {place}");
            }
        }
    }
    assert!(problems.is_empty(), "{problems}\n{}", gateway.log());
    assert!(met > 0, "nobody was met as {sides:?}");
    assert!(gateway.stop().success());
}

/// Runs the traffic between client and server over a pair.
fn works(world: &World, pair: &Pair, ours: Side, gateway: &Gateway) -> Result<(), String> {
    let hosts = world.hosts(ours);
    let back = Hosts {
        client: hosts.server,
        server: hosts.client,
    };
    let before = forwarded(gateway, world.engine);
    let (client, server) = (pair.row.client.address, pair.row.server.address);
    let sizes: &[u32] = match pair.pings {
        Pings::OfAnySize => &[56, 4000],
        Pings::Whole => &[56],
    };
    for &bytes in sizes {
        traffic::pings(hosts, server, bytes)?;
        if pair.reach == Reach::Both {
            traffic::pings(back, client, bytes)?;
        }
    }
    traffic::tcp(hosts.to(server), BYTES)?;
    traffic::udp(hosts.to(server))?;
    traffic::hops(hosts, server)?;
    world.narrow(pair, ours, gateway);
    if pair.pings == Pings::OfAnySize {
        // The other implementation discovers it by lost packets.
        traffic::pings(hosts, server, 1400)?;
    }
    let mtu = match ours {
        Side::Ce => pair.row.mtu,
        Side::Br => pair.mtu,
    };
    traffic::path_mtu(hosts, server, mtu)?;
    traffic::tcp(hosts.to(server), BYTES)?;
    traffic::udp(hosts.to(server))?;
    // The slow path could have done all of this as well.
    let forwarded = forwarded(gateway, world.engine) - before;
    if forwarded < PACKETS {
        return Err(format!("{} forwarded {forwarded} packets", world.engine));
    }
    Ok(())
}
