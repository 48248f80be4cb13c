//! A client that others wrote gets its ports.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU16;
use std::time::{Duration, Instant};

use crate::support::{Nat, OUTSIDE};
use crab_nat::{InternetProtocol, PortMapping, PortMappingOptions, PortMappingType};
use isthmus_pcp::{Limits, SERVER_PORT, Server};
use tokio::net::UdpSocket;

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Serves at an address of the loopback network that no other test has.
async fn serve(server: IpAddr) {
    let socket = UdpSocket::bind(SocketAddr::new(server, SERVER_PORT))
        .await
        .unwrap();
    let start = Instant::now();
    tokio::spawn(async move {
        let mut server = Server::new(Nat::default(), Limits::default(), Duration::ZERO);
        let mut request = [0; 2048];
        loop {
            let (length, source) = socket.recv_from(&mut request).await.unwrap();
            let answer = server.answer(start.elapsed(), source.ip(), &request[..length]);
            if let Some(answer) = answer {
                socket.send_to(&answer, source).await.unwrap();
            }
        }
    });
}

fn options(port: u16) -> PortMappingOptions {
    PortMappingOptions {
        external_port: NonZeroU16::new(port),
        lifetime_seconds: Some(600),
        ..PortMappingOptions::default()
    }
}

#[tokio::test]
async fn by_pcp() {
    let server = IpAddr::V4(Ipv4Addr::new(127, 83, 12, 1));
    serve(server).await;
    let port = NonZeroU16::new(8080).unwrap();
    let mut mapping = PortMapping::new(
        server.into(),
        CLIENT,
        InternetProtocol::Tcp,
        port,
        options(1080),
    )
    .await
    .unwrap();
    assert_eq!(
        (mapping.external_port().get(), mapping.lifetime()),
        (1080, 600)
    );
    let PortMappingType::Pcp { external_ip, .. } = mapping.mapping_type() else {
        panic!("{mapping:?}");
    };
    assert_eq!(external_ip, OUTSIDE);
    mapping.renew().await.unwrap();
    assert_eq!(mapping.external_port().get(), 1080);
    mapping.try_drop().await.unwrap();
}

#[tokio::test]
async fn by_nat_pmp() {
    let server = IpAddr::V4(Ipv4Addr::new(127, 83, 12, 2));
    serve(server).await;
    let address = crab_nat::natpmp::external_address(server.into(), None)
        .await
        .unwrap();
    assert_eq!(address, OUTSIDE);
    let port = NonZeroU16::new(8080).unwrap();
    let mapping =
        crab_nat::natpmp::port_mapping(server.into(), InternetProtocol::Udp, port, options(1080))
            .await
            .unwrap();
    assert_eq!(
        (mapping.external_port().get(), mapping.lifetime()),
        (1080, 600)
    );
    mapping.try_drop().await.unwrap();
}
