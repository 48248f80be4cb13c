//! The place of a test's gateways: a network, a folder, and a configuration file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use tempfile::TempDir;

use super::gateway::Gateway;
use super::net::{Net, possible};

/// The instance of most tests.
pub(crate) const PLAT: &str = r#"
[[instance]]
name = "plat"
mechanism = "nat64"
prefix = "64:ff9b::/96"
allow-non-global = true
pool = [{ addresses = "203.0.113.0/28", ports = "1024-65535" }]
max-sessions = 4096
max-bindings = 4096
"#;

/// A NAT within IPv4.
pub(crate) const HOME: &str = r#"
[[instance]]
name = "home"
mechanism = "nat44"
inside = ["192.168.0.0/16"]
pool = [{ addresses = "203.0.113.32/28", ports = "1024-65535" }]
own-v4 = "203.0.113.33"
max-sessions = 4096
max-bindings = 4096
"#;

/// Both links of the gateway with this engine and more keys.
pub(crate) fn both_links(engine: &str, keys: &str) -> String {
    ["toh", "tos"]
        .iter()
        .map(|name| format!("[[interface]]\nname = \"{name}\"\nengine = \"{engine}\"\n{keys}\n"))
        .collect()
}

/// A network and a folder of this test. They are removed on drop.
pub(crate) struct Site {
    pub(crate) net: Net,
    folder: TempDir,
}

impl Site {
    /// Returns `None`, after printing the reason, if namespaces cannot be made.
    pub(crate) fn new() -> Option<Self> {
        possible().then(|| Self::over(Net::new()))
    }

    /// Returns a site with this network.
    pub(crate) fn over(net: Net) -> Self {
        Self {
            net,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Returns a site with a running gateway that has this in its configuration.
    pub(crate) fn with(more: &str) -> Option<(Self, Gateway)> {
        let site = Self::new()?;
        site.configure(more);
        let gateway = site.start();
        Some((site, gateway))
    }

    /// Writes the configuration file: the gateway's name and links, and this text.
    pub(crate) fn configure(&self, more: &str) {
        self.configure_gateway("", more);
    }

    /// Writes the configuration file with more keys of `[gateway]`.
    pub(crate) fn configure_gateway(&self, keys: &str, more: &str) {
        let socket = self.path("edge.sock");
        let text = format!(
            "[gateway]\nname = \"edge\"\ncontrol = \"{}\"\n{keys}\n\n\
             [tun]\nname = \"isthmus0\"\n\n{more}",
            socket.display()
        );
        fs::write(self.file(), text).unwrap();
    }

    /// Starts a gateway and waits until it is ready.
    pub(crate) fn start(&self) -> Gateway {
        Gateway::start(&self.net, self.folder.path(), &self.file())
    }

    /// Starts a gateway that must fail to start. Returns its exit status and its output.
    pub(crate) fn refused(&self) -> (ExitStatus, String) {
        Gateway::refused(&self.net, &self.file())
    }

    /// Returns the configuration file.
    pub(crate) fn file(&self) -> PathBuf {
        self.path("edge.toml")
    }

    /// Returns a file in the folder.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }
}
