//! A state machine beside the NAT: bindings, sessions, filtering, timers and limits of RFC 6146 sections 3.2 to 3.5
//! in hash maps, for TCP, UDP and ICMP queries, with tables so small that they fill. What it says of a packet is what
//! the NAT does. The sweeper comes by at any time, and until then nothing that has expired is gone.

mod expected;

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use crate::support::*;
use isthmus_core::nat::{self, *};
use isthmus_core::reason::Counter;
use isthmus_core::verdict::Refusal;
use proptest::prelude::*;

use expected::{Bound, Far, Model, Session, bound, far, from_inside, from_outside};

#[derive(Clone, Copy, Debug)]
enum Step {
    Out {
        host: u8,
        remote: u8,
        transport: Transport,
    },
    In {
        outside: u8,
        remote: u8,
        transport: Transport,
    },
    Pass {
        seconds: u64,
    },
    Sweep,
}

fn step() -> impl Strategy<Value = Step> {
    // More than a second, so that every packet is worth a write.
    let seconds = prop_oneof![4 => 2..100_u64, 2 => 200..400_u64, 1 => 7000..8000_u64];
    prop_oneof![
        8 => (0..12_u8, 0..5_u8, transport())
            .prop_map(|(host, remote, transport)| Step::Out { host, remote, transport }),
        7 => (any::<u8>(), 0..5_u8, transport())
            .prop_map(|(outside, remote, transport)| Step::In { outside, remote, transport }),
        3 => seconds.prop_map(|seconds| Step::Pass { seconds }),
        2 => Just(Step::Sweep),
    ]
}

fn transport() -> impl Strategy<Value = Transport> {
    // SYN, SYN-ACK, ACK, FIN, RST and RST-ACK.
    let flags = prop_oneof![
        3 => Just(0x02_u8),
        2 => Just(0x12_u8),
        3 => Just(0x10_u8),
        2 => Just(0x11_u8),
        1 => Just(0x04_u8),
        1 => Just(0x14_u8),
    ];
    prop_oneof![
        5 => flags.prop_map(|flags| Transport::Tcp(TcpFlags(flags))),
        2 => Just(Udp),
        1 => Just(Icmp),
    ]
}

/// Hosts of three subscribers, each with two endpoints of both parities.
fn host(number: u8) -> Inside {
    let (subscriber, number) = (number % 3, number / 3);
    let address = format!("2001:db8:{subscriber}::{}", number / 2);
    inside(&address, 2000 + u16::from(number % 2))
}

/// Three addresses, two of them with two ports; an ICMP query has no remote port.
fn remote(number: u8, protocol: Protocol) -> Endpoint4 {
    let port = if protocol == Protocol::Icmp {
        0
    } else {
        53 + u16::from(number / 3)
    };
    v4(&format!("192.0.2.{}", number % 3), port)
}

/// The NAT and its model.
struct Both {
    setup: Setup,
    nat: Nat,
    model: Model,
    /// All outside endpoints that ever were.
    seen: Vec<Endpoint4>,
}

impl Both {
    fn new(setup: Setup) -> Self {
        let nat = setup.nat();
        let model = Model {
            now: nat.host.now,
            ..Model::default()
        };
        Self {
            setup,
            nat,
            model,
            seen: vec![v4("203.0.113.1", 40_000)],
        }
    }

    /// A pair of buckets may be full from eight entries on. Sessions share their table with permissions.
    fn may_be_crowded(&self) -> bool {
        let taken = occupancy(&self.nat.host.memory[..], &self.nat.cfg);
        taken.sessions >= 8 || taken.bindings >= 8
    }

    fn out(
        &mut self,
        client: Inside,
        peer: Endpoint4,
        transport: Transport,
    ) -> Result<(), TestCaseError> {
        let key = bound(transport.protocol(), client);
        let place = (key, far(peer));
        let answer = self.nat.out(client, peer, transport);
        let now = self.model.now;
        let old = self.model.sessions.get(&place).copied();
        let current = old.and_then(|session| session.at(now));
        let known = self.model.bindings.get(&key).copied();
        if let Some((_, outside)) = known.filter(|_| current.is_some()) {
            prop_assert_eq!(answer, Ok(outside));
            let after = from_inside(current, transport, now).unwrap();
            self.model.sessions.insert(place, after);
            return Ok(());
        }
        let Some(made) = from_inside(None, transport, now) else {
            // RFC 6146 section 3.5.2.2, CLOSED: a segment that opens nothing passes if there is a binding.
            let expected = known
                .map(|(_, outside)| outside)
                .ok_or(Refusal::Drop(Counter::TcpNotSyn));
            prop_assert_eq!(answer, expected);
            return Ok(());
        };
        // An endpoint whose binding is in use may answer a stranger, and passes without a session as well.
        let answers = self.setup.filtering == Filtering::EndpointIndependent
            && known.is_some()
            && self.model.sessions.keys().any(|(bound, _)| *bound == key);
        let (mut binding, mut session) = self.model.reasons(&self.setup, &key, answers);
        if known.is_some() {
            binding.clear();
        }
        if old.is_some() {
            // It has expired, and takes its own place.
            session.clear();
        }
        self.learn(key, client)?;
        match answer {
            Ok(outside) if answers && old.is_none() && !self.lists(place) => {
                prop_assert_eq!(known.map(|(_, outside)| outside), Some(outside));
                prop_assert!(!session.is_empty() || self.may_be_crowded(), "no session");
            }
            Ok(outside) => {
                prop_assert!(
                    binding.is_empty() && session.is_empty(),
                    "passes in spite of {binding:?} {session:?}"
                );
                prop_assert_eq!(
                    self.model.bindings.get(&key).map(|(_, outside)| *outside),
                    Some(outside)
                );
                self.keep(key, place.1, made);
            }
            Err(Refusal::Drop(counter) | Refusal::Reply(_, counter)) => {
                prop_assert!(!answers, "{counter:?}, though it needs no session");
                let crowded = old.is_none() && self.may_be_crowded();
                self.refused(key.0, counter, &[binding, session].concat(), crowded)?;
            }
            Err(Refusal::Slow(_)) => prop_assert!(false, "user space leaves nothing to others"),
        }
        Ok(())
    }

    /// A packet was refused: for one of these reasons, or because its buckets are full.
    fn refused(
        &mut self,
        protocol: u8,
        counter: Counter,
        reasons: &[Counter],
        crowded: bool,
    ) -> Result<(), TestCaseError> {
        let crowded = crowded && counter == Counter::TableFull;
        prop_assert!(
            reasons.contains(&counter) || crowded,
            "{counter:?}, and not one of {reasons:?}"
        );
        if counter == Counter::PoolExhausted {
            self.model.exhausted.insert(protocol);
        }
        Ok(())
    }

    /// Whether the NAT has a session.
    fn lists(&self, place: (Bound, Far)) -> bool {
        let (memory, cfg) = (&self.nat.host.memory[..], &self.nat.cfg);
        let look = |session: nat::Session| {
            let key = bound(session.binding.protocol, session.binding.inside);
            if (key, far(session.remote)) == place {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        sessions(memory, cfg, 0..cfg.layout.buckets(), look).is_break()
    }

    /// The binding that the NAT has made for an endpoint, with a session or without: its port is free and of the pool.
    fn learn(&mut self, key: Bound, client: Inside) -> Result<(), TestCaseError> {
        let found = bindings(&self.nat.host.memory[..], &self.nat.cfg)
            .find(|binding| bound(binding.protocol, binding.inside) == key);
        let Some(found) = found.filter(|_| !self.model.bindings.contains_key(&key)) else {
            return Ok(());
        };
        let outside = found.outside;
        let taken = self
            .model
            .bindings
            .iter()
            .any(|(other, (_, theirs))| other.0 == key.0 && *theirs == outside);
        prop_assert!(!taken, "{outside:?} has two owners");
        let of_pool = |range: &PoolRange| {
            outside.address.number().wrapping_sub(range.first) < range.count
                && (range.low..=range.high).contains(&outside.port)
        };
        prop_assert!(self.setup.pool.iter().any(of_pool), "{outside:?}");
        self.model.bindings.insert(key, (client, outside));
        self.seen.push(outside);
        Ok(())
    }

    fn back(
        &mut self,
        outside: Endpoint4,
        peer: Endpoint4,
        transport: Transport,
    ) -> Result<(), TestCaseError> {
        let protocol = transport.protocol();
        let now = self.model.now;
        let answer = self.nat.back(outside, peer, transport);
        let owner = self
            .model
            .bindings
            .iter()
            .find(|(key, (_, o))| key.0 == protocol as u8 && *o == outside);
        let Some((key, (client, _))) = owner.map(|(key, binding)| (*key, *binding)) else {
            prop_assert_eq!(answer, Err(Refusal::Drop(Counter::NoBinding)));
            return Ok(());
        };
        let session = self
            .model
            .sessions
            .get(&(key, far(peer)))
            .and_then(|session| session.at(now));
        if let Some(session) = session {
            prop_assert_eq!(answer, Ok(client));
            let after = from_outside(session, transport, now);
            self.model.sessions.insert((key, far(peer)), after);
            return Ok(());
        }
        let filtered = Err(Refusal::Drop(Counter::Filtered));
        let permission = (key, far(peer).0);
        let permitted = self
            .model
            .permissions
            .get(&permission)
            .is_some_and(|until| *until > now);
        let expected = match self.setup.filtering {
            Filtering::AddressDependent if protocol == Protocol::Icmp || !permitted => filtered,
            Filtering::AddressDependent
                if answer == filtered && self.model.doubtful.contains(&permission) =>
            {
                filtered
            }
            _ => Ok(client),
        };
        prop_assert_eq!(answer, expected);
        Ok(())
    }

    fn keep(&mut self, key: Bound, peer: Far, session: Session) {
        let crowded = self.may_be_crowded();
        self.model.keep(key, peer, session, crowded);
    }

    fn sweep(&mut self) -> Result<(), TestCaseError> {
        let crowded = self.may_be_crowded();
        let events = self.nat.sweep();
        let (mut sessions, mut bindings) = (HashSet::new(), HashSet::new());
        for event in events {
            match event {
                Event::SessionRemoved(session) => {
                    let key = bound(session.binding.protocol, session.binding.inside);
                    prop_assert!(sessions.insert((key, far(session.remote))), "told twice");
                }
                Event::BindingRemoved(binding) => {
                    prop_assert!(
                        bindings.insert(bound(binding.protocol, binding.inside)),
                        "told twice"
                    );
                }
                _ => {}
            }
        }
        prop_assert_eq!((sessions, bindings), self.model.sweep(crowded));
        self.compare()
    }

    /// What the tables list is what the model has.
    fn compare(&self) -> Result<(), TestCaseError> {
        let (memory, cfg) = (&self.nat.host.memory[..], &self.nat.cfg);
        let mut listed = HashMap::new();
        let _ = sessions(memory, cfg, 0..cfg.layout.buckets(), |session| {
            let key = bound(session.binding.protocol, session.binding.inside);
            let state = Session {
                state: session.state,
                expires: session.expires,
            };
            listed.insert((key, far(session.remote)), state);
            ControlFlow::Continue(())
        });
        prop_assert_eq!(&listed, &self.model.sessions);
        let listed: HashMap<Bound, Endpoint4> = bindings(memory, cfg)
            .map(|binding| (bound(binding.protocol, binding.inside), binding.outside))
            .collect();
        let known = self
            .model
            .bindings
            .iter()
            .map(|(key, (_, outside))| (*key, *outside))
            .collect();
        prop_assert_eq!(listed, known);
        Ok(())
    }

    fn run(&mut self, steps: &[Step]) -> Result<(), TestCaseError> {
        for step in steps {
            match *step {
                Step::Out {
                    host: number,
                    remote: peer,
                    transport,
                } => {
                    self.out(host(number), remote(peer, transport.protocol()), transport)?;
                }
                Step::In {
                    outside,
                    remote: peer,
                    transport,
                } => {
                    let outside = self.seen[usize::from(outside) % self.seen.len()];
                    self.back(outside, remote(peer, transport.protocol()), transport)?;
                }
                Step::Pass { seconds } => {
                    self.nat.pass(seconds);
                    self.model.now = self.nat.host.now;
                    self.model.exhausted.clear();
                }
                Step::Sweep => self.sweep()?,
            }
        }
        // In the end everything is over.
        self.nat.pass(7440 + 240);
        self.model.now = self.nat.host.now;
        self.sweep()?;
        let left = occupancy(&self.nat.host.memory[..], &self.nat.cfg);
        prop_assert_eq!((left.sessions, left.bindings), (0, 0));
        Ok(())
    }
}

/// Tables with room for a few entries, and as many ports as there are endpoints, less a few.
fn small() -> Setup {
    Setup {
        capacity: Capacity {
            sessions: 18,
            bindings: 12,
            permissions: 18,
            subscribers: 12,
            fragments: 6,
            traffic: false,
        },
        pool: vec![range("203.0.113.1", 1, 40_000, 40_006)],
        ..Setup::default()
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everybody_may_send(steps in steps()) {
        Both::new(Setup::default()).run(&steps)?;
    }

    #[test]
    fn only_addresses_that_were_sent_to_may_send(steps in steps()) {
        Both::new(Setup { filtering: Filtering::AddressDependent, ..Setup::default() }).run(&steps)?;
    }

    #[test]
    fn tables_and_ports_are_few(steps in steps()) {
        Both::new(small()).run(&steps)?;
    }

    #[test]
    fn tables_and_ports_are_few_and_addresses_filtered(steps in steps()) {
        Both::new(Setup { filtering: Filtering::AddressDependent, ..small() }).run(&steps)?;
    }

    #[test]
    fn subscribers_have_limits(steps in steps()) {
        let limits = Limits { bindings: 3, sessions: 5, session_interval: 0 };
        Both::new(Setup { limits, ..Setup::default() }).run(&steps)?;
    }
}
