//! The names that the values of a choice have in a configuration, each in one place. The types are those of
//! the crates that act on them.

use isthmus_core::config::{Hairpin, Permission, Unbound, ZeroUdpChecksum};
use isthmus_core::nat::{Filtering, Pooling, Protocol, UnsolicitedSyn};
use tracing::Level;

use super::document::{Destinations, Engine, Forward, LogFormat, Prefix, Routes, XdpMode};
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
    Engine { "xdp" => Xdp, "tc" => Tc, "user" => User }
    XdpMode { "auto" => Auto, "native" => Native, "generic" => Generic }
    Forward { "redirect" => Redirect, "kernel" => Kernel }
    Routes { "auto" => Auto, "none" => None }
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
