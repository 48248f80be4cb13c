//! ICMPv6 message types (RFC 4443, RFC 4861).

/// Destination unreachable.
pub const UNREACHABLE: u8 = 1;
/// Packet too big.
pub const TOO_BIG: u8 = 2;
/// Time exceeded.
pub const TIME_EXCEEDED: u8 = 3;
/// Parameter problem.
pub const PARAMETER_PROBLEM: u8 = 4;
/// Echo request.
pub const ECHO_REQUEST: u8 = 128;
/// Echo reply.
pub const ECHO_REPLY: u8 = 129;
/// Router solicitation (RFC 4861 section 4.1).
pub const ROUTER_SOLICITATION: u8 = 133;
/// Router advertisement (RFC 4861 section 4.2).
pub const ROUTER_ADVERTISEMENT: u8 = 134;
/// Neighbour solicitation (RFC 4861 section 4.3).
pub const NEIGHBOUR_SOLICITATION: u8 = 135;
/// Neighbour advertisement (RFC 4861 section 4.4).
pub const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
