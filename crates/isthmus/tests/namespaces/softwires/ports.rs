//! Hosts that ask for ports are reachable there: PCP and NAT-PMP with an independent client.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::num::NonZeroU16;
use std::thread;
use std::time::Duration;

use crab_nat::{InternetProtocol, PortMapping, PortMappingOptions, PortMappingType, natpmp};
use isthmus_lab::LabError;
use isthmus_lab::network::netns::Namespace;
use isthmus_lab::subjects::isthmus::Keys;

use super::net::Net;
use super::traffic::inside;
use crate::gateway::Gateway;
use isthmus_lab::subjects::provider::{self, Mechanism};

/// Time limit of a packet.
const PATIENCE: Duration = Duration::from_secs(5);
/// The sweeper removes a released binding within this time.
const SWEPT: Duration = Duration::from_secs(4);

/// The host that asks and the server that it asks.
pub(super) struct Asking<'a> {
    pub(super) node: &'a Namespace,
    pub(super) host: IpAddr,
    pub(super) gateway: IpAddr,
}

impl Asking<'_> {
    /// Runs a conversation with the gateway from the host.
    pub(super) fn ask<T: Send>(&self, conversation: impl AsyncFnOnce() -> T + Send) -> T {
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let runtime = runtime.map_err(|source| LabError::Start {
                command: "a client".into(),
                source,
            })?;
            Ok(runtime.block_on(conversation()))
        };
        self.node.enter(run).unwrap()
    }

    /// Requests a NAT-PMP mapping for a TCP port. Returns the outside endpoint.
    pub(super) fn by_nat_pmp(&self, port: NonZeroU16) -> SocketAddr {
        let gateway = self.gateway;
        let options = PortMappingOptions::default();
        let mapping = self.ask(async move || {
            natpmp::port_mapping(gateway.into(), InternetProtocol::Tcp, port, options).await
        });
        let address = self.ask(async move || natpmp::external_address(gateway.into(), None).await);
        SocketAddr::new(
            address.unwrap().into(),
            mapping.unwrap().external_port().get(),
        )
    }

    /// Requests a PCP mapping for a port. Returns the port and the outside endpoint.
    pub(super) fn map(&self, protocol: InternetProtocol, port: u16) -> (PortMapping, SocketAddr) {
        let port = NonZeroU16::new(port).unwrap();
        let (gateway, host) = (self.gateway, self.host);
        let options = PortMappingOptions::default();
        let mapping = self.ask(async move || {
            PortMapping::new(gateway.into(), host, protocol, port, options).await
        });
        let mapping = mapping.unwrap();
        let PortMappingType::Pcp { external_ip, .. } = mapping.mapping_type() else {
            panic!("not by PCP: {mapping:?}");
        };
        let outside = SocketAddr::new(external_ip, mapping.external_port().get());
        (mapping, outside)
    }

    /// The server connects to the outside endpoint and talks to the host at its port.
    pub(super) fn is_reached(
        &self,
        server: &Namespace,
        outside: SocketAddr,
        port: u16,
    ) -> Result<(), String> {
        let host = self.host;
        let listener = inside(self.node, move || TcpListener::bind((host, port)))?;
        let answering = thread::spawn(move || {
            let (mut stream, _) = listener.accept()?;
            let mut said = [0; 4];
            stream.read_exact(&mut said)?;
            stream.write_all(&said)
        });
        let mut stream = inside(server, move || {
            TcpStream::connect_timeout(&outside, PATIENCE)
        })?;
        let mut echo = [0; 4];
        stream
            .set_read_timeout(Some(PATIENCE))
            .and_then(|()| stream.write_all(b"ping"))
            .and_then(|()| stream.read_exact(&mut echo))
            .map_err(|error| error.to_string())?;
        answering
            .join()
            .unwrap()
            .map_err(|error| error.to_string())?;
        (&echo == b"ping")
            .then_some(())
            .ok_or("another echo".into())
    }

    /// Whether a datagram of the server to the outside endpoint reaches the host.
    fn hears(&self, server: &Namespace, outside: SocketAddr, port: u16) -> bool {
        let host = self.host;
        let socket = inside(self.node, move || UdpSocket::bind((host, port))).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(1)))
            .unwrap();
        let sender = inside(server, || UdpSocket::bind("0.0.0.0:0")).unwrap();
        // The first may be lost while neighbours are resolved.
        for _ in 0..3 {
            // An ICMP error for the previous datagram arrives as an error of this one.
            let _ = sender.send_to(b"datagram", outside);
            let mut heard = [0; 16];
            if socket.recv(&mut heard).is_ok() {
                return true;
            }
        }
        false
    }
}

/// Requests of hosts, and their results.
pub(super) fn asks(net: &Net, asking: &Asking<'_>, gateways: [&Gateway; 2]) {
    let logs = || gateways.map(Gateway::log).join("\n");
    let (web, outside) = asking.map(InternetProtocol::Tcp, 8080);
    asking
        .is_reached(&net.server, outside, 8080)
        .unwrap_or_else(|error| panic!("{outside}: {error}\n{}", logs()));
    let renewed = asking.ask(async move || {
        let mut web = web;
        web.renew().await.map(|()| web)
    });
    let web = renewed.unwrap();
    assert_eq!(web.external_port().get(), outside.port());

    let (game, outside) = asking.map(InternetProtocol::Udp, 3074);
    assert!(
        asking.hears(&net.server, outside, 3074),
        "{outside}\n{}",
        logs()
    );
    let (unused, outside) = asking.map(InternetProtocol::Udp, 3075);
    asking
        .ask(async move || unused.try_drop().await.map_err(|(error, _)| error))
        .unwrap();
    thread::sleep(SWEPT);
    assert!(
        !asking.hears(&net.server, outside, 3075),
        "{outside}\n{}",
        logs()
    );
    for mapping in [web, game] {
        asking
            .ask(async move || mapping.try_drop().await.map_err(|(error, _)| error))
            .unwrap();
    }
}

/// The same with more keys for an instance.
pub(super) fn with(instance: Keys, more: &'static str) -> Keys {
    [instance, &[more]].concat().leak()
}

/// Behind a CE, whose ports are those of its set.
fn at_an_edge(engine: &str) {
    let row = Mechanism {
        ce: with(provider::MAP_E.ce, "pcp = { listen = [\"192.168.1.1\"] }"),
        ..provider::MAP_E
    };
    let Some(net) = Net::new(&row) else { return };
    let (ce, br) = net.start(&row, engine);
    let asking = Asking {
        node: &net.client,
        host: row.client.address.parse().unwrap(),
        gateway: row.client.gateway.parse().unwrap(),
    };
    asks(&net, &asking, [&ce, &br]);

    // By the older protocol, too.
    let port = NonZeroU16::new(51_413).unwrap();
    let outside = asking.by_nat_pmp(port);
    asking.is_reached(&net.server, outside, port.get()).unwrap();
    assert!(ce.stop().success() && br.stop().success());
}

/// At a NAT64, over IPv6.
fn at_a_nat64(engine: &str) {
    let row = Mechanism {
        br: with(provider::CLAT.br, "pcp = { listen = [\"3fff:c1::2\"] }"),
        ..provider::CLAT
    };
    let Some(net) = Net::new(&row) else { return };
    let (ce, br) = net.start(&row, engine);
    let asking = Asking {
        node: &net.ce,
        host: "3fff:c0::2".parse().unwrap(),
        gateway: "3fff:c1::2".parse().unwrap(),
    };
    asks(&net, &asking, [&ce, &br]);
    assert!(ce.stop().success() && br.stop().success());
}

macro_rules! engines {
    ($($engine:ident)+) => {$(
        mod $engine {
            #[test]
            fn ce() {
                super::at_an_edge(stringify!($engine));
            }

            #[test]
            fn nat64() {
                super::at_a_nat64(stringify!($engine));
            }
        }
    )+};
}

engines!(user xdp tc);
