//! A path: links in a row, and the form of packets on each.

use std::num::NonZeroU64;
use std::str::FromStr;

use super::{BoundError, Family, Rate};

/// A link's MTU in bytes: 1280, which IPv6 asks of every link (RFC 8200 section 5), to 65535.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mtu(u32);

impl Mtu {
    /// The least MTU of a link with IPv6 (RFC 8200 section 5).
    pub const LEAST: Self = Self(1280);
    /// Ethernet's MTU.
    pub const ETHERNET: Self = Self(1500);

    /// Returns an MTU of this many bytes.
    ///
    /// # Errors
    ///
    /// [`BoundError::Mtu`] outside of 1280 to 65535.
    pub fn new(bytes: u32) -> Result<Self, BoundError> {
        if (Self::LEAST.0..=LONGEST).contains(&bytes) {
            Ok(Self(bytes))
        } else {
            Err(BoundError::Mtu)
        }
    }

    /// Returns the bytes.
    pub fn bytes(self) -> u32 {
        self.0
    }

    /// Returns an MTU with room for headers of `bytes` more, so that packets of this one stay whole.
    pub fn wider(self, bytes: u8) -> Self {
        Self(self.0 + u32::from(bytes))
    }
}

impl FromStr for Mtu {
    type Err = BoundError;

    fn from_str(text: &str) -> Result<Self, BoundError> {
        Self::new(text.parse().map_err(|_| BoundError::Mtu)?)
    }
}

/// The longest packet of IPv4, and of IPv6 without jumbograms.
const LONGEST: u32 = 65_535;
/// The difference in length of an IPv6 header and an IPv4 header.
const HEADER_DIFFERENCE: u32 = 20;

/// The form of packets on a stretch of the path. Where the inner protocol of a stretch differs from that of the one
/// before, the node between them is a translator (RFC 7915).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Plain packets.
    Plain(Family),
    /// IPv6 in IPv4: configured tunnels, 6to4, 6rd, ISATAP.
    SixInFour(TunnelMtu),
    /// IPv4 in IPv6: DS-Lite, MAP-E, lw4o6.
    FourInSix(Cutting),
}

/// The MTU of an IPv6-in-IPv4 tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelMtu {
    /// That of the link: 20 bytes less, but not less than 1280 (RFC 4213 section 3.2.2).
    OfLink,
    /// 1280, which a static MTU should be (RFC 4213 section 3.2.1).
    Least,
}

/// The treatment of packets that are too long for an IPv4-in-IPv6 tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cutting {
    /// The tunnel's MTU is 40 bytes less than the link's: the inner packets are fragmented, or sent shorter.
    Inner,
    /// The outer packets are fragmented, and the tunnel's end reassembles them (RFC 6333 section 5.3).
    Outer,
}

impl Form {
    /// Returns the protocol of the inner packets.
    pub fn inner(self) -> Family {
        match self {
            Self::Plain(family) => family,
            Self::SixInFour(_) => Family::V6,
            Self::FourInSix(_) => Family::V4,
        }
    }

    /// Returns the longest inner packet on links of this MTU.
    fn inner_mtu(self, mtu: Mtu) -> u32 {
        match self {
            Self::Plain(_) => mtu.0,
            Self::SixInFour(TunnelMtu::OfLink) => (mtu.0 - Family::V4.header()).max(Mtu::LEAST.0),
            Self::SixInFour(TunnelMtu::Least) => Mtu::LEAST.0,
            Self::FourInSix(Cutting::Inner) => mtu.0 - Family::V6.header(),
            Self::FourInSix(Cutting::Outer) => LONGEST,
        }
    }

    /// Returns the longest packets that a `source` may send for this stretch.
    fn limits(self, mtu: Mtu, source: Family) -> Limits {
        let inner = self.inner_mtu(mtu);
        match (source, self.inner()) {
            (Family::V4, Family::V4) | (Family::V6, Family::V6) => Limits {
                whole: inner,
                fragment: inner,
            },
            // A translator fragments packets itself (RFC 7915 section 4.1), but not those with DF.
            (Family::V4, Family::V6) => Limits {
                whole: inner - HEADER_DIFFERENCE,
                fragment: LONGEST,
            },
            (Family::V6, Family::V4) => Limits {
                whole: inner.saturating_add(HEADER_DIFFERENCE).min(LONGEST),
                fragment: inner.saturating_add(HEADER_DIFFERENCE).min(LONGEST),
            },
        }
    }
}

/// The longest packets that a source may send, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Unfragmented.
    pub(super) whole: u32,
    /// Fragments.
    pub(super) fragment: u32,
}

/// The packet rate of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// The link alone limits the rate.
    Unlimited,
    /// At most this many per second.
    PacketsPerSecond(NonZeroU64),
}

/// A link, and the node that sends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The line rate.
    pub rate: Rate,
    /// The packet rate of the node in front of it.
    pub sender: Capacity,
}

impl Link {
    /// Returns a link after a node without limits.
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            sender: Capacity::Unlimited,
        }
    }
}

/// Links in a row on which packets have the same form. There is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub(super) form: Form,
    pub(super) mtu: Mtu,
    pub(super) links: Vec<Link>,
}

impl Stretch {
    /// Returns a stretch of one link.
    pub fn new(form: Form, mtu: Mtu, link: Link) -> Self {
        Self {
            form,
            mtu,
            links: vec![link],
        }
    }

    /// Adds a link at the end.
    #[must_use]
    pub fn link(mut self, link: Link) -> Self {
        self.links.push(link);
        self
    }
}

/// A path from one host to another. It has at least one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    source: Family,
    stretches: Vec<Stretch>,
    lowest_ipv6_mtu: Mtu,
}

impl Path {
    /// Returns a path that begins with this stretch. The host's protocol is the inner one.
    pub fn new(first: Stretch) -> Self {
        Self {
            source: first.form.inner(),
            stretches: vec![first],
            lowest_ipv6_mtu: Mtu::LEAST,
        }
    }

    /// Adds a stretch at the end. Between two tunnels in a row, packets are decapsulated and encapsulated.
    #[must_use]
    pub fn then(mut self, stretch: Stretch) -> Self {
        self.stretches.push(stretch);
        self
    }

    /// Sets the length to which translators fragment IPv4 packets without DF in IPv6, instead of 1280:
    /// "lowest-ipv6-mtu" of RFC 7915 section 4.1.
    #[must_use]
    pub fn lowest_ipv6_mtu(mut self, mtu: Mtu) -> Self {
        self.lowest_ipv6_mtu = mtu;
        self
    }

    /// Returns the protocol of the sending host.
    pub fn source(&self) -> Family {
        self.source
    }

    /// Returns all links, in order.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.stretches.iter().flat_map(|stretch| &stretch.links)
    }

    pub(super) fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    /// Returns the length to which translators fragment.
    pub(super) fn translators_cut_to(&self) -> u32 {
        self.lowest_ipv6_mtu.0
    }

    /// Returns the longest packets that the sending host may send.
    pub(super) fn limits(&self) -> Limits {
        let none = Limits {
            whole: LONGEST,
            fragment: LONGEST,
        };
        self.stretches.iter().fold(none, |least, stretch| {
            let limits = stretch.form.limits(stretch.mtu, self.source);
            Limits {
                whole: least.whole.min(limits.whole),
                fragment: least.fragment.min(limits.fragment),
            }
        })
    }
}
