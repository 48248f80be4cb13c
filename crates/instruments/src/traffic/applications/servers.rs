//! The servers of the applications.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    process::Command,
    thread::{self, Scope, ScopedJoinHandle},
};

use tempfile::TempDir;

use super::ftp;
use crate::{
    LabError, Result,
    network::{leftovers, netns::Namespace, process, threads::join},
    traffic::services::{Dns, Files, PAGE, WEB_NAME},
};

/// The size of the file, in octets: more than all buffers on the path hold.
pub(super) const FILE: usize = 1_000_000;

/// All servers; dropping this value ends them.
pub(super) struct Servers {
    _web: Files,
    _dns: Dns,
    ftp: ftp::Server,
    /// The directory of the certificate, its key, and the uploaded file.
    folder: TempDir,
}

impl Servers {
    /// Starts them on a node with this address.
    pub(super) fn start(node: &Namespace, address: IpAddr) -> Result<Self> {
        let folder = leftovers::directory()?;
        let file = folder.path().join("file");
        leftovers::write(&file, vec![b'.'; FILE])?;
        let keys = certificate(folder.path())?;
        let (web, dns) = thread::scope(|scope| {
            let dns = scope.spawn(|| Dns::start(node, address));
            let web = Files::serve_securely(node, &[FILE], PAGE, &keys);
            (web, join(dns))
        });
        Ok(Self {
            _web: web?,
            _dns: dns?,
            ftp: node.enter(|| ftp::Server::listen((address, ftp::PORT).into()))?,
            folder,
        })
    }

    /// Returns the path of the certificate, which clients trust.
    pub(super) fn certificate(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    /// Returns the path of the file that a client uploads.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.path().join("file")
    }

    /// Returns the FTP server's last reply to a client whose address it refused.
    pub(super) fn refused(&self) -> Option<String> {
        self.ftp.refused()
    }

    /// Serves FTP on a node until that is ended.
    pub(super) fn serve_ftp<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        node: &'scope Namespace,
    ) -> Serving<'scope> {
        let serve = || {
            node.enter(|| {
                self.ftp.serve();
                Ok(())
            })
        };
        Serving {
            thread: scope.spawn(serve),
            server: &self.ftp,
        }
    }
}

/// A server in a thread, until it is ended.
pub(super) struct Serving<'scope> {
    thread: ScopedJoinHandle<'scope, Result<()>>,
    server: &'scope ftp::Server,
}

impl Serving<'_> {
    /// Ends it.
    pub(super) fn end(self) -> Result<()> {
        self.server.end();
        join(self.thread)
    }
}

/// Makes a self-signed certificate for the web server's name, and its key, in one file for nginx.
pub(super) fn certificate(folder: &Path) -> Result<PathBuf> {
    process::require("openssl", "openssl")?;
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| folder.join(name));
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-nodes", "-days", "2", "-newkey", "ec"]);
    command.args(["-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    command.args(["-subj", &format!("/CN={WEB_NAME}")]);
    command.args(["-addext", &format!("subjectAltName=DNS:{WEB_NAME}")]);
    command.arg("-out").arg(&certificate);
    process::run(command.arg("-keyout").arg(&key))?;
    let read = |path: &Path| std::fs::read(path).map_err(LabError::file(path));
    let both = folder.join("both.pem");
    leftovers::write(&both, [read(&certificate)?, read(&key)?].concat())?;
    Ok(both)
}
