//! The real servers behind the gateway: nginx, dnsmasq and iperf3, all on the IPv4-only host.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use tempfile::TempDir;

use crate::{
    LabError, Result,
    netns::Namespace,
    plan,
    process::{self, Process},
    topology::Network,
};

/// The domain whose every name dnsmasq gives the IPv4-only host's address, and no AAAA record.
pub const DOMAIN: &str = "lab.test";
/// The web server's name.
pub const WEB_NAME: &str = "www.lab.test";
/// What the web server's page says.
pub const PAGE: &str = "This page comes from an IPv4-only server.\n";
/// The large file's name.
pub const FILE_NAME: &str = "file.bin";
/// The large file's size in bytes.
pub const FILE_SIZE: usize = 100_000_000;

const START: Duration = Duration::from_secs(5);

/// nginx with a page and a large file.
#[derive(Debug)]
pub struct Web {
    directory: TempDir,
    _nginx: Process,
}

impl Web {
    /// Starts it on the IPv4-only host, port 80.
    pub fn start(network: &Network) -> Result<Self> {
        process::require("nginx", "nginx-light")?;
        let directory = temporary()?;
        let root = directory.path();
        write(&root.join("index.html"), PAGE.as_bytes())?;
        write_noise(&root.join(FILE_NAME), FILE_SIZE)?;
        let configuration = root.join("nginx.conf");
        let text = format!(
            "daemon off;\nworker_processes 1;\nuser root;\npid {root}/nginx.pid;\n\
             error_log stderr;\nevents {{}}\nhttp {{\n  access_log off;\n  sendfile on;\n  \
             client_body_temp_path {root}/body;\n  proxy_temp_path {root}/proxy;\n  \
             fastcgi_temp_path {root}/fastcgi;\n  uwsgi_temp_path {root}/uwsgi;\n  \
             scgi_temp_path {root}/scgi;\n  server {{\n    listen {address}:80;\n    \
             root {root};\n  }}\n}}\n",
            root = root.display(),
            address = plan::HOST4,
        );
        write(&configuration, text.as_bytes())?;
        let host4 = network.host4()?;
        let mut command = host4.command("nginx");
        let mut nginx = Process::start(
            "nginx",
            command
                .args(["-e", "stderr", "-p"])
                .arg(root)
                .arg("-c")
                .arg(&configuration),
        )?;
        nginx.wait_until(START, || listens(host4, 80))?;
        Ok(Self {
            directory,
            _nginx: nginx,
        })
    }

    /// The large file, to compare with.
    pub fn file(&self) -> PathBuf {
        self.directory.path().join(FILE_NAME)
    }
}

/// Starts dnsmasq on the IPv4-only host: names under [`DOMAIN`] have an A record and no AAAA.
pub fn start_dns(network: &Network) -> Result<Process> {
    process::require("dnsmasq", "dnsmasq-base")?;
    let host4 = network.host4()?;
    let mut command = host4.command("dnsmasq");
    command.args([
        "--keep-in-foreground",
        "--log-facility=-",
        "--conf-file=/dev/null",
        "--user=root",
        "--pid-file",
        "--no-resolv",
        "--no-hosts",
        "--bind-interfaces",
        "--local-ttl=3600",
        &format!("--listen-address={}", plan::HOST4),
        &format!("--local=/{DOMAIN}/"),
        &format!("--address=/{DOMAIN}/{}", plan::HOST4),
        &format!("--ptr-record=4.100.51.198.in-addr.arpa,{WEB_NAME}"),
    ]);
    let mut dns = Process::start("dnsmasq", &mut command)?;
    dns.wait_until(START, || {
        dig(host4, &plan::HOST4.to_string(), &[WEB_NAME, "A"])
            .is_ok_and(|answer| answer.contains(&plan::HOST4.to_string()))
    })?;
    Ok(dns)
}

/// Starts `iperf3 -s` in a namespace, bound to one CPU.
pub fn start_iperf(namespace: &Namespace, cpu: usize) -> Result<Process> {
    process::require("iperf3", "iperf3")?;
    let mut command = namespace.command_on(cpu, "iperf3");
    let mut server = Process::start("iperf3 -s", command.arg("-s"))?;
    server.wait_until(START, || listens(namespace, 5201))?;
    Ok(server)
}

/// Whether a name server gives the web server's name an IPv6 address.
pub fn dns_answers(client: &Namespace, server: &str) -> bool {
    dig(client, server, &[WEB_NAME, "AAAA"]).is_ok_and(|answer| answer.contains(':'))
}

/// What `dig +short` prints: one attempt of one second.
pub fn dig(client: &Namespace, server: &str, question: &[&str]) -> Result<String> {
    process::require("dig", "bind9-dnsutils")?;
    let mut command = client.command("dig");
    command.args(["+short", "+time=1", "+tries=1", &format!("@{server}")]);
    process::run(command.args(question))
}

fn listens(namespace: &Namespace, port: u16) -> bool {
    namespace
        .run(&format!("ss -Hltn sport = :{port}"))
        .is_ok_and(|sockets| !sockets.trim().is_empty())
}

fn temporary() -> Result<TempDir> {
    tempfile::tempdir().map_err(|source| LabError::File {
        path: std::env::temp_dir(),
        source,
    })
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    fs::write(path, content).map_err(|source| LabError::File {
        path: path.into(),
        source,
    })
}

/// Pseudorandom content, so that a page delivered twice or out of place shows in the checksum.
fn write_noise(path: &Path, size: usize) -> Result<()> {
    let problem = |source| LabError::File {
        path: path.into(),
        source,
    };
    let mut file = std::io::BufWriter::new(fs::File::create(path).map_err(problem)?);
    let mut state = 0x1234_5678_9abc_def0_u64;
    let mut left = size;
    while left > 0 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let word = state.to_le_bytes();
        let part = left.min(word.len());
        file.write_all(&word[..part]).map_err(problem)?;
        left -= part;
    }
    file.flush().map_err(problem)
}
