//! ICMPv4 message types (RFC 792), and likely path MTUs (RFC 1191).

/// Echo reply.
pub const ECHO_REPLY: u8 = 0;
/// Destination unreachable.
pub const UNREACHABLE: u8 = 3;
/// Echo request.
pub const ECHO_REQUEST: u8 = 8;
/// Time exceeded.
pub const TIME_EXCEEDED: u8 = 11;
/// Parameter problem.
pub const PARAMETER_PROBLEM: u8 = 12;
/// Timestamp.
pub const TIMESTAMP: u8 = 13;
/// Address mask reply (RFC 950); before it timestamp reply, both information messages, address
/// mask request.
pub const MASK_REPLY: u8 = 18;
/// Extended echo request (RFC 8335).
pub const EXTENDED_ECHO_REQUEST: u8 = 42;
/// Extended echo reply (RFC 8335).
pub const EXTENDED_ECHO_REPLY: u8 = 43;

/// RFC 1191 section 7: likely path MTUs, for routers that report none.
const PLATEAUS: [u16; 6] = [32000, 17914, 8166, 4352, 2002, 1492];

/// The MTU to assume when a router reports none: the greatest plateau less than the length of the
/// packet in error, but at least what makes 1280 bytes of IPv6 (RFC 7915 section 4.2).
#[must_use]
pub fn plateau(total_length: u16) -> u16 {
    for candidate in PLATEAUS {
        if candidate < total_length {
            return candidate;
        }
    }
    1260
}
