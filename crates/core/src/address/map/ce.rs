//! The addresses and ports of a CE by a mapping rule, from the prefix that is delegated to it.

use core::fmt;

use super::MapRule;
use crate::address::bits::Network;
use crate::address::port_set::PortSet;
use crate::address::{V4, V6};

/// The addresses and ports of a CE of a MAP domain, which the CE and the BR compute alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ce {
    /// The IPv4 address, or the first one of the prefix.
    pub v4: V4,
    /// Bits of the IPv4 prefix: 32 for an address, whole or shared.
    pub v4_length: u8,
    /// The ports of the address that are the CE's.
    pub ports: PortSet,
    /// The MAP IPv6 address (RFC 7597 section 5.2).
    pub address: V6,
}

/// The IPv4 prefix, address or shared address of a CE (RFC 7597 section 5.2, figures 4 to 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// An IPv4 prefix of so many bits.
    Prefix(u8),
    /// An IPv4 address.
    Address,
    /// An IPv4 address that so many CEs share.
    Shared(u32),
}

/// Why an end-user IPv6 prefix has no address by a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CeError {
    /// It is longer than 128 bits.
    Length(u8),
    /// Bits after it are set.
    HostBits,
    /// It is not under the Rule IPv6 prefix.
    OtherRule,
    /// It does not have all EA bits (RFC 7597 section 5.2).
    Short {
        /// Its bits.
        length: u8,
        /// Bits of the Rule IPv6 prefix and EA bits.
        least: u8,
    },
    /// The MAP IPv6 address, which follows from Rule IPv6 prefix and EA bits, is not under it.
    Elsewhere(V6),
}

impl fmt::Display for CeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(n) => write!(f, "an IPv6 prefix has at most 128 bits, not {n}"),
            Self::HostBits => {
                f.write_str("bits after the length of the end-user IPv6 prefix are set")
            }
            Self::OtherRule => {
                f.write_str("the end-user IPv6 prefix is not under the Rule IPv6 prefix")
            }
            Self::Short { length, least } => write!(
                f,
                "an end-user IPv6 prefix of this rule has at least {least} bits, Rule IPv6 prefix and EA \
                 bits, not {length} (RFC 7597 section 5.2)"
            ),
            Self::Elsewhere(address) => write!(
                f,
                "by its EA bits the customer would have the address {address}, which is not under its \
                 end-user IPv6 prefix; what follows the EA bits must be zero (RFC 7597 section 5.2)"
            ),
        }
    }
}

impl core::error::Error for CeError {}

impl MapRule {
    /// The kind of assignment that CEs have by the rule.
    #[must_use]
    pub const fn assignment(&self) -> Assignment {
        let length = self.v4_length + self.ea_bits;
        if length < 32 {
            Assignment::Prefix(length)
        } else if self.sharing.is_whole() {
            Assignment::Address
        } else {
            Assignment::Shared(self.sharing.ratio())
        }
    }

    /// Returns the CE with an end-user IPv6 prefix, if this is its Basic Mapping Rule (RFC 7597 section
    /// 5.2).
    ///
    /// # Errors
    /// See [`CeError`].
    pub const fn ce(&self, (prefix, length): (V6, u8)) -> Result<Ce, CeError> {
        if length > 128 {
            return Err(CeError::Length(length));
        }
        let Some(end_user) = Network::new(prefix, length) else {
            return Err(CeError::HostBits);
        };
        if !self.covers_v6(prefix) {
            return Err(CeError::OtherRule);
        }
        let least = self.v6_length + self.ea_bits;
        if length < least {
            return Err(CeError::Short { length, least });
        }
        let ce = self.ce_at(prefix);
        if !end_user.contains(ce.address) {
            return Err(CeError::Elsewhere(ce.address));
        }
        Ok(ce)
    }

    /// Returns the CE with the EA bits of an address, which is under the rule.
    #[must_use]
    pub const fn ce_at(&self, address: V6) -> Ce {
        let (v4, ports) = (self.v4_in(address), self.ports_in(address));
        let length = self.v4_length + self.ea_bits;
        Ce {
            v4,
            v4_length: if length < 32 { length } else { 32 },
            ports,
            address: self.assemble(v4, v4, ports.psid()),
        }
    }
}
