//! Properties of links that programs cannot find out themselves.

use bytemuck::{Pod, Zeroable};

/// The map from the number of a link to its [`Link`]. A link without an entry has [`Link::PLAIN`].
pub const LINKS: &str = "LINKS";
/// The map from [`vlan_key`] to the number of the device of that VLAN.
pub const VLANS: &str = "VLANS";
/// Entries that either map has room for.
pub const MOST: usize = 16384;
/// The set of [`Station`]s: the Ethernet addresses at which this machine listens on a link.
pub const STATIONS: &str = "STATIONS";
/// Entries of the set: of each link its mark, its own address, and some of devices above.
pub const MOST_STATIONS: usize = 4 * MOST;
/// The array that has the own addresses of most links, as [`own_word`], at their [`own_place`]: it is read faster
/// than the set.
pub const OWN: &str = "OWN";
/// Entries of the array.
pub const OWN_PLACES: usize = 1 << OWN_PLACES_LOG2;
const OWN_PLACES_LOG2: u32 = 10;

/// The bits of a tag's number that are the number of the VLAN.
pub const VLAN_NUMBER: u16 = 0xfff;
/// In the number of a tag: it is a service tag of IEEE 802.1ad.
pub const SERVICE: u16 = 1 << 12;

/// Returns the number of a tag, by which VLANs of one link are told apart: 13 bits. It is 0 for a tag with
/// nothing but a priority. The number of the VLAN is in the lowest 12 bits of `control`.
#[inline(always)]
#[must_use]
pub const fn tag_number(control: u16, service: bool) -> u16 {
    let service = if service { SERVICE } else { 0 };
    match control & VLAN_NUMBER {
        0 => 0,
        number => number | service,
    }
}

/// The properties of a link. For the device of a VLAN: the link below in the lower half, and
/// [`tag_number`] in the 16 bits above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Link(pub u64);

const FORWARD_BY_KERNEL: u64 = 1 << 48;
const NO_FRAMES: u64 = 1 << 49;
const OUTSIDE: u64 = 1 << 50;

impl Link {
    /// A link without special properties.
    pub const PLAIN: Self = Self(0);

    /// The device of the VLAN with this [`tag_number`] on the link `below`.
    #[must_use]
    pub const fn of_vlan(below: u32, tag: u16) -> Self {
        Self(below as u64 | (tag as u64) << 32)
    }

    /// The same link, but translated packets that came in there go up into the kernel, which forwards
    /// them.
    #[must_use]
    pub const fn forwarded_by_kernel(self) -> Self {
        Self(self.0 | FORWARD_BY_KERNEL)
    }

    /// The same link, but XDP cannot send frames there.
    #[must_use]
    pub const fn without_frames(self) -> Self {
        Self(self.0 | NO_FRAMES)
    }

    /// The same link, but nobody there is an inside host.
    #[must_use]
    pub const fn to_the_outside(self) -> Self {
        Self(self.0 | OUTSIDE)
    }

    /// Whether nobody there is an inside host, so that packets from there open no sessions like one.
    #[inline(always)]
    #[must_use]
    pub const fn is_outside(self) -> bool {
        self.0 & OUTSIDE != 0
    }

    /// Whether translated packets that came in here go up into the kernel, which forwards them.
    #[inline(always)]
    #[must_use]
    pub const fn forwards_by_kernel(self) -> bool {
        self.0 & FORWARD_BY_KERNEL != 0
    }

    /// Whether XDP can send to it, or to the link below it.
    #[inline(always)]
    #[must_use]
    pub const fn takes_frames(self) -> bool {
        self.0 & NO_FRAMES == 0
    }

    /// The link below the device of a VLAN, and the [`tag_number`].
    #[inline(always)]
    #[must_use]
    pub const fn vlan(self) -> Option<(u32, u16)> {
        match (self.0 >> 32) as u16 {
            0 => None,
            number => Some((self.0 as u32, number)),
        }
    }
}

/// Returns the key in `VLANS` of the VLAN with this [`tag_number`] on a link.
#[inline(always)]
#[must_use]
pub const fn vlan_key(link: u32, tag: u32) -> u64 {
    (link as u64) << 32 | tag as u64
}

/// An Ethernet address at which this machine listens on a link. If the link has addresses at all, the
/// address 0 is in the set too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub struct Station {
    /// The number of the link.
    pub link: u64,
    /// The address: its first byte is the lowest.
    pub address: u64,
}
layout!(Station: 16, link: 0, address: 8);

/// Returns the place of a link in the array [`OWN`].
#[inline(always)]
#[must_use]
pub const fn own_place(link: u32) -> u32 {
    link % OWN_PLACES as u32
}

/// Returns the word of a link in the array [`OWN`]: its address, and above it what tells the links of one
/// place apart. It is none of an empty place.
#[inline(always)]
#[must_use]
pub const fn own_word(link: u32, address: u64) -> u64 {
    ((link >> OWN_PLACES_LOG2) as u64 + 1) << 48 | address
}

/// The first link number that [`own_word`] cannot tell from others.
pub const OWN_END: u32 = 0xffff << OWN_PLACES_LOG2;
