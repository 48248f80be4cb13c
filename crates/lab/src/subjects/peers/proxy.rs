//! Web servers, and Isthmus itself, as dual-stack HTTP proxies: they take a client's connection and open another.

use std::{net::Ipv4Addr, path::Path};

use super::{start_server, version};
use crate::{
    Result,
    network::{
        device::{Device, Started},
        leftovers, plan,
        process::{self, Process},
        topology::Network,
    },
    subjects::isthmus,
    traffic::services::{self, Served},
};

/// A proxy on the gateway, on one core. It forwards requests that arrive over IPv6 to the IPv4 host, and caches
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proxy {
    /// Isthmus.
    Isthmus,
    /// nginx.
    Nginx,
    /// The Apache HTTP server.
    Apache,
    /// squid.
    Squid,
}

/// The host that every request names.
const NAME: &str = "lab";
/// The resolver of Isthmus, which reads no file of hosts.
const RESOLVER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
/// The file with the server's name, for those that need one.
const HOSTS: &str = "hosts";
/// Debian's directory of Apache's modules.
const MODULES: &str = "/usr/lib/apache2/modules";

impl Proxy {
    /// Returns its program and Debian package.
    fn program(self) -> [&'static str; 2] {
        match self {
            // Its resolver: the program itself is beside this one.
            Self::Isthmus => ["dnsmasq", "dnsmasq-base"],
            Self::Nginx => ["nginx", "nginx-light"],
            Self::Apache => ["apache2", "apache2-bin"],
            Self::Squid => ["squid", "squid"],
        }
    }

    /// Checks that it is installed.
    ///
    /// # Errors
    /// It is not installed.
    pub(crate) fn require(self) -> Result<()> {
        if self == Self::Isthmus {
            isthmus::program()?;
        }
        let [program, package] = self.program();
        process::require(program, package)
    }

    /// Returns its name in reports, with its version.
    pub(crate) fn implementation(self) -> String {
        let [_, package] = self.program();
        let name = match self {
            Self::Isthmus => return concat!("Isthmus ", env!("CARGO_PKG_VERSION")).into(),
            Self::Nginx => "nginx",
            Self::Apache => "Apache",
            Self::Squid => "squid",
        };
        format!("{name}{}", version(package))
    }
}

impl Device for Proxy {
    fn name(&self) -> String {
        format!("{} as a proxy", self.implementation())
    }

    fn start(&self, network: &Network, cpu: usize) -> Result<Started> {
        self.require()?;
        let (arguments, configuration): (&[&str], fn(&Path) -> String) = match self {
            Self::Isthmus => return isthmus(network, cpu),
            Self::Nginx => return nginx(network, cpu),
            Self::Apache => (&["-D", "FOREGROUND", "-f"], apache),
            Self::Squid => (&["-N", "-d", "1", "-f"], squid),
        };
        let [program, _] = self.program();
        let files = leftovers::directory()?;
        leftovers::write(
            &files.path().join(HOSTS),
            format!("{} {NAME}\n", plan::HOST4),
        )?;
        let configuration = configuration(files.path());
        let gateway = network.gateway()?;
        let program = (program, arguments);
        start_server(gateway, cpu, program, (files, configuration), || {
            services::listens(gateway, 80)
        })
    }
}

fn nginx(network: &Network, cpu: usize) -> Result<Started> {
    let server = format!(
        "listen [{}]:80;\n    location / {{\n      proxy_pass http://{};\n      \
         proxy_http_version 1.1;\n      proxy_set_header Connection \"\";\n    }}",
        plan::GATEWAY6,
        plan::HOST4,
    );
    let Served { directory, process } =
        services::start_nginx(network.gateway()?, Some(cpu), &server)?;
    Ok(Started {
        processes: vec![process],
        files: Some(directory),
        ..Started::default()
    })
}

/// Starts Isthmus as the server of every site, with a resolver that knows the one that there is.
fn isthmus(network: &Network, cpu: usize) -> Result<Started> {
    let gateway = network.gateway()?;
    let mut dnsmasq = gateway.command("dnsmasq");
    dnsmasq
        .args([
            "--keep-in-foreground",
            "--conf-file=/dev/null",
            "--no-resolv",
        ])
        .args([
            "--no-hosts",
            "--user=root",
            "--pid-file=",
            "--bind-interfaces",
        ])
        .args(["--local-ttl=3600"])
        .arg(format!("--listen-address={RESOLVER}"))
        .arg(format!("--address=/{NAME}/{}", plan::HOST4));
    let resolver = Process::start("dnsmasq", &mut dnsmasq)?;
    let program = isthmus::program()?.display().to_string();
    let files = leftovers::directory()?;
    let configuration = isthmus_configuration(files.path());
    let program = (program.as_str(), &["up"][..]);
    let mut started = start_server(gateway, cpu, program, (files, configuration), || {
        services::listens(gateway, 80)
    })?;
    started.processes.push(resolver);
    Ok(started)
}

fn isthmus_configuration(directory: &Path) -> String {
    format!(
        "[gateway]\nname = \"lab\"\ncontrol = \"{}/lab.sock\"\n\n\
         [proxy]\nsites = [\"[{}]:80\"]\nallow = [\"{}\"]\ndestinations = [\"{}\"]\n\
         resolvers = [\"{RESOLVER}:53\"]\nclient-connections = 4096\n",
        directory.display(),
        plan::GATEWAY6,
        plan::HOST6,
        plan::HOST4,
    )
}

/// Returns a configuration with one process of threads, more than any experiment has connections.
fn apache(directory: &Path) -> String {
    let module = |name| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n");
    let modules = ["mpm_event", "authz_core", "proxy", "proxy_http"].map(module);
    format!(
        "{}ServerName lab\nServerRoot {directory}\nDefaultRuntimeDir {directory}\n\
         PidFile {directory}/pid\nErrorLog /dev/stderr\nUser www-data\nGroup www-data\n\
         Listen [{}]:80\nServerLimit 1\nStartServers 1\nThreadLimit 256\nThreadsPerChild 256\n\
         MaxRequestWorkers 256\nMaxKeepAliveRequests 0\nKeepAliveTimeout 60\n\
         ProxyPass / http://{}/\n",
        modules.concat(),
        plan::GATEWAY6,
        plan::HOST4,
        directory = directory.display(),
    )
}

/// Returns a configuration as an "accelerator" of one server, whose address comes from a file of hosts. A peer would
/// be probed first.
fn squid(directory: &Path) -> String {
    format!(
        "http_port [{}]:80 accel allow-direct no-vhost defaultsite=lab\nhosts_file {directory}/{HOSTS}\n\
         always_direct allow all\n\
         http_access allow all\ncache deny all\nvisible_hostname lab\npid_filename none\n\
         access_log none\ncache_store_log none\ncache_log /dev/null\npinger_enable off\n\
         shutdown_lifetime 0 seconds\ncoredump_dir {directory}\n",
        plan::GATEWAY6,
        directory = directory.display(),
    )
}
