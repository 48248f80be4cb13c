//! Which sessions a client wants to see.

use std::net::Ipv4Addr;
use std::str::FromStr;

use ipnet::IpNet;
use isthmus_core::nat::Protocol;
use serde::{Deserialize, Serialize};

use crate::config::Choice;
use crate::records::{ANY_PROTOCOL, Session};

/// Conditions that a session must meet, all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Filter {
    /// It belongs to the instance of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// It is of this protocol: `tcp`, `udp` or `icmp`; `any` where addresses are translated alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Its subscriber is in this network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<IpNet>,
    /// It uses this address, or address and port, of the pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<OutsideFilter>,
    /// It leads to this address, or address and port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<OutsideFilter>,
}

impl Filter {
    /// Whether a session of the instance with this name meets all conditions.
    #[must_use]
    pub fn admits(&self, instance: &str, session: &Session) -> bool {
        let binding = &session.binding;
        let (outside, remote) = (&self.outside, &self.remote);
        let differs = |name: &Option<String>, is: &str| name.as_ref().is_some_and(|it| it != is);
        let outside_end = (binding.outside_address, binding.outside_port);
        let remote_end = (session.remote_address, session.remote_port);
        !differs(&self.instance, instance)
            && !differs(&self.protocol, binding.protocol_name())
            && self
                .inside
                .is_none_or(|net| net.contains(&binding.inside_address))
            && outside.is_none_or(|outside| outside.admits(outside_end))
            && remote.is_none_or(|remote| remote.admits(remote_end))
    }

    /// Refuses a filter without a condition: whoever ends sessions says which.
    ///
    /// # Errors
    /// There is none, or [`check`](Self::check) refuses it.
    pub fn check_narrow(&self) -> Result<(), FilterError> {
        if *self == Self::default() {
            return Err(FilterError::Wide);
        }
        self.check()
    }

    /// Refuses a filter that can never match.
    ///
    /// # Errors
    ///
    /// If the protocol is none of those that have sessions.
    pub fn check(&self) -> Result<(), FilterError> {
        match &self.protocol {
            Some(name)
                if name != ANY_PROTOCOL
                    && Protocol::NAMES.iter().all(|(known, _)| known != name) =>
            {
                Err(FilterError::Protocol(name.clone()))
            }
            _ => Ok(()),
        }
    }
}

/// An IPv4 address with or without a port, written `192.0.2.1` or `192.0.2.1:80`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OutsideFilter {
    /// The address.
    pub address: Ipv4Addr,
    /// The port, if it matters.
    pub port: Option<u16>,
}

impl OutsideFilter {
    /// A session of addresses has all ports.
    fn admits(&self, (address, port): (Ipv4Addr, Option<u16>)) -> bool {
        self.address == address
            && self
                .port
                .is_none_or(|wanted| port.is_none_or(|port| wanted == port))
    }
}

/// The mistake in a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// Neither form of an [`OutsideFilter`].
    #[error(
        "{0:?} is not an IPv4 address with or without a port, such as 192.0.2.1 or 192.0.2.1:80"
    )]
    Outside(String),
    /// All sessions.
    #[error("say which sessions: by instance, protocol, inside, outside or remote")]
    Wide,
    /// Not a protocol with sessions.
    #[error("there are no sessions of protocol {0:?}: expected tcp, udp or icmp")]
    Protocol(String),
}

impl FromStr for OutsideFilter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let wrong = || FilterError::Outside(text.into());
        let (address, port) = match text.split_once(':') {
            Some((address, port)) => (address, Some(port.parse().map_err(|_| wrong())?)),
            None => (text, None),
        };
        Ok(Self {
            address: address.parse().map_err(|_| wrong())?,
            port,
        })
    }
}

impl TryFrom<String> for OutsideFilter {
    type Error = FilterError;

    fn try_from(text: String) -> Result<Self, FilterError> {
        text.parse()
    }
}

impl From<OutsideFilter> for String {
    fn from(filter: OutsideFilter) -> Self {
        match filter.port {
            Some(port) => format!("{}:{port}", filter.address),
            None => filter.address.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{Binding, samples};

    fn session() -> Session {
        Session {
            binding: Binding {
                protocol: Some(Protocol::Udp),
                inside_address: "2001:db8:1::7".parse().unwrap(),
                inside_port: Some(5000),
                outside_address: Ipv4Addr::new(203, 0, 113, 1),
                outside_port: Some(1024),
            },
            remote_address: Ipv4Addr::new(192, 0, 2, 53),
            remote_port: Some(53),
            remote_inside: None,
        }
    }

    #[test]
    fn every_condition_counts() {
        let admits = |json: &str| {
            let filter: Filter = serde_json::from_str(json).unwrap();
            filter.admits("plat", &session())
        };
        for yes in [
            "{}",
            r#"{"instance":"plat","protocol":"udp"}"#,
            r#"{"inside":"2001:db8:1::/48"}"#,
            r#"{"outside":"203.0.113.1"}"#,
            r#"{"outside":"203.0.113.1:1024","remote":"192.0.2.53:53"}"#,
        ] {
            assert!(admits(yes), "{yes}");
        }
        for no in [
            r#"{"instance":"other"}"#,
            r#"{"protocol":"tcp"}"#,
            r#"{"inside":"2001:db8:2::/48"}"#,
            r#"{"inside":"10.0.0.0/8"}"#,
            r#"{"outside":"203.0.113.1:1025"}"#,
            r#"{"outside":"203.0.113.1","remote":"192.0.2.54"}"#,
        ] {
            assert!(!admits(no), "{no}");
        }
    }

    #[test]
    fn a_session_of_addresses_has_every_port() {
        let session = samples::session_of_addresses();
        let admits = |json: &str| {
            let filter: Filter = serde_json::from_str(json).unwrap();
            assert_eq!(filter.check(), Ok(()));
            filter.admits("history", &session)
        };
        assert!(admits(r#"{"protocol":"any","outside":"203.0.113.1:80"}"#));
        assert!(!admits(r#"{"protocol":"tcp"}"#));
        assert!(!admits(r#"{"outside":"203.0.113.2:80"}"#));
    }

    #[test]
    fn nonsense_is_told() {
        for text in [
            "",
            "192.0.2",
            "192.0.2.1:",
            "192.0.2.1:65536",
            "2001:db8::1",
        ] {
            assert!(text.parse::<OutsideFilter>().is_err(), "{text}");
        }
        assert_eq!(Filter::default().check_narrow(), Err(FilterError::Wide));
        let filter = Filter {
            protocol: Some("sctp".into()),
            ..Filter::default()
        };
        assert_eq!(filter.check(), Err(FilterError::Protocol("sctp".into())));
        assert_eq!(filter.check_narrow(), filter.check());
    }
}
