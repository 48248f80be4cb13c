//! An HTTP/1.1 client (RFC 9112) that takes the time.

use std::{
    io::{Error, ErrorKind, Read, Result, Write},
    net::{IpAddr, TcpStream},
    time::{Duration, Instant},
};

/// The time that any step may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// More than the head of any response.
const HEAD: usize = 1024;

/// A connection for several requests.
pub(super) struct Connection {
    stream: TcpStream,
    /// The buffer of responses, which is reused.
    answer: Vec<u8>,
}

impl Connection {
    /// Connects to port 80. Also returns how long that took, in seconds.
    pub(super) fn open(address: IpAddr) -> Result<(Self, f64)> {
        let start = Instant::now();
        let stream = TcpStream::connect_timeout(&(address, 80).into(), PATIENCE)?;
        let seconds = start.elapsed().as_secs_f64();
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let answer = Vec::new();
        Ok((Self { stream, answer }, seconds))
    }

    /// Requests a file of this many octets and reads all of it.
    pub(super) fn get(&mut self, path: &str, octets: usize) -> Result<()> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: lab\r\n\r\n");
        self.stream.write_all(request.as_bytes())?;
        self.answer.resize(HEAD + octets, 0);
        let mut have = 0;
        loop {
            let count = self.stream.read(&mut self.answer[have..])?;
            have += count;
            let answer = &self.answer[..have];
            if let Some(head) = head(answer) {
                if !answer.starts_with(b"HTTP/1.1 200 ") {
                    return Err(unexpected(&answer[..head]));
                }
                if have - head >= octets {
                    return Ok(());
                }
            }
            if count == 0 {
                return Err(unexpected(answer));
            }
        }
    }
}

/// Returns the length of the head, with the empty line at its end, once it is complete.
fn head(answer: &[u8]) -> Option<usize> {
    let answer = &answer[..answer.len().min(HEAD)];
    let end = answer.windows(4).position(|end| end == b"\r\n\r\n")?;
    Some(end + 4)
}

fn unexpected(answer: &[u8]) -> Error {
    let told = String::from_utf8_lossy(&answer[..answer.len().min(80)]);
    Error::new(ErrorKind::InvalidData, format!("answered: {told}"))
}
