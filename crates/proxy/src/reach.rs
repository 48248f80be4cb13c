//! What may be reached: neither the machine itself nor what lies on its links alone.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use ipnet::IpNet;
use isthmus_core::address::rfc6052::Prefix;
use nix::ifaddrs::getifaddrs;

use crate::config::Config;
use crate::failure::Failure;

/// The machine's own addresses are read again no sooner than this.
const FRESH: Duration = Duration::from_secs(1);

/// The rule in force.
#[derive(Debug)]
pub(crate) struct Reach {
    only: Vec<IpNet>,
    except: Vec<IpNet>,
    ports: Vec<std::ops::RangeInclusive<u16>>,
    prefixes: Vec<Prefix>,
    own: RwLock<Own>,
}

/// The machine's own addresses.
#[derive(Debug)]
struct Own {
    addresses: HashSet<IpAddr>,
    read: Instant,
}

impl Reach {
    pub(crate) fn new(config: &Config) -> Self {
        let mut prefixes = config.prefixes.clone();
        prefixes.push(Prefix::WELL_KNOWN);
        Self {
            only: config.destinations.clone(),
            except: config.local_destinations.clone(),
            ports: config.ports.clone(),
            prefixes,
            own: RwLock::new(Own::now()),
        }
    }

    /// Whether this port may be reached.
    pub(crate) fn port(&self, port: u16) -> Result<(), Failure> {
        match self.ports.iter().any(|range| range.contains(&port)) {
            true => Ok(()),
            false => Err(Failure::Port(port)),
        }
    }

    /// Whether a name may be asked for at all (RFC 6761 section 6.3).
    pub(crate) fn name(&self, name: &str) -> Result<(), Failure> {
        match name == "localhost" || name.ends_with(".localhost") {
            true => Err(Failure::LocalName),
            false => Ok(()),
        }
    }

    /// Whether this address may be reached. Addresses that stand for another are judged as that one, too.
    pub(crate) fn address(&self, address: IpAddr) -> Result<(), Failure> {
        let address = address.to_canonical();
        if self.except.iter().any(|net| net.contains(&address)) {
            return Ok(());
        }
        let refused = Err(Failure::Destination(address));
        let is_elsewhere =
            !self.only.is_empty() && !self.only.iter().any(|net| net.contains(&address));
        if is_elsewhere || is_nobodys(address) || self.is_own(address) {
            return refused;
        }
        let IpAddr::V6(v6) = address else {
            return Ok(());
        };
        let mut embedded = self
            .prefixes
            .iter()
            .filter_map(|prefix| prefix.extract(v6.into()));
        let is_bad = |v4: Ipv4Addr| {
            let v4 = IpAddr::V4(v4);
            let is_excepted = self.except.iter().any(|net| net.contains(&v4));
            !is_excepted && (is_nobodys(v4) || self.is_own(v4))
        };
        match embedded.any(|v4| is_bad(v4.into())) {
            true => refused,
            false => Ok(()),
        }
    }

    fn is_own(&self, address: IpAddr) -> bool {
        let known = self.own.read().unwrap_or_else(PoisonError::into_inner);
        if known.read.elapsed() < FRESH {
            return known.addresses.contains(&address);
        }
        drop(known);
        let mut known = self.own.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have read it meanwhile.
        if known.read.elapsed() >= FRESH {
            *known = Own::now();
        }
        known.addresses.contains(&address)
    }
}

impl Own {
    fn now() -> Self {
        let address = |it: nix::ifaddrs::InterfaceAddress| {
            let address = it.address?;
            let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
            v4.or_else(|| Some(IpAddr::V6(address.as_sockaddr_in6()?.ip())))
        };
        let all = getifaddrs().map(|all| all.filter_map(address).collect());
        Self {
            addresses: all.unwrap_or_else(|error| {
                tracing::warn!(%error, "the machine's addresses cannot be read");
                HashSet::new()
            }),
            read: Instant::now(),
        }
    }
}

/// Whether an address leads to this machine or its links, or is no unicast address.
fn is_nobodys(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            // RFC 1122 section 3.2.1.3: "this" network, and class E with the limited broadcast.
            let first = v4.octets()[0];
            first == 0 || first >= 224 || v4.is_loopback() || v4.is_link_local()
        }
        IpAddr::V6(v6) => {
            let compatible = Ipv6Addr::from_bits(v6.to_bits() & u128::from(u32::MAX)) == v6;
            // RFC 4291 section 2.5: ::, ::1, and all others of ::/96.
            compatible || v6.is_multicast() || v6.is_unicast_link_local() || is_site_local(v6)
        }
    }
}

/// RFC 3879: deprecated, and never global.
fn is_site_local(v6: Ipv6Addr) -> bool {
    v6.segments()[0] & 0xffc0 == 0xfec0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may(reach: &Reach, address: &str) -> bool {
        reach.address(address.parse().unwrap()).is_ok()
    }

    #[test]
    fn the_machine_itself_is_out_of_reach_in_every_spelling() {
        let reach = Reach::new(&Config {
            prefixes: vec![Prefix::new("2001:db8:64::".parse().unwrap(), 96).unwrap()],
            ..Config::default()
        });
        for address in [
            "127.0.0.1",
            "127.8.9.10",
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "2001:db8:64::169.254.169.254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!may(&reach, address), "{address}");
        }
        for address in [
            "192.0.2.1",
            "10.0.0.1",
            "2001:db8::1",
            "fd00::1",
            "64:ff9b::192.0.2.1",
        ] {
            assert!(may(&reach, address), "{address}");
        }
    }

    #[test]
    fn what_is_named_may_be_reached_all_the_same() {
        let reach = Reach::new(&Config {
            local_destinations: vec!["127.0.0.2/32".parse().unwrap()],
            ..Config::default()
        });
        assert!(may(&reach, "127.0.0.2") && may(&reach, "::ffff:127.0.0.2"));
        assert!(!may(&reach, "127.0.0.1"));
    }

    #[test]
    fn a_list_of_destinations_holds_and_opens_nothing_else() {
        let reach = Reach::new(&Config {
            destinations: vec![
                "2001:db8::/32".parse().unwrap(),
                "0.0.0.0/0".parse().unwrap(),
            ],
            ..Config::default()
        });
        assert!(may(&reach, "2001:db8::1") && may(&reach, "192.0.2.1"));
        assert!(!may(&reach, "2001:db9::1") && !may(&reach, "127.0.0.1"));
    }

    #[test]
    fn ports_and_local_names() {
        let reach = Reach::new(&Config::default());
        assert!(reach.port(443).is_ok() && reach.port(80).is_ok());
        assert_eq!(reach.port(25), Err(Failure::Port(25)));
        for name in ["localhost", "a.localhost"] {
            assert_eq!(reach.name(name), Err(Failure::LocalName));
        }
        assert!(reach.name("notlocalhost").is_ok());
    }
}
