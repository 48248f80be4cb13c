//! A path: links in a row, and what packets look like on each.

use std::num::NonZeroU64;
use std::str::FromStr;

use super::{BoundError, Family, Rate};

/// A link's MTU in bytes: 1280, which IPv6 asks of every link (RFC 8200 section 5), to 65535.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mtu(u32);

impl Mtu {
    /// The least of a link with IPv6 (RFC 8200 section 5).
    pub const LEAST: Self = Self(1280);
    /// Ethernet's.
    pub const ETHERNET: Self = Self(1500);

    /// An MTU of this many bytes.
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

    /// Bytes.
    pub fn bytes(self) -> u32 {
        self.0
    }

    /// An MTU with room for headers of `bytes` more, so that packets of this one stay whole.
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
/// How much longer an IPv6 header is than an IPv4 header.
const HEADER_DIFFERENCE: u32 = 20;

/// What packets look like on a stretch of the path. Where a stretch wants the other protocol inside than
/// the one before it, the node between them is a translator (RFC 7915).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As they are.
    Plain(Family),
    /// IPv6 in IPv4: configured tunnels, 6to4, 6rd, ISATAP.
    SixInFour(TunnelMtu),
    /// IPv4 in IPv6: DS-Lite, MAP-E, lw4o6.
    FourInSix(Cutting),
}

/// The MTU of an IPv6-in-IPv4 tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelMtu {
    /// What fits the link: 20 bytes less, but not less than 1280 (RFC 4213 section 3.2.2).
    OfLink,
    /// 1280, which a static MTU should be (RFC 4213 section 3.2.1).
    Least,
}

/// What an IPv4-in-IPv6 tunnel does with packets that are too long with its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cutting {
    /// Its MTU is 40 bytes less than the link's: the packets inside are cut, or sent shorter.
    Inner,
    /// It cuts the packets outside, and its end puts them together again (RFC 6333 section 5.3).
    Outer,
}

impl Form {
    /// The protocol of the packets inside.
    pub fn inner(self) -> Family {
        match self {
            Self::Plain(family) => family,
            Self::SixInFour(_) => Family::V6,
            Self::FourInSix(_) => Family::V4,
        }
    }

    /// The longest packet inside on links of this MTU.
    fn inner_mtu(self, mtu: Mtu) -> u32 {
        match self {
            Self::Plain(_) => mtu.0,
            Self::SixInFour(TunnelMtu::OfLink) => (mtu.0 - Family::V4.header()).max(Mtu::LEAST.0),
            Self::SixInFour(TunnelMtu::Least) => Mtu::LEAST.0,
            Self::FourInSix(Cutting::Inner) => mtu.0 - Family::V6.header(),
            Self::FourInSix(Cutting::Outer) => LONGEST,
        }
    }

    /// The longest packets that a `source` may send for this stretch.
    fn limits(self, mtu: Mtu, source: Family) -> Limits {
        let inner = self.inner_mtu(mtu);
        match (source, self.inner()) {
            (Family::V4, Family::V4) | (Family::V6, Family::V6) => Limits {
                whole: inner,
                fragment: inner,
            },
            // A translator cuts fragments itself (RFC 7915 section 4.1); packets with DF it does not.
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

/// How many packets a node can send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// As many as the link takes.
    Unlimited,
    /// At most so many per second.
    PacketsPerSecond(NonZeroU64),
}

/// A link, and the node that sends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The line rate.
    pub rate: Rate,
    /// What the node in front of it can do.
    pub sender: Capacity,
}

impl Link {
    /// A link behind a node without limits.
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            sender: Capacity::Unlimited,
        }
    }
}

/// Links in a row on which packets look the same. There is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub(super) form: Form,
    pub(super) mtu: Mtu,
    pub(super) links: Vec<Link>,
}

impl Stretch {
    /// A stretch of one link.
    pub fn new(form: Form, mtu: Mtu, link: Link) -> Self {
        Self {
            form,
            mtu,
            links: vec![link],
        }
    }

    /// With another link at the end.
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
    /// A path that begins with this stretch. Its host speaks the protocol inside of it.
    pub fn new(first: Stretch) -> Self {
        Self {
            source: first.form.inner(),
            stretches: vec![first],
            lowest_ipv6_mtu: Mtu::LEAST,
        }
    }

    /// With another stretch at the end. Between two tunnels in a row, packets are taken out and put in.
    #[must_use]
    pub fn then(mut self, stretch: Stretch) -> Self {
        self.stretches.push(stretch);
        self
    }

    /// With translators that cut IPv4 packets without DF to this length in IPv6, instead of 1280:
    /// "lowest-ipv6-mtu" of RFC 7915 section 4.1.
    #[must_use]
    pub fn lowest_ipv6_mtu(mut self, mtu: Mtu) -> Self {
        self.lowest_ipv6_mtu = mtu;
        self
    }

    /// The protocol of the sending host.
    pub fn source(&self) -> Family {
        self.source
    }

    /// All links, in order.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.stretches.iter().flat_map(|stretch| &stretch.links)
    }

    pub(super) fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    /// The length to which translators cut.
    pub(super) fn translators_cut_to(&self) -> u32 {
        self.lowest_ipv6_mtu.0
    }

    /// The longest packets that the sending host may send.
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
