//! Ethernet headers and VLAN tags.

use isthmus_abi::links::{SERVICE, VLAN_NUMBER, tag_number};
use isthmus_core::packet::Family;

/// Bytes of an Ethernet header.
pub(crate) const HEADER: usize = 14;
/// IPv4 in Ethernet.
pub(crate) const IPV4: u16 = 0x0800;
/// IPv6 in Ethernet.
pub(crate) const IPV6: u16 = 0x86dd;

/// A tag of IEEE 802.1Q after the addresses.
pub(crate) const VLAN: u16 = 0x8100;
/// A service tag of IEEE 802.1ad, the outer one of two as a rule.
pub(crate) const SERVICE_VLAN: u16 = 0x88a8;
/// Bytes of a tag.
pub(crate) const TAG: usize = 4;

/// The type of a packet of a family.
#[inline(always)]
pub(crate) fn kind_of(family: Family) -> u16 {
    match family {
        Family::V4 => IPV4,
        Family::V6 => IPV6,
    }
}

/// An Ethernet header, as it lies in memory: destination, source, type.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Ethernet {
    addresses: Addresses,
    kind: u16,
}
const _: () = assert!(size_of::<Addresses>() + size_of::<u16>() == HEADER);

/// Destination and source, in three words.
pub(crate) type Addresses = [u32; 3];

impl Ethernet {
    #[inline(always)]
    pub(crate) fn new(addresses: Addresses, kind: u16) -> Self {
        Self {
            addresses,
            kind: kind.to_be(),
        }
    }

    /// Reads it, in words: of single bytes the compiler would keep each in a place of its own.
    ///
    /// # Safety
    /// `from` points to [`HEADER`] bytes.
    #[inline(always)]
    pub(crate) unsafe fn read(from: *const u16) -> Self {
        // SAFETY: as the caller says.
        unsafe {
            Self {
                addresses: addresses_at(from),
                kind: from.add(6).read_volatile(),
            }
        }
    }

    /// Writes it, in words: for larger pieces the compiler would call a function that moves bytes.
    ///
    /// # Safety
    /// `to` points to [`HEADER`] bytes.
    #[inline(always)]
    pub(crate) unsafe fn write(self, to: *mut u16) {
        let [a, b, c] = self.addresses;
        let words = to.cast::<u32>();
        // SAFETY: as the caller says. A frame begins at any even address: the verifier refuses the program on
        // processors that do not take misaligned words.
        unsafe {
            words.write_volatile(a);
            words.add(1).write_volatile(b);
            words.add(2).write_volatile(c);
            to.add(6).write_volatile(self.kind);
        }
    }

    /// The type of the payload.
    #[inline(always)]
    pub(crate) fn kind(self) -> u16 {
        u16::from_be(self.kind)
    }

    /// Destination and source.
    #[inline(always)]
    pub(crate) fn addresses(self) -> Addresses {
        self.addresses
    }
}

/// Destination and source where a header begins.
///
/// # Safety
/// As for [`Ethernet::read`].
#[inline(always)]
unsafe fn addresses_at(from: *const u16) -> Addresses {
    let words = from.cast::<u32>();
    // SAFETY: as the caller says; see `Ethernet::write` on alignment.
    unsafe {
        [
            words.read_volatile(),
            words.add(1).read_volatile(),
            words.add(2).read_volatile(),
        ]
    }
}

/// The tag of a VLAN.
#[derive(Clone, Copy)]
pub(crate) struct Tag {
    /// [`VLAN`] or [`SERVICE_VLAN`].
    kind: u16,
    /// Priority, drop eligibility, and the number of the VLAN in the lower 12 bits.
    control: u16,
}

impl Tag {
    #[inline(always)]
    pub(crate) fn new(kind: u16, control: u16) -> Self {
        Self { kind, control }
    }

    /// Whether it is a tag at all.
    #[inline(always)]
    pub(crate) fn is_known(self) -> bool {
        matches!(self.kind, VLAN | SERVICE_VLAN)
    }

    /// Its [`tag_number`].
    #[inline(always)]
    pub(crate) fn number(self) -> u16 {
        tag_number(self.control, self.kind == SERVICE_VLAN)
    }

    /// The tag with this number, without a priority.
    #[inline(always)]
    pub(crate) fn from_number(number: u16) -> Self {
        Self {
            kind: if number & SERVICE == 0 {
                VLAN
            } else {
                SERVICE_VLAN
            },
            control: number & VLAN_NUMBER,
        }
    }

    /// All of it, as one number.
    #[inline(always)]
    pub(crate) fn whole(self) -> u32 {
        u32::from(self.kind) << 16 | u32::from(self.control)
    }

    /// The tag from the number that [`whole`](Self::whole) returned.
    #[inline(always)]
    pub(crate) fn from_whole(whole: u32) -> Self {
        Self {
            kind: (whole >> 16) as u16,
            control: whole as u16,
        }
    }
}

/// The Ethernet header of a frame with a tag: destination, source, tag, type.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Tagged {
    addresses: Addresses,
    tag: [u16; 2],
    kind: u16,
}
const _: () = assert!(size_of::<Addresses>() + 3 * size_of::<u16>() == HEADER + TAG);

impl Tagged {
    #[inline(always)]
    pub(crate) fn new(header: Ethernet, tag: Tag) -> Self {
        Self {
            addresses: header.addresses,
            tag: [tag.kind.to_be(), tag.control.to_be()],
            kind: header.kind,
        }
    }

    /// The header without the tag.
    #[inline(always)]
    pub(crate) fn ethernet(self) -> Ethernet {
        Ethernet {
            addresses: self.addresses,
            kind: self.kind,
        }
    }

    #[inline(always)]
    pub(crate) fn tag(self) -> Tag {
        Tag::new(u16::from_be(self.tag[0]), u16::from_be(self.tag[1]))
    }

    /// Reads it, in words as well.
    ///
    /// # Safety
    /// `from` points to [`HEADER`] and [`TAG`] bytes.
    #[inline(always)]
    pub(crate) unsafe fn read(from: *const u16) -> Self {
        // SAFETY: as the caller says.
        unsafe {
            Self {
                addresses: addresses_at(from),
                tag: [from.add(6).read_volatile(), from.add(7).read_volatile()],
                kind: from.add(8).read_volatile(),
            }
        }
    }

    /// Writes it, in words as well.
    ///
    /// # Safety
    /// `to` points to [`HEADER`] and [`TAG`] bytes.
    #[inline(always)]
    pub(crate) unsafe fn write(self, to: *mut u16) {
        let [kind, control] = self.tag;
        // SAFETY: as the caller says.
        unsafe {
            self.ethernet().write(to);
            to.add(6).write_volatile(kind);
            to.add(7).write_volatile(control);
            to.add(8).write_volatile(self.kind);
        }
    }
}
