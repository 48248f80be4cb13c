//! What stands between the hosts of a proxy and the way to its server.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use crate::pcp::{self, ResultCode};
use crate::ports::{self, Granted, Host, Lasting, Ports, Protocol, Wish};

/// What stands there (RFC 7648 section 3.3).
#[derive(Clone, Debug)]
pub enum Near<P> {
    /// Nothing: the server sees the addresses of hosts, and is asked for them as third parties.
    Hosts,
    /// A NAT with the address of the proxy: the server is asked for its ports.
    Nat(P),
}

/// What a mapping is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Internal {
    pub(crate) host: IpAddr,
    pub(crate) protocol: u8,
    pub(crate) port: u16,
}

/// The same at work: a NAT keeps what the server knows by its ports.
#[derive(Debug)]
pub(crate) struct Way<P> {
    near: Near<P>,
    held: HashMap<Internal, Granted>,
}

impl<P: Ports> Way<P> {
    pub(crate) fn new(near: Near<P>) -> Self {
        Self {
            near,
            held: HashMap::new(),
        }
    }

    /// Whether there are ports to be given back.
    pub(crate) fn has_nat(&self) -> bool {
        matches!(self.near, Near::Nat(_))
    }

    /// Whether the server can know of an endpoint.
    pub(crate) fn knows(&self, internal: &Internal) -> bool {
        !self.has_nat() || self.held.contains_key(internal)
    }

    /// Makes a request one of the proxy, and gives the address that the answer will be recognised by.
    ///
    /// # Errors
    /// What the host is to be answered with: the NAT has no port for it.
    pub(crate) fn adapt(
        &mut self,
        request: &mut Vec<u8>,
        own: IpAddr,
        internal: &Internal,
    ) -> Result<IpAddr, ResultCode> {
        let Near::Nat(nat) = &mut self.near else {
            pcp::ask_for(request, own, internal.host);
            return Ok(internal.host);
        };
        let granted = match self.held.get(internal) {
            Some(granted) => *granted,
            None => {
                // The same port outside, if it can be had.
                let port = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, internal.port);
                let granted = nat.map(&of_nat(internal)?, Wish::Rather(port))?;
                self.held.insert(*internal, granted);
                granted
            }
        };
        pcp::ask_from(request, own, granted.external.port());
        Ok(own)
    }

    /// The address that an answer is recognised by. The answer becomes one without what only the proxy
    /// asked.
    pub(crate) fn named(&self, answer: &mut Vec<u8>, own: IpAddr) -> Option<IpAddr> {
        if self.has_nat() {
            return Some(own);
        }
        let option = pcp::third_party(answer).ok()??;
        let host = pcp::named(answer, &option)?;
        answer.drain(option);
        Some(host)
    }

    /// Gives back what nobody needs any more.
    pub(crate) fn keep(&mut self, needed: impl Fn(&Internal) -> bool) {
        let Near::Nat(nat) = &mut self.near else {
            return;
        };
        self.held.retain(|internal, granted| {
            let keep = needed(internal);
            if !keep
                && granted.lasting == Lasting::Held
                && let Ok(internal) = of_nat(internal)
            {
                nat.unmap(&internal, granted.external);
            }
            keep
        });
    }
}

/// An endpoint as a NAT knows it.
fn of_nat(internal: &Internal) -> Result<ports::Internal, ResultCode> {
    let protocol = match internal.protocol {
        6 => Protocol::Tcp,
        17 => Protocol::Udp,
        _ => return Err(ResultCode::UnsuppProtocol),
    };
    if internal.port == 0 {
        return Err(ResultCode::UnsuppProtocol);
    }
    Ok(ports::Internal {
        host: Host::Plain(internal.host),
        protocol,
        port: internal.port,
    })
}
