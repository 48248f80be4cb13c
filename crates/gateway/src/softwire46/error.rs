//! Mistakes in softwire46 options.

use ipnet::Ipv6Net;
use isthmus_core::address::map::RuleError;
use isthmus_core::address::port_set::PortSetError;
use isthmus_core::address::rfc6052;

use super::option::Code;

/// Something is wrong with an option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {problem}")]
pub struct Error {
    /// The byte at which it is wrong, from 0.
    pub offset: usize,
    /// The mistake.
    pub problem: Problem,
}

/// The mistake, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The end comes within a field.
    #[error("{field} needs {needs} bytes, and {left} are left")]
    Short {
        /// The field.
        field: &'static str,
        /// Its bytes.
        needs: usize,
        /// Bytes that there are.
        left: usize,
    },
    /// The end comes within an option.
    #[error("{code} has a length of {length} bytes, and {left} are left")]
    Length {
        /// The option.
        code: Code,
        /// Its length.
        length: u16,
        /// Bytes that there are.
        left: usize,
    },
    /// There is more in an option than its fields.
    #[error("{code} should end here; bytes that follow: {extra}")]
    Extra {
        /// The option.
        code: Code,
        /// Bytes too many.
        extra: usize,
    },
    /// A number is out of range.
    #[error("{field} is 0 to {most}, not {value}")]
    Range {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u8,
        /// The highest value.
        most: u8,
    },
    /// Bits after a prefix are set.
    #[error("bits after the length of {field} are set; it would be {right}")]
    HostBits {
        /// The field.
        field: &'static str,
        /// The prefix without them.
        right: Ipv6Net,
    },
    /// A PSID is not at the left of its field.
    #[error(
        "a PSID of {length} bits is at the left of its 16, with zeros behind it (RFC 7598 section 4.5): \
         {value:#06x} has others; it would be {right:#06x}"
    )]
    Psid {
        /// Bits of the PSID.
        length: u8,
        /// The value there.
        value: u16,
        /// The values that may stand there.
        right: u16,
    },
    /// Offset, length and PSID are no port set.
    #[error(transparent)]
    Ports(PortSetError),
    /// The fields of a rule are no mapping rule.
    #[error(transparent)]
    Rule(RuleError),
    /// The prefix of a Default Mapping Rule is none.
    #[error("{0}")]
    Default(rfc6052::PrefixError),
    /// A label is not part of the name of a host.
    #[error("a label has other characters than letters, digits and hyphens (RFC 1123 section 2.1)")]
    Label,
    /// The name of an AFTR is empty or too long.
    #[error(
        "the name of an AFTR has at least one label (RFC 6334 section 3), and 255 bytes at most"
    )]
    Name,
    /// An option must not be in another one.
    #[error("{code} is not permitted in {container} (RFC 7598 section 6)")]
    NotPermitted {
        /// The option.
        code: Code,
        /// The one around it.
        container: Code,
    },
    /// An option is missing.
    #[error("{container} has no {code}, and needs {count} (RFC 7598 section 5)")]
    Missing {
        /// The option that is missing.
        code: Code,
        /// The one that needs it.
        container: Code,
        /// How many of them.
        count: &'static str,
    },
    /// There are too many of an option.
    #[error("{container} has at most one {code} (RFC 7598 section 5); this is another")]
    Many {
        /// The option.
        code: Code,
        /// The one around it.
        container: Code,
    },
}
