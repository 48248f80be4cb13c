//! A NAT, which has the ports.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4};

/// The transport protocols that have ports to map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// TCP
    Tcp,
    /// UDP
    Udp,
}

impl Protocol {
    /// The number that IANA gives it.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
        }
    }

    /// The protocol with this number, if it is one of these.
    pub(crate) const fn of_number(number: u8) -> Option<Self> {
        match number {
            6 => Some(Self::Tcp),
            17 => Some(Self::Udp),
            _ => None,
        }
    }
}

/// A host on the inside of the NAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// By its address.
    Plain(IpAddr),
    /// By its address within a B4's softwire.
    Softwire {
        /// Address of the B4.
        customer: Ipv6Addr,
        /// Address of the host behind it.
        address: Ipv4Addr,
    },
}

/// The inside endpoint of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Internal {
    /// The host.
    pub host: Host,
    /// Transport protocol.
    pub protocol: Protocol,
    /// Its port, not 0.
    pub port: u16,
}

/// The outside endpoint that a host would like to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Any outside endpoint.
    Any,
    /// Rather this one than another. The address may be 0.0.0.0: any; so may the port.
    Rather(SocketAddrV4),
    /// This one or none (PREFER_FAILURE, RFC 6887 section 13.2).
    Only(SocketAddrV4),
}

/// How long an outside endpoint stays with its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// Until it is taken back with [`Ports::unmap`].
    Held,
    /// Always: it is configured.
    Static,
}

/// An outside endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The endpoint.
    pub external: SocketAddrV4,
    /// Until when.
    pub lasting: Lasting,
}

/// Why there is no outside endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The one that was asked for cannot be had.
    Elsewhere,
    /// The subscriber has as many as it may have.
    Quota,
    /// There are none left.
    Full,
    /// The host is not one of this NAT's.
    Stranger,
}

/// A NAT whose ports hosts may ask for.
pub trait Ports {
    /// The outside address of a host; `None` if it has none.
    fn address(&self, host: &Host) -> Option<Ipv4Addr>;

    /// Whose mappings are counted together with those of a host: the first address of its subscriber. Behind a
    /// softwire the B4 chooses the addresses of the hosts.
    fn subscriber(&self, host: &Host) -> IpAddr {
        match *host {
            Host::Plain(address) => address,
            Host::Softwire { customer, .. } => customer.into(),
        }
    }

    /// Mappings that there may be at most, so that ports are left for traffic.
    fn most(&self) -> usize {
        usize::MAX
    }

    /// Whether its hosts are in softwires, for which their B4s may ask (DS-Lite, RFC 6333 section 8.5).
    fn has_softwires(&self) -> bool {
        false
    }

    /// The outside endpoint that is configured for an internal one, if it is.
    fn configured(&self, internal: &Internal) -> Option<SocketAddrV4>;

    /// Gives an outside endpoint to an internal one; one that it has already stays.
    ///
    /// # Errors
    /// [`Refused`]; nothing has changed then.
    fn map(&mut self, internal: &Internal, wish: Wish) -> Result<Granted, Refused>;

    /// Takes back what [`map`](Self::map) gave as [`Lasting::Held`]. Connections that use it live on.
    fn unmap(&mut self, internal: &Internal, external: SocketAddrV4);
}
