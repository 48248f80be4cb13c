//! Turns the steps of random traffic into packets, with what was seen of the gateway so far.

use std::net::{IpAddr, Ipv4Addr};

use proptest::sample::Index;

use super::operation::{Content, Look, Operation, Order, Who};
use super::packet::{self, Ends, Flow, Header, ICMP, ICMPV6, IPV4, TCP, UDP};
use super::scenario::{SERVERS, SERVICES, Scenario};

/// How often an inside host sends to another one: a program takes no more than the packets of two sessions that are there.
const TURNS: usize = 3;

/// Everybody on both sides of a gateway.
pub(super) struct Sender<'s> {
    scenario: &'s Scenario,
    /// Packets that the gateway sent.
    seen: Vec<Vec<u8>>,
    /// Packets that it got.
    sent: Vec<Vec<u8>>,
}

impl<'s> Sender<'s> {
    pub(super) fn new(scenario: &'s Scenario) -> Self {
        Self {
            scenario,
            seen: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// A packet left the gateway.
    pub(super) fn see(&mut self, packet: &[u8]) {
        self.seen.push(packet.to_vec());
    }

    /// How many packets left the gateway.
    pub(super) fn seen(&self) -> usize {
        self.seen.len()
    }

    /// The packets of a step, in their order.
    pub(super) fn packets(&mut self, operation: &Operation) -> Vec<Vec<u8>> {
        let packets = self.made(operation).unwrap_or_default();
        self.sent.extend(packets.iter().cloned());
        packets
    }

    fn made(&self, operation: &Operation) -> Option<Vec<Vec<u8>>> {
        let (inside, outside) = (&self.scenario.inside, &self.scenario.outside);
        Some(match operation {
            Operation::Out {
                host,
                server,
                ports,
                look,
            } => {
                let ports = (self.port(ports.0), SERVICES[usize::from(ports.1)]);
                fragments(&inside.flow(*host, address(*server), ports), *look)
            }
            Operation::Unasked {
                outside: host,
                port,
                server,
                look,
            } => {
                let flow = outside.flow(*host, address(*server), (*port, SERVICES[0]));
                fragments(&flow.reversed(), *look)
            }
            Operation::Again { seen, who, look } => {
                let (flow, protocol) = Flow::of(one_of(&self.seen, seen)?)?;
                fragments(&answer(&flow, *who), of_protocol(*look, protocol))
            }
            Operation::Hairpin {
                host,
                ports,
                seen,
                look,
            } => {
                let outside = self.seen_outside();
                let (to, port, protocol) = *outside.get(seen.index(outside.len().max(1)))?;
                let flow = inside.flow(*host, to, (self.port(ports.0), port));
                vec![fragments(&flow, of_protocol(*look, protocol)); TURNS].concat()
            }
            Operation::Error {
                seen,
                inner,
                kind,
                code,
                rest,
                quoted,
            } => {
                vec![error(
                    one_of(&self.seen, seen)?,
                    *inner,
                    (*kind, *code, *rest),
                    usize::from(*quoted),
                )?]
            }
            Operation::Damaged {
                sent,
                changes,
                fixed,
            } => {
                vec![damaged(one_of(&self.sent, sent)?, changes, *fixed)]
            }
            Operation::Pass { .. } => return None,
        })
    }

    /// Where inside hosts can be reached, with the protocol, by the packets that went out.
    fn seen_outside(&self) -> Vec<(Ipv4Addr, u16, u8)> {
        let flows = self.seen.iter().filter_map(|packet| Flow::of(packet));
        let sources = flows.filter_map(|(flow, protocol)| match (flow.softwire, flow.ends) {
            (None, Ends::V4(source, _)) => Some((source, flow.ports.0, protocol)),
            _ => None,
        });
        let ours = |source: &Ipv4Addr| self.scenario.outside.has(*source);
        sources.filter(|(source, ..)| ours(source)).collect()
    }

    fn port(&self, number: u8) -> u16 {
        self.scenario.ports[usize::from(number)]
    }
}

fn one_of<'a>(packets: &'a [Vec<u8>], which: &Index) -> Option<&'a Vec<u8>> {
    packets.get(which.index(packets.len().max(1)))
}

/// Where the sender of a packet is reached from inside, if it was seen on the outside of a gateway.
fn damaged(packet: &[u8], changes: &[(Index, u8)], fixed: bool) -> Vec<u8> {
    let mut packet = packet.to_vec();
    for (at, octet) in changes {
        let at = at.index(packet.len());
        packet[at] ^= octet;
    }
    if fixed && packet[0] >> 4 == 4 {
        packet::fix_header(&mut packet);
    }
    packet
}

fn address(server: u8) -> Ipv4Addr {
    SERVERS[usize::from(server) % SERVERS.len()]
        .parse()
        .expect("an IPv4 address")
}

/// The flow in which somebody answers.
fn answer(flow: &Flow, who: Who) -> Flow {
    let mut answer = flow.reversed();
    match who {
        Who::Receiver => {}
        Who::OtherPort => answer.ports.0 ^= 0x0101,
        Who::Stranger => {
            answer.ends = match answer.ends {
                Ends::V4(from, to) => Ends::V4((u32::from(from) ^ 3).into(), to),
                Ends::V6(from, to) => Ends::V6((u128::from(from) ^ 3).into(), to),
            }
        }
    }
    answer
}

/// A look that is most like the one wanted, of the protocol of the packet that is answered.
fn of_protocol(wanted: Look, protocol: u8) -> Look {
    let content = match (protocol, wanted.content) {
        (UDP, Content::Udp | Content::UdpWithoutChecksum)
        | (TCP, Content::Tcp { .. })
        | (ICMP | ICMPV6, Content::Echo) => wanted.content,
        (UDP, _) => Content::Udp,
        (TCP, Content::Echo) => Content::Tcp {
            flags: 18,
            mss: true,
        },
        (TCP, Content::EchoReply) => Content::Tcp {
            flags: 4,
            mss: false,
        },
        (TCP, _) => Content::Tcp {
            flags: 16,
            mss: false,
        },
        _ => Content::EchoReply,
    };
    Look { content, ..wanted }
}

/// A packet, or its fragments.
fn fragments(flow: &Flow, Look { content, form, cut }: Look) -> Vec<Vec<u8>> {
    if cut.eights == 0 {
        return vec![packet::make(flow, content, form)];
    }
    let size = usize::from(cut.eights) * 8;
    let mut pieces = if cut.inside {
        let inner = Flow {
            softwire: None,
            ..*flow
        };
        let pieces = packet::cut(&packet::make(&inner, content, form), size).into_iter();
        pieces
            .map(|piece| packet::wrap(flow.softwire, piece))
            .collect()
    } else {
        packet::cut(&packet::make(flow, content, form), size)
    };
    match cut.order {
        Order::Forwards => {}
        Order::Backwards => pieces.reverse(),
        Order::WithoutFirst => drop(pieces.remove(0)),
        Order::LastTwice => pieces.extend(pieces.last().cloned()),
    }
    pieces
}

/// An error about a packet, to its sender; about the packet `inner` a softwire, it comes through the softwire.
fn error(
    about: &[u8],
    inner: bool,
    (kind, code, rest): (u8, u8, u32),
    quoted: usize,
) -> Option<Vec<u8>> {
    let header = Header::of(about)?;
    let within = about
        .get(header.length..)
        .filter(|_| header.protocol == IPV4 && inner);
    let (softwire, about) = match (header.ends, within) {
        (Ends::V6(from, to), Some(within)) => (Some((to, from)), within),
        _ => (None, about),
    };
    let router = match Header::of(about)?.ends {
        // Of the receiver's network, so that the router's address can be translated.
        Ends::V4(from, to) => Ends::V4((u32::from(to) ^ 0x40).into(), from),
        Ends::V6(from, to) => Ends::V6((u128::from(to) ^ 0x40).into(), from),
    };
    Some(packet::wrap(
        softwire,
        packet::error(about, router, kind, code, rest, quoted),
    ))
}

/// Addresses and protocol, for people.
pub(super) fn described(packet: &[u8]) -> String {
    let Some(header) = Header::of(packet) else {
        return "no IP packet".to_owned();
    };
    let (from, to): (IpAddr, IpAddr) = match header.ends {
        Ends::V4(from, to) => (from.into(), to.into()),
        Ends::V6(from, to) => (from.into(), to.into()),
    };
    let protocol = match header.protocol {
        ICMP => "ICMP".to_owned(),
        ICMPV6 => "ICMPv6".to_owned(),
        TCP => "TCP".to_owned(),
        UDP => "UDP".to_owned(),
        other => format!("protocol {other}"),
    };
    let ports = Flow::of(packet).map_or((0, 0), |(flow, _)| flow.ports);
    format!(
        "{from} {} to {to} {}, {protocol}, {} octets",
        ports.0,
        ports.1,
        packet.len()
    )
}
