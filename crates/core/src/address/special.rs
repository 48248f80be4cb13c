//! Addresses with special treatment in a translator: those that may not be the source or the destination
//! of a packet (RFC 7915 sections 4.1 and 5.1), and the IPv4 addresses that the well-known prefix must not
//! represent (RFC 6052 section 3.1).
//!
//! Everything here is a handful of comparisons on numbers, fit for the packet path.

use super::{V4, V6};

/// An IPv4 address that no packet from elsewhere can have as its source: "this network"
/// 0.0.0.0/8, loopback 127.0.0.0/8, multicast 224.0.0.0/4, and class E with limited broadcast
/// 240.0.0.0/4 (RFC 7915 section 4.1, which points to RFC 1812 section 5.3.7); and link-local
/// 169.254.0.0/16, which nobody forwards (RFC 3927 section 2.7).
#[inline(always)]
#[must_use]
pub const fn is_illegal_source_v4(address: V4) -> bool {
    let number = address.number();
    let network = number >> 24;
    network == 0 || network == 127 || number >= 0xe000_0000 || number >> 16 == 0xa9fe
}

/// An IPv4 address to which no packet is translated: "this network" 0.0.0.0/8, loopback
/// 127.0.0.0/8, multicast 224.0.0.0/4 (RFC 7915 section 1.2 leaves it out), class E and limited
/// broadcast 240.0.0.0/4 (RFC 1812 section 5.3.7), link-local 169.254.0.0/16 (RFC 3927 section 2.7).
#[inline(always)]
#[must_use]
pub const fn is_illegal_destination_v4(address: V4) -> bool {
    is_illegal_source_v4(address)
}

/// An IPv6 address that no packet from another link can have as its source: unspecified and
/// loopback (RFC 4291 sections 2.5.2 and 2.5.3), link-local fe80::/10 (section 2.5.6) and
/// multicast ff00::/8 (section 2.7).
#[inline(always)]
#[must_use]
pub const fn is_illegal_source_v6(address: V6) -> bool {
    let first = address.0[0].high();
    if first != 0 && first < 0xfe80 {
        // Nearly all.
        return false;
    }
    let (high, low) = address.halves();
    high >> 56 == 0xff || high >> 54 == 0xfe80 >> 6 || (high == 0 && low <= 1)
}

/// An IPv6 address to which no packet is translated: the same ones. RFC 7915 section 1.2 leaves
/// multicast out; the others never leave a node or a link.
#[inline(always)]
#[must_use]
pub const fn is_illegal_destination_v6(address: V6) -> bool {
    is_illegal_source_v6(address)
}

/// Whether the address lies in the `length` (1 to 32) bits long prefix of `network`.
#[inline(always)]
const fn under(address: u32, network: [u8; 4], length: u32) -> bool {
    (address ^ u32::from_be_bytes(network)) >> (32 - length) == 0
}

/// An IPv4 address that is not global, and therefore must not appear under the well-known prefix
/// `64:ff9b::/96` (RFC 6052 section 3.1).
///
/// The list is section 3 of RFC 5735 as the IANA IPv4 Special-Purpose Address Registry (RFC 6890)
/// carries it on. 192.0.0.9 (PCP, RFC 7723) and 192.0.0.10 (TURN, RFC 8155) are registered as
/// globally reachable inside the otherwise special 192.0.0.0/24, and are global here.
#[inline(always)]
#[must_use]
pub const fn is_non_global_v4(address: V4) -> bool {
    let number = address.number();
    is_illegal_source_v4(address)
        || under(number, [10, 0, 0, 0], 8)
        || under(number, [100, 64, 0, 0], 10)
        || under(number, [172, 16, 0, 0], 12)
        || (under(number, [192, 0, 0, 0], 24) && !is_anycast_v4(number))
        || under(number, [192, 0, 2, 0], 24)
        || under(number, [192, 88, 99, 0], 24)
        || under(number, [192, 168, 0, 0], 16)
        || under(number, [198, 18, 0, 0], 15)
        || under(number, [198, 51, 100, 0], 24)
        || under(number, [203, 0, 113, 0], 24)
}

/// Whether the address is 192.0.0.9 or 192.0.0.10. After a comparison with each the kernel's verifier would go through all
/// that follows again, for the address that it knows then.
#[inline(always)]
const fn is_anycast_v4(number: u32) -> bool {
    (number ^ u32::from_be_bytes([192, 0, 0, 8])).wrapping_sub(1) < 2
}

/// An IPv4 address that a 6to4 prefix may embed: one of a host of the internet (RFC 3964 section 5.3.1), so
/// that it is neither private (RFC 1918) nor shared (RFC 6598).
#[inline(always)]
#[must_use]
pub const fn is_global_unicast_v4(address: V4) -> bool {
    let number = address.number();
    !(is_illegal_source_v4(address)
        || under(number, [10, 0, 0, 0], 8)
        || under(number, [100, 64, 0, 0], 10)
        || under(number, [172, 16, 0, 0], 12)
        || under(number, [192, 168, 0, 0], 16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{v4, v6};

    /// RFC 7915 section 4.1 names 0.0.0.0 and 127.0.0.1; RFC 1812 sections 4.2.2.11 and 5.3.7 the
    /// rest. Each range at both ends, and its neighbours.
    #[test]
    fn rfc7915_4_1_illegal_sources() {
        for (text, illegal) in [
            ("0.0.0.0", true),
            ("0.255.255.255", true),
            ("1.0.0.0", false),
            ("10.0.0.1", false),
            ("126.255.255.255", false),
            ("127.0.0.1", true),
            ("127.255.255.255", true),
            ("128.0.0.0", false),
            ("169.253.255.255", false),
            ("169.254.0.0", true),
            ("169.254.255.255", true),
            ("169.255.0.0", false),
            ("223.255.255.255", false),
            ("224.0.0.1", true),
            ("239.255.255.255", true),
            ("240.0.0.0", true),
            ("255.255.255.255", true),
        ] {
            assert_eq!(is_illegal_source_v4(v4(text)), illegal, "{text}");
            assert_eq!(is_illegal_destination_v4(v4(text)), illegal, "{text}");
        }
    }

    /// RFC 7915 section 5.1 names ::1; RFC 4291 the rest.
    #[test]
    fn rfc7915_5_1_illegal_sources() {
        for (text, illegal) in [
            ("::", true),
            ("::1", true),
            ("::2", false),
            ("::ffff:192.0.2.1", false),
            ("64:ff9b::c000:201", false),
            ("2001:db8::1", false),
            ("fc00::1", false),
            ("fe7f:ffff::1", false),
            ("fe80::", true),
            ("febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true),
            ("fec0::1", false),
            ("feff:ffff::", false),
            ("ff00::", true),
            ("ff02::1", true),
            ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true),
        ] {
            assert_eq!(is_illegal_source_v6(v6(text)), illegal, "{text}");
            assert_eq!(is_illegal_destination_v6(v6(text)), illegal, "{text}");
        }
    }

    /// RFC 3964 section 5.3.1: each block at both ends, and the addresses just outside of it.
    #[test]
    fn rfc3964_5_3_1_global_unicast() {
        for (first, last) in [
            ("0.0.0.0", "0.255.255.255"),
            ("10.0.0.0", "10.255.255.255"),
            ("100.64.0.0", "100.127.255.255"),
            ("127.0.0.0", "127.255.255.255"),
            ("169.254.0.0", "169.254.255.255"),
            ("172.16.0.0", "172.31.255.255"),
            ("192.168.0.0", "192.168.255.255"),
            ("224.0.0.0", "255.255.255.255"),
        ] {
            assert!(!is_global_unicast_v4(v4(first)), "{first}");
            assert!(!is_global_unicast_v4(v4(last)), "{last}");
            let before = V4::from_number(v4(first).number().wrapping_sub(1));
            let after = V4::from_number(v4(last).number().wrapping_add(1));
            assert!(
                first == "0.0.0.0" || is_global_unicast_v4(before),
                "{before}"
            );
            assert!(
                last == "255.255.255.255" || is_global_unicast_v4(after),
                "{after}"
            );
        }
        assert!(is_global_unicast_v4(v4("192.88.99.1")));
    }

    /// RFC 5735 section 3 and RFC 6890 section 2.2.2: first and last address of every block, and
    /// the addresses just outside of it, which are all global.
    #[test]
    fn rfc6052_3_1_non_global() {
        for (first, last) in [
            ("10.0.0.0", "10.255.255.255"),
            ("100.64.0.0", "100.127.255.255"),
            ("127.0.0.0", "127.255.255.255"),
            ("169.254.0.0", "169.254.255.255"),
            ("172.16.0.0", "172.31.255.255"),
            ("192.0.0.0", "192.0.0.8"),
            ("192.0.0.11", "192.0.0.255"),
            ("192.0.2.0", "192.0.2.255"),
            ("192.88.99.0", "192.88.99.255"),
            ("192.168.0.0", "192.168.255.255"),
            ("198.18.0.0", "198.19.255.255"),
            ("198.51.100.0", "198.51.100.255"),
            ("203.0.113.0", "203.0.113.255"),
        ] {
            assert!(is_non_global_v4(v4(first)), "{first}");
            assert!(is_non_global_v4(v4(last)), "{last}");
            let before = V4::from_number(v4(first).number() - 1);
            let after = V4::from_number(v4(last).number() + 1);
            assert!(!is_non_global_v4(before), "{before}");
            assert!(!is_non_global_v4(after), "{after}");
        }
        assert!(is_non_global_v4(v4("0.0.0.0")));
        assert!(!is_non_global_v4(v4("1.0.0.0")));
        assert!(!is_non_global_v4(v4("223.255.255.255")));
        assert!(is_non_global_v4(v4("224.0.0.0")));
        assert!(is_non_global_v4(v4("255.255.255.255")));
    }
}
