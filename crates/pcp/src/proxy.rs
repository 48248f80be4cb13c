//! A proxy (RFC 7648): a B4 or a CLAT passes the requests of its hosts on to the server of the NAT that has
//! the ports. It translates NAT-PMP to PCP.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use crate::mapping::Nonce;
use crate::nat_pmp::{self, Wanted};
use crate::near::{Internal, Near, Side};
use crate::pcp::{self, Checked, Header, Map, Options, Question, Response, ResultCode};
use crate::ports::{Ports, Protocol};
use crate::upstream::{Epoch, Memory};

/// The time to wait for an answer. Hosts ask again sooner (RFC 6887 section 8.1.1).
const PATIENCE: Duration = Duration::from_secs(10);
/// Requests that may wait for an answer, of one host and of all.
const MOST_OF_HOST: usize = 64;
const MOST: usize = 4096;
/// Port (discard) and lifetime of a mapping that is made only to learn the outside address (RFC 6887 section
/// 11.6).
const PROBE_PORT: u16 = 9;
const PROBE_LIFETIME: Duration = Duration::from_secs(120);

/// A proxy between the hosts of a link and one server.
///
/// Times are since any moment that stays the same, and do not go back.
#[derive(Debug)]
pub struct Proxy<P> {
    /// Its address towards the server.
    own: IpAddr,
    hosts: Side<P>,
    /// The start of its own epoch (RFC 7648 section 3).
    epoch: Duration,
    server: Epoch,
    /// Requests without an answer yet, by the address that the server knows and the fields that its answer
    /// repeats.
    waiting: HashMap<(IpAddr, Question), Waiting>,
    granted: HashMap<Internal, Granted>,
}

/// The messages that a request leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// To the host, at once.
    pub answer: Option<Vec<u8>>,
    /// To the server.
    pub on: Vec<Vec<u8>>,
}

/// The outcome of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The host that is answered, and the answer.
    pub answer: Option<(SocketAddr, Vec<u8>)>,
    /// Whether the server has lost its mappings: hosts are to be notified.
    pub lost: bool,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    client: SocketAddr,
    internal: Internal,
    since: Duration,
    asked: Asked,
}

/// How a host asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// It was answered already.
    Nothing,
    Pcp,
    NatPmpAddress,
    NatPmpMap(Protocol, Duration),
}

/// A mapping of the server.
#[derive(Clone, Copy, Debug)]
struct Granted {
    nonce: Nonce,
    external: SocketAddrV4,
    ends: Duration,
}

impl Passed {
    fn answered(answer: Vec<u8>) -> Self {
        Self {
            answer: Some(answer),
            ..Self::default()
        }
    }

    fn on(message: Vec<u8>) -> Self {
        Self {
            on: vec![message],
            ..Self::default()
        }
    }
}

impl<P: Ports> Proxy<P> {
    /// A proxy without requests yet, with this address towards the server.
    #[must_use]
    pub fn new(own: IpAddr, near: Near<P>, now: Duration) -> Self {
        Self {
            own,
            hosts: Side::new(near),
            epoch: now,
            server: Epoch::default(),
            waiting: HashMap::new(),
            granted: HashMap::new(),
        }
    }

    /// Takes a request of a host.
    ///
    /// The owner of the socket checks whether the host may ask at all, and whether the request came in where
    /// it should (RFC 6887 section 8.2).
    pub fn request(&mut self, now: Duration, client: SocketAddr, request: &[u8]) -> Passed {
        self.expire(now);
        let host = client.ip().to_canonical();
        let of_host = |waiting: &&Waiting| waiting.internal.host == host;
        let many = self.waiting.len() >= MOST
            || self.waiting.values().filter(of_host).count() >= MOST_OF_HOST;
        let passed = match (request.first(), host) {
            // It will ask again.
            _ if many => None,
            (None, _) => None,
            (Some(&nat_pmp::VERSION), IpAddr::V4(host)) => self.nat_pmp(now, client, host, request),
            (Some(&nat_pmp::VERSION), IpAddr::V6(_)) => None,
            (Some(_), host) => self.pcp(now, client, host, request),
        };
        passed.unwrap_or_default()
    }

    /// Takes a response. The owner of the socket checks that it is from the server (RFC 6887 section 8.3).
    pub fn response(&mut self, now: Duration, message: &[u8]) -> Heard {
        let Some(response) = Response::read(message) else {
            let (answer, lost) = (None, false);
            return Heard { answer, lost };
        };
        let lost = self.server.hear(response.epoch, now) == Memory::Lost;
        if lost {
            self.granted.clear();
            self.epoch = now;
        }
        let answer = self.answer(now, &response, message);
        self.expire(now);
        Heard { answer, lost }
    }

    /// The message to clients, at [`CLIENT_PORT`](crate::CLIENT_PORT), that their mappings are gone (RFC 6887
    /// section 14.1.3).
    #[must_use]
    pub fn announcement(&self, now: Duration) -> Vec<u8> {
        pcp::header(pcp::ANNOUNCE, Duration::ZERO, self.age(now))
    }

    /// Removes what has expired, and gives back ports of the NAT that are not needed any more.
    pub fn expire(&mut self, now: Duration) {
        self.waiting
            .retain(|_, waiting| now.saturating_sub(waiting.since) < PATIENCE);
        self.granted.retain(|_, granted| granted.ends > now);
        if self.hosts.has_nat() {
            let waiting: HashSet<_> = self.waiting.values().map(|it| it.internal).collect();
            let needed = |it: &Internal| waiting.contains(it) || self.granted.contains_key(it);
            self.hosts.keep(needed);
        }
    }

    /// Gives back all ports of the NAT.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.granted.clear();
        self.hosts.keep(|_| false);
    }

    fn age(&self, now: Duration) -> Duration {
        now.saturating_sub(self.epoch)
    }

    /// RFC 7648 section 3.
    fn pcp(
        &mut self,
        now: Duration,
        client: SocketAddr,
        host: IpAddr,
        request: &[u8],
    ) -> Option<Passed> {
        let age = self.age(now);
        let refuse = |result: ResultCode| {
            Passed::answered(pcp::error(request, result, result.lifetime(), age))
        };
        let header = match pcp::check(request, host) {
            Checked::Silent => return None,
            Checked::Wrong(result) => return Some(refuse(result)),
            Checked::Fine(header) => header,
        };
        match header.opcode {
            // Never passed on (section 3.5).
            pcp::ANNOUNCE => Some(Passed::answered(self.announcement(now))),
            // A NAT here would have to know of the peer.
            pcp::PEER if self.hosts.has_nat() => Some(refuse(ResultCode::UnsuppOpcode)),
            pcp::MAP | pcp::PEER => {
                let passed = self.relay(now, client, host, &header, request);
                Some(passed.unwrap_or_else(refuse))
            }
            _ => Some(refuse(ResultCode::UnsuppOpcode)),
        }
    }

    fn relay(
        &mut self,
        now: Duration,
        client: SocketAddr,
        host: IpAddr,
        header: &Header,
        request: &[u8],
    ) -> Result<Passed, ResultCode> {
        let question = Question::read(request).ok_or(ResultCode::MalformedRequest)?;
        // A host asks for itself only (RFC 6887 section 13.1).
        if pcp::third_party(request)?.is_some() {
            return Err(ResultCode::UnsuppOption);
        }
        let internal = Internal {
            host,
            protocol: question.protocol,
            port: question.port,
        };
        if question.opcode == pcp::MAP {
            let answer = self.at_once(now, &internal, header.lifetime, request);
            if let Some(answer) = answer {
                return Ok(Passed::answered(answer));
            }
        }
        let message = self.pass_on(now, client, internal, request.to_vec(), Asked::Pcp)?;
        Ok(Passed::on(message))
    }

    /// The answer to a request that need not be passed on: for a mapping that lasts for at least three
    /// quarters of the requested lifetime (RFC 7648 section 3), or for the end of one that cannot exist.
    fn at_once(
        &mut self,
        now: Duration,
        internal: &Internal,
        lifetime: Duration,
        request: &[u8],
    ) -> Option<Vec<u8>> {
        let map = Map::read(request).ok()?;
        let age = self.age(now);
        if lifetime.is_zero() {
            self.granted.remove(internal);
            let nothing = !self.hosts.knows(internal);
            return nothing.then(|| pcp::map(&map, map.suggested, Duration::ZERO, age));
        }
        let granted = self.granted.get(internal)?;
        let left = granted.ends.saturating_sub(now);
        let same = map.nonce == granted.nonce && map.options == Options::default();
        (same && left >= lifetime * 3 / 4).then(|| pcp::map(&map, granted.external, left, age))
    }

    /// The request to the server, whose answer a host waits for from now on.
    ///
    /// # Errors
    /// The result code to answer with instead.
    fn pass_on(
        &mut self,
        now: Duration,
        client: SocketAddr,
        internal: Internal,
        mut message: Vec<u8>,
        asked: Asked,
    ) -> Result<Vec<u8>, ResultCode> {
        let named = self.hosts.adapt(&mut message, self.own, &internal)?;
        let question = Question::read(&message).filter(|_| message.len() <= pcp::LONGEST);
        let waiting = Waiting {
            client,
            internal,
            since: now,
            asked,
        };
        let question = question.ok_or(ResultCode::MalformedRequest)?;
        self.waiting.insert((named, question), waiting);
        Ok(message)
    }

    /// RFC 6886 section 3.
    fn nat_pmp(
        &mut self,
        now: Duration,
        client: SocketAddr,
        host: Ipv4Addr,
        request: &[u8],
    ) -> Option<Passed> {
        let age = self.age(now);
        match nat_pmp::Request::read(request)? {
            nat_pmp::Request::Unknown => Some(Passed::answered(nat_pmp::unsupported(request))),
            nat_pmp::Request::Address => {
                let mut granted = self.granted.iter();
                let known = granted.find(|(internal, _)| internal.host == IpAddr::V4(host));
                if let Some((_, granted)) = known {
                    let address = Some(*granted.external.ip());
                    let result = nat_pmp::ResultCode::Success;
                    return Some(Passed::answered(nat_pmp::address(result, age, address)));
                }
                let map = nat_pmp_map(host, Protocol::Udp, (PROBE_PORT, 0));
                let asked = Asked::NatPmpAddress;
                let passed = self.ask(now, client, host, (PROBE_LIFETIME, &map), asked);
                Some(passed.unwrap_or_else(|result| {
                    let result = nat_pmp::ResultCode::of_pcp(result as u8);
                    Passed::answered(nat_pmp::address(result, age, None))
                }))
            }
            nat_pmp::Request::Map(wanted) if wanted.internal_port == 0 => {
                Some(self.end_all(now, client, host, wanted))
            }
            nat_pmp::Request::Map(wanted) => Some(self.map_nat_pmp(now, client, host, wanted)),
        }
    }

    /// Passes on what a host wants by NAT-PMP (RFC 6886 section 3.3), or ends it (section 3.4).
    fn map_nat_pmp(
        &mut self,
        now: Duration,
        client: SocketAddr,
        host: Ipv4Addr,
        wanted: Wanted,
    ) -> Passed {
        let Wanted {
            protocol, lifetime, ..
        } = wanted;
        let age = self.age(now);
        let map = nat_pmp_map(
            host,
            protocol,
            (wanted.internal_port, wanted.suggested_port),
        );
        let answer = |result, lifetime| {
            let ports = (wanted.internal_port, 0);
            Passed::answered(nat_pmp::map(protocol, result, age, ports, lifetime))
        };
        let internal = internal_of(host, &map);
        if lifetime.is_zero() {
            self.granted.remove(&internal);
            if !self.hosts.knows(&internal) {
                return answer(nat_pmp::ResultCode::Success, lifetime);
            }
        }
        let asked = Asked::NatPmpMap(protocol, lifetime);
        let passed = self.ask(now, client, host, (lifetime, &map), asked);
        passed.unwrap_or_else(|result| {
            let result = nat_pmp::ResultCode::of_pcp(result as u8);
            answer(result, Duration::ZERO)
        })
    }

    /// Asks for a mapping of a host that asked by NAT-PMP.
    fn ask(
        &mut self,
        now: Duration,
        client: SocketAddr,
        host: Ipv4Addr,
        (lifetime, map): (Duration, &Map),
        asked: Asked,
    ) -> Result<Passed, ResultCode> {
        let message = pcp::map_request(lifetime, self.own, map);
        let internal = internal_of(host, map);
        let message = self.pass_on(now, client, internal, message, asked)?;
        Ok(Passed::on(message))
    }

    /// Ends all mappings of a host and protocol that it asked for by NAT-PMP (RFC 6886 section 3.4),
    /// as far as they are known here.
    fn end_all(
        &mut self,
        now: Duration,
        client: SocketAddr,
        host: Ipv4Addr,
        Wanted {
            protocol, lifetime, ..
        }: Wanted,
    ) -> Passed {
        let refused = nat_pmp::ResultCode::NotAuthorized;
        let done = nat_pmp::ResultCode::Success;
        let result = if lifetime.is_zero() { done } else { refused };
        let answer = nat_pmp::map(protocol, result, self.age(now), (0, 0), Duration::ZERO);
        let mut passed = Passed::answered(answer);
        if !lifetime.is_zero() {
            return passed;
        }
        let (address, nonce) = (IpAddr::V4(host), nat_pmp_nonce(host));
        let number = protocol.number();
        let its = |(internal, granted): &(Internal, Granted)| {
            (internal.host, internal.protocol, granted.nonce) == (address, number, nonce)
        };
        let all = self.granted.iter().map(|(of, granted)| (*of, *granted));
        let all: Vec<_> = all.filter(its).collect();
        for (internal, _) in all {
            self.granted.remove(&internal);
            let map = nat_pmp_map(host, protocol, (internal.port, 0));
            let ended = self.ask(now, client, host, (Duration::ZERO, &map), Asked::Nothing);
            passed.on.extend(ended.into_iter().flat_map(|it| it.on));
        }
        passed
    }

    /// The answer to the host that waits for a response.
    fn answer(
        &mut self,
        now: Duration,
        response: &Response,
        message: &[u8],
    ) -> Option<(SocketAddr, Vec<u8>)> {
        let question = Question::read(message)?;
        let mut answer = message.to_vec();
        let named = self.hosts.named(&mut answer, self.own)?;
        let waiting = self.waiting.remove(&(named, question))?;
        let internal = waiting.internal;
        let external = pcp::external(message);
        if let Some(external) = external
            && question.opcode == pcp::MAP
            && response.result == 0
            && !response.lifetime.is_zero()
        {
            let granted = Granted {
                nonce: question.nonce,
                external,
                ends: now.saturating_add(response.lifetime),
            };
            self.granted.insert(internal, granted);
        }
        let age = self.age(now);
        let result = nat_pmp::ResultCode::of_pcp(response.result);
        let fine = result == nat_pmp::ResultCode::Success;
        let answer = match waiting.asked {
            Asked::Nothing => return None,
            Asked::Pcp => {
                pcp::set_internal_port(&mut answer, internal.port);
                pcp::set_epoch(&mut answer, age);
                answer
            }
            Asked::NatPmpAddress => {
                let address = external.filter(|_| fine).map(|external| *external.ip());
                nat_pmp::address(result, age, address)
            }
            Asked::NatPmpMap(protocol, asked) => {
                let port = external.filter(|_| fine && !asked.is_zero());
                let ports = (internal.port, port.map_or(0, |external| external.port()));
                let lifetime = if fine {
                    response.lifetime.min(asked)
                } else {
                    Duration::ZERO
                };
                nat_pmp::map(protocol, result, age, ports, lifetime)
            }
        };
        Some((waiting.client, answer))
    }
}

/// The inside endpoint of a mapping that a host asks for by NAT-PMP.
fn internal_of(host: Ipv4Addr, map: &Map) -> Internal {
    Internal {
        host: host.into(),
        protocol: map.protocol,
        port: map.internal_port,
    }
}

/// The nonce of mappings that a host asks for by NAT-PMP, which has none: always the same, so that they
/// can be renewed after a restart. As with NAT-PMP itself, its address is all that a host is known by.
fn nat_pmp_nonce(host: Ipv4Addr) -> Nonce {
    let mut nonce = *b"NAT-PMP\0\0\0\0\0";
    crate::bytes::put(&mut nonce, 8, &host.octets());
    nonce
}

fn nat_pmp_map(host: Ipv4Addr, protocol: Protocol, (internal, suggested): (u16, u16)) -> Map {
    Map {
        nonce: nat_pmp_nonce(host),
        protocol: protocol.number(),
        internal_port: internal,
        suggested: SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, suggested),
        options: Options::default(),
    }
}
