//! strongSwan, whose daemon runs at both ends of a virtual private network.

use std::path::{Path, PathBuf};

use super::PATIENCE;
use crate::{
    Result,
    network::{
        leftovers,
        netns::Namespace,
        process::{self, Process},
    },
};

/// The daemon, and who asks it, with their Debian packages.
pub(super) const DAEMON: (&str, &str) = ("charon-systemd", "charon-systemd");
pub(super) const CLIENT: (&str, &str) = ("swanctl", "strongswan-swanctl");
/// The plugins that both kinds of ESP need.
const PLUGINS: &str = "random nonce aes sha1 sha2 hmac kdf gmp socket-default vici";
/// Few repetitions, and no journal.
const SETTINGS: &str = "  retransmit_tries = 4
  retransmit_timeout = 1
  retransmit_base = 1.5
  journal {
    default = -1
  }
";
/// The variable of the environment that names the settings, in place of the machine's own.
const SETTINGS_FILE: &str = "STRONGSWAN_CONF";

/// Who encrypts.
#[derive(Clone, Copy)]
pub(super) enum Esp {
    /// The daemon, in tunnel mode and in UDP.
    User,
    /// The kernel.
    Kernel,
}

impl Esp {
    fn plugins(self) -> &'static str {
        match self {
            Self::User => "kernel-libipsec kernel-netlink",
            Self::Kernel => "kernel-netlink",
        }
    }
}

/// Returns the file of a connection `both`: the version of IKE, its keys, its own name and the other one's, and the keys of
/// its child, which is called `both` as well.
pub(super) fn connection(version: u8, keys: &str, [own, other]: [&str; 2], child: &str) -> String {
    format!(
        "connections {{\n  both {{\n    version = {version}\n    proposals = aes128-sha256-modp2048\n    {keys}\n    \
         local {{\n      auth = psk\n      id = {own}\n    }}\n    \
         remote {{\n      auth = psk\n      id = {other}\n    }}\n    \
         children {{\n      both {{\n        {child}\n        esp_proposals = aes128-sha256\n      }}\n    }}\n  }}\n}}\n\
         secrets {{\n  ike-both {{\n    secret = \"between the two of us\"\n  }}\n}}\n"
    )
}

/// strongSwan on a node.
pub(super) struct End<'a> {
    node: &'a Namespace,
    socket: String,
    settings: PathBuf,
    _daemon: Process,
}

impl<'a> End<'a> {
    /// Starts it with these connections; its files have this name.
    pub(super) fn start(
        node: &'a Namespace,
        folder: &Path,
        name: &str,
        esp: Esp,
        connections: &str,
    ) -> Result<Self> {
        let socket = format!("unix://{}", folder.join(format!("{name}.vici")).display());
        let settings = folder.join(format!("{name}.strongswan"));
        let text = format!(
            "charon-systemd {{\n  load = {PLUGINS} {}\n{SETTINGS}  plugins {{\n    vici {{\n      socket = {socket}\n    \
             }}\n  }}\n}}\n",
            esp.plugins()
        );
        leftovers::write(&settings, text)?;
        let file = folder.join(format!("{name}.swanctl"));
        leftovers::write(&file, connections)?;
        let mut command = node.command(DAEMON.0);
        let mut daemon = Process::start("charon", command.env(SETTINGS_FILE, &settings))?;
        let path = socket.trim_start_matches("unix://").to_owned();
        daemon.wait_until(PATIENCE, || Path::new(&path).exists())?;
        let end = Self {
            node,
            socket,
            settings,
            _daemon: daemon,
        };
        let file = file.display().to_string();
        end.ask(&["--load-all", "--noprompt", "--file", &file])?;
        Ok(end)
    }

    /// Has `swanctl` ask the daemon.
    pub(super) fn ask(&self, words: &[&str]) -> Result<String> {
        let mut command = self.node.command(CLIENT.0);
        command.env(SETTINGS_FILE, &self.settings);
        process::run(command.args(words).args(["--uri", &self.socket]))
    }
}
