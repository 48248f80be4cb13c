//! Forwarding of the machine: turned on where it is needed, put back as it was at the end.
//!
//! One switch per family moves many values (the kernel copies it to every link), so all of them
//! are saved before and compared after. The saved values also lie in a file, from which the next
//! start takes them if this process does not come to its end.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The switches, and the values that the kernel changes with them.
const SWITCHES: [(&str, &str, &[&str]); 2] = [
    (
        "ipv4/ip_forward",
        "ipv4/conf",
        &["forwarding", "accept_redirects"],
    ),
    ("ipv6/conf/all/forwarding", "ipv6/conf", &["forwarding"]),
];

/// Why forwarding could not be turned on or restored.
#[derive(Debug, thiserror::Error)]
pub enum SysctlError {
    /// A value cannot be read or written.
    #[error("sysctl {path}: {error}")]
    Sysctl {
        /// The value.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
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

    /// Turns forwarding on for both families where it is off, and says so in the log.
    ///
    /// # Errors
    ///
    /// If a value cannot be read or written, or not be saved.
    pub fn forward(&mut self) -> Result<(), SysctlError> {
        for (switch, directory, leaves) in SWITCHES {
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
        fs::write(&absolute, value).map_err(|error| SysctlError::Sysctl {
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
        open().forward().unwrap();
        kernel_copies(&machine, "1");
        assert_eq!(value(&machine, "ipv4/ip_forward"), "1");
        assert_eq!(value(&machine, "ipv6/conf/all/forwarding"), "1");
        // No restore: the process was killed. The next one finds forwarding on.
        let mut next = open();
        next.forward().unwrap();
        kernel_copies(&machine, "0");
        next.restore().unwrap();
        assert_eq!(value(&machine, "ipv4/ip_forward"), "0");
        assert_eq!(value(&machine, "ipv4/conf/eth0/forwarding"), "0");
        assert_eq!(value(&machine, "ipv4/conf/eth1/forwarding"), "1");
        assert_eq!(value(&machine, "ipv6/conf/all/forwarding"), "0");
        assert!(!file.exists());
    }

    #[test]
    fn forwarding_that_was_on_is_not_touched() {
        let machine = machine();
        fs::write(machine.path().join("ipv4/ip_forward"), "1\n").unwrap();
        fs::write(machine.path().join("ipv6/conf/all/forwarding"), "1\n").unwrap();
        let file = machine.path().join("edge.state");
        let mut sysctls = Sysctls::under(machine.path().into(), file.clone()).unwrap();
        sysctls.forward().unwrap();
        assert!(!file.exists());
        sysctls.restore().unwrap();
        assert_eq!(value(&machine, "ipv4/ip_forward"), "1");
    }
}
