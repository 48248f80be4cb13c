//! Gateways of every kind work between links with line rates. The delay is the bound's and their own.

use std::time::Duration;

use isthmus_lab::{
    LabError,
    network::{
        cores::GATEWAY_CPU,
        device::Device,
        plan,
        topology::{HOST_INTERFACE, HOST4, HOST6, Neighbours, Network, Offloads, Topology},
        wire::{Ethernet, Medium},
    },
    subjects::{
        isthmus::{Engine, Isthmus, Mechanism},
        peers::Tayga,
    },
    traffic::sockets::{Host, Pair, Protocol, wake::wake_up},
};

use super::{
    Attempt, Delays, at_most, bare, measure, path, patient, payload, punctual, rate, report,
    transport, with,
};

/// Who takes the packets.
#[derive(Clone, Copy)]
enum Taker {
    /// The CPU on which they arrive.
    Kernel,
    /// A process on another CPU, which has to be woken up.
    Process,
}

/// Tests a NAT64 at 10 Mb/s in both directions. They differ, because IPv6's header is longer and fragments are cut
/// for it.
fn nat64(device: &dyn Device, taker: Taker) {
    let rate = rate(10);
    let medium = Medium::Ethernet(Ethernet::new(rate));
    let plain = Topology::translator(Neighbours::Static, Offloads::Off);
    with(&plain.clone().over(&medium), |network| {
        let plain = plain.build().unwrap();
        let start = |network| device.start(network, GATEWAY_CPU);
        let started = match start(network).and_then(|one| Ok([one, start(&plain)?])) {
            Ok(started) => started,
            Err(reason @ LabError::Missing { .. }) => {
                println!("skipped: {reason}");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let [pair, plain] = [network, &plain].map(hosts);
        for (protocol, bytes) in [
            (Protocol::Udp, 1000),
            (Protocol::Udp, 4000),
            (Protocol::Tcp, 1000),
        ] {
            let game = patient(protocol, payload(bytes));
            let what = format!("{} {protocol:?} {bytes} bytes", device.name());
            let bounds = ["nat64-6to4", "nat64-4to6"]
                .map(|name| path(name, rate).delay(transport(protocol), payload(bytes)));
            measure(&what, || {
                let series = game.play(&pair).unwrap();
                assert_eq!(series.exchanges.len(), 100, "{what}: {series:?}");
                let Some(exchanges) = punctual(&series, Duration::from_micros(50)) else {
                    return Attempt::Void;
                };
                let forth = Delays::new(exchanges.iter().map(|exchange| exchange.forth));
                let back = Delays::new(exchanges.iter().map(|exchange| exchange.back));
                // What a process takes, it takes: this is about the way there and back.
                let bare = bare(&game, &plain);
                let wake = match taker {
                    Taker::Kernel => 0.0,
                    Taker::Process => wake_up().unwrap().as_secs_f64(),
                };
                println!("{what}, to wake up: {wake:.6e}");
                let mut in_time = true;
                let ways = [
                    ("IPv4", forth, bounds[0], bare[0]),
                    ("IPv6", back, bounds[1], bare[1]),
                ];
                for (way, delays, bound, bare) in ways {
                    report(&format!("{what} to {way}, sockets"), delays.sockets, bound);
                    report(&format!("{what} to {way}, wires"), delays.wires, bound);
                    assert!(delays.wires > bound * 0.999, "{what} to {way}");
                    assert!(delays.hosts > 0.0, "{what} to {way}: {:e} s", delays.hosts);
                    in_time &= delays.sockets < at_most(bound, bare) + wake;
                }
                if in_time { Attempt::Good } else { Attempt::Bad }
            });
        }
        drop(started);
    });
}

/// Who speaks through the subject.
pub(super) fn hosts(network: &Network) -> Pair {
    let near = Host::new(network, HOST6, HOST_INTERFACE, plan::HOST6).unwrap();
    let far = Host::new(network, HOST4, HOST_INTERFACE, plan::HOST4).unwrap();
    Pair::translated(near, far, plan::embed(plan::HOST4))
}

#[test]
fn xdp() {
    nat64(&Isthmus::new(Engine::Xdp, Mechanism::Nat64), Taker::Kernel);
}

#[test]
fn tc() {
    nat64(&Isthmus::new(Engine::Tc, Mechanism::Nat64), Taker::Kernel);
}

#[test]
fn user_space() {
    nat64(
        &Isthmus::new(Engine::User, Mechanism::Nat64),
        Taker::Process,
    );
}

#[test]
fn tayga() {
    nat64(&Tayga, Taker::Process);
}
