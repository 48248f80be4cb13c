//! Forwarding of the machine, and ports that its sockets do not get: turned on where it is needed, put back as it was
//! at the end.
//!
//! One switch per family moves many values (the kernel copies it to every link), so all of them
//! are saved before and compared after. The saved values also lie in a file, from which the next
//! start takes them if this process does not come to its end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::wanted::{Forwarding, Wanted};
use crate::config::local_ports;

/// The switches, and the values that the kernel changes with them.
const SWITCHES: [Switch; 2] = [
    (
        "ipv4/ip_forward",
        "ipv4/conf",
        &["forwarding", "accept_redirects"],
    ),
    IPV6,
];
const IPV6: Switch = ("ipv6/conf/all/forwarding", "ipv6/conf", &["forwarding"]);

/// The value, a directory with directories of links, and the values of each link.
type Switch = (&'static str, &'static str, &'static [&'static str]);

/// Whether the kernel looks for a packet's socket before it routes the packet. It drops those that have one then and
/// are routed to the TUN link: packets to sockets with a port of a pool.
const EARLY_DEMUX: &str = "ipv4/ip_early_demux";

/// The ports that sockets get by name only.
const RESERVED: &str = "ipv4/ip_local_reserved_ports";

/// Why forwarding could not be turned on or restored.
#[derive(Debug, thiserror::Error)]
pub enum SysctlError {
    /// A value cannot be read or written.
    #[error("sysctl {path}: {error}{}", remedy(path, error))]
    Sysctl {
        /// The value.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The machine's own connections need ports, too.
    #[error(
        "{left} of ports {} to {} (net.ipv4.ip_local_port_range) are left by the pools on addresses of this machine: \
         its own connections may get the port of a session, and fail", range.0, range.1
    )]
    FewPorts {
        /// How many would be left.
        left: usize,
        /// The ports that they have.
        range: (u16, u16),
    },
    /// The file of saved values cannot be read or written.
    #[error("saved values in {path}: {error}")]
    Saved {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

/// A container may not change them: who starts it has to.
fn remedy(path: &Path, error: &io::Error) -> String {
    match path.strip_prefix("/proc/sys") {
        Ok(name) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {
            let name = name.to_string_lossy().replace('/', ".");
            format!("; a container gets it by --sysctl {name}=1")
        }
        _ => String::new(),
    }
}

/// The values that this gateway changed.
#[derive(Debug)]
pub struct Sysctls {
    root: PathBuf,
    file: PathBuf,
    saved: BTreeMap<String, String>,
}

impl Sysctls {
    /// Values under `/proc/sys/net`, with `file` to save them in. If the file is there, a process
    /// before this one ended without restoring, and what it saved is what will be restored.
    ///
    /// # Errors
    ///
    /// If the file is there and is not what was written.
    pub fn new(file: PathBuf) -> Result<Self, SysctlError> {
        Self::under(PathBuf::from("/proc/sys/net"), file)
    }

    fn under(root: PathBuf, file: PathBuf) -> Result<Self, SysctlError> {
        let saved = match fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| SysctlError::Saved {
                path: file.clone(),
                error: error.into(),
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(SysctlError::Saved { path: file, error }),
        };
        if !saved.is_empty() {
            tracing::warn!(
                file = %file.display(),
                "the last run did not end cleanly; its saved values will be restored at the end"
            );
        }
        Ok(Self { root, file, saved })
    }

    /// Turns forwarding on where it is wanted and off, and says so in the log. The machine goes on hearing routers on
    /// the uplinks.
    ///
    /// # Errors
    ///
    /// If a value cannot be read or written, or not be saved.
    pub fn forward(&mut self, wanted: &Wanted) -> Result<(), SysctlError> {
        let switches: &[Switch] = match wanted.forwarding {
            Forwarding::Needed => &SWITCHES,
            Forwarding::Ipv6 if self.forward_between(wanted)? => return Ok(()),
            Forwarding::Ipv6 => &[IPV6],
            Forwarding::LeftAlone => return Ok(()),
        };
        // First this: the kernel forgets the routers of other links when it begins to forward.
        for uplink in &wanted.uplinks {
            self.hear(uplink)?;
        }
        for &(switch, directory, leaves) in switches {
            if self.read(switch)? != "0" {
                continue;
            }
            for (path, value) in self.values(directory, leaves)? {
                self.saved.entry(path).or_insert(value);
            }
            self.saved.entry(switch.into()).or_insert("0".into());
            self.save()?;
            self.write(switch, "1")?;
            tracing::info!(
                sysctl = format!("net/{switch}").replace('/', "."),
                "forwarding was off; it is on until this process ends"
            );
        }
        Ok(())
    }

    /// Forwards IPv6 packets from the uplinks and the TUN link alone, so that the machine stays a host on all others.
    /// Returns whether the kernel can do that (it can from Linux 6.17 on), or forwards everything already.
    fn forward_between(&mut self, wanted: &Wanted) -> Result<bool, SysctlError> {
        if self.read(IPV6.0)? != "0" {
            return Ok(!self.saved.contains_key(IPV6.0));
        }
        for link in wanted.uplinks.iter().chain([&wanted.name]) {
            let path = format!("ipv6/conf/{link}/force_forwarding");
            match self.read(&path) {
                Ok(value) if value == "1" => {}
                Ok(value) => {
                    self.saved.entry(path.clone()).or_insert(value);
                    self.save()?;
                    self.write(&path, "1")?;
                    tracing::info!("net/{path} is 1 until this process ends");
                }
                Err(SysctlError::Sysctl { error, .. })
                    if error.kind() == io::ErrorKind::NotFound =>
                {
                    // Either the kernel has no such value, or the link is not there at the moment.
                    if !self
                        .root
                        .join("ipv6/conf/default/force_forwarding")
                        .exists()
                    {
                        return Ok(false);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Has the kernel believe routers on a link though it forwards, if it believes them when it does not.
    fn hear(&mut self, link: &str) -> Result<(), SysctlError> {
        let path = format!("ipv6/conf/{link}/accept_ra");
        let is_our_doing = self.saved.contains_key(IPV6.0) || self.read(IPV6.0)? == "0";
        let before = match self.read(&path) {
            Err(SysctlError::Sysctl { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(());
            }
            before => before?,
        };
        // With 0 a program hears them in its place.
        if before != "1" || !is_our_doing {
            return Ok(());
        }
        self.saved.entry(path.clone()).or_insert(before);
        self.save()?;
        self.write(&path, "2")?;
        tracing::info!(
            "{}",
            format_args!(
                "net/{path} is 2 until this process ends: routers are heard though the machine forwards"
            )
        );
        Ok(())
    }

    /// Lets the machine share addresses on which pools have these ports, until this is called with others or
    /// [`restore`](Self::restore). Does nothing if it is so already.
    ///
    /// # Errors
    ///
    /// If too few ports would be left for the machine's own connections, or a value cannot be read or written.
    pub fn share(&mut self, ports: &BTreeSet<(u16, u16)>) -> Result<(), SysctlError> {
        if ports.is_empty() {
            if let Some(before) = self.saved.remove(EARLY_DEMUX) {
                self.put_back(EARLY_DEMUX, &before)?;
            }
        } else if self.read(EARLY_DEMUX)? != "0" {
            let before = self.read(EARLY_DEMUX)?;
            self.saved.entry(EARLY_DEMUX.into()).or_insert(before);
            self.save()?;
            self.write(EARLY_DEMUX, "0")?;
        }
        self.reserve(ports)
    }

    /// Keeps these ports from sockets that name none, besides those that were kept before.
    fn reserve(&mut self, ports: &BTreeSet<(u16, u16)>) -> Result<(), SysctlError> {
        let before = match self.saved.get(RESERVED) {
            Some(before) => before.clone(),
            None if ports.is_empty() => return Ok(()),
            None => self.read(RESERVED)?,
        };
        let range = local_ports::ephemeral(&self.read(local_ports::RANGE)?);
        let reserved = Ports::parse(&before);
        let all = ports.iter().copied().chain(reserved.0.iter().copied());
        let left = local_ports::left(range, all);
        if ports.is_empty() || left < local_ports::FEWEST {
            if let Some(before) = self.saved.remove(RESERVED) {
                self.put_back(RESERVED, &before)?;
                self.save()?;
            }
            if ports.is_empty() {
                return Ok(());
            }
            return Err(SysctlError::FewPorts { left, range });
        }
        let wanted = reserved.with(ports);
        if Ports::parse(&self.read(RESERVED)?) == wanted {
            return Ok(());
        }
        self.saved.entry(RESERVED.into()).or_insert(before);
        self.save()?;
        self.write(RESERVED, &wanted.to_string())?;
        tracing::info!(ports = %wanted, "kept from connections of the machine: net.{}", RESERVED.replace('/', "."));
        Ok(())
    }

    /// Puts back what was changed. Links that are gone are left out.
    ///
    /// # Errors
    ///
    /// If a value cannot be read or written; the others are restored nevertheless.
    pub fn restore(&mut self) -> Result<(), SysctlError> {
        let mut failed = None;
        // The switches first: they overwrite the values of the links.
        for (switch, ..) in SWITCHES {
            if let Some(value) = self.saved.remove(switch)
                && let Err(error) = self.put_back(switch, &value)
            {
                failed = Some(error);
            }
        }
        for (path, value) in std::mem::take(&mut self.saved) {
            if let Err(error) = self.put_back(&path, &value) {
                failed = Some(error);
            }
        }
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                failed = Some(SysctlError::Saved {
                    path: self.file.clone(),
                    error,
                });
            }
            _ => {}
        }
        failed.map_or(Ok(()), Err)
    }

    fn put_back(&self, path: &str, value: &str) -> Result<(), SysctlError> {
        match self.read(path) {
            Ok(now) if now == value => Ok(()),
            Ok(_) => self.write(path, value),
            Err(SysctlError::Sysctl { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// All values of these names under `directory`, one directory deep.
    fn values(
        &self,
        directory: &str,
        leaves: &[&str],
    ) -> Result<BTreeMap<String, String>, SysctlError> {
        let absolute = self.root.join(directory);
        let failed = |error| SysctlError::Sysctl {
            path: absolute.clone(),
            error,
        };
        let mut values = BTreeMap::new();
        for entry in fs::read_dir(&absolute).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let Some(name) = name.to_str() else { continue };
            for leaf in leaves {
                let path = format!("{directory}/{name}/{leaf}");
                values.insert(path.clone(), self.read(&path)?);
            }
        }
        Ok(values)
    }

    fn read(&self, path: &str) -> Result<String, SysctlError> {
        let absolute = self.root.join(path);
        match fs::read_to_string(&absolute) {
            Ok(value) => Ok(value.trim().into()),
            Err(error) => Err(SysctlError::Sysctl {
                path: absolute,
                error,
            }),
        }
    }

    fn write(&self, path: &str, value: &str) -> Result<(), SysctlError> {
        let absolute = self.root.join(path);
        // A list without entries is a line without characters.
        fs::write(&absolute, format!("{value}\n")).map_err(|error| SysctlError::Sysctl {
            path: absolute,
            error,
        })
    }

    fn save(&self) -> Result<(), SysctlError> {
        let failed = |error| SysctlError::Saved {
            path: self.file.clone(),
            error,
        };
        let bytes = serde_json::to_vec(&self.saved).map_err(|error| failed(error.into()))?;
        replace_file(&self.file, &bytes).map_err(failed)
    }
}

/// A list of ports as the kernel writes it: ranges in order that neither overlap nor touch.
#[derive(Debug, PartialEq, Eq)]
struct Ports(Vec<(u16, u16)>);

impl Ports {
    /// Reads what the kernel wrote.
    fn parse(text: &str) -> Self {
        let ranges = text.trim().split(',').filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some((first.parse().ok()?, last.parse().ok()?))
        });
        Self(Vec::new()).with(&ranges.collect())
    }

    /// The same with more.
    fn with(self, more: &BTreeSet<(u16, u16)>) -> Self {
        let mut all: Vec<_> = self.0.into_iter().chain(more.iter().copied()).collect();
        all.sort_unstable();
        let mut joined: Vec<(u16, u16)> = Vec::new();
        for (first, last) in all {
            match joined.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last)
                }
                _ => joined.push((first, last)),
            }
        }
        Self(joined)
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (first, last)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// A file that has either its old or its new content, whatever happens.
fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, content)?;
    fs::rename(new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory that looks like `/proc/sys/net` with one link.
    fn machine() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for family in ["ipv4", "ipv6"] {
            for link in ["all", "default", "eth0", "eth1"] {
                let path = directory.path().join(format!("{family}/conf/{link}"));
                fs::create_dir_all(&path).unwrap();
                fs::write(path.join("accept_redirects"), "1\n").unwrap();
                // An operator who forwards on one link only.
                let value = if link == "eth1" { "1\n" } else { "0\n" };
                fs::write(path.join("forwarding"), value).unwrap();
            }
        }
        fs::write(directory.path().join("ipv4/ip_forward"), "0\n").unwrap();
        directory
    }

    fn value(machine: &tempfile::TempDir, path: &str) -> String {
        fs::read_to_string(machine.path().join(path))
            .unwrap()
            .trim()
            .into()
    }

    /// Does what the kernel does when a switch is turned.
    fn kernel_copies(machine: &tempfile::TempDir, value: &str) {
        for link in ["all", "default", "eth0", "eth1"] {
            let path = machine.path().join(format!("ipv4/conf/{link}/forwarding"));
            fs::write(path, value).unwrap();
        }
    }

    #[test]
    fn what_was_saved_survives_a_crash_and_is_put_back() {
        let machine = machine();
        let file = machine.path().join("edge.state");
        let open = || Sysctls::under(machine.path().into(), file.clone()).unwrap();
        open().forward(&wanted(Forwarding::Needed)).unwrap();
        kernel_copies(&machine, "1");
        assert_eq!(value(&machine, "ipv4/ip_forward"), "1");
        assert_eq!(value(&machine, "ipv6/conf/all/forwarding"), "1");
        // No restore: the process was killed. The next one finds forwarding on.
        let mut next = open();
        next.forward(&wanted(Forwarding::Needed)).unwrap();
        kernel_copies(&machine, "0");
        next.restore().unwrap();
        assert_eq!(value(&machine, "ipv4/ip_forward"), "0");
        assert_eq!(value(&machine, "ipv4/conf/eth0/forwarding"), "0");
        assert_eq!(value(&machine, "ipv4/conf/eth1/forwarding"), "1");
        assert_eq!(value(&machine, "ipv6/conf/all/forwarding"), "0");
        assert!(!file.exists());
    }

    fn wanted(forwarding: Forwarding) -> Wanted {
        let text = "[[instance]]\nname = \"clat\"\nmechanism = \"clat\"\nuplink = \"eth0\"\n";
        let loaded = crate::config::parse("a.toml", "a", text.into(), Path::new("")).unwrap();
        Wanted {
            forwarding,
            ..Wanted::of(&loaded.document)
        }
    }

    /// Linux before 6.17: the machine forwards everywhere, and hears the routers of the uplink.
    #[test]
    fn a_host_goes_on_hearing_routers() {
        let machine = machine();
        let accept_ra = |link: &str| format!("ipv6/conf/{link}/accept_ra");
        for (link, text) in [("eth0", "1\n"), ("eth1", "1\n")] {
            fs::write(machine.path().join(accept_ra(link)), text).unwrap();
        }
        let file = machine.path().join("edge.state");
        let open = || Sysctls::under(machine.path().into(), file.clone()).unwrap();
        open().forward(&wanted(Forwarding::Ipv6)).unwrap();
        assert_eq!(value(&machine, "ipv6/conf/all/forwarding"), "1");
        assert_eq!(value(&machine, "ipv4/ip_forward"), "0");
        assert_eq!(value(&machine, &accept_ra("eth0")), "2");
        assert_eq!(value(&machine, &accept_ra("eth1")), "1");
        // It was killed. The link goes and comes back, as it was at first.
        let mut next = open();
        fs::write(machine.path().join(accept_ra("eth0")), "1\n").unwrap();
        next.forward(&wanted(Forwarding::Ipv6)).unwrap();
        assert_eq!(value(&machine, &accept_ra("eth0")), "2");
        next.restore().unwrap();
        assert_eq!(value(&machine, "ipv6/conf/all/forwarding"), "0");
        assert_eq!(value(&machine, &accept_ra("eth0")), "1");
        assert!(!file.exists());
    }

    /// Linux 6.17: the machine is a host as before.
    #[test]
    fn a_host_forwards_between_two_links_alone() {
        let machine = machine();
        let forced = |link: &str| format!("ipv6/conf/{link}/force_forwarding");
        let links = ["default", "eth0", "eth1", "isthmus0"];
        for link in links {
            let path = machine.path().join(forced(link));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "0\n").unwrap();
        }
        let file = machine.path().join("edge.state");
        let mut sysctls = Sysctls::under(machine.path().into(), file.clone()).unwrap();
        sysctls.forward(&wanted(Forwarding::Ipv6)).unwrap();
        assert_eq!(value(&machine, "ipv6/conf/all/forwarding"), "0");
        let values = || links.map(|link| value(&machine, &forced(link)));
        assert_eq!(values(), ["0", "1", "0", "1"]);
        // Without its link it is no router either.
        fs::remove_file(machine.path().join(forced("eth0"))).unwrap();
        sysctls.forward(&wanted(Forwarding::Ipv6)).unwrap();
        assert_eq!(value(&machine, "ipv6/conf/all/forwarding"), "0");
        fs::write(machine.path().join(forced("eth0")), "1\n").unwrap();
        sysctls.restore().unwrap();
        assert_eq!(values(), ["0", "0", "0", "0"]);
    }

    #[test]
    fn ports_are_kept_from_the_machine_and_given_back() {
        let machine = machine();
        let reserved = "ipv4/ip_local_reserved_ports";
        for (path, text) in [
            (reserved, "8080,9000-9010\n"),
            (local_ports::RANGE, "32768\t60999\n"),
            (EARLY_DEMUX, "1\n"),
        ] {
            fs::write(machine.path().join(path), text).unwrap();
        }
        let file = machine.path().join("edge.state");
        let open = || Sysctls::under(machine.path().into(), file.clone()).unwrap();
        let ports = |ranges: &[(u16, u16)]| ranges.iter().copied().collect();
        open().share(&ports(&[(9005, 40_000)])).unwrap();
        assert_eq!(value(&machine, reserved), "8080,9000-40000");
        assert_eq!(value(&machine, EARLY_DEMUX), "0");
        // The process was killed. The pool of the next one is another.
        let mut next = open();
        next.share(&ports(&[(10_000, 20_000)])).unwrap();
        assert_eq!(value(&machine, reserved), "8080,9000-9010,10000-20000");
        // One that takes all is not kept: the machine could not speak to anybody.
        let few = next.share(&ports(&[(1024, 60_100)])).unwrap_err();
        assert!(
            few.to_string().contains("899 of ports 32768 to 60999"),
            "{few}"
        );
        assert_eq!(value(&machine, reserved), "8080,9000-9010");
        next.share(&ports(&[(10_000, 20_000)])).unwrap();
        next.share(&ports(&[])).unwrap();
        assert_eq!(value(&machine, reserved), "8080,9000-9010");
        assert_eq!(value(&machine, EARLY_DEMUX), "1");
        next.share(&ports(&[(10_000, 20_000)])).unwrap();
        next.restore().unwrap();
        assert_eq!(value(&machine, reserved), "8080,9000-9010");
        assert_eq!(value(&machine, EARLY_DEMUX), "1");
        assert!(!file.exists());
    }

    #[test]
    fn forwarding_that_was_on_is_not_touched() {
        let machine = machine();
        fs::write(machine.path().join("ipv4/ip_forward"), "1\n").unwrap();
        fs::write(machine.path().join("ipv6/conf/all/forwarding"), "1\n").unwrap();
        let file = machine.path().join("edge.state");
        let mut sysctls = Sysctls::under(machine.path().into(), file.clone()).unwrap();
        sysctls.forward(&wanted(Forwarding::Needed)).unwrap();
        assert!(!file.exists());
        sysctls.restore().unwrap();
        assert_eq!(value(&machine, "ipv4/ip_forward"), "1");
    }
}
