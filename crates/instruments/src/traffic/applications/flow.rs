//! Datagrams at a steady rate in both directions, each with its number and the time at which it was sent.

use std::{
    net::{SocketAddr, UdpSocket},
    thread,
    time::{Duration, Instant},
};

use super::{Trouble, fails};
use crate::{
    LabError,
    network::{netns::Namespace, threads::join},
};

/// The octets of number and time.
const HEAD: usize = 12;
/// The time that the last datagrams may take.
const END: Duration = Duration::from_millis(500);
/// The number of greetings; the first ones may be lost while neighbours are resolved.
const GREETINGS: usize = 10;
/// The share of datagrams that are later than [`Stream::late`].
const LATEST: usize = 100;

/// A stream of packets at a steady rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stream {
    /// The number of packets sent.
    pub sent: u32,
    /// The number that arrived.
    pub came: u32,
    /// The time by which one packet in a hundred is later than the earliest, or more.
    pub late: Duration,
}

impl Stream {
    /// Returns the share that was lost, 0.0 to 1.0.
    pub fn lost(&self) -> f64 {
        1.0 - f64::from(self.came) / f64::from(self.sent.max(1))
    }
}

/// The flow from either host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    /// Datagrams per second.
    pub(super) rate: u32,
    /// Their octets.
    pub(super) size: usize,
    /// Their number.
    pub(super) count: u32,
}

/// Opens a socket on a node.
pub(super) fn open(node: &Namespace, address: SocketAddr) -> crate::Result<UdpSocket> {
    let problem = |source| LabError::Socket {
        action: "send datagrams from",
        address,
        source,
    };
    node.enter(|| {
        let socket = UdpSocket::bind(address).map_err(problem)?;
        socket.set_read_timeout(Some(END)).map_err(problem)?;
        Ok(socket)
    })
}

/// Sends a greeting from `near`. Returns where `far` sees its sender.
pub(super) fn greet([near, far]: [&UdpSocket; 2], to: SocketAddr) -> Option<SocketAddr> {
    let mut heard = [0; 16];
    for _ in 0..GREETINGS {
        // It may be refused while there is no route yet.
        if near.send_to(b"hello", to).is_err() {
            thread::sleep(Duration::from_millis(100));
            continue;
        }
        if let Ok((length, from)) = far.recv_from(&mut heard)
            && &heard[..length] == b"hello"
        {
            return Some(from);
        }
    }
    None
}

/// Sends the flow from both sockets to where each knows the other. Returns what came there and back together.
pub(super) fn exchange(
    flow: Flow,
    ends: [(&UdpSocket, SocketAddr); 2],
) -> std::result::Result<Stream, Trouble> {
    let epoch = Instant::now();
    let [near, far] = ends;
    let [there, back] = thread::scope(|scope| {
        for (socket, to) in [near, far] {
            scope.spawn(move || send(flow, socket, to, epoch));
        }
        let there = scope.spawn(move || receive(flow, far.0, epoch));
        let back = receive(flow, near.0, epoch);
        [join(there), back]
    });
    for (transits, name) in [(&there, "the server"), (&back, "the client")] {
        if transits.is_empty() {
            return fails(format!("no packet comes to {name}"));
        }
    }
    let came = there.len() + back.len();
    Ok(Stream {
        sent: 2 * flow.count,
        came: u32::try_from(came).unwrap_or(u32::MAX),
        late: late(there).max(late(back)),
    })
}

fn send(flow: Flow, socket: &UdpSocket, to: SocketAddr, epoch: Instant) {
    let mut datagram = vec![0; flow.size.max(HEAD)];
    let start = Instant::now();
    for number in 0..flow.count {
        let due = start + Duration::from_secs(1) * number / flow.rate;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let sent = u64::try_from(epoch.elapsed().as_nanos()).unwrap_or(u64::MAX);
        datagram[..4].copy_from_slice(&number.to_be_bytes());
        datagram[4..HEAD].copy_from_slice(&sent.to_be_bytes());
        // What is not sent, or what an ICMP error reports here, does not come.
        let _ = socket.send_to(&datagram, to);
    }
}

/// Returns the time that each datagram took; a copy of one does not count.
fn receive(flow: Flow, socket: &UdpSocket, epoch: Instant) -> Vec<Duration> {
    let until = Instant::now() + Duration::from_secs(1) * flow.count / flow.rate + END;
    let mut transits = vec![None; flow.count as usize];
    let mut datagram = vec![0; flow.size.max(HEAD) + 1];
    while Instant::now() < until {
        let length = match socket.recv_from(&mut datagram) {
            Ok((length, _)) => length,
            // Nothing yet, or an ICMP error for what was sent.
            Err(_) => continue,
        };
        let now = epoch.elapsed();
        let Some((number, sent)) = read(&datagram[..length]) else {
            continue;
        };
        if let Some(transit) = transits.get_mut(number as usize) {
            transit.get_or_insert(now.saturating_sub(sent));
        }
        if number + 1 == flow.count {
            break;
        }
    }
    transits.into_iter().flatten().collect()
}

fn read(datagram: &[u8]) -> Option<(u32, Duration)> {
    let (number, rest) = datagram.split_first_chunk()?;
    let (sent, _) = rest.split_first_chunk()?;
    let sent = Duration::from_nanos(u64::from_be_bytes(*sent));
    Some((u32::from_be_bytes(*number), sent))
}

/// Returns the time by which one in a hundred is later than the earliest.
fn late(mut transits: Vec<Duration>) -> Duration {
    transits.sort();
    let earliest = transits.first().copied().unwrap_or_default();
    let rank = (transits.len() - transits.len() / LATEST).saturating_sub(1);
    transits
        .get(rank)
        .map_or(Duration::ZERO, |transit| *transit - earliest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_leaves_the_latest_out() {
        let mut transits: Vec<_> = (0..198).map(|_| Duration::from_millis(1)).collect();
        transits.push(Duration::from_millis(11));
        transits.push(Duration::from_secs(1));
        assert_eq!(late(transits.clone()), Duration::ZERO);
        transits.push(Duration::from_millis(21));
        assert_eq!(late(transits), Duration::from_millis(10));
        assert_eq!(late(Vec::new()), Duration::ZERO);
    }

    #[test]
    fn both_directions_are_counted() {
        let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let sockets = [(); 3].map(|()| {
            let socket = UdpSocket::bind(local).unwrap();
            socket.set_read_timeout(Some(END)).unwrap();
            socket
        });
        let [near, far, elsewhere] = sockets
            .each_ref()
            .map(|socket| socket.local_addr().unwrap());
        let flow = Flow {
            rate: 1000,
            size: 100,
            count: 50,
        };
        let seen = exchange(flow, [(&sockets[0], far), (&sockets[1], near)]).unwrap();
        assert_eq!((seen.sent, seen.came), (100, 100));
        let deaf = exchange(flow, [(&sockets[0], far), (&sockets[1], elsewhere)]);
        assert!(matches!(deaf, Err(Trouble::Fails(why)) if why == "no packet comes to the client"));
    }
}
