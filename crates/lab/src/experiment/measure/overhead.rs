//! What a mechanism adds to packets, counted where they pass.

use std::{net::UdpSocket, time::Duration};

use super::super::{profile::Profile, scene::Scene};
use crate::{
    LabError, Result,
    netns::Namespace,
    provider::{CORE, CORE_LINKS},
    results::Point,
    topology::HOST_INTERFACE,
};

/// Datagrams that are sent.
const DATAGRAMS: u32 = 200;
/// Octets in each, which is paper 002's smallest.
const PAYLOAD: usize = 100;
/// Until all are there.
const PATIENCE: Duration = Duration::from_millis(200);

/// Octets and packets that an interface has counted.
#[derive(Clone, Copy)]
struct Counted {
    octets: f64,
    packets: f64,
}

impl Counted {
    fn read(node: &Namespace, interface: &str, way: &str) -> Result<Self> {
        let number = |what: &str| {
            let path = format!("/sys/class/net/{interface}/statistics/{way}_{what}");
            let output = node.run(&format!("cat {path}"))?;
            output.trim().parse().map_err(|_| LabError::Output {
                tool: "interface statistics",
                output,
            })
        };
        Ok(Self {
            octets: number("bytes")?,
            packets: number("packets")?,
        })
    }

    /// Octets of a packet since.
    fn mean_since(self, earlier: Self) -> f64 {
        (self.octets - earlier.octets) / (self.packets - earlier.packets).max(1.0)
    }
}

/// Octets that a packet from the client has more behind the first gateway: in the core where there is one, and
/// else at the server.
pub(crate) fn added(scene: &mut Scene, _: Profile) -> Result<Vec<Point>> {
    let network = scene.network();
    let (behind, interface) = match network.node(CORE) {
        Ok(core) => (core, CORE_LINKS[0]),
        Err(_) => (scene.server()?, HOST_INTERFACE),
    };
    let look = || {
        Ok((
            Counted::read(scene.client()?, HOST_INTERFACE, "tx")?,
            Counted::read(behind, interface, "rx")?,
        ))
    };
    // Neighbours and sessions are there after the first ones.
    send(scene)?;
    let before = look()?;
    send(scene)?;
    let after = look()?;
    let added = after.1.mean_since(before.1) - after.0.mean_since(before.0);
    Ok(vec![Point::new("there", 0.0, added.round())])
}

fn send(scene: &Scene) -> Result<()> {
    let address = (scene.address(), crate::generator::PORT);
    scene.client()?.enter(|| {
        let problem = |source| LabError::Start {
            command: format!("datagrams to {}", address.0),
            source,
        };
        let any = if address.0.is_ipv4() {
            "0.0.0.0:0"
        } else {
            "[::]:0"
        };
        let socket = UdpSocket::bind(any).map_err(problem)?;
        for _ in 0..DATAGRAMS {
            socket.send_to(&[0; PAYLOAD], address).map_err(problem)?;
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    })?;
    std::thread::sleep(PATIENCE);
    Ok(())
}
