//! A TCP connection through the gateway: numbered messages that come back.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::net::Net;

const PORT: u16 = 7;
/// The server, as the host sees it.
const SERVER: Ipv6Addr = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0xc000, 0x0202);
/// Between two messages.
const PAUSE: Duration = Duration::from_millis(20);

/// A connection of the host with an echo server.
pub(crate) struct Bystander {
    echoes: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
    client: Option<JoinHandle<io::Result<()>>>,
}

impl Bystander {
    pub(crate) fn connect(net: &Net) -> io::Result<Self> {
        serve(net);
        let stream = net.enter("host", || {
            let address = SocketAddr::from((SERVER, PORT));
            TcpStream::connect_timeout(&address, Duration::from_secs(60))
        })?;
        let echoes = Arc::new(AtomicU64::new(0));
        let ended = Arc::new(AtomicBool::new(false));
        let (count, end) = (Arc::clone(&echoes), Arc::clone(&ended));
        Ok(Self {
            echoes,
            ended,
            client: Some(thread::spawn(move || talk(stream, &count, &end))),
        })
    }

    /// Waits for an answer to something that is sent from now on.
    pub(crate) fn goes_on(&mut self, patience: Duration) -> Result<(), String> {
        let begun = Instant::now();
        // One may be on its way.
        let wanted = self.echoes.load(Ordering::Relaxed) + 2;
        while self.echoes.load(Ordering::Relaxed) < wanted {
            if let Some(client) = self.client.take_if(|client| client.is_finished()) {
                return Err(format!("the connection has ended: {:?}", client.join()));
            }
            if begun.elapsed() > patience {
                return Err(format!("no answer for {patience:?}"));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

impl fmt::Display for Bystander {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let echoes = self.echoes.load(Ordering::Relaxed);
        write!(f, "the connection has had {echoes} answers")
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

/// Sends numbers, each after the answer to the one before.
fn talk(mut stream: TcpStream, echoes: &AtomicU64, ended: &AtomicBool) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut answer = [0; 8];
    for number in 0_u64.. {
        if ended.load(Ordering::Relaxed) {
            break;
        }
        stream.write_all(&number.to_be_bytes())?;
        stream.read_exact(&mut answer)?;
        if u64::from_be_bytes(answer) != number {
            return Err(io::Error::other(format!(
                "{answer:?} came back for {number}"
            )));
        }
        echoes.fetch_add(1, Ordering::Relaxed);
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Answers everybody, until the network is gone.
fn serve(net: &Net) {
    let listener = net.enter("server", || {
        TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))
    });
    let listener = listener.unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || {
                let mut stream = stream?;
                let mut copy = stream.try_clone()?;
                io::copy(&mut stream, &mut copy)
            });
        }
    });
}
