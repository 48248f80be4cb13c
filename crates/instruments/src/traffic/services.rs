//! The real servers behind the gateway: nginx, unbound (authoritative) and iperf3.

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use tempfile::TempDir;

use crate::{
    LabError, Result,
    network::{
        cores::TESTER_CPU,
        leftovers,
        netns::Namespace,
        plan,
        process::{self, Process},
        random::Random,
        topology::Network,
    },
};

/// The domain of all names here.
pub const DOMAIN: &str = "lab.test";
/// The web server's name.
pub const WEB_NAME: &str = "www.lab.test";
/// A name with both A and AAAA records.
pub const DUAL_NAME: &str = "dual.lab.test";
/// Every name below this one has an A record.
pub const WILD: &str = "wild.lab.test";
/// The number of numbered names.
pub const NAMES: u32 = 1000;
/// The content of the web server's page.
pub const PAGE: &str = "This page comes from an IPv4-only server.\n";
/// The large file's name.
pub const FILE_NAME: &str = "file.bin";
/// The large file's size in bytes.
pub const FILE_SIZE: usize = 100_000_000;

const START: Duration = Duration::from_secs(5);

/// nginx with a page and a large file.
#[derive(Debug)]
pub struct Web(Served);

impl Web {
    /// Starts it on the IPv4-only host, port 80.
    pub fn start(network: &Network) -> Result<Self> {
        let listen = format!("listen {}:80;", plan::HOST4);
        let served = start_nginx(network.host4()?, Some(TESTER_CPU), &listen)?;
        leftovers::write(&served.directory.path().join("index.html"), PAGE)?;
        write_noise(&served.directory.path().join(FILE_NAME), FILE_SIZE)?;
        Ok(Self(served))
    }

    /// Returns the path of the large file, for comparison.
    pub fn file(&self) -> PathBuf {
        self.0.directory.path().join(FILE_NAME)
    }
}

/// nginx with files of given sizes.
#[derive(Debug)]
pub struct Files(#[expect(dead_code, reason = "it serves until it is dropped")] Served);

impl Files {
    /// Starts it on a node, port 80, with a file of each size in octets.
    pub fn serve(node: &Namespace, sizes: &[usize]) -> Result<Self> {
        let served = start_nginx(node, Some(TESTER_CPU), "listen 80; listen [::]:80;")?;
        Self::with_noise(served, sizes)
    }

    /// Starts it with the page at `/` too, also by HTTPS, with a certificate and its key in one file.
    pub fn serve_securely(
        node: &Namespace,
        sizes: &[usize],
        page: &str,
        certificate: &Path,
    ) -> Result<Self> {
        let certificate = certificate.display();
        let server = format!(
            "listen 80; listen [::]:80; listen 443 ssl; listen [::]:443 ssl;\n    \
             ssl_certificate {certificate};\n    ssl_certificate_key {certificate};"
        );
        let served = start_nginx(node, None, &server)?;
        leftovers::write(&served.directory.path().join("index.html"), page)?;
        Self::with_noise(served, sizes)
    }

    fn with_noise(served: Served, sizes: &[usize]) -> Result<Self> {
        for size in sizes {
            write_noise(&served.directory.path().join(format!("{size}.bin")), *size)?;
        }
        Ok(Self(served))
    }

    /// Returns the path of the file of a size.
    pub fn path(size: usize) -> String {
        format!("/{size}.bin")
    }
}

/// A running nginx, and the directory that it serves.
#[derive(Debug)]
pub struct Served {
    /// The process.
    pub process: Process,
    /// The directory that it serves.
    pub directory: TempDir,
}

/// Starts nginx with one worker and this server block, and waits until it listens on port 80.
pub fn start_nginx(node: &Namespace, cpu: Option<usize>, server: &str) -> Result<Served> {
    process::require("nginx", "nginx-light")?;
    let directory = leftovers::directory()?;
    let root = directory.path();
    let configuration = root.join("nginx.conf");
    let text = format!(
        "daemon off;\nworker_processes 1;\nuser root;\npid {root}/nginx.pid;\n\
         error_log stderr;\nevents {{}}\nhttp {{\n  access_log off;\n  sendfile on;\n  \
         keepalive_requests 1000000;\n  \
         client_body_temp_path {root}/body;\n  proxy_temp_path {root}/proxy;\n  \
         fastcgi_temp_path {root}/fastcgi;\n  uwsgi_temp_path {root}/uwsgi;\n  \
         scgi_temp_path {root}/scgi;\n  server {{\n    {server}\n    \
         root {root};\n  }}\n}}\n",
        root = root.display(),
    );
    leftovers::write(&configuration, text)?;
    let mut command = node.command_on(cpu, "nginx");
    command.args(["-e", "stderr", "-p"]).arg(root);
    let mut process = Process::start("nginx", command.arg("-c").arg(&configuration))?;
    process.wait_until(START, || listens(node, 80))?;
    Ok(Served { process, directory })
}

/// A DNS server for [`DOMAIN`]: IPv4 addresses, one name with an IPv6 address, and a SOA, so that resolvers may cache
/// negative answers.
#[derive(Debug)]
pub struct Dns {
    _directory: TempDir,
    _unbound: Process,
}

impl Dns {
    /// Starts it on a node, at an address that the node has, port 53.
    pub fn start(node: &Namespace, address: IpAddr) -> Result<Self> {
        process::require("unbound", "unbound")?;
        let directory = leftovers::directory()?;
        let root = directory.path();
        let mut text = format!(
            "server:\n  directory: \"{root}\"\n  chroot: \"\"\n  username: \"\"\n  \
             pidfile: \"\"\n  use-syslog: no\n  interface: {address}\n  \
             access-control: 0.0.0.0/0 allow\n  access-control: ::/0 allow\n  module-config: \"iterator\"\n  \
             local-zone: \"{DOMAIN}.\" static\n  \
             local-data: \"{DOMAIN}. 3600 IN SOA ns.{DOMAIN}. root.{DOMAIN}. 1 1h 1h 1h 1h\"\n  \
             local-data: \"{DUAL_NAME}. 3600 IN AAAA {six}\"\n  \
             local-data: \"{DUAL_NAME}. 3600 IN A {host4}\"\n  \
             local-data: \"{WEB_NAME}. 3600 IN A {host4}\"\n  \
             local-zone: \"{WILD}.\" redirect\n  \
             local-data: \"{WILD}. 3600 IN A {host4}\"\n  \
             local-data-ptr: \"{host4} 3600 {WEB_NAME}\"\n",
            root = root.display(),
            host4 = plan::HOST4,
            six = plan::HOST4_AS_IPV6,
        );
        for number in 0..NAMES {
            let name = numbered_name(number);
            let _ = writeln!(text, "  local-data: \"{name}. 3600 IN A {}\"", plan::HOST4);
        }
        text.push_str("remote-control:\n  control-enable: no\n");
        let configuration = root.join("unbound.conf");
        leftovers::write(&configuration, text)?;
        let mut command = node.command("unbound");
        let mut unbound = Process::start(
            "unbound (authoritative)",
            command.args(["-d", "-c"]).arg(&configuration),
        )?;
        unbound.wait_until(START, || {
            dig(node, &address.to_string(), &[WEB_NAME, "A"])
                .is_ok_and(|answer| answer.contains(&plan::HOST4.to_string()))
        })?;
        Ok(Self {
            _directory: directory,
            _unbound: unbound,
        })
    }
}

/// Returns a name with an A record only, for a `number` below [`NAMES`].
pub fn numbered_name(number: u32) -> String {
    format!("n{number}.{DOMAIN}")
}

/// Starts `iperf3 -s` in a namespace, bound to one CPU.
pub fn start_iperf(namespace: &Namespace, cpu: usize) -> Result<Process> {
    process::require("iperf3", "iperf3")?;
    let mut command = namespace.command_on(cpu, "iperf3");
    let mut server = Process::start("iperf3 -s", command.arg("-s"))?;
    server.wait_until(START, || listens(namespace, 5201))?;
    Ok(server)
}

/// Returns whether a name server has an IPv6 address for the web server's name.
pub fn dns_answers(client: &Namespace, server: &str) -> bool {
    dig(client, server, &[WEB_NAME, "AAAA"]).is_ok_and(|answer| answer.contains(':'))
}

/// Returns the output of `dig +short`: one attempt of one second.
pub fn dig(client: &Namespace, server: &str, question: &[&str]) -> Result<String> {
    process::require("dig", "bind9-dnsutils")?;
    let mut command = client.command("dig");
    command.args(["+short", "+time=1", "+tries=1", &format!("@{server}")]);
    process::run(command.args(question))
}

/// Returns whether a process listens on a TCP port of the namespace.
pub fn listens(namespace: &Namespace, port: u16) -> bool {
    namespace
        .run(&format!("ss -Hltn sport = :{port}"))
        .is_ok_and(|sockets| !sockets.trim().is_empty())
}

/// Writes pseudorandom content, so that the checksum shows a page that was delivered twice or out of place.
fn write_noise(path: &Path, size: usize) -> Result<()> {
    let problem = LabError::file(path);
    let mut file = std::io::BufWriter::new(fs::File::create(path).map_err(&problem)?);
    let mut noise = Random::new(0);
    let mut left = size;
    while left > 0 {
        let word = noise.number().to_le_bytes();
        let part = left.min(word.len());
        file.write_all(&word[..part]).map_err(&problem)?;
        left -= part;
    }
    file.flush().map_err(problem)
}
