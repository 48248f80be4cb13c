//! `prefix = "auto"`: a prefix that the gateway finds out while it runs, and where it looks for it.

use std::net::SocketAddr;

use isthmus_core::address::V6;
use isthmus_core::address::rfc6052::Prefix;
use isthmus_core::config as core;

use super::document::Document;
use super::source::At;
use super::table::{Reader, Value};
use super::{prefix, section};

/// Where the prefix of a NAT64 is looked for, and what was found.
#[derive(Clone, Debug)]
pub struct Discovery {
    /// The link on which routers announce it (RFC 8781), if they are listened to.
    pub interface: Option<At<String>>,
    /// The resolvers to ask (RFC 7050).
    pub resolvers: Resolvers,
    /// The prefix that was found; none yet in a configuration that was just read.
    pub found: Option<Prefix>,
}

/// `resolvers` of `discovery`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolvers {
    /// Those of the machine, in `/etc/resolv.conf`.
    System,
    /// These, in this order; none is asked if there are none.
    These(Vec<SocketAddr>),
}

impl Discovery {
    /// Whether the other looks in the same places.
    #[must_use]
    pub fn looks_like(&self, other: &Self) -> bool {
        self.interface == other.interface && self.resolvers == other.resolvers
    }

    /// The places, in plain words.
    pub(super) fn places(&self) -> String {
        let advertisements = self
            .interface
            .iter()
            .map(|name| format!("router advertisements on {}", name.value));
        let dns = match &self.resolvers {
            Resolvers::System => Some("the resolvers of this machine".to_owned()),
            Resolvers::These(these) if these.is_empty() => None,
            Resolvers::These(these) => {
                let these: Vec<_> = these.iter().map(ToString::to_string).collect();
                Some(format!("the DNS at {}", these.join(", ")))
            }
        };
        let places: Vec<_> = advertisements.chain(dns).collect();
        places.join(", else from ")
    }

    /// A mechanism with the prefix that was found. Until there is one it owns no packet.
    pub(super) fn complete(&self, mechanism: core::AnyMechanism) -> core::AnyMechanism {
        let core::AnyMechanism::MapTCe(ce) = mechanism else {
            return mechanism;
        };
        core::AnyMechanism::MapTCe(match self.found {
            Some(prefix) => core::MapTCe { prefix, ..ce },
            None => core::MapTCe {
                local: V6::default(),
                inside: core::V4Networks::default(),
                ..ce
            },
        })
    }
}

impl Document {
    /// Every instance that finds its prefix out, and how.
    pub fn discoveries(&self) -> impl Iterator<Item = (&str, &Discovery)> {
        let all = self.composed();
        all.filter_map(|(name, composed)| Some((name, composed.discovery.as_ref()?)))
    }

    /// Gives an instance the prefix that was found for it, or takes it away.
    pub fn set_found(&mut self, instance: &str, found: Option<Prefix>) {
        let composed = self.composed_mut(instance);
        if let Some(discovery) = composed.and_then(|composed| composed.discovery.as_mut()) {
            discovery.found = found;
        }
    }
}

/// `prefix` of a CLAT: the prefix that is written there, or one that means nothing and how the right one
/// is found out.
pub(super) fn prefix(reader: &Reader<'_>) -> Option<(Prefix, Option<Discovery>)> {
    let value = reader.require("prefix", "\"64:ff9b::/96\" or \"auto\"")?;
    let table = reader.get("discovery");
    if value.value.as_str() != Some("auto") {
        if let Some(table) = table {
            table.refuse(
                "is for a prefix that is not known",
                "only with `prefix = \"auto\"`",
            );
        }
        return Some((prefix::rfc6052(&value)?, None));
    }
    let discovery = match table {
        None => Discovery {
            interface: None,
            resolvers: Resolvers::System,
            found: None,
        },
        Some(table) => discovery(&table)?,
    };
    Some((Prefix::WELL_KNOWN, Some(discovery)))
}

/// The same for a CLAT whose machine has this uplink: there it is found out unless it is written, and routers are
/// listened to there.
pub(super) fn of_host(
    reader: &Reader<'_>,
    uplink: &At<String>,
) -> Option<(Option<Prefix>, Option<Discovery>)> {
    let discovery = match (reader.get("prefix"), reader.get("discovery")) {
        (None, Some(table)) => Some(discovery(&table)?),
        (None, None) => None,
        (Some(_), _) => match prefix(reader)? {
            (prefix, None) => return Some((Some(prefix), None)),
            (_, discovery) => discovery,
        },
    };
    let discovery = discovery.unwrap_or(Discovery {
        interface: None,
        resolvers: Resolvers::System,
        found: None,
    });
    let interface = discovery.interface.or_else(|| Some(uplink.clone()));
    Some((
        None,
        Some(Discovery {
            interface,
            ..discovery
        }),
    ))
}

/// `{ interface = "…", resolvers = ["…"] }`
fn discovery(value: &Value<'_>) -> Option<Discovery> {
    let example = "a table such as { interface = \"eth1\", resolvers = [\"[2001:db8::53]:53\"] }";
    let reader = value.table("discovery", example)?;
    let interface = reader.get("interface").map(|v| Some(v.at(v.link_name()?)));
    let listed = reader.get("resolvers");
    let resolvers = match listed {
        None => Resolvers::System,
        Some(_) => Resolvers::These(section::each(
            &reader,
            "resolvers",
            "a list of addresses with ports",
            |v| v.socket(),
        )),
    };
    reader.finish(|_| None);
    let nobody = listed.is_some_and(|v| v.value.as_array().is_some_and(|list| list.is_empty()));
    if interface.is_none() && nobody {
        let expected =
            "expected an `interface` where routers announce the prefix, or `resolvers` to ask";
        value.refuse("has no place to look", expected);
        return None;
    }
    Some(Discovery {
        interface: interface.map_or(Some(None), |name| name.map(Some))?,
        resolvers,
        found: None,
    })
}
