//! A host for the tests of the NAT: memory, a clock that the test moves, repeatable chance.

use std::cell::Cell;
use std::net::{Ipv4Addr, Ipv6Addr};

use isthmus_core::address::V4;
use isthmus_core::host::{Destination, Host, Route, Thorough};
use isthmus_core::nat::*;
use isthmus_core::reason::Counter;
use isthmus_core::table::{Line, Memory};
use isthmus_core::time::{Instant, Span};
use isthmus_core::verdict::{Refusal, Slow};

pub(crate) use isthmus_core::nat::Transport::{Icmp, Udp};

/// What tests change of a configuration.
pub(crate) struct Setup {
    pub(crate) capacity: Capacity,
    pub(crate) pool: Vec<PoolRange>,
    pub(crate) filtering: Filtering,
    pub(crate) pooling: Pooling,
    pub(crate) subscriber: Subscriber,
    pub(crate) limits: Limits,
    pub(crate) blocks: Blocks,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            capacity: Capacity {
                sessions: 4096,
                bindings: 4096,
                permissions: 4096,
                subscribers: 256,
                fragments: 64,
                traffic: false,
            },
            pool: vec![range("203.0.113.1", 1, 1024, 65_535)],
            filtering: Filtering::EndpointIndependent,
            pooling: Pooling::Soft,
            subscriber: Subscriber::v6_prefix(64),
            limits: Limits::default(),
            blocks: Blocks::None,
        }
    }
}

impl Setup {
    pub(crate) fn config(&self) -> NatConfig {
        NatConfig {
            layout: Layout::new(3, &self.capacity),
            seed: [
                0x243f_6a88_85a3_08d3,
                0x1319_8a2e_0370_7344,
                0xa409_3822_299f_31d0,
                0x082e_fa98_ec4e_6c89,
                0x4528_21e6_38d0_1377,
                0xbe54_66cf_34e9_0c6c,
            ],
            secret: [0x3bd3_9e10_cb0e_f593, 0xc0ac_f169_b5f1_8a8c],
            filtering: self.filtering,
            unsolicited_syn: UnsolicitedSyn::Drop,
            pooling: self.pooling,
            subscriber: self.subscriber,
            limits: self.limits,
            own_limits: 0,
            blocks: self.blocks,
            timers: Timers::default(),
            pool: Pool::new(&self.pool).unwrap(),
        }
    }

    pub(crate) fn nat(&self) -> Nat {
        let cfg = self.config();
        Nat {
            host: TestHost::new(&cfg),
            cfg,
        }
    }
}

pub(crate) struct TestHost {
    pub(crate) memory: Vec<Line>,
    pub(crate) now: Instant,
    pub(crate) random: u64,
    pub(crate) counts: Vec<u64>,
    /// An address that the machine has, too.
    pub(crate) own: Option<V4>,
}

impl TestHost {
    pub(crate) fn new(cfg: &NatConfig) -> Self {
        Self {
            own: None,
            memory: memory(cfg),
            now: Instant(1_000_000),
            random: 0x9e37_79b9_7f4a_7c15,
            counts: vec![0; Counter::ALL.len()],
        }
    }

    pub(crate) fn counted(&self, counter: Counter) -> u64 {
        self.counts[counter as usize]
    }
}

pub(crate) fn memory(cfg: &NatConfig) -> Vec<Line> {
    (0..cfg.layout.end()).map(|_| Line::default()).collect()
}

/// xorshift64*.
pub(crate) fn next_random(state: &mut u64) -> u32 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
}

impl Host for TestHost {
    type Effort = Thorough;
    type State = [Line];
    type Rules = [Line];

    fn state(&self) -> &[Line] {
        &self.memory
    }

    fn rules(&self) -> &[Line] {
        &[]
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn random(&mut self) -> u32 {
        next_random(&mut self.random)
    }

    fn select(&mut self, _instance: u32) {}

    fn count(&mut self, counter: Counter) {
        self.counts[counter as usize] += 1;
    }

    fn is_local(&self, address: V4) -> bool {
        self.own == Some(address)
    }

    fn route(&mut self, _to: Destination) -> Result<Option<Route>, Slow> {
        Ok(None)
    }
}

/// A host whose memory is everybody's, and whose clock stands still.
pub(crate) struct SharedHost<'m> {
    memory: &'m [Line],
    random: u64,
}

impl<'m> SharedHost<'m> {
    pub(crate) const NOW: Instant = Instant(1_000_000);

    pub(crate) fn new(memory: &'m [Line], seed: u64) -> Self {
        Self {
            memory,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        }
    }
}

impl Host for SharedHost<'_> {
    type Effort = Thorough;
    type State = [Line];
    type Rules = [Line];

    fn state(&self) -> &[Line] {
        self.memory
    }

    fn rules(&self) -> &[Line] {
        &[]
    }

    fn now(&self) -> Instant {
        Self::NOW
    }

    fn random(&mut self) -> u32 {
        next_random(&mut self.random)
    }

    fn select(&mut self, _instance: u32) {}

    fn count(&mut self, _counter: Counter) {}

    fn route(&mut self, _to: Destination) -> Result<Option<Route>, Slow> {
        Ok(None)
    }
}

/// A NAT and its host.
pub(crate) struct Nat {
    pub(crate) host: TestHost,
    pub(crate) cfg: NatConfig,
}

impl Nat {
    pub(crate) fn out(
        &mut self,
        inside: Inside,
        remote: Endpoint4,
        transport: Transport,
    ) -> Result<Endpoint4, Refusal> {
        outbound(
            &mut self.host,
            &self.cfg,
            Thorough,
            &inside,
            remote,
            transport,
        )
    }

    pub(crate) fn back(
        &mut self,
        outside: Endpoint4,
        remote: Endpoint4,
        transport: Transport,
    ) -> Result<Inside, Refusal> {
        inbound(
            &mut self.host,
            &self.cfg,
            Thorough,
            outside,
            remote,
            transport,
        )
    }

    /// Lets time pass, without the sweeper.
    pub(crate) fn pass(&mut self, seconds: u64) {
        self.host.now = self.host.now + Span::from_secs(seconds);
    }

    pub(crate) fn sweep(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        sweep(
            &self.host.memory[..],
            &self.cfg,
            self.host.now,
            0..self.cfg.layout.buckets(),
            |event| events.push(event),
        );
        events
    }
}

/// A NAT in which one host has so many sessions, each from a port of its own, from 5000 on.
pub(crate) fn with_sessions(count: u16) -> Nat {
    let mut nat = Setup::default().nat();
    for port in 0..count {
        nat.out(
            inside("2001:db8:1::1", 5000 + port),
            v4("192.0.2.1", 53),
            Udp,
        )
        .unwrap();
    }
    nat
}

/// Memory that counts how often a line of it is asked for.
pub(crate) struct Counting<'a> {
    lines: &'a [Line],
    pub(crate) reads: Cell<u64>,
}

impl<'a> Counting<'a> {
    pub(crate) fn new(lines: &'a [Line]) -> Self {
        let reads = Cell::new(0);
        Self { lines, reads }
    }
}

impl Memory for Counting<'_> {
    fn line(&self, index: u32) -> Option<&Line> {
        self.reads.set(self.reads.get() + 1);
        self.lines.line(index)
    }
}

pub(crate) fn range(first: &str, count: u32, low: u16, high: u16) -> PoolRange {
    let first: Ipv4Addr = first.parse().unwrap();
    PoolRange::new(first.into(), count, low, high)
}

pub(crate) fn inside(address: &str, port: u16) -> Inside {
    Inside {
        address: address.parse::<Ipv6Addr>().unwrap().into(),
        port,
        ..Inside::default()
    }
}

/// A host of a subscriber that has a /64.
pub(crate) fn host(subscriber: u32, port: u16) -> Inside {
    inside(&format!("2001:db8:0:{subscriber:x}::1"), port)
}

pub(crate) fn v4(address: &str, port: u16) -> Endpoint4 {
    Endpoint4 {
        address: address.parse::<Ipv4Addr>().unwrap().into(),
        port,
    }
}
