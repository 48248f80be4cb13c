//! A UDP service of the server: a function from question to answer.

use std::{
    net::{SocketAddr, SocketAddrV4, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use super::echo::problem;
use crate::{
    Result,
    network::{
        cores::{GATEWAY_CPU, cpu, pin},
        netns::Namespace,
        plan,
    },
};

/// Returns the answer to a question from an endpoint, if there is to be one.
pub(super) type Answer = fn(&[u8], SocketAddrV4) -> Option<Vec<u8>>;

/// The running service; dropping it ends it.
#[derive(Debug)]
pub(super) struct Responder {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Responder {
    /// Starts it at a port, on a node that has the IPv4 host's address.
    pub(super) fn start(node: &Namespace, port: u16, answer: Answer) -> Result<Self> {
        let bind = || {
            let socket = UdpSocket::bind((plan::HOST4, port))?;
            socket.set_read_timeout(Some(Duration::from_millis(50)))?;
            Ok(socket)
        };
        let socket = node.enter(|| bind().map_err(|source| problem("service", source)))?;
        Ok(Self::at(socket, move |question, from| match from {
            SocketAddr::V4(from) => answer(question, from),
            SocketAddr::V6(_) => None,
        }))
    }

    /// Starts it at a socket that does not wait long for a question.
    pub(super) fn at(
        socket: UdpSocket,
        answer: impl Fn(&[u8], SocketAddr) -> Option<Vec<u8>> + Send + 'static,
    ) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            // Where it cannot be bound to a CPU it is late in all phases alike.
            let _ = pin(cpu(GATEWAY_CPU));
            serve(&socket, answer, &end);
        });
        Self {
            ended,
            thread: Some(thread),
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It holds nothing but the socket.
            let _ = thread.join();
        }
    }
}

fn serve(
    socket: &UdpSocket,
    answer: impl Fn(&[u8], SocketAddr) -> Option<Vec<u8>>,
    ended: &AtomicBool,
) {
    let mut octets = vec![0; 65536];
    while !ended.load(Ordering::Relaxed) {
        if let Ok((length, from)) = socket.recv_from(&mut octets)
            && let Some(answer) = answer(&octets[..length], from)
        {
            // An answer that the kernel does not take is a lost one.
            let _ = socket.send_to(&answer, from);
        }
    }
}
