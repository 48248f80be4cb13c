//! The messages of SOCKS5 (RFC 1928, RFC 1929), without sockets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::failure::Failure;
use crate::target::{Host, Target};

/// The version of the protocol.
pub const VERSION: u8 = 5;
/// No authentication is needed.
pub const NO_AUTHENTICATION: u8 = 0;
/// A name and a password (RFC 1929).
pub const PASSWORD: u8 = 2;
/// None of the methods will do.
pub const NO_METHOD: u8 = 0xff;

const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// The wish of a client (RFC 1928 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// A connection.
    Connect,
    /// Datagrams.
    Associate,
}

/// The answer to a request (RFC 1928 section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reply {
    /// It is done.
    Succeeded = 0,
    /// It failed here.
    Failure = 1,
    /// The rules forbid it.
    NotAllowed = 2,
    /// There is no such host.
    HostUnreachable = 4,
    /// The server did not want it.
    Refused = 5,
    /// It took too long.
    Expired = 6,
    /// There is no such command.
    NoCommand = 7,
    /// There is no such type of address.
    NoAddressType = 8,
}

impl From<&Failure> for Reply {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Port(_) | Failure::Destination(_) | Failure::LocalName => Self::NotAllowed,
            Failure::NameUnknown | Failure::NameTimeout => Self::HostUnreachable,
            Failure::Unreachable(_) => Self::Refused,
            Failure::ConnectTimeout => Self::Expired,
            _ => Self::Failure,
        }
    }
}

/// A host with a port, and what follows it.
type Addressed<'o> = ((Host, u16), &'o [u8]);

/// Reads the address of a request or a datagram, from its type on. Returns what follows it, too. `Ok(None)`: it goes
/// on. The port of a request for datagrams may be 0.
///
/// # Errors
/// The answer to one that cannot be.
pub fn address(octets: &[u8]) -> Result<Option<Addressed<'_>>, Reply> {
    let Some((kind, rest)) = octets.split_first() else {
        return Ok(None);
    };
    let (length, rest) = match *kind {
        IPV4 => (4, rest),
        IPV6 => (16, rest),
        NAME => match rest.split_first() {
            Some((length, rest)) => (usize::from(*length), rest),
            None => return Ok(None),
        },
        _ => return Err(Reply::NoAddressType),
    };
    let Some((host, rest)) = rest.split_at_checked(length) else {
        return Ok(None);
    };
    let Some((port, rest)) = rest.split_first_chunk() else {
        return Ok(None);
    };
    let host = match *kind {
        NAME => {
            let text = std::str::from_utf8(host).map_err(|_| Reply::Failure)?;
            Host::parse(text).map_err(|_| Reply::Failure)?
        }
        IPV4 => {
            let v4: [u8; 4] = host.try_into().map_err(|_| Reply::Failure)?;
            Host::Address(Ipv4Addr::from(v4).into())
        }
        _ => {
            let v6: [u8; 16] = host.try_into().map_err(|_| Reply::Failure)?;
            Host::Address(IpAddr::V6(Ipv6Addr::from(v6)).to_canonical())
        }
    };
    Ok(Some(((host, u16::from_be_bytes(*port)), rest)))
}

/// An address as in a reply or a datagram, from its type on.
#[must_use]
pub fn encode(address: SocketAddr) -> Vec<u8> {
    let mut octets = match address.ip().to_canonical() {
        IpAddr::V4(v4) => [&[IPV4][..], &v4.octets()].concat(),
        IpAddr::V6(v6) => [&[IPV6][..], &v6.octets()].concat(),
    };
    octets.extend(address.port().to_be_bytes());
    octets
}

/// A datagram of a client (RFC 1928 section 7): where it goes, and its data. `None`: it is broken, or a fragment,
/// which a server need not know.
#[must_use]
pub fn datagram(octets: &[u8]) -> Option<(Target, &[u8])> {
    let ([_, _, fragment], rest) = octets.split_first_chunk::<3>()?;
    if *fragment != 0 {
        return None;
    }
    let ((host, port), data) = address(rest).ok()??;
    (port != 0).then_some((Target { host, port }, data))
}

/// A datagram for a client.
#[must_use]
pub fn wrapped(from: SocketAddr, data: &[u8]) -> Vec<u8> {
    [&[0, 0, 0][..], &encode(from), data].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc1928_5_addresses() {
        let v4 = b"\x01\xc0\x00\x02\x01\x00\x50more";
        let (found, rest) = address(v4).unwrap().unwrap();
        assert_eq!(found, (Host::Address("192.0.2.1".parse().unwrap()), 80));
        assert_eq!(rest, b"more");
        for end in 0..7 {
            assert_eq!(address(&v4[..end]), Ok(None), "{end}");
        }
        let name = b"\x03\x09a.example\x01\xbb";
        let (found, _) = address(name).unwrap().unwrap();
        assert_eq!(found, (Host::Name("a.example".into()), 443));
        assert_eq!(address(b"\x02\x00"), Err(Reply::NoAddressType));
        assert_eq!(address(b"\x03\x03a\0b\x00\x50"), Err(Reply::Failure));
        let (found, _) = address(&encode("[2001:db8::1]:53".parse().unwrap()))
            .unwrap()
            .unwrap();
        assert_eq!(found, (Host::Address("2001:db8::1".parse().unwrap()), 53));
    }

    #[test]
    fn rfc1928_7_datagrams() {
        let from = "192.0.2.1:53".parse().unwrap();
        let octets = wrapped(from, b"data");
        let (target, data) = datagram(&octets).unwrap();
        assert_eq!(
            (target.to_string().as_str(), data),
            ("192.0.2.1:53", &b"data"[..])
        );
        assert!(datagram(&[&[0, 0, 1], &octets[3..]].concat()).is_none());
        assert!(datagram(&wrapped("192.0.2.1:0".parse().unwrap(), b"")).is_none());
        assert!(datagram(b"\0\0").is_none());
    }
}
