//! Checks of a gateway. Each check uses the tools of a user, and returns a line that sums up their output.

use std::{
    fs,
    time::{Duration, Instant},
};

use crate::{
    LabError, Result,
    experiments::world::{Live, World},
    network::{
        cores::TESTER_CPU, leftovers, netns::Namespace, plan, process, threads::join,
        troubles::Troubles,
    },
    subjects::isthmus::Mechanism,
    traffic::{
        fragments::{self, Flow},
        services::{self, DUAL_NAME, FILE_NAME, FILE_SIZE, PAGE, WEB_NAME},
        tools::{self, Direction, Traffic, Until},
    },
};

/// Returns the error of a check that failed: the expected and the actual output.
fn unexpected<T>(tool: &'static str, output: impl Into<String>) -> Result<T> {
    Err(LabError::Output {
        tool,
        output: output.into(),
    })
}

fn host4_in_ipv6() -> String {
    plan::embed(plan::HOST4).to_string()
}

/// Fetches the page by name, through DNS64.
pub fn page_by_name(world: &World) -> Result<String> {
    page(world, &format!("http://{WEB_NAME}/"))
}

/// Fetches the page by IPv6 address.
pub fn page_by_literal(world: &World) -> Result<String> {
    page(world, &format!("http://[{}]/", host4_in_ipv6()))
}

fn page(world: &World, url: &str) -> Result<String> {
    let mut command = curl(world)?;
    let body = process::run(command.arg(url))?;
    if body == PAGE {
        Ok(format!("{url}: {}", body.trim()))
    } else {
        unexpected("curl", body)
    }
}

fn curl(world: &World) -> Result<std::process::Command> {
    process::require("curl", "curl")?;
    Ok(tools::curl(world.network.host6()?, Duration::from_secs(60)))
}

/// Fetches the large file and compares it byte by byte with the server's.
pub fn file(world: &World) -> Result<String> {
    let target = leftovers::file()?;
    let begun = Instant::now();
    let mut command = curl(world)?;
    command.arg("--output").arg(target.path());
    process::run(command.arg(format!("http://{WEB_NAME}/{FILE_NAME}")))?;
    let seconds = begun.elapsed().as_secs_f64();
    let read = |path: &std::path::Path| fs::read(path).map_err(LabError::file(path));
    if read(target.path())? != read(&world.web.file())? {
        return unexpected("curl", "the file differs from the server's");
    }
    let megabytes = FILE_SIZE as f64 / 1e6;
    Ok(format!(
        "{megabytes:.0} MB, every byte right, {:.0} MB/s",
        megabytes / seconds
    ))
}

/// Pings host4 from host6, and under SIIT host6 from host4.
pub fn ping(world: &World) -> Result<String> {
    both_ways(world, 56)
}

/// Pings with 4000 bytes, which cross the links in fragments.
pub fn large_ping(world: &World) -> Result<String> {
    both_ways(world, 4000)
}

fn both_ways(world: &World, size: u32) -> Result<String> {
    const COUNT: u32 = 5;
    let network = &world.network;
    let mut ways = vec![(network.host6()?, host4_in_ipv6())];
    if world.mechanism == Mechanism::Siit {
        ways.push((network.host4()?, plan::HOST6_AS_IPV4.to_string()));
    }
    let mut seen = Vec::new();
    for (client, address) in ways {
        let mut times = tools::ping(client, &address, COUNT, Duration::from_millis(50), size)?;
        if times.len() != COUNT as usize {
            return unexpected("ping", format!("{address}: {} of {COUNT}", times.len()));
        }
        let median = crate::figures::statistics::median(&mut times);
        seen.push(format!("{address} in {median:.3} ms"));
    }
    Ok(seen.join(", "))
}

/// Traces the route from host6 to host4. Every hop must answer: first the near router, then the far router in
/// translated form, last the destination. The gateway may show one hop or two.
pub fn traceroute(world: &World) -> Result<String> {
    hops(
        world.network.host6()?,
        [
            plan::GATEWAY6.to_string(),
            plan::embed(plan::ROUTER4).to_string(),
            host4_in_ipv6(),
        ],
    )
}

/// Traces the route from host4 to host6's mapped address. The far router has no IPv4 address.
pub fn traceroute_back(world: &World) -> Result<String> {
    hops(
        world.network.host4()?,
        [
            plan::GATEWAY4.to_string(),
            DUMMY.into(),
            plan::HOST6_AS_IPV4.to_string(),
        ],
    )
}

/// The IPv4 address of an IPv6-only router where there is no pool for it (RFC 6791). It is RFC 7600's dummy.
const DUMMY: &str = "192.0.0.8";

/// Returns the hops on the way to the last of the `expected` ones.
fn hops(client: &Namespace, expected: [String; 3]) -> Result<String> {
    let [near, far, destination] = &expected;
    let hops = tools::hops(client, destination, Duration::from_secs(2), 9)?;
    let right = hops.first() == Some(near)
        && hops[1..].contains(far)
        && hops.last() == Some(destination)
        && !hops.iter().any(|hop| hop == "*");
    let hops = hops.join(" → ");
    if right {
        Ok(hops)
    } else {
        unexpected(
            "traceroute",
            format!("{hops}; expected {}", expected.join(" … ")),
        )
    }
}

/// Queries names with and without IPv6 addresses, and the reverse, by `dig`.
pub fn dns(world: &World) -> Result<String> {
    let host6 = world.network.host6()?;
    let server = plan::EDGE6.to_string();
    let embedded = plan::embed(plan::HOST4);
    let reverse = embedded.to_string();
    let questions: [(&[&str], String); 4] = [
        (&[WEB_NAME, "AAAA"], embedded.to_string()),
        (&[DUAL_NAME, "AAAA"], plan::HOST4_AS_IPV6.to_string()),
        (&["+tcp", WEB_NAME, "AAAA"], embedded.to_string()),
        (&["-x", &reverse], format!("{WEB_NAME}.")),
    ];
    for (question, expected) in questions {
        let answer = services::dig(host6, &server, question)?;
        if !answer.lines().any(|line| line == expected) {
            return unexpected("dig", format!("{}: {answer}", question.join(" ")));
        }
    }
    Ok(format!(
        "{WEB_NAME} is {embedded}, {DUAL_NAME} keeps its own address"
    ))
}

/// Sends datagrams in three fragments, one in a hundred with its fragments reversed; from host6, and under SIIT from
/// host4 too.
pub fn fragments_out_of_order(world: &World) -> Result<String> {
    const COUNT: u32 = 2000;
    let (host6, host4) = (world.network.host6()?, world.network.host4()?);
    let to_host4 = Flow {
        source: plan::HOST6.into(),
        destination: plan::embed(plan::HOST4).into(),
    };
    let to_host6 = Flow {
        source: plan::HOST4.into(),
        destination: plan::HOST6_AS_IPV4.into(),
    };
    let mut ways = vec![(host6, host4, to_host4)];
    if world.mechanism == Mechanism::Siit {
        ways.push((host4, host6, to_host6));
    }
    let ways_count = ways.len();
    for (sender, receiver, flow) in ways {
        let gateway = world.network.gateway()?;
        let troubles = || Ok((Troubles::now(gateway)?, Troubles::now(receiver)?));
        let before = troubles()?;
        let received = fragments::exchange(sender, receiver, flow, COUNT, 100)?;
        if received != COUNT {
            let (at_gateway, at_receiver) = troubles()?;
            return unexpected(
                "fragments",
                format!(
                    "{received} of {COUNT} arrived whole at {}; the gateway's kernel counted {}, the receiver's {}",
                    flow.destination,
                    at_gateway.since(&before.0),
                    at_receiver.since(&before.1),
                ),
            );
        }
    }
    Ok(format!(
        "{COUNT} datagrams arrived whole, {ways_count} way(s)"
    ))
}

/// Runs bulk TCP and paced UDP by iperf3, in both directions.
pub fn iperf(world: &World) -> Result<String> {
    let client = world.network.host6()?;
    let server = host4_in_ipv6();
    let mut seen = Vec::new();
    for direction in [Direction::Upload, Direction::Download] {
        // So much that it comes through within seconds, however busy the machine is.
        let run = |traffic, blocks| {
            let until = Until::Blocks(blocks);
            tools::iperf(client, TESTER_CPU, &server, traffic, direction, until)
        };
        let tcp = run(Traffic::BULK, 500)?;
        let slow = Traffic::Udp {
            megabits: 1,
            payload: 1200,
        };
        let udp = run(slow, 100)?;
        // An iperf3 that is not run for a while loses what came meanwhile. `fragments_out_of_order` counts all.
        if udp.lost_percent > 50.0 {
            return unexpected("iperf3", format!("UDP {direction:?}: {udp:?}"));
        }
        seen.push(format!(
            "{direction:?}: TCP {:.2} Gb/s, UDP {:.1} Mb/s with {:.2} % lost",
            tcp.bits_per_second / 1e9,
            udp.bits_per_second / 1e6,
            udp.lost_percent
        ));
    }
    Ok(seen.join("; "))
}

/// Checks that host6 learns the path MTU. An IPv6 packet may be 20 bytes longer than the IPv4 link allows.
pub fn path_mtu_from_six(world: &World, ipv4_mtu: u32) -> Result<String> {
    learn_mtu(world.network.host6()?, &host4_in_ipv6(), 48, ipv4_mtu + 20)
}

/// Checks that host4 learns the path MTU. An IPv4 packet must be 20 bytes shorter than the IPv6 link allows.
pub fn path_mtu_from_four(world: &World, ipv6_mtu: u32) -> Result<String> {
    let destination = plan::HOST6_AS_IPV4.to_string();
    learn_mtu(world.network.host4()?, &destination, 28, ipv6_mtu - 20)
}

/// Sends pings that must not be fragmented, each as large as the path is known to take, until one passes: each hop
/// reports its MTU. `headers` are the octets before a ping's payload.
fn learn_mtu(client: &Namespace, destination: &str, headers: u32, expected: u32) -> Result<String> {
    const HOPS: usize = 4;
    let mut known = 1500;
    let mut said = String::new();
    for _ in 0..HOPS {
        let mut command = client.command("ping");
        command.args(["-n", "-M", "do", "-c", "2", "-i", "0.2", "-W", "1"]);
        let size = (known - headers).to_string();
        let output = process::output(command.args(["-s", &size, destination]))?;
        said.push_str(&String::from_utf8_lossy(&output.stdout));
        let learned = route_mtu(&client.run(&format!("ip route get {destination}"))?);
        if output.status.success() && known == expected {
            return Ok(format!("{destination} has path MTU {expected}"));
        }
        match learned {
            Some(learned) if learned < known => known = learned,
            _ => break,
        }
    }
    unexpected(
        "ping -M do",
        format!("learned {known}, expected {expected}: {said}"),
    )
}

/// Returns the MTU that `ip route get` shows, if the kernel has learned one.
fn route_mtu(route: &str) -> Option<u32> {
    let mut words = route.split_whitespace();
    words.find(|word| *word == "mtu")?;
    words.next()?.parse().ok()
}

/// Reloads the configuration `rounds` times while pings flow without pause. No ping may be lost.
pub fn reload_under_load(live: &mut Live, rounds: u32) -> Result<String> {
    const INTERVAL: Duration = Duration::from_millis(5);
    const PAUSE: Duration = Duration::from_millis(50);
    // A reload takes time: the pings must not end before the last one.
    let count = rounds * (2 * PAUSE.as_millis() / INTERVAL.as_millis()) as u32;
    let Live { gateway, world, .. } = live;
    let host6 = world.network.host6()?;
    let destination = host4_in_ipv6();
    let received = std::thread::scope(|scope| {
        let pings = scope.spawn(|| tools::ping(host6, &destination, count, INTERVAL, 56));
        let reloads = (0..rounds).try_for_each(|_| {
            std::thread::sleep(PAUSE);
            gateway.reload()
        });
        reloads.and(join(pings))
    })?;
    let reloads = gateway.reloads()?;
    if reloads != u64::from(rounds) {
        return unexpected("isthmus status", format!("{reloads} reloads of {rounds}"));
    }
    gateway.process().check()?;
    if received.len() != count as usize {
        return unexpected(
            "ping",
            format!("{} of {count} under reloads", received.len()),
        );
    }
    Ok(format!("{rounds} reloads, {count} pings, none lost"))
}

/// Kills the gateway with SIGKILL and starts it again. The network must work again, and a clean stop must leave it as
/// it was before.
pub fn survives_a_crash(live: &mut Live) -> Result<String> {
    live.gateway.process().stop();
    let before = live.world.footprint()?;
    live.restart()?;
    page_by_literal(&live.world)?;
    live.gateway.process().kill();
    live.restart()?;
    page_by_literal(&live.world)?;
    if !live.gateway.process().stop() {
        return unexpected("isthmus", "did not end after SIGTERM");
    }
    let after = live.world.footprint()?;
    if before != after {
        return unexpected("ip", format!("before:\n{before}\nafter:\n{after}"));
    }
    live.restart()?;
    page_by_literal(&live.world)?;
    Ok("killed, restarted, stopped: links, addresses, routes, rules and filters as before".into())
}
