//! PCP messages (RFC 6887 sections 7, 11 and 13).

use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use crate::bytes::{address, address_at, at, put, u16_at, u32_at};
use crate::mapping::Nonce;

/// Version of the protocol.
pub(crate) const VERSION: u8 = 2;
/// Octets of the header that requests and responses begin with.
pub(crate) const HEADER: usize = 24;
/// The longest message.
pub(crate) const LONGEST: usize = 1100;
/// What makes an opcode that of a response.
pub(crate) const RESPONSE: u8 = 0x80;
/// The opcode of announcements (section 14.1).
pub(crate) const ANNOUNCE: u8 = 0;
/// The opcode of mappings (section 11).
pub(crate) const MAP: u8 = 1;
/// Octets of a MAP request without its header and options.
const MAP_DATA: usize = 36;
const THIRD_PARTY: u8 = 1;
const PREFER_FAILURE: u8 = 2;
/// Options below this have to be understood (section 7.3).
const OPTIONAL: u8 = 128;

/// Result codes (section 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ResultCode {
    Success = 0,
    UnsuppVersion = 1,
    NotAuthorized = 2,
    MalformedRequest = 3,
    UnsuppOpcode = 4,
    UnsuppOption = 5,
    MalformedOption = 6,
    NoResources = 8,
    UnsuppProtocol = 9,
    UserExQuota = 10,
    CannotProvideExternal = 11,
    AddressMismatch = 12,
}

impl ResultCode {
    /// For how long the answer will be the same (section 7.4): a request that has to be another one
    /// is wrong for longer than one that comes at a bad moment.
    pub(crate) const fn lifetime(self) -> Duration {
        match self {
            Self::Success => Duration::ZERO,
            Self::NoResources | Self::UserExQuota | Self::CannotProvideExternal => {
                Duration::from_secs(30)
            }
            _ => Duration::from_secs(30 * 60),
        }
    }
}

/// What the header of a request says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) opcode: u8,
    pub(crate) lifetime: Duration,
    pub(crate) client: IpAddr,
}

impl Header {
    /// Reads the header of a message of at least [`HEADER`] octets.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        Some(Self {
            opcode: *message.get(1)?,
            lifetime: Duration::from_secs(u32_at(message, 4)?.into()),
            client: address_at(message, 8)?,
        })
    }
}

/// What a MAP request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Map {
    pub(crate) nonce: Nonce,
    pub(crate) protocol: u8,
    pub(crate) internal_port: u16,
    pub(crate) suggested: SocketAddrV4,
    pub(crate) options: Options,
}

/// The options that are understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The host that the request is for, if it is not the one that sends it.
    pub(crate) third_party: Option<IpAddr>,
    pub(crate) prefer_failure: bool,
}

impl Map {
    /// Reads what follows the header.
    ///
    /// # Errors
    /// What the request has to be answered with.
    pub(crate) fn read(message: &[u8]) -> Result<Self, ResultCode> {
        let data = message.get(HEADER..).unwrap_or(&[]);
        let options = data.get(MAP_DATA..).ok_or(ResultCode::MalformedRequest)?;
        let read = || {
            let suggested = match address_at(data, 20)? {
                IpAddr::V4(address) => address,
                // The pool of a NAT has IPv4 addresses only: no suggestion that could be followed.
                IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
            };
            Some(Self {
                nonce: at(data, 0)?,
                protocol: *data.get(12)?,
                internal_port: u16_at(data, 16)?,
                suggested: SocketAddrV4::new(suggested, u16_at(data, 18)?),
                options: Options::default(),
            })
        };
        let map = read().ok_or(ResultCode::MalformedRequest)?;
        Ok(Self {
            options: Options::read(options)?,
            ..map
        })
    }
}

impl Options {
    /// Reads options (section 7.3).
    ///
    /// # Errors
    /// What the request has to be answered with.
    pub(crate) fn read(mut rest: &[u8]) -> Result<Self, ResultCode> {
        let mut options = Self::default();
        while let Some(code) = rest.first().copied() {
            let length = u16_at(rest, 2).ok_or(ResultCode::MalformedOption)?;
            let length = usize::from(length);
            let data = rest.get(4..4 + length).ok_or(ResultCode::MalformedOption)?;
            match (code, length) {
                (THIRD_PARTY, 16) if options.third_party.is_none() => {
                    options.third_party = address_at(data, 0);
                }
                (PREFER_FAILURE, 0) if !options.prefer_failure => options.prefer_failure = true,
                (THIRD_PARTY | PREFER_FAILURE, _) => return Err(ResultCode::MalformedOption),
                (..OPTIONAL, _) => return Err(ResultCode::UnsuppOption),
                (OPTIONAL.., _) => {}
            }
            rest = rest.get(4 + length.next_multiple_of(4)..).unwrap_or(&[]);
        }
        Ok(options)
    }

    fn write(self, response: &mut Vec<u8>) {
        if let Some(host) = self.third_party {
            response.extend([THIRD_PARTY, 0, 0, 16]);
            response.extend(address(host));
        }
        if self.prefer_failure {
            response.extend([PREFER_FAILURE, 0, 0, 0]);
        }
    }
}

/// A response of nothing but a header (section 7.2).
pub(crate) fn header(opcode: u8, lifetime: Duration, epoch: Duration) -> Vec<u8> {
    let mut response = vec![0; HEADER];
    fill(&mut response, opcode, ResultCode::Success, lifetime, epoch);
    response
}

fn fill(response: &mut [u8], opcode: u8, result: ResultCode, lifetime: Duration, epoch: Duration) {
    put(response, 0, &[VERSION, opcode | RESPONSE, 0, result as u8]);
    put(response, 4, &seconds(lifetime).to_be_bytes());
    put(response, 8, &seconds(epoch).to_be_bytes());
    put(response, 12, &[0; 12]);
}

/// The response to a MAP request (section 11.1).
pub(crate) fn map(
    request: &Map,
    external: SocketAddrV4,
    lifetime: Duration,
    epoch: Duration,
) -> Vec<u8> {
    let mut response = header(MAP, lifetime, epoch);
    response.extend(request.nonce);
    response.extend([request.protocol, 0, 0, 0]);
    response.extend(request.internal_port.to_be_bytes());
    response.extend(external.port().to_be_bytes());
    response.extend(address((*external.ip()).into()));
    request.options.write(&mut response);
    response
}

/// The response to a request that fails: the request itself, under another header (section 8.2).
pub(crate) fn error(
    request: &[u8],
    result: ResultCode,
    lifetime: Duration,
    epoch: Duration,
) -> Vec<u8> {
    let mut response: Vec<u8> = request.iter().copied().take(LONGEST).collect();
    let length = response.len().max(HEADER).next_multiple_of(4);
    response.resize(length, 0);
    let opcode = request.get(1).copied().unwrap_or(0);
    fill(&mut response, opcode, result, lifetime, epoch);
    response
}

/// Whole seconds, as many as a field takes.
fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}
