//! Gateways of every kind work between links with line rates. The delay is the bound's and their own.

use std::time::Duration;

use isthmus_lab::{
    LabError,
    device::Device,
    isthmus::{Engine, Isthmus, Mechanism},
    measure::GATEWAY_CPU,
    peers::Tayga,
    plan,
    sockets::{
        Host, Pair,
        pingpong::{PingPong, Protocol},
    },
    topology::{HOST_INTERFACE, HOST4, HOST6, Neighbours, Offloads, Topology},
    wire::{Ethernet, Medium},
};

use crate::{Attempt, measure, median, path, payload, punctual, rate, report, transport, with};

/// Tests a NAT64 at 10 Mb/s in both directions. They differ, because IPv6's header is longer and fragments are cut
/// for it.
fn nat64(device: &dyn Device) {
    let rate = rate(10);
    let medium = Medium::Ethernet(Ethernet::new(rate));
    let topology = Topology::translator(Neighbours::Static, Offloads::Off).over(&medium);
    with(&topology, |network| {
        let started = match device.start(network, GATEWAY_CPU) {
            Ok(started) => started,
            Err(reason @ LabError::Missing { .. }) => {
                println!("skipped: {reason}");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let near = Host::new(network, HOST6, HOST_INTERFACE, plan::HOST6).unwrap();
        let far = Host::new(network, HOST4, HOST_INTERFACE, plan::HOST4).unwrap();
        let pair = Pair::translated(near, far, plan::embed(plan::HOST4));
        for (protocol, bytes) in [
            (Protocol::Udp, 1000),
            (Protocol::Udp, 4000),
            (Protocol::Tcp, 1000),
        ] {
            let game = PingPong::new(protocol, payload(bytes));
            let what = format!("{} {protocol:?} {bytes} bytes", device.name());
            let bounds = ["nat64-6to4", "nat64-4to6"]
                .map(|name| path(name, rate).delay(transport(protocol), payload(bytes)));
            measure(&what, || {
                let series = game.play(&pair).unwrap();
                assert_eq!(series.exchanges.len(), 100, "{what}: {series:?}");
                let Some(exchanges) = punctual(&series, Duration::from_micros(50)) else {
                    return Attempt::Void;
                };
                let forth = median(exchanges.iter().map(|exchange| exchange.forth.sockets));
                let back = median(exchanges.iter().map(|exchange| exchange.back.sockets));
                let ratios = [
                    report(&format!("{what} to IPv4"), forth, bounds[0]),
                    report(&format!("{what} to IPv6"), back, bounds[1]),
                ];
                assert!(ratios.iter().all(|ratio| *ratio > 0.999), "{what}");
                // A process takes its own time: this is about the path there and back.
                if ratios.iter().all(|ratio| *ratio < 1.1) {
                    Attempt::Good
                } else {
                    Attempt::Bad
                }
            });
        }
        drop(started);
    });
}

#[test]
fn xdp() {
    nat64(&Isthmus::new(Engine::Xdp, Mechanism::Nat64));
}

#[test]
fn tc() {
    nat64(&Isthmus::new(Engine::Tc, Mechanism::Nat64));
}

#[test]
fn user_space() {
    nat64(&Isthmus::new(Engine::User, Mechanism::Nat64));
}

#[test]
fn tayga() {
    nat64(&Tayga);
}
