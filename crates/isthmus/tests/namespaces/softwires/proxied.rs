//! Hosts that ask for ports that their CE does not have: it passes the requests on (RFC 7648).

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::num::NonZeroU16;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crab_nat::InternetProtocol;
use isthmus_lab::network::netns::Namespace;
use isthmus_lab::network::topology;
use isthmus_lab::subjects::provider::{self, Mechanism};

use super::net::Net;
use super::ports::{Asking, asks, with};
use super::traffic::inside;
use crate::gateway::{Gateway, ISTHMUS};

/// The address of an AFTR in its softwires (RFC 6333 section 6.5).
const AFTR: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 1);
/// Server port, and result codes (RFC 6887 sections 7.4 and 19).
const SERVER_PORT: u16 = 5351;
const SUCCESS: u8 = 0;
const UNSUPP_OPTION: u8 = 5;
const ADDRESS_MISMATCH: u8 = 12;
const PAGE: &str = "reached behind two gateways";

/// A B4 and its AFTR.
fn ds_lite() -> Mechanism {
    Mechanism {
        ce: with(
            provider::DS_LITE.ce,
            "pcp = { listen = [\"192.168.1.1\"], clients = [\"192.168.1.0/24\"] }",
        ),
        br: with(
            provider::DS_LITE.br,
            "pcp = { listen = [\"192.0.0.1\"], clients = [\"2001:db8:12::/48\"] }",
        ),
        ..provider::DS_LITE
    }
}

fn mapped(address: Ipv4Addr) -> [u8; 16] {
    address.to_ipv6_mapped().octets()
}

/// Returns a MAP request for TCP port 22 in the name of a client (RFC 6887 figures 2 and 9).
fn request(client: Ipv4Addr, options: &[u8]) -> Vec<u8> {
    let mut request = vec![2, 1, 0, 0, 0, 0, 0, 120];
    request.extend(mapped(client));
    request.extend(b"nonce-nonce!");
    request.extend([6, 0, 0, 0, 0, 22, 0, 0]);
    request.extend(mapped(Ipv4Addr::UNSPECIFIED));
    request.extend(options);
    request
}

/// Returns the result code of a server at an address for a request of a node.
fn result(node: &Namespace, server: Ipv4Addr, request: &[u8]) -> Option<u8> {
    let socket = inside(node, || UdpSocket::bind("0.0.0.0:0")).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    // The first may be lost while neighbours are resolved.
    for _ in 0..3 {
        let _ = socket.send_to(request, (server, SERVER_PORT));
        let mut answer = [0; 1100];
        if socket.recv(&mut answer).is_ok() {
            assert_eq!(answer[..2], [2, 0x81]);
            return Some(answer[3]);
        }
    }
    None
}

/// A browser at the server fetches a page from the host.
fn fetches(asking: &Asking<'_>, server: &Namespace, outside: SocketAddr, port: u16) {
    let host = asking.host;
    let listener = inside(asking.node, move || TcpListener::bind((host, port))).unwrap();
    let answering = thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        let mut said = [0; 1024];
        let _length = stream.read(&mut said)?;
        write!(stream, "HTTP/1.0 200 OK\r\n\r\n{PAGE}")
    });
    let mut curl = server.command("curl");
    curl.args(["--silent", "--show-error", "--max-time", "8"]);
    let output = curl.arg(format!("http://{outside}/")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), PAGE, "{output:?}");
    answering.join().unwrap().unwrap();
}

/// The host behind a B4 gets ports of the AFTR.
fn behind_a_b4(engine: &str) {
    let row = ds_lite();
    let Some(net) = Net::new(&row) else { return };
    let (ce, br) = net.start(&row, engine);
    client_asks(&net, &row, [&ce, &br]);
    refuses_pretenders(&net.client, row.client);
    assert!(ce.stop().success() && br.stop().success());
}

/// The client's host gets ports by both protocols.
fn client_asks(net: &Net, row: &Mechanism, gateways: [&Gateway; 2]) {
    let asking = Asking {
        node: &net.client,
        host: row.client.address.parse().unwrap(),
        gateway: row.client.gateway.parse().unwrap(),
    };
    asks(net, &asking, gateways);
    by_nat_pmp(net, &asking);
}

/// Requests a port by the older protocol.
fn by_nat_pmp(net: &Net, asking: &Asking<'_>) {
    let port = NonZeroU16::new(8081).unwrap();
    let outside = asking.by_nat_pmp(port);
    fetches(asking, &net.server, outside, port.get());
}

/// A host asks in the name of another host, of the B4, and of the AFTR past the B4.
fn refuses_pretenders(node: &Namespace, client: provider::Host) {
    let [host, b4]: [Ipv4Addr; 2] = [client.address, client.gateway].map(|a| a.parse().unwrap());
    let other = Ipv4Addr::new(192, 168, 1, 11);
    let third_party = [&[1, 0, 0, 16][..], &mapped(other)].concat();
    for server in [b4, AFTR] {
        let ask = |client, options: &[u8]| result(node, server, &request(client, options));
        assert_eq!(ask(other, &[]), Some(ADDRESS_MISMATCH), "{server}");
        assert_eq!(ask(host, &third_party), Some(UNSUPP_OPTION), "{server}");
        assert_eq!(ask(host, &[]), Some(SUCCESS), "{server}");
    }
}

/// Two subscribers have the same addresses on all of their links.
fn two_b4s(engine: &str) {
    let row = ds_lite();
    let Some(net) = Net::new(&row) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (ce, br) = net.start(&row, engine);
    let node = Namespace::create("neighbour").unwrap();
    let neighbour = our_b4(&net.core, (&node, row.client), folder.path());
    let host = row.client.address.parse().unwrap();
    let gateway = row.client.gateway.parse().unwrap();
    let subscribers = [&*net.client, &node].map(|node| Asking {
        node,
        host,
        gateway,
    });
    have_their_own_ports(&net, subscribers, &br);
    for gateway in [ce, br, neighbour] {
        assert!(gateway.stop().success());
    }
}

/// The same with Linux's own B4 for one of them. It is no proxy: its host asks the AFTR itself.
fn b4_of_the_kernel(engine: &str) {
    let row = ds_lite();
    let Some(net) = Net::new(&row) else { return };
    if let Err(reason) = linux_b4(&net.core, row.client.address) {
        eprintln!("skipped: {reason}");
        return;
    }
    let (ce, br) = net.start(&row, engine);
    let host = row.client.address.parse().unwrap();
    let ours = Asking {
        node: &net.client,
        host,
        gateway: row.client.gateway.parse().unwrap(),
    };
    let theirs = Asking {
        node: &net.core,
        host,
        gateway: AFTR.into(),
    };
    have_their_own_ports(&net, [ours, theirs], &br);
    assert!(ce.stop().success() && br.stop().success());
}

/// The hosts of two subscribers with the same address ask for the same port.
fn have_their_own_ports(net: &Net, subscribers: [Asking<'_>; 2], br: &Gateway) {
    let [(first, outside), (second, other)] = subscribers
        .each_ref()
        .map(|asking| asking.map(InternetProtocol::Tcp, 8080));
    let [one, two] = subscribers;
    assert_ne!(outside, other);
    let fine = |asking: &Asking<'_>, outside| {
        let reached = asking.is_reached(&net.server, outside, 8080);
        reached.unwrap_or_else(|error| panic!("{outside}: {error}\n{}", br.log()));
    };
    fine(&one, outside);
    fine(&two, other);
    // A port that one releases is not the other's.
    one.ask(async move || first.try_drop().await.map_err(|(error, _)| error))
        .unwrap();
    fine(&two, other);
    two.ask(async move || second.try_drop().await.map_err(|(error, _)| error))
        .unwrap();
}

/// Makes a node of the core the B4 of another subscriber, with a host that has this address.
fn our_b4(
    node: &Namespace,
    (host, client): (&Namespace, provider::Host),
    folder: &Path,
) -> Gateway {
    topology::join((node, "toh"), (host, "eth0")).unwrap();
    let (address, gateway) = (client.address, client.gateway);
    crate::net::ip(node, &format!("addr add {gateway}/24 dev toh"));
    crate::net::ip(host, &format!("addr add {address}/24 dev eth0"));
    crate::net::ip(host, &format!("route add default via {gateway}"));
    let file = folder.join("edge.toml");
    fs::write(
        &file,
        b4(folder, &format!("pcp = {{ listen = [\"{gateway}\"] }}")),
    )
    .unwrap();
    let gateway = Gateway::spawn(node.command(ISTHMUS), folder, &file);
    gateway.expect("READY=1");
    gateway
}

/// The configuration of that B4.
fn b4(folder: &Path, pcp: &str) -> String {
    format!(
        "[gateway]\nname = \"neighbour\"\ncontrol = \"{}\"\n[[instance]]\nname = \"b4\"\n\
         mechanism = \"ds-lite\"\nrole = \"b4\"\nlocal = \"2001:db8:12::2\"\n\
         aftr = \"2001:db8:ffff::1\"\n{pcp}\n",
        folder.join("edge.sock").display()
    )
}

/// A B4 passes on the requests that its configuration permits, from one reload to the next.
#[test]
fn reloads() {
    let row = ds_lite();
    let Some(net) = Net::new(&row) else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (ce, br) = net.start(&row, "user");
    let node = Namespace::create("neighbour").unwrap();
    let neighbour = our_b4(&net.core, (&node, row.client), folder);
    let [host, gateway] =
        [row.client.address, row.client.gateway].map(|a| a.parse::<Ipv4Addr>().unwrap());
    let asked = || result(&node, gateway, &request(host, &[]));
    assert_eq!(asked(), Some(SUCCESS), "{}", neighbour.log());
    for (clients, expected) in [
        // The same address, for others.
        (Some("192.168.7.0/24"), None),
        (Some("192.168.1.0/24"), Some(SUCCESS)),
        (None, None),
        (Some("192.168.1.10"), Some(SUCCESS)),
    ] {
        let pcp =
            |clients| format!("pcp = {{ listen = [\"{gateway}\"], clients = [\"{clients}\"] }}");
        let pcp = clients.map_or(String::new(), pcp);
        fs::write(folder.join("edge.toml"), b4(folder, &pcp)).unwrap();
        neighbour.json("reload");
        assert_eq!(asked(), expected, "{clients:?}\n{}", neighbour.log());
    }
    for gateway in [ce, br, neighbour] {
        assert!(gateway.stop().success());
    }
}

/// Makes a node of the core a B4 with a host.
fn linux_b4(node: &Namespace, host: &str) -> Result<(), String> {
    crate::net::ip(node, "addr add 2001:db8:12::2/128 dev lo nodad");
    let tunnel = "link add b4 type ip6tnl mode ipip6 local 2001:db8:12::2 \
                  remote 2001:db8:ffff::1";
    node.ip(&[tunnel.into()])
        .map_err(|error| error.to_string())?;
    crate::net::ip(node, &format!("addr add {host}/32 dev b4"));
    crate::net::ip(node, "link set b4 up");
    crate::net::ip(node, "route add default dev b4");
    Ok(())
}

/// The host behind a CLAT gets ports of the PLAT. The CLAT talks to the PLAT from its own address.
fn behind_a_clat(engine: &str) {
    let row = Mechanism {
        ce: with(
            provider::CLAT.ce,
            "pcp = { listen = [\"192.168.1.1\"], server = \"3fff:c1::2\" }",
        ),
        br: with(
            provider::CLAT.br,
            "pcp = { listen = [\"3fff:c1::2\"], clients = [\"2001:db8:12::/48\"] }",
        ),
        ..provider::CLAT
    };
    let Some(net) = Net::new(&row) else { return };
    let (ce, br) = net.start(&row, engine);
    client_asks(&net, &row, [&ce, &br]);
    assert!(ce.stop().success() && br.stop().success());
}

macro_rules! engines {
    ($($engine:ident)+) => {$(
        mod $engine {
            #[test]
            fn b4() {
                super::behind_a_b4(stringify!($engine));
            }

            #[test]
            fn b4s_with_the_same_addresses() {
                super::two_b4s(stringify!($engine));
            }

            #[test]
            fn clat() {
                super::behind_a_clat(stringify!($engine));
            }
        }
    )+};
}

engines!(user xdp tc);

/// The kernel's own softwires at one end.
mod kernel {
    #[test]
    fn b4() {
        super::b4_of_the_kernel("user");
    }

    #[test]
    fn b4_with_xdp() {
        super::b4_of_the_kernel("xdp");
    }
}
