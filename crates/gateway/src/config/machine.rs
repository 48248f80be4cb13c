//! Whether the machine has what a configuration names. Asked at a start and a reload, not by a mere
//! check: a file may have been written for another machine.

use std::path::Path;

use nix::net::if_::if_nametoindex;

use super::diagnose::Diagnostic;
use super::document::Document;
use super::{LoadError, Loaded, local_ports};

impl Loaded {
    /// The same, if this machine has what it names.
    ///
    /// # Errors
    /// Everything that is missing, with its place in the file.
    pub fn on_this_machine(self) -> Result<Self, LoadError> {
        let missing: Vec<Diagnostic> = [
            interfaces(&self.document),
            tun(&self.document),
            records(&self.document),
        ]
        .into_iter()
        .flatten()
        .collect();
        if missing.is_empty() {
            let overlaps = local_ports::overlaps(&self.document);
            return Ok(Self {
                warnings: self.warnings.with(overlaps),
                ..self
            });
        }
        Err(LoadError::Invalid(self.warnings.with(missing)))
    }
}

fn interfaces(document: &Document) -> Vec<Diagnostic> {
    let names = document.interfaces.iter().map(|interface| &interface.name);
    let discovered = document.discoveries();
    let discovered = discovered.filter_map(|(_, discovery)| discovery.interface.as_ref());
    let announced = document.announcements.iter().map(|at| &at.interface);
    names
        .chain(discovered)
        .chain(announced)
        .filter(|name| if_nametoindex(name.value.as_str()).is_err())
        .map(|name| {
            let message = format!("there is no link \"{}\" on this machine", name.value);
            let label = "expected a link that `ip link` shows";
            Diagnostic::error(name.span, message, label)
        })
        .collect()
}

fn tun(document: &Document) -> Vec<Diagnostic> {
    let name = &document.tun.name;
    let link = Path::new("/sys/class/net").join(name.value.as_str());
    if !link.exists() || link.join("tun_flags").exists() {
        return Vec::new();
    }
    let message = format!("\"{}\" exists and is not a TUN link", name.value);
    let label = "expected a name that no link of this machine has";
    vec![Diagnostic::error(name.span, message, label)]
}

fn records(document: &Document) -> Vec<Diagnostic> {
    let Some(path) = &document.records.json else {
        return Vec::new();
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => return Vec::new(),
    };
    if folder.is_dir() {
        return Vec::new();
    }
    let message = format!("there is no folder {}", folder.display());
    let label = "expected a file in an existing folder";
    let help = format!(
        "create it: `mkdir -p {}`; systemd does it by `LogsDirectory=`",
        folder.display()
    );
    vec![Diagnostic::error(path.span, message, label).help(help)]
}
