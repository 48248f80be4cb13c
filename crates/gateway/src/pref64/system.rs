//! The resolvers of the machine, in `/etc/resolv.conf`.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

use nix::net::if_::if_nametoindex;

/// The port of DNS.
const PORT: u16 = 53;

/// The resolvers that the file names, in its order; none if it cannot be read.
pub(super) fn resolvers() -> Vec<SocketAddr> {
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    nameservers(&text, |link| if_nametoindex(link).ok())
}

fn nameservers(text: &str, index: impl Fn(&str) -> Option<u32>) -> Vec<SocketAddr> {
    let address = |line: &str| {
        let mut words = line.split_whitespace();
        let keyword = words.next()?;
        let address = words.next().filter(|_| keyword == "nameserver")?;
        if let Some((address, link)) = address.split_once('%') {
            let address: Ipv6Addr = address.parse().ok()?;
            return Some(SocketAddrV6::new(address, PORT, 0, index(link)?).into());
        }
        let address: IpAddr = address.parse().ok()?;
        Some(SocketAddr::new(address, PORT))
    };
    text.lines().filter_map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// resolv.conf(5): a keyword and its value, comments behind `;` or `#` at the start of a line.
    #[test]
    fn nameservers_of_both_families() {
        let text = "# nameserver 192.0.2.9\nsearch example\nnameserver 192.0.2.53\n\
                    nameserver\t2001:db8::53 \n; nameserver ::1\nnameserver fe80::1%eth0\n\
                    nameserver fe80::1%gone\nnameserver example\noptions edns0\n";
        let found = nameservers(text, |link| (link == "eth0").then_some(7));
        let expected = ["192.0.2.53:53", "[2001:db8::53]:53", "[fe80::1%7]:53"];
        assert_eq!(found, expected.map(|text| text.parse().unwrap()));
    }
}
