//! The network of the tests: a CLAT and a NAT64 on one link.
//!
//! ```text
//!  client ─ 192.168.1.0/24 ─ clat ─ 2001:db8:c::/64 ─ plat ─ 198.51.100.0/24 ─ server
//!     .10            toh .1   tow ::2       toc ::1    tos .1             .2
//! ```

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv6Addr, Shutdown, SocketAddrV6, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use isthmus_lab::LabError;
use isthmus_lab::network::netns::Namespace;
use isthmus_lab::network::topology::{self, End, Link, Neighbours, Node, Offloads, Role, Topology};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn6, recvmsg};
use socket2::{Domain, Protocol, Socket, Type};
use tempfile::TempDir;

use crate::gateway::{Gateway, ISTHMUS};
use crate::net::possible;

const SERVER: &str = "198.51.100.2";
const PATIENCE: Duration = Duration::from_secs(8);

/// The NAT64's options beside its prefix.
pub(crate) const PLAT: &str = "pool = [{ addresses = \"198.51.100.64/28\" }]
allow-non-global = true
max-sessions = 4096
max-bindings = 4096
";

/// Four namespaces. They are removed on drop.
pub(crate) struct Net {
    client: Arc<Namespace>,
    clat: Arc<Namespace>,
    plat: Arc<Namespace>,
    server: Arc<Namespace>,
    folder: TempDir,
}

impl Net {
    /// Returns `None`, after printing the reason, if namespaces cannot be made.
    pub(crate) fn new(engine: &str) -> Option<Self> {
        possible().then(|| Self::build(engine))
    }

    fn build(engine: &str) -> Self {
        let network = topology().build().unwrap();
        let node = |name| Arc::clone(network.node(name).unwrap());
        let net = Self {
            client: node("client"),
            clat: node("clat"),
            plat: node("plat"),
            server: node("server"),
            folder: tempfile::tempdir().unwrap(),
        };
        for node in [&net.clat, &net.plat] {
            // What they answer is not held back.
            node.sysctl(&[("net.ipv4.icmp_ratelimit", "0")]).unwrap();
        }
        net.join();
        if engine == "xdp" {
            // An XDP program cannot see that a checksum is missing, and gets no packet larger than a page.
            for (node, link) in [(&net.client, "eth0"), (&net.plat, "toc")] {
                node.offload(link, &["tx", "off", "gso", "off", "tso", "off"])
                    .unwrap();
            }
        }
        net
    }

    /// Creates the link between the gateways.
    pub(crate) fn join(&self) {
        topology::join((&self.clat, "tow"), (&self.plat, "toc")).unwrap();
        let of_clat = [
            "addr add 2001:db8:c::2/64 dev tow nodad",
            "addr add fe80::7/64 dev tow nodad",
            "route add default via 2001:db8:c::1",
        ];
        let of_plat = [
            "addr add 2001:db8:c::1/64 dev toc nodad",
            "addr add fe80::1/64 dev toc nodad",
            "addr add fe80::99/64 dev toc nodad",
            "route add 2001:db8:a::/64 via 2001:db8:c::2",
        ];
        self.clat.ip(&of_clat.map(Into::into)).unwrap();
        self.plat.ip(&of_plat.map(Into::into)).unwrap();
    }

    /// Removes that link.
    pub(crate) fn part(&self) {
        self.clat.ip(&["link del tow".into()]).unwrap();
    }

    /// Writes the configuration of a gateway.
    pub(crate) fn configure(&self, name: &str, instance: &str) {
        let folder = self.folder.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        let text = format!(
            "[gateway]\nname = \"{name}\"\ncontrol = \"{}\"\n[log]\nlevel = \"debug\"\n\
             [[instance]]\nname = \"{name}\"\nmechanism = \"{}\"\n{instance}\n",
            folder.join("edge.sock").display(),
            if name == "plat" { "nat64" } else { "clat" },
        );
        fs::write(folder.join("edge.toml"), text).unwrap();
    }

    fn start(&self, name: &str, node: &Namespace) -> Gateway {
        let folder = self.folder.path().join(name);
        let file = folder.join("edge.toml");
        let gateway = Gateway::spawn(node.command(ISTHMUS), &folder, &file);
        gateway.expect("READY=1");
        gateway
    }

    /// Starts the CLAT.
    pub(crate) fn clat(&self, engine: &str, discovery: &str) -> Gateway {
        let mut text = format!(
            "prefix = \"auto\"\ndiscovery = {discovery}\nlocal = \"2001:db8:a::464\"\n\
             inside = [\"192.168.0.0/16\"]\nmax-sessions = 4096\nmax-bindings = 4096\n"
        );
        if engine != "user" {
            for link in ["toh", "tow"] {
                text += &format!("[[interface]]\nname = \"{link}\"\nengine = \"{engine}\"\n");
            }
        }
        self.configure("clat", &text);
        self.start("clat", &self.clat)
    }

    /// Starts the NAT64.
    pub(crate) fn plat(&self, instance: &str) -> Gateway {
        self.configure("plat", instance);
        self.start("plat", &self.plat)
    }

    /// Makes the DNS64 the resolver of the CLAT's machine.
    pub(crate) fn resolver(&self) {
        self.clat.set_resolver("2001:db8:c::1").unwrap();
    }

    /// Returns the routing rules of the CLAT's machine, and the gateway's routes.
    pub(crate) fn routes(&self) -> String {
        let ours = "route show table all proto 146";
        ["rule".into(), ours.into(), format!("-6 {ours}")]
            .map(|what: String| self.clat.run(&format!("ip {what}")).unwrap())
            .concat()
    }

    /// Returns the output of `ping` from the client to the server.
    pub(crate) fn ping(&self) -> String {
        let mut ping = self.client.command("ping");
        let output = ping
            .args(["-n", "-c", "3", "-i", "0.2", "-W", "2", SERVER])
            .output();
        let output = output.unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// The client pings the server, and gets a megabyte from it over TCP.
    pub(crate) fn carries(&self, clat: &Gateway) {
        let said = self.ping();
        assert!(said.contains("3 received"), "{said}\n{}", clat.log());
        let address = format!("{SERVER}:7007").parse().unwrap();
        let listener = inside(&self.server, || TcpListener::bind(address));
        let stream = inside(&self.client, || {
            TcpStream::connect_timeout(&address, PATIENCE)
        });
        let (mut echo, _) = listener.accept().unwrap();
        for stream in [&stream, &echo] {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.set_write_timeout(Some(PATIENCE)).unwrap();
        }
        let sent: Vec<u8> = (0..1_u32 << 18)
            .flat_map(|word| word.wrapping_mul(0x9E37_79B1).to_be_bytes())
            .collect();
        let mut came = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut back = echo.try_clone().unwrap();
                io::copy(&mut echo, &mut back).and_then(|_| back.shutdown(Shutdown::Write))
            });
            scope.spawn(|| {
                (&stream).write_all(&sent)?;
                stream.shutdown(Shutdown::Write)
            });
            // A missing part shows below.
            let _ = (&stream).read_to_end(&mut came);
        });
        let (got, all) = (came.len(), sent.len());
        assert!(came == sent, "{got} of {all} bytes\n{}", clat.log());
    }

    /// Sends a message to all nodes of the CLAT's link, from the machine of the NAT64.
    pub(crate) fn advertise(&self, source: &str, hop_limit: u32, hex: &str) {
        advertise((&self.plat, "toc"), source, hop_limit, hex);
    }

    /// Sends a message in the other direction.
    pub(crate) fn advertise_from_clat(&self, source: &str, hop_limit: u32, hex: &str) {
        advertise((&self.clat, "tow"), source, hop_limit, hex);
    }

    /// Sends this many solicitations from the CLAT's machine, five per second. Returns the arrival times and hop
    /// limits of the advertisements.
    pub(crate) fn solicit(&self, times: u64) -> Vec<(Instant, i32, Vec<u8>)> {
        let link = self.clat.interface_index("tow").unwrap();
        inside(&self.clat, || {
            let socket = raw(link, 255)?;
            socket.set_recv_hoplimit_v6(true)?;
            socket.set_read_timeout(Some(Duration::from_millis(10)))?;
            let routers = SocketAddrV6::new("ff02::2".parse().unwrap(), 0, 0, link);
            let begun = Instant::now();
            let mut heard = Vec::new();
            let mut sent = 0;
            while sent < times {
                if begun.elapsed() >= Duration::from_millis(200) * sent as u32 {
                    socket.send_to(&[133, 0, 0, 0, 0, 0, 0, 0], &routers.into())?;
                    sent += 1;
                }
                let mut bytes = [0; 1500];
                let mut control = nix::cmsg_space!(i32);
                let mut parts = [io::IoSliceMut::new(&mut bytes)];
                let (fd, flags) = (socket.as_raw_fd(), MsgFlags::empty());
                let message = recvmsg::<SockaddrIn6>(fd, &mut parts, Some(&mut control), flags);
                let Ok(message) = message else {
                    continue;
                };
                let hops = message.cmsgs()?.find_map(|message| match message {
                    ControlMessageOwned::Ipv6HopLimit(hops) => Some(hops),
                    _ => None,
                });
                let length = message.bytes;
                if bytes[0] == 134 {
                    let message = bytes[..length].to_vec();
                    heard.push((Instant::now(), hops.unwrap_or(-1), message));
                }
            }
            Ok(heard)
        })
    }
}

/// Sends a message to all nodes of a link. The kernel completes its checksum.
fn advertise((node, name): (&Namespace, &str), source: &str, hop_limit: u32, hex: &str) {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let message: Vec<u8> = digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    let source: Ipv6Addr = source.parse().unwrap();
    let link = node.interface_index(name).unwrap();
    inside(node, || {
        let socket = raw(link, hop_limit)?;
        socket.bind(&SocketAddrV6::new(source, 0, 0, link).into())?;
        let all = SocketAddrV6::new("ff02::1".parse().unwrap(), 0, 0, link);
        socket.send_to(&message, &all.into())
    });
}

fn raw(link: u32, hop_limit: u32) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6))?;
    socket.set_multicast_if_v6(link)?;
    socket.set_multicast_hops_v6(hop_limit)?;
    Ok(socket)
}

/// Opens a resource in a namespace, where it stays.
fn inside<T: Send>(node: &Namespace, open: impl FnOnce() -> io::Result<T> + Send) -> T {
    let open = || {
        open().map_err(|source| LabError::Start {
            command: "a socket".into(),
            source,
        })
    };
    node.enter(open).unwrap()
}

/// The machines, with a link between the gateways yet to come.
fn topology() -> Topology {
    Topology {
        nodes: vec![
            Node::new("client", Role::Host, &["default via 192.168.1.1"]),
            Node::new("clat", Role::Router, &[]),
            Node::new("plat", Role::Router, &[]),
            Node::new("server", Role::Host, &["198.51.100.64/28 via 198.51.100.1"]),
        ],
        links: vec![
            Link::veth(
                End::new("clat", "toh", &["192.168.1.1/24"]),
                End::new("client", "eth0", &["192.168.1.10/24"]),
            ),
            Link::veth(
                End::new("plat", "tos", &["198.51.100.1/24"]),
                End::new("server", "eth0", &["198.51.100.2/24"]),
            ),
        ],
        neighbours: Neighbours::Resolved,
        offloads: Offloads::On,
    }
}
