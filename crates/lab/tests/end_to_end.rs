//! End to end in network namespaces (netns): an IPv6-only host, `isthmus up` with each engine, and
//! an IPv4-only host with real servers. Needs root and the programs of `scripts/setup test`;
//! without them a test says why it is skipped.
//!
//! The gateway is the `isthmus` beside the test (`cargo build` first) or the one in `$ISTHMUS`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use isthmus_lab::{
    LabError, Result, checks,
    isthmus::{Engine, Mechanism},
    world::{Narrow, World},
};

/// Two networks at once would disturb each other's timing on a small machine.
static ALONE: Mutex<()> = Mutex::new(());

/// A world, and the right to be the only one.
struct Alone {
    world: World,
    _turn: MutexGuard<'static, ()>,
}

/// Builds a world, or says why there can be none here.
fn world(engine: Engine, mechanism: Mechanism, narrow: Narrow) -> Option<Alone> {
    let turn = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    match World::build(engine, mechanism, narrow) {
        Ok(world) => Some(Alone { world, _turn: turn }),
        Err(reason @ (LabError::NotRoot | LabError::Missing { .. })) => {
            println!("skipped: {reason}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn check(what: &str, result: Result<String>) {
    match result {
        Ok(seen) => println!("{what}: {seen}"),
        Err(error) => panic!("{what}: {error}"),
    }
}

/// Everything that works the same under SIIT and NAT64.
fn everyday(engine: Engine, mechanism: Mechanism) {
    let Some(Alone { world, .. }) = &world(engine, mechanism, Narrow::Nowhere) else {
        return;
    };
    check("dns", checks::dns(world));
    check("page by literal", checks::page_by_literal(world));
    check("page by name", checks::page_by_name(world));
    check("file", checks::file(world));
    check("ping", checks::ping(world));
    check("large ping", checks::large_ping(world));
    check("traceroute", checks::traceroute(world));
    check(
        "fragments out of order",
        checks::fragments_out_of_order(world),
    );
    check("iperf3", checks::iperf(world));
}

fn path_mtu_at_the_gateway(engine: Engine) {
    for mtu in [1400, 1280] {
        let narrow = Narrow::AtTheGateway(mtu);
        if let Some(Alone { world, .. }) = &world(engine, Mechanism::Nat64, narrow) {
            check("path MTU", checks::path_mtu_from_six(world, mtu));
            check("file", checks::file(world));
        }
    }
}

fn path_mtu_behind_the_gateway(engine: Engine) {
    let narrow = Narrow::BehindTheGateway(1400);
    if let Some(Alone { world, .. }) = &world(engine, Mechanism::Nat64, narrow) {
        check("path MTU", checks::path_mtu_from_six(world, 1400));
        check("file", checks::file(world));
    }
}

fn path_mtu_before_the_gateway(engine: Engine) {
    let narrow = Narrow::BeforeTheGateway(1400);
    if let Some(Alone { world, .. }) = &world(engine, Mechanism::Siit, narrow) {
        check("path MTU", checks::path_mtu_from_four(world, 1400));
        check("file", checks::file(world));
    }
}

fn reload_under_load(engine: Engine) {
    if let Some(Alone { world, .. }) = &mut world(engine, Mechanism::Nat64, Narrow::Nowhere) {
        check("reload", checks::reload_under_load(world, 100));
    }
}

fn survives_a_crash(engine: Engine) {
    if let Some(Alone { world, .. }) = &mut world(engine, Mechanism::Nat64, Narrow::Nowhere) {
        check("crash", checks::survives_a_crash(world));
    }
}

/// One test per behaviour and engine, so that a report names both.
macro_rules! with_engine {
    ($module:ident, $engine:expr) => {
        mod $module {
            use super::*;

            #[test]
            fn siit() {
                everyday($engine, Mechanism::Siit);
            }

            #[test]
            fn nat64() {
                everyday($engine, Mechanism::Nat64);
            }

            #[test]
            fn path_mtu_at_the_gateway() {
                super::path_mtu_at_the_gateway($engine);
            }

            #[test]
            fn path_mtu_behind_the_gateway() {
                super::path_mtu_behind_the_gateway($engine);
            }

            #[test]
            fn path_mtu_before_the_gateway() {
                super::path_mtu_before_the_gateway($engine);
            }

            #[test]
            fn reload_under_load() {
                super::reload_under_load($engine);
            }

            #[test]
            fn survives_a_crash() {
                super::survives_a_crash($engine);
            }
        }
    };
}

with_engine!(xdp, Engine::Xdp);
with_engine!(tc, Engine::Tc);
with_engine!(user, Engine::User);
