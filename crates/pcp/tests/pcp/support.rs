//! A NAT for the tests: one address, 198.51.100.1, and its ports from 1024 to 1100.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use isthmus_pcp::{Granted, Host, Internal, Lasting, Ports, Protocol, Refused, Wish};

pub(crate) const OUTSIDE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

/// The NAT.
#[derive(Debug, Default)]
pub(crate) struct Nat {
    pub(crate) taken: HashMap<(Protocol, u16), Internal>,
    pub(crate) fixed: HashMap<Internal, u16>,
    pub(crate) softwires: bool,
}

impl Nat {
    fn is_free(&self, protocol: Protocol, port: u16) -> bool {
        (1024..=1100).contains(&port) && !self.taken.contains_key(&(protocol, port))
    }

    fn endpoint(port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(OUTSIDE, port)
    }
}

impl Ports for Nat {
    fn address(&self, _host: &Host) -> Option<Ipv4Addr> {
        Some(OUTSIDE)
    }

    /// The hosts of 192.168.2.0/24 are one subscriber.
    fn subscriber(&self, host: &Host) -> IpAddr {
        match *host {
            Host::Plain(IpAddr::V4(address)) if address.octets()[2] == 2 => {
                Ipv4Addr::new(192, 168, 2, 0).into()
            }
            Host::Plain(address) => address,
            Host::Softwire { customer, .. } => customer.into(),
        }
    }

    fn most(&self) -> usize {
        70
    }

    fn has_softwires(&self) -> bool {
        self.softwires
    }

    fn configured(&self, internal: &Internal) -> Option<SocketAddrV4> {
        self.fixed.get(internal).map(|port| Self::endpoint(*port))
    }

    fn map(&mut self, internal: &Internal, wish: Wish) -> Result<Granted, Refused> {
        if let Some(external) = self.configured(internal) {
            let lasting = Lasting::Static;
            return Ok(Granted { external, lasting });
        }
        let protocol = internal.protocol;
        let wanted = match wish {
            Wish::Any => None,
            Wish::Rather(wanted) | Wish::Only(wanted) => Some(wanted),
        };
        let wanted = wanted.filter(|wanted| {
            self.is_free(protocol, wanted.port())
                && (wanted.ip().is_unspecified() || *wanted.ip() == OUTSIDE)
        });
        let port = match (wanted, wish) {
            (Some(wanted), _) => wanted.port(),
            (None, Wish::Only(_)) => return Err(Refused::Elsewhere),
            (None, _) => (1024..=1100)
                .find(|port| self.is_free(protocol, *port))
                .ok_or(Refused::Full)?,
        };
        self.taken.insert((protocol, port), *internal);
        Ok(Granted {
            external: Self::endpoint(port),
            lasting: Lasting::Held,
        })
    }

    fn unmap(&mut self, internal: &Internal, external: SocketAddrV4) {
        let was = self.taken.remove(&(internal.protocol, external.port()));
        assert_eq!(was, Some(*internal), "what is taken back was given");
    }
}
