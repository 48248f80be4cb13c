//! How headers are treated: the choices that RFC 7915 leaves to the administrator.

use crate::address::rfc6052::Prefix;
use crate::address::{V4, V6, special};
use crate::table::MIX;
use crate::wire::content::Content;
use crate::wire::transport::Transport;

/// The value of the type of service or traffic class in translated packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, u32)]
pub enum ServiceClass {
    /// The octet of the original.
    Copy,
    /// This octet.
    Set(u8),
}

impl ServiceClass {
    /// The octet to write for one that was received.
    #[inline(always)]
    #[must_use]
    pub const fn of(self, received: u8) -> u8 {
        match self {
            Self::Copy => received,
            Self::Set(octet) => octet,
        }
    }
}

/// The treatment of UDP over IPv4 without a checksum (RFC 7915 section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ZeroUdpChecksum {
    /// Compute one.
    Compute,
    /// Drop the packet.
    Drop,
}

/// Application level gateways (RFC 2663 section 2.9): for the packets of these applications, payloads are rewritten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Alg {
    /// DNS by UDP (RFC 2766 section 4).
    pub dns: bool,
    /// FTP (RFC 6384).
    pub ftp: bool,
}

impl Alg {
    /// Whether a gateway looks at a packet. A fragment is not looked at.
    #[inline(always)]
    #[must_use]
    pub(crate) const fn takes(self, transport: &Transport) -> bool {
        match transport.content {
            Content::Udp => self.dns && has_port(transport, DNS),
            Content::Tcp => self.ftp && has_port(transport, FTP),
            _ => false,
        }
    }
}

/// Whether one of a packet's ports is this one. The product is 0 then. After a comparison of each port the kernel's verifier
/// would go through all that follows again, for the port that it knows then.
#[inline(always)]
const fn has_port(transport: &Transport, port: u16) -> bool {
    let source = (transport.source_port ^ port) as u32;
    let destination = (transport.destination_port ^ port) as u32;
    source * destination == 0
}

/// The port of a name server (RFC 1035 section 4.2).
const DNS: u16 = 53;
/// The port of the control connections of an FTP server (RFC 959 section 8).
const FTP: u16 = 21;

/// How headers are treated; RFC 7915's administrative choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Policy {
    /// Traffic class of translated packets (RFC 7915 section 4.1).
    pub traffic_class: ServiceClass,
    /// Type of service of translated packets (RFC 7915 section 5.1).
    pub tos: ServiceClass,
    /// RFC 7915 section 4.1: packets without DF are split to fit this; at least 1280.
    pub lowest_ipv6_mtu: u16,
    /// MTU of the IPv4 side where the route has none.
    pub ipv4_mtu: u16,
    /// MTU of the IPv6 side where the route has none.
    pub ipv6_mtu: u16,
    /// UDP without checksum.
    pub zero_udp_checksum: ZeroUdpChecksum,
    /// Whether non-global IPv4 addresses may appear under the well-known prefix.
    pub allow_non_global: bool,
    /// Whether the MSS option of TCP SYN segments is lowered to what both links take; see
    /// [`mss`](crate::translate::mss).
    pub mss_clamp: bool,
    /// RFC 6791 pool: first address and count, a power of two; 192.0.0.8 and 1 by default.
    pub icmp_pool: (V4, u32),
    /// Source of the gateway's own ICMPv4 errors.
    pub own_v4: V4,
    /// Source of the gateway's own ICMPv6 errors.
    pub own_v6: V6,
    /// ICMP errors per second that the gateway may send; 0 for none.
    pub icmp_errors: u32,
    /// Bits of an IPv6 address that a [customer](crate::customer) has in common in all packets; 32 to 128.
    pub customer_prefix: u8,
    /// The application level gateways.
    pub alg: Alg,
}

impl Policy {
    /// Whether a prefix must not represent an IPv4 address: the well-known prefix is for global
    /// addresses only (RFC 6052 section 3.1).
    #[inline(always)]
    #[must_use]
    pub fn forbids(&self, prefix: &Prefix, address: V4) -> bool {
        prefix.is_well_known() && self.forbids_well_known(address)
    }

    /// The IPv4 source of an ICMP error from a router that has no IPv4 address: one of the pool of RFC
    /// 6791 section 3, always the same for the same router.
    #[inline(always)]
    #[must_use]
    pub fn icmp_source_of(&self, router: V6) -> V4 {
        let (first, count) = self.icmp_pool;
        let (high, low) = router.halves();
        let hash = (high ^ low.rotate_left(32)).wrapping_mul(MIX) >> 32;
        let index = hash.wrapping_mul(count as u64) >> 32;
        V4::from_number(first.number().wrapping_add(index as u32))
    }

    /// Whether the well-known prefix must not represent an IPv4 address (RFC 6052 section 3.1).
    #[inline(always)]
    pub(crate) fn forbids_well_known(&self, address: V4) -> bool {
        !self.allow_non_global && special::is_non_global_v4(address)
    }
}
