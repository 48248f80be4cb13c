//! Who may ask: a recursive resolver that answers everybody is a weapon against others
//! (RFC 5358 section 4).

use std::net::IpAddr;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use ipnet::IpNet;
use nix::ifaddrs::getifaddrs;

/// Networks that no packet from the internet can honestly come from: loopback, private use
/// (RFC 1918), shared (RFC 6598), link-local and unique local addresses.
const OURS: [&str; 9] = [
    "127.0.0.0/8",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",
    "169.254.0.0/16",
    "::1/128",
    "fc00::/7",
    "fe80::/10",
];
/// The list of attached networks is read again for a stranger, but no sooner than this.
const FRESH: Duration = Duration::from_secs(2);

/// The clients that get answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Allow {
    /// Those with loopback, private, shared, link-local and unique local addresses, and those in the networks of
    /// this machine's own addresses.
    #[default]
    Local,
    /// Those in these networks.
    Networks(Vec<IpNet>),
}

/// The rule in force, with what it remembers.
pub(crate) struct Access {
    networks: Vec<IpNet>,
    attached: Option<RwLock<Attached>>,
}

/// The networks of this machine's addresses.
struct Attached {
    networks: Vec<IpNet>,
    read: Instant,
}

impl Access {
    pub(crate) fn new(allow: &Allow) -> Self {
        match allow {
            Allow::Local => Self {
                networks: OURS.iter().flat_map(|text| text.parse()).collect(),
                attached: Some(RwLock::new(Attached::now())),
            },
            Allow::Networks(networks) => Self {
                networks: networks.clone(),
                attached: None,
            },
        }
    }

    /// Whether this client may ask. An address of a link that is new is found within seconds.
    pub(crate) fn admits(&self, client: IpAddr) -> bool {
        let client = client.to_canonical();
        if self.networks.iter().any(|net| net.contains(&client)) {
            return true;
        }
        let Some(attached) = &self.attached else {
            return false;
        };
        let known = attached.read().unwrap_or_else(PoisonError::into_inner);
        let found = known.contains(client);
        let stale = known.read.elapsed() >= FRESH;
        drop(known);
        if found || !stale {
            return found;
        }
        let mut attached = attached.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have read it meanwhile.
        if attached.read.elapsed() >= FRESH {
            *attached = Attached::now();
        }
        attached.contains(client)
    }
}

impl Attached {
    fn now() -> Self {
        let networks = getifaddrs().map(|all| all.filter_map(|it| network(&it)).collect());
        Self {
            networks: networks.unwrap_or_else(|error| {
                tracing::warn!(%error, "the machine's addresses cannot be read");
                Vec::new()
            }),
            read: Instant::now(),
        }
    }

    fn contains(&self, client: IpAddr) -> bool {
        self.networks.iter().any(|net| net.contains(&client))
    }
}

/// The network of an address of a link.
fn network(link: &nix::ifaddrs::InterfaceAddress) -> Option<IpNet> {
    let (address, mask) = (link.address.as_ref()?, link.netmask.as_ref()?);
    let net = match (address.as_sockaddr_in(), address.as_sockaddr_in6()) {
        (Some(v4), _) => {
            let mask = mask.as_sockaddr_in()?.ip();
            IpNet::with_netmask(v4.ip().into(), mask.into())
        }
        (_, Some(v6)) => {
            let mask = mask.as_sockaddr_in6()?.ip();
            IpNet::with_netmask(v6.ip().into(), mask.into())
        }
        _ => return None,
    };
    net.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(access: &Access, client: &str) -> bool {
        access.admits(client.parse().unwrap())
    }

    #[test]
    fn rfc5358_4_strangers_are_not_admitted_by_default() {
        let access = Access::new(&Allow::default());
        for client in [
            "127.0.0.1",
            "10.1.2.3",
            "100.64.0.1",
            "::1",
            "fe80::1",
            "fd00::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(admits(&access, client), "{client}");
        }
        for client in [
            "198.51.100.1",
            "172.32.0.1",
            "2001:db8::1",
            "::ffff:198.51.100.1",
        ] {
            assert!(!admits(&access, client), "{client}");
        }
    }

    #[test]
    fn a_list_is_all_that_counts() {
        let net = |text: &str| text.parse().unwrap();
        let access = Access::new(&Allow::Networks(vec![net("2001:db8::/32"), net("::1/128")]));
        assert!(admits(&access, "2001:db8::7") && admits(&access, "::1"));
        assert!(!admits(&access, "127.0.0.1") && !admits(&access, "2001:db9::7"));
        assert!(!admits(&Access::new(&Allow::Networks(Vec::new())), "::1"));
    }
}
