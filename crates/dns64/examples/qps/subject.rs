//! The servers under test, each a process of its own on the first core.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use isthmus_core::address::rfc6052::Prefix;
use isthmus_dns64::{Config, Server, Translation};

use crate::Fallible;

/// Both synthesize under this prefix.
const NETWORK: &str = "2001:db8:64::";

pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    process: Child,
    directory: Option<PathBuf>,
}

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if let Some(directory) = &self.directory {
            let _ = fs::remove_dir_all(directory);
        }
    }
}

fn on_first_cpu(program: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", "0", program]).stderr(Stdio::inherit());
    command
}

impl Subject {
    pub(crate) fn ours(resolver: SocketAddr) -> Fallible<Self> {
        let program = std::env::current_exe()?;
        let mut process = on_first_cpu(&program.to_string_lossy())
            .args(["serve", &resolver.to_string()])
            .stdout(Stdio::piped())
            .stdin(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let output = process.stdout.take().ok_or("no output")?;
        BufReader::new(output).read_line(&mut line)?;
        Ok(Self {
            name: "isthmus",
            address: line.trim().parse()?,
            process,
            directory: None,
        })
    }

    pub(crate) fn unbound(resolver: SocketAddr) -> Fallible<Self> {
        let port = UdpSocket::bind("127.0.0.1:0")?.local_addr()?.port();
        let directory = std::env::temp_dir().join(format!("dns64-qps-{}", std::process::id()));
        fs::create_dir_all(&directory)?;
        let file = directory.join("unbound.conf");
        // Its defaults but for what makes it do the same work: one thread, dns64, this resolver,
        // a cache that holds everything.
        let configuration = format!(
            "server:\n interface: 127.0.0.1@{port}\n port: {port}\n do-daemonize: no\n chroot: \"\"\n \
             username: \"\"\n pidfile: \"\"\n use-syslog: no\n logfile: \"\"\n num-threads: 1\n \
             module-config: \"dns64 iterator\"\n dns64-prefix: {NETWORK}/96\n \
             do-not-query-localhost: no\n msg-cache-size: 64m\n rrset-cache-size: 128m\n\
             forward-zone:\n name: \".\"\n forward-addr: 127.0.0.1@{}\n\
             remote-control:\n control-enable: no\n",
            resolver.port()
        );
        fs::write(&file, configuration)?;
        let process = on_first_cpu("unbound")
            .arg("-d")
            .arg("-c")
            .arg(&file)
            .spawn()?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        Ok(Self {
            name: "unbound",
            address,
            process,
            directory: Some(directory),
        })
    }

    /// Processor time that it has used.
    pub(crate) fn cpu_seconds(&self) -> Fallible<f64> {
        // proc_pid_stat(5): fields 14 and 15, after the name in parentheses.
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        let after = stat.rsplit_once(')').ok_or("unexpected /proc/PID/stat")?.1;
        let ticks: Vec<f64> = after
            .split_whitespace()
            .skip(11)
            .take(2)
            .flat_map(str::parse)
            .collect();
        Ok(ticks.iter().sum::<f64>() / 100.0)
    }
}

/// Runs our server until the standard input ends, which is when the parent does.
pub(crate) fn serve(resolver: &str) -> Fallible<()> {
    let prefix = Prefix::new(NETWORK.parse()?, 96).map_err(|error| error.to_string())?;
    let config = Config {
        listen: vec!["127.0.0.1:0".parse()?],
        upstream: vec![resolver.parse()?],
        prefixes: vec![Translation::new(prefix)],
        // All questions come from one client.
        client_rate: 0,
        client_questions: 65_536,
        ..Config::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let server = Server::start(config).await?;
        for address in server.addresses() {
            println!("{address}");
        }
        let mut line = String::new();
        let end = tokio::task::spawn_blocking(move || std::io::stdin().read_line(&mut line));
        end.await??;
        server.stop().await;
        Ok(())
    })
}
