//! Jool, the kernel module: stateful NAT64, and SIIT.

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    LabError, Result,
    network::{
        device::{Device, Started},
        machine, plan, process,
        topology::Network,
    },
};

/// An instance on the gateway, in netfilter's hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jool {
    /// NAT64 with the pool.
    Nat64,
    /// SIIT with one explicit mapping, for the IPv6-only host.
    Siit,
}

/// The name of the instance.
const INSTANCE: &str = "lab";

impl Jool {
    /// Returns the name of the tool and of the module.
    fn tool(self) -> &'static str {
        match self {
            Self::Nat64 => "jool",
            Self::Siit => "jool_siit",
        }
    }

    /// Returns the tool's commands, in order.
    fn commands(self) -> Vec<String> {
        let mut commands = vec![format!(
            "instance add {INSTANCE} --netfilter --pool6 {}/96",
            plan::PREFIX
        )];
        match self {
            Self::Nat64 => commands.extend(["tcp", "udp", "icmp"].map(|protocol| {
                let (pool, ports) = (plan::POOL, "1024-65535");
                format!("--instance {INSTANCE} pool4 add {pool} {ports} --{protocol}")
            })),
            Self::Siit => commands.push(format!(
                "--instance {INSTANCE} eamt add {} {}",
                plan::HOST6_AS_IPV4,
                plan::HOST6
            )),
        }
        commands
    }

    /// Checks that it is installed.
    ///
    /// # Errors
    /// The tool is not installed, or the kernel has no module for it.
    pub(crate) fn require(self) -> Result<()> {
        process::require(self.tool(), "jool-tools")?;
        let module = self.tool();
        let list = Path::new("/lib/modules")
            .join(machine::kernel())
            .join("modules.dep");
        let installed = fs::read_to_string(list).unwrap_or_default();
        let there = |name: &str| installed.contains(&format!("/{name}.ko"));
        if there(module) || Path::new("/sys/module").join(module).exists() {
            return Ok(());
        }
        Err(LabError::NoModule {
            module,
            from: "Debian package: jool-dkms",
        })
    }

    /// Returns its version, as the tool prints it.
    pub(crate) fn version(self) -> String {
        let version = process::run(Command::new(self.tool()).arg("--version"));
        version.map_or_else(|_| String::new(), |text| format!(" {}", text.trim()))
    }
}

impl Device for Jool {
    fn name(&self) -> String {
        match self {
            Self::Nat64 => "Jool NAT64",
            Self::Siit => "Jool SIIT",
        }
        .into()
    }

    fn start(&self, network: &Network, _: usize) -> Result<Started> {
        self.require()?;
        process::run(Command::new("modprobe").arg(self.tool()))?;
        for command in self.commands() {
            let words = command.split(' ');
            process::run(network.gateway()?.command(self.tool()).args(words))?;
        }
        Ok(Started::default())
    }

    /// Removes the instance, which holds the table.
    fn tear_down(&self, network: &Network, cpu: usize, started: &mut Started) -> Result<Duration> {
        let begun = Instant::now();
        let mut command = network.gateway()?.command(self.tool());
        process::run(command.args(["instance", "remove", INSTANCE]))?;
        let took = begun.elapsed();
        *started = self.start(network, cpu)?;
        Ok(took)
    }
}
