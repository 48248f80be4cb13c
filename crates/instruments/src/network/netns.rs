//! Network namespaces that disappear with the value that holds them.
//!
//! Names are `isthmus-PID-N-ROLE`. If the lab is killed before it can clean up, a later
//! [sweep](crate::network::sweep::sweep) finds by them what to remove.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::fd::AsFd,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::{
    LabError, Result,
    network::{congestion, cores, leftovers, process, sweep, threads::join},
};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A network namespace of the lab; dropping it removes it with all its links.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes a namespace with loopback up and the laboratory's congestion control; `role` ends its name.
    pub fn create(role: &str) -> Result<Self> {
        process::require_root()?;
        process::require("ip", "iproute2")?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = leftovers::name(&format!("{number}-{role}"));
        process::run(Command::new("ip").args(["netns", "add", &name]))?;
        let namespace = Self { name };
        namespace.ip(&["link set lo up".into()])?;
        namespace.enter(congestion::settle)?;
        Ok(namespace)
    }

    /// Returns its name, as `ip netns` shows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a command that runs inside, with `/etc/netns/NAME` over `/etc` as with `ip netns exec`.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }

    /// Returns such a command on one CPU, if one is given: on the last one if the machine has fewer.
    pub fn command_on(&self, cpu: impl Into<Option<usize>>, program: &str) -> Command {
        let Some(cpu) = cpu.into() else {
            return self.command(program);
        };
        let mut command = self.command("taskset");
        command.args(["-c", &cores::cpu(cpu).to_string(), program]);
        command
    }

    /// Runs one command inside, its words separated by blanks, and returns its output.
    pub fn run(&self, words: &str) -> Result<String> {
        let mut words = words.split_whitespace();
        let mut command = self.command(words.next().unwrap_or("true"));
        process::run(command.args(words))
    }

    /// Runs lines of a shell inside, until one fails.
    pub fn script(&self, lines: &str) -> Result<()> {
        let lines = format!("set -e\n{lines}");
        process::run(self.command("sh").args(["-c", &lines])).map(drop)
    }

    /// Runs lines of `ip -batch` inside.
    pub fn ip(&self, lines: &[String]) -> Result<()> {
        let mut command = Command::new("ip");
        command.args(["-n", &self.name, "-batch", "-"]);
        feed(&mut command, &(lines.join("\n") + "\n"))
    }

    /// Sets kernel parameters inside, such as `("net.ipv4.ip_forward", "1")`.
    pub fn sysctl(&self, settings: &[(&str, &str)]) -> Result<()> {
        let mut command = self.command("sysctl");
        // One -w for all, which busybox understands as well.
        command.args(["-q", "-w"]);
        command.args(settings.iter().map(|(key, value)| format!("{key}={value}")));
        process::run(&mut command).map(drop)
    }

    /// Sets offloads of an interface with `ethtool -K`: pairs such as `["tx", "off"]`.
    pub fn offload(&self, interface: &str, switches: &[&str]) -> Result<()> {
        process::require("ethtool", "ethtool")?;
        let mut command = self.command("ethtool");
        process::run(command.args(["-K", interface]).args(switches)).map(drop)
    }

    /// Returns the index of an interface.
    pub fn interface_index(&self, interface: &str) -> Result<u32> {
        let output = self.run(&format!("cat /sys/class/net/{interface}/ifindex"))?;
        output.trim().parse().map_err(|_| LabError::Output {
            tool: "ifindex",
            output,
        })
    }

    /// Runs `task` on a thread inside the namespace.
    pub fn enter<T: Send>(&self, task: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let problem = |source: io::Error| LabError::Enter {
            name: self.name.clone(),
            source,
        };
        let file = File::open(Path::new("/run/netns").join(&self.name)).map_err(problem)?;
        let inside = || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
                .map_err(|errno| problem(errno.into()))?;
            task()
        };
        std::thread::scope(|scope| join(scope.spawn(inside)))
    }

    /// Gives programs started with [`Namespace::command`] a name server.
    pub fn set_resolver(&self, address: &str) -> Result<()> {
        let directory = self.etc();
        let path = directory.join("resolv.conf");
        let problem = LabError::file(&path);
        fs::create_dir_all(&directory).map_err(&problem)?;
        fs::write(&path, format!("nameserver {address}\n")).map_err(&problem)
    }

    fn etc(&self) -> PathBuf {
        Path::new("/etc/netns").join(&self.name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        sweep::remove_namespace(&self.name);
    }
}

fn feed(command: &mut Command, input: &str) -> Result<()> {
    let line = process::line(command);
    let start = |source| LabError::Start {
        command: line.clone(),
        source,
    };
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(start)?;
    if let Some(mut pipe) = child.stdin.take() {
        // A command that ends early explains itself by its output, not by the broken pipe.
        let _ = pipe.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(start)?;
    if output.status.success() {
        return Ok(());
    }
    Err(LabError::Command {
        command: line,
        status: output.status.to_string(),
        output: format!("{}\n{input}", String::from_utf8_lossy(&output.stderr)),
    })
}
