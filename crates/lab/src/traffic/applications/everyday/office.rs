//! A virtual private network: IKEv2 (RFC 7296) by strongSwan at both ends.
//!
//! ESP is in UDP, as with NAT traversal (RFC 3948): the programs have ESP in user space, which no kernel's options can
//! take away. ESP without UDP, which has no ports, is the other row.

use std::{
    io::{Read, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream},
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use super::{super::vpn, Application, Call, Outcome, Seen, Trouble, fails};
use crate::{
    LabError, Result,
    network::{
        leftovers,
        netns::Namespace,
        process::{self, Process},
    },
    traffic::tools,
};

/// The tunnel.
pub(super) const VPN: Application = Application {
    names: &["VPN, IKEv2 with NAT traversal"],
    needs: &[
        ("charon-systemd", "charon-systemd"),
        ("swanctl", "strongswan-swanctl"),
    ],
    run: |call| tunnel(call).map(|seen| vec![Outcome::Works(seen)]),
};

/// The packets of one without UDP.
pub(super) const ESP: Application = Application {
    names: &["VPN, ESP without NAT traversal"],
    needs: &[],
    run: |call| vpn::echo(call).map(|()| vec![Outcome::Works(Seen::default())]),
};

/// The addresses of the office, which only the tunnel reaches, and of its travellers: those of the client's protocol,
/// which has no other one.
const OFFICE_V4: Inside = Inside {
    office: IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1)),
    length: 32,
    travellers: "10.77.1.0/24",
    any: "0.0.0.0",
};
const OFFICE_V6: Inside = Inside {
    office: IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1)),
    length: 128,
    travellers: "fd77:0:0:1::/120",
    any: "::",
};
const PORT: u16 = 7700;
/// The octets that go through the tunnel as a stream.
const SIZE: usize = 200_000;
const PATIENCE: Duration = Duration::from_secs(30);
/// The number of times that the tunnel is set up.
const TIMES: usize = 3;
/// The settings of both ends: the plugins that this needs, with ESP in user space, and few repetitions.
const STRONGSWAN: &str = "  load = random nonce aes sha1 sha2 hmac kdf gmp kernel-libipsec kernel-netlink socket-default vici
  retransmit_tries = 4
  retransmit_timeout = 1
  retransmit_base = 1.5
  journal {
    default = -1
  }
";
const SECRET: &str = "secrets {\n  ike-both {\n    secret = \"between the two of us\"\n  }\n}\n";

/// The network in the tunnel.
struct Inside {
    office: IpAddr,
    length: u8,
    travellers: &'static str,
    any: &'static str,
}

impl Inside {
    fn of(call: &Call<'_>) -> Self {
        match call.own[0] {
            IpAddr::V4(_) => OFFICE_V4,
            IpAddr::V6(_) => OFFICE_V6,
        }
    }

    /// Returns the connection of an end: its keys, its name, the other one's, and what it keeps of the network.
    fn connection(&self, keys: &str, [own, other]: [&str; 2], side: &str) -> String {
        format!(
            "connections {{\n  both {{\n    version = 2\n    proposals = aes128-sha256-modp2048\n    {keys}\n    \
             local {{\n      auth = psk\n      id = {own}\n    }}\n    \
             remote {{\n      auth = psk\n      id = {other}\n    }}\n    \
             children {{\n      both {{\n        {side}_ts = {}/{}\n        \
             esp_proposals = aes128-sha256\n      }}\n    }}\n  }}\n}}\n{SECRET}",
            self.office, self.length
        )
    }
}

fn tunnel(call: &Call<'_>) -> std::result::Result<Seen, Trouble> {
    let folder = leftovers::directory()?;
    let inside = Inside::of(call);
    let address = format!("addr add {}/{} dev lo", inside.office, inside.length);
    call.server.ip(&[address])?;
    let names = ["office", "traveller"];
    let server = inside.connection("pools = inside", names, "local");
    let pool = format!(
        "pools {{\n  inside {{\n    addrs = {}\n  }}\n}}\n",
        inside.travellers
    );
    let keys = format!("remote_addrs = {}\n    vips = {}", call.target, inside.any);
    let client = inside.connection(&keys, ["traveller", "office"], "remote");
    let server = server + &pool;
    let _server = End::start(call.server, folder.path(), "office", &server)?;
    let client = End::start(call.client, folder.path(), "traveller", &client)?;
    let mut beginnings = Vec::new();
    for _ in 0..TIMES {
        let begun = Instant::now();
        client.ask(&["--initiate", "--child", "both", "--timeout", "20"])?;
        beginnings.push(begun.elapsed());
        if beginnings.len() < TIMES {
            client.ask(&["--terminate", "--ike", "both", "--timeout", "20"])?;
        }
    }
    carries(call, inside.office)?;
    Ok(Seen {
        beginnings,
        stream: None,
    })
}

/// Checks that the tunnel carries pings and a stream. Paper 002 saw one that was set up and carried nothing.
fn carries(call: &Call<'_>, office: IpAddr) -> std::result::Result<(), Trouble> {
    let answered = tools::ping(
        call.client,
        &office.to_string(),
        3,
        Duration::from_millis(50),
        1000,
    )?;
    if answered.is_empty() {
        return fails("the tunnel is there, but nothing comes through it");
    }
    let socket = |source| LabError::Socket {
        action: "speak through the tunnel to",
        address: (office, PORT).into(),
        source,
    };
    let listener = call
        .server
        .enter(|| TcpListener::bind((office, PORT)).map_err(socket))?;
    let sending = thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        stream.write_all(&[b'.'; SIZE])
    });
    let connect = || TcpStream::connect_timeout(&(office, PORT).into(), PATIENCE).map_err(socket);
    let stream = call.client.enter(connect);
    let came = stream.and_then(|mut stream| {
        stream.set_read_timeout(Some(PATIENCE)).map_err(socket)?;
        let mut came = Vec::new();
        stream.read_to_end(&mut came).map_err(socket)
    });
    match came {
        Ok(SIZE) => {
            // It has ended: all has come.
            let _ = sending.join();
            Ok(())
        }
        Ok(other) => fails(format!("{other} of {SIZE} bytes come through the tunnel")),
        Err(error) => fails(error.to_string()),
    }
}

/// strongSwan on a node.
struct End<'a> {
    node: &'a Namespace,
    socket: String,
    _daemon: Process,
}

impl<'a> End<'a> {
    fn start(node: &'a Namespace, folder: &Path, name: &str, connections: &str) -> Result<Self> {
        let socket = format!("unix://{}", folder.join(format!("{name}.vici")).display());
        let settings = folder.join(format!("{name}.strongswan"));
        let text = format!(
            "charon-systemd {{\n{STRONGSWAN}  plugins {{\n    vici {{\n      socket = {socket}\n    }}\n  }}\n}}\n"
        );
        leftovers::write(&settings, text)?;
        let file = folder.join(format!("{name}.swanctl"));
        leftovers::write(&file, connections)?;
        let mut command = node.command("charon-systemd");
        let mut daemon = Process::start("charon", command.env("STRONGSWAN_CONF", settings))?;
        let path = socket.trim_start_matches("unix://").to_owned();
        daemon.wait_until(PATIENCE, || Path::new(&path).exists())?;
        let end = Self {
            node,
            socket,
            _daemon: daemon,
        };
        let file = file.display().to_string();
        end.ask(&["--load-all", "--noprompt", "--file", &file])?;
        Ok(end)
    }

    fn ask(&self, words: &[&str]) -> Result<String> {
        let mut command: Command = self.node.command("swanctl");
        process::run(command.args(words).args(["--uri", &self.socket]))
    }
}
