//! The steps of random traffic. They name hosts and packets by numbers, so that a failing run can be made shorter.

use proptest::prelude::*;
use proptest::sample::Index;

/// A step: something that happens at a gateway.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    /// An inside host sends to a server.
    Out {
        host: u8,
        server: u8,
        ports: (u8, u8),
        look: Look,
    },
    /// A server sends to an outside address, to a port that somebody may have.
    Unasked {
        outside: u8,
        port: u16,
        server: u8,
        look: Look,
    },
    /// The receiver of a packet answers it, or its sender sends more.
    Again { seen: Index, who: Who, look: Look },
    /// An inside host sends to where another one can be reached.
    Hairpin {
        host: u8,
        ports: (u8, u8),
        seen: Index,
        look: Look,
    },
    /// A router, or the receiver, tells the sender of a packet of an error.
    Error {
        seen: Index,
        inner: bool,
        kind: u8,
        code: u8,
        rest: u32,
        quoted: u16,
    },
    /// A packet of before, with octets that differ.
    Damaged {
        sent: Index,
        changes: Vec<(Index, u8)>,
        fixed: bool,
    },
    /// Time passes.
    Pass { milliseconds: u32 },
}

/// What is in a packet, and how it comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) content: Content,
    pub(super) form: Form,
    pub(super) cut: Cut,
}

/// Who sends, after a packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// Its receiver, to its sender.
    Receiver,
    /// A neighbour of the receiver: the same host with another port.
    OtherPort,
    /// Somebody else.
    Stranger,
}

/// The transport of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Udp,
    UdpWithoutChecksum,
    Tcp {
        flags: u8,
        mss: bool,
    },
    Echo,
    EchoReply,
    /// Of ICMPv4 only.
    Timestamp,
    Protocol(u8),
}

/// How a packet looks besides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) payload: u16,
    pub(super) ttl: u8,
    pub(super) identification: u16,
    pub(super) dont_fragment: bool,
    /// With IPv4 options, or destination options of IPv6.
    pub(super) extension: bool,
    /// With a Fragment header round the whole packet, in IPv6.
    pub(super) fragment_header: bool,
}

impl Default for Form {
    fn default() -> Self {
        Self {
            payload: 8,
            ttl: 64,
            identification: 0,
            dont_fragment: true,
            extension: false,
            fragment_header: false,
        }
    }
}

/// How a packet comes in fragments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// Eights of octets in a fragment; 0: the packet is whole.
    pub(super) eights: u8,
    /// The packet in the softwire is cut, and not the softwire's.
    pub(super) inside: bool,
    pub(super) order: Order,
}

/// In which order fragments come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Forwards,
    Backwards,
    /// The first one is lost.
    WithoutFirst,
    /// The last one comes twice.
    LastTwice,
}

pub(super) fn operations() -> impl Strategy<Value = Vec<Operation>> {
    prop::collection::vec(operation(), 1..60)
}

fn operation() -> impl Strategy<Value = Operation> {
    let out = (0..6_u8, 0..4_u8, ports(), look());
    let unasked = (0..3_u8, any::<u16>(), 0..4_u8, look());
    let again = (any::<Index>(), who(), look());
    let hairpin = (0..6_u8, ports(), any::<Index>(), look());
    prop_oneof![
        8 => out.prop_map(|(host, server, ports, look)| Operation::Out { host, server, ports, look }),
        2 => unasked.prop_map(|(outside, port, server, look)| Operation::Unasked { outside, port, server, look }),
        9 => again.prop_map(|(seen, who, look)| Operation::Again { seen, who, look }),
        2 => hairpin.prop_map(|(host, ports, seen, look)| Operation::Hairpin { host, ports, seen, look }),
        3 => error(),
        2 => damaged(),
        3 => pass().prop_map(|milliseconds| Operation::Pass { milliseconds }),
    ]
}

fn damaged() -> impl Strategy<Value = Operation> {
    let changes = prop::collection::vec((any::<Index>(), any::<u8>()), 1..4);
    (any::<Index>(), changes, any::<bool>()).prop_map(|(sent, changes, fixed)| Operation::Damaged {
        sent,
        changes,
        fixed,
    })
}

fn look() -> impl Strategy<Value = Look> {
    (content(), form(), cut()).prop_map(|(content, form, cut)| Look { content, form, cut })
}

fn ports() -> impl Strategy<Value = (u8, u8)> {
    (0..6_u8, 0..3_u8)
}

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![
        8 => Just(Who::Receiver),
        1 => Just(Who::OtherPort),
        1 => Just(Who::Stranger),
    ]
}

fn content() -> impl Strategy<Value = Content> {
    // FIN 1, SYN 2, RST 4, PSH 8, ACK 16.
    let flags = prop_oneof![
        5 => Just(2_u8),
        3 => Just(18),
        4 => Just(16),
        2 => Just(17),
        1 => Just(4),
        1 => any::<u8>(),
    ];
    prop_oneof![
        5 => Just(Content::Udp),
        1 => Just(Content::UdpWithoutChecksum),
        7 => (flags, any::<bool>()).prop_map(|(flags, mss)| Content::Tcp { flags, mss }),
        2 => Just(Content::Echo),
        2 => Just(Content::EchoReply),
        1 => Just(Content::Timestamp),
        1 => any::<u8>().prop_map(Content::Protocol),
    ]
}

fn form() -> impl Strategy<Value = Form> {
    let payload = prop_oneof![8 => 0..64_u16, 3 => 1180..1520_u16, 1 => 2900..3600_u16];
    let ttl = prop_oneof![14 => 3..255_u8, 1 => 0..3_u8];
    let seldom = || prop::bool::weighted(0.07);
    (
        payload,
        ttl,
        any::<u16>(),
        any::<bool>(),
        seldom(),
        seldom(),
    )
        .prop_map(
            |(payload, ttl, identification, dont_fragment, extension, fragment_header)| Form {
                payload,
                ttl,
                identification,
                dont_fragment,
                extension,
                fragment_header,
            },
        )
}

fn cut() -> impl Strategy<Value = Cut> {
    let order = prop_oneof![
        3 => Just(Order::Forwards),
        2 => Just(Order::Backwards),
        1 => Just(Order::WithoutFirst),
        1 => Just(Order::LastTwice),
    ];
    let eights = prop_oneof![7 => Just(0_u8), 1 => 1..200_u8];
    (eights, any::<bool>(), order).prop_map(|(eights, inside, order)| Cut {
        eights,
        inside,
        order,
    })
}

fn error() -> impl Strategy<Value = Operation> {
    // Types of both families, and numbers in the place of an MTU.
    let kind = prop_oneof![4 => Just(3_u8), 4 => Just(1), 2 => Just(2), 2 => Just(11), 1 => Just(12), 1 => any::<u8>()];
    let rest = prop_oneof![2 => Just(0_u32), 2 => 0..2000_u32, 1 => any::<u32>()];
    (
        any::<Index>(),
        any::<bool>(),
        kind,
        0..16_u8,
        rest,
        20..1300_u16,
    )
        .prop_map(|(seen, inner, kind, code, rest, quoted)| Operation::Error {
            seen,
            inner,
            kind,
            code,
            rest,
            quoted,
        })
}

fn pass() -> impl Strategy<Value = u32> {
    prop_oneof![
        3 => 1..3000_u32,
        3 => 10_000..400_000_u32,
        1 => 7_000_000..8_000_000_u32,
    ]
}
