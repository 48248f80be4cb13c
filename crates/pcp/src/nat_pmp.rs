//! NAT-PMP messages (RFC 6886 section 3).

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::bytes::{seconds, seconds_at, u16_at};
use crate::ports::Protocol;

/// Version of the protocol.
pub(crate) const VERSION: u8 = 0;
/// The bit that makes an opcode that of a response.
const RESPONSE: u8 = 0x80;

/// Result codes (section 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum ResultCode {
    Success = 0,
    NotAuthorized = 2,
    NetworkFailure = 3,
    OutOfResources = 4,
    UnsupportedOpcode = 5,
}

impl ResultCode {
    /// The result code of a PCP server (RFC 6887 section 7.4) for clients of NAT-PMP.
    pub(crate) const fn of_pcp(result: u8) -> Self {
        match result {
            0 => Self::Success,
            // NOT_AUTHORIZED
            2 => Self::NotAuthorized,
            // NO_RESOURCES, USER_EX_QUOTA, CANNOT_PROVIDE_EXTERNAL
            8 | 10 | 11 => Self::OutOfResources,
            _ => Self::NetworkFailure,
        }
    }
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// For the outside address (section 3.2).
    Address,
    /// For a mapping (section 3.3), or with a lifetime of 0 for its end (section 3.4).
    Map(Wanted),
    /// Something else.
    Unknown,
}

/// A mapping as a client wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) protocol: Protocol,
    pub(crate) internal_port: u16,
    pub(crate) suggested_port: u16,
    pub(crate) lifetime: Duration,
}

impl Request {
    /// Reads a message; `None` for responses and short messages, which are ignored.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let protocol = match message.get(1)? {
            0 => return Some(Self::Address),
            1 => Protocol::Udp,
            2 => Protocol::Tcp,
            3..RESPONSE => return Some(Self::Unknown),
            RESPONSE.. => return None,
        };
        Some(Self::Map(Wanted {
            protocol,
            internal_port: u16_at(message, 4)?,
            suggested_port: u16_at(message, 6)?,
            lifetime: seconds_at(message, 8)?,
        }))
    }
}

/// The response with the outside address.
pub(crate) fn address(result: ResultCode, epoch: Duration, address: Option<Ipv4Addr>) -> Vec<u8> {
    let mut response = header(0, result, epoch);
    response.extend(address.unwrap_or(Ipv4Addr::UNSPECIFIED).octets());
    response
}

/// The response to a request for a mapping.
pub(crate) fn map(
    protocol: Protocol,
    result: ResultCode,
    epoch: Duration,
    (internal_port, external_port): (u16, u16),
    lifetime: Duration,
) -> Vec<u8> {
    let opcode = match protocol {
        Protocol::Udp => 1,
        Protocol::Tcp => 2,
    };
    let mut response = header(opcode, result, epoch);
    response.extend(internal_port.to_be_bytes());
    response.extend(external_port.to_be_bytes());
    response.extend(seconds(lifetime).to_be_bytes());
    response
}

/// The response to an unknown request: the request itself, with a result (section 3.5).
pub(crate) fn unsupported(request: &[u8]) -> Vec<u8> {
    let opcode = request.get(1).copied().unwrap_or(0);
    let mut response = header(opcode, ResultCode::UnsupportedOpcode, Duration::ZERO);
    response.truncate(4);
    response.extend(request.iter().skip(4));
    response
}

fn header(opcode: u8, result: ResultCode, epoch: Duration) -> Vec<u8> {
    let mut response = vec![VERSION, opcode | RESPONSE];
    response.extend((result as u16).to_be_bytes());
    response.extend(seconds(epoch).to_be_bytes());
    response
}
