//! The transport of one message from one host's socket to the other's.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream, UdpSocket},
    time::{Duration, Instant},
};

use super::{
    Pair,
    message::{Messages, Seen},
    port, problem, unless_it_would_block,
};
use crate::{Result, network::wire::Direction};

/// The transport of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// One datagram per message.
    Udp,
    /// A stream: a message has arrived when all of its bytes have.
    Tcp,
}

/// The times at which a message was given to a socket and taken from the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    /// Before it was given.
    pub(super) given: Instant,
    /// After all of it had been taken.
    pub(super) taken: Instant,
}

/// The task of passing one message.
pub(super) struct Parcel<'a> {
    /// The direction of the message.
    pub(super) direction: Direction,
    /// The messages, of which the last written one is passed.
    pub(super) messages: &'a Messages,
    /// The number of that message.
    pub(super) number: u64,
    /// The time after which the message is lost.
    pub(super) timeout: Duration,
}

/// The fate of a message.
pub(super) enum Delivery {
    /// It arrived.
    Arrived(Passed),
    /// Something else arrived instead.
    Corrupted,
    /// Nothing arrived in time.
    Lost,
}

/// The sockets of two hosts.
pub(super) enum Carrier {
    /// UDP.
    Datagrams(Datagrams),
    /// TCP.
    Connection(Connection),
}

impl Carrier {
    /// Opens the sockets of a pair of hosts.
    pub(super) fn new(protocol: Protocol, pair: &Pair) -> Result<Self> {
        let buffer = Messages::buffer();
        Ok(match protocol {
            Protocol::Udp => {
                let (near, far) = pair.datagrams()?;
                Self::Datagrams(Datagrams {
                    target: SocketAddr::new(pair.target, port(&far)?),
                    near,
                    far,
                    peer: None,
                    buffer,
                })
            }
            Protocol::Tcp => {
                let (near, far) = pair.connection()?;
                Self::Connection(Connection {
                    target: SocketAddr::new(pair.target, 0),
                    near,
                    far,
                    buffer,
                })
            }
        })
    }

    /// Passes a message. Arrivals of earlier messages are counted in `strays`.
    pub(super) fn pass(&mut self, parcel: &Parcel<'_>, strays: &mut u32) -> Result<Delivery> {
        match self {
            Self::Datagrams(sockets) => {
                let outcome = sockets.pass(parcel, strays);
                outcome.map_err(problem("exchange datagrams with", sockets.target))
            }
            Self::Connection(sockets) => {
                let outcome = sockets.pass(parcel);
                outcome.map_err(problem("exchange messages with", sockets.target))
            }
        }
    }
}

/// UDP sockets.
pub(super) struct Datagrams {
    near: UdpSocket,
    far: UdpSocket,
    target: SocketAddr,
    /// The near host's address as the far one sees it; known after the first message.
    peer: Option<SocketAddr>,
    buffer: Vec<u8>,
}

impl Datagrams {
    fn pass(&mut self, parcel: &Parcel<'_>, strays: &mut u32) -> io::Result<Delivery> {
        let Parcel {
            direction,
            messages,
            number,
            timeout,
        } = *parcel;
        let message = messages.octets();
        let given = Instant::now();
        let send = || match (direction, self.peer) {
            (Direction::Forth, _) => self.near.send(message),
            (Direction::Back, Some(peer)) => self.far.send_to(message, peer),
            (Direction::Back, None) => Err(io::ErrorKind::NotConnected.into()),
        };
        while unless_it_would_block(send())?.is_none() {
            if given.elapsed() > timeout {
                return Ok(Delivery::Lost);
            }
        }
        loop {
            let received = match direction {
                Direction::Forth => self.far.recv_from(&mut self.buffer),
                Direction::Back => {
                    let received = self.near.recv(&mut self.buffer);
                    received.map(|length| (length, self.target))
                }
            };
            let taken = Instant::now();
            let Some((length, from)) = unless_it_would_block(received)? else {
                if taken.duration_since(given) > timeout {
                    return Ok(Delivery::Lost);
                }
                continue;
            };
            if direction == Direction::Forth {
                self.peer = Some(from);
            }
            match messages.read(&self.buffer[..length], number) {
                Seen::Number(seen) if seen == number => {
                    return Ok(Delivery::Arrived(Passed { given, taken }));
                }
                Seen::Number(earlier) if earlier < number => *strays += 1,
                Seen::Number(_) | Seen::Corrupted => return Ok(Delivery::Corrupted),
            }
        }
    }
}

/// Both ends of a TCP connection.
pub(super) struct Connection {
    near: TcpStream,
    far: TcpStream,
    target: SocketAddr,
    buffer: Vec<u8>,
}

impl Connection {
    fn pass(&mut self, parcel: &Parcel<'_>) -> io::Result<Delivery> {
        let (from, to) = match parcel.direction {
            Direction::Forth => (&mut self.near, &mut self.far),
            Direction::Back => (&mut self.far, &mut self.near),
        };
        let message = parcel.messages.octets();
        let (mut written, mut read) = (0, 0);
        let given = Instant::now();
        let mut taken = given;
        while read < message.len() {
            if written < message.len() {
                written += unless_it_would_block(from.write(&message[written..]))?.unwrap_or(0);
            }
            match unless_it_would_block(to.read(&mut self.buffer[read..message.len()]))? {
                Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(more) => read += more,
                None if taken.duration_since(given) > parcel.timeout => return Ok(Delivery::Lost),
                None => {}
            }
            taken = Instant::now();
        }
        Ok(
            match parcel.messages.read(&self.buffer[..read], parcel.number) {
                Seen::Number(seen) if seen == parcel.number => {
                    Delivery::Arrived(Passed { given, taken })
                }
                _ => Delivery::Corrupted,
            },
        )
    }
}
