//! Several processors at the same tables, while a sweeper removes what they make.

use std::collections::HashMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::support::*;
use isthmus_core::datagrams::*;
use isthmus_core::host::{Bounded, Destination, Host, Route, Thorough};
use isthmus_core::nat::*;
use isthmus_core::reason::Counter;
use isthmus_core::table::Line;
use isthmus_core::time::{Instant, Span};
use isthmus_core::verdict::{Refusal, Slow};

const THREADS: u64 = 4;
const PACKETS: u64 = 2_000;
/// Time between two sweeps: more than what a session must last longer to be written again.
const SWEEP: u64 = 1000;

/// One processor: memory and clock are everybody's.
struct Processor<'m> {
    memory: &'m [Line],
    clock: &'m AtomicU64,
    random: u64,
    bindings: u64,
}

impl Host for Processor<'_> {
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
        Instant(self.clock.load(Ordering::Relaxed))
    }

    fn random(&mut self) -> u32 {
        next_random(&mut self.random)
    }

    fn select(&mut self, _instance: u32) {}

    fn count(&mut self, counter: Counter) {
        if counter == Counter::BindingCreated {
            self.bindings += 1;
        }
    }

    fn route(&mut self, _to: Destination) -> Result<Option<Route>, Slow> {
        Ok(None)
    }
}

/// Few ports and few hosts, so that everybody meets everybody.
fn setup() -> Setup {
    Setup {
        pool: vec![range("203.0.113.1", 2, 1024, 1535)],
        capacity: Capacity {
            sessions: 40_000,
            bindings: 2000,
            permissions: 0,
            subscribers: 64,
            fragments: 8,
            traffic: false,
        },
        ..Setup::default()
    }
}

fn client(number: u32) -> Inside {
    inside(
        &format!("2001:db8:{:x}::1", number % 16),
        (2000 + number / 16) as u16,
    )
}

fn tolerable(refusal: Refusal) -> bool {
    matches!(
        refusal,
        Refusal::Drop(Counter::TableContention | Counter::NoBinding)
    )
}

/// A packet from inside: on every second processor a program of BPF sees it first.
fn out(
    host: &mut Processor<'_>,
    cfg: &NatConfig,
    seed: u64,
    from: &Inside,
    to: Endpoint4,
) -> Result<Endpoint4, Refusal> {
    if seed.is_multiple_of(2) {
        let made = outbound(host, cfg, Bounded, from, to, Udp);
        if made != Err(Refusal::Slow(Slow::Table)) {
            return made;
        }
    }
    outbound(host, cfg, Thorough, from, to, Udp)
}

/// Runs the threads; gives what each inside endpoint was told that it is outside.
fn hammer(cfg: &NatConfig, memory: &[Line], clock: &AtomicU64) -> Vec<(u32, Endpoint4)> {
    thread::scope(|scope| {
        let threads: Vec<_> = (1..=THREADS)
            .map(|seed| {
                scope.spawn(move || {
                    let mut host = Processor {
                        memory,
                        clock,
                        random: seed * 0x9e37_79b9,
                        bindings: 0,
                    };
                    let mut told = Vec::new();
                    for _ in 0..PACKETS {
                        let number = host.random() % 400;
                        let remote = v4("192.0.2.1", (host.random() % 32) as u16);
                        let outside = out(&mut host, cfg, seed, &client(number), remote);
                        match outside {
                            Ok(outside) => told.push((number, outside)),
                            Err(refusal) => assert!(tolerable(refusal), "{refusal:?}"),
                        }
                        let Ok(outside) = outside else { continue };
                        let back = inbound(
                            &mut host,
                            cfg,
                            Thorough,
                            outside,
                            v4("192.0.2.2", remote.port),
                            Udp,
                        );
                        if let Err(refusal) = back {
                            assert!(tolerable(refusal), "{refusal:?}");
                        }
                    }
                    told
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    })
}

/// Nothing is there twice, and every entry has what belongs to it.
fn assert_consistent(cfg: &NatConfig, memory: &[Line]) {
    let mut outside = HashMap::new();
    let mut inside = HashMap::new();
    for binding in bindings(memory, cfg) {
        let key = (binding.outside.address.number(), binding.outside.port);
        assert_eq!(
            outside.insert(key, binding),
            None,
            "two owners: {binding:?}"
        );
        let key = (binding.inside.address.halves(), binding.inside.port);
        assert_eq!(
            inside.insert(key, binding),
            None,
            "two bindings: {binding:?}"
        );
    }
    let mut seen = HashMap::new();
    let _ = sessions(memory, cfg, 0..cfg.layout.buckets(), |session| {
        let binding = session.binding;
        let key = (binding.inside.address.halves(), binding.inside.port);
        assert_eq!(
            inside.get(&key).map(|binding| binding.outside),
            Some(binding.outside),
            "a session without its binding"
        );
        let remote = (session.remote.address.number(), session.remote.port);
        assert!(
            seen.insert((key, remote), ()).is_none(),
            "{session:?} twice"
        );
        std::ops::ControlFlow::Continue(())
    });
    let found = occupancy(memory, cfg);
    assert_eq!(found.bindings as usize, inside.len());
    assert_eq!(found.sessions as usize, seen.len());
    assert_eq!(found.returns, found.sessions);
}

fn assert_drains(cfg: &NatConfig, memory: &[Line], clock: &AtomicU64) {
    let now = clock.fetch_add(Span::from_secs(1000).0, Ordering::Relaxed) + Span::from_secs(1000).0;
    for _ in 0..2 {
        sweep(memory, cfg, Instant(now), 0..cfg.layout.buckets(), |_| {});
    }
    assert_eq!(occupancy(memory, cfg), Occupancy::default());
}

#[test]
fn mappings_stay_endpoint_independent_under_contention() {
    for blocks in [
        Blocks::None,
        Blocks::Dynamic {
            size: 16,
            per_subscriber: 4,
        },
    ] {
        let cfg = Setup { blocks, ..setup() }.config();
        let memory = memory(&cfg);
        let clock = AtomicU64::new(1_000_000);
        let told = hammer(&cfg, &memory, &clock);
        assert!(told.len() as u64 > THREADS * PACKETS * 9 / 10);
        let mut outside_of = HashMap::new();
        let mut inside_of = HashMap::new();
        for (number, outside) in told {
            assert_eq!(*outside_of.entry(number).or_insert(outside), outside);
            let key = (outside.address.number(), outside.port);
            assert_eq!(*inside_of.entry(key).or_insert(number), number);
        }
        assert_eq!(outside_of.len(), 400);
        assert_consistent(&cfg, &memory);
        assert_drains(&cfg, &memory, &clock);
    }
}

/// A thread that sweeps until it is told that all is done.
struct Sweeper<'m> {
    cfg: &'m NatConfig,
    memory: &'m [Line],
    clock: &'m AtomicU64,
    done: AtomicBool,
    /// Bindings removed so far.
    removed: AtomicU64,
    /// Sweeps so far.
    sweeps: AtomicU64,
}

impl<'m> Sweeper<'m> {
    fn new(cfg: &'m NatConfig, memory: &'m [Line], clock: &'m AtomicU64) -> Self {
        Self {
            cfg,
            memory,
            clock,
            done: AtomicBool::new(false),
            removed: AtomicU64::new(0),
            sweeps: AtomicU64::new(0),
        }
    }

    /// Sweeps, and returns how many bindings were created. Each is created once, and removed as it was created.
    fn run(&self) -> u64 {
        let mut created = 0;
        let mut balance = HashMap::new();
        let key = |binding: &Binding| (binding.inside.address.halves(), binding.inside.port);
        while !self.done.load(Ordering::Relaxed) {
            let now = Instant(self.clock.fetch_add(SWEEP, Ordering::Relaxed));
            let all = 0..self.cfg.layout.buckets();
            sweep(self.memory, self.cfg, now, all, |event| match event {
                Event::BindingCreated(binding) => {
                    created += 1;
                    assert_eq!(balance.insert(key(&binding), binding), None);
                }
                Event::BindingRemoved(binding) => {
                    self.removed.fetch_add(1, Ordering::Relaxed);
                    assert_eq!(balance.remove(&key(&binding)), Some(binding));
                }
                _ => {}
            });
            self.sweeps.fetch_add(1, Ordering::Relaxed);
        }
        created
    }

    /// Waits for a few sweeps: other threads leave the sweeper little time on few processors.
    fn takes_turns(&self) {
        let before = self.sweeps.load(Ordering::Relaxed);
        while self.sweeps.load(Ordering::Relaxed) < before + 3 {
            thread::yield_now();
        }
    }
}

#[test]
fn nothing_is_lost_or_doubled_while_a_sweeper_removes() {
    for (blocks, filtering) in [
        (Blocks::None, Filtering::EndpointIndependent),
        (
            Blocks::Dynamic {
                size: 16,
                per_subscriber: 4,
            },
            Filtering::EndpointIndependent,
        ),
        (Blocks::None, Filtering::AddressDependent),
    ] {
        let cfg = Setup {
            blocks,
            limits: Limits {
                sessions: 10_000,
                ..Limits::default()
            },
            ..setup()
        };
        let cfg = NatConfig {
            filtering,
            timers: Timers {
                udp: Span(SWEEP * 3 / 2),
                ..Timers::default()
            },
            ..cfg.config()
        };
        let memory = memory(&cfg);
        let clock = AtomicU64::new(1_000_000);
        let sweeper = Sweeper::new(&cfg, &memory, &clock);
        let created = thread::scope(|scope| {
            let sweeping = scope.spawn(|| sweeper.run());
            while sweeper.removed.load(Ordering::Relaxed) < 4000 {
                if filtering == Filtering::EndpointIndependent {
                    hammer(&cfg, &memory, &clock);
                } else {
                    hammer_filtered(&cfg, &memory, &clock);
                }
                sweeper.takes_turns();
            }
            sweeper.done.store(true, Ordering::Relaxed);
            sweeping.join().unwrap()
        });
        assert!(created >= sweeper.removed.into_inner());
        if filtering == Filtering::EndpointIndependent {
            assert_consistent(&cfg, &memory);
        }
        assert_drains(&cfg, &memory, &clock);
    }
}

/// As [`hammer`], with packets from outside that may be filtered.
fn hammer_filtered(cfg: &NatConfig, memory: &[Line], clock: &AtomicU64) {
    thread::scope(|scope| {
        for seed in 1..=THREADS {
            scope.spawn(move || {
                let mut host = Processor {
                    memory,
                    clock,
                    random: seed * 0x9e37_79b9,
                    bindings: 0,
                };
                for _ in 0..PACKETS {
                    let number = host.random() % 400;
                    let remote = v4("192.0.2.1", (host.random() % 32) as u16);
                    let client = client(number);
                    let _ =
                        outbound(&mut host, cfg, Thorough, &client, remote, Udp).map(|outside| {
                            let other = v4("192.0.2.1", 99);
                            let back = inbound(&mut host, cfg, Thorough, outside, other, Udp);
                            if let Err(refusal) = back {
                                assert!(
                                    tolerable(refusal)
                                        || refusal == Refusal::Drop(Counter::Filtered),
                                    "{refusal:?}"
                                );
                            }
                        });
                }
            });
        }
    });
}

#[test]
fn full_tables_refuse_and_recover() {
    let setup = Setup {
        capacity: Capacity {
            sessions: 100,
            bindings: 100,
            permissions: 0,
            subscribers: 0,
            fragments: 1,
            traffic: false,
        },
        ..Setup::default()
    };
    let mut nat = setup.nat();
    for round in 0..3 {
        let mut made = 0;
        for number in 0..1000 {
            match nat.out(client(number), v4("192.0.2.1", 1), Udp) {
                Ok(_) => made += 1,
                Err(refusal) => assert_eq!(refusal, Refusal::Drop(Counter::TableFull)),
            }
        }
        // The capacity at most; a little less where an entry finds no place among so few.
        assert!((95..=100).contains(&made), "round {round}: {made}");
        assert_consistent(&nat.cfg, &nat.host.memory);
        // Those that are there still pass.
        let again = (0..1000)
            .filter(|number| nat.out(client(*number), v4("192.0.2.1", 1), Udp).is_ok())
            .count();
        assert_eq!(again, made);
        nat.pass(301);
        nat.sweep();
        assert_eq!(
            occupancy(&nat.host.memory[..], &nat.cfg),
            Occupancy::default()
        );
    }
}

/// A later fragment comes to user space while a program gets the first one of the same datagram: either the program leaves
/// the first to user space, or user space learns the ports. Never do both go on, so that the later one waits in vain.
#[test]
fn a_fragment_that_is_about_to_wait_meets_the_first_one() {
    const DATAGRAMS: u16 = 20_000;
    let mut setup = setup();
    setup.capacity.fragments = u32::from(DATAGRAMS);
    let nat = setup.nat();
    let clock = AtomicU64::new(SWEEP);
    let processor = || Processor {
        memory: &nat.host.memory[..],
        clock: &clock,
        random: 1,
        bindings: 0,
    };
    let ports = isthmus_core::wire::tuple::Ports {
        source: 53,
        destination: 4000,
    };
    let (mut left, mut known, mut in_vain) = (0, 0, 0);
    for datagram in 0..DATAGRAMS {
        let key = crate::fragment::key([v4("192.0.2.1", 0).address; 2], datagram, 17);
        let both = Barrier::new(2);
        let (by_program, found) = thread::scope(|scope| {
            let program = scope.spawn(|| {
                both.wait();
                remember(&processor(), &nat.cfg, &key, ports, false).is_ok()
            });
            both.wait();
            let found = wait_for_first(&processor(), &nat.cfg, &key);
            (program.join().unwrap(), found)
        });
        if by_program {
            assert_eq!(recall(&processor(), &nat.cfg, &key), Some(ports));
            known += 1;
            in_vain += u16::from(found.is_none());
        } else {
            assert_eq!(found, None, "{datagram}");
            left += 1;
        }
    }
    println!("{known} were known, {left} were left to user space, {in_vain} waited in vain");
    // No program of BPF is stopped for milliseconds while it writes, but a thread can be.
    assert!(known > 0 && in_vain < DATAGRAMS / 100);
}
