//! `[proxy]`: the dual-stack proxy.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use isthmus_proxy::{User, Users};

use super::diagnose::Diagnostic;
use super::rows::{self, Files, Rows};
use super::section::{each, filled, path};
use super::source::{At, Span};
use super::table::{Reader, Value};

/// `[proxy]`
#[derive(Clone, Debug)]
pub struct Proxy {
    /// Its place.
    pub heading: Span,
    /// Where clients speak HTTP to a proxy.
    pub listen: Vec<At<SocketAddr>>,
    /// Where clients speak SOCKS5.
    pub socks: Vec<At<SocketAddr>>,
    /// Where clients speak TLS and HTTP to servers of other addresses.
    pub sites: Vec<At<SocketAddr>>,
    /// Users of `listen` and `socks`; `None` if nobody is asked for a password.
    pub users: Option<At<Arc<Users>>>,
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
    /// Networks of servers that are told who the client is.
    pub proxy_protocol: Vec<At<IpNet>>,
    /// The file of the access log.
    pub access_log: Option<PathBuf>,
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
        self.listen.iter().chain(&self.socks).chain(&self.sites)
    }
}

/// `[proxy]`
pub(super) fn proxy(reader: Reader<'_>, files: &mut Files<'_>) -> Proxy {
    let socket = |v: Value<'_>| Some(v.at(v.socket()?));
    let network = |v: Value<'_>| Some(v.at(v.network()?));
    let sockets = |key| each(&reader, key, "a list of addresses with ports", socket);
    let networks = |key| each(&reader, key, "a list of networks", network);
    let example = "[\"2001:db8::/32\"]";
    let allow = reader.require("allow", example);
    let allow = allow.map(|list| filled(&list, "a list of networks", example, network));
    let ports = match reader.get("ports") {
        None => vec![(80, 80), (443, 443)],
        Some(list) => filled(&list, "a list of ports", "[\"80\", \"443\"]", |v| v.ports()),
    };
    let client_connections = reader.read("client-connections", |v| v.integer(1..=65_536));
    let connections = reader.read("connections", |v| v.integer(1..=1_048_576));
    let seconds = |key, default| {
        let seconds = reader.read(key, |v| v.integer(1..=86_400));
        Duration::from_secs(seconds.unwrap_or(default))
    };
    let proxy = Proxy {
        heading: reader.span,
        listen: sockets("listen"),
        socks: sockets("socks"),
        sites: sockets("sites"),
        users: reader.read("users", |v| Some(users(&v, files))),
        allow: allow.unwrap_or_default(),
        destinations: networks("destinations"),
        local_destinations: networks("local-destinations"),
        ports,
        resolvers: sockets("resolvers"),
        proxy_protocol: networks("proxy-protocol"),
        access_log: reader.read("access-log", |v| path(&v)),
        client_connections: client_connections.unwrap_or(256),
        connections: connections.unwrap_or(4_096),
        head_timeout: seconds("head-timeout", 10),
        connect_timeout: seconds("connect-timeout", 10),
        idle_timeout: seconds("idle-timeout", 300),
    };
    reader.finish(|_| None);
    proxy
}

/// The users in the file that the key names.
fn users(value: &Value<'_>, files: &mut Files<'_>) -> At<Arc<Users>> {
    let rows = Rows {
        what: "user",
        example: "name:$5$salt$hash",
    };
    let read = |row: &str| {
        let expected = "expected a name, a colon, and what `openssl passwd -5` writes";
        User::parse(row).map_err(|error| (error.to_string(), expected.to_owned()))
    };
    let users = rows::file(value, files, &rows, read);
    let mut seen: HashMap<&str, Span> = HashMap::new();
    for user in &users {
        if let Some(first) = seen.insert(&user.value.name, user.span) {
            let message = format!("the user \"{}\" is there twice", user.value.name);
            let again = Diagnostic::error(user.span, message, "again here");
            value.sink.push(again.also(first, "first here"));
        }
    }
    value.at(Arc::new(Users::new(users.into_iter().map(|at| at.value))))
}
