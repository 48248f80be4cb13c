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
