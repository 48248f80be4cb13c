//! The names that the values of a choice have in configurations and records, each in one place. The types are
//! those of the crates that act on them.

use isthmus_core::config::{Hairpin, Permission, Unbound, ZeroUdpChecksum};
use isthmus_core::nat::{Filtering, Pooling, Protocol, UnsolicitedSyn};
use tracing::Level;

use super::document::{
    Carrier, Destinations, Engine, Forward, LogFormat, Prefix, Routes, Side, XdpMode,
};
use super::prefix;
use super::table::{Reader, Value};

/// A type with a few values that a configuration names.
pub trait Choice: Copy + PartialEq + 'static {
    /// Every value with its name, in the order of the documentation.
    const NAMES: &'static [(&'static str, Self)];

    /// The name of a value.
    #[must_use]
    fn name(self) -> &'static str {
        let mut names = Self::NAMES.iter();
        names
            .find(|(_, value)| *value == self)
            .map_or("", |(name, _)| name)
    }
}

macro_rules! choices {
    ($($choice:ty { $($name:literal => $value:ident),+ $(,)? })+) => {
        $(impl Choice for $choice {
            const NAMES: &'static [(&'static str, Self)] = &[$(($name, <$choice>::$value)),+];
        })+
    };
}

choices! {
    Level { "error" => ERROR, "warn" => WARN, "info" => INFO, "debug" => DEBUG, "trace" => TRACE }
    LogFormat { "text" => Text, "json" => Json }
    Engine { "auto" => Auto, "xdp" => Xdp, "tc" => Tc, "user" => User }
    XdpMode { "auto" => Auto, "native" => Native, "generic" => Generic }
    Forward { "redirect" => Redirect, "kernel" => Kernel }
    Side { "any" => Any, "outside" => Outside }
    Routes { "auto" => Auto, "none" => None }
    Carrier { "udp" => Udp, "tcp" => Tcp }
    Destinations { "record" => Record, "omit" => Omit }
    ZeroUdpChecksum { "compute" => Compute, "drop" => Drop }
    Hairpin { "off" => Off, "simple" => Simple, "intrinsic" => Intrinsic }
    Filtering {
        "endpoint-independent" => EndpointIndependent,
        "address-dependent" => AddressDependent,
    }
    UnsolicitedSyn { "drop" => Drop, "answer" => Answer }
    Pooling { "strict" => Strict, "soft" => Soft }
    Protocol { "tcp" => Tcp, "udp" => Udp, "icmp" => Icmp }
    Permission { "forward" => Allow, "drop" => Drop }
    Unbound { "answer" => Answer, "drop" => Drop }
    PrefixFormat { "rfc6052" => Rfc6052, "ivi" => Ivi }
}

/// `prefix-format`
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PrefixFormat {
    Rfc6052,
    Ivi,
}

impl PrefixFormat {
    /// Reads a prefix of this format.
    pub(super) fn prefix(self, value: &Value<'_>) -> Option<Prefix> {
        Some(match self {
            Self::Rfc6052 => Prefix::Rfc6052(prefix::rfc6052(value)?),
            Self::Ivi => Prefix::Ivi(prefix::ivi(value)?),
        })
    }
}

/// Serialises a choice as the name of its value, for `#[serde(with = "by_name")]`.
pub(crate) mod by_name {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use super::Choice;

    /// Writes the name.
    ///
    /// # Errors
    /// Those of the serialiser.
    pub(crate) fn serialize<C: Choice, S: Serializer>(
        choice: &C,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(choice.name())
    }

    /// Reads a name.
    ///
    /// # Errors
    /// The text is none of the names.
    pub(crate) fn deserialize<'de, C: Choice, D: Deserializer<'de>>(
        from: D,
    ) -> Result<C, D::Error> {
        let text = String::deserialize(from)?;
        let found = C::NAMES.iter().find(|(name, _)| *name == text);
        let (_, choice) =
            found.ok_or_else(|| de::Error::custom(format_args!("{text:?} is not a name")))?;
        Ok(*choice)
    }
}

impl Reader<'_> {
    /// The value of a key that offers a choice, if it is there.
    pub(super) fn choice<C: Choice>(&self, key: &'static str) -> Option<C> {
        self.get(key)?.choice()
    }
}

impl Value<'_> {
    /// One of the values of a choice.
    pub(super) fn choice<C: Choice>(&self) -> Option<C> {
        self.word(C::NAMES)
    }
}
