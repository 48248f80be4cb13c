//! Random operations against a model that knows no hash tables: mappings are endpoint
//! independent, no outside endpoint has two owners, and everything ends when RFC 6146 says.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use crate::support::*;
use isthmus_core::nat::*;
use isthmus_core::reason::Counter;
use isthmus_core::time::{Instant, Span};
use isthmus_core::verdict::Refusal;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Out {
        host: u16,
        port: u16,
        remote: u16,
        icmp: bool,
    },
    In {
        outside: usize,
        remote: u16,
        icmp: bool,
    },
    Pass {
        seconds: u64,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => (0..4_u16, 0..4_u16, 0..6_u16, any::<bool>())
            .prop_map(|(host, port, remote, icmp)| Operation::Out { host, port, remote, icmp }),
        3 => (0..12_usize, 0..6_u16, any::<bool>())
            .prop_map(|(outside, remote, icmp)| Operation::In { outside, remote, icmp }),
        1 => (1..200_u64).prop_map(|seconds| Operation::Pass { seconds }),
    ]
}

fn transport(icmp: bool) -> Transport {
    if icmp { Icmp } else { Udp }
}

fn host(host: u16, port: u16) -> Inside {
    inside(&format!("2001:db8:{host}::1"), 500 + port * 501)
}

/// Three addresses with two ports each; an ICMP query has no remote port.
fn remote(number: u16, icmp: bool) -> Endpoint4 {
    let port = if icmp { 0 } else { 53 + number % 2 };
    v4(&format!("192.0.2.{}", number / 2), port)
}

/// An endpoint with its protocol, to be a key: nothing of the implementation.
type Key = (bool, u128, u16);

fn inside_key(icmp: bool, inside: Inside) -> Key {
    let (high, low) = inside.address.halves();
    (icmp, u128::from(high) << 64 | u128::from(low), inside.port)
}

fn outside_key(icmp: bool, outside: Endpoint4) -> Key {
    (icmp, outside.address.number().into(), outside.port)
}

#[derive(Default)]
struct Model {
    /// Outside endpoint by inside endpoint.
    bindings: HashMap<Key, (Inside, Endpoint4)>,
    /// Expiry by inside and remote endpoint.
    sessions: HashMap<(Key, Key), Instant>,
}

impl Model {
    fn owner(&self, icmp: bool, outside: Endpoint4) -> Option<Inside> {
        self.bindings
            .iter()
            .find(|(key, (_, o))| key.0 == icmp && *o == outside)
            .map(|(_, (inside, _))| *inside)
    }

    /// RFC 6146 section 4: UDP_DEFAULT, ICMP_DEFAULT.
    fn refresh(&mut self, icmp: bool, inside: Inside, remote: Endpoint4, now: Instant) {
        let lifetime = Span::from_secs(if icmp { 60 } else { 300 });
        let key = (inside_key(icmp, inside), outside_key(icmp, remote));
        self.sessions.insert(key, now + lifetime);
    }

    /// A packet from outside refreshes a session, and makes none.
    fn keep(&mut self, icmp: bool, inside: Inside, remote: Endpoint4, now: Instant) {
        let key = (inside_key(icmp, inside), outside_key(icmp, remote));
        if self.sessions.contains_key(&key) {
            self.refresh(icmp, inside, remote, now);
        }
    }

    fn permits(&self, icmp: bool, inside: Inside, remote: Endpoint4) -> bool {
        self.sessions
            .keys()
            .any(|(i, r)| *i == inside_key(icmp, inside) && r.1 == remote.address.number().into())
    }

    fn expire(&mut self, now: Instant) {
        self.sessions.retain(|_, expiry| *expiry > now);
        let used: HashSet<Key> = self.sessions.keys().map(|(inside, _)| *inside).collect();
        self.bindings.retain(|key, _| used.contains(key));
    }
}

/// The NAT and its model.
struct Both<'s> {
    setup: &'s Setup,
    nat: Nat,
    model: Model,
    /// Outside endpoints to send to: all that ever were.
    seen: Vec<Endpoint4>,
}

impl Both<'_> {
    /// A packet from inside: its outside endpoint stays, or is new and from the pool.
    fn out(&mut self, client: Inside, peer: Endpoint4, icmp: bool) -> Result<(), TestCaseError> {
        let outside = self.nat.out(client, peer, transport(icmp));
        let Ok(outside) = outside else {
            return Err(TestCaseError::fail(format!(
                "{client:?} to {peer:?}: {outside:?}"
            )));
        };
        let key = inside_key(icmp, client);
        match self.model.bindings.get(&key) {
            Some((_, bound)) => prop_assert_eq!(outside, *bound),
            None => {
                prop_assert_eq!(self.model.owner(icmp, outside), None, "{:?}", outside);
                let in_pool = self.setup.pool.iter().any(|range| {
                    outside.address.number().wrapping_sub(range.first) < range.count
                        && (range.low..=range.high).contains(&outside.port)
                });
                prop_assert!(in_pool, "{:?}", outside);
                self.model.bindings.insert(key, (client, outside));
                self.seen.push(outside);
            }
        }
        self.model.refresh(icmp, client, peer, self.nat.host.now);
        Ok(())
    }

    /// A packet to an outside endpoint: it finds the owner, if the filtering lets it pass.
    fn back(
        &mut self,
        outside: Endpoint4,
        peer: Endpoint4,
        icmp: bool,
    ) -> Result<(), TestCaseError> {
        let filters = self.setup.filtering == Filtering::AddressDependent;
        let expected = match self.model.owner(icmp, outside) {
            None => Err(Refusal::Drop(Counter::NoBinding)),
            Some(owner) if filters && !self.model.permits(icmp, owner, peer) => {
                Err(Refusal::Drop(Counter::Filtered))
            }
            Some(owner) => Ok(owner),
        };
        let answer = self.nat.back(outside, peer, transport(icmp));
        prop_assert_eq!(answer, expected, "{:?} to {:?}", peer, outside);
        if let Ok(owner) = expected {
            self.model.keep(icmp, owner, peer, self.nat.host.now);
        }
        Ok(())
    }

    fn pass(&mut self, seconds: u64) {
        self.nat.pass(seconds);
        self.nat.sweep();
        self.model.expire(self.nat.host.now);
    }
}

fn run(setup: Setup, operations: &[Operation]) -> Result<(), TestCaseError> {
    let mut both = Both {
        nat: setup.nat(),
        model: Model::default(),
        seen: vec![v4("203.0.113.1", 2000)],
        setup: &setup,
    };
    for operation in operations {
        match *operation {
            Operation::Out {
                host: number,
                port,
                remote: peer,
                icmp,
            } => both.out(host(number, port), remote(peer, icmp), icmp)?,
            Operation::In {
                outside,
                remote: peer,
                icmp,
            } => {
                let outside = both.seen[outside % both.seen.len()];
                both.back(outside, remote(peer, icmp), icmp)?;
            }
            Operation::Pass { seconds } => both.pass(seconds),
        }
    }
    let Both { mut nat, model, .. } = both;
    compare(&nat, &model)?;
    nat.pass(301);
    nat.sweep();
    prop_assert_eq!(
        occupancy(&nat.host.memory[..], &nat.cfg),
        Occupancy::default()
    );
    Ok(())
}

/// What the tables list is what the model has.
fn compare(nat: &Nat, model: &Model) -> Result<(), TestCaseError> {
    let mut listed = HashMap::new();
    let _ = sessions(
        &nat.host.memory[..],
        &nat.cfg,
        0..nat.cfg.layout.buckets(),
        |session| {
            let icmp = session.binding.protocol == Protocol::Icmp;
            let key = (
                inside_key(icmp, session.binding.inside),
                outside_key(icmp, session.remote),
            );
            listed.insert(key, session.expires);
            ControlFlow::Continue(())
        },
    );
    prop_assert_eq!(&listed, &model.sessions);
    let bound: HashMap<Key, (Inside, Endpoint4)> = bindings(&nat.host.memory[..], &nat.cfg)
        .map(|binding| {
            let icmp = binding.protocol == Protocol::Icmp;
            (
                inside_key(icmp, binding.inside),
                (binding.inside, binding.outside),
            )
        })
        .collect();
    prop_assert_eq!(&bound, &model.bindings);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn behaves_like_the_model(operations in prop::collection::vec(operation(), 1..300)) {
        run(Setup::default(), &operations)?;
    }

    #[test]
    fn behaves_like_the_model_with_address_dependent_filtering(
        operations in prop::collection::vec(operation(), 1..300),
    ) {
        let setup = Setup { filtering: Filtering::AddressDependent, ..Setup::default() };
        run(setup, &operations)?;
    }

    #[test]
    fn behaves_like_the_model_when_ports_are_scarce(
        operations in prop::collection::vec(operation(), 1..300),
    ) {
        // 16 inside endpoints at most per protocol, 17 ports.
        let setup = Setup { pool: vec![range("203.0.113.1", 1, 1020, 1036)], ..Setup::default() };
        run(setup, &operations)?;
    }

    #[test]
    fn behaves_like_the_model_with_port_blocks(
        operations in prop::collection::vec(operation(), 1..300),
    ) {
        let setup = Setup {
            pool: vec![range("203.0.113.1", 2, 1024, 1151)],
            blocks: Blocks::Dynamic { size: 8, per_subscriber: 4 },
            ..Setup::default()
        };
        run(setup, &operations)?;
    }
}
