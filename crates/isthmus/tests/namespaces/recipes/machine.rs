//! A machine of a recipe: a namespace with `/etc`, `/run` and `/var` of its own, and something like systemd.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use isthmus_lab::network::netns::Namespace;
use isthmus_lab::network::process;
use tempfile::TempDir;

use super::page;
use crate::gateway::ISTHMUS;

/// Until daemons have found each other.
const PATIENCE: Duration = Duration::from_secs(180);

pub(super) struct Machine {
    node: Arc<Namespace>,
    folder: TempDir,
}

impl Machine {
    pub(super) fn new(node: &Arc<Namespace>) -> Self {
        let machine = Self {
            node: Arc::clone(node),
            folder: tempfile::tempdir().unwrap(),
        };
        // What daemons look up there, such as users, and nothing that they would write into the machine's own.
        process::run(
            Command::new("cp")
                .args(["-a", "/etc"])
                .arg(machine.folder.path()),
        )
        .unwrap();
        for folder in [
            "bin",
            "etc/isthmus",
            "etc/dnsmasq.d",
            "run/isthmus",
            "run/bird",
            "run/enabled",
            "run/kea",
            "run/units",
            "var/lib/dhcpcd",
            "var/lib/kea",
            "var/lib/misc",
            "var/log",
            "var/tmp",
        ] {
            fs::create_dir_all(machine.path(folder)).unwrap();
        }
        symlink("/run", machine.path("var/run")).unwrap();
        symlink(ISTHMUS, machine.path("bin/isthmus")).unwrap();
        symlink("/usr/bin/busybox", machine.path("bin/nc")).unwrap();
        machine.executable("bin/systemctl", include_str!("systemctl"));
        machine
    }

    fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(path)
    }

    fn executable(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Writes a file of this machine. A script is made executable.
    pub(super) fn write(&self, path: &str, text: &str) {
        let place = path.trim_start_matches('/');
        let own = ["etc/", "run/", "var/"]
            .iter()
            .any(|own| place.starts_with(own));
        assert!(own, "{path} is not this machine's alone");
        fs::create_dir_all(self.path(place).parent().unwrap()).unwrap();
        if text.starts_with("#!") {
            self.executable(place, text);
        } else {
            fs::write(self.path(place), text).unwrap();
        }
    }

    /// Returns a command that runs lines of a shell here.
    pub(super) fn shell(&self, script: &str) -> Command {
        let mut command = self.node.command("sh");
        let mounts = "for own in etc run var; do mount --bind \"$0/$own\" \"/$own\" || exit; done\n\
                      PATH=$0/bin:/usr/sbin:/usr/bin:/sbin:/bin exec sh -euc \"$1\"";
        command
            .args(["-c", mounts])
            .arg(self.folder.path())
            .arg(script);
        command.stdin(Stdio::null());
        command
    }

    /// Runs commands, which have to succeed.
    pub(super) fn run(&self, script: &str) {
        let output = self.shell(script).output().unwrap();
        assert!(output.status.success(), "{script}{}", self.told(&output));
    }

    /// Runs a command until it says these lines.
    pub(super) fn see(&self, command: &str, lines: &[String]) {
        let until = Instant::now() + PATIENCE;
        loop {
            let output = self.shell(command).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            if lines.iter().all(|line| page::says(&said, line)) {
                return;
            }
            assert!(
                Instant::now() < until,
                "{command}: expected {lines:#?}\n{}",
                self.told(&output)
            );
            sleep(Duration::from_millis(300));
        }
    }

    /// What a unit said.
    pub(super) fn log(&self, unit: &str) -> String {
        fs::read_to_string(self.path(format!("var/log/{unit}.log"))).unwrap()
    }

    /// What a program said, and all daemons of this machine.
    fn told(&self, output: &Output) -> String {
        let mut told = format!("{output:?}");
        for file in fs::read_dir(self.path("var/log")).unwrap().flatten() {
            let text = fs::read_to_string(file.path()).unwrap_or_default();
            told += &format!("\n--- {}\n{text}", file.file_name().display());
        }
        told
    }
}

/// Ends what the units started, by its number.
impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.shell("systemctl stop --all").output();
    }
}
