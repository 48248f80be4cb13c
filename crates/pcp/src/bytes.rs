//! Fields of messages, in network byte order.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// `N` octets at an offset; `None` past the end.
pub(crate) fn at<const N: usize>(message: &[u8], offset: usize) -> Option<[u8; N]> {
    message.get(offset..)?.first_chunk().copied()
}

/// A 16-bit number.
pub(crate) fn u16_at(message: &[u8], offset: usize) -> Option<u16> {
    at(message, offset).map(u16::from_be_bytes)
}

/// A time in 32 bits of seconds.
pub(crate) fn seconds_at(message: &[u8], offset: usize) -> Option<Duration> {
    let seconds = at(message, offset).map(u32::from_be_bytes)?;
    Some(Duration::from_secs(seconds.into()))
}

/// Whole seconds, as many as a field takes.
pub(crate) fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}

/// An address in 16 octets; IPv4 addresses are mapped (RFC 6887 section 5).
pub(crate) fn address_at(message: &[u8], offset: usize) -> Option<IpAddr> {
    let octets: [u8; 16] = at(message, offset)?;
    Some(Ipv6Addr::from(octets).to_canonical())
}

/// The 16 octets of an address.
pub(crate) fn address(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

/// Writes octets at an offset, as far as the message is long enough.
pub(crate) fn put(message: &mut [u8], offset: usize, octets: &[u8]) {
    let place = message.iter_mut().skip(offset);
    for (place, octet) in place.zip(octets) {
        *place = *octet;
    }
}
