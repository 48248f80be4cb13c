//! The demonstration: an IPv6-only host uses an IPv4-only server, step by step, in each engine.

use std::{
    io::{self, Write},
    time::{Duration, Instant},
};

use crate::{
    Result,
    experiments::{
        checks,
        world::{Live, Narrow},
    },
    network::{
        cores::GATEWAY_CPU,
        device::Device,
        plan, process,
        topology::{Neighbours, Offloads, Topology},
    },
    subjects::{
        isthmus::{Engine, Isthmus, Mechanism},
        peers::Forwarding,
    },
    traffic::{
        generator::Pace,
        path::{Load, Path},
        services,
        tools::{self, Direction, Traffic, Until},
    },
};

/// The length of each throughput measurement.
const WINDOW: Duration = Duration::from_secs(2);
/// The MTU of the narrow link.
const NARROW: u32 = 1400;

const PICTURE: &str = "
  host6 ───── router6 ───── gateway ───── router4 ───── host4
  IPv6 only   IPv6 only   isthmus up     IPv4 only   IPv4 only: nginx, DNS
";

/// The steps so far.
#[derive(Debug, Default)]
struct Progress {
    passed: u32,
    failed: u32,
}

impl Progress {
    /// Prints the name of a step, runs it, and prints its result.
    fn step<T>(&mut self, what: &str, task: impl FnOnce() -> Result<(T, String)>) -> Option<T> {
        print!("  {what:<44} ");
        // A failed flush only delays the output.
        let _ = io::stdout().flush();
        let begun = Instant::now();
        match task() {
            Ok((value, seen)) => {
                self.passed += 1;
                println!("ok   {:>5.1} s   {seen}", begun.elapsed().as_secs_f64());
                Some(value)
            }
            Err(error) => {
                self.failed += 1;
                println!("FAILED");
                for line in error.to_string().lines() {
                    println!("      {line}");
                }
                None
            }
        }
    }

    fn check(&mut self, what: &str, task: impl FnOnce() -> Result<String>) {
        self.step(what, || task().map(|seen| ((), seen)));
    }
}

/// Runs the demonstration and returns whether every step worked.
pub fn run() -> Result<bool> {
    process::require_root()?;
    println!("An IPv6-only host reaches an IPv4-only server through Isthmus.\n{PICTURE}");
    let mut progress = Progress::default();
    println!("NAT64 and DNS64, engine by engine");
    for engine in Engine::ALL {
        show_engine(&mut progress, engine);
    }
    println!("\nA link of {NARROW} bytes behind the gateway: the path MTU is discovered");
    show_path_mtu(&mut progress);
    println!("\nThroughput beside the kernel's own IPv6 forwarding, on this machine");
    show_throughput(&mut progress);
    println!(
        "\n{} steps worked, {} failed; all namespaces, links and processes are removed.",
        progress.passed, progress.failed
    );
    Ok(progress.failed == 0)
}

fn build(engine: Engine, mechanism: Mechanism, narrow: Narrow) -> Result<(Live, String)> {
    let live = Live::build(engine, mechanism, narrow)?;
    Ok((
        live,
        "5 namespaces, nginx, DNS, iperf3 and the gateway".into(),
    ))
}

fn show_engine(progress: &mut Progress, engine: Engine) {
    println!("\n engine {}", engine.name());
    let built = progress.step("build the network, start everything", || {
        build(engine, Mechanism::Nat64, Narrow::Nowhere)
    });
    let Some(live) = built else { return };
    let world = &live.world;
    progress.check("DNS64: names get IPv6 addresses", || checks::dns(world));
    progress.check("a web page by name", || checks::page_by_name(world));
    progress.check("a web page by address", || checks::page_by_literal(world));
    progress.check("a file of 100 MB", || checks::file(world));
    progress.check("ping", || checks::ping(world));
    progress.check("ping of 4000 bytes, in fragments", || {
        checks::large_ping(world)
    });
    progress.check("traceroute", || checks::traceroute(world));
    let counters = progress.step("live counters", || {
        Ok((live.gateway.ask(&["counters"])?, String::new()))
    });
    for line in counters
        .iter()
        .flat_map(|counters| counters.lines())
        .take(20)
    {
        println!("      {line}");
    }
}

fn show_path_mtu(progress: &mut Progress) {
    let narrow = Narrow::BehindTheGateway(NARROW);
    let built = progress.step("build the network with a narrow link", || {
        build(Engine::Xdp, Mechanism::Nat64, narrow)
    });
    let Some(live) = built else { return };
    let world = &live.world;
    progress.check("host6 learns the path MTU (IPv4's + 20)", || {
        checks::path_mtu_from_six(world, NARROW)
    });
    progress.check("and the file of 100 MB still arrives", || {
        checks::file(world)
    });
}

fn show_throughput(progress: &mut Progress) {
    let kernel = progress.step("kernel: one TCP connection", || {
        bulk(
            &Forwarding,
            plan::HOST4_AS_IPV6.to_string(),
            Offloads::On,
            None,
        )
    });
    for engine in Engine::ALL {
        let offloads = match engine {
            Engine::Xdp => Offloads::Off,
            Engine::Tc | Engine::User => Offloads::On,
        };
        let isthmus = Isthmus::new(engine, Mechanism::Nat64);
        let destination = plan::embed(plan::HOST4).to_string();
        let what = format!("engine {}: one TCP connection", engine.name());
        progress.step(&what, || bulk(&isthmus, destination, offloads, kernel));
    }
    let kernel = progress.step("kernel: packets of 80 bytes", || {
        small(&Forwarding, &Load::routed6(1000), None)
    });
    for engine in Engine::ALL {
        let isthmus = Isthmus::new(engine, Mechanism::Nat64);
        let what = format!("engine {}: packets of 80 bytes", engine.name());
        progress.step(&what, || small(&isthmus, &Load::six_to_four(1000), kernel));
    }
}

fn bulk(
    device: &dyn Device,
    destination: String,
    offloads: Offloads,
    kernel: Option<f64>,
) -> Result<(f64, String)> {
    let network = Topology::dual_stack(Neighbours::Resolved, offloads).build()?;
    let mut polling = Vec::new();
    if offloads == Offloads::Off {
        polling.push(crate::network::programs::poll(network.host6()?, "eth0")?);
        polling.push(crate::network::programs::poll(network.host4()?, "eth0")?);
    }
    let _started = device.start(&network, GATEWAY_CPU)?;
    let _server = services::start_iperf(network.host4()?, 0)?;
    let seconds = WINDOW.as_secs() as u32;
    let client = network.host6()?;
    let upload = Direction::Upload;
    let rate = tools::iperf(
        client,
        0,
        &destination,
        Traffic::BULK,
        upload,
        Until::Seconds(seconds),
    )?;
    let rate = rate.bits_per_second;
    Ok((
        rate,
        format!("{:.2} Gb/s{}", rate / 1e9, beside(rate, kernel)),
    ))
}

fn small(device: &dyn Device, load: &Load, kernel: Option<f64>) -> Result<(f64, String)> {
    let mut path = Path::build(device, load)?;
    let rate = path.rate(WINDOW / 4, WINDOW, Pace::Full)?.received;
    Ok((
        rate,
        format!(
            "{:.0} thousand a second{}",
            rate / 1e3,
            beside(rate, kernel)
        ),
    ))
}

fn beside(rate: f64, kernel: Option<f64>) -> String {
    kernel.map_or_else(String::new, |kernel| {
        format!(", {:.2} times the kernel's forwarding", rate / kernel)
    })
}
