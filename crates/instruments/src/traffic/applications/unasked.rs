//! Unsolicited connections between equals, on which file sharing depends.

use std::{
    io,
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use super::{
    Call, Trouble,
    limits::{PATIENCE, REACH},
};
use crate::{LabError, network::netns::Namespace};

/// The port at which the server sees the client's address, and the port at which the client waits for the server.
const PORTS: [u16; 2] = [6881, 6882];

/// Connects from the server to the client, at the address from which the server has seen a connection of the client.
pub(super) fn reach(call: &Call<'_>) -> Result<(), Trouble> {
    let [known, waiting] = PORTS;
    let [client, server] = call.own;
    let meeting = listen(call.server, (server, known).into())?;
    let door = listen(call.client, (client, waiting).into())?;
    let to = SocketAddr::new(call.target, known);
    connect(call.client, to, PATIENCE)?.map_err(|error| fails(to, &error))?;
    let (_, seen) = meeting.accept().map_err(|error| fails(to, &error))?;
    let to = SocketAddr::new(seen.ip(), waiting);
    connect(call.server, to, REACH)?.map_err(|error| fails(to, &error))?;
    // Some host has answered. It must be the client.
    door.set_nonblocking(true)
        .map_err(|error| fails(to, &error))?;
    let until = Instant::now() + REACH;
    while Instant::now() < until {
        if door.accept().is_ok() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Err(Trouble::Fails(format!("another answers at {to}")))
}

fn fails(to: SocketAddr, error: &io::Error) -> Trouble {
    Trouble::Fails(format!("no host is reached at {to}: {error}"))
}

fn listen(node: &Namespace, address: SocketAddr) -> crate::Result<TcpListener> {
    node.enter(|| {
        TcpListener::bind(address).map_err(|source| LabError::Socket {
            action: "listen at",
            address,
            source,
        })
    })
}

pub(super) fn connect(
    node: &Namespace,
    to: SocketAddr,
    limit: Duration,
) -> crate::Result<io::Result<TcpStream>> {
    node.enter(|| Ok(TcpStream::connect_timeout(&to, limit)))
}
