//! What lies before the IP header.

use isthmus_core::packet::Family;

/// Bytes of an Ethernet header.
pub(crate) const HEADER: usize = 14;
/// IPv4 in Ethernet.
pub(crate) const IPV4: u16 = 0x0800;
/// IPv6 in Ethernet.
pub(crate) const IPV6: u16 = 0x86dd;

/// The type of a packet of a family.
#[inline(always)]
pub(crate) fn kind_of(family: Family) -> u16 {
    match family {
        Family::V4 => IPV4,
        Family::V6 => IPV6,
    }
}

/// An Ethernet header, as it lies in memory: destination, source, type. In halves, because that is
/// how the addresses are aligned in the kernel's answer to a route question, and the verifier does
/// not forgive a misaligned load from the stack.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Ethernet {
    addresses: Addresses,
    kind: u16,
}
const _: () = assert!(size_of::<Ethernet>() == HEADER);

/// Destination and source.
pub(crate) type Addresses = [u16; 6];

impl Ethernet {
    #[inline(always)]
    pub(crate) fn new(addresses: Addresses, kind: u16) -> Self {
        Self {
            addresses,
            kind: kind.to_be(),
        }
    }

    /// Writes it, in halves: for more at once the compiler would call a function that moves bytes.
    ///
    /// # Safety
    /// `to` points to [`HEADER`] bytes, at an even address.
    #[inline(always)]
    pub(crate) unsafe fn write(self, to: *mut u16) {
        let [a, b, c, d, e, f] = self.addresses;
        // SAFETY: as the caller says.
        unsafe {
            to.write_volatile(a);
            to.add(1).write_volatile(b);
            to.add(2).write_volatile(c);
            to.add(3).write_volatile(d);
            to.add(4).write_volatile(e);
            to.add(5).write_volatile(f);
            to.add(6).write_volatile(self.kind);
        }
    }

    /// The type of what follows.
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
