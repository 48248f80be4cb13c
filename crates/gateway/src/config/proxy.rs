//! `[proxy]`: the dual-stack proxy.

use std::net::SocketAddr;
use std::time::Duration;

use ipnet::IpNet;

use super::section::{each, filled};
use super::source::{At, Span};
use super::table::{Reader, Value};

/// `[proxy]`
#[derive(Clone, Debug)]
pub struct Proxy {
    /// Its place.
    pub heading: Span,
    /// Where clients speak HTTP to a proxy.
    pub listen: Vec<At<SocketAddr>>,
    /// Networks of the clients that may use it.
    pub allow: Vec<At<IpNet>>,
    /// Networks that may be reached; all if there are none.
    pub destinations: Vec<At<IpNet>>,
    /// Addresses of the machine and its links that may be reached all the same.
    pub local_destinations: Vec<At<IpNet>>,
    /// Ports that may be reached, first and last.
    pub ports: Vec<(u16, u16)>,
    /// Resolvers that are asked; those of `[dns64]` by default.
    pub resolvers: Vec<At<SocketAddr>>,
    /// Connections of one client.
    pub client_connections: u32,
    /// Connections of all clients.
    pub connections: u32,
    /// How long a client may take for the head of a request.
    pub head_timeout: Duration,
    /// How long finding and reaching a server may take.
    pub connect_timeout: Duration,
    /// How long a connection may carry nothing.
    pub idle_timeout: Duration,
}

impl Proxy {
    /// Everywhere that it listens.
    pub fn listening(&self) -> impl Iterator<Item = &At<SocketAddr>> {
        self.listen.iter()
    }
}

/// `[proxy]`
pub(super) fn proxy(reader: Reader<'_>) -> Proxy {
    let socket = |v: Value<'_>| Some(v.at(v.socket()?));
    let network = |v: Value<'_>| Some(v.at(v.network()?));
    let listen = each(&reader, "listen", "a list of addresses with ports", socket);
    let example = "[\"2001:db8::/32\"]";
    let allow = reader.require("allow", example);
    let allow = allow.map(|list| filled(&list, "a list of networks", example, network));
    let destinations = each(&reader, "destinations", "a list of networks", network);
    let local_destinations = each(&reader, "local-destinations", "a list of networks", network);
    let ports = match reader.get("ports") {
        None => vec![(80, 80), (443, 443)],
        Some(list) => filled(&list, "a list of ports", "[\"80\", \"443\"]", |v| v.ports()),
    };
    let resolvers = each(
        &reader,
        "resolvers",
        "a list of addresses with ports",
        socket,
    );
    let client_connections = reader.read("client-connections", |v| v.integer(1..=65_536));
    let connections = reader.read("connections", |v| v.integer(1..=1_048_576));
    let seconds = |key, default| {
        let seconds = reader.read(key, |v| v.integer(1..=86_400));
        Duration::from_secs(seconds.unwrap_or(default))
    };
    let proxy = Proxy {
        heading: reader.span,
        listen,
        allow: allow.unwrap_or_default(),
        destinations,
        local_destinations,
        ports,
        resolvers,
        client_connections: client_connections.unwrap_or(256),
        connections: connections.unwrap_or(4_096),
        head_timeout: seconds("head-timeout", 10),
        connect_timeout: seconds("connect-timeout", 10),
        idle_timeout: seconds("idle-timeout", 300),
    };
    reader.finish(|_| None);
    proxy
}
