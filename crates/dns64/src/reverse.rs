//! Names of addresses: ip6.arpa (RFC 3596 section 2.5) and in-addr.arpa (RFC 1035 section 3.5).

use std::net::{Ipv4Addr, Ipv6Addr};

use hickory_proto::rr::Name;

const IP6_ARPA: &[u8] = b"\x03ip6\x04arpa\0";
const NIBBLES: usize = 32;

/// The address that a name under ip6.arpa stands for; `None` for names of whole zones and for
/// anything else. The name is in lower case, as bytes of a message.
pub(crate) fn ip6_arpa(name: &[u8]) -> Option<Ipv6Addr> {
    let nibbles = name.strip_suffix(IP6_ARPA)?;
    if nibbles.len() != 2 * NIBBLES {
        return None;
    }
    let mut bits = 0u128;
    for (i, label) in nibbles.chunks_exact(2).enumerate() {
        let [1, digit] = *label else { return None };
        bits |= u128::from(char::from(digit).to_digit(16)?) << (4 * i);
    }
    Some(Ipv6Addr::from_bits(bits))
}

/// The name under in-addr.arpa of an address.
pub(crate) fn in_addr_arpa(address: Ipv4Addr) -> Name {
    let [a, b, c, d] = address.octets();
    let labels = [d, c, b, a].map(|octet| octet.to_string());
    let labels = labels
        .iter()
        .map(|label| label.as_bytes())
        .chain([&b"in-addr"[..], b"arpa"]);
    // Six short labels are always a name.
    Name::from_labels(labels).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        for label in text.split_terminator('.') {
            out.push(label.len() as u8);
            out.extend_from_slice(label.as_bytes());
        }
        out.push(0);
        out
    }

    #[test]
    fn rfc3596_2_5_example() {
        let name = "b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.0.0.0.1.2.3.4.ip6.arpa.";
        let address: Ipv6Addr = "4321:0:1:2:3:4:567:89ab".parse().unwrap();
        assert_eq!(ip6_arpa(&wire(name)), Some(address));
    }

    #[test]
    fn names_that_are_no_address() {
        for name in [
            "ip6.arpa.",
            "9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.0.0.0.1.2.3.4.ip6.arpa.",
            "0.b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.0.0.0.1.2.3.4.ip6.arpa.",
            "g.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.0.0.0.1.2.3.4.ip6.arpa.",
            "ba.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.0.0.0.1.2.3.4.ip6.arpa.",
            "b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.0.0.0.1.2.3.4.ip6.int.",
        ] {
            assert_eq!(ip6_arpa(&wire(name)), None, "{name}");
        }
    }

    #[test]
    fn rfc1035_3_5_example() {
        let name = in_addr_arpa(Ipv4Addr::new(10, 2, 0, 52));
        assert_eq!(name.to_ascii(), "52.0.2.10.in-addr.arpa.");
    }
}
