//! Other implementations of gateways, as they are installed on this machine, and the kernel itself.

mod bind;
mod conntrack;
mod faulty;
mod jool;
mod kernel;
mod nftables;
mod proxy;
mod tayga;
mod tun;
pub(crate) mod tundra;
mod tunnel;
mod unbound;

use std::{net::Ipv6Addr, path::Path, process::Command, time::Duration};

use tempfile::TempDir;

use crate::{
    Result,
    network::{
        device::Started,
        leftovers,
        netns::Namespace,
        process::{self, Process},
        topology::Network,
    },
    traffic::services::dns_answers,
};

pub use bind::Bind;
pub use faulty::{Fault, Faulty};
pub use jool::Jool;
pub use kernel::Forwarding;
pub use nftables::Nftables;
pub use proxy::Proxy;
pub use tayga::Tayga;
pub use tun::Translator;
pub use tundra::{Mode, Tundra};
pub use tunnel::KernelTunnel;
pub use unbound::Unbound;

/// Returns a space and the version of an installed Debian package; an empty text if it is unknown.
pub(crate) fn version(package: &str) -> String {
    let mut query = Command::new("dpkg-query");
    process::run(query.args(["-W", "-f", " ${Version}", package])).unwrap_or_default()
}

/// The time that a server has to start.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts a server with a configuration file, whose path is its last argument, and waits until it is ready.
fn start_server(
    node: &Namespace,
    cpu: usize,
    (program, arguments): (&str, &[&str]),
    (files, configuration): (TempDir, String),
    is_ready: impl FnMut() -> bool,
) -> Result<Started> {
    let path = files.path().join("configuration");
    leftovers::write(&path, configuration)?;
    let mut command = node.command_on(cpu, program);
    let mut daemon = Process::start(program, command.args(arguments).arg(&path))?;
    daemon.wait_until(PATIENCE, is_ready)?;
    Ok(Started {
        processes: vec![daemon],
        files: Some(files),
        ..Started::default()
    })
}

/// Starts a DNS64 server on the gateway and waits until it answers.
fn start_dns64(
    network: &Network,
    (listen, cpu): (Ipv6Addr, usize),
    program: (&str, &[&str]),
    configuration: impl FnOnce(&Path) -> String,
) -> Result<Started> {
    let files = leftovers::directory()?;
    let configuration = configuration(files.path());
    let host6 = network.host6()?;
    start_server(
        network.gateway()?,
        cpu,
        program,
        (files, configuration),
        || dns_answers(host6, &listen.to_string()),
    )
}
