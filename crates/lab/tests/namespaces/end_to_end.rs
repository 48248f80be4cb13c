//! End to end: an IPv6-only host, `isthmus up` with each engine, and an IPv4-only host with real servers.

use std::time::Duration;

use isthmus_lab::{
    LabError, Result,
    experiments::{
        checks,
        world::{Live, Narrow, Reference, World},
    },
    network::{
        plan,
        topology::{Offloads, Topology},
    },
    subjects::isthmus::{Engine, Mechanism},
    traffic::tools,
};

/// Builds something and uses it, or says why it cannot be built here.
fn with<T>(build: impl FnOnce() -> Result<T>, task: impl FnOnce(&mut T)) {
    match build() {
        Ok(mut value) => task(&mut value),
        Err(reason @ (LabError::NotRoot | LabError::Missing { .. })) => {
            println!("skipped: {reason}");
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs all checks, so that a report shows all failures, and then fails if there is one.
#[derive(Default)]
struct Checks {
    failures: Vec<String>,
}

impl Checks {
    fn check(&mut self, what: &str, result: Result<String>) {
        match result {
            Ok(seen) => println!("{what}: {seen}"),
            Err(error) => {
                println!("{what}: FAILED: {error}");
                self.failures.push(format!("{what}: {error}"));
            }
        }
    }

    fn finish(self) {
        assert!(self.failures.is_empty(), "{}", self.failures.join("\n"));
    }
}

fn check(what: &str, result: Result<String>) {
    let mut checks = Checks::default();
    checks.check(what, result);
    checks.finish();
}

/// The checks that are the same under SIIT and NAT64. Isthmus loses no fragment at the first try; a peer in a process that
/// waits for a processor loses what does not fit its queue, and has some more.
fn everyday(world: &World, tries: u32) {
    let mut checks = Checks::default();
    let mut check = |what: &str, result| checks.check(what, result);
    check("dns", checks::dns(world));
    check("page by literal", checks::page_by_literal(world));
    check("page by name", checks::page_by_name(world));
    check("file", checks::file(world));
    check("ping", checks::ping(world));
    // Stateless translators do not translate fragments of ICMP (RFC 7915 section 1.2).
    if world.mechanism == Mechanism::Nat64 {
        check("large ping", checks::large_ping(world));
    }
    check("traceroute", checks::traceroute(world));
    let fragments = || checks::fragments_out_of_order(world);
    let again = (1..tries).fold(fragments(), |last, _| last.or_else(|_| fragments()));
    check("fragments", again);
    check("iperf3", checks::iperf(world));
    checks.finish();
}

fn gateway(engine: Engine, mechanism: Mechanism, narrow: Narrow, task: impl FnOnce(&mut Live)) {
    with(|| Live::build(engine, mechanism, narrow), task);
}

fn siit(engine: Engine) {
    gateway(engine, Mechanism::Siit, Narrow::Nowhere, |live| {
        everyday(&live.world, 1);
        check("traceroute back", checks::traceroute_back(&live.world));
    });
}

fn nat64(engine: Engine) {
    gateway(engine, Mechanism::Nat64, Narrow::Nowhere, |live| {
        everyday(&live.world, 1);
    });
}

fn path_mtu_at_the_gateway(engine: Engine) {
    for mtu in [1400, 1280] {
        let narrow = Narrow::AtTheGateway(mtu);
        gateway(
            engine,
            Mechanism::Nat64,
            narrow,
            |Live { world, .. }| {
                check("path MTU", checks::path_mtu_from_six(world, mtu));
                check("file", checks::file(world));
            },
        );
    }
}

fn path_mtu_behind_the_gateway(engine: Engine) {
    let narrow = Narrow::BehindTheGateway(1400);
    gateway(
        engine,
        Mechanism::Nat64,
        narrow,
        |Live { world, .. }| {
            check("path MTU", checks::path_mtu_from_six(world, 1400));
            check("file", checks::file(world));
        },
    );
}

fn path_mtu_before_the_gateway(engine: Engine) {
    let narrow = Narrow::BeforeTheGateway(1400);
    gateway(engine, Mechanism::Siit, narrow, |Live { world, .. }| {
        check("path MTU", checks::path_mtu_from_four(world, 1400));
        check("file", checks::file(world));
    });
}

fn reload_under_load(engine: Engine) {
    gateway(engine, Mechanism::Nat64, Narrow::Nowhere, |live| {
        check("reload", checks::reload_under_load(live, 30));
    });
}

fn a_thousand_reloads(engine: Engine) {
    gateway(engine, Mechanism::Nat64, Narrow::Nowhere, |live| {
        check("reload", checks::reload_under_load(live, 1000));
    });
}

fn survives_a_crash(engine: Engine) {
    gateway(engine, Mechanism::Nat64, Narrow::Nowhere, |live| {
        check("crash", checks::survives_a_crash(live));
    });
}

/// The checks hold for another implementation: a failure elsewhere is not the network's.
#[test]
fn checks_hold_for_tayga_and_unbound() {
    with(
        || Reference::build(Narrow::Nowhere),
        |reference| {
            everyday(&reference.world, 3);
        },
    );
}

#[test]
fn path_mtu_through_tayga() {
    with(
        || Reference::build(Narrow::BehindTheGateway(1400)),
        |reference| {
            let seen = checks::path_mtu_from_six(&reference.world, 1400);
            check("path MTU", seen);
        },
    );
    with(
        || Reference::build(Narrow::BeforeTheGateway(1400)),
        |reference| {
            let seen = checks::path_mtu_from_four(&reference.world, 1400);
            check("path MTU", seen);
        },
    );
}

/// The checks fail where there is no route.
#[test]
fn checks_fail_without_a_gateway() {
    let build = || {
        let network = Topology::long(Offloads::On).build()?;
        let dead = plan::embed(plan::HOST4).to_string();
        let host6 = network.host6()?.clone();
        Ok((network, host6, dead))
    };
    with(build, |(_network, host6, dead)| {
        assert!(tools::ping(host6, dead, 2, Duration::from_millis(10), 56).is_err());
    });
}

/// One test for each behaviour and engine, so that a report names both.
macro_rules! with_engine {
    ($module:ident, $engine:expr) => {
        with_engine!(
            $module,
            $engine,
            siit,
            nat64,
            path_mtu_at_the_gateway,
            path_mtu_behind_the_gateway,
            path_mtu_before_the_gateway,
            reload_under_load,
            survives_a_crash
        );
    };
    ($module:ident, $engine:expr, $($behaviour:ident),+) => {
        mod $module {
            use super::*;

            $(
                #[test]
                fn $behaviour() {
                    crate::end_to_end::$behaviour($engine);
                }
            )+
        }
    };
}

with_engine!(xdp, Engine::Xdp);
with_engine!(tc, Engine::Tc);
with_engine!(user, Engine::User);

/// Tests that take minutes: `make test-long PARTS=soak` runs them.
mod long {
    use super::Engine;

    with_engine!(xdp, Engine::Xdp, a_thousand_reloads);
    with_engine!(tc, Engine::Tc, a_thousand_reloads);
    with_engine!(user, Engine::User, a_thousand_reloads);
}
