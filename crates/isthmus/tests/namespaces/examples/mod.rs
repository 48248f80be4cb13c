//! Every example carries packets: each file of `examples` as it stands, with its neighbours, which find each other by
//! ARP and neighbour discovery.

mod rows;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use isthmus_lab::network::netns::Namespace;
use isthmus_lab::network::topology::{End, Link, Neighbours, Network, Node, Offloads, Topology};
use rows::{EXAMPLES, Example, Exchange};

use crate::gateway::{Gateway, ISTHMUS};
use crate::net::{possible, text};
use crate::softwires::traffic::{self, Hosts, Way};

/// Bytes of a TCP connection in each direction.
const BYTES: u32 = 1 << 20;
/// Time until the first packet passes: prefixes are discovered, addresses become usable.
const PATIENCE: Duration = Duration::from_secs(60);

/// A test for each row.
macro_rules! tests {
    ($($name:ident)+) => {
        $(
            #[test]
            fn $name() {
                let name = stringify!($name);
                let mut rows = EXAMPLES.iter();
                carries(rows.find(|row| row.name == name).expect("a row of this name"));
            }
        )+

        #[test]
        fn every_row_has_a_test() {
            let tested = [$(stringify!($name)),+];
            assert!(EXAMPLES.iter().all(|row| tested.contains(&row.name)));
        }
    };
}

tests! {
    nat64_basic proxy nat64_isp nat_pt container laptop nat44 siit_dc ivi clat_router clat_host siit_clat four_in_six six_in_four six_rd
    six_to_four ds_lite lw4o6 map_e map_t isatap
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn example(stem: &str) -> PathBuf {
    folder().join(format!("{stem}.toml"))
}

#[test]
fn every_example_has_a_row() {
    let files = fs::read_dir(folder()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let there: BTreeSet<String> = names.filter(|name| name.ends_with(".toml")).collect();
    let gateways = EXAMPLES.iter().flat_map(|row| row.gateways);
    let tried = gateways.map(|(_, stem)| format!("{stem}.toml")).collect();
    assert_eq!(there, tried);
}

/// Builds the network of a row, runs its gateways, and makes its exchanges.
fn carries(row: &Example) {
    if !possible() {
        return;
    }
    let network = topology(row).build().unwrap();
    for (node, lines) in row.setup {
        network.node(node).unwrap().script(lines).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let start = |node, file: &Path| start(&network, node, &folder.path().join(node), file);
    let example = |&(node, stem): &(&'static str, &str)| start(node, &example(stem));
    let mut gateways: Vec<Gateway> = row.gateways.iter().map(example).collect();
    if let Some((node, text)) = row.opposite {
        let file = folder.path().join("opposite.toml");
        fs::write(&file, text).unwrap();
        gateways.push(start(node, &file));
    }
    for gateway in &gateways {
        gateway.expect("READY=1");
    }
    for exchange in row.exchanges {
        if let Err(problem) = exchange.make(&network) {
            let seen = gateways.iter().map(|gateway| {
                let counters = text(&gateway.client("counters"));
                format!("{}\n{counters}", gateway.log())
            });
            panic!("{exchange:?}: {problem}\n{}", seen.collect::<String>());
        }
    }
    for gateway in gateways {
        assert!(gateway.stop().success());
    }
}

fn topology(row: &Example) -> Topology {
    let end = |&(node, interface, addresses): &rows::End| End::new(node, interface, addresses);
    let links = row.links.iter();
    let xdp = row.gateways.iter().any(|(_, stem)| {
        let text = fs::read_to_string(example(stem)).unwrap();
        text.contains("engine = \"xdp\"")
    });
    Topology {
        nodes: row
            .nodes
            .iter()
            .map(|&(name, role, routes)| Node::new(name, role, routes))
            .collect(),
        links: links
            .map(|[near, far]| Link::veth(end(near), end(far)))
            .collect(),
        neighbours: Neighbours::Resolved,
        // XDP programs cannot see that a checksum is missing.
        offloads: if xdp { Offloads::Off } else { Offloads::On },
    }
}

/// Starts the gateway of an example on a node, which has `/run` and `/var/log` of its own.
fn start(network: &Network, node: &str, folder: &Path, file: &Path) -> Gateway {
    let name = file.file_stem().unwrap().to_str().unwrap();
    let (run, log) = (folder.join("run"), folder.join("logs"));
    for folder in [run.join("isthmus"), log.join("isthmus")] {
        fs::create_dir_all(folder).unwrap();
    }
    symlink(
        run.join(format!("isthmus/{name}.sock")),
        folder.join("edge.sock"),
    )
    .unwrap();
    let mounts = format!(
        "mount --bind {} /run && mount --bind {} /var/log && exec \"$0\" \"$@\"",
        run.display(),
        log.display()
    );
    let mut isthmus = network.node(node).unwrap().command("sh");
    isthmus.args(["-c", &mounts, ISTHMUS]);
    Gateway::spawn(isthmus, folder, file)
}

/// Octets go from a client through a tunnel of a proxy to a server, and back.
fn tunnels([from, server]: [&Namespace; 2], by: SocketAddr, at: SocketAddr) -> Result<(), String> {
    let listener = traffic::inside(server, || TcpListener::bind(at))?;
    let mut client = traffic::inside(from, || TcpStream::connect(by))?;
    let told = |error: io::Error| error.to_string();
    client.set_read_timeout(Some(PATIENCE)).map_err(told)?;
    write!(
        client,
        "CONNECT {at} HTTP/1.1\r\nHost: {at}\r\n\r\nquestion"
    )
    .map_err(told)?;
    let mut lines = BufReader::new(&client);
    let mut status = String::new();
    lines.read_line(&mut status).map_err(told)?;
    if !status.starts_with("HTTP/1.1 200 ") {
        return Err(status);
    }
    let mut octets = [0; 8];
    listener
        .accept()
        .and_then(|(mut stream, _)| stream.read_exact(&mut octets))
        .map_err(told)?;
    match &octets {
        b"question" => Ok(()),
        other => Err(format!("{other:?} came out")),
    }
}

impl Exchange {
    /// Makes the exchange. The first packet may be late, no other.
    fn make(&self, network: &Network) -> Result<(), String> {
        let node = |name| &**network.node(name).unwrap();
        match *self {
            Self::Everything {
                from,
                to,
                server,
                at,
            } => {
                let hosts = Hosts {
                    client: node(from),
                    server: node(server),
                };
                let until = Instant::now() + PATIENCE;
                while let Err(problem) = traffic::pings(hosts, to, 56) {
                    if Instant::now() > until {
                        return Err(problem);
                    }
                }
                let way = Way { hosts, to, at };
                traffic::tcp(way, BYTES)?;
                traffic::udp(way)
            }
            Self::Connection {
                from,
                to,
                server,
                at,
            } => {
                let [to, at]: [SocketAddr; 2] = [to, at].map(|end| end.parse().unwrap());
                traffic::connects([node(from), node(server)], to, at)
            }
            Self::Tunnel {
                from,
                by,
                server,
                at,
            } => {
                let [by, at]: [SocketAddr; 2] = [by, at].map(|end| end.parse().unwrap());
                tunnels([node(from), node(server)], by, at)
            }
        }
    }
}
