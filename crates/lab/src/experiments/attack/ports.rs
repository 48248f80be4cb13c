//! Requests of the Port Control Protocol (RFC 6887 sections 7.1 and 11.1), as clients make them.

use std::net::Ipv6Addr;

/// The server's port.
pub(super) const PORT: u16 = 5351;
/// Seconds that a mapping is asked for.
pub(super) const LIFETIME: u32 = 3600;
const VERSION: u8 = 2;
const MAP: u8 = 1;
const UDP: u8 = 17;
/// The bit of an answer in the octet of the operation.
const ANSWER: u8 = 0x80;

/// Returns a request for a mapping of a UDP port; a lifetime of zero gives it back.
pub(super) fn request(client: Ipv6Addr, port: u16, lifetime: u32) -> Vec<u8> {
    let mut octets = vec![VERSION, MAP, 0, 0];
    octets.extend(lifetime.to_be_bytes());
    octets.extend(client.octets());
    // The nonce.
    octets.extend([7; 12]);
    octets.extend([UDP, 0, 0, 0]);
    octets.extend(port.to_be_bytes());
    // No outside port is suggested, and no outside IPv4 address.
    octets.extend([0, 0]);
    octets.extend([0; 10]);
    octets.extend([0xff, 0xff, 0, 0, 0, 0]);
    octets
}

/// Returns whether an answer says that it was done.
pub(super) fn is_granted(answer: &[u8]) -> bool {
    matches!(answer, [VERSION, operation, _, 0, ..] if *operation == MAP | ANSWER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_its_fields_where_the_rfc_has_them() {
        let client = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
        let request = request(client, 0x1234, 0x0102_0304);
        assert_eq!(request.len(), 24 + 36);
        assert_eq!(request[..8], [2, 1, 0, 0, 1, 2, 3, 4]);
        assert_eq!(request[8..24], client.octets());
        assert_eq!(request[36..42], [17, 0, 0, 0, 0x12, 0x34]);
        assert!(is_granted(&[2, 0x81, 0, 0]));
        // NO_RESOURCES, and a request.
        assert!(!is_granted(&[2, 0x81, 0, 8]));
        assert!(!is_granted(&[2, 1, 0, 0]));
    }
}
