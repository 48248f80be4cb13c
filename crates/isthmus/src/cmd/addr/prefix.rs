//! Prefixes on the command line.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use clap::ValueEnum;
use ipnet::{Ipv4Net, Ipv6Net};
use isthmus_core::address::explain::{self, Reach};
use isthmus_core::address::{V4, V6, ivi, rfc6052};

/// The format of an IPv4 address under a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// RFC 6052: behind a prefix of 32, 40, 48, 56, 64 or 96 bits, bits 64 to 71 being zero
    Rfc6052,
    /// RFC 6219: behind a prefix of 32 bits and an octet of ones
    Ivi,
}

/// A translation prefix and its format.
#[derive(Clone, Copy, Debug)]
pub(super) enum Prefix {
    Rfc6052(rfc6052::Prefix),
    Ivi(ivi::Prefix),
}

impl Prefix {
    /// Reads a network as a translation prefix.
    ///
    /// # Errors
    /// A text for people: the network is no translation prefix.
    pub(super) fn new(net: Ipv6Net, format: Format) -> Result<Self, String> {
        let length = net.prefix_len();
        let error = |error: &dyn fmt::Display| format!("{net} is no translation prefix: {error}");
        match format {
            Format::Rfc6052 => rfc6052::Prefix::new(net.addr(), length)
                .map(Self::Rfc6052)
                .map_err(|e| error(&e)),
            Format::Ivi => ivi::Prefix::new(net.addr(), length)
                .map(Self::Ivi)
                .map_err(|e| error(&e)),
        }
    }

    pub(super) fn embed(&self, address: V4) -> V6 {
        match self {
            Self::Rfc6052(prefix) => prefix.embed(address),
            Self::Ivi(prefix) => prefix.embed(address),
        }
    }

    pub(super) fn extract(&self, address: V6) -> Option<V4> {
        match self {
            Self::Rfc6052(prefix) => prefix.extract(address),
            Self::Ivi(prefix) => prefix.extract(address),
        }
    }

    /// Returns the objection of RFC 6052 section 3.1 to this address under this prefix, if any.
    pub(super) fn objection(&self, address: V4) -> Option<Objection> {
        let Self::Rfc6052(prefix) = self else {
            return None;
        };
        if !prefix.is_well_known() {
            return None;
        }
        let block = explain::block_v4(address)?;
        if block.reach == Reach::Global && block.purpose != "multicast" {
            return None;
        }
        Some(Objection {
            address: address.into(),
            purpose: block.purpose,
            source: block.source,
        })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rfc6052(prefix) => prefix.fmt(f),
            Self::Ivi(prefix) => prefix.fmt(f),
        }
    }
}

/// An address that must not be under the well-known prefix.
pub(super) struct Objection {
    address: Ipv4Addr,
    purpose: &'static str,
    source: &'static str,
}

impl Objection {
    /// Documentation addresses appear in examples, also in those of RFC 6052.
    pub(super) fn is_for_examples(&self) -> bool {
        self.purpose.starts_with("documentation")
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is not a global address ({}, {}), and the well-known prefix 64:ff9b::/96 stands for \
             global addresses only: translators drop such packets (RFC 6052 section 3.1)",
            self.address, self.purpose, self.source
        )
    }
}

/// Parses an IPv6 network with its length for clap.
pub(super) fn network(text: &str) -> Result<Ipv6Net, String> {
    exact(text, "64:ff9b::/96", Ipv6Net::trunc)
}

/// Parses an IPv4 network with its length for clap.
pub(super) fn network_v4(text: &str) -> Result<Ipv4Net, String> {
    exact(text, "192.0.2.0/24", Ipv4Net::trunc)
}

fn exact<N: FromStr + PartialEq + fmt::Display>(
    text: &str,
    example: &str,
    trunc: impl Fn(&N) -> N,
) -> Result<N, String> {
    let net = N::from_str(text)
        .map_err(|_| format!("expected an address and a length such as {example}"))?;
    let right = trunc(&net);
    match right == net {
        true => Ok(net),
        false => Err(format!(
            "bits after the length are set; the network would be {right}"
        )),
    }
}
