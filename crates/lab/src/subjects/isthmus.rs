//! Isthmus itself as a device under test: `isthmus up FILE` in the gateway's namespace.

mod program;

use std::{
    fmt::Write,
    net::Ipv6Addr,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

pub use self::program::{laboratory, program, programs};
use crate::{
    LabError, Result,
    network::{
        device::{Device, Started},
        leftovers,
        netns::Namespace,
        plan,
        process::{self, Process},
        topology::{FOUR, Network, SIX},
    },
    traffic::services::dns_answers,
};

/// The link of the user-space engine.
pub(crate) const LINK: &str = "isthmus0";
const START: Duration = Duration::from_secs(60);

/// The engine that handles packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// In XDP.
    Xdp,
    /// In tc.
    Tc,
    /// In user space, over TUN.
    User,
}

impl Engine {
    /// All engines, from the fastest to the slowest.
    pub const ALL: [Self; 3] = [Self::Xdp, Self::Tc, Self::User];

    /// Returns its name in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Xdp => "xdp",
            Self::Tc => "tc",
            Self::User => "user",
        }
    }
}

/// The mechanism of the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// Stateless translation. The IPv6-only host has an IPv4 address by explicit mapping.
    Siit,
    /// Stateful NAT64 with a pool.
    Nat64,
    /// NAT-PT: each IPv6 host has an address of the pool.
    NatPt,
    /// Stateful translation within IPv4, with the pool of NAT64.
    Nat44,
    /// A mechanism with a configuration of its own.
    Other(Instance),
}

impl Mechanism {
    /// Returns its name in reports.
    fn name(self) -> &'static str {
        match self {
            Self::Siit => "SIIT",
            Self::Nat64 => "NAT64",
            Self::NatPt => "NAT-PT",
            Self::Nat44 => "NAT44",
            Self::Other(instance) => instance.name,
        }
    }
}

/// The keys of an instance: groups of lines of TOML.
pub type Keys = &'static [&'static str];

/// The name of a file, and the function that makes its content.
type File = (&'static str, fn() -> String);

/// An instance of a mechanism, as a section of the configuration file.
#[derive(Debug, Clone, Copy)]
pub struct Instance {
    /// Its name in reports.
    pub name: &'static str,
    /// Its keys in the configuration file, without its name.
    pub keys: Keys,
    more: Keys,
    file: Option<File>,
}

impl Instance {
    /// Returns an instance with these keys.
    pub const fn new(name: &'static str, keys: Keys) -> Self {
        Self {
            name,
            keys,
            more: &[],
            file: None,
        }
    }

    /// Adds keys.
    pub const fn and(self, more: Keys) -> Self {
        Self { more, ..self }
    }

    /// Adds a file that the keys name, and the function that makes its content.
    pub const fn with_file(self, name: &'static str, content: fn() -> String) -> Self {
        Self {
            file: Some((name, content)),
            ..self
        }
    }
}

impl PartialEq for Instance {
    fn eq(&self, other: &Self) -> bool {
        self.keys == other.keys && self.more == other.more
    }
}

impl Eq for Instance {}

/// The gateway's DNS64 service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dns64 {
    /// There is none.
    Off,
    /// It listens on this address of the gateway, and asks the IPv4 host.
    On(Ipv6Addr),
}

/// One configuration of Isthmus for the standard topologies.
#[derive(Debug, Clone, Copy)]
pub struct Isthmus {
    /// The engine that handles packets.
    pub engine: Engine,
    /// The mechanism.
    pub mechanism: Mechanism,
    /// The DNS64 service.
    pub dns64: Dns64,
    /// The bound of the session table, 1 or more.
    pub sessions: u32,
    /// The MTU of the IPv4 link, as the gateway is told.
    pub ipv4_mtu: u32,
    /// The port of its metrics, at all addresses, if it has some.
    pub metrics: Option<u16>,
    /// Its interfaces: those of a gateway in the standard topologies, or others.
    pub interfaces: &'static [&'static str],
}

impl Isthmus {
    /// Returns a configuration with defaults: no DNS64, a table of a million sessions, MTU 1500.
    pub fn new(engine: Engine, mechanism: Mechanism) -> Self {
        Self {
            engine,
            mechanism,
            dns64: Dns64::Off,
            sessions: 1 << 20,
            ipv4_mtu: 1500,
            metrics: None,
            interfaces: &[SIX, FOUR],
        }
    }

    /// Sets the interfaces of the node.
    pub fn on(self, interfaces: &'static [&'static str]) -> Self {
        Self { interfaces, ..self }
    }

    /// Adds the DNS64 service on an address of the gateway.
    pub fn with_dns64(self, address: Ipv6Addr) -> Self {
        Self {
            dns64: Dns64::On(address),
            ..self
        }
    }

    /// Returns the configuration file; `directory` gets the control socket.
    pub fn configuration(&self, directory: &Path) -> String {
        let metrics = self
            .metrics
            .map_or_else(String::new, |port| format!("metrics = \"[::]:{port}\"\n"));
        let mut text = format!(
            "[gateway]\nname = \"lab\"\ncontrol = \"{}\"\n{metrics}\n[log]\nlevel = \"info\"\n\n\
             [link]\nipv4-mtu = {}\nipv6-mtu = 1500\n\n[tun]\nname = \"{LINK}\"\nqueues = 1\n",
            control(directory).display(),
            self.ipv4_mtu,
        );
        if self.engine != Engine::User {
            for interface in self.interfaces {
                let engine = self.engine.name();
                let _ = write!(
                    text,
                    "\n[[interface]]\nname = \"{interface}\"\nengine = \"{engine}\"\n"
                );
            }
        }
        text += &self.instance();
        if let Dns64::On(address) = self.dns64 {
            let _ = write!(
                text,
                "\n[dns64]\nlisten = [\"[{}]:53\"]\nupstream = [\"{}:53\"]\n\
                 prefixes = [\"{}/96\"]\nclient-rate = 0\nallow = [\"2001:db8::/32\"]\n",
                address,
                plan::HOST4,
                plan::PREFIX,
            );
        }
        text
    }

    /// Returns the table of the mechanism under test.
    fn instance(&self) -> String {
        match self.mechanism {
            Mechanism::Siit => format!(
                "\n[[instance]]\nname = \"siit\"\nmechanism = \"siit\"\nprefix = \"{}/96\"\n\
                 eam = [ {{ v4 = \"{}\", v6 = \"{}\" }} ]\n",
                plan::PREFIX,
                plan::HOST6_AS_IPV4,
                plan::HOST6,
            ),
            Mechanism::Nat64 => format!(
                "\n[[instance]]\nname = \"plat\"\nmechanism = \"nat64\"\nprefix = \"{}/96\"\n\
                 subscriber-session-rate = 1000000000\n\
                 pool = [ {{ addresses = \"{}\", ports = \"1024-65535\" }} ]\n\
                 max-bindings = {sessions}\nmax-sessions = {sessions}\n",
                plan::PREFIX,
                plan::POOL,
                sessions = self.sessions,
            ),
            Mechanism::NatPt => format!(
                "\n[[instance]]\nname = \"history\"\nmechanism = \"nat-pt\"\nvariant = \"basic\"\n\
                 prefix = \"{}/96\"\ninside = [\"::/0\"]\nsubscriber-session-rate = 1000000000\n\
                 pool = [ {{ addresses = \"{}\" }} ]\n\
                 max-bindings = {sessions}\nmax-sessions = {sessions}\n",
                plan::PREFIX,
                plan::POOL,
                sessions = self.sessions,
            ),
            Mechanism::Nat44 => format!(
                "\n[[instance]]\nname = \"napt\"\nmechanism = \"nat44\"\ninside = [\"{}/32\"]\n\
                 subscriber-session-rate = 1000000000\n\
                 pool = [ {{ addresses = \"{}\", ports = \"1024-65535\" }} ]\n\
                 max-bindings = {sessions}\nmax-sessions = {sessions}\n",
                plan::HOST6_AS_IPV4,
                plan::POOL,
                sessions = self.sessions,
            ),
            Mechanism::Other(Instance { keys, more, .. }) => {
                let keys = [keys, more].map(|keys| keys.join("\n")).join("\n");
                format!("\n[[instance]]\nname = \"tested\"\n{keys}\n")
            }
        }
    }

    /// Starts it on a node that has the links of a gateway, bound to a CPU if one is given.
    pub fn up(&self, node: &Namespace, cpu: Option<usize>) -> Result<Gateway> {
        let program = program()?;
        let files = leftovers::directory()?;
        let path = files.path().join("gateway.toml");
        leftovers::write(&path, self.configuration(files.path()))?;
        if let Mechanism::Other(Instance {
            file: Some((name, content)),
            ..
        }) = self.mechanism
        {
            leftovers::write(&files.path().join(name), content())?;
        }
        let mut gateway = Gateway {
            program,
            interfaces: self.interfaces,
            configuration: path,
            started: Started {
                files: Some(files),
                ..Started::default()
            },
        };
        gateway.restart(self.engine, node, cpu)?;
        Ok(gateway)
    }
}

impl Device for Isthmus {
    fn name(&self) -> String {
        let mechanism = self.mechanism.name();
        format!("Isthmus {mechanism}, engine {}", self.engine.name())
    }

    fn start(&self, network: &Network, cpu: usize) -> Result<Started> {
        let mut gateway = self.up(network.gateway()?, Some(cpu))?;
        if let Dns64::On(address) = self.dns64 {
            let host6 = network.host6()?;
            gateway
                .process()
                .wait_until(START, || dns_answers(host6, &address.to_string()))?;
        }
        Ok(gateway.started)
    }
}

/// A running `isthmus up`.
#[derive(Debug)]
pub struct Gateway {
    program: PathBuf,
    interfaces: &'static [&'static str],
    configuration: PathBuf,
    started: Started,
}

impl Gateway {
    /// Starts the program again with the same file, after it was killed or stopped.
    ///
    /// # Errors
    /// It does not run with this engine.
    pub fn restart(&mut self, engine: Engine, node: &Namespace, cpu: Option<usize>) -> Result<()> {
        let program = self.program.display().to_string();
        // The kernel verifies programs on all cores. The user-space engine must see its CPUs before it starts.
        let first = cpu.filter(|_| engine == Engine::User);
        let mut command = node.command_on(first, &program);
        let directory = self.directory();
        command.arg("up").arg(&self.configuration);
        // Files without a folder lie beside the configuration.
        let mut daemon = Process::start("isthmus", command.current_dir(directory))?;
        let socket = control(directory);
        daemon.wait_until(START, || UnixStream::connect(&socket).is_ok())?;
        self.started.processes = vec![daemon];
        self.uses(engine)?;
        if let Some(cpu) = cpu {
            self.process().pin(cpu)?;
        }
        Ok(())
    }

    /// Turns it into a running device.
    pub fn into_started(self) -> Started {
        self.started
    }

    /// The process.
    pub fn process(&mut self) -> &mut Process {
        &mut self.started.processes[0]
    }

    /// Returns the directory of its files.
    pub fn directory(&self) -> &Path {
        self.configuration.parent().unwrap_or(Path::new("/"))
    }

    /// Makes it reload its file, and waits until it has.
    pub fn reload(&self) -> Result<()> {
        self.ask(&["reload"]).map(drop)
    }

    /// Returns how often it has reloaded its file.
    pub fn reloads(&self) -> Result<u64> {
        let status = self.status()?;
        status["reloads"]
            .as_u64()
            .ok_or_else(|| unread(status.to_string()))
    }

    /// Checks that all interfaces are with this engine: a gateway that runs another one must not be measured under a
    /// wrong name.
    fn uses(&self, engine: Engine) -> Result<()> {
        let status = self.status()?;
        let engines = status["engines"].as_array();
        let of = |interface: &str| {
            engines.is_some_and(|engines| {
                engines.iter().any(|entry| {
                    entry["interface"] == interface && entry["engine"] == engine.name()
                })
            })
        };
        let expected: &[&str] = match engine {
            Engine::Xdp | Engine::Tc => self.interfaces,
            Engine::User => &[LINK],
        };
        if expected.iter().all(|interface| of(interface)) {
            return Ok(());
        }
        Err(unread(format!(
            "engine {} is not on {}: {}",
            engine.name(),
            expected.join(" and "),
            status["engines"]
        )))
    }

    fn status(&self) -> Result<Value> {
        let output = self.ask(&["status", "--json"])?;
        serde_json::from_str(&output).map_err(|_| unread(output))
    }

    /// Runs a subcommand such as `counters` on the gateway, and returns its output.
    pub fn ask(&self, subcommand: &[&str]) -> Result<String> {
        ask(&self.started, subcommand)
    }
}

/// Runs a subcommand on a gateway that was started as a device, and returns its output.
pub fn ask(gateway: &Started, subcommand: &[&str]) -> Result<String> {
    let directory = gateway.files.as_ref().map_or(Path::new("/"), TempDir::path);
    let mut command = Command::new(program()?);
    command
        .args(subcommand)
        .arg("--socket")
        .arg(control(directory));
    process::run(&mut command)
}

fn unread(output: String) -> LabError {
    LabError::Output {
        tool: "isthmus status",
        output,
    }
}

fn control(directory: &Path) -> PathBuf {
    directory.join("control.sock")
}
