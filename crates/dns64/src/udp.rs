//! Answering over UDP: plain threads, each with a batch of datagrams, so that an answer from the
//! cache costs two system calls for many.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use crate::answer::Transport;
use crate::counter::{Counter, Counters};
use crate::datagram::{self, Batch, Woken};
use crate::engine::{Respond, Served};
use crate::guard::Origin;
use crate::server::Current;

/// Bytes of datagrams that may wait in the kernel, in each direction.
const SOCKET_BUFFER: usize = 1 << 20;

/// The threads of one listening address. They end when this is dropped.
pub(crate) struct Listener {
    address: SocketAddr,
    stop: Option<UnixStream>,
    threads: Vec<JoinHandle<()>>,
}

/// Sockets for one address: one for each thread.
pub(crate) fn bind(address: SocketAddr, count: usize) -> io::Result<Vec<UdpSocket>> {
    let mut sockets: Vec<UdpSocket> = Vec::with_capacity(count);
    for _ in 0..count {
        let socket = Socket::new(
            Domain::for_address(address),
            Type::DGRAM,
            Some(Protocol::UDP),
        )?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.set_reuse_port(count > 1)?;
        // As large as the system lets us: not a reason to fail.
        let _ = socket.set_recv_buffer_size(SOCKET_BUFFER);
        let _ = socket.set_send_buffer_size(SOCKET_BUFFER);
        let address = match sockets.first() {
            Some(first) => first.local_addr()?,
            None => address,
        };
        socket.bind(&address.into())?;
        let socket = UdpSocket::from(socket);
        datagram::prepare(&socket)?;
        sockets.push(socket);
    }
    Ok(sockets)
}

impl Listener {
    pub(crate) fn start(
        address: SocketAddr,
        sockets: Vec<UdpSocket>,
        current: &Current,
        counters: &Arc<Counters>,
    ) -> io::Result<Self> {
        let (stop, stopped) = UnixStream::pair()?;
        let stopped = Arc::new(stopped);
        let mut threads = Vec::with_capacity(sockets.len());
        for socket in sockets {
            let (current, counters, stopped) = (current.clone(), counters.clone(), stopped.clone());
            let thread = thread::Builder::new().name("dns64-udp".into());
            threads
                .push(thread.spawn(move || run(&Arc::new(socket), &current, &counters, &stopped))?);
        }
        Ok(Self {
            address,
            stop: Some(stop),
            threads,
        })
    }

    /// The address that was asked for.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.take();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so already.
            let _ = thread.join();
        }
    }
}

fn run(socket: &Arc<UdpSocket>, current: &Current, counters: &Arc<Counters>, stopped: &UnixStream) {
    let mut batch = Batch::default();
    loop {
        let count = match batch.receive(socket) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                match datagram::wait(socket, stopped.as_fd()) {
                    Ok(Woken::Datagram) => continue,
                    Ok(Woken::Stop) => return,
                    Err(error) => {
                        tracing::error!(%error, "a DNS64 listener has failed");
                        return;
                    }
                }
            }
            Err(error) => {
                // Such as no memory; ICMP errors do not come up on an unconnected socket.
                tracing::warn!(%error, "receiving DNS queries");
                thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        counters.add(Counter::QueryUdp, count as u64);
        let engine = current.get();
        let now = engine.now();
        for i in 0..count {
            let (message, peer, out) = batch.exchange(i);
            let respond = || -> Respond {
                // Weak: a question in flight must not keep the address of a listener that ended.
                let (socket, peer, counters) = (Arc::downgrade(socket), *peer, counters.clone());
                Box::new(move |response| {
                    let sent = socket
                        .upgrade()
                        .is_some_and(|socket| datagram::send_one(&socket, peer, response).is_ok());
                    if !sent {
                        counters.count(Counter::SendFailed);
                    }
                })
            };
            let Some(client) = peer.address() else {
                continue;
            };
            let origin = Origin {
                client,
                transport: Transport::Udp,
            };
            match engine.serve(message, origin, now, out, respond) {
                Served::Now => {}
                Served::Later | Served::Never => out.clear(),
            }
        }
        let lost = batch.send(socket, count);
        counters.add(Counter::SendFailed, lost as u64);
    }
}
