//! Other people's gateways, as they are installed on this machine, and the kernel itself.

mod bind;
mod faulty;
mod kernel;
mod nftables;
mod proxy;
mod tayga;
mod tunnel;
mod unbound;

use std::process::Command;

use crate::process;

pub use bind::Bind;
pub use faulty::{Fault, Faulty};
pub use kernel::{Forwarding, Redirect};
pub use nftables::Nftables;
pub use proxy::Proxy;
pub use tayga::Tayga;
pub use tunnel::KernelTunnel;
pub use unbound::Unbound;

/// A space and the version of an installed Debian package; nothing if that can not be told.
pub(crate) fn version(package: &str) -> String {
    let mut query = Command::new("dpkg-query");
    process::run(query.args(["-W", "-f", " ${Version}", package])).unwrap_or_default()
}
