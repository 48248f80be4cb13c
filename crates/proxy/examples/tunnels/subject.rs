//! Proxies under test, each a process on the second processor.

use std::fs;
use std::io::{self, Error, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::{park, sleep};
use std::time::Duration;

use isthmus_proxy::{Config, Server};

/// The processor of every subject; the load has the others.
const PROCESSOR: &str = "1";
const SQUID: &str = "/tmp/isthmus-tunnels-squid.conf";
const TICKS_PER_SECOND: f64 = 100.0;

/// A running proxy.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    process: Child,
}

/// Runs this proxy until the process is killed. It says where it listens.
pub(crate) fn serve(at: SocketAddr) -> io::Result<()> {
    let config = Config {
        listen: vec![at],
        allow: ["127.0.0.0/8", "192.0.2.0/24"]
            .iter()
            .flat_map(|net| net.parse())
            .collect(),
        local_destinations: ["127.0.0.0/8"].iter().flat_map(|net| net.parse()).collect(),
        ports: vec![1..=65_535],
        resolvers: vec![SocketAddr::from(([127, 0, 0, 1], 53))],
        ..Config::default()
    };
    let handle = Server::start(&config).map_err(Error::other)?;
    let address = handle.addresses().next();
    fs::write(file(std::process::id()), format!("{address:?}"))?;
    loop {
        park();
    }
}

fn file(process: u32) -> String {
    format!("/tmp/isthmus-tunnels-{process}")
}

impl Subject {
    pub(crate) fn isthmus() -> io::Result<Self> {
        let program = std::env::current_exe()?;
        let process = pinned().arg(program).arg("serve").spawn()?;
        let said = file(process.id());
        let address = (0..200).find_map(|_| {
            sleep(Duration::from_millis(20));
            let text = fs::read_to_string(&said).ok()?;
            text.trim_start_matches("Some(")
                .trim_end_matches(')')
                .parse()
                .ok()
        });
        let _ = fs::remove_file(&said);
        let address = address.ok_or_else(|| Error::other("the proxy does not start"))?;
        Ok(Self {
            name: "isthmus",
            address,
            process,
        })
    }

    pub(crate) fn squid() -> io::Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut file = fs::File::create(SQUID)?;
        write!(
            file,
            "http_port {address}\nacl all_ports port 1-65535\nhttp_access allow all\ncache deny all\n\
             access_log none\ncache_store_log none\ncache_log /dev/null\npinger_enable off\n\
             pid_filename none\nvisible_hostname lab\nshutdown_lifetime 0 seconds\n",
        )?;
        let mut process = pinned()
            .args(["squid", "-N", "-f", SQUID])
            .stderr(Stdio::null())
            .spawn()?;
        for _ in 0..250 {
            if TcpStream::connect(address).is_ok() {
                return Ok(Self {
                    name: "squid",
                    address,
                    process,
                });
            }
            sleep(Duration::from_millis(20));
        }
        let _ = process.kill();
        let _ = process.wait();
        Err(Error::other("squid is not installed, or does not start"))
    }

    /// What the process has used of its processor.
    pub(crate) fn cpu_milliseconds(&self) -> io::Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        // proc(5): fields 14 and 15, of which the third is the first here.
        let ticks = fields
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse::<f64>().ok());
        Ok(ticks.sum::<f64>() / TICKS_PER_SECOND * 1e3)
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn pinned() -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", PROCESSOR]);
    command
}
