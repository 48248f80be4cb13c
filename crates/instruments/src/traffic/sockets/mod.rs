//! The network as the applications of two hosts see it: the papers' ping-pong, and throughput by size of message,
//! over UDP and TCP.
//!
//! One thread has the sockets of both hosts and polls them. No thread is woken when a message arrives, and one clock
//! stamps both ends: the one-way delay is measured, not half of a round trip. The thread is on the CPU of user-space
//! gateways, which have precedence.
//!
//! * [`pingpong`]: delay in both directions
//! * [`streaming`]: datagrams at the rate of the line, or at a given rate
//! * [`bulk`]: a TCP connection
//! * [`wake`]: how long a gateway in user space takes to wake up
//! * `carrier`: one message from socket to socket
//! * `message`: the content of messages, by which damage is found

pub mod bulk;
mod carrier;
mod message;
pub mod pingpong;
pub mod streaming;
pub mod wake;
use std::{
    io,
    net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    process::Command,
    sync::Arc,
    time::Duration,
};

use rustix::{io::Errno, net::sockopt::set_socket_recv_buffer_size_force, thread::gettid};

use crate::{
    LabError, Result,
    network::{
        cores::{GATEWAY_CPU, pin},
        netns::Namespace,
        process,
        threads::join,
        topology::Network,
        wire::Tap,
    },
};

pub use carrier::Protocol;

/// The receive buffer of a socket, in bytes as the kernel counts them: enough for the time in which a gateway has the
/// CPU instead.
const BUFFER: usize = 64 << 20;
/// The time that a TCP connection has to open.
const PATIENCE: Duration = Duration::from_secs(5);

/// A host of a network.
#[derive(Debug, Clone)]
pub struct Host {
    namespace: Arc<Namespace>,
    address: IpAddr,
    /// Its end of the cable, if the cable has a line rate.
    tap: Option<Tap>,
}

impl Host {
    /// Returns the host with this address on this interface of a node.
    pub fn new(
        network: &Network,
        node: &str,
        interface: &str,
        address: impl Into<IpAddr>,
    ) -> Result<Self> {
        let wires = network.wires();
        Ok(Self {
            namespace: Arc::clone(network.node(node)?),
            address: address.into(),
            tap: wires.and_then(|wires| wires.tap(node, interface)),
        })
    }
}

/// Two hosts. The near one sends first.
#[derive(Debug, Clone)]
pub struct Pair {
    near: Host,
    far: Host,
    target: IpAddr,
}

impl Pair {
    /// Returns two hosts without a translator between them.
    pub fn new(near: Host, far: Host) -> Self {
        let target = far.address;
        Self { near, far, target }
    }

    /// Returns two hosts, of which the near one knows the far one by another address.
    pub fn translated(near: Host, far: Host, target: impl Into<IpAddr>) -> Self {
        let target = target.into();
        Self { near, far, target }
    }

    /// Opens a socket on each host. The near one is connected; the far one answers the sender.
    fn datagrams(&self) -> Result<(UdpSocket, UdpSocket)> {
        let far = self.far.bind()?;
        let near = self.near.bind()?;
        let target = SocketAddr::new(self.target, port(&far)?);
        near.connect(target)
            .map_err(problem("connect to", target))?;
        Ok((near, far))
    }

    /// Opens a connection from the near host, and returns both ends. They do not delay small segments (Nagle).
    fn connection(&self) -> Result<(TcpStream, TcpStream)> {
        let any = SocketAddr::new(self.far.address, 0);
        let (listener, listens) = self.far.namespace.enter(|| {
            let listener = TcpListener::bind(any).map_err(problem("listen at", any))?;
            let listens = listener.local_addr().map_err(problem("listen at", any))?;
            Ok((listener, listens))
        })?;
        let target = SocketAddr::new(self.target, listens.port());
        let near = self.near.namespace.enter(|| {
            TcpStream::connect_timeout(&target, PATIENCE).map_err(problem("connect to", target))
        })?;
        let (far, peer) = listener.accept().map_err(problem("accept at", listens))?;
        for (stream, other) in [(&near, target), (&far, peer)] {
            stream
                .set_nodelay(true)
                .and_then(|()| stream.set_nonblocking(true))
                .map_err(problem("set up a connection with", other))?;
        }
        Ok((near, far))
    }
}

impl Host {
    fn bind(&self) -> Result<UdpSocket> {
        let address = SocketAddr::new(self.address, 0);
        self.namespace.enter(|| {
            let socket = UdpSocket::bind(address).map_err(problem("bind to", address))?;
            let set_up = socket.set_nonblocking(true).and_then(|()| {
                set_socket_recv_buffer_size_force(&socket, BUFFER).map_err(io::Error::from)
            });
            set_up.map_err(problem("set up a socket at", address))?;
            Ok(socket)
        })
    }
}

fn port(socket: &UdpSocket) -> Result<u16> {
    let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
    let address = socket
        .local_addr()
        .map_err(problem("find the port of", unknown))?;
    Ok(address.port())
}

/// Returns a function that turns an error of an action with an address into the lab's.
fn problem(action: &'static str, address: SocketAddr) -> impl Fn(io::Error) -> LabError {
    move |source| LabError::Socket {
        action,
        address,
        source,
    }
}

/// Returns `None` if a non-blocking socket has no data yet, or no room. The same goes for the notice of a smaller
/// path MTU, which the kernel gives once to a connected IPv6 socket: nothing was sent then, and the next attempt is
/// cut to what fits.
fn unless_it_would_block<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::MSGSIZE.raw_os_error()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Runs a task that polls, on a thread of its own: on the CPU of user-space gateways, and only while they are idle.
fn spin<T: Send>(task: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    process::require("chrt", "util-linux")?;
    let work = || {
        pin(GATEWAY_CPU)?;
        let thread = gettid().as_raw_nonzero().to_string();
        process::run(Command::new("chrt").args(["--idle", "--pid", "0", &thread]))?;
        task()
    };
    std::thread::scope(|scope| join(scope.spawn(work)))
}
