//! The resolver behind both servers: one A record for each name, and no AAAA.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::thread;

/// Starts it on a free port; it lives as long as the process.
pub(crate) fn start() -> io::Result<SocketAddr> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let address = socket.local_addr()?;
    thread::spawn(move || {
        let mut buffer = [0; 1500];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            if let Some(reply) = reply(&buffer[..length]) {
                let _ = socket.send_to(&reply, from);
            }
        }
    });
    Ok(address)
}

fn reply(question: &[u8]) -> Option<Vec<u8>> {
    let name = question.get(12..)?.iter().position(|&byte| byte == 0)?;
    let end = 12 + name + 5;
    let mut reply = question.get(..end)?.to_vec();
    let is_a = reply[end - 4..end] == [0, 1, 0, 1];
    reply[2] = 0x85;
    reply[3] = 0x80;
    reply[4..12].copy_from_slice(&[0, 1, 0, u8::from(is_a), 0, u8::from(!is_a), 0, 0]);
    if is_a {
        reply.extend_from_slice(b"\xc0\x0c\0\x01\0\x01\0\0\x0e\x10\0\x04\xc6\x12\0\x01");
    } else {
        // An SOA of bench.example., one hour, with the root for both of its names.
        reply.extend_from_slice(b"\x05bench\x07example\0\0\x06\0\x01\0\0\x0e\x10\0\x16\0\0");
        reply.extend_from_slice(&[0, 0, 0x0e, 0x10].repeat(5));
    }
    Some(reply)
}
