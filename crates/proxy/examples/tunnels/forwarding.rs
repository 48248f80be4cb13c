//! A client, a router and a server, each in a network namespace: what one connection carries if the router's kernel
//! forwards its packets, and through the proxy there.

use std::io::{Error, Result};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::TURNS;

const CLIENT: &str = "192.0.2.1/25";
const NEAR: &str = "192.0.2.2";
const FAR: &str = "192.0.2.129";
const SERVER: &str = "192.0.2.130";
const PROXY: &str = "192.0.2.2:3128";
const AT: &str = "192.0.2.130:9";
/// Every kernel has it, and it does not pace: with BBR, which some machines have by default, timers and small segments
/// take three quarters of the processor, and what is compared is pacing.
const CONGESTION: &str = "sysctl -qw net.ipv4.tcp_congestion_control=reno";

/// Measures both in turns.
pub(crate) fn compare() -> Result<()> {
    let network = Network::build()?;
    let _server = network.start("server", &["server", AT])?;
    let _proxy = network.start("router", &["serve", PROXY])?;
    sleep(Duration::from_secs(1));
    let mut found = [Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        for (found, by) in found
            .iter_mut()
            .zip([&["bulk", AT][..], &["bulk", AT, PROXY]])
        {
            let output = network.command("client", by)?.output()?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            found.push(text.trim().parse::<f64>().map_err(Error::other)?);
        }
    }
    let [forwarded, carried] = found.map(|mut found| {
        found.sort_by(f64::total_cmp);
        found[TURNS / 2]
    });
    println!("forwarded by the kernel, MB/s {forwarded:>10.1}");
    println!("through the proxy, MB/s       {carried:>10.1}");
    println!(
        "ratio                         {:>10.3}",
        carried / forwarded
    );
    Ok(())
}

/// Namespaces that go when this does.
struct Network(u32);

/// A process that ends when this does.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Network {
    fn build() -> Result<Self> {
        let network = Self(std::process::id());
        let [client, router, server] =
            ["client", "router", "server"].map(|name| network.name(name));
        for name in [&client, &router, &server] {
            ip(&format!("netns add {name}"))?;
        }
        ip(&format!(
            "-n {client} link add left type veth peer name left netns {router}"
        ))?;
        ip(&format!(
            "-n {server} link add right type veth peer name right netns {router}"
        ))?;
        for name in [&client, &router, &server] {
            ip(&format!("netns exec {name} {CONGESTION}"))?;
        }
        for (name, link, address) in [
            (&client, "left", CLIENT),
            (&router, "left", &format!("{NEAR}/25")),
            (&router, "right", &format!("{FAR}/25")),
            (&server, "right", &format!("{SERVER}/25")),
        ] {
            ip(&format!("-n {name} addr add {address} dev {link}"))?;
            ip(&format!("-n {name} link set {link} up"))?;
        }
        ip(&format!("-n {client} route add default via {NEAR}"))?;
        ip(&format!("-n {server} route add default via {FAR}"))?;
        ip(&format!(
            "netns exec {router} sysctl -qw net.ipv4.ip_forward=1"
        ))?;
        Ok(network)
    }

    fn name(&self, role: &str) -> String {
        format!("tunnels-{role}-{}", self.0)
    }

    /// This program there.
    fn command(&self, role: &str, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(role)]);
        command.arg(std::env::current_exe()?).args(arguments);
        Ok(command)
    }

    fn start(&self, role: &str, arguments: &[&str]) -> Result<Running> {
        let mut command = self.command(role, arguments)?;
        Ok(Running(command.stdout(Stdio::null()).spawn()?))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for role in ["client", "router", "server"] {
            let _ = ip(&format!("netns del {}", self.name(role)));
        }
    }
}

fn ip(arguments: &str) -> Result<()> {
    let status = Command::new("ip").args(arguments.split(' ')).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(Error::other(format!("ip {arguments}: {status}"))),
    }
}
