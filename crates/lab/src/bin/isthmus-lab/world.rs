//! `isthmus lab world`

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use isthmus_lab::experiments::world::{Live, Narrow};
use isthmus_lab::subjects::isthmus;

/// Build the demonstration's network with a running gateway, and keep it until Ctrl-C
///
/// Prints how to get a shell on each of its hosts.
#[derive(Args, Debug)]
pub(super) struct World {
    /// The engine of the gateway
    #[arg(long, value_enum, default_value_t = Engine::Xdp)]
    engine: Engine,
    /// The mechanism of the gateway
    #[arg(long, value_enum, default_value_t = Mechanism::Nat64)]
    mechanism: Mechanism,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Engine {
    /// In XDP
    Xdp,
    /// In tc
    Tc,
    /// In user space
    User,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mechanism {
    /// Stateless; the IPv6-only host has an IPv4 address by explicit mapping
    Siit,
    /// Stateful, with a pool
    Nat64,
}

impl World {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let engine = match self.engine {
            Engine::Xdp => isthmus::Engine::Xdp,
            Engine::Tc => isthmus::Engine::Tc,
            Engine::User => isthmus::Engine::User,
        };
        let mechanism = match self.mechanism {
            Mechanism::Siit => isthmus::Mechanism::Siit,
            Mechanism::Nat64 => isthmus::Mechanism::Nat64,
        };
        let live = Live::build(engine, mechanism, Narrow::Nowhere)?;
        for node in ["host6", "router6", "gateway", "router4", "host4"] {
            let name = live.world.network.node(node)?.name();
            println!("ip netns exec {name} bash");
        }
        println!("from host6: curl http://www.lab.test/    Ctrl-C ends it");
        loop {
            std::thread::park();
        }
    }
}
