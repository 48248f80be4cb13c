//! The duties of a proxy by RFC 9110 and RFC 9112, as a table: octets of a client, octets of a server, and what each
//! of them must get to see, while others are served. [`dialogues`] has what needs more than one turn.

mod dialogues;
mod requests;
mod responses;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::common::{Proxy, exchange};

/// The response of a server that has nothing special to say.
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// Says to the server that the case is over.
const OVER: &[u8] = b"over";
/// Cases that run at the same time: each waits most of its time.
const AT_ONCE: usize = 8;

/// One row: what goes in, and what must come out.
struct Case {
    /// `RFC 9112 section 5.1`, and what it says.
    rule: &'static str,
    /// The octets that the client writes. `TARGET` is the server.
    client: &'static str,
    /// The octets that the server writes after each request, after which it ends.
    server: &'static str,
    /// The octets that the server must see.
    forwarded: &'static [Must],
    /// The octets that the client must see.
    answered: &'static [Must],
}

/// A condition of some octets. Names of fields are in lower case there, as hyper writes them.
#[derive(Clone, Copy, Debug)]
enum Must {
    Begin(&'static str),
    End(&'static str),
    Have(&'static str),
    Lack(&'static str),
    /// There are none.
    Nothing,
}
use Must::{Begin, End, Have, Lack, Nothing};

impl Must {
    fn holds(self, octets: &str) -> bool {
        match self {
            Begin(text) => octets.starts_with(text),
            End(text) => octets.ends_with(text),
            Have(text) => octets.contains(text),
            Lack(text) => !octets.contains(text),
            Nothing => octets.is_empty(),
        }
    }
}

/// A server that says what it has been told, once the case is over.
struct Scripted {
    address: SocketAddr,
    task: JoinHandle<String>,
}

impl Scripted {
    fn start(response: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let task = thread::spawn(move || {
            let mut seen = Vec::new();
            for stream in listener.incoming().flatten() {
                let began = seen.len();
                answer(stream, response, &mut seen);
                if seen[began..] == *OVER {
                    seen.truncate(began);
                    break;
                }
            }
            String::from_utf8_lossy(&seen).into_owned()
        });
        Self { address, task }
    }

    fn seen(self) -> String {
        let mut last = TcpStream::connect(self.address).unwrap();
        last.write_all(OVER).unwrap();
        drop(last);
        self.task.join().unwrap()
    }
}

/// Answers one request, and reads whatever else comes.
fn answer(mut stream: TcpStream, response: &str, seen: &mut Vec<u8>) {
    let patience = Some(Duration::from_secs(30));
    stream.set_read_timeout(patience).unwrap();
    let began = seen.len();
    let mut chunk = [0; 4096];
    let mut answered = false;
    while let Ok(octets @ 1..) = stream.read(&mut chunk) {
        seen.extend_from_slice(&chunk[..octets]);
        if !answered && is_whole(&seen[began..]) {
            answered = true;
            let _ = stream.write_all(response.as_bytes());
            let _ = stream.shutdown(Shutdown::Write);
        }
    }
}

/// Whether this is all of a request, as its own head has it.
fn is_whole(octets: &[u8]) -> bool {
    let text = String::from_utf8_lossy(octets);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .split("\r\n")
        .find_map(|line| line.strip_prefix("content-length: "));
    match length.and_then(|length| length.parse().ok()) {
        Some(length) => body.len() >= length,
        None if head.contains("transfer-encoding: chunked") => body.ends_with("0\r\n\r\n"),
        None => true,
    }
}

/// Runs every case against one proxy, and says all that is wrong.
fn hold(cases: &[Case]) {
    // Connections that stay open end by this time.
    let proxy = Proxy::start(|config| config.head_timeout = Duration::from_secs(2));
    let wrong: Vec<String> = cases
        .chunks(AT_ONCE)
        .flat_map(|cases| {
            thread::scope(|scope| {
                let proxy = &proxy;
                let run = |case| scope.spawn(move || wrong_with(proxy, case));
                let running: Vec<_> = cases.iter().map(run).collect();
                let ended = running.into_iter().map(|case| case.join().unwrap());
                ended.collect::<Vec<_>>()
            })
        })
        .flatten()
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn wrong_with(proxy: &Proxy, case: &Case) -> Vec<String> {
    let server = Scripted::start(case.server);
    let request = case.client.replace("TARGET", &server.address.to_string());
    let said = exchange(&mut proxy.connect(), request.as_bytes());
    let seen = server.seen();
    let served = is_served(proxy);
    let of = |who: &str, octets: &str, musts: &[Must]| {
        let broken = musts.iter().filter(|must| !must.holds(octets));
        let tell = |must| {
            format!(
                "{}\n  {request:?}\n  {who} {octets:?}\n  must {must:?}",
                case.rule
            )
        };
        broken.map(tell).collect::<Vec<_>>()
    };
    assert!(served, "{}: nobody else is served any more", case.rule);
    [
        of("the server sees", &seen, case.forwarded),
        of("the client sees", &said, case.answered),
    ]
    .concat()
}

/// Whether another client of the same proxy gets what it asks for.
fn is_served(proxy: &Proxy) -> bool {
    let server = Scripted::start(OK);
    let address = server.address;
    let request =
        format!("GET http://{address}/victim HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let said = exchange(&mut proxy.connect(), request.as_bytes());
    said.ends_with("\r\n\r\nok") && server.seen().starts_with("GET /victim HTTP/1.1\r\n")
}
