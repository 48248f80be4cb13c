//! The header of the PROXY protocol, version 2: it tells a server who the client is.

use std::net::{IpAddr, SocketAddr};

const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// Version 2, and a connection that is relayed.
const VERSION_PROXY: u8 = 0x21;
const TCP4: u8 = 0x11;
const TCP6: u8 = 0x21;

/// A client's connection: its own end, and the one where it was accepted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) client: SocketAddr,
    pub(crate) local: SocketAddr,
}

/// The header for a client's connection.
pub(crate) fn header(ends: Ends) -> Vec<u8> {
    let mut header = SIGNATURE.to_vec();
    header.push(VERSION_PROXY);
    let ips = (
        ends.client.ip().to_canonical(),
        ends.local.ip().to_canonical(),
    );
    let (family, addresses) = match ips {
        (IpAddr::V4(client), IpAddr::V4(local)) => {
            (TCP4, [client.octets(), local.octets()].concat())
        }
        (client, local) => {
            let v6 = |ip| match ip {
                IpAddr::V4(v4) => v4.to_ipv6_mapped(),
                IpAddr::V6(v6) => v6,
            };
            (TCP6, [v6(client).octets(), v6(local).octets()].concat())
        }
    };
    header.push(family);
    header.extend((addresses.len() as u16 + 4).to_be_bytes());
    header.extend(addresses);
    header.extend(ends.client.port().to_be_bytes());
    header.extend(ends.local.port().to_be_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the specification's section 2.2, octet for octet.
    #[test]
    fn both_families() {
        let ends = |client: &str, local: &str| Ends {
            client: client.parse().unwrap(),
            local: local.parse().unwrap(),
        };
        let v4 = header(ends("192.0.2.7:4660", "198.51.100.1:443"));
        let fixed = b"\x0d\x0a\x0d\x0a\x00\x0d\x0a\x51\x55\x49\x54\x0a\x21";
        let rest = b"\x11\x00\x0c\xc0\x00\x02\x07\xc6\x33\x64\x01\x12\x34\x01\xbb";
        assert_eq!(v4, [&fixed[..], &rest[..]].concat());
        let v6 = header(ends("[2001:db8::7]:1", "[2001:db8::1]:443"));
        assert_eq!(
            (v6.len(), v6[13], &v6[14..16]),
            (16 + 36, 0x21, &[0, 36][..])
        );
    }
}
