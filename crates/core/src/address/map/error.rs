//! Errors of mapping rules.

use core::fmt;

use crate::address::bits::{Network, mask_v4};
use crate::address::port_set::PortSetError;
use crate::address::{V4, V6};

/// Why there is no such rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleError {
    /// The Rule IPv4 prefix is longer than 32 bits.
    V4Length(u8),
    /// The Rule IPv6 prefix is longer than 128 bits.
    V6Length(u8),
    /// Bits after the Rule IPv4 prefix are set.
    V4HostBits,
    /// Bits after the Rule IPv6 prefix are set.
    V6HostBits,
    /// More than 48 EA bits (RFC 7597 section 5.2).
    EaBits(u8),
    /// The EA bits are more than the rest of an IPv4 address and the 16 bits of a port.
    EaBitsForV4 {
        /// EA bits.
        ea_bits: u8,
        /// Bits of the Rule IPv4 prefix.
        v4_length: u8,
    },
    /// The Rule IPv6 prefix leaves no room for the EA bits.
    EaBitsForV6 {
        /// EA bits.
        ea_bits: u8,
        /// Bits of the Rule IPv6 prefix.
        v6_length: u8,
    },
    /// The PSID in the EA bits and the offset are no division of ports.
    Sharing(PortSetError),
    /// A PSID is given, but the CE has an IPv4 prefix (RFC 7598 section 4.5).
    GivenForPrefix {
        /// Bits of the prefix.
        length: u8,
    },
    /// A PSID is given, and there is one in the EA bits.
    GivenTwice {
        /// EA bits.
        ea_bits: u8,
        /// Bits of the Rule IPv4 prefix.
        v4_length: u8,
    },
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::V4Length(n) => write!(f, "an IPv4 prefix has at most 32 bits, not {n}"),
            Self::V6Length(n) => write!(f, "an IPv6 prefix has at most 128 bits, not {n}"),
            Self::V4HostBits => {
                f.write_str("bits after the length of the Rule IPv4 prefix are set")
            }
            Self::V6HostBits => {
                f.write_str("bits after the length of the Rule IPv6 prefix are set")
            }
            Self::EaBits(n) => write!(
                f,
                "there are 0 to 48 EA bits (RFC 7597 section 5.2), not {n}"
            ),
            Self::EaBitsForV4 { ea_bits, v4_length } => write!(
                f,
                "behind an IPv4 prefix of {v4_length} bits there are {} bits of the address and 16 of a \
                 port, so at most {} EA bits, not {ea_bits} (RFC 7597 section 5.2)",
                32 - v4_length,
                48 - v4_length
            ),
            Self::EaBitsForV6 { ea_bits, v6_length } => write!(
                f,
                "{ea_bits} EA bits do not fit behind an IPv6 prefix of {v6_length}; it may have at most \
                 {} bits",
                128 - ea_bits
            ),
            Self::Sharing(error) => error.fmt(f),
            Self::GivenForPrefix { length } => write!(
                f,
                "a PSID is for customers with a full IPv4 address (RFC 7598 section 4.5); these have a \
                 prefix of {length} bits, and would have an address with {} EA bits more",
                32 - length
            ),
            Self::GivenTwice { ea_bits, v4_length } => write!(
                f,
                "there is a PSID in the EA bits already: {ea_bits} are {} more than the IPv4 address needs; \
                 give the PSID offset alone, or {} EA bits",
                ea_bits + v4_length - 32,
                32 - v4_length
            ),
        }
    }
}

impl core::error::Error for RuleError {}

/// Checks lengths and prefixes of a rule; the Rule IPv6 prefix.
pub(super) const fn check(
    v6: V6,
    v6_length: u8,
    v4: V4,
    v4_length: u8,
    ea_bits: u8,
) -> Result<Network, RuleError> {
    if v4_length > 32 {
        return Err(RuleError::V4Length(v4_length));
    }
    if v6_length > 128 {
        return Err(RuleError::V6Length(v6_length));
    }
    if v4.number() & !mask_v4(v4_length) != 0 {
        return Err(RuleError::V4HostBits);
    }
    let Some(network) = Network::new(v6, v6_length) else {
        return Err(RuleError::V6HostBits);
    };
    if ea_bits > 48 {
        return Err(RuleError::EaBits(ea_bits));
    }
    if ea_bits + v4_length > 48 {
        return Err(RuleError::EaBitsForV4 { ea_bits, v4_length });
    }
    if ea_bits + v6_length > 128 {
        return Err(RuleError::EaBitsForV6 { ea_bits, v6_length });
    }
    Ok(network)
}

/// Checks that the CEs of a rule have full addresses and no PSID but the one that is given.
pub(super) const fn check_given(v4_length: u8, ea_bits: u8) -> Result<(), RuleError> {
    let length = v4_length + ea_bits;
    if length < 32 {
        return Err(RuleError::GivenForPrefix { length });
    }
    if length > 32 {
        return Err(RuleError::GivenTwice { ea_bits, v4_length });
    }
    Ok(())
}
