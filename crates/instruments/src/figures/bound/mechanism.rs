//! The transition mechanisms, as paths between two hosts.

use super::{Cutting, Family, Form, Link, Mtu, Packet, Path, Rate, Stretch, TunnelMtu};

/// A mechanism at work between two hosts.
#[derive(Debug)]
pub struct Mechanism {
    /// Its name on the command line and in JSON.
    pub name: &'static str,
    /// Its long name and its path: `–` is a plain link, `=` one in a tunnel, `~` a translated one.
    pub title: &'static str,
    parts: &'static [Part],
    lowest_ipv6_mtu: LowestIpv6Mtu,
}

/// A number of links with the same form.
#[derive(Debug)]
struct Part {
    form: Form,
    links: Links,
    /// The bytes that these links carry in one packet in addition to the others.
    wider: u8,
}

/// The number of links.
#[derive(Clone, Copy, Debug)]
enum Links {
    One,
    Two,
}

/// The length to which translators fragment packets.
#[derive(Clone, Copy, Debug)]
enum LowestIpv6Mtu {
    /// 1280 (RFC 7915 section 4.1).
    Default,
    /// The core's MTU.
    OfCore,
}

const V4: Form = Form::Plain(Family::V4);
const V6: Form = Form::Plain(Family::V6);
const IN4: Form = Form::SixInFour(TunnelMtu::OfLink);
const IN4_LEAST: Form = Form::SixInFour(TunnelMtu::Least);
const IN6_INNER: Form = Form::FourInSix(Cutting::Inner);
const IN6_OUTER: Form = Form::FourInSix(Cutting::Outer);

const fn one(form: Form) -> Part {
    Part {
        form,
        links: Links::One,
        wider: 0,
    }
}

const fn two(form: Form) -> Part {
    wide(form, 0)
}

/// Returns two links of a core that are this much wider than the others.
const fn wide(form: Form, wider: u8) -> Part {
    Part {
        form,
        links: Links::Two,
        wider,
    }
}

const fn mechanism(name: &'static str, title: &'static str, parts: &'static [Part]) -> Mechanism {
    Mechanism {
        name,
        title,
        parts,
        lowest_ipv6_mtu: LowestIpv6Mtu::Default,
    }
}

/// All mechanisms.
pub const MECHANISMS: &[Mechanism] = &[
    mechanism("direct-ipv4", "IPv4: host – host", &[one(V4)]),
    mechanism("direct-ipv6", "IPv6: host – host", &[one(V6)]),
    mechanism("native-ipv4", "IPv4: host – router – host", &[two(V4)]),
    mechanism("native-ipv6", "IPv6: host – router – host", &[two(V6)]),
    mechanism(
        "isatap",
        "ISATAP: host = router – host",
        &[one(IN4), one(V6)],
    ),
    mechanism(
        "isatap-back",
        "ISATAP, to the host with the tunnel: host – router = host",
        &[one(V6), one(IN4)],
    ),
    mechanism(
        "isatap-1280",
        "ISATAP with an MTU of 1280: host = router – host",
        &[one(IN4_LEAST), one(V6)],
    ),
    mechanism("6to4", "6to4: host = IPv4 router = host", &[two(IN4)]),
    mechanism(
        "6to4-1280",
        "6to4 with an MTU of 1280: host = IPv4 router = host",
        &[two(IN4_LEAST)],
    ),
    mechanism(
        "6rd",
        "6rd, configured tunnels: host – CE = IPv4 router = border – host",
        &[one(V6), two(IN4), one(V6)],
    ),
    mechanism(
        "6rd-1280",
        "6rd, configured tunnels with an MTU of 1280: host – CE = IPv4 router = border – host",
        &[one(V6), two(IN4_LEAST), one(V6)],
    ),
    mechanism(
        "nat64-6to4",
        "NAT64, SIIT: IPv6 host – translator – IPv4 host",
        &[one(V6), one(V4)],
    ),
    mechanism(
        "nat64-4to6",
        "NAT64, SIIT: IPv4 host – translator – IPv6 host",
        &[one(V4), one(V6)],
    ),
    Mechanism {
        name: "xlat",
        title: "MAP-T, 464XLAT, a core of 28 bytes more: host – CE ~ IPv6 router ~ border – host",
        parts: &[one(V4), wide(V6, 28), one(V4)],
        lowest_ipv6_mtu: LowestIpv6Mtu::OfCore,
    },
    mechanism(
        "xlat-1280",
        "MAP-T, 464XLAT, fragments cut to 1280: host – CE ~ IPv6 router ~ border – host",
        &[one(V4), two(V6), one(V4)],
    ),
    mechanism(
        "4in6-inner",
        "DS-Lite, MAP-E, lw4o6, hosts cut: host – CE = IPv6 router = border – host",
        &[one(V4), two(IN6_INNER), one(V4)],
    ),
    mechanism(
        "4in6-outer",
        "DS-Lite, MAP-E, lw4o6, the tunnel cuts: host – CE = IPv6 router = border – host",
        &[one(V4), two(IN6_OUTER), one(V4)],
    ),
    mechanism(
        "4in6-wide",
        "DS-Lite, MAP-E, lw4o6, a core of 40 bytes more: host – CE = IPv6 router = border – host",
        &[one(V4), wide(IN6_OUTER, 40), one(V4)],
    ),
];

impl Part {
    fn mtu(&self, mtu: Mtu) -> Mtu {
        mtu.wider(self.wider)
    }

    fn stretch(&self, rate: Rate, mtu: Mtu) -> Stretch {
        let link = Link::new(rate);
        let stretch = Stretch::new(self.form, self.mtu(mtu), link);
        match self.links {
            Links::One => stretch,
            Links::Two => stretch.link(link),
        }
    }
}

impl Mechanism {
    /// Returns the mechanism of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        MECHANISMS.iter().find(|mechanism| mechanism.name == name)
    }

    /// Returns its path over links of this rate and MTU.
    pub fn path(&self, rate: Rate, mtu: Mtu) -> Path {
        let mut stretches = self.parts.iter().map(|part| part.stretch(rate, mtu));
        let first = stretches.next().expect("every mechanism has a part");
        let path = stretches.fold(Path::new(first), Path::then);
        match self.lowest_ipv6_mtu {
            LowestIpv6Mtu::Default => path,
            LowestIpv6Mtu::OfCore => {
                let core = self.parts.iter().map(|part| part.mtu(mtu)).max();
                path.lowest_ipv6_mtu(core.unwrap_or(mtu))
            }
        }
    }

    /// Returns the most bytes by which it makes a frame longer: the O of RFC 8219 appendix A.
    pub fn overhead(&self) -> u32 {
        let path = self.path(Rate::ETHERNET, Mtu::ETHERNET);
        // Any size that is not fragmented.
        let sent = Packet::whole(path.source(), 100);
        let links = path.carry(&[sent]);
        let lengths = links
            .iter()
            .map(|on_link| on_link.packets[0].packet.length());
        lengths.max().unwrap_or(0).saturating_sub(sent.length())
    }
}
