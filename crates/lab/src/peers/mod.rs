//! Other people's gateways, as they are installed on this machine, and the kernel itself.

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

use crate::{
    Result, leftovers,
    process::{self, Process},
    services::dns_answers,
    subject::Started,
    topology::Network,
};

pub use bind::Bind;
pub use faulty::{Fault, Faulty};
pub use jool::Jool;
pub use kernel::{Forwarding, Redirect};
pub use nftables::Nftables;
pub use proxy::Proxy;
pub use tayga::Tayga;
pub use tun::Translator;
pub use tundra::{Mode, Tundra};
pub use tunnel::KernelTunnel;
pub use unbound::Unbound;

/// A space and the version of an installed Debian package; nothing if that can not be told.
pub(crate) fn version(package: &str) -> String {
    let mut query = Command::new("dpkg-query");
    process::run(query.args(["-W", "-f", " ${Version}", package])).unwrap_or_default()
}

/// Starts a DNS64 server on the gateway with its configuration in a file, whose name is the last argument, and waits until
/// it answers.
fn start_dns64(
    network: &Network,
    (listen, cpu): (Ipv6Addr, usize),
    (program, arguments): (&str, &[&str]),
    configuration: impl FnOnce(&Path) -> String,
) -> Result<Started> {
    let files = leftovers::directory()?;
    let path = files.path().join("configuration");
    leftovers::write(&path, configuration(files.path()))?;
    let mut command = network.gateway()?.command_on(cpu, program);
    let mut daemon = Process::start(program, command.args(arguments).arg(&path))?;
    let host6 = network.host6()?;
    daemon.wait_until(Duration::from_secs(5), || {
        dns_answers(host6, &listen.to_string())
    })?;
    Ok(Started {
        processes: vec![daemon],
        files: Some(files),
        ..Started::default()
    })
}
