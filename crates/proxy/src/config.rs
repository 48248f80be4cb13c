//! The configuration of a proxy: where it listens, who may use it, and what may be reached through it.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use isthmus_core::address::rfc6052::Prefix;
use thiserror::Error;

use crate::users::Users;

/// The configuration of one proxy. [`Config::check`] returns its error, if any.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where clients speak HTTP to a proxy: requests with an absolute URI, and `CONNECT`.
    pub listen: Vec<SocketAddr>,
    /// Where clients speak SOCKS5 (RFC 1928).
    pub socks: Vec<SocketAddr>,
    /// Where clients speak to servers as if these were here: TLS with a server name, HTTP with a host.
    pub sites: Vec<SocketAddr>,
    /// Clients that may use it. At least one network.
    pub allow: Vec<IpNet>,
    /// Users whose password is asked for, but not at `sites`.
    pub users: Option<Arc<Users>>,
    /// Networks that may be reached. Empty: all.
    pub destinations: Vec<IpNet>,
    /// Addresses of the machine and its links, which nobody reaches by default, that may be reached all the same.
    pub local_destinations: Vec<IpNet>,
    /// Ports that may be reached.
    pub ports: Vec<RangeInclusive<u16>>,
    /// Resolvers that are asked for names. At least one.
    pub resolvers: Vec<SocketAddr>,
    /// Prefixes whose addresses stand for IPv4 hosts; what is refused is refused under them, too.
    pub prefixes: Vec<Prefix>,
    /// Networks of servers that are told who the client is, by the PROXY protocol.
    pub proxy_protocol: Vec<IpNet>,
    /// The file of the access log.
    pub access_log: Option<PathBuf>,
    /// Connections of one client at the same time, 1..=65,536.
    pub client_connections: usize,
    /// Connections of all clients at the same time, 1..=1,048,576.
    pub connections: usize,
    /// How long a client may take for the head of a request.
    pub head_timeout: Duration,
    /// How long it may take to find and reach a destination.
    pub connect_timeout: Duration,
    /// How long a connection may carry nothing.
    pub idle_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            socks: Vec::new(),
            sites: Vec::new(),
            allow: Vec::new(),
            users: None,
            destinations: Vec::new(),
            local_destinations: Vec::new(),
            ports: vec![80..=80, 443..=443],
            resolvers: Vec::new(),
            prefixes: Vec::new(),
            proxy_protocol: Vec::new(),
            access_log: None,
            client_connections: 256,
            connections: 4_096,
            head_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(300),
        }
    }
}

/// The mistake in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Nowhere to listen.
    #[error("it listens nowhere: give at least one address and port, such as \"[::1]:3128\"")]
    NoListen,
    /// The same address twice.
    #[error("{0} is there twice: each address and port once")]
    DuplicateListen(SocketAddr),
    /// Everybody, or nobody, could use it.
    #[error("`allow` is empty: name the networks of the clients, such as \"2001:db8::/32\"")]
    NoAllow,
    /// No resolver.
    #[error("it has no resolver to ask for names, such as \"[2001:db8::53]:53\"")]
    NoResolver,
}

impl Config {
    /// Checks that the configuration makes sense.
    ///
    /// # Errors
    /// The first mistake.
    pub fn check(&self) -> Result<(), ConfigError> {
        let all = self.listening();
        if all.is_empty() {
            return Err(ConfigError::NoListen);
        }
        for (at, (_, address)) in all.iter().enumerate() {
            if address.port() != 0 && all[..at].iter().any(|(_, other)| other == address) {
                return Err(ConfigError::DuplicateListen(*address));
            }
        }
        if self.allow.is_empty() {
            return Err(ConfigError::NoAllow);
        }
        if self.resolvers.is_empty() {
            return Err(ConfigError::NoResolver);
        }
        Ok(())
    }

    /// Every address with the protocol that is spoken there.
    pub(crate) fn listening(&self) -> Vec<(Protocol, SocketAddr)> {
        let of = |protocol, list: &[SocketAddr]| {
            let list = list.iter().map(move |address| (protocol, *address));
            list.collect::<Vec<_>>()
        };
        [
            of(Protocol::Http, &self.listen),
            of(Protocol::Socks, &self.socks),
            of(Protocol::Sites, &self.sites),
        ]
        .concat()
    }
}

/// The protocol that clients speak at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// HTTP to a proxy.
    Http,
    /// SOCKS5.
    Socks,
    /// What servers speak.
    Sites,
}
