//! Commands and replies that are about addresses (RFC 959 section 4.1.2, RFC 2428, RFC 6384 section 11).

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command<'a> {
    /// `EPSV`, with its argument.
    ExtendedPassive(Option<&'a str>),
    /// `EPRT`, of a socket.
    ExtendedPort(SocketAddr),
    /// `PASV`
    Passive,
    /// `PORT`
    Port(SocketAddrV4),
    /// `AUTH`
    Auth,
    /// `ALGS`, with its argument.
    Algs(Option<&'a str>),
}

impl<'a> Command<'a> {
    /// Reads a line. `None` if it is another command, or not well formed.
    pub(super) fn read(line: &'a str) -> Option<Self> {
        let line = line.trim_end_matches(['\r', '\n']);
        let (verb, argument) = match line.split_once(' ') {
            Some((verb, argument)) => (verb, Some(argument.trim())),
            None => (line, None),
        };
        let argument = argument.filter(|argument| !argument.is_empty());
        match verb.to_ascii_uppercase().as_str() {
            "EPSV" => Some(Self::ExtendedPassive(argument)),
            "EPRT" => extended(argument?).map(Self::ExtendedPort),
            "PASV" if argument.is_none() => Some(Self::Passive),
            "PORT" => six(argument?).map(Self::Port),
            "AUTH" => Some(Self::Auth),
            "ALGS" => Some(Self::Algs(argument)),
            _ => None,
        }
    }
}

/// Whether one of these commands may begin so.
pub(super) fn may_begin(part: &[u8]) -> bool {
    const VERBS: [&[u8]; 6] = [b"EPSV", b"EPRT", b"PASV", b"PORT", b"AUTH", b"ALGS"];
    /// Octets of the longest, an `EPRT`.
    const LONGEST: usize = 128;
    let (verb, rest) = part.split_at(part.len().min(4));
    let is_one = |whole: &[u8]| whole[..verb.len()].eq_ignore_ascii_case(verb);
    let goes_on = rest.first().is_none_or(|next| b" \r".contains(next));
    part.len() < LONGEST && goes_on && VERBS.into_iter().any(is_one)
}

/// The address and port of `h1,h2,h3,h4,p1,p2`.
fn six(text: &str) -> Option<SocketAddrV4> {
    let mut numbers = [0; 6];
    let mut parts = text.split(',');
    for number in &mut numbers {
        *number = parts.next()?.trim().parse::<u8>().ok()?;
    }
    let [a, b, c, d, high, low] = numbers;
    let port = u16::from_be_bytes([high, low]);
    parts
        .next()
        .is_none()
        .then(|| SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port))
}

/// `h1,h2,h3,h4,p1,p2` of an address and port.
pub(super) fn in_six(socket: SocketAddrV4) -> String {
    let [a, b, c, d] = socket.ip().octets();
    let [high, low] = socket.port().to_be_bytes();
    format!("{a},{b},{c},{d},{high},{low}")
}

/// The socket of `|2|2001:db8::1|5282|`.
fn extended(text: &str) -> Option<SocketAddr> {
    let separator = text.chars().next()?;
    let mut parts = text
        .strip_prefix(separator)?
        .strip_suffix(separator)?
        .split(separator);
    let (family, address, port) = (parts.next()?, parts.next()?, parts.next()?);
    let address: IpAddr = address.parse().ok()?;
    let same = match family {
        "1" => address.is_ipv4(),
        "2" => address.is_ipv6(),
        _ => false,
    };
    (same && parts.next().is_none()).then_some(SocketAddr::new(address, port.parse().ok()?))
}

/// `|2|2001:db8::1|5282|` of a socket.
pub(super) fn in_extended(socket: SocketAddrV6) -> String {
    format!("|2|{}|{}|", socket.ip(), socket.port())
}

/// The port of a reply 227.
pub(super) fn passive_port(line: &str) -> Option<u16> {
    let text = line.strip_prefix("227 ")?;
    // RFC 1123 section 4.1.2.6: the numbers need not be in brackets.
    let begin = text.find(|c: char| c.is_ascii_digit())?;
    let rest = &text[begin..];
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != ',')
        .unwrap_or(rest.len());
    six(&rest[..end]).map(|socket| socket.port())
}

/// The port of a reply 229.
pub(super) fn extended_passive_port(line: &str) -> Option<u16> {
    let (_, rest) = line.strip_prefix("229 ")?.split_once('(')?;
    let (inside, _) = rest.split_once(')')?;
    let separator = inside.chars().next()?;
    let three = [separator; 3].iter().collect::<String>();
    inside
        .strip_prefix(&three)?
        .strip_suffix(separator)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc6384_7_1_example() {
        let command = Command::read("EPRT |2|2001:db8:2::31|5282|\r\n");
        let socket = "[2001:db8:2::31]:5282".parse().unwrap();
        assert_eq!(command, Some(Command::ExtendedPort(socket)));
        assert_eq!(
            in_six("192.0.2.31:5282".parse().unwrap()),
            "192,0,2,31,20,162"
        );
    }

    #[test]
    fn rfc6384_6_example() {
        assert_eq!(
            passive_port("227 Entering Passive Mode (192,0,2,31,237,19)\r\n"),
            Some(60691)
        );
        assert_eq!(
            passive_port("227 =192,0,2,31,237,19\r\n"),
            Some(60691),
            "RFC 1123 section 4.1.2.6"
        );
        assert_eq!(
            extended_passive_port("229 Entering Extended Passive Mode (|||60691|)\r\n"),
            Some(60691)
        );
    }

    #[test]
    fn beginnings() {
        for part in ["", "e", "EP", "eprt", "EPRT |2|2001:db8::1", "PASV\r"] {
            assert!(may_begin(part.as_bytes()), "{part}");
        }
        for part in ["USER", "EPSVX", "RETR file", "x"] {
            assert!(!may_begin(part.as_bytes()), "{part}");
        }
    }

    #[test]
    fn commands() {
        assert_eq!(
            Command::read("epsv\r\n"),
            Some(Command::ExtendedPassive(None))
        );
        assert_eq!(
            Command::read("EPSV ALL\r\n"),
            Some(Command::ExtendedPassive(Some("ALL")))
        );
        assert_eq!(
            Command::read("PORT 192,0,2,1,1,2\r\n"),
            Some(Command::Port("192.0.2.1:258".parse().unwrap()))
        );
        for other in [
            "PORT 192,0,2,1,1\r\n",
            "PORT 1,2,3,4,5,6,7\r\n",
            "EPRT |1|2001:db8::1|1|\r\n",
            "EPRT |2|2001:db8::1|1\r\n",
            "EPRT\r\n",
            "RETR file\r\n",
            "\r\n",
        ] {
            assert_eq!(Command::read(other), None, "{other:?}");
        }
    }
}
