//! Whether the machine has what a configuration names. A start and a reload need it. A check of the file warns,
//! because the file may have been written for another machine.

use std::path::{Path, PathBuf};

use nix::net::if_::if_nametoindex;

use super::diagnose::{Diagnostic, Report};
use super::document::Document;
use super::source::At;
use super::{LoadError, Loaded, local_ports};

/// Something that the configuration needs, and this machine does not have.
#[derive(Clone, Debug)]
pub enum Lack<'a> {
    /// A link of this name.
    Link(&'a At<String>),
    /// The name of the TUN link: a link of another kind has it.
    Tun(&'a At<String>),
    /// The folder of the file of records.
    Folder {
        /// The file.
        file: &'a At<PathBuf>,
        /// The folder.
        folder: &'a Path,
    },
}

impl Loaded {
    /// The same, with the engine of every link that leaves it to the gateway.
    #[must_use]
    pub fn with_engines(mut self) -> Self {
        self.document.choose_engines();
        self
    }

    /// The same, with the engine of every link, if this machine has what it names.
    ///
    /// # Errors
    /// Everything that is missing, with its place in the file.
    pub fn on_this_machine(self) -> Result<Self, LoadError> {
        let this = self.with_engines();
        let lacks = this.document.lacks();
        let missing: Vec<Diagnostic> = lacks.iter().map(Lack::diagnostic).collect();
        if missing.is_empty() {
            let overlaps = local_ports::warnings(&this.document);
            return Ok(Self {
                warnings: this.warnings.with(overlaps),
                ..this
            });
        }
        Err(LoadError::Invalid(this.warnings.with(missing)))
    }

    /// The warnings, with those about this machine, and one for everything that it does not have.
    #[must_use]
    pub fn warnings_here(&self) -> Report {
        let lacks = self.document.lacks();
        let missing = lacks.iter().map(|lack| lack.diagnostic().into_warning());
        let overlaps = local_ports::warnings(&self.document);
        self.warnings
            .clone()
            .with(missing.chain(overlaps).collect())
    }
}

impl Document {
    /// Everything that it names and this machine does not have.
    #[must_use]
    pub fn lacks(&self) -> Vec<Lack<'_>> {
        let mut lacks = links(self);
        lacks.extend(tun(self));
        lacks.extend(records(self));
        lacks
    }
}

fn links(document: &Document) -> Vec<Lack<'_>> {
    let names = document.interfaces.iter().map(|interface| &interface.name);
    let discovered = document.discoveries();
    let discovered = discovered.filter_map(|(_, discovery)| discovery.interface.as_ref());
    let announced = document.announcements.iter().map(|at| &at.interface);
    let discovered: Vec<_> = discovered.collect();
    // By default it is the place of the discovery as well, which is told of once.
    let uplinks = document.hosts().map(|(_, host)| &host.uplink);
    let uplinks: Vec<_> = uplinks
        .filter(|name| discovered.iter().all(|there| there.span != name.span))
        .collect();
    names
        .chain(uplinks)
        .chain(discovered)
        .chain(announced)
        .filter(|name| if_nametoindex(name.value.as_str()).is_err())
        .map(Lack::Link)
        .collect()
}

fn tun(document: &Document) -> Option<Lack<'_>> {
    let name = &document.tun.name;
    let link = Path::new("/sys/class/net").join(name.value.as_str());
    (link.exists() && !link.join("tun_flags").exists()).then_some(Lack::Tun(name))
}

fn records(document: &Document) -> Option<Lack<'_>> {
    let file = document.records.json.as_ref()?;
    let folder = file.parent()?;
    let is_missing = !folder.as_os_str().is_empty() && !folder.is_dir();
    is_missing.then_some(Lack::Folder { file, folder })
}

impl Lack<'_> {
    /// The lack in words.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Link(name) => format!("there is no link \"{}\" on this machine", name.value),
            Self::Tun(name) => format!("\"{}\" exists and is not a TUN link", name.value),
            Self::Folder { folder, .. } => format!("there is no folder {}", folder.display()),
        }
    }

    fn diagnostic(&self) -> Diagnostic {
        let error = |span, label| Diagnostic::error(span, self.message(), label);
        match self {
            Self::Link(name) => error(name.span, "expected a link that `ip link` shows"),
            Self::Tun(name) => error(
                name.span,
                "expected a name that no link of this machine has",
            ),
            Self::Folder { file, folder } => {
                let diagnostic = error(file.span, "expected a file in an existing folder");
                diagnostic.help(format!(
                    "create it: `mkdir -p {}`; systemd does it by `LogsDirectory=`",
                    folder.display()
                ))
            }
        }
    }
}
