//! `[[card]]`: a network card of a [bare machine](super::bare), with its addresses and the static routes over it.

use std::net::IpAddr;

use ipnet::IpNet;

use super::section::each;
use super::source::{At, Span};
use super::table::{Reader, Value};

/// Bytes of a packet that a card takes at most: the machine's memory for a frame.
const MOST_MTU: u16 = 1500;

/// One card.
#[derive(Clone, Debug)]
pub struct Card {
    /// Its place.
    pub heading: Span,
    /// Its addresses, each with the length of the network that is there.
    pub addresses: Vec<At<IpNet>>,
    /// Networks behind routers.
    pub routes: Vec<StaticRoute>,
    /// Bytes of a packet that it takes, 1280 to 1500.
    pub mtu: u16,
}

/// The way to a network.
#[derive(Clone, Debug)]
pub struct StaticRoute {
    /// The network.
    pub to: At<IpNet>,
    /// A router on the network of the card.
    pub via: At<IpAddr>,
}

/// One `[[card]]`
pub(super) fn card(reader: Reader<'_>) -> Card {
    let addresses = each(&reader, "addresses", "a list of addresses", |v| {
        Some(v.at(v.interface_address()?))
    });
    let routes = each(&reader, "routes", "a list of routes", |v| route(&v));
    let mtu = reader.read("mtu", |v| v.integer(1280..=MOST_MTU));
    let heading = reader.span;
    reader.finish(|_| None);
    Card {
        heading,
        addresses,
        routes,
        mtu: mtu.unwrap_or(MOST_MTU),
    }
}

fn route(value: &Value<'_>) -> Option<StaticRoute> {
    let example = "{ to = \"0.0.0.0/0\", via = \"192.0.2.1\" }";
    let reader = value.table("a route", &format!("a route such as `{example}`"))?;
    let to = reader.needs("to", "\"0.0.0.0/0\"", |v| Some(v.at(v.network()?)));
    let via = reader.needs("via", "\"192.0.2.1\"", |v| Some(v.at(v.ip()?)));
    reader.finish(|_| None);
    Some(StaticRoute { to: to?, via: via? })
}
