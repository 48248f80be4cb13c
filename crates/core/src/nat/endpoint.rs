//! Endpoints as the packet path passes them, and their form in table words.

use core::net::IpAddr;

use crate::address::{V4, V6};
use crate::word::Word;

/// The transport protocols that have state (RFC 6146 section 1.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Protocol {
    /// ICMP and ICMPv6 queries; the port is the identifier.
    Icmp = 1,
    /// TCP.
    Tcp = 6,
    /// UDP.
    Udp = 17,
}

/// The flags of a TCP header: its 14th octet (RFC 9293 section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// The acknowledgement field is valid.
    pub const ACK: Self = Self(0x10);

    /// Whether all flags of `other` are set here.
    #[inline(always)]
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The parts of a transport header that the NAT needs besides the ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A TCP segment with these flags. A fragment other than the first has none.
    Tcp(TcpFlags),
    /// A UDP datagram.
    Udp,
    /// An ICMP query or its answer.
    Icmp,
}

impl Transport {
    /// The protocol.
    #[inline(always)]
    #[must_use]
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::Tcp(_) => Protocol::Tcp,
            Self::Udp => Protocol::Udp,
            Self::Icmp => Protocol::Icmp,
        }
    }
}

/// An IPv4 address and a port. For ICMP the port is the identifier; a *remote* ICMP endpoint has
/// port 0, because a query has one identifier only (RFC 6146 section 3.4) — [`outbound`] and
/// [`inbound`] see to that themselves.
///
/// [`outbound`]: super::outbound
/// [`inbound`]: super::inbound
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Endpoint4 {
    /// Address.
    pub address: V4,
    /// Port, or identifier.
    pub port: u16,
}

impl Endpoint4 {
    /// Table form: address, port, 16 zero bits.
    #[inline(always)]
    pub(super) const fn word(self) -> u64 {
        (self.address.0.0 as u64) << 32 | (self.port as u64) << 16
    }

    #[inline(always)]
    pub(super) const fn from_word(word: u64) -> Self {
        Self {
            address: V4(Word((word >> 32) as u32)),
            port: (word >> 16) as u16,
        }
    }
}

/// An endpoint on the inside.
///
/// NAT64 uses `address`, NAT44 `v4`, and an AFTR both: the address of the softwire and the IPv4 address in
/// it. The unused one is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    /// IPv6 address of the host, or of its softwire.
    pub address: V6,
    /// IPv4 address of the host.
    pub v4: V4,
    /// Port, or identifier.
    pub port: u16,
}

impl Inside {
    /// The address that people know the host by: IPv6, or IPv4 where there is no IPv6 address.
    #[must_use]
    pub fn host(&self) -> IpAddr {
        if self.address == V6::default() {
            IpAddr::V4(self.v4.into())
        } else {
            IpAddr::V6(self.address.into())
        }
    }

    /// Table form, with the protocol: three words.
    #[inline(always)]
    pub(super) const fn words(&self, protocol: Protocol) -> [u64; 3] {
        let a = self.address.0;
        [
            (a[0].0 as u64) << 32 | a[1].0 as u64,
            (a[2].0 as u64) << 32 | a[3].0 as u64,
            (self.v4.0.0 as u64) << 32 | (self.port as u64) << 16 | protocol as u64,
        ]
    }

    #[inline(always)]
    pub(super) const fn from_words(words: [u64; 3]) -> Self {
        Self {
            address: V6([
                Word((words[0] >> 32) as u32),
                Word(words[0] as u32),
                Word((words[1] >> 32) as u32),
                Word(words[1] as u32),
            ]),
            v4: V4(Word((words[2] >> 32) as u32)),
            port: (words[2] >> 16) as u16,
        }
    }
}

impl Protocol {
    /// The protocol in a table word made by [`Inside::words`].
    #[inline(always)]
    pub(super) const fn from_word(word: u64) -> Self {
        match word as u8 {
            6 => Self::Tcp,
            17 => Self::Udp,
            _ => Self::Icmp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn endpoints_survive_their_table_form() {
        let outside = Endpoint4 {
            address: Ipv4Addr::new(203, 0, 113, 7).into(),
            port: 40_001,
        };
        assert_eq!(Endpoint4::from_word(outside.word()), outside);
        let inside = Inside {
            address: "2001:db8:1:2:3:4:5:6".parse::<Ipv6Addr>().unwrap().into(),
            v4: Ipv4Addr::new(10, 0, 0, 1).into(),
            port: 65_535,
        };
        let words = inside.words(Protocol::Tcp);
        assert_eq!(Inside::from_words(words), inside);
        assert_eq!(Protocol::from_word(words[2]), Protocol::Tcp);
    }

    #[test]
    fn a_host_is_known_by_the_address_that_it_has() {
        let v4 = Ipv4Addr::new(10, 0, 0, 1);
        let inside = Inside {
            v4: v4.into(),
            ..Inside::default()
        };
        assert_eq!(inside.host(), IpAddr::V4(v4));
        let softwire: Ipv6Addr = "2001:db8::4".parse().unwrap();
        let inside = Inside {
            address: softwire.into(),
            ..inside
        };
        assert_eq!(inside.host(), IpAddr::V6(softwire));
    }
}
