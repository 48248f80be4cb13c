//! A server on a customer's host, behind a binding, that answers whoever asks.

use std::{
    io,
    net::{Ipv6Addr, SocketAddrV4, UdpSocket},
    time::Duration,
};

use super::{
    echo::{self, problem},
    responder::Responder,
};
use crate::{Result, network::netns::Namespace};

/// The question whose answer tells the outside endpoint, and how often it is asked.
const QUESTION: [u8; 32] = [0; 32];
const TRIES: u32 = 40;

/// The running server; dropping it ends it.
#[derive(Debug)]
pub(super) struct Server {
    /// Where the outside reaches it.
    pub(super) outside: SocketAddrV4,
    _responder: Responder,
}

impl Server {
    /// Opens a binding from an address of a node, and answers there.
    pub(super) fn start(node: &Namespace, address: Ipv6Addr) -> Result<Self> {
        let open = || open(address).map_err(|source| problem("server", source));
        let (socket, outside) = node.enter(open)?;
        Ok(Self {
            outside,
            _responder: Responder::at(socket, |question, _| Some(question.to_vec())),
        })
    }
}

/// Opens a socket that hears everybody, and learns its outside endpoint.
fn open(address: Ipv6Addr) -> io::Result<(UdpSocket, SocketAddrV4)> {
    let socket = UdpSocket::bind((address, 0))?;
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;
    let mut answer = [0; 64];
    for _ in 0..TRIES {
        socket.send_to(&QUESTION, echo::from_inside())?;
        if let Ok(length) = socket.recv(&mut answer)
            && let Some(outside) = echo::endpoint(&QUESTION, &answer[..length])
        {
            return Ok((socket, outside));
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}
