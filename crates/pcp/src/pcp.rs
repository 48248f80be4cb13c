//! PCP messages (RFC 6887 sections 7, 11 and 13).

use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::ops::Range;
use std::time::Duration;

use crate::bytes::{address, address_at, at, put, seconds, seconds_at, u16_at};
use crate::mapping::Nonce;
use crate::ports::Refused;

/// Version of the protocol.
pub(crate) const VERSION: u8 = 2;
/// Octets of the header that requests and responses begin with.
pub(crate) const HEADER: usize = 24;
/// The longest message.
pub(crate) const LONGEST: usize = 1100;
/// The bit that makes an opcode that of a response.
pub(crate) const RESPONSE: u8 = 0x80;
/// The opcode of announcements (section 14.1).
pub(crate) const ANNOUNCE: u8 = 0;
/// The opcode of mappings (section 11).
pub(crate) const MAP: u8 = 1;
/// The opcode of mappings to one peer (section 12).
pub(crate) const PEER: u8 = 2;
/// Octets of a MAP request without its header and options.
const MAP_DATA: usize = 36;
/// Likewise of a PEER request, which begins with the same fields.
const PEER_DATA: usize = 56;
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

impl From<Refused> for ResultCode {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Elsewhere => Self::CannotProvideExternal,
            Refused::Quota => Self::UserExQuota,
            Refused::Full => Self::NoResources,
            Refused::Stranger => Self::NotAuthorized,
        }
    }
}

/// The header of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) opcode: u8,
    pub(crate) lifetime: Duration,
    pub(crate) client: IpAddr,
}

impl Header {
    /// Reads the header; `None` if the message is shorter.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        Some(Self {
            opcode: *message.get(1)?,
            lifetime: seconds_at(message, 4)?,
            client: address_at(message, 8)?,
        })
    }
}

/// The result of the checks that all requests have in common (section 8.2).
pub(crate) enum Checked {
    /// It is to be ignored.
    Silent,
    /// It is to be answered with this.
    Wrong(ResultCode),
    /// It is a request.
    Fine(Header),
}

/// Checks a message from an address for what all requests have in common (section 8.2).
pub(crate) fn check(message: &[u8], source: IpAddr) -> Checked {
    match message.first_chunk() {
        None => return Checked::Silent,
        Some([_, opcode]) if opcode & RESPONSE != 0 => return Checked::Silent,
        Some([VERSION, _]) => {}
        Some(_) => return Checked::Wrong(ResultCode::UnsuppVersion),
    }
    let Some(header) = Header::read(message) else {
        return Checked::Silent;
    };
    if message.len() > LONGEST || !message.len().is_multiple_of(4) {
        Checked::Wrong(ResultCode::MalformedRequest)
    } else if header.client != source {
        Checked::Wrong(ResultCode::AddressMismatch)
    } else {
        Checked::Fine(header)
    }
}

/// The data of a MAP request, or of a response that grants one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Map {
    pub(crate) nonce: Nonce,
    pub(crate) protocol: u8,
    pub(crate) internal_port: u16,
    /// The outside endpoint.
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
    /// Reads the part behind the header.
    ///
    /// # Errors
    /// The result code to answer with.
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

    /// Writes the part behind the header.
    fn write(&self, message: &mut Vec<u8>) {
        message.extend(self.nonce);
        message.extend([self.protocol, 0, 0, 0]);
        message.extend(self.internal_port.to_be_bytes());
        message.extend(self.suggested.port().to_be_bytes());
        message.extend(address((*self.suggested.ip()).into()));
        self.options.write(message);
    }
}

impl Options {
    /// Reads options (section 7.3).
    ///
    /// # Errors
    /// The result code to answer with.
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

/// The fields that distinguish MAP and PEER messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    pub(crate) opcode: u8,
    pub(crate) nonce: Nonce,
    pub(crate) protocol: u8,
    pub(crate) port: u16,
}

impl Question {
    /// Reads it of a request or a response; `None` if that is neither MAP nor PEER, or too short.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let opcode = *message.get(1)? & !RESPONSE;
        options_at(opcode).filter(|at| *at <= message.len())?;
        Some(Self {
            opcode,
            nonce: at(message, HEADER)?,
            protocol: *message.get(HEADER + 12)?,
            port: u16_at(message, HEADER + 16)?,
        })
    }
}

/// Where the options of a MAP or PEER message begin; `None` for other opcodes.
fn options_at(opcode: u8) -> Option<usize> {
    match opcode {
        MAP => Some(HEADER + MAP_DATA),
        PEER => Some(HEADER + PEER_DATA),
        _ => None,
    }
}

/// Where the THIRD_PARTY option of a MAP or PEER message lies, head and all, if there is one.
///
/// # Errors
/// The options end in the middle: the result code to answer with.
pub(crate) fn third_party(message: &[u8]) -> Result<Option<Range<usize>>, ResultCode> {
    let opcode = message.get(1).copied().unwrap_or(0) & !RESPONSE;
    let mut at = options_at(opcode).unwrap_or(message.len());
    while let Some(code) = message.get(at).copied() {
        let length = u16_at(message, at + 2).ok_or(ResultCode::MalformedOption)?;
        let end = at + 4 + usize::from(length).next_multiple_of(4);
        if end > message.len() {
            return Err(ResultCode::MalformedOption);
        }
        if code == THIRD_PARTY {
            return Ok(Some(at..end));
        }
        at = end;
    }
    Ok(None)
}

/// The host that the THIRD_PARTY option at this place of a message names.
pub(crate) fn named(message: &[u8], option: &Range<usize>) -> Option<IpAddr> {
    address_at(message.get(option.clone())?, 4)
}

/// Turns a host's request into one of another client on its behalf (section 13.1).
pub(crate) fn ask_for(request: &mut Vec<u8>, client: IpAddr, host: IpAddr) {
    put(request, 8, &address(client));
    let options = Options {
        third_party: Some(host),
        prefer_failure: false,
    };
    options.write(request);
}

/// Turns a request into one of another client, for a port of its own.
pub(crate) fn ask_from(request: &mut [u8], client: IpAddr, port: u16) {
    put(request, 8, &address(client));
    set_internal_port(request, port);
}

/// Writes another internal port into a MAP or PEER message.
pub(crate) fn set_internal_port(message: &mut [u8], port: u16) {
    put(message, HEADER + 16, &port.to_be_bytes());
}

/// A MAP request (section 11.1).
pub(crate) fn map_request(lifetime: Duration, client: IpAddr, map: &Map) -> Vec<u8> {
    let mut request = vec![VERSION, MAP, 0, 0];
    request.extend(seconds(lifetime).to_be_bytes());
    request.extend(address(client));
    map.write(&mut request);
    request
}

/// The header of a response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Response {
    pub(crate) result: u8,
    pub(crate) lifetime: Duration,
    pub(crate) epoch: Duration,
}

impl Response {
    /// Reads it; `None` if the message is no response.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let [VERSION, (RESPONSE..), _, result] = at(message, 0)? else {
            return None;
        };
        let header = Header::read(message)?;
        Some(Self {
            result,
            lifetime: header.lifetime,
            epoch: seconds_at(message, 8)?,
        })
    }
}

/// The outside endpoint in a MAP message, if it is one of IPv4.
pub(crate) fn external(message: &[u8]) -> Option<SocketAddrV4> {
    match address_at(message, HEADER + 20)? {
        IpAddr::V4(address) => {
            let port = u16_at(message, HEADER + 18)?;
            Some(SocketAddrV4::new(address, port))
        }
        IpAddr::V6(_) => None,
    }
}

/// Writes another epoch into a response.
pub(crate) fn set_epoch(response: &mut [u8], epoch: Duration) {
    put(response, 8, &seconds(epoch).to_be_bytes());
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
    let granted = Map {
        suggested: external,
        ..*request
    };
    granted.write(&mut response);
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
