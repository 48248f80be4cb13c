//! Where a client wants to go: a host and a port.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// Octets of the longest name (RFC 1035 section 3.1), without the last dot.
const NAME_MAX: usize = 253;

/// A host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name, in lower case, without a dot at its end.
    Name(String),
    /// An address; those that stand for IPv4 in IPv6 (RFC 4291 section 2.5.5.2) are IPv4.
    Address(IpAddr),
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// The port, never 0.
    pub port: u16,
}

/// Why a text is no target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTarget {
    /// A user and a password, which are no part of where (RFC 9110 section 4.2.4).
    #[error("there is a user in front of the host")]
    User,
    /// The host is neither a name nor an address.
    #[error("the host is neither a name nor an address")]
    Host,
    /// There is no port, or it is none from 1 to 65535.
    #[error("the port is not one from 1 to 65535")]
    Port,
}

impl Host {
    /// Reads a name or an address without brackets.
    ///
    /// # Errors
    /// It is neither.
    pub fn parse(text: &str) -> Result<Self, NoTarget> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::Address(address.to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        let is_label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(fits);
        // A last label of digits is somebody's way to write an IPv4 address.
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_number = last.bytes().all(|b| b.is_ascii_digit());
        if name.len() > NAME_MAX || !name.split('.').all(is_label) || is_number {
            return Err(NoTarget::Host);
        }
        Ok(Self::Name(name.to_ascii_lowercase()))
    }
}

impl Target {
    /// Reads an authority (RFC 3986 section 3.2). Without a port it is `port`, if there is one.
    ///
    /// # Errors
    /// See [`NoTarget`].
    pub fn parse(text: &str, port: Option<u16>) -> Result<Self, NoTarget> {
        if text.contains('@') {
            return Err(NoTarget::User);
        }
        let (host, rest) = match text.strip_prefix('[') {
            Some(literal) => {
                let (literal, rest) = literal.split_once(']').ok_or(NoTarget::Host)?;
                let address: Ipv6Addr = literal.parse().map_err(|_| NoTarget::Host)?;
                (Host::Address(IpAddr::V6(address).to_canonical()), rest)
            }
            None => {
                let end = text.find(':').unwrap_or(text.len());
                let (host, rest) = text.split_at(end);
                (Host::parse(host)?, rest)
            }
        };
        let port = match rest.strip_prefix(':') {
            None if !rest.is_empty() => return Err(NoTarget::Host),
            None | Some("") => port,
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok(),
            Some(_) => None,
        };
        match port {
            Some(port) if port != 0 => Ok(Self { host, port }),
            _ => Err(NoTarget::Port),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) => write!(f, "{name}:{}", self.port),
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}:{}", self.port),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3986_3_2_authorities() {
        for (text, shown) in [
            ("example.org:443", "example.org:443"),
            ("EXAMPLE.org.", "example.org:80"),
            ("192.0.2.1:8080", "192.0.2.1:8080"),
            ("[2001:db8::1]:443", "[2001:db8::1]:443"),
            ("[2001:db8::1]", "[2001:db8::1]:80"),
            ("[::ffff:127.0.0.1]:80", "127.0.0.1:80"),
            ("example.org:", "example.org:80"),
        ] {
            let target = Target::parse(text, Some(80)).unwrap();
            assert_eq!(target.to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_authority() {
        for (text, wrong) in [
            ("", NoTarget::Host),
            ("user@example.org", NoTarget::User),
            ("user:password@example.org:80", NoTarget::User),
            ("example.org:0", NoTarget::Port),
            ("example.org:65536", NoTarget::Port),
            ("example.org:+80", NoTarget::Port),
            ("example.org:80:80", NoTarget::Port),
            ("2001:db8::1", NoTarget::Host),
            ("[2001:db8::1", NoTarget::Host),
            ("[192.0.2.1]:80", NoTarget::Host),
            ("[fe80::1%25eth0]:80", NoTarget::Host),
            ("[::1]x:80", NoTarget::Host),
            ("a..b", NoTarget::Host),
            ("exa mple", NoTarget::Host),
            // Other ways to write 127.0.0.1.
            ("127.1", NoTarget::Host),
            ("2130706433", NoTarget::Host),
            ("0177.0.0.1", NoTarget::Host),
        ] {
            assert_eq!(Target::parse(text, Some(80)), Err(wrong), "{text}");
        }
        assert_eq!(Target::parse("example.org", None), Err(NoTarget::Port));
    }
}
