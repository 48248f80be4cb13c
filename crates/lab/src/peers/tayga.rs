//! TAYGA, the stateless translator in user space, as a SIIT gateway.

use std::time::Duration;

use super::version;
use crate::{
    Result, leftovers, plan,
    process::{self, Process},
    subject::{Started, Subject},
    topology::Network,
};

const LINK: &str = "nat64";

/// TAYGA with one explicit mapping for the IPv6-only host.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tayga;

impl Subject for Tayga {
    fn name(&self) -> String {
        format!("TAYGA{}", version("tayga"))
    }

    fn start(&self, network: &Network, cpu: usize) -> Result<Started> {
        process::require("tayga", "tayga")?;
        let files = leftovers::directory()?;
        let path = files.path().join("tayga.conf");
        let configuration = format!(
            "tun-device {LINK}\nipv4-addr 192.0.0.8\nipv6-addr 2001:db8:ffff::1\nprefix {}/96\n\
             map {} {}\ndata-dir {}\n",
            plan::PREFIX,
            plan::HOST6_AS_IPV4,
            plan::HOST6,
            files.path().display(),
        );
        leftovers::write(&path, configuration)?;
        let gateway = network.gateway()?;
        let mut make = gateway.command("tayga");
        process::run(make.args(["--mktun", "--config"]).arg(&path))?;
        gateway.ip(&[
            format!("link set {LINK} up"),
            format!("route replace {} dev {LINK}", plan::HOST6_AS_IPV4),
            format!("route add {}/96 dev {LINK}", plan::PREFIX),
        ])?;
        let mut command = gateway.command_on(cpu, "tayga");
        let mut daemon =
            Process::start("tayga", command.args(["--nodetach", "--config"]).arg(&path))?;
        daemon.wait_until(Duration::from_secs(5), || {
            // The link has a carrier once the daemon holds it.
            gateway
                .run(&format!("ip link show {LINK}"))
                .is_ok_and(|link| link.contains("LOWER_UP"))
        })?;
        Ok(Started {
            processes: vec![daemon],
            files: Some(files),
            ..Started::default()
        })
    }
}
