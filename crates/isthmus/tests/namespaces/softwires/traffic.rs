//! Traffic of applications from a client to a server and back.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{
    IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, SocketAddrV4, SocketAddrV6, TcpListener,
    TcpStream, UdpSocket,
};
use std::thread;
use std::time::Duration;

use etherparse::PacketBuilder;
use isthmus_lab::LabError;
use isthmus_lab::network::netns::Namespace;
use isthmus_lab::network::process::Process;
use socket2::{Domain, Protocol, Socket, Type};

use super::net::Net;

/// Time limit of a read.
const PATIENCE: Duration = Duration::from_secs(8);
const PORT: u16 = 7007;
/// The number of places where a packet, or the answer to it, can be too big.
const MTUS_ON_THE_WAY: u32 = 4;

/// Two hosts with the mechanism under test between them.
#[derive(Clone, Copy)]
pub(crate) struct Hosts<'a> {
    pub(crate) client: &'a Namespace,
    pub(crate) server: &'a Namespace,
}

/// The way to a server whose address the hosts write differently.
#[derive(Clone, Copy)]
pub(crate) struct Way<'a> {
    pub(crate) hosts: Hosts<'a>,
    /// The server for the client.
    pub(crate) to: &'a str,
    /// The server for itself.
    pub(crate) at: &'a str,
}

impl<'a> Hosts<'a> {
    /// The way to a server with this address on both sides.
    pub(crate) fn to(self, address: &'a str) -> Way<'a> {
        Way {
            hosts: self,
            to: address,
            at: address,
        }
    }
}

impl Way<'_> {
    fn addresses<T: From<(IpAddr, u16)>>(&self) -> [T; 2] {
        [self.to, self.at].map(|address| (address.parse().unwrap(), PORT).into())
    }
}

/// Opens a socket in a namespace, where it stays.
pub(crate) fn inside<T: Send>(
    node: &Namespace,
    open: impl FnOnce() -> io::Result<T> + Send,
) -> Result<T, String> {
    let open = || {
        open().map_err(|source| LabError::Start {
            command: "a socket".into(),
            source,
        })
    };
    node.enter(open).map_err(|error| error.to_string())
}

/// Pings from the client with this many bytes of data and more options. Returns the output of `ping`.
pub(super) fn ping(
    hosts: Hosts<'_>,
    address: &str,
    bytes: u32,
    count: &str,
    options: &[&str],
) -> String {
    let mut ping = hosts.client.command("ping");
    ping.args(["-n", "-c", count, "-i", "0.05", "-W", "1"]);
    ping.args(["-s", &bytes.to_string()]).args(options);
    let output = ping.arg(address).output().unwrap();
    [output.stdout, output.stderr]
        .map(|said| String::from_utf8_lossy(&said).into_owned())
        .concat()
}

/// The server answers pings of this many bytes, except for the first ones. By their loss the hosts discover the path
/// MTU.
pub(crate) fn pings(hosts: Hosts<'_>, address: &str, bytes: u32) -> Result<(), String> {
    for _ in 0..MTUS_ON_THE_WAY {
        // There is no need to wait long for lost packets.
        if ping(hosts, address, bytes, "1", &["-W", "0.4"]).contains("1 received") {
            break;
        }
    }
    until(&["3 received"], || {
        ping(hosts, address, bytes, "3", &["-W", "3"])
    })
}

/// Pings until one of these words is in the output: a busy machine may lose a packet, or be late.
fn until(words: &[&str], ping: impl Fn() -> String) -> Result<(), String> {
    let mut said = String::new();
    for _ in 0..3 {
        said = ping();
        if words.iter().any(|word| said.contains(word)) {
            return Ok(());
        }
    }
    Err(said)
}

/// A packet with DF is answered with this MTU, and a packet of exactly this size passes.
pub(crate) fn path_mtu(hosts: Hosts<'_>, address: &str, mtu: u32) -> Result<(), String> {
    let (headers, [short, long]) = if address.contains(':') {
        (48, [format!("mtu={mtu}\n"), format!("mtu: {mtu}\n")])
    } else {
        (28, [format!("mtu={mtu}\n"), format!("(mtu = {mtu})\n")])
    };
    let options = ["-M", "do", "-W", "3"];
    until(&[&short, &long], || {
        ping(hosts, address, 1400, "1", &options)
    })?;
    until(&["3 received"], || {
        ping(hosts, address, mtu - headers, "3", &options)
    })
}

/// A server returns this many bytes over one connection.
pub(crate) fn tcp(way: Way<'_>, bytes: u32) -> Result<(), String> {
    // No two parts of the data are equal.
    let sent: Vec<u8> = (0..bytes / 4)
        .flat_map(|word| word.wrapping_mul(0x9E37_79B1).to_be_bytes())
        .collect();
    let [to, at]: [SocketAddr; 2] = way.addresses();
    let listener = inside(way.hosts.server, || TcpListener::bind(at))?;
    let stream = inside(way.hosts.client, || {
        TcpStream::connect_timeout(&to, PATIENCE)
    })?;
    let (mut echo, _) = listener.accept().map_err(|error| error.to_string())?;
    for stream in [&stream, &echo] {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
    }
    let mut came = Vec::with_capacity(sent.len());
    let (sending, reading, echoing) = thread::scope(|scope| {
        let echoing = scope.spawn(|| {
            let mut back = echo.try_clone()?;
            let copied = io::copy(&mut echo, &mut back);
            back.shutdown(Shutdown::Write)?;
            copied
        });
        let sending = scope.spawn(|| {
            (&stream).write_all(&sent)?;
            stream.shutdown(Shutdown::Write)
        });
        let reading = (&stream).read_to_end(&mut came);
        (sending.join().unwrap(), reading, echoing.join().unwrap())
    });
    if came == sent {
        return Ok(());
    }
    Err(format!(
        "{} of {} bytes came back: {sending:?}, {echoing:?}, {reading:?}",
        came.len(),
        sent.len()
    ))
}

/// A connection from the first node to a port of the second, which sends a word. The port has its own address.
pub(crate) fn connects(
    [client, server]: [&Namespace; 2],
    to: SocketAddr,
    at: SocketAddr,
) -> Result<(), String> {
    let listener = inside(server, || TcpListener::bind(at))?;
    let mut stream = inside(client, || TcpStream::connect_timeout(&to, PATIENCE))?;
    let (mut accepted, _) = listener.accept().map_err(|error| error.to_string())?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut word = [0; 5];
    let came = accepted
        .write_all(b"hello")
        .and_then(|()| stream.read_exact(&mut word));
    came.map_err(|error| error.to_string())?;
    (&word == b"hello").then_some(()).ok_or(format!("{word:?}"))
}

/// A server returns datagrams, also of sizes that links carry in fragments only.
pub(crate) fn udp(way: Way<'_>) -> Result<(), String> {
    let [to, at]: [SocketAddr; 2] = way.addresses();
    let any = match to {
        SocketAddr::V4(_) => "0.0.0.0:0",
        SocketAddr::V6(_) => "[::]:0",
    };
    let server = inside(way.hosts.server, || UdpSocket::bind(at))?;
    let client = inside(way.hosts.client, || UdpSocket::bind(any))?;
    for socket in [&server, &client] {
        socket
            .set_read_timeout(Some(Duration::from_secs(1)))
            .unwrap();
    }
    for length in [0, 1, 100, 1200, 1400, 1472, 1473, 3000, 8000] {
        let sent: Vec<u8> = (0..length).map(|byte: u32| (byte % 251) as u8).collect();
        let exchange = || {
            let mut bytes = [0; 9000];
            client.send_to(&sent, to)?;
            loop {
                let (length, from) = server.recv_from(&mut bytes)?;
                server.send_to(&bytes[..length], from)?;
                let (length, _) = client.recv_from(&mut bytes)?;
                // One of another length was sent before, and is late.
                if length == sent.len() {
                    return Ok::<_, io::Error>(bytes[..length].to_vec());
                }
            }
        };
        // The hosts discover the path MTU by lost packets.
        let came = (0..=MTUS_ON_THE_WAY)
            .map(|_| exchange())
            .find(Result::is_ok);
        match came {
            Some(Ok(came)) if came == sent => {}
            other => return Err(format!("a datagram of {length} bytes: {other:?}")),
        }
    }
    Ok(())
}

/// Flows from many ports at once: a server returns everything, and each flow in its order.
pub(crate) fn flows(way: Way<'_>, flows: usize) -> Result<(), String> {
    const EACH: u8 = 20;
    let [to, at]: [SocketAddr; 2] = way.addresses();
    let server = inside(way.hosts.server, || UdpSocket::bind(at))?;
    let open = || UdpSocket::bind("[::]:0");
    let clients: Result<Vec<UdpSocket>, String> =
        (0..flows).map(|_| inside(way.hosts.client, open)).collect();
    let clients = clients?;
    for socket in clients.iter().chain([&server]) {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    let exchange = || -> io::Result<Vec<Vec<u8>>> {
        for number in 0..EACH {
            for client in &clients {
                client.send_to(&[number; 600], to)?;
            }
            // As many as are on the way at once: the server loses none.
            for _ in &clients {
                let mut bytes = [0; 1000];
                let (length, from) = server.recv_from(&mut bytes)?;
                server.send_to(&bytes[..length], from)?;
            }
        }
        let all = |client: &UdpSocket| {
            let one = |_| {
                let mut bytes = [0; 1000];
                client.recv(&mut bytes).map(|_| bytes[0])
            };
            (0..EACH).map(one).collect()
        };
        clients.iter().map(all).collect()
    };
    let came = exchange().map_err(|error| error.to_string())?;
    let whole: Vec<u8> = (0..EACH).collect();
    came.iter()
        .all(|flow| *flow == whole)
        .then_some(())
        .ok_or(format!("{came:?}"))
}

/// Next header of an IPv4 packet in an IPv6 packet (RFC 2473 section 3).
pub(super) const IPV4: u8 = 4;

/// A node of the core sends a datagram from an IPv4 address and port to the server, through a softwire between two
/// addresses. Returns whether the server receives it.
pub(crate) fn softwire(
    net: &Net,
    address: &str,
    ends: [&str; 2],
    from: SocketAddrV4,
) -> Result<bool, String> {
    let address: Ipv4Addr = address.parse().unwrap();
    let [here, there] = ends.map(|end| {
        let end: Ipv6Addr = end.parse().unwrap();
        SocketAddrV6::new(end, 0, 0, 0).into()
    });
    let server = inside(&net.server, || UdpSocket::bind((address, PORT)))?;
    let patience = Some(Duration::from_secs(1));
    server.set_read_timeout(patience).unwrap();
    let mut packet = Vec::new();
    PacketBuilder::ipv4(from.ip().octets(), address.octets(), 64)
        .udp(from.port(), PORT)
        .write(&mut packet, b"heard")
        .unwrap();
    let raw = inside(&net.core, || {
        let socket = Socket::new(
            Domain::IPV6,
            Type::RAW,
            Some(Protocol::from(i32::from(IPV4))),
        )?;
        socket.bind(&here)?;
        Ok(socket)
    })?;
    let sent = raw.send_to(&packet, &there);
    sent.map_err(|error| error.to_string())?;
    let mut bytes = [0; 100];
    match server.recv_from(&mut bytes) {
        Ok((length, said)) => Ok(&bytes[..length] == b"heard" && said == from.into()),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error.to_string()),
    }
}

/// Fetches a file from an FTP server, which sends its data endpoint in the control connection: by PASV, with its
/// address, in IPv4; by EPSV (RFC 2428) in either protocol.
pub(crate) fn ftp(hosts: Hosts<'_>, address: &str) -> Result<(), String> {
    const FILE: &str = "file";
    let folder = tempfile::tempdir().unwrap();
    let content: String = (0..100_000).map(|n| format!("{n}\n")).collect();
    fs::write(folder.path().join(FILE), &content).unwrap();
    let mut command = hosts.server.command("/usr/bin/python3");
    // Debian's own Python, which has the module.
    command.args(["-m", "pyftpdlib", "-p", "21", "-i", address, "-d"]);
    let server = Process::start("pyftpdlib", command.arg(folder.path()));
    let _server = server.map_err(|error| error.to_string())?;
    let (url, extended) = if address.contains(':') {
        (format!("ftp://[{address}]/{FILE}"), &["--ftp-pasv"][..])
    } else {
        let both = &["--ftp-pasv", "--disable-epsv"][..];
        (format!("ftp://{address}/{FILE}"), both)
    };
    for more in [&["--ftp-pasv"][..], extended] {
        let mut curl = hosts.client.command("curl");
        curl.args(["--silent", "--show-error", "--max-time", "20"]);
        curl.args(["--retry", "20", "--retry-delay", "1", "--retry-connrefused"]);
        let output = curl.args(more).arg(&url).output().unwrap();
        if output.stdout != content.as_bytes() {
            let came = output.stdout.len();
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{more:?}: {came} bytes of {url}: {said}"));
        }
    }
    Ok(())
}

/// Every router on the path is shown, and the server at its end.
pub(crate) fn hops(hosts: Hosts<'_>, address: &str) -> Result<(), String> {
    let mut command = hosts.client.command("traceroute");
    command.args(["-n", "-q", "1", "-w", "2", "-m", "9", address]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let hops: Vec<&str> = said
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    let right = hops.len() >= 3 && hops.last() == Some(&address) && !hops.contains(&"*");
    right.then_some(()).ok_or(said)
}
