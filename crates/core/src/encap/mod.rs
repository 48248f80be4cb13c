//! A packet in a packet: IPv6 in IPv4 (RFC 4213) and IPv4 in IPv6 (RFC 2473).
//!
//! Both directions run in the order of a translation: look at the packet, ask the
//! [`mechanism`](crate::mechanism) for the tunnel endpoint or whether the sender may have this source,
//! check hop limit and size, and only then put a header before the packet ([`six_in_four::enter`],
//! [`four_in_six::enter`]) or take it away ([`six_in_four::leave`], [`four_in_six::leave`]). The packet
//! inside is forwarded like by any router: its hop limit goes down by one, and nothing else of it changes
//! but the mark of congestion ([`class`]).

pub mod class;
pub mod four_in_six;
pub mod inner;
pub mod path_mtu;
pub mod six_in_four;
pub mod size;
pub mod tunnel_error;

/// The hop limit of the outer header: that of a host that sends a packet (RFC 4213 section 3.3, RFC
/// 2473 section 6.3).
const HOP_LIMIT: u8 = 64;
