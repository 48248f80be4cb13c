//! Packet headers as values: read from words, accessed by name, written back as words. Messages that the
//! packet path does not look at are read from bytes.

pub mod content;
pub mod extension;
pub mod icmp;
pub mod icmpv4;
pub mod icmpv6;
pub mod ipv4;
pub mod ipv6;
pub mod pref64;
pub mod resolution;
pub mod router;
pub mod tcp;
pub mod transport;
pub mod tuple;
pub mod udp;

/// Protocol numbers (IANA) that the rules name.
pub mod protocol {
    /// Hop-by-hop options (RFC 8200 section 4.3).
    pub const HOP_BY_HOP: u8 = 0;
    /// ICMP for IPv4.
    pub const ICMP: u8 = 1;
    /// IGMP.
    pub const IGMP: u8 = 2;
    /// IPv4 in another packet (RFC 2003).
    pub const IPV4: u8 = 4;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// IPv6 in another packet (RFC 4213 section 3.5).
    pub const IPV6: u8 = 41;
    /// Routing header (RFC 8200 section 4.4).
    pub const ROUTING: u8 = 43;
    /// Fragment header (RFC 8200 section 4.5).
    pub const FRAGMENT: u8 = 44;
    /// Encapsulating Security Payload.
    pub const ESP: u8 = 50;
    /// Authentication Header.
    pub const AUTHENTICATION: u8 = 51;
    /// ICMP for IPv6.
    pub const ICMPV6: u8 = 58;
    /// No next header (RFC 8200 section 4.7).
    pub const NONE: u8 = 59;
    /// Destination options (RFC 8200 section 4.6).
    pub const DESTINATION_OPTIONS: u8 = 60;
    /// Mobility header (RFC 6275).
    pub const MOBILITY: u8 = 135;
    /// Host Identity Protocol (RFC 7401).
    pub const HIP: u8 = 139;
    /// Shim6 (RFC 5533).
    pub const SHIM6: u8 = 140;
}
