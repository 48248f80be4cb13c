//! The mapping rules of MAP (RFC 7597 section 5, RFC 7599 section 5): which IPv6 address stands for an
//! IPv4 address and a port, and back.
//!
//! ```text
//!  |     n bits         |  o bits   | s bits  |   128-n-o-s bits      |
//!  +--------------------+-----------+---------+-----------------------+
//!  |  Rule IPv6 prefix  |  EA bits  |subnet ID|     interface ID      |
//!  +--------------------+-----------+---------+-----------------------+
//! ```
//!
//! The EA bits are the end of an IPv4 address (the rule has its beginning), and then a PSID if they are
//! more than an address needs. The interface identifier is 16 zero bits, the IPv4 address and the PSID
//! (section 6). A rule is Basic Mapping Rule and Forwarding Mapping Rule alike; those of a domain are in
//! a [`MapRules`].
//!
//! A rule is made for the packet path: all its cases (prefix, whole and shared address, PSID in the EA
//! bits or given) are the same masks and shifts.

mod ce;
mod error;
mod rules;
#[cfg(test)]
mod tests;

use super::bits::{Field, Network, mask_v4, mask_v6};
use super::port_set::{PortSet, Sharing};
use super::{V4, V6};

pub use ce::{Assignment, Ce, CeError};
pub use error::RuleError;
pub use rules::{MapRules, RulesError};

/// A mapping rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MapRule {
    /// Rule IPv6 prefix.
    prefix: Network,
    /// The EA bits of an address.
    ea: Field,
    /// The bits of the lower half that neither Rule IPv6 prefix nor EA bits overwrite.
    identifier_mask: u64,
    /// Rule IPv4 prefix.
    v4: u32,
    /// The bits of an address that it decides.
    v4_mask: u32,
    /// The bits of an address that are the CE's prefix: rule and EA bits.
    ce_mask: u32,
    /// How CEs share an address.
    sharing: Sharing,
    /// Ports to which the rule applies: those of its one CE if its PSID is given, or all.
    applies: PortSet,
    /// The PSID that is given, or 0.
    given: u16,
    v6_length: u8,
    v4_length: u8,
    ea_bits: u8,
    /// How far to the left a PSID is moved to come to its place in the EA bits.
    psid_shift: u8,
    /// The bits of a PSID that are EA bits.
    embedded: u16,
    unused: [u8; 6],
}

/// The interface identifier of a CE: 16 zero bits, the IPv4 address, the PSID (RFC 7597 section 6).
#[inline(always)]
#[must_use]
pub(super) const fn interface_identifier(address: V4, psid: u16) -> u64 {
    (address.number() as u64) << 16 | psid as u64
}

/// Where the port set of a CE comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ports {
    /// The PSID is in the EA bits, if they are more than an IPv4 address needs. With them all that is
    /// to be known is the PSID offset: 0 to 15 bits, 6 by default
    /// ([`Sharing::DEFAULT_OFFSET`]).
    Embedded {
        /// Bits of the PSID offset.
        offset: u8,
    },
    /// It is given with the rule, to CEs with a full IPv4 address (RFC 7597 section 5.2, last
    /// paragraph; RFC 7598 section 4.5).
    Given(PortSet),
}

/// How a packet from a CE is not consistent with its IPv6 source address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The IPv4 source is not the address of the CE, or not under its prefix.
    Address,
    /// The source port is not in the CE's port set.
    Port,
}

impl MapRule {
    /// A rule of a Rule IPv6 prefix and a Rule IPv4 prefix, each with its length in bits (up to 128 and
    /// 32), and a number of EA bits (up to 48).
    ///
    /// # Errors
    /// See [`RuleError`].
    pub const fn new(
        (v6, v6_length): (V6, u8),
        (v4, v4_length): (V4, u8),
        ea_bits: u8,
        ports: Ports,
    ) -> Result<Self, RuleError> {
        let prefix = match error::check(v6, v6_length, v4, v4_length, ea_bits) {
            Ok(prefix) => prefix,
            Err(error) => return Err(error),
        };
        // Bits of EA that are the end of an IPv4 address (p), and bits that are a PSID (q).
        let suffix = if ea_bits + v4_length <= 32 {
            ea_bits
        } else {
            32 - v4_length
        };
        let psid_bits = ea_bits - suffix;
        let (sharing, applies, given) = match ports {
            Ports::Embedded { offset } => match Sharing::new(offset, psid_bits) {
                Ok(sharing) => (sharing, PortSet::WHOLE, 0),
                Err(error) => return Err(RuleError::Sharing(error)),
            },
            Ports::Given(set) => {
                if let Err(error) = error::check_given(v4_length, ea_bits) {
                    return Err(error);
                }
                (set.sharing(), set, set.psid())
            }
        };
        Ok(Self {
            prefix,
            ea: Field::new(v6_length, ea_bits),
            identifier_mask: !mask_v6(v6_length + ea_bits).1,
            v4: v4.number(),
            v4_mask: mask_v4(v4_length),
            ce_mask: mask_v4(v4_length + suffix),
            sharing,
            applies,
            given,
            v6_length,
            v4_length,
            ea_bits,
            // 64 if there are no EA bits; then it does not matter where they go.
            psid_shift: (64 - suffix - psid_bits) & 63,
            embedded: ((1u32 << psid_bits) - 1) as u16,
            unused: [0; 6],
        })
    }

    /// The Rule IPv6 prefix and its length in bits.
    #[must_use]
    pub const fn v6(&self) -> (V6, u8) {
        (self.prefix.first(), self.v6_length)
    }

    /// The Rule IPv4 prefix and its length in bits.
    #[must_use]
    pub const fn v4(&self) -> (V4, u8) {
        (V4::from_number(self.v4), self.v4_length)
    }

    /// The number of EA bits.
    #[must_use]
    pub const fn ea_bits(&self) -> u8 {
        self.ea_bits
    }

    /// How CEs share an address.
    #[inline(always)]
    #[must_use]
    pub const fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// Where the port set of a CE comes from.
    #[must_use]
    pub const fn ports(&self) -> Ports {
        if self.applies.sharing().is_whole() {
            Ports::Embedded {
                offset: self.sharing.offset(),
            }
        } else {
            Ports::Given(self.applies)
        }
    }

    /// Whether an IPv4 address is under the rule, and this port of it if its CE's port set is given (RFC 7599
    /// section 8.1: "longest IPv4 destination address + port match").
    #[inline(always)]
    const fn covers_v4(&self, address: V4, port: u16) -> bool {
        (address.number() & self.v4_mask ^ self.v4) as u64 | self.applies.misses(port) == 0
    }

    /// Whether an address is under the Rule IPv6 prefix.
    #[inline(always)]
    #[must_use]
    pub const fn covers_v6(&self, address: V6) -> bool {
        self.prefix.contains(address)
    }

    /// The MAP IPv6 address of the CE that has an IPv4 address and port, or ICMP identifier
    /// (RFC 7597 sections 5.3 and 6). `None` if the rule does not cover them, or if it is a port that
    /// nobody has.
    #[inline(always)]
    #[must_use]
    pub const fn address_of(&self, address: V4, port: u16) -> Option<V6> {
        let padded = V4::from_number(address.number() & self.ce_mask);
        self.assemble_for(address, padded, port)
    }

    /// The IPv6 address by which translation reaches an IPv4 address and port (RFC 7599 section 8.4).
    ///
    /// It differs from [`address_of`](Self::address_of) only where CEs have IPv4 prefixes: there
    /// the identifier has the whole address, because zeros after the prefix, which are right for the
    /// node itself, would leave nothing to tell its hosts apart.
    #[inline(always)]
    #[must_use]
    pub const fn host_address_of(&self, address: V4, port: u16) -> Option<V6> {
        self.assemble_for(address, address, port)
    }

    #[inline(always)]
    const fn assemble_for(&self, address: V4, in_identifier: V4, port: u16) -> Option<V6> {
        if !self.covers_v4(address, port) {
            return None;
        }
        match self.sharing.psid_of(port) {
            Some(psid) => Some(self.assemble(address, in_identifier, psid)),
            None => None,
        }
    }

    /// Prefix, EA bits, a subnet of zeros, interface identifier.
    #[inline(always)]
    const fn assemble(&self, address: V4, in_identifier: V4, psid: u16) -> V6 {
        // In two steps, so that a Rule IPv4 prefix of 32 bits leaves nothing.
        let suffix = ((address.number() as u64) << 32).wrapping_shl(self.v4_length as u32);
        let psid_there = ((psid & self.embedded) as u64).wrapping_shl(self.psid_shift as u32);
        let ea = self.ea.put(suffix | psid_there);
        let identifier = interface_identifier(in_identifier, psid);
        let (high, low) = self.prefix.start;
        V6::from_halves(high | ea.0, low | ea.1 | identifier & self.identifier_mask)
    }

    /// The IPv4 address, or the first one of the prefix, in the EA bits of an address under the rule (RFC
    /// 7597 section 5.2).
    #[inline(always)]
    #[must_use]
    pub const fn v4_in(&self, address: V6) -> V4 {
        let suffix = (self.ea.get(address) >> 32).wrapping_shr(self.v4_length as u32) as u32;
        V4::from_number(self.v4 | suffix)
    }

    /// The IPv4 address of a host that has an address under the rule, for translation (RFC 7599
    /// sections 8.2 and 8.3): that of the EA bits, and where CEs have prefixes the rest of it from
    /// the interface identifier; see [`host_address_of`](Self::host_address_of).
    #[inline(always)]
    #[must_use]
    pub const fn host_v4_in(&self, address: V6) -> V4 {
        let in_identifier = (address.halves().1 >> 16) as u32;
        V4::from_number(self.v4_in(address).number() | in_identifier & !self.ce_mask)
    }

    /// The port set in the EA bits of an address under the rule (RFC 7597 section 5.2).
    #[inline(always)]
    #[must_use]
    pub const fn ports_in(&self, address: V6) -> PortSet {
        self.sharing.set_unchecked(self.psid_in(address))
    }

    #[inline(always)]
    const fn psid_in(&self, address: V6) -> u16 {
        self.ea.get(address).wrapping_shr(self.psid_shift as u32) as u16 & self.embedded
            | self.given
    }

    /// Whether a CE may send from an IPv4 address and a port (or ICMP identifier), given the IPv6
    /// source address, which is under the rule (RFC 7597 section 8.1, RFC 7599 sections 8.2 and 8.3).
    ///
    /// # Errors
    /// The address or the port is not the CE's.
    #[inline(always)]
    pub const fn check(&self, source: V6, address: V4, port: u16) -> Result<(), Mismatch> {
        if address.number() & self.ce_mask != self.v4_in(source).number() {
            return Err(Mismatch::Address);
        }
        if !self.ports_in(source).contains(port) {
            return Err(Mismatch::Port);
        }
        Ok(())
    }
}
