//! Files by FTP through a translator with a gateway for it (RFC 6384, RFC 2766 section 6): a real client, and a real server
//! that is older than EPSV and EPRT.

use std::fs;
use std::net::SocketAddr;

use isthmus_lab::network::process::{self, Process};

use crate::net::{Net, text};
use crate::site::{Site, both_links};

/// A server that knows PASV and PORT (`old`), or EPSV and EPRT.
const SERVER: &str = r#"
import sys
from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.servers import FTPServer
address, folder, age = sys.argv[1:]
authorizer = DummyAuthorizer()
authorizer.add_anonymous(folder, perm="elradfmw")
class Handler(FTPHandler):
    pass
Handler.authorizer = authorizer
# A server behind a translator of ports sees another source for data than for commands.
Handler.permit_foreign_addresses = True
Handler.proto_cmds = {name: what for name, what in FTPHandler.proto_cmds.items()
                      if name not in (["EPSV", "EPRT"] if age == "old" else ["PASV", "PORT"])}
FTPServer((address, 21), Handler).serve_forever()
"#;

/// A client that sends a command in two halves, and prints the reply.
const HALVES: &str = r#"
import socket, time
client = socket.create_connection(("64:ff9b::192.0.2.2", 21), 30)
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
replies = client.makefile()
replies.readline()
for command in ["USER anonymous\r\n", "PASS x\r\n"]:
    client.sendall(command.encode())
    replies.readline()
for half in [b"EP", b"SV\r\n"]:
    client.sendall(half)
    time.sleep(0.05)
print(replies.readline())
"#;

const NAT64: &str = r#"
[[instance]]
name = "plat"
mechanism = "nat64"
prefix = "64:ff9b::/96"
allow-non-global = true
pool = [{ addresses = "203.0.113.0/28" }]
max-sessions = 4096
max-bindings = 4096
"#;

const NAT_PT: &str = r#"
[[instance]]
name = "history"
mechanism = "nat-pt"
variant = "basic"
prefix = "2001:db8:64::/96"
inside = ["2001:db8:1::/64"]
pool = [{ addresses = "203.0.113.0/29" }]
eam = [{ v4 = "203.0.113.2", v6 = "2001:db8:1::2" }]
alg = ["ftp"]
max-sessions = 4096
max-bindings = 4096
"#;

#[test]
fn files_pass_in_user_space() {
    files_of_an_old_server("");
}

#[test]
fn files_pass_in_tc() {
    files_of_an_old_server(&both_links("tc", ""));
}

#[test]
fn files_pass_in_xdp() {
    files_of_an_old_server(&both_links("xdp", ""));
}

fn server(net: &Net, node: &str, address: &str, folder: &str, age: &str) -> Process {
    let mut python = net.command(node, "/usr/bin/python3");
    python.args(["-c", SERVER, address, folder, age]);
    let at = SocketAddr::new(address.parse().unwrap(), 21);
    net.server(node, &mut python, at)
}

/// Whether all that is needed is there. Prints the reason if not.
fn possible() -> bool {
    let mut python = std::process::Command::new("/usr/bin/python3");
    let has_server = python.args(["-c", "import pyftpdlib"]).output();
    if !has_server.is_ok_and(|output| output.status.success()) {
        println!("skipped: /usr/bin/python3 has no pyftpdlib (Debian: python3-pyftpdlib)");
        return false;
    }
    if process::require("curl", "curl").is_err() {
        println!("skipped: curl is not installed");
        return false;
    }
    true
}

/// Fetches or sends a file from a node. Returns what curl prints, or why it did not work.
fn curl(net: &Net, node: &str, arguments: &[&str]) -> Result<String, String> {
    let mut curl = net.command(node, "curl");
    curl.args(["--silent", "--show-error", "--max-time", "3"]);
    let output = curl.args(arguments).output().unwrap();
    if output.status.success() {
        return Ok(text(&output));
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

fn files_of_an_old_server(links: &str) {
    let Some(site) = Site::new().filter(|_| possible()) else {
        return;
    };
    let net = &site.net;
    for node in ["host", "server"] {
        // XDP cannot tell which checksums are not finished.
        net.offload(node, "eth0", &["tx", "off"]);
    }
    let folder = tempfile::tempdir().unwrap();
    let content = "a line of a file\n".repeat(10_000);
    fs::write(folder.path().join("file"), &content).unwrap();
    fs::write(site.path("sent"), &content).unwrap();
    let sent = site.path("sent").display().to_string();
    let (there, passive) = ("ftp://[64:ff9b::192.0.2.2]", ["--no-ftp-skip-pasv-ip"]);
    let active = ["--ftp-port", "-"];
    let folder_name = folder.path().to_str().unwrap();
    let _server = server(net, "server", "192.0.2.2", folder_name, "old");

    // Without the gateway neither works: the server knows neither command, and PORT would have an address of IPv6.
    site.configure(&format!("{links}{NAT64}"));
    let gateway = site.start();
    let file = format!("{there}/file");
    for mode in [&passive[..], &active] {
        curl(net, "host", &[mode, &["--disable-eprt", &file]].concat()).expect_err("no gateway");
    }
    assert!(gateway.stop().success());

    site.configure(&format!("{links}{NAT64}alg = [\"ftp\"]\n"));
    let gateway = site.start();
    for (mode, name) in [(&passive[..], "passive"), (&active, "active")] {
        let fetched = curl(net, "host", &[mode, &[file.as_str()]].concat());
        assert_eq!(
            fetched.unwrap_or_else(|error| panic!("{name}: {error}: {}", gateway.log())),
            content,
            "{name}"
        );
        let to = format!("{there}/{name}");
        let stored = curl(
            net,
            "host",
            &[mode, &["--upload-file", &sent, &to]].concat(),
        );
        stored.unwrap_or_else(|error| panic!("{name}: {error}: {}", gateway.log()));
        let stored = fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(stored, content, "{name}");
    }
    // The host's kernel sends again what was kept back, and both halves together.
    let mut python = net.command("host", "/usr/bin/python3");
    let said = text(&python.args(["-c", HALVES]).output().unwrap());
    assert!(said.starts_with("229 "), "{said}: {}", gateway.log());
}

/// RFC 2766 section 6.1: the client has IPv4 and knows PASV and PORT, the server has IPv6 and knows EPSV and EPRT.
#[test]
fn an_old_client_reaches_an_ipv6_server() {
    let Some(site) = Site::new().filter(|_| possible()) else {
        return;
    };
    let net = &site.net;
    let folder = tempfile::tempdir().unwrap();
    let content = "a line of a file\n".repeat(10_000);
    fs::write(folder.path().join("file"), &content).unwrap();
    let folder_name = folder.path().to_str().unwrap();
    let _server = server(net, "host", "2001:db8:1::2", folder_name, "new");
    site.configure(NAT_PT);
    let gateway = site.start();
    for mode in [
        &["--disable-epsv"][..],
        &["--ftp-port", "-", "--disable-eprt"],
    ] {
        let fetched = curl(net, "server", &[mode, &["ftp://203.0.113.2/file"]].concat());
        let fetched =
            fetched.unwrap_or_else(|error| panic!("{mode:?}: {error}: {}", gateway.log()));
        assert_eq!(fetched, content, "{mode:?}");
    }
}
