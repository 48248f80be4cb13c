//! Attacks on a gateway, each with a victim beside it: a customer whom the attack must not concern.
//!
//! An [`Attack`] is data: a configuration, packets and their rates, and what the victim asks for. One frame
//! ([`run()`]) does the same with each: it asks before the attack, beside a harmless load of the same rate, and under
//! the attack, on the same path. [`Row::held`] is the promise.

mod arena;
mod echo;
mod fill;
mod flood;
mod flows;
mod foreign_frames;
mod fragments;
mod full_address;
mod full_tables;
mod icmp;
mod inbound_flood;
mod names;
mod neighbours;
mod new_flows;
mod open_relay;
mod outcome;
mod packets;
mod pcp_hoard;
mod port_prediction;
mod ports;
mod predict;
mod record_flood;
mod report;
mod responder;
mod server;
mod services;
mod shared_address;
mod spray;
mod table;
mod victim;

use std::{any::Any, sync::Arc, thread, time::Duration};

use self::arena::Arena;
use crate::{
    Result,
    network::topology::SIX,
    subjects::isthmus::{Engine, Instance, Isthmus, Keys, Mechanism},
};

pub use self::{
    flood::{Flood, Packets, Rate},
    fragments::lonely_fragment,
    icmp::{forged_error, unreachable},
    outcome::{Gain, Refusals, Row, Sample, Service},
    packets::datagram,
    report::{Report, read, write},
    table::{HEADING, MARK, page},
};

/// All engines.
const ENGINES: &[Engine] = &Engine::ALL;
/// The keys of a NAT64 without its pool. The customers' networks are those of attacker and victim.
const NAT64: &str = "mechanism = \"nat64\"\nprefix = \"2001:db8:64::/96\"\n\
                     inside = [\"2001:db8:6::/47\", \"2001:db8:8::/46\"]";
/// A pool of 16 addresses.
const POOL: &str = "pool = [ { addresses = \"203.0.113.0/28\" } ]";
/// A DNS64 service.
const DNS64: &str = "[dns64]\nlisten = [\"[2001:db8:6::1]:53\", \"[2001:db8:7::1]:53\", \"[2001:db8:4::1]:53\"]\n\
                     upstream = [\"198.51.100.4:53\"]\nallow = [\"2001:db8:6::/47\"]";
/// The time between the beginning of a load and the first question beside it.
const SETTLE: Duration = Duration::from_millis(200);

/// An attack.
#[derive(Debug, Clone, Copy)]
pub struct Attack {
    /// Its name.
    pub name: &'static str,
    /// The number of the finding that it repeats.
    pub finding: &'static str,
    /// The attack and its victim, in a sentence or two.
    pub about: &'static str,
    /// The engines that it concerns.
    pub engines: &'static [Engine],
    keys: Keys,
    rates: &'static [Rate],
    services: &'static [Service],
    prepare: fn(&Arena) -> Result<Assault>,
    gain: Option<fn(&Arena) -> Result<Gain>>,
}

/// An attack that has been prepared.
struct Assault {
    packets: Packets,
    from: Side,
    /// Resources that have to stay as long as the attack lasts.
    held: Option<Box<dyn Any>>,
}

/// The place of an attacker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Among the customers.
    Inside,
    /// On the uplink.
    Outside,
}

impl Assault {
    /// Returns an assault of packets by their number, from the attacker's link.
    fn from_inside(packet: impl Fn(u64) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self {
            packets: Arc::new(packet),
            from: Side::Inside,
            held: None,
        }
    }

    /// Returns an assault of packets by their number, from the stranger's link.
    fn from_outside(packet: impl Fn(u64) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self {
            from: Side::Outside,
            ..Self::from_inside(packet)
        }
    }

    /// Returns an assault without packets.
    fn still() -> Self {
        Self::from_inside(packets::harmless)
    }
}

impl Attack {
    /// Returns the attack at the lowest of its rates.
    pub fn at_lowest_rate(self) -> Self {
        Self {
            rates: &self.rates[..1],
            ..self
        }
    }
}

/// Returns all attacks, in the order of the table.
pub fn all() -> Vec<Attack> {
    vec![
        full_address::ATTACK,
        inbound_flood::ATTACK,
        inbound_flood::ON_CUSTOMER,
        inbound_flood::ON_SERVER,
        port_prediction::ATTACK,
        open_relay::ATTACK,
        open_relay::RESOLVER,
        services::NAMES,
        pcp_hoard::ATTACK,
        new_flows::ATTACK,
        spray::ATTACK,
        fragments::ATTACK,
        fragments::FROM_INSIDE,
        fragments::FIRST,
        fragments::LATER,
        fragments::ATOMIC,
        icmp::EXPIRING,
        icmp::FORGED,
        icmp::TOO_LARGE,
        icmp::CUT,
        foreign_frames::ATTACK,
        shared_address::ATTACK,
        neighbours::ATTACK,
        record_flood::ATTACK,
        full_tables::POOL,
        full_tables::TABLE,
        services::METRICS,
    ]
}

/// Runs an attack on one engine at each of its rates, and calls `progress` with each row. A victim asks for as long
/// as `window` in each phase.
pub fn run(
    attack: &Attack,
    engine: Engine,
    window: Duration,
    mut progress: impl FnMut(Row),
) -> Result<()> {
    let instance = Instance::new(attack.name, attack.keys);
    let arena = Arena::build(Isthmus::new(engine, Mechanism::Other(instance)))?;
    let before = victim::measure(&arena, attack.services, window)?;
    let mut beside = Vec::new();
    for rate in attack.rates {
        beside.push(beside_harmless(&arena, attack, *rate, window)?);
    }
    let assault = (attack.prepare)(&arena)?;
    let mut next = 0;
    for (rate, beside) in attack.rates.iter().zip(beside) {
        let refused = arena.refusals()?;
        let load = Load::start(&arena, &assault, next, *rate)?;
        arena.take_opened();
        let under = victim::measure(&arena, attack.services, window)?;
        let count = load.stop(&arena)?;
        next += count.packets;
        progress(Row {
            attack: attack.name.into(),
            engine: engine.name().into(),
            rate: *rate,
            sent: count.sent,
            arrived: count.arrived,
            before: before.clone(),
            beside,
            under,
            gain: attack.gain.map(|gain| gain(&arena)).transpose()?,
            refusals: since(arena.refusals()?, &refused),
        });
    }
    drop(assault.held);
    Ok(())
}

/// Asks beside a harmless load of this rate.
fn beside_harmless(
    arena: &Arena,
    attack: &Attack,
    rate: Rate,
    window: Duration,
) -> Result<Vec<Sample>> {
    if rate == Rate::Still {
        return Ok(Vec::new());
    }
    let harmless = Assault::from_inside(packets::harmless);
    let load = Load::start(arena, &harmless, 0, rate)?;
    let samples = victim::measure(arena, attack.services, window)?;
    load.stop(arena)?;
    Ok(samples)
}

/// A load that is being sent, and counted where it arrives.
struct Load {
    flood: Flood,
    interface: &'static str,
    arrived: u64,
}

/// The packets of a load: those sent, and those a second that were sent and that arrived.
struct Count {
    packets: u64,
    sent: u64,
    arrived: u64,
}

impl Load {
    fn start(arena: &Arena, assault: &Assault, first: u64, rate: Rate) -> Result<Self> {
        let (node, interface) = match assault.from {
            Side::Inside => (arena.attacker()?, SIX),
            Side::Outside => (arena.stranger()?, arena::UPLINK),
        };
        let load = Self {
            arrived: arena.arrived(interface)?,
            flood: Flood::start(node, &assault.packets, first, rate)?,
            interface,
        };
        thread::sleep(SETTLE);
        Ok(load)
    }

    fn stop(self, arena: &Arena) -> Result<Count> {
        let (packets, seconds) = self.flood.stop()?;
        let arrived = arena.arrived(self.interface)?.saturating_sub(self.arrived);
        let per_second = |count: u64| (count as f64 / seconds).round() as u64;
        Ok(Count {
            packets,
            sent: per_second(packets),
            arrived: per_second(arrived),
        })
    }
}

/// Returns the refusals after an earlier state.
fn since(mut now: Refusals, before: &Refusals) -> Refusals {
    for (name, count) in &mut now {
        *count = count.saturating_sub(before.get(name).copied().unwrap_or(0));
    }
    now.retain(|_, count| *count > 0);
    now
}
