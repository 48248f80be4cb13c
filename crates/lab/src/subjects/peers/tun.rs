//! Stateless translators that are processes behind a TUN device: TAYGA and tundra.

use std::path::PathBuf;

use super::{PATIENCE, Tundra, tundra};
use crate::{
    Result,
    network::{
        device::{Device, Started},
        leftovers,
        netns::Namespace,
        plan,
        process::{self, Process},
        topology::Network,
    },
};

/// Their device.
pub(crate) const LINK: &str = "tunnel";

/// A translator and its configuration. Its device is called `tunnel`.
#[derive(Debug, Clone, Copy)]
pub enum Translator {
    /// TAYGA, with the lines of its configuration.
    Tayga(&'static str),
    /// tundra.
    Tundra(Tundra),
}

impl Translator {
    /// Returns the path of the program.
    ///
    /// # Errors
    /// It is not installed.
    pub(crate) fn program(&self) -> Result<PathBuf> {
        match self {
            Self::Tayga(_) => process::locate("tayga", "tayga"),
            Self::Tundra(_) => tundra::program(),
        }
    }

    /// Starts it on a node, bound to a CPU if one is given. Shell commands give its device addresses and routes.
    ///
    /// # Errors
    /// It is not installed, or refuses its configuration.
    pub(crate) fn start(
        &self,
        node: &Namespace,
        cpu: Option<usize>,
        lines: &str,
    ) -> Result<Started> {
        let program = self.program()?.display().to_string();
        let (configuration, [option, make, run]) = match self {
            Self::Tayga(lines) => (
                format!("tun-device {LINK}\n{lines}\n"),
                ["--config", "--mktun", "--nodetach"],
            ),
            Self::Tundra(tundra) => (
                tundra.configuration(LINK),
                ["--config-file", "mktun", "translate"],
            ),
        };
        let files = leftovers::directory()?;
        let path = files.path().join("translator.conf");
        leftovers::write(&path, configuration)?;
        process::run(node.command(&program).arg(option).arg(&path).arg(make))?;
        node.script(&format!("ip link set {LINK} up\n{lines}"))?;
        let mut command = node.command_on(cpu, &program);
        let mut daemon = Process::start(&program, command.arg(option).arg(&path).arg(run))?;
        // The link has a carrier once the daemon holds it.
        daemon.wait_until(PATIENCE, || {
            node.run(&format!("ip link show {LINK}"))
                .is_ok_and(|link| link.contains("LOWER_UP"))
        })?;
        Ok(Started {
            processes: vec![daemon],
            files: Some(files),
            ..Started::default()
        })
    }
}

/// Starts a translator on the gateway between two hosts, with an IPv4 address for the IPv6-only one.
pub(super) fn in_the_middle(
    translator: &Translator,
    network: &Network,
    cpu: usize,
) -> Result<Started> {
    let lines = format!(
        "ip route replace {} dev {LINK}\nip route add {}/96 dev {LINK}",
        plan::HOST6_AS_IPV4,
        plan::PREFIX,
    );
    translator.start(network.gateway()?, Some(cpu), &lines)
}

impl Device for Tundra {
    fn name(&self) -> String {
        "tundra".into()
    }

    fn start(&self, network: &Network, cpu: usize) -> Result<Started> {
        in_the_middle(&Translator::Tundra(*self), network, cpu)
    }
}
