//! A resolver on loopback, over UDP and TCP, that says what a book has, and counts.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

use super::common::{Book, Spelling};

/// The function that makes the replies over UDP: bytes to send, in order, for each question.
type Mischief = dyn Fn(&[u8], Option<Vec<u8>>) -> Vec<Vec<u8>> + Send + Sync;

pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    pub(crate) udp: Arc<AtomicUsize>,
    pub(crate) tcp: Arc<AtomicUsize>,
    /// Source ports and IDs of the questions over UDP.
    pub(crate) seen: Arc<Mutex<Vec<(u16, u16)>>>,
    _tasks: JoinSet<io::Result<()>>,
}

impl Upstream {
    pub(crate) async fn start(book: Book) -> Self {
        Self::start_with(book, Duration::ZERO, |_, reply| reply.into_iter().collect()).await
    }

    /// Replies after `delay`, over UDP with whatever `mischief` makes of the reply.
    pub(crate) async fn start_with(
        book: Book,
        delay: Duration,
        mischief: impl Fn(&[u8], Option<Vec<u8>>) -> Vec<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        let (socket, listener) = loop {
            let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            if let Ok(listener) = TcpListener::bind(socket.local_addr().unwrap()).await {
                break (socket, listener);
            }
        };
        let address = socket.local_addr().unwrap();
        let (udp, tcp) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let mischief: Arc<Mischief> = Arc::new(mischief);
        let book = Arc::new(book);
        let socket = Arc::new(socket);
        {
            let (udp, seen, book) = (udp.clone(), seen.clone(), book.clone());
            tasks.spawn(async move {
                let mut buffer = [0; 4096];
                loop {
                    let (length, from) = socket.recv_from(&mut buffer).await?;
                    udp.fetch_add(1, Ordering::SeqCst);
                    let question = buffer[..length].to_vec();
                    let id = u16::from_be_bytes([question[0], question[1]]);
                    seen.lock().unwrap().push((from.port(), id));
                    let replies = mischief(&question, book.reply(&question));
                    let socket = socket.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(delay).await;
                        for reply in replies {
                            let _ = socket.send_to(&reply, from).await;
                        }
                    });
                }
            });
        }
        {
            let tcp = tcp.clone();
            tasks.spawn(async move {
                loop {
                    let (stream, _) = listener.accept().await?;
                    tcp.fetch_add(1, Ordering::SeqCst);
                    tokio::spawn(converse(stream, book.clone()));
                }
            });
        }
        Self {
            address,
            udp,
            tcp,
            seen,
            _tasks: tasks,
        }
    }

    /// A resolver that repeats each question in lower case, also over TCP.
    pub(crate) async fn lower_case(mut book: Book) -> Self {
        book.spelling = Spelling::Lower;
        Self::start(book).await
    }

    pub(crate) fn udp(&self) -> usize {
        self.udp.load(Ordering::SeqCst)
    }

    pub(crate) fn tcp(&self) -> usize {
        self.tcp.load(Ordering::SeqCst)
    }
}

async fn converse(mut stream: TcpStream, book: Arc<Book>) -> io::Result<()> {
    loop {
        let mut question = vec![0; usize::from(stream.read_u16().await?)];
        stream.read_exact(&mut question).await?;
        if let Some(reply) = book.reply(&question) {
            stream.write_u16(reply.len() as u16).await?;
            stream.write_all(&reply).await?;
        }
    }
}
