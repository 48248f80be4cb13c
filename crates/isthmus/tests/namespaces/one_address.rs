//! One public address for the router itself and for the hosts behind it: the pool is a range of its ports.
//!
//! ```text
//!  host ── 2001:db8:1::/64 ── gateway ── 192.0.2.0/24 ── server
//!   ::2                    ::1       .1 = pool          .2
//! ```

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use isthmus_lab::network::process;

use crate::gateway::{Gateway, ISTHMUS};
use crate::net::{Net, text};
use crate::site::{Site, both_links};

/// The pool, which is the gateway's address on its uplink.
const OWN: &str = "192.0.2.1";
/// The same for hosts that have IPv6 only.
const OWN_FROM_V6: &str = "64:ff9b::192.0.2.1";
const SERVER: &str = "192.0.2.2";
const SERVER_FROM_V6: &str = "64:ff9b::192.0.2.2";
/// Ports of services of the router and of the server: outside the pool, and inside it.
const SSH: u16 = 22;
const IN_POOL: u16 = 25_000;
const WEB: u16 = 80;
const PATIENCE: Duration = Duration::from_secs(20);
const RESERVED: &str = "net.ipv4.ip_local_reserved_ports";

/// An instance whose pool is one address, with this name.
fn shared(address: &str) -> String {
    format!(
        "[[instance]]\nname = \"plat\"\nmechanism = \"nat64\"\nprefix = \"64:ff9b::/96\"\n\
         allow-non-global = true\npool = [{{ addresses = \"{address}\", ports = \"20000-29999\" }}]\n\
         max-sessions = 4096\nmax-bindings = 4096\n"
    )
}

#[test]
fn user_space_shares_the_address_of_the_router() {
    shares("");
}

#[test]
fn tc_shares_the_address_of_the_router() {
    shares("tc");
}

#[test]
fn xdp_shares_the_address_of_the_router() {
    shares("xdp");
}

fn links(engine: &str) -> String {
    match engine {
        "" => String::new(),
        engine => both_links(engine, ""),
    }
}

fn shares(engine: &str) {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    sysctl(net, &["-w", &format!("{RESERVED}=9000")]);
    if engine == "xdp" {
        // XDP cannot tell which checksums are not finished.
        for node in ["host", "server"] {
            net.offload(node, "eth0", &["tx", "off"]);
        }
    }
    let before = everything(net);
    site.configure(&format!("{}{}", links(engine), shared(OWN)));
    let gateway = site.start();
    let services = [
        service(net, "server", WEB),
        service(net, "gateway", SSH),
        service(net, "gateway", IN_POOL),
    ];
    let at_once = all_at_once(net, &gateway);
    assert_eq!(reserved(net), "9000,20000-29999");
    assert_eq!(gateway.json("status")["troubles"], serde_json::Value::Null);
    at_once.expect("all at once");

    // Whatever happens, the router can be reached afterwards.
    gateway.kill();
    reaches(net, "server", OWN, SSH).expect("the router after its gateway was killed");
    let gateway = site.start();
    all_at_once(net, &gateway).expect("after a crash");
    assert!(gateway.stop().success());
    reaches(net, "server", OWN, SSH).expect("the router after its gateway ended");
    assert_eq!(everything(net), before);
    drop(services);
}

/// A host with a private address has no session by the well-known prefix. It may well speak with the router.
#[test]
fn private_neighbours_reach_the_router() {
    for engine in ["", "tc", "xdp"] {
        let Some(site) = Site::new() else {
            return;
        };
        let net = &site.net;
        net.offload("server", "eth0", &["tx", "off"]);
        site.configure(&format!(
            "{}{}",
            links(engine),
            shared(OWN).replace("allow-non-global = true\n", "")
        ));
        let gateway = site.start();
        let _services = [
            service(net, "gateway", SSH),
            service(net, "gateway", IN_POOL),
        ];
        for port in [SSH, IN_POOL] {
            reaches(net, "server", OWN, port).expect(engine);
        }
        assert!(net.pings_from("gateway", SERVER), "{}", gateway.log());
    }
}

/// The router and a host behind it speak with the server at the same time, by the same address.
fn all_at_once(net: &Net, gateway: &Gateway) -> Result<(), String> {
    let mut behind = connect(net, "host", SERVER_FROM_V6, WEB)?;
    echo(&mut behind)?;
    // It has a session: it does not get to the router's own socket.
    let from = behind_the_pool(gateway);
    let pings = |node, address| match net.pings_from(node, address) {
        true => Ok(()),
        false => Err(format!("{node} pings {address}: {}", gateway.log())),
    };
    pings("gateway", SERVER)?;
    pings("server", OWN)?;
    pings("host", SERVER_FROM_V6)?;
    pings("host", OWN_FROM_V6)?;
    // Fragments, of sessions and of none.
    for (node, address) in [
        ("gateway", SERVER),
        ("server", OWN),
        ("host", SERVER_FROM_V6),
    ] {
        let mut ping = net.command(node, "ping");
        ping.args([
            "-n", "-c", "1", "-W", "2", "-M", "dont", "-s", "4000", address,
        ]);
        if !ping.output().unwrap().status.success() {
            return Err(format!("fragments from {node}: {}", gateway.log()));
        }
    }
    // From the router, and to it: at a port of its own, at one of the pool that nobody has, and from behind it.
    reaches(net, "gateway", SERVER, WEB).map_err(told("out of the router"))?;
    reaches(net, "server", OWN, SSH).map_err(told("into the router"))?;
    reaches(net, "server", OWN, IN_POOL).map_err(told("a port of the pool without a binding"))?;
    reaches(net, "host", OWN_FROM_V6, SSH).map_err(told("from behind the router to it"))?;
    reaches(net, "gateway", OWN, SSH).map_err(told("from the router to itself"))?;
    // Errors find the socket that they are about, on either side.
    refused(net, "gateway", SERVER)?;
    refused(net, "host", SERVER_FROM_V6)?;
    refused(net, "server", OWN)?;
    // The first connection has not suffered.
    echo(&mut behind).map_err(told("the connection of the host behind"))?;
    assert_eq!(behind_the_pool(gateway), from);
    Ok(())
}

fn told(what: &str) -> impl Fn(String) -> String {
    move |error| format!("{what}: {error}")
}

/// The outside endpoint of the TCP session to the server.
pub(crate) fn behind_the_pool(gateway: &Gateway) -> String {
    let output = gateway.client(&format!(
        "sessions --protocol tcp --remote {SERVER}:{WEB} --json"
    ));
    let text = text(&output);
    let session: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(session["outside-address"], OWN);
    session["outside-port"].to_string()
}

/// An address that the router gets later, and loses again.
#[test]
fn an_address_of_the_pool_becomes_the_routers_own() {
    for engine in ["", "tc"] {
        let Some(site) = Site::new() else {
            return;
        };
        let net = &site.net;
        let before = everything(net);
        site.configure(&format!("{}{}", links(engine), shared("203.0.113.9")));
        let gateway = site.start();
        let _services = [service(net, "server", WEB), service(net, "gateway", SSH)];
        let mut behind = connect(net, "host", SERVER_FROM_V6, WEB).unwrap();
        echo(&mut behind).unwrap();
        assert!(reaches(net, "server", "203.0.113.9", SSH).is_err());
        for _ in 0..2 {
            net.ip("gateway", "addr add 203.0.113.9/32 dev lo");
            soon(&gateway, || {
                reaches(net, "server", "203.0.113.9", SSH).is_ok()
            });
            soon(&gateway, || reserved(net) == "20000-29999");
            echo(&mut behind).unwrap();
            net.ip("gateway", "addr del 203.0.113.9/32 dev lo");
            soon(&gateway, || {
                !net.ip("gateway", "rule").contains("203.0.113.9")
            });
            soon(&gateway, || reserved(net).is_empty());
            echo(&mut behind).unwrap();
        }
        // Others take the rules away.
        net.ip("gateway", "addr add 203.0.113.9/32 dev lo");
        soon(&gateway, || reserved(net) == "20000-29999");
        let rules = net.ip("gateway", "rule");
        net.ip("gateway", "rule flush");
        net.ip("gateway", "rule add pref 0 lookup local");
        soon(&gateway, || {
            net.ip("gateway", "rule").contains("203.0.113.9")
        });
        for rule in [
            "rule add pref 32766 lookup main",
            "rule add pref 32767 lookup default",
        ] {
            net.ip("gateway", rule);
        }
        soon(&gateway, || net.ip("gateway", "rule") == rules);
        echo(&mut behind).unwrap();
        net.ip("gateway", "addr del 203.0.113.9/32 dev lo");
        assert!(gateway.stop().success());
        assert_eq!(everything(net), before);
    }
}

/// The traces of a killed gateway are taken back without another start.
#[test]
fn what_a_killed_gateway_left_is_forgotten() {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    let before = everything(net);
    site.configure(&shared(OWN));
    let gateway = site.start();
    assert_ne!(everything(net), before);
    gateway.kill();
    let mut forget = net.command("gateway", crate::gateway::ISTHMUS);
    let output = forget.arg("forget").arg(site.file()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(everything(net), before);
}

/// All that the gateway may have changed on its machine.
fn everything(net: &Net) -> String {
    let early_demux = sysctl(net, &["-n", "net.ipv4.ip_early_demux"]);
    format!("{}{}{early_demux}", net.dump(), reserved(net))
}

fn reserved(net: &Net) -> String {
    sysctl(net, &["-n", RESERVED])
}

fn sysctl(net: &Net, arguments: &[&str]) -> String {
    let mut sysctl = net.command("gateway", "sysctl");
    process::run(sysctl.args(arguments))
        .unwrap()
        .trim()
        .to_owned()
}

fn soon(gateway: &Gateway, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{}", gateway.log());
        thread::sleep(Duration::from_millis(100));
    }
}

/// A service that returns what it gets. It ends with the test's process.
pub(crate) fn service(net: &Net, node: &str, port: u16) -> thread::JoinHandle<()> {
    serve(net, node, SocketAddr::new("0.0.0.0".parse().unwrap(), port))
}

/// The same at an address.
pub(crate) fn serve(net: &Net, node: &str, at: SocketAddr) -> thread::JoinHandle<()> {
    let listener = net.enter(node, || TcpListener::bind(at).unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let (mut stream, mut bytes) = (stream, [0; 64]);
                while let Ok(length @ 1..) = stream.read(&mut bytes) {
                    if stream.write_all(&bytes[..length]).is_err() {
                        return;
                    }
                }
            });
        }
    })
}

pub(crate) fn connect(
    net: &Net,
    node: &str,
    address: &str,
    port: u16,
) -> Result<TcpStream, String> {
    let to = SocketAddr::new(address.parse().unwrap(), port);
    let patience = Duration::from_secs(5);
    let stream = net.enter(node, || TcpStream::connect_timeout(&to, patience));
    let stream = stream.map_err(|error| format!("{node} to {to}: {error}"))?;
    stream.set_read_timeout(Some(patience)).unwrap();
    Ok(stream)
}

pub(crate) fn echo(stream: &mut TcpStream) -> Result<(), String> {
    let mut bytes = [0; 5];
    stream
        .write_all(b"hello")
        .map_err(|error| error.to_string())?;
    stream
        .read_exact(&mut bytes)
        .map_err(|error| error.to_string())?;
    assert_eq!(&bytes, b"hello");
    Ok(())
}

/// Whether a service answers.
pub(crate) fn reaches(net: &Net, node: &str, address: &str, port: u16) -> Result<(), String> {
    echo(&mut connect(net, node, address, port)?)
}

/// Whether Port Unreachable reaches a UDP socket whose port nobody has at the other end.
fn refused(net: &Net, node: &str, address: &str) -> Result<(), String> {
    let to: IpAddr = address.parse().unwrap();
    let any: IpAddr = if to.is_ipv4() { "0.0.0.0" } else { "::" }.parse().unwrap();
    let socket = net.enter(node, || UdpSocket::bind((any, 0)).unwrap());
    socket
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    net.enter(node, || socket.connect((to, 9)).unwrap());
    socket.send(b"anybody?").unwrap();
    match socket.recv(&mut [0; 16]) {
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => Ok(()),
        other => Err(format!("{node} hears of {address}: {other:?}")),
    }
}

/// `up`, `check` and `doctor` name what the pool and the router have in common.
#[test]
fn ports_that_overlap_are_named() {
    let Some(site) = Site::new() else {
        return;
    };
    let net = &site.net;
    let _service = service(net, "gateway", IN_POOL);
    let whole = shared(OWN).replace("20000-29999", "1024-65535");
    site.configure(&whole);
    let gateway = site.start();
    let of_file = [
        "sockets of this machine have ports of the pool: TCP 25000",
        "connections of this machine itself have ports 32768 to 60999",
    ];
    for part in of_file.into_iter().chain(["0 of ports 32768 to 60999"]) {
        assert!(gateway.log().contains(part), "{part}: {}", gateway.log());
    }
    for command in ["check", "doctor"] {
        let mut isthmus = net.command("gateway", ISTHMUS);
        let output = isthmus.arg(command).arg(site.file()).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        for part in of_file {
            assert!(said.contains(part), "{command}: {part}: {said}");
        }
    }
    // Nothing is kept from them then: they would have no ports at all.
    assert_eq!(reserved(net), "");
    assert!(net.pings_from("gateway", SERVER), "{}", gateway.log());
    assert!(gateway.stop().success());
}
