//! The server: datagrams in, answers out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4};
use std::time::Duration;

use crate::mapping::{Denied, Lease, Limits, Mappings, Nonce};
use crate::nat_pmp::{self, Wanted};
use crate::pcp::{self, Checked, Header, Map, Options, ResultCode};
use crate::ports::{Host, Internal, Ports, Protocol, Refused, Wish};
use crate::{CLIENT_PORT, SERVER_PORT};

/// A server, and the mappings that it made.
///
/// Times are since any moment that stays the same, and do not go back.
#[derive(Debug)]
pub struct Server<P> {
    ports: P,
    limits: Limits,
    mappings: Mappings,
    /// The start of its epoch (RFC 6887 section 8.5).
    epoch: Duration,
}

/// The sender of a request.
#[derive(Clone, Copy, Debug)]
struct Client {
    address: IpAddr,
    path: Path,
    now: Duration,
}

/// The path of a request.
#[derive(Clone, Copy, Debug)]
enum Path {
    /// From an address that is one host's alone.
    Plain,
    /// Through the softwire of a B4.
    Softwire(Ipv6Addr),
}

/// Whether an address is that of a B4 in its softwire (RFC 6333 section 5.7): 192.0.0.2 to 192.0.0.6.
fn is_b4(address: Ipv4Addr) -> bool {
    let [network @ .., host] = address.octets();
    network == [192, 0, 0] && (2..=6).contains(&host)
}

impl Client {
    /// The host that the client is itself.
    fn host(&self) -> Host {
        match (self.path, self.address) {
            (Path::Softwire(customer), IpAddr::V4(address)) => Host::Softwire { customer, address },
            (_, address) => Host::Plain(address),
        }
    }
}

impl<P: Ports> Server<P> {
    /// A server without mappings.
    pub fn new(ports: P, limits: Limits, now: Duration) -> Self {
        Self {
            ports,
            limits,
            mappings: Mappings::default(),
            epoch: now,
        }
    }

    /// The NAT.
    pub fn ports(&self) -> &P {
        &self.ports
    }

    /// The NAT, to change it while it has the same ports.
    pub fn ports_mut(&mut self) -> &mut P {
        &mut self.ports
    }

    /// How many mappings there are.
    pub fn mappings(&self) -> usize {
        self.mappings.len()
    }

    /// The answer to a datagram from an address; `None` if there is to be none.
    ///
    /// The owner of the socket checks whether the address may ask at all, and whether the datagram came in
    /// where it should (RFC 6887 section 8.2).
    pub fn answer(&mut self, now: Duration, source: IpAddr, request: &[u8]) -> Option<Vec<u8>> {
        let address = source.to_canonical();
        let path = Path::Plain;
        self.answer_to(Client { address, path, now }, request)
    }

    /// The same for a datagram from a softwire, whose source address may also exist behind other
    /// softwires.
    pub fn answer_in_softwire(
        &mut self,
        now: Duration,
        customer: Ipv6Addr,
        source: Ipv4Addr,
        request: &[u8],
    ) -> Option<Vec<u8>> {
        let address = source.into();
        let path = Path::Softwire(customer);
        self.answer_to(Client { address, path, now }, request)
    }

    fn answer_to(&mut self, client: Client, request: &[u8]) -> Option<Vec<u8>> {
        match *request.first()? {
            nat_pmp::VERSION => self.answer_nat_pmp(client, request),
            _ => self.answer_pcp(client, request),
        }
    }

    /// Ends the mappings whose time is over.
    pub fn expire(&mut self, now: Duration) {
        self.mappings.expire(&mut self.ports, now);
    }

    /// Ends all mappings, and begins anew with other ports.
    pub fn restart(&mut self, now: Duration, ports: P, limits: Limits) {
        self.mappings.clear(&mut self.ports);
        self.ports = ports;
        self.limits = limits;
        self.epoch = now;
    }

    /// Ends all mappings.
    pub fn clear(&mut self) {
        self.mappings.clear(&mut self.ports);
    }

    /// The message to clients, at [`CLIENT_PORT`], that the server has begun anew (section 14.1.3).
    pub fn announcement(&self, now: Duration) -> Vec<u8> {
        pcp::header(pcp::ANNOUNCE, Duration::ZERO, self.age(now))
    }

    /// Seconds since the start of the epoch.
    fn age(&self, now: Duration) -> Duration {
        now.saturating_sub(self.epoch)
    }

    /// RFC 6887 section 8.2.
    fn answer_pcp(&mut self, client: Client, request: &[u8]) -> Option<Vec<u8>> {
        let age = self.age(client.now);
        let header = match pcp::check(request, client.address) {
            Checked::Silent => return None,
            Checked::Wrong(result) => {
                return Some(pcp::error(request, result, result.lifetime(), age));
            }
            Checked::Fine(header) => header,
        };
        let answer = match header.opcode {
            pcp::ANNOUNCE => {
                let options = request.get(pcp::HEADER..).unwrap_or(&[]);
                Options::read(options)
                    .map(|_| pcp::header(pcp::ANNOUNCE, Duration::ZERO, age))
                    .map_err(|result| (result, result.lifetime()))
            }
            pcp::MAP => self.map(client, header, request),
            _ => Err((
                ResultCode::UnsuppOpcode,
                ResultCode::UnsuppOpcode.lifetime(),
            )),
        };
        Some(answer.unwrap_or_else(|(result, lifetime)| pcp::error(request, result, lifetime, age)))
    }

    /// RFC 6887 sections 11.3 and 15.1.
    fn map(
        &mut self,
        client: Client,
        header: Header,
        request: &[u8],
    ) -> Result<Vec<u8>, (ResultCode, Duration)> {
        let age = self.age(client.now);
        let plain = |result: ResultCode| (result, result.lifetime());
        let map = Map::read(request).map_err(plain)?;
        let host = self.host(client, &map.options).map_err(plain)?;
        if map.protocol == 0 && map.internal_port != 0 {
            return Err(plain(ResultCode::MalformedRequest));
        }
        let protocol = Protocol::of_number(map.protocol);
        let protocol = protocol.ok_or(plain(ResultCode::UnsuppProtocol))?;
        // All ports of a protocol: there is no such mapping, not even to end.
        if map.internal_port == 0 {
            return Err(plain(ResultCode::UnsuppProtocol));
        }
        let internal = Internal {
            host,
            protocol,
            port: map.internal_port,
        };
        if header.lifetime.is_zero() {
            if map.options.prefer_failure {
                return Err(plain(ResultCode::MalformedOption));
            }
            let ended = self
                .mappings
                .revoke(&mut self.ports, client.now, &internal, map.nonce);
            ended.map_err(pcp_result)?;
            return Ok(pcp::map(&map, map.suggested, Duration::ZERO, age));
        }
        let wish = wish(&map).map_err(plain)?;
        let lifetime = header
            .lifetime
            .clamp(self.limits.shortest, self.limits.longest);
        let lease = self
            .grant(client.now, &internal, (map.nonce, wish, lifetime))
            .map_err(pcp_result)?;
        let lifetime = lease.lifetime.unwrap_or(Duration::MAX);
        Ok(pcp::map(&map, lease.external, lifetime, age))
    }

    /// The host that a request is for (RFC 6887 section 13.1). Only B4s may ask for others:
    /// for the hosts behind their own softwire.
    fn host(&self, client: Client, options: &Options) -> Result<Host, ResultCode> {
        let Some(party) = options.third_party else {
            return Ok(client.host());
        };
        if party == client.address {
            return Err(ResultCode::MalformedRequest);
        }
        match (client.path, client.address, party) {
            (Path::Plain, IpAddr::V6(customer), IpAddr::V4(address))
                if self.ports.has_softwires() =>
            {
                Ok(Host::Softwire { customer, address })
            }
            (Path::Softwire(customer), IpAddr::V4(b4), IpAddr::V4(address)) if is_b4(b4) => {
                Ok(Host::Softwire { customer, address })
            }
            _ => Err(ResultCode::UnsuppOption),
        }
    }

    fn grant(
        &mut self,
        now: Duration,
        internal: &Internal,
        request: (Nonce, Wish, Duration),
    ) -> Result<Lease, Denied> {
        self.mappings
            .grant(&mut self.ports, &self.limits, now, internal, request)
    }

    /// RFC 6886 section 3.
    fn answer_nat_pmp(&mut self, client: Client, request: &[u8]) -> Option<Vec<u8>> {
        // NAT-PMP is for IPv4 hosts behind a NAT.
        if client.address.is_ipv6() {
            return None;
        }
        let age = self.age(client.now);
        let host = client.host();
        match nat_pmp::Request::read(request)? {
            nat_pmp::Request::Unknown => Some(nat_pmp::unsupported(request)),
            nat_pmp::Request::Address => {
                let address = self.ports.address(&host);
                let result = match address {
                    Some(_) => nat_pmp::ResultCode::Success,
                    None => nat_pmp::ResultCode::NetworkFailure,
                };
                Some(nat_pmp::address(result, age, address))
            }
            nat_pmp::Request::Map(wanted) => {
                let (result, port, lifetime) = match self.map_nat_pmp(client.now, host, wanted) {
                    Ok((port, lifetime)) => (nat_pmp::ResultCode::Success, port, lifetime),
                    Err(result) => (result, 0, Duration::ZERO),
                };
                let ports = (wanted.internal_port, port);
                Some(nat_pmp::map(wanted.protocol, result, age, ports, lifetime))
            }
        }
    }

    /// The outside port, and for how long (RFC 6886 sections 3.3 and 3.4).
    fn map_nat_pmp(
        &mut self,
        now: Duration,
        host: Host,
        wanted: Wanted,
    ) -> Result<(u16, Duration), nat_pmp::ResultCode> {
        let Wanted {
            protocol, lifetime, ..
        } = wanted;
        let internal = Internal {
            host,
            protocol,
            port: wanted.internal_port,
        };
        let nonce = Nonce::default();
        if lifetime.is_zero() {
            if internal.port == 0 {
                self.mappings
                    .revoke_all(&mut self.ports, host, protocol, nonce);
            } else {
                self.mappings
                    .revoke(&mut self.ports, now, &internal, nonce)
                    .map_err(nat_pmp_result)?;
            }
            return Ok((0, Duration::ZERO));
        }
        if internal.port == 0 {
            return Err(nat_pmp::ResultCode::NotAuthorized);
        }
        let wish = match wanted.suggested_port {
            0 => Wish::Any,
            port => Wish::Rather(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port)),
        };
        // Never more than was asked for.
        let asked = lifetime.min(self.limits.longest);
        let lease = self
            .grant(now, &internal, (nonce, wish, asked))
            .map_err(nat_pmp_result)?;
        Ok((lease.external.port(), lease.lifetime.unwrap_or(lifetime)))
    }
}

/// The endpoint that a request asks for. The ports of PCP itself are not given (RFC 6887 section 11.3).
fn wish(map: &Map) -> Result<Wish, ResultCode> {
    let own = map.protocol == 17 && [SERVER_PORT, CLIENT_PORT].contains(&map.suggested.port());
    match (map.options.prefer_failure, map.suggested.port()) {
        (true, 0) => Err(ResultCode::MalformedOption),
        (true, _) if own => Err(ResultCode::CannotProvideExternal),
        (true, _) => Ok(Wish::Only(map.suggested)),
        (false, _) if own || (map.suggested.port() == 0 && map.suggested.ip().is_unspecified()) => {
            Ok(Wish::Any)
        }
        (false, _) => Ok(Wish::Rather(map.suggested)),
    }
}

fn pcp_result(denied: Denied) -> (ResultCode, Duration) {
    let result = match denied {
        Denied::NotYours(left) => return (ResultCode::NotAuthorized, left),
        Denied::Configured => ResultCode::NotAuthorized,
        Denied::Ports(refused) => refused.into(),
    };
    (result, result.lifetime())
}

fn nat_pmp_result(denied: Denied) -> nat_pmp::ResultCode {
    match denied {
        Denied::NotYours(_) | Denied::Configured | Denied::Ports(Refused::Stranger) => {
            nat_pmp::ResultCode::NotAuthorized
        }
        Denied::Ports(_) => nat_pmp::ResultCode::OutOfResources,
    }
}
