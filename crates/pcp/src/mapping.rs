//! The mappings that hosts asked for, until they end.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddrV4};
use std::time::Duration;

use crate::ports::{Granted, Host, Internal, Lasting, Ports, Protocol, Refused, Wish};

/// The proof that a request is from the client that made the mapping (RFC 6887 section 11.1). NAT-PMP has
/// none: zeros.
pub(crate) type Nonce = [u8; 12];

/// Bounds on mappings (RFC 6887 sections 11.3 and 15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Shortest lifetime that PCP grants.
    pub shortest: Duration,
    /// Longest lifetime.
    pub longest: Duration,
    /// Mappings of one host; behind a softwire, of all hosts there, because their B4 chooses their addresses.
    pub per_host: usize,
    /// Mappings of all hosts of a subscriber (RFC 6888 requirement 4).
    pub per_subscriber: usize,
    /// Mappings of all hosts.
    pub all: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            shortest: Duration::from_secs(120),
            longest: Duration::from_secs(24 * 3600),
            per_host: 64,
            per_subscriber: 512,
            all: 65_536,
        }
    }
}

/// Why a mapping is not made or not removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// Another client made it, for this much longer.
    NotYours(Duration),
    /// It is not one that hosts can remove.
    Configured,
    /// There are no ports.
    Ports(Refused),
}

#[derive(Clone, Copy, Debug)]
struct Mapping {
    external: SocketAddrV4,
    nonce: Nonce,
    ends: Duration,
}

/// An outside endpoint and how long it is granted; `None`: it is configured.
pub(crate) struct Lease {
    pub(crate) external: SocketAddrV4,
    pub(crate) lifetime: Option<Duration>,
}

/// All mappings of a server.
#[derive(Debug, Default)]
pub(crate) struct Mappings {
    made: HashMap<Internal, Mapping>,
    of_host: Tally,
    of_subscriber: Tally,
}

/// How many mappings each has.
#[derive(Debug, Default)]
struct Tally(HashMap<IpAddr, usize>);

impl Tally {
    fn of(&self, whose: IpAddr) -> usize {
        self.0.get(&whose).copied().unwrap_or(0)
    }

    fn add(&mut self, whose: IpAddr) {
        *self.0.entry(whose).or_default() += 1;
    }

    fn take(&mut self, whose: IpAddr) {
        if let Some(count) = self.0.get_mut(&whose) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&whose);
            }
        }
    }
}

/// The host, or the B4 that speaks for it.
fn asking(host: &Host) -> IpAddr {
    match *host {
        Host::Plain(address) => address,
        Host::Softwire { customer, .. } => customer.into(),
    }
}

impl Mappings {
    pub(crate) fn len(&self) -> usize {
        self.made.len()
    }

    /// Whether a host may have one more.
    fn is_within(&self, ports: &impl Ports, limits: &Limits, host: &Host) -> Result<(), Refused> {
        if self.of_host.of(asking(host)) >= limits.per_host
            || self.of_subscriber.of(ports.subscriber(host)) >= limits.per_subscriber
        {
            Err(Refused::Quota)
        } else if self.made.len() >= limits.all.min(ports.most()) {
            Err(Refused::Full)
        } else {
            Ok(())
        }
    }

    /// Makes a mapping, or lets one last longer (RFC 6887 section 11.3).
    ///
    /// # Errors
    /// [`Denied`]; nothing has changed then.
    pub(crate) fn grant(
        &mut self,
        ports: &mut impl Ports,
        limits: &Limits,
        now: Duration,
        internal: &Internal,
        request: (Nonce, Wish, Duration),
    ) -> Result<Lease, Denied> {
        let (nonce, wish, lifetime) = request;
        let there = self.made.get(internal).copied();
        if let Some(mapping) = there {
            if mapping.nonce != nonce {
                return Err(Denied::NotYours(mapping.ends.saturating_sub(now)));
            }
            if matches!(wish, Wish::Only(only) if only != mapping.external) {
                return Err(Denied::Ports(Refused::Elsewhere));
            }
        } else {
            self.is_within(ports, limits, &internal.host)
                .map_err(Denied::Ports)?;
        }
        let external = match there {
            Some(mapping) => mapping.external,
            None => match ports.map(internal, wish).map_err(Denied::Ports)? {
                Granted {
                    external,
                    lasting: Lasting::Static,
                } => {
                    return Ok(Lease {
                        external,
                        lifetime: None,
                    });
                }
                Granted { external, .. } => {
                    self.of_host.add(asking(&internal.host));
                    self.of_subscriber.add(ports.subscriber(&internal.host));
                    external
                }
            },
        };
        let mapping = Mapping {
            external,
            nonce,
            ends: now.saturating_add(lifetime),
        };
        self.made.insert(*internal, mapping);
        Ok(Lease {
            external,
            lifetime: Some(lifetime),
        })
    }

    /// Ends a mapping; one that is not there has ended (RFC 6887 section 15.1).
    ///
    /// # Errors
    /// [`Denied::NotYours`], [`Denied::Configured`].
    pub(crate) fn revoke(
        &mut self,
        ports: &mut impl Ports,
        now: Duration,
        internal: &Internal,
        nonce: Nonce,
    ) -> Result<(), Denied> {
        match self.made.get(internal) {
            Some(mapping) if mapping.nonce != nonce => {
                Err(Denied::NotYours(mapping.ends.saturating_sub(now)))
            }
            Some(_) => {
                self.end(ports, internal);
                Ok(())
            }
            None if ports.configured(internal).is_some() => Err(Denied::Configured),
            None => Ok(()),
        }
    }

    /// Ends all mappings of a host and protocol that have this nonce.
    pub(crate) fn revoke_all(
        &mut self,
        ports: &mut impl Ports,
        host: Host,
        protocol: Protocol,
        nonce: Nonce,
    ) {
        self.end_those(ports, |internal, mapping| {
            internal.host == host && internal.protocol == protocol && mapping.nonce == nonce
        });
    }

    /// Ends the mappings whose time is over.
    pub(crate) fn expire(&mut self, ports: &mut impl Ports, now: Duration) {
        self.end_those(ports, |_, mapping| mapping.ends <= now);
    }

    /// Ends all mappings.
    pub(crate) fn clear(&mut self, ports: &mut impl Ports) {
        self.end_those(ports, |_, _| true);
        // The ports may count for other subscribers than they did.
        (self.of_host, self.of_subscriber) = Default::default();
    }

    fn end_those(&mut self, ports: &mut impl Ports, over: impl Fn(&Internal, &Mapping) -> bool) {
        let those = self.made.iter().filter(|(internal, it)| over(internal, it));
        let those: Vec<Internal> = those.map(|(internal, _)| *internal).collect();
        for internal in &those {
            self.end(ports, internal);
        }
    }

    fn end(&mut self, ports: &mut impl Ports, internal: &Internal) {
        let Some(mapping) = self.made.remove(internal) else {
            return;
        };
        ports.unmap(internal, mapping.external);
        self.of_host.take(asking(&internal.host));
        self.of_subscriber.take(ports.subscriber(&internal.host));
    }
}
