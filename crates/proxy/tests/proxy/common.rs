//! A proxy, servers behind it, and clients that write what they like.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use hickory_proto::op::{Message, MessageType};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{RData, Record, RecordType};
use isthmus_proxy::{Config, Counter, Handle, Server};

/// Nothing here takes as long, unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A running proxy.
pub(crate) struct Proxy(pub(crate) Handle);

impl Proxy {
    /// Starts a proxy that reaches servers on this machine at every port, with some changes.
    pub(crate) fn start(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config {
            listen: vec!["127.0.0.1:0".parse().unwrap()],
            allow: vec!["127.0.0.0/8".parse().unwrap()],
            local_destinations: vec!["127.0.0.0/8".parse().unwrap()],
            ports: vec![1..=65_535],
            resolvers: vec!["127.0.0.1:1".parse().unwrap()],
            ..Config::default()
        };
        change(&mut config);
        Self(Server::start(&config).unwrap())
    }

    /// Where it listens first.
    pub(crate) fn address(&self) -> SocketAddr {
        self.0.addresses().next().unwrap()
    }

    /// A client's connection.
    pub(crate) fn connect(&self) -> TcpStream {
        connect(self.address())
    }

    pub(crate) fn count(&self, counter: Counter) -> u64 {
        self.0.counters().get(counter)
    }

    /// Waits until a counter has this number: what is counted at the end of a connection is a moment late.
    pub(crate) fn wait(&self, counter: Counter, number: u64) {
        for _ in 0..500 {
            if self.count(counter) == number {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("{}: {}", counter.name(), self.count(counter));
    }
}

pub(crate) fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Writes these octets, ends, and reads everything that comes back.
pub(crate) fn exchange(stream: &mut TcpStream, octets: &[u8]) -> String {
    // A proxy that has refused them may not read them all.
    let _ = stream.write_all(octets);
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}

/// Reads up to the end of a head.
pub(crate) fn head(stream: &mut TcpStream) -> String {
    let mut said = Vec::new();
    let mut octet = [0];
    while !said.ends_with(b"\r\n\r\n") && stream.read(&mut octet).unwrap_or(0) == 1 {
        said.push(octet[0]);
    }
    String::from_utf8_lossy(&said).into_owned()
}

/// A server that hands out everything that each of its connections carries, once it has ended, and answers the first
/// octets with one response, after which it closes.
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    pub(crate) seen: Receiver<String>,
}

impl Origin {
    pub(crate) fn start() -> Self {
        Self::at("127.0.0.1:0")
    }

    pub(crate) fn at(address: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, seen) = channel();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let sender = sender.clone();
                thread::spawn(move || {
                    let seen = answer(&mut stream);
                    let _ = sender.send(String::from_utf8_lossy(&seen).into_owned());
                });
            }
        });
        Self { address, seen }
    }

    /// What the next connection to end has carried.
    pub(crate) fn saw(&self) -> String {
        self.seen.recv_timeout(PATIENCE).unwrap()
    }
}

fn answer(stream: &mut TcpStream) -> Vec<u8> {
    // What is smuggled comes at once, or never.
    stream
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let mut seen = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(octets @ 1..) = stream.read(&mut chunk) {
        seen.extend_from_slice(&chunk[..octets]);
    }
    let _ =
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    seen
}

/// A resolver that has one IPv4 address for every name, and no IPv6 address.
pub(crate) fn resolver(address: Ipv4Addr) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut octets = [0; 4096];
        while let Ok((length, from)) = socket.recv_from(&mut octets) {
            let Ok(mut message) = Message::from_vec(&octets[..length]) else {
                continue;
            };
            message.metadata.message_type = MessageType::Response;
            let question = message.queries[0].clone();
            if question.query_type() == RecordType::A {
                let data = RData::A(A(address));
                message.add_answer(Record::from_rdata(question.name().clone(), 60, data));
            }
            let _ = socket.send_to(&message.to_vec().unwrap(), from);
        }
    });
    at
}
