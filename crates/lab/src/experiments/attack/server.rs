//! A server on a customer's host, behind a binding, that answers whoever asks.

use std::{
    io,
    net::{Ipv6Addr, SocketAddrV4, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use super::echo::{self, problem};
use crate::{
    Result,
    network::{
        cores::{GATEWAY_CPU, cpu, pin},
        netns::Namespace,
    },
};

/// The question whose answer tells the outside endpoint, and how often it is asked.
const QUESTION: [u8; 32] = [0; 32];
const TRIES: u32 = 40;

/// The running server; dropping it ends it.
#[derive(Debug)]
pub(super) struct Server {
    /// Where the outside reaches it.
    pub(super) outside: SocketAddrV4,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Opens a binding from an address of a node, and answers there.
    pub(super) fn start(node: &Namespace, address: Ipv6Addr) -> Result<Self> {
        let open = || open(address).map_err(|source| problem("server", source));
        let (socket, outside) = node.enter(open)?;
        let ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            // Where it cannot be bound to a CPU it is late in all phases alike.
            let _ = pin(cpu(GATEWAY_CPU));
            serve(&socket, &end);
        });
        Ok(Self {
            outside,
            ended,
            thread: Some(thread),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It holds nothing but the socket.
            let _ = thread.join();
        }
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

fn serve(socket: &UdpSocket, ended: &AtomicBool) {
    let mut octets = [0; 2048];
    while !ended.load(Ordering::Relaxed) {
        if let Ok((length, from)) = socket.recv_from(&mut octets) {
            // An answer that the kernel does not take is a lost one.
            let _ = socket.send_to(&octets[..length], from);
        }
    }
}
