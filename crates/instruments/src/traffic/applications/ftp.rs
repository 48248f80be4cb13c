//! An FTP server (RFC 959, RFC 2428) with one page, which also takes files.
//!
//! FTP carries addresses and ports in its control connection. Like other servers, this one connects only to the
//! client that asks (RFC 2577 section 3): a client whose address was translated names another one.

use std::{
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::limits::{PATIENCE, REACH};
use crate::{LabError, Result, traffic::services::PAGE};

/// The port of the control connection.
pub(super) const PORT: u16 = 21;
/// The interval at which the server looks for clients.
const PAUSE: Duration = Duration::from_millis(2);

/// The server.
pub(super) struct Server {
    listener: TcpListener,
    over: AtomicBool,
    refused: Mutex<Option<String>>,
}

impl Server {
    /// Listens at an address of this namespace.
    pub(super) fn listen(address: SocketAddr) -> Result<Self> {
        let problem = |source| LabError::Socket {
            action: "listen at",
            address,
            source,
        };
        let listener = TcpListener::bind(address).map_err(problem)?;
        listener.set_nonblocking(true).map_err(problem)?;
        Ok(Self {
            listener,
            over: AtomicBool::new(false),
            refused: Mutex::new(None),
        })
    }

    /// Serves clients until the server is ended. Data connections are made in this thread's namespace.
    pub(super) fn serve(&self) {
        thread::scope(|scope| {
            while !self.over.load(Ordering::Relaxed) {
                match self.listener.accept() {
                    // The client reports an error of the conversation.
                    Ok((stream, _)) => drop(scope.spawn(|| self.converse(stream))),
                    Err(_) => thread::sleep(PAUSE),
                }
            }
        });
    }

    /// Ends the server.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Returns its last reply to a client whose address it refused.
    pub(super) fn refused(&self) -> Option<String> {
        let refused = self.refused.lock();
        refused.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn refuse(&self, address: Option<SocketAddr>, there: IpAddr) -> String {
        let said = address.map_or("nothing".into(), |address| address.ip().to_string());
        let why = format!("the client says {said}, and comes from {there}");
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        *refused = Some(why.clone());
        why
    }

    /// Serves one client's control connection to its end.
    fn converse(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let (here, there) = (stream.local_addr()?.ip(), stream.peer_addr()?.ip());
        let mut answers = stream.try_clone()?;
        let mut answer = |text: &str| write!(answers, "{text}\r\n");
        answer("220 ready")?;
        let mut data = None;
        for line in BufReader::new(stream).lines() {
            let line = line?;
            let (command, argument) = line.split_once(' ').unwrap_or((&line, ""));
            match command.to_ascii_uppercase().as_str() {
                "USER" => answer("331 any password")?,
                "PASS" => answer("230 come in")?,
                "PWD" => answer("257 \"/\"")?,
                "TYPE" | "CWD" => answer("200 fine")?,
                "SIZE" => answer(&format!("213 {}", PAGE.len()))?,
                "EPSV" | "PASV" => {
                    let listener = TcpListener::bind((here, 0))?;
                    let port = listener.local_addr()?.port();
                    let said = passive(command, here, port);
                    data = Some(Data::Passive(listener));
                    answer(&said)?;
                }
                "EPRT" | "PORT" => match active(argument) {
                    Some(address) if address.ip() == there => {
                        data = Some(Data::Active(address));
                        answer("200 I shall come there")?;
                    }
                    // Over IPv6, curl has no other command and would wait for one.
                    address => return answer(&format!("421 {}", self.refuse(address, there))),
                },
                "RETR" | "STOR" => {
                    answer("150 here it goes")?;
                    let moved = data.take().ok_or(ErrorKind::NotConnected.into());
                    let moved = moved.and_then(Data::open).and_then(|mut data| {
                        if command.eq_ignore_ascii_case("RETR") {
                            data.write_all(PAGE.as_bytes())
                        } else {
                            data.set_read_timeout(Some(PATIENCE))?;
                            data.read_to_end(&mut Vec::new()).map(drop)
                        }
                    });
                    match moved {
                        Ok(()) => answer("226 that was all")?,
                        Err(error) => answer(&format!("425 no data connection: {error}"))?,
                    }
                }
                "QUIT" => return answer("221 until next time"),
                _ => answer("502 not here")?,
            }
        }
        Ok(())
    }
}

/// The mode of the next transfer.
enum Data {
    /// The client connects to the server.
    Passive(TcpListener),
    /// The server connects to the client.
    Active(SocketAddr),
}

impl Data {
    fn open(self) -> io::Result<TcpStream> {
        match self {
            Self::Passive(listener) => accept(&listener),
            Self::Active(address) => TcpStream::connect_timeout(&address, REACH),
        }
    }
}

fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let until = Instant::now() + PATIENCE;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < until => {
                thread::sleep(PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Returns the reply to a client that will connect (RFC 959 section 4.1.2, RFC 2428 section 3).
fn passive(command: &str, here: IpAddr, port: u16) -> String {
    match here {
        IpAddr::V4(address) if command.eq_ignore_ascii_case("PASV") => {
            let [a, b, c, d] = address.octets();
            let [high, low] = port.to_be_bytes();
            format!("227 come to ({a},{b},{c},{d},{high},{low})")
        }
        _ => format!("229 come (|||{port}|)"),
    }
}

/// Parses the address to which the server shall connect, in the form of either command: `192,0,2,1,7,8` or
/// `|1|192.0.2.1|1800|` (RFC 959 section 5.3.2, RFC 2428 section 2).
fn active(argument: &str) -> Option<SocketAddr> {
    if let Some(extended) = argument.strip_prefix('|') {
        let mut parts = extended.split('|').skip(1);
        let (address, port) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        return Some(SocketAddr::new(address, port));
    }
    let numbers: Vec<u8> = argument
        .split(',')
        .map_while(|number| number.trim().parse().ok())
        .collect();
    let [a, b, c, d, high, low] = numbers[..] else {
        return None;
    };
    let address = Ipv4Addr::new(a, b, c, d);
    Some((address, u16::from_be_bytes([high, low])).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_the_rfcs_say() {
        // RFC 2428 section 2 has these two.
        assert_eq!(
            active("|1|132.235.1.2|6275|"),
            "132.235.1.2:6275".parse().ok()
        );
        assert_eq!(
            active("|2|1080::8:800:200C:417A|5282|"),
            "[1080::8:800:200C:417A]:5282".parse().ok()
        );
        assert_eq!(
            active("132,235,1,2,24,131"),
            "132.235.1.2:6275".parse().ok()
        );
        assert_eq!(active("1,2,3"), None);
        assert_eq!(active("|2|nobody|1|"), None);
        let (four, six) = ("132.235.1.2".parse().unwrap(), "::1".parse().unwrap());
        assert_eq!(
            passive("PASV", four, 6275),
            "227 come to (132,235,1,2,24,131)"
        );
        assert_eq!(passive("EPSV", six, 6446), "229 come (|||6446|)");
    }

    #[test]
    fn a_real_client_fetches_and_brings_in_both_ways() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, PAGE).unwrap();
        let file = file.path().to_str().unwrap();
        let server = Server::listen(([127, 0, 0, 1], 0).into()).unwrap();
        let port = server.listener.local_addr().unwrap().port();
        let url = format!("ftp://127.0.0.1:{port}/page");
        let curl = |arguments: &[&str]| {
            let mut command = std::process::Command::new("curl");
            command.args(["--silent", "--show-error", "--max-time", "10"]);
            let output = command.args(arguments).arg(&url).output().unwrap();
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
        };
        let came = thread::scope(|scope| {
            scope.spawn(|| server.serve());
            let came = [
                curl(&["--ftp-pasv"]),
                curl(&["--ftp-pasv", "--disable-epsv"]),
                curl(&["--ftp-port", "-"]),
                curl(&["--ftp-port", "-", "--disable-eprt"]),
                curl(&["--upload-file", file]),
                // An address of the client that is not the source of its connection.
                curl(&["--ftp-port", "127.0.0.2"]),
            ];
            server.end();
            came
        });
        assert_eq!(came[..4], [PAGE; 4]);
        assert_eq!(came[4], "");
        assert!(came[5].starts_with("curl: ("), "{}", came[5]);
        let refusal = "the client says 127.0.0.2, and comes from 127.0.0.1";
        assert_eq!(server.refused().as_deref(), Some(refusal));
    }
}
