//! The NAT, if there is one, between the hosts of a proxy and its server.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use crate::pcp::{self, ResultCode};
use crate::ports::{self, Granted, Host, Lasting, Ports, Protocol, Wish};

/// The kind of proxy (RFC 7648 section 3.3).
#[derive(Clone, Debug)]
pub enum Near<P> {
    /// Nothing: the server sees the addresses of hosts, and is asked for them as third parties.
    Hosts,
    /// A NAT with the address of the proxy: the server is asked for its ports.
    Nat(P),
}

/// The inside endpoint of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Internal {
    pub(crate) host: IpAddr,
    pub(crate) protocol: u8,
    pub(crate) port: u16,
}

/// The hosts' side at work, with the ports of the NAT that are held for them.
#[derive(Debug)]
pub(crate) struct Side<P> {
    near: Near<P>,
    held: HashMap<Internal, Granted>,
}

impl<P: Ports> Side<P> {
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

    /// Turns a request into one of the proxy. Returns the address by which the answer will be recognised.
    ///
    /// # Errors
    /// The NAT has no port for it: the result code to answer with.
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

    /// The address by which an answer is recognised. The option that only the proxy asked with is removed.
    pub(crate) fn named(&self, answer: &mut Vec<u8>, own: IpAddr) -> Option<IpAddr> {
        if self.has_nat() {
            return Some(own);
        }
        let option = pcp::third_party(answer).ok()??;
        let host = pcp::named(answer, &option)?;
        answer.drain(option);
        Some(host)
    }

    /// Gives back the ports that are not needed any more.
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
    let protocol = Protocol::of_number(internal.protocol).filter(|_| internal.port != 0);
    let protocol = protocol.ok_or(ResultCode::UnsuppProtocol)?;
    Ok(ports::Internal {
        host: Host::Plain(internal.host),
        protocol,
        port: internal.port,
    })
}
