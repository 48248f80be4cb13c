//! File systems of a test alone: memory in place of its folder, and one for BPF in there.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use isthmus_lab::network::netns::Namespace;

use crate::gateway::{Gateway, ISTHMUS};
use crate::site::Site;

/// Both, until it is dropped.
pub(crate) struct Places {
    folder: PathBuf,
    bpf: PathBuf,
}

impl Places {
    /// Puts them in the place of `folder`. Returns `None`, after printing the reason, if they cannot be had.
    pub(crate) fn new(folder: &Path) -> Option<Self> {
        let places = Self {
            folder: folder.into(),
            bpf: folder.join("bpf"),
        };
        let made = mount(&["-t", "tmpfs", "isthmus"], folder)
            && fs::create_dir(&places.bpf).is_ok()
            && mount(&["-t", "bpf", "isthmus"], &places.bpf);
        if !made {
            eprintln!("skipped: no file system for BPF can be mounted");
        }
        made.then_some(places)
    }

    /// Returns a command that runs a program in a namespace, where `ip netns exec` hides the machine's own file
    /// systems.
    pub(super) fn command(&self, node: &Namespace, program: &str) -> Command {
        let mut command = node.command("sh");
        command.args(["-c", "mount --bind \"$0\" /sys/fs/bpf && exec \"$@\""]);
        command.arg(&self.bpf).arg(program);
        command
    }

    /// Starts the gateway of a site, and waits until it is ready.
    pub(crate) fn start(&self, site: &Site) -> Gateway {
        let isthmus = self.command(site.net.node("gateway"), ISTHMUS);
        let gateway = Gateway::spawn(isthmus, &site.path(""), &site.file());
        gateway.expect("READY=1");
        gateway
    }

    /// The file system for BPF.
    pub(super) fn bpf(&self) -> &Path {
        &self.bpf
    }

    /// The folders in it.
    pub(super) fn folders(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.bpf).unwrap().map(Result::unwrap);
        let folders = entries.filter(|entry| entry.path().is_dir());
        folders
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect()
    }

    /// The names in these folders, and theirs.
    pub(super) fn left(&self) -> Vec<String> {
        let names = self.pins().into_iter().map(|pin| pin.file_name());
        let names = names.map(|name| name.into_string().unwrap());
        self.folders().into_iter().chain(names).collect()
    }

    /// The numbers of the maps and programs in them: others have other numbers.
    pub(super) fn numbers(&self) -> BTreeSet<u64> {
        let pins = self.pins().into_iter();
        pins.map(|pin| pin.metadata().unwrap().ino()).collect()
    }

    fn pins(&self) -> Vec<DirEntry> {
        let folders = self.folders().into_iter();
        let pins = folders.flat_map(|folder| fs::read_dir(self.bpf.join(folder)).unwrap());
        pins.map(Result::unwrap).collect()
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        for place in [&self.bpf, &self.folder] {
            let _gone = Command::new("umount").arg("-l").arg(place).status();
        }
    }
}

fn mount(what: &[&str], place: &Path) -> bool {
    let mounted = Command::new("mount").args(what).arg(place).status();
    mounted.is_ok_and(|status| status.success())
}
