//! A TCP connection that is there before and after.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use isthmus_lab::network::netns::Namespace;

use crate::softwires::traffic::inside;

/// The longest pause between two tries of a host, with some room.
const PATIENCE: Duration = Duration::from_secs(40);
const PORT: u16 = 7010;

/// Both ends.
pub(crate) struct Connection {
    client: TcpStream,
    server: TcpStream,
    number: u32,
}

impl Connection {
    /// Connects to an address of the server, which is `own` there.
    pub(crate) fn new(client: &Namespace, server: &Namespace, address: &str, own: &str) -> Self {
        let at = |address: &str| SocketAddr::new(address.parse().unwrap(), PORT);
        let listener = inside(server, || listen(at(own))).unwrap();
        let client = inside(client, || {
            TcpStream::connect_timeout(&at(address), PATIENCE)
        })
        .unwrap();
        let (server, _) = listener.accept().unwrap();
        for end in [&client, &server] {
            end.set_nodelay(true).unwrap();
            end.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        Self {
            client,
            server,
            number: 0,
        }
    }

    /// Sends something from both ends.
    pub(crate) fn send(&mut self) {
        self.number += 1;
        for mut end in [&self.client, &self.server] {
            end.write_all(&self.number.to_be_bytes()).unwrap();
        }
    }

    /// Receives it at both ends.
    pub(crate) fn receive(&mut self) -> io::Result<()> {
        for mut end in [&self.client, &self.server] {
            let mut came = [0; 4];
            end.read_exact(&mut came)?;
            assert_eq!(u32::from_be_bytes(came), self.number);
        }
        Ok(())
    }

    pub(crate) fn exchange(&mut self) -> io::Result<()> {
        self.send();
        self.receive()
    }
}

/// Listens at an address where another listener has just ended: a process that another test is starting at this moment
/// may still have it.
fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    let mut tries = 0;
    loop {
        match TcpListener::bind(at) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries < 50 => {
                tries += 1;
                thread::sleep(Duration::from_millis(100));
            }
            listening => return listening,
        }
    }
}
