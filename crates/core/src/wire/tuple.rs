//! Addresses and ports of a packet.

use crate::address::Address;
use crate::checksum::Sum;

/// Addresses and ports of a packet in one family. The identifier of an ICMP query stands for both
/// ports (RFC 6146 section 3.5.3); without ports both are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuple<A> {
    /// Source address.
    pub source: A,
    /// Destination address.
    pub destination: A,
    /// Source port or ICMP identifier.
    pub source_port: u16,
    /// Destination port or ICMP identifier.
    pub destination_port: u16,
}

impl<A> Tuple<A> {
    /// The tuple with the same ports between other addresses.
    #[inline(always)]
    #[must_use]
    pub fn between<B>(&self, source: B, destination: B) -> Tuple<B> {
        Tuple {
            source,
            destination,
            source_port: self.source_port,
            destination_port: self.destination_port,
        }
    }

    /// The tuple of a packet that goes the other way.
    #[inline(always)]
    #[must_use]
    pub fn swapped(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
        }
    }
}

impl<A: Address> Tuple<A> {
    /// The sum of both addresses.
    #[inline(always)]
    pub(crate) fn address_sum(&self) -> Sum {
        self.source.sum() + self.destination.sum()
    }
}

/// The ports of a datagram; for an ICMP query both are its identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
}

impl Ports {
    /// The ports of a packet without any.
    pub(crate) const NONE: Self = Self {
        source: 0,
        destination: 0,
    };

    /// The tuple with these ports between two addresses.
    #[inline(always)]
    pub(crate) fn between<A>(self, source: A, destination: A) -> Tuple<A> {
        Tuple {
            source,
            destination,
            source_port: self.source,
            destination_port: self.destination,
        }
    }

    /// Both ports as one number, the source in the upper half.
    #[inline(always)]
    pub(crate) const fn word(self) -> u64 {
        (self.source as u64) << 16 | self.destination as u64
    }
}

/// The addresses of the outer header of a tunnel's packet.
#[derive(Clone, Copy, Debug)]
pub struct Ends<A> {
    /// The tunnel endpoint that sends.
    pub source: A,
    /// The tunnel endpoint that receives.
    pub destination: A,
}

impl<A> Ends<A> {
    /// The ends of a tunnel from one address to another.
    #[inline(always)]
    pub const fn new(source: A, destination: A) -> Self {
        Self {
            source,
            destination,
        }
    }
}
