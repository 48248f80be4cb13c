//! The options of DHCPv6 for a CE of MAP-E, MAP-T or lw4o6 (RFC 7598, "softwire46") and for a B4 of DS-Lite
//! (RFC 6334): the options, read and checked.
//!
//! [`read`] takes a message or a run of options, for instance from a capture. Crates that read DHCPv6
//! leave these options as they are, and do not say at which byte they stumble.

mod cursor;
mod error;
mod option;
#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::Ipv6Net;
use isthmus_core::address::map::{MapRule, Ports};
use isthmus_core::address::port_set::PortSet;
use isthmus_core::address::rfc6052;

use cursor::Cursor;

pub use error::{Error, Problem};
pub use option::Code;

/// The ways to IPv4 in a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provisioned {
    /// How to reach IPv4, in the order of the options.
    pub domains: Vec<Domain>,
    /// Delegated prefixes (RFC 8415 section 21.22): the end-user IPv6 prefixes.
    pub prefixes: Vec<Ipv6Net>,
    /// The other options, in their order.
    pub ignored: Vec<Ignored>,
}

/// An option that has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// Where it begins.
    pub offset: usize,
    /// Its kind.
    pub code: Code,
    /// Why it has none.
    pub reason: Reason,
}

/// Why an option has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is about something else.
    Unrelated,
    /// It is in no container (RFC 7598 section 3).
    NoContainer,
    /// The name of another AFTR: only the first counts (RFC 6334 section 5).
    Another,
    /// It breaks a rule (RFC 7598 sections 6 and 8, RFC 6334 section 3).
    Invalid(Error),
}

/// A container of RFC 7598, or the name of an AFTR: how to reach IPv4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domain {
    /// RFC 7598 section 5.1
    MapE {
        /// At least one.
        rules: Vec<Rule>,
        /// Border relays, at least one.
        relays: Vec<Ipv6Addr>,
    },
    /// RFC 7598 section 5.2
    MapT {
        /// At least one.
        rules: Vec<Rule>,
        /// The Default Mapping Rule.
        default: rfc6052::Prefix,
    },
    /// RFC 7598 section 5.3
    Lw4o6 {
        /// The softwire, if it is bound by DHCPv6.
        binding: Option<Binding>,
        /// lwAFTRs, at least one.
        relays: Vec<Ipv6Addr>,
    },
    /// RFC 6334 section 3
    DsLite {
        /// The AFTR's name, without the dot at its end.
        aftr: String,
    },
}

/// A mapping rule (RFC 7598 section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The rule.
    pub rule: MapRule,
    /// Its use.
    pub role: Role,
    /// A port set that comes with the rule and must be discarded, because its CEs have IPv4 prefixes (RFC 7598
    /// section 4.5).
    pub discarded: Option<PortSet>,
}

/// The use of a mapping rule (the F-flag of RFC 7598 section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Basic Mapping Rule of those under its prefix.
    Basic,
    /// Forwarding Mapping Rule as well.
    Forwarding,
}

/// A softwire of lw4o6 (RFC 7598 section 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The IPv4 address.
    pub v4: Ipv4Addr,
    /// The prefix that selects which of the CE's prefixes the tunnel's address is from.
    pub prefix: Ipv6Net,
    /// The ports of the address.
    pub ports: PortSet,
}

impl Binding {
    /// The tunnel's IPv6 address under one of the router's prefixes (RFC 7596 section 5.1, figure 3);
    /// `None` if that is not under the binding prefix.
    #[must_use]
    pub fn address(&self, own: Ipv6Net) -> Option<Ipv6Addr> {
        if !self.prefix.contains(&own) {
            return None;
        }
        // The address of a MAP CE without EA bits.
        let (v6, v4) = (
            (own.network().into(), own.prefix_len()),
            (self.v4.into(), 32),
        );
        let rule = MapRule::new(v6, v4, 0, Ports::Given(self.ports)).ok()?;
        Some(rule.ce(v6).ok()?.address.into())
    }
}

impl Domain {
    /// The mapping rules; lw4o6 and DS-Lite have none.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        match self {
            Self::MapE { rules, .. } | Self::MapT { rules, .. } => rules,
            Self::Lw4o6 { .. } | Self::DsLite { .. } => &[],
        }
    }

    const fn is_ds_lite(&self) -> bool {
        matches!(self, Self::DsLite { .. })
    }

    /// Returns the Basic Mapping Rule of a CE: the one with the longest Rule IPv6 prefix over its end-user IPv6
    /// prefix (RFC 7597 section 5).
    #[must_use]
    pub fn basic_rule(&self, end_user: Ipv6Net) -> Option<&Rule> {
        let covers = |rule: &&Rule| rule.rule.covers_v6(end_user.network().into());
        let rules = self.rules().iter().filter(covers);
        rules.max_by_key(|rule| rule.rule.v6().1)
    }
}

/// Reads a DHCPv6 message from a server, or a run of options.
///
/// # Errors
/// An option does not end where its length says. Other errors concern one option, and are reported in
/// [`Provisioned::ignored`].
pub fn read(bytes: &[u8]) -> Result<Provisioned, Error> {
    let mut cursor = Cursor::new(bytes);
    // A message begins with its type, 1 to 11 (RFC 8415 section 7.3), and three bytes of transaction;
    // an option with a code, whose first byte is zero for all that matter here.
    if matches!(bytes, [1..=11, ..]) {
        cursor.take(4, "the header of a message")?;
    }
    let mut found = Provisioned::default();
    while let Some((offset, code, content)) = cursor.option()? {
        let ignored = |reason| Ignored {
            offset,
            code,
            reason,
        };
        match code {
            Code::MAPE | Code::MAPT | Code::LW => match option::container(offset, code, content) {
                Ok(domain) => found.domains.push(domain),
                Err(error) => found.ignored.push(ignored(Reason::Invalid(error))),
            },
            Code::AFTR_NAME if found.domains.iter().any(Domain::is_ds_lite) => {
                found.ignored.push(ignored(Reason::Another));
            }
            Code::AFTR_NAME => match option::aftr(content) {
                Ok(aftr) => found.domains.push(Domain::DsLite { aftr }),
                Err(error) => found.ignored.push(ignored(Reason::Invalid(error))),
            },
            Code::IA_PD => match option::delegated(content) {
                Ok(prefixes) => found.prefixes.extend(prefixes),
                Err(error) => found.ignored.push(ignored(Reason::Invalid(error))),
            },
            Code::RULE | Code::BR | Code::DMR | Code::V4V6BIND | Code::PORTPARAMS => {
                found.ignored.push(ignored(Reason::NoContainer));
            }
            _ => found.ignored.push(ignored(Reason::Unrelated)),
        }
    }
    Ok(found)
}
