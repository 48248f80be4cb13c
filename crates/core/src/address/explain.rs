//! Explanations of an address, for people: its transition mechanism, its embedded IPv4 address and its
//! block. The packet path does not use them.

mod block;

use core::fmt;

use super::isatap::{self, Unique};
use super::{V4, V6, ivi, rfc6052};

pub use block::{Block, Reach, block_v4, block_v6};

/// The parts of an IPv6 address that a transition mechanism made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// An IPv4 address under a translation prefix (RFC 6052 section 2.2).
    Rfc6052 {
        /// The prefix.
        prefix: rfc6052::Prefix,
        /// The IPv4 address.
        v4: V4,
    },
    /// An IPv4 address under an IVI prefix (RFC 6219 section 3.1).
    Ivi {
        /// The prefix.
        prefix: ivi::Prefix,
        /// The IPv4 address.
        v4: V4,
        /// The part of its ports, if the suffix has one.
        share: Option<ivi::Share>,
    },
    /// A site behind an IPv4 address (RFC 3056 section 2).
    SixToFour {
        /// Address of the site's router.
        v4: V4,
        /// Network within the site.
        subnet: u16,
    },
    /// A host behind an IPv4 NAT (RFC 4380 section 4).
    Teredo {
        /// The server that it was configured from.
        server: V4,
        /// Its address as the server sees it.
        client: V4,
        /// Its port as the server sees it.
        port: u16,
        /// The flags as they stand there.
        flags: u16,
    },
    /// A host whose link is an IPv4 network (RFC 5214 section 6.1).
    Isatap {
        /// Its IPv4 address.
        v4: V4,
        /// Whether it claims that this address is unique in the world.
        unique: Unique,
    },
    /// An IPv4 address that a program sees in IPv6 clothes (RFC 4291 section 2.5.5.2).
    Mapped(V4),
    /// The form that automatic tunnels used (RFC 4291 section 2.5.5.1).
    Compatible(V4),
    /// The form of the first SIIT (RFC 2765 section 2.1).
    Translated(V4),
    /// An interface identifier made from a MAC address (RFC 4291 appendix A).
    Eui64([u8; 6]),
}

impl Meaning {
    /// The IPv4 address that packets to this address reach, if it embeds one.
    #[must_use]
    pub const fn v4(&self) -> Option<V4> {
        match *self {
            Self::Rfc6052 { v4, .. }
            | Self::Ivi { v4, .. }
            | Self::SixToFour { v4, .. }
            | Self::Isatap { v4, .. }
            | Self::Mapped(v4)
            | Self::Compatible(v4)
            | Self::Translated(v4) => Some(v4),
            Self::Teredo { client, .. } => Some(client),
            Self::Eui64(_) => None,
        }
    }

    /// The mechanism and its specification.
    #[must_use]
    pub const fn mechanism(&self) -> &'static str {
        match self {
            Self::Rfc6052 { .. } => "IPv4-embedded address (RFC 6052)",
            Self::Ivi { .. } => "IVI address (RFC 6219)",
            Self::SixToFour { .. } => "6to4 address (RFC 3056)",
            Self::Teredo { .. } => "Teredo address (RFC 4380)",
            Self::Isatap { .. } => "ISATAP address (RFC 5214)",
            Self::Mapped(_) => "IPv4-mapped address (RFC 4291)",
            Self::Compatible(_) => "IPv4-compatible address (RFC 4291)",
            Self::Translated(_) => "IPv4-translated address (RFC 2765)",
            Self::Eui64(_) => "modified EUI-64 interface identifier (RFC 4291)",
        }
    }
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rfc6052 { prefix, v4 } => {
                write!(f, "stands for the IPv4 host {v4} under the prefix {prefix}")
            }
            Self::Ivi { prefix, v4, share } => {
                write!(f, "stands for the IPv4 host {v4} under the prefix {prefix}")?;
                match share {
                    Some(share) if share.ratio() > 1 => write!(
                        f,
                        ", which {} hosts share; this one has the ports that leave {} when divided by {}",
                        share.ratio(),
                        share.index(),
                        share.ratio()
                    ),
                    _ => Ok(()),
                }
            }
            Self::SixToFour { v4, subnet } => write!(
                f,
                "lies in network {subnet} of the site behind the IPv4 router {v4}"
            ),
            Self::Teredo {
                server,
                client,
                port,
                flags,
            } => write!(
                f,
                "is a host behind a NAT, seen as {client} port {port} by the server {server} (flags {flags:#06x})"
            ),
            Self::Isatap { v4, unique } => {
                let unique = match unique {
                    Unique::Globally => "globally unique",
                    Unique::Locally => "not globally unique",
                };
                write!(
                    f,
                    "is reached at the IPv4 address {v4} ({unique}) within its site"
                )
            }
            Self::Mapped(v4) => write!(
                f,
                "is the IPv4 address {v4} as programs with IPv6 sockets see it; never in a packet"
            ),
            Self::Compatible(v4) => write!(
                f,
                "is the end {v4} of an automatic tunnel, as was done before 2005"
            ),
            Self::Translated(v4) => {
                write!(f, "is an IPv6 host that was {v4} to the IPv4 side")
            }
            Self::Eui64([a, b, c, d, e, g]) => write!(
                f,
                "was made from the MAC address {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}"
            ),
        }
    }
}

/// All meanings of an address by its own form, without knowledge of any network. The prefix of a
/// translator and the addresses of 6rd (RFC 5969) cannot be recognised from the address alone.
pub fn meanings(address: V6) -> impl Iterator<Item = Meaning> {
    let (high, low) = address.halves();
    let last = V4::from_number(low as u32);
    let well_known = rfc6052::Prefix::WELL_KNOWN;
    let by_prefix = well_known.extract(address).map(|v4| Meaning::Rfc6052 {
        prefix: well_known,
        v4,
    });
    let special = match (high, low >> 32) {
        (0, 0x0000_ffff) => Some(Meaning::Mapped(last)),
        (0, 0xffff_0000) => Some(Meaning::Translated(last)),
        (0, 0) if low > 1 => Some(Meaning::Compatible(last)),
        _ if high >> 48 == 0x2002 => Some(Meaning::SixToFour {
            v4: V4::from_number((high >> 16) as u32),
            subnet: high as u16,
        }),
        _ if high >> 32 == 0x2001_0000 => Some(Meaning::Teredo {
            server: V4::from_number(high as u32),
            client: V4::from_number(!(low as u32)),
            port: !((low >> 32) as u16),
            flags: (low >> 48) as u16,
        }),
        _ => None,
    };
    // The marker octet is the only sign of an IVI address, so this is a guess.
    let global = high >> 61 == 1;
    let ivi = if global && (high >> 24) & 0xff == 0xff && special.is_none() {
        ivi::Prefix::new((V6::from_halves(high & !0xffff_ffff, 0)).into(), 32).ok()
    } else {
        None
    };
    let ivi = ivi.and_then(|prefix| {
        Some(Meaning::Ivi {
            prefix,
            v4: prefix.extract(address)?,
            share: ivi::Share::of(address),
        })
    });
    let identifier = if let Some(v4) = isatap::extract(address) {
        let unique = isatap::unique_in(address);
        Some(Meaning::Isatap { v4, unique })
    } else if (low >> 24) & 0xffff == 0xfffe {
        let [a, b, c, _, _, d, e, f] = low.to_be_bytes();
        Some(Meaning::Eui64([a ^ 2, b, c, d, e, f]))
    } else {
        None
    };
    [by_prefix, special, ivi, identifier].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{v4, v6};

    use std::vec::Vec;

    fn all(text: &str) -> Vec<Meaning> {
        meanings(v6(text)).collect()
    }

    #[test]
    fn rfc6052_well_known() {
        let meaning = Meaning::Rfc6052 {
            prefix: rfc6052::Prefix::WELL_KNOWN,
            v4: v4("192.0.2.33"),
        };
        assert_eq!(all("64:ff9b::192.0.2.33"), [meaning]);
    }

    /// RFC 3056 section 2: 2002:V4ADDR::/48.
    #[test]
    fn rfc3056_6to4() {
        let meaning = Meaning::SixToFour {
            v4: v4("192.0.2.4"),
            subnet: 1,
        };
        assert_eq!(all("2002:c000:204:1::1"), [meaning]);
    }

    /// RFC 4380 section 4: the server's address, flags, then port and address of the client with
    /// every bit inverted. 40000 is 0x9c40, 192.0.2.45 is 0xc000022d.
    #[test]
    fn rfc4380_teredo() {
        let meaning = Meaning::Teredo {
            server: v4("65.54.227.120"),
            client: v4("192.0.2.45"),
            port: 40000,
            flags: 0x8000,
        };
        assert_eq!(all("2001:0:4136:e378:8000:63bf:3fff:fdd2"), [meaning]);
    }

    /// RFC 5214 section 6.1.
    #[test]
    fn rfc5214_isatap() {
        for (text, unique) in [
            ("fe80::5efe:192.0.2.143", Unique::Locally),
            ("2001:db8::200:5efe:192.0.2.143", Unique::Globally),
        ] {
            let v4 = v4("192.0.2.143");
            assert_eq!(all(text), [Meaning::Isatap { v4, unique }]);
        }
    }

    #[test]
    fn rfc4291_forms_with_ipv4() {
        let v4 = v4("192.0.2.1");
        assert_eq!(all("::ffff:192.0.2.1"), [Meaning::Mapped(v4)]);
        assert_eq!(all("::192.0.2.1"), [Meaning::Compatible(v4)]);
        assert_eq!(all("::ffff:0:192.0.2.1"), [Meaning::Translated(v4)]);
        assert_eq!(all("::1"), []);
        assert_eq!(all("::"), []);
    }

    /// RFC 6219 appendix B.
    #[test]
    fn rfc6219_ivi() {
        let found = all("2001:da8:ffca:2661:cd00::");
        let [Meaning::Ivi { share, .. }] = found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(found[0].v4(), Some(v4("202.38.97.205")));
        assert_eq!(share.unwrap().ratio(), 1);
    }

    /// RFC 4291 appendix A: 34:56:78:9a:bc:de becomes 3656:78ff:fe9a:bcde.
    #[test]
    fn rfc4291_eui64() {
        let mac = [0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde];
        assert_eq!(all("fe80::3656:78ff:fe9a:bcde"), [Meaning::Eui64(mac)]);
    }
}
