//! A UDP sender whose datagrams travel in fragments, some of them in the wrong order.
//!
//! Raw sockets send the fragments as they are. The receiver is an ordinary UDP socket, whose kernel reassembles them.
//! A datagram that the gateway loses does not arrive; one that it mixes up differs.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket},
    os::fd::OwnedFd,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::net::{
    AddressFamily, Protocol, RawProtocol, SendFlags, SocketType, sendto, socket,
    sockopt::set_socket_recv_buffer_size_force,
};

use crate::{
    LabError, Result,
    network::{netns::Namespace, threads::join},
};

/// Octets of UDP payload: three fragments on links of 1500.
const PAYLOAD: usize = 3600;
/// Octets of IP payload in a fragment but the last; a multiple of 8.
const FRAGMENT: usize = 1400;
const PORT: u16 = 7007;
/// Octets that the receiver's socket holds.
const BUFFER: usize = 16 << 20;
/// The pause between datagrams: 2000 a second, as long as they arrive.
const PAUSE: Duration = Duration::from_micros(500);
/// Datagrams that may be on their way at once: all their fragments fit into the queues before them, however long a busy
/// machine keeps somebody from its processor. Of each a SIIT cuts two, and one host has 128 places for such.
const WINDOW: u32 = 60;
/// The time after which what has not arrived is lost.
const PATIENCE: Duration = Duration::from_secs(1);

/// The addresses of a flow, as each end sees the other.
#[derive(Debug, Clone, Copy)]
pub struct Flow {
    /// The sender's own address.
    pub source: IpAddr,
    /// The receiver as the sender addresses it.
    pub destination: IpAddr,
}

/// Sends `count` fragmented datagrams, every `swapped`-th with its fragments reversed, and returns
/// how many arrived whole.
pub fn exchange(
    sender: &Namespace,
    receiver: &Namespace,
    flow: Flow,
    count: u32,
    swapped: u32,
) -> Result<u32> {
    let problem = |source: io::Error| LabError::Start {
        command: format!("fragments to {}", flow.destination),
        source,
    };
    let listener = receiver.enter(|| listen(flow).map_err(problem))?;
    let arrived = AtomicU32::new(0);
    let send = || send_all(flow, count, swapped, &arrived).map_err(problem);
    thread::scope(|scope| {
        let sending = scope.spawn(|| sender.enter(send));
        let mut received = 0;
        let mut buffer = vec![0; 65536];
        let mut last = Instant::now();
        // The loop ends when everything has arrived, or when the sender has ended and nothing more comes.
        while received < count && (!sending.is_finished() || last.elapsed() < PATIENCE) {
            if let Ok(length) = listener.recv(&mut buffer) {
                received += u32::from(is_whole(&buffer[..length]));
                arrived.store(received, Ordering::Relaxed);
                last = Instant::now();
            }
        }
        join(sending).map(|()| received)
    })
}

/// Returns the receiver's socket, in the receiver's namespace.
fn listen(flow: Flow) -> io::Result<UdpSocket> {
    let any = match flow.destination {
        // The two sides of a translator have different families.
        IpAddr::V4(_) => SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), PORT),
        IpAddr::V6(_) => SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), PORT),
    };
    let socket = UdpSocket::bind(any)?;
    // Datagrams wait here while another process runs on the core.
    set_socket_recv_buffer_size_force(&socket, BUFFER)?;
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;
    Ok(socket)
}

/// Sends the fragments of all datagrams, from the sender's namespace, as they arrive.
fn send_all(flow: Flow, count: u32, swapped: u32, arrived: &AtomicU32) -> io::Result<()> {
    let raw = raw_socket(flow)?;
    let mut lost = 0;
    for number in 0..count {
        let on_their_way = || number.saturating_sub(arrived.load(Ordering::Relaxed));
        let begun = Instant::now();
        while on_their_way().saturating_sub(lost) >= WINDOW {
            if begun.elapsed() > PATIENCE {
                lost = on_their_way();
            }
            thread::sleep(PAUSE);
        }
        let mut parts = datagram(flow, number);
        if number % swapped == 0 {
            parts.reverse();
        }
        for part in parts {
            send(&raw, flow, &part)?;
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

fn raw_socket(flow: Flow) -> rustix::io::Result<OwnedFd> {
    let family = match flow.destination {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    };
    // Protocol 255 takes packets with their IP header.
    let raw = RawProtocol::new(255).map(Protocol::from_raw);
    socket(family, SocketType::RAW, raw)
}

fn send(raw: &OwnedFd, flow: Flow, packet: &[u8]) -> rustix::io::Result<()> {
    match flow.destination {
        IpAddr::V4(address) => sendto(
            raw,
            packet,
            SendFlags::empty(),
            &SocketAddrV4::new(address, 0),
        ),
        IpAddr::V6(address) => sendto(
            raw,
            packet,
            SendFlags::empty(),
            &SocketAddrV6::new(address, 0, 0, 0),
        ),
    }
    .map(drop)
}

/// Returns a payload that names its number; each octet depends on its offset.
fn payload(number: u32) -> Vec<u8> {
    let mut octets = number.to_be_bytes().to_vec();
    octets.extend((4..PAYLOAD).map(|at| octet(number, at)));
    octets
}

fn octet(number: u32, at: usize) -> u8 {
    (at as u32).wrapping_mul(31).wrapping_add(number) as u8
}

fn is_whole(received: &[u8]) -> bool {
    let Some((number, _)) = received.split_first_chunk::<4>() else {
        return false;
    };
    received == payload(u32::from_be_bytes(*number))
}

/// The fragments of one datagram, as IP packets in order.
fn datagram(flow: Flow, number: u32) -> Vec<Vec<u8>> {
    let payload = payload(number);
    let mut udp = Vec::with_capacity(8 + payload.len());
    udp.extend(PORT.to_be_bytes());
    udp.extend(PORT.to_be_bytes());
    udp.extend((8 + payload.len() as u16).to_be_bytes());
    udp.extend([0, 0]);
    udp.extend(payload);
    let checksum = udp_checksum(flow, &udp).to_be_bytes();
    udp[6..8].copy_from_slice(&checksum);
    let parts = udp.chunks(FRAGMENT).enumerate();
    let last = udp.len().div_ceil(FRAGMENT) - 1;
    parts
        .map(|(index, part)| {
            let offset = (index * FRAGMENT / 8) as u16;
            packet(flow, number, offset, index < last, part)
        })
        .collect()
}

/// One fragment with its IP header; `offset` in units of 8 octets.
fn packet(flow: Flow, number: u32, offset: u16, more: bool, part: &[u8]) -> Vec<u8> {
    let mut octets = Vec::with_capacity(48 + part.len());
    match (flow.source, flow.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            // The kernel fills in total length and checksum.
            octets.extend([0x45, 0, 0, 0]);
            octets.extend((number as u16 + 1).to_be_bytes());
            octets.extend((offset | u16::from(more) << 13).to_be_bytes());
            octets.extend([64, 17, 0, 0]);
            octets.extend(source.octets());
            octets.extend(destination.octets());
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            octets.extend([0x60, 0, 0, 0]);
            octets.extend((8 + part.len() as u16).to_be_bytes());
            octets.extend([44, 64]);
            octets.extend(source.octets());
            octets.extend(destination.octets());
            octets.extend([17, 0]);
            octets.extend((offset << 3 | u16::from(more)).to_be_bytes());
            octets.extend(number.to_be_bytes());
        }
        // A flow has one family.
        _ => {}
    }
    octets.extend(part);
    octets
}

/// RFC 768 and RFC 8200 section 8.1: over pseudo-header, header and payload.
fn udp_checksum(flow: Flow, udp: &[u8]) -> u16 {
    let mut octets = Vec::new();
    for address in [flow.source, flow.destination] {
        match address {
            IpAddr::V4(address) => octets.extend(address.octets()),
            IpAddr::V6(address) => octets.extend(address.octets()),
        }
    }
    octets.extend((udp.len() as u16).to_be_bytes());
    octets.extend([0, 17]);
    octets.extend(udp);
    let mut sum: u32 = octets
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    match !(sum as u16) {
        0 => 0xffff,
        checksum => checksum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_of_a_datagram_cover_it() {
        let flow = Flow {
            source: Ipv4Addr::new(192, 0, 2, 1).into(),
            destination: Ipv4Addr::new(192, 0, 2, 2).into(),
        };
        let parts = datagram(flow, 5);
        assert_eq!(parts.len(), 3);
        assert_eq!(
            parts.iter().map(|part| part.len() - 20).sum::<usize>(),
            3608
        );
        // Offsets 0, 175 and 350 in units of 8; "more fragments" on all but the last.
        let offsets: Vec<&[u8]> = parts.iter().map(|part| &part[6..8]).collect();
        assert_eq!(offsets, [[0x20, 0], [0x20, 175], [0x01, 94]]);
    }

    #[test]
    fn a_changed_octet_shows() {
        let mut whole = payload(77);
        assert!(is_whole(&whole));
        whole[2000] ^= 1;
        assert!(!is_whole(&whole));
        assert!(!is_whole(&payload(77)[..3599]));
    }
}
