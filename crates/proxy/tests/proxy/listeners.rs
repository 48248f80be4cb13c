//! An attacker that chooses its source ports so that the kernel gives its connections to the listener of a victim: the
//! thread behind it serves both.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use isthmus_proxy::Counter;
use socket2::{Domain, Socket, Type};

use crate::common::{PATIENCE, Proxy, head};

const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const VICTIM: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
/// Tunnels of the attacker, each as fast as the machine can.
const BULK: usize = 8;
/// How long the victim opens one tunnel after the other.
const WINDOW: Duration = Duration::from_millis(500);
/// The victim has at least one in so many of the tunnels that it has with the attacker at another listener. Without turns it has one.
const SHARE: usize = 40;

/// Connects from this endpoint. Its end is a reset, so that the port is free at once.
fn connect(from: (Ipv4Addr, u16), to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::from((from.0, from.1)).into())?;
    socket.connect(&to.into())?;
    socket.set_linger(Some(Duration::ZERO))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket.into())
}

/// Opens a tunnel, and says what it is for.
fn tunnel(from: (Ipv4Addr, u16), proxy: SocketAddr, to: SocketAddr, wish: u8) -> TcpStream {
    let mut stream = connect(from, proxy).unwrap();
    write!(stream, "CONNECT {to} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let said = head(&mut stream);
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
    stream.write_all(&[wish]).unwrap();
    stream
}

/// As many listeners at one address as the proxy will have there: the kernel chooses by addresses and ports alone.
struct Listeners(Vec<TcpListener>);

impl Listeners {
    fn start(number: usize) -> Self {
        let mut address = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = |_| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.set_reuse_port(true).unwrap();
            socket.bind(&address.into()).unwrap();
            socket.listen(128).unwrap();
            socket.set_nonblocking(true).unwrap();
            let listener = TcpListener::from(socket);
            address = listener.local_addr().unwrap();
            listener
        };
        Self((0..number).map(listener).collect())
    }

    fn address(&self) -> SocketAddr {
        self.0[0].local_addr().unwrap()
    }

    /// The ports of a client for each of the first two listeners.
    fn ports(&self, client: Ipv4Addr, range: Range<u16>) -> [Vec<u16>; 2] {
        let mut ports = [Vec::new(), Vec::new()];
        for port in range {
            // Somebody else may have this one.
            let Ok(_stream) = connect((client, port), self.address()) else {
                continue;
            };
            let accepted = self.0.iter().position(|it| it.accept().is_ok());
            if let Some(ports) = accepted.and_then(|at| ports.get_mut(at)) {
                ports.push(port);
            }
        }
        ports
    }
}

/// A server that echoes an octet, or sends for ever, as the first one asks.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = |mut stream: TcpStream| -> std::io::Result<()> {
        let mut first = [0];
        stream.read_exact(&mut first)?;
        if first == *b"e" {
            return stream.write_all(&first);
        }
        loop {
            stream.write_all(&[0; 1 << 18])?;
        }
    };
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    address
}

/// How many tunnels the victim opens while the attacker has bulk tunnels from these ports.
fn opened(proxy: &Proxy, to: SocketAddr, victim: &[u16], attacker: &[u16]) -> usize {
    let stop = AtomicBool::new(false);
    // They end even if the victim's thread panics.
    let until = Instant::now() + 2 * PATIENCE;
    let read = |mut stream: TcpStream| {
        let mut chunk = vec![0; 1 << 18];
        while !stop.load(Ordering::Relaxed) && Instant::now() < until {
            stream.read_exact(&mut chunk).unwrap();
        }
    };
    thread::scope(|scope| {
        let before = proxy.count(Counter::Spliced);
        for port in &attacker[..BULK] {
            let stream = tunnel((ATTACKER, *port), proxy.address(), to, b's');
            scope.spawn(move || read(stream));
        }
        proxy.wait(Counter::Spliced, before + BULK as u64);
        let begun = Instant::now();
        let ports = victim.iter().take_while(|_| begun.elapsed() < WINDOW);
        let opened = ports.map(|port| {
            let mut stream = tunnel((VICTIM, *port), proxy.address(), to, b'e');
            stream.read_exact(&mut [0]).unwrap();
        });
        let opened = opened.count();
        stop.store(true, Ordering::Relaxed);
        opened
    })
}

#[test]
fn bulk_at_the_listener_of_a_victim_leaves_it_its_turns() {
    let number = thread::available_parallelism().unwrap().get().min(8);
    if number == 1 {
        println!("skipped: a proxy has one listener for each processor, and here is one");
        return;
    }
    let listeners = Listeners::start(number);
    let at = listeners.address();
    let attacker = listeners.ports(ATTACKER, 20_000..20_000 + 40 * number as u16);
    let [victim, _] = listeners.ports(VICTIM, 20_000..24_000);
    drop(listeners);
    let proxy = Proxy::start(|config| config.listen = vec![at]);
    let to = server();
    let [same, other] = [0, 1].map(|listener| {
        let (first, second) = victim.split_at(victim.len() / 2);
        let ports = [first, second][listener];
        opened(&proxy, to, ports, &attacker[listener])
    });
    println!("tunnels of the victim: {same}, and {other} with the attacker at another listener");
    assert!(same * SHARE >= other, "{same} of {other}");
}
