//! The configuration of a DNS64: where to listen, which resolvers to ask, what to synthesize.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use ipnet::{Ipv4Net, Ipv6Net};
use isthmus_core::address::rfc6052::Prefix;
use isthmus_core::address::special::is_non_global_v4;
use thiserror::Error;

use crate::access::Allow;

/// The configuration of one DNS64 server. [`Config::check`] returns its error, if any.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Addresses to answer on, each over UDP and TCP. At least one. Port 0 takes any free port.
    pub listen: Vec<SocketAddr>,
    /// Recursive resolvers to ask, in order of preference. At least one.
    pub upstream: Vec<SocketAddr>,
    /// Who may ask.
    pub allow: Allow,
    /// Queries of one client in a second, UDP and TCP apart; 0: no limit. A client is an IPv4 address or an
    /// IPv6 /56, and one IPv6 address has half of what its client may have.
    pub client_rate: u32,
    /// Questions of one client under way at the same time, 1..=65,536.
    pub client_questions: usize,
    /// TCP connections of one client at the same time, 1..=65,536.
    pub client_connections: usize,
    /// Prefixes to synthesize under; one AAAA per prefix and A record (RFC 6147 section 5.2).
    /// Empty: the well-known prefix 64:ff9b::/96, as that section demands.
    pub prefixes: Vec<Translation>,
    /// AAAA records under these count as absent (RFC 6147 section 5.1.4). Default: ::ffff:0:0/96.
    pub exclude: Vec<Ipv6Net>,
    /// Bound of the cache, 0..=16,777,216. An answer counts as one entry per 512 bytes begun, so
    /// this bounds the memory too. 0: no cache.
    pub cache_entries: usize,
    /// Different questions in flight upstream at the same time, 1..=65,536. Each holds a socket.
    pub max_in_flight: usize,
    /// Threads that answer from the cache, per listening address, 1..=64.
    pub udp_threads: usize,
    /// TCP connections open at the same time, 1..=65,536.
    pub tcp_connections: usize,
    /// A TCP connection without a whole message in this time is closed (RFC 7766 section 6.2.3).
    pub tcp_idle: Duration,
    /// How long one upstream resolver may take for one question.
    pub upstream_timeout: Duration,
    /// How long a client's question may take in all; SERVFAIL follows.
    pub deadline: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            upstream: Vec::new(),
            allow: Allow::default(),
            client_rate: 1_000,
            client_questions: 256,
            client_connections: 32,
            prefixes: Vec::new(),
            exclude: vec![default_exclusion()],
            cache_entries: 65_536,
            max_in_flight: 2_048,
            udp_threads: 1,
            tcp_connections: 256,
            tcp_idle: Duration::from_secs(10),
            upstream_timeout: Duration::from_millis(1_200),
            deadline: Duration::from_secs(5),
        }
    }
}

/// ::ffff:0:0/96, the exclusion that RFC 6147 section 5.1.4 asks for by default.
#[must_use]
pub fn default_exclusion() -> Ipv6Net {
    Ipv6Net::new_assert(Ipv4Addr::UNSPECIFIED.to_ipv6_mapped(), 96)
}

/// Whether non-global IPv4 addresses may appear under 64:ff9b::/96.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NonGlobal {
    /// They must not (RFC 6052 section 3.1).
    #[default]
    Refuse,
    /// They may, against the RFC, because the operator says so.
    Allow,
}

/// One prefix, and the IPv4 addresses that it represents (RFC 6147 section 5.1.7, last item).
#[derive(Clone, Debug, PartialEq)]
pub struct Translation {
    /// The prefix, shared with the translator.
    pub prefix: Prefix,
    /// Only these IPv4 addresses. Empty: all.
    pub ranges: Vec<Ipv4Net>,
    /// But not these.
    pub except: Vec<Ipv4Net>,
    /// Matters under the well-known prefix only.
    pub non_global: NonGlobal,
}

impl Translation {
    /// All of IPv4 under `prefix`.
    #[must_use]
    pub fn new(prefix: Prefix) -> Self {
        Self {
            prefix,
            ranges: Vec::new(),
            except: Vec::new(),
            non_global: NonGlobal::default(),
        }
    }

    /// Whether an AAAA record may be synthesized for this address.
    #[must_use]
    pub fn represents(&self, address: Ipv4Addr) -> bool {
        (self.ranges.is_empty() || self.ranges.iter().any(|net| net.contains(&address)))
            && !self.except.iter().any(|net| net.contains(&address))
            && !(self.prefix.is_well_known()
                && self.non_global == NonGlobal::Refuse
                && is_non_global_v4(address.into()))
    }
}

/// The mistake in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Nowhere to listen.
    #[error("`listen` is empty: give at least one address and port, such as \"[::1]:53\"")]
    NoListen,
    /// The same address twice.
    #[error("`listen` has {0} twice: each address and port once")]
    DuplicateListen(SocketAddr),
    /// There is no upstream resolver.
    #[error(
        "`upstream` is empty: give at least one recursive resolver, such as \"[2001:db8::53]:53\""
    )]
    NoUpstream,
    /// Something that cannot be asked.
    #[error("`upstream` has {0}, which is not the address and port of a resolver")]
    Unaskable(SocketAddr),
    /// A loop.
    #[error("`upstream` has {0}, which is also in `listen`: the server would ask itself forever")]
    Itself(SocketAddr),
    /// A number outside its bounds.
    #[error("`{key}` is {value}: it must be from {least} to {most}")]
    Bounds {
        /// The key, as in the configuration file.
        key: &'static str,
        /// The given value.
        value: u128,
        /// The least that is right.
        least: u128,
        /// The most that is right.
        most: u128,
    },
}

impl Config {
    /// Checks the whole configuration.
    ///
    /// # Errors
    /// The first mistake found.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.listen.is_empty() {
            return Err(ConfigError::NoListen);
        }
        for (i, address) in self.listen.iter().enumerate() {
            if address.port() != 0 && self.listen[..i].contains(address) {
                return Err(ConfigError::DuplicateListen(*address));
            }
        }
        if self.upstream.is_empty() {
            return Err(ConfigError::NoUpstream);
        }
        for address in &self.upstream {
            let ip = address.ip();
            if address.port() == 0 || ip.is_unspecified() || ip.is_multicast() {
                return Err(ConfigError::Unaskable(*address));
            }
            if self.listen.contains(address) {
                return Err(ConfigError::Itself(*address));
            }
        }
        let bounds = [
            ("cache-entries", self.cache_entries as u128, 0, 1 << 24),
            ("max-in-flight", self.max_in_flight as u128, 1, 65_536),
            ("client-questions", self.client_questions as u128, 1, 65_536),
            (
                "client-connections",
                self.client_connections as u128,
                1,
                65_536,
            ),
            ("udp-threads", self.udp_threads as u128, 1, 64),
            ("tcp-connections", self.tcp_connections as u128, 1, 65_536),
            ("tcp-idle (ms)", self.tcp_idle.as_millis(), 10, 3_600_000),
            (
                "upstream-timeout (ms)",
                self.upstream_timeout.as_millis(),
                10,
                60_000,
            ),
            ("deadline (ms)", self.deadline.as_millis(), 20, 120_000),
        ];
        for (key, value, least, most) in bounds {
            if !(least..=most).contains(&value) {
                return Err(ConfigError::Bounds {
                    key,
                    value,
                    least,
                    most,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Config {
        Config {
            listen: vec!["127.0.0.1:53".parse().unwrap()],
            upstream: vec!["192.0.2.53:53".parse().unwrap()],
            ..Config::default()
        }
    }

    #[test]
    fn a_mistake_is_named() {
        assert_eq!(good().check(), Ok(()));
        let with = |change: fn(&mut Config)| {
            let mut config = good();
            change(&mut config);
            config.check().unwrap_err().to_string()
        };
        assert!(with(|c| c.listen.clear()).contains("`listen` is empty"));
        assert!(with(|c| c.listen.push(c.listen[0])).contains("127.0.0.1:53 twice"));
        assert!(with(|c| c.upstream.clear()).contains("`upstream` is empty"));
        assert!(with(|c| c.upstream.push(c.listen[0])).contains("ask itself"));
        assert!(with(|c| c.upstream[0].set_port(0)).contains("192.0.2.53:0"));
        assert!(
            with(|c| c.udp_threads = 65).contains("`udp-threads` is 65: it must be from 1 to 64")
        );
    }

    #[test]
    fn rfc6147_5_1_4_default_exclusion() {
        assert_eq!(default_exclusion(), "::ffff:0:0/96".parse().unwrap());
        assert_eq!(Config::default().exclude, [default_exclusion()]);
    }

    #[test]
    fn rfc6052_3_1_non_global_under_the_well_known_prefix() {
        let mut translation = Translation::new(Prefix::WELL_KNOWN);
        let private = Ipv4Addr::new(10, 0, 0, 1);
        let global = Ipv4Addr::new(8, 8, 8, 8);
        assert!(!translation.represents(private));
        assert!(translation.represents(global));
        translation.non_global = NonGlobal::Allow;
        assert!(translation.represents(private));
        let local = Prefix::new("2001:db8::".parse().unwrap(), 96).unwrap();
        assert!(Translation::new(local).represents(private));
    }

    #[test]
    fn rfc6147_5_1_7_ranges_choose_the_prefix() {
        let mut translation = Translation::new(Prefix::WELL_KNOWN);
        translation.ranges = vec!["8.0.0.0/8".parse().unwrap()];
        translation.except = vec!["8.8.4.0/24".parse().unwrap()];
        assert!(translation.represents(Ipv4Addr::new(8, 8, 8, 8)));
        assert!(!translation.represents(Ipv4Addr::new(8, 8, 4, 4)));
        assert!(!translation.represents(Ipv4Addr::new(9, 9, 9, 9)));
    }
}
