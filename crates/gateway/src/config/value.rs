//! Values that stand in strings: addresses, prefixes, ports, names, paths.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::table::Value;

/// IPv6 networks that no router has a way to, and the meaning of their addresses.
const UNROUTABLE: [(&str, &str); 4] = [
    ("fe80::/10", "link-local"),
    ("ff00::/8", "multicast"),
    ("::/96", "for loopback and IPv4-compatible addresses"),
    ("::ffff:0:0/96", "for IPv4-mapped addresses"),
];

/// Why a network was refused.
pub(super) enum NetError {
    Syntax,
    Length(&'static str),
    /// Bits after the length are set; without them it is this.
    HostBits(String),
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax => f.write_str("not an address"),
            Self::Length(most) => write!(f, "the length after `/` is a number from 0 to {most}"),
            Self::HostBits(right) => write!(
                f,
                "bits after the length are set; the network would be \"{right}\""
            ),
        }
    }
}

/// An address and a length; without one, the whole address.
fn split<A: FromStr>(text: &str, bits: u8, most: &'static str) -> Result<(A, u8), NetError> {
    let (address, length) = match text.split_once('/') {
        None => (text, bits),
        Some((address, length)) => {
            // No signs, no spaces: only digits.
            let digits = length.bytes().all(|b| b.is_ascii_digit());
            let length = length.parse().ok().filter(|n| digits && *n <= bits);
            (address, length.ok_or(NetError::Length(most))?)
        }
    };
    let address = address.parse().map_err(|_| NetError::Syntax)?;
    Ok((address, length))
}

pub(super) fn v4_net(text: &str) -> Result<Ipv4Net, NetError> {
    let (address, length) = split::<Ipv4Addr>(text, 32, "32")?;
    let net = Ipv4Net::new_assert(address, length);
    if net.trunc() != net {
        return Err(NetError::HostBits(net.trunc().to_string()));
    }
    Ok(net)
}

pub(super) fn v6_net(text: &str) -> Result<Ipv6Net, NetError> {
    let (address, length) = split::<Ipv6Addr>(text, 128, "128")?;
    let net = Ipv6Net::new_assert(address, length);
    if net.trunc() != net {
        return Err(NetError::HostBits(net.trunc().to_string()));
    }
    Ok(net)
}

impl Value<'_> {
    pub(super) fn ipv4(&self) -> Option<Ipv4Addr> {
        self.parse("an IPv4 address such as \"192.0.2.1\"", Ipv4Addr::from_str)
    }

    pub(super) fn ipv6(&self) -> Option<Ipv6Addr> {
        self.parse(
            "an IPv6 address such as \"2001:db8::1\"",
            Ipv6Addr::from_str,
        )
    }

    pub(super) fn ip(&self) -> Option<IpAddr> {
        let expected = "an address such as \"192.0.2.1\" or \"2001:db8::1\"";
        self.parse(expected, IpAddr::from_str)
    }

    /// A network of either family.
    pub(super) fn network(&self) -> Option<IpNet> {
        let expected = "a network such as \"192.0.2.0/24\" or \"2001:db8::/32\"";
        self.parse(expected, |text| {
            if text.contains(':') {
                v6_net(text).map(IpNet::V6)
            } else {
                v4_net(text).map(IpNet::V4)
            }
        })
    }

    pub(super) fn ipv4_net(&self) -> Option<Ipv4Net> {
        self.parse("an IPv4 network such as \"192.0.2.0/24\"", v4_net)
    }

    pub(super) fn ipv6_net(&self) -> Option<Ipv6Net> {
        self.parse("an IPv6 network such as \"2001:db8::/32\"", v6_net)
    }

    /// An IPv6 network to which packets are routed: nothing of it is link-local, multicast, or in ::/96 or
    /// ::ffff:0:0/96, whose addresses mean something else (RFC 4291 section 2.5).
    pub(super) fn routable_ipv6_net(&self) -> Option<Ipv6Net> {
        let net = self.ipv6_net()?;
        let found = UNROUTABLE.iter().find_map(|(text, kind)| {
            let other: Ipv6Net = text.parse().ok()?;
            (net.contains(&other) || other.contains(&net)).then_some((text, kind))
        });
        if let Some((text, kind)) = found {
            self.refuse(
                format_args!("is \"{net}\": {text} is {kind}, and no packet is routed there"),
                "expected a network of your own such as \"2001:db8:64::/96\"",
            );
            return None;
        }
        Some(net)
    }

    /// An address of either family with the length of its network, whose other bits may be set.
    pub(super) fn interface_address(&self) -> Option<IpNet> {
        let expected = "an address with its length such as \"192.0.2.1/24\" or \"2001:db8::1/64\"";
        self.parse(expected, |text| {
            if text.contains(':') {
                split(text, 128, "128").map(|(a, n)| IpNet::V6(Ipv6Net::new_assert(a, n)))
            } else {
                split(text, 32, "32").map(|(a, n)| IpNet::V4(Ipv4Net::new_assert(a, n)))
            }
        })
    }

    /// An address and a port.
    pub(super) fn socket(&self) -> Option<SocketAddr> {
        let expected = "an address and a port such as \"192.0.2.1:53\" or \"[2001:db8::1]:53\"";
        let socket: SocketAddr = self.parse(expected, str::parse)?;
        if socket.port() == 0 {
            self.refuse(
                format_args!("is \"{socket}\""),
                "expected a port from 1 to 65535",
            );
            return None;
        }
        Some(socket)
    }

    /// First and last port: `"1024-65535"`, or one port.
    pub(super) fn ports(&self) -> Option<(u16, u16)> {
        let expected = "a port or a range of ports from 1 to 65535, such as \"1024-65535\"";
        self.parse(expected, |text| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port != 0);
            match (port(first), port(last)) {
                (Some(first), Some(last)) if first <= last => Ok((first, last)),
                (Some(_), Some(_)) => Err("the first port is above the last"),
                _ => Err("not ports"),
            }
        })
    }

    /// The name of a link, as Linux takes it.
    pub(super) fn link_name(&self) -> Option<String> {
        let expected = "the name of a network interface, 1 to 15 bytes";
        self.parse(expected, |text| match text {
            "" => Err("it is empty"),
            "." | ".." => Err("Linux reserves this name"),
            _ if text.len() > 15 => Err("it is too long"),
            _ if text.contains(['/', ':', '\0']) || text.contains(char::is_whitespace) => {
                Err("it has a character that Linux does not allow in a link name")
            }
            _ => Ok(text.to_owned()),
        })
    }

    /// The name of a gateway or an instance, which appears in file names, logs and metrics.
    pub(super) fn name(&self) -> Option<String> {
        let expected = "a name of 1 to 64 letters, digits, `-`, `_` and `.`";
        self.parse(expected, |text| {
            let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
            if text.is_empty() || text.len() > 64 || text.starts_with('.') {
                Err("its length or its first character is wrong")
            } else if !text.bytes().all(fits) {
                Err("it has a character that is not allowed")
            } else {
                Ok(text.to_owned())
            }
        })
    }
}
