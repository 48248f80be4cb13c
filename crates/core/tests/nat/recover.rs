//! What a process leaves behind that is killed at any step, and what the next one makes of it.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::*;
use isthmus_core::host::{Destination, Host, Route, Thorough};
use isthmus_core::nat::*;
use isthmus_core::reason::Counter;
use isthmus_core::table::{Line, Memory};
use isthmus_core::time::{Instant, Span};
use isthmus_core::verdict::Slow;
use proptest::prelude::*;

/// Memory of a process that dies after so many steps. A step is an access to a line.
struct Mortal {
    lines: Vec<Line>,
    left: Cell<u32>,
}

struct Killed;

impl Memory for Mortal {
    fn line(&self, index: u32) -> Option<&Line> {
        let Some(left) = self.left.get().checked_sub(1) else {
            // Without the message of a panic.
            resume_unwind(Box::new(Killed));
        };
        self.left.set(left);
        self.lines[..].line(index)
    }
}

struct Process {
    memory: Mortal,
    now: Instant,
    random: u64,
}

impl Host for Process {
    type Effort = Thorough;
    type State = Mortal;
    type Rules = [Line];

    fn state(&self) -> &Mortal {
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

    fn count(&mut self, _counter: Counter) {}

    fn route(&mut self, _to: Destination) -> Result<Option<Route>, Slow> {
        Ok(None)
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Out { host: u16, port: u16, remote: u16 },
    Hold { host: u16, port: u16 },
    Release { host: u16, port: u16 },
    Fix { host: u16, port: u16 },
    End { remote: u16 },
    Pass { seconds: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let (host, port, remote) = (0..3_u16, 0..4_u16, 0..3_u16);
    let ends = (host, port);
    prop_oneof![
        8 => (ends.clone(), remote.clone())
            .prop_map(|((host, port), remote)| Step::Out { host, port, remote }),
        1 => ends.clone().prop_map(|(host, port)| Step::Hold { host, port }),
        1 => ends.clone().prop_map(|(host, port)| Step::Release { host, port }),
        1 => ends.prop_map(|(host, port)| Step::Fix { host, port }),
        1 => remote.prop_map(|remote| Step::End { remote }),
        2 => (1..200_u64).prop_map(|seconds| Step::Pass { seconds }),
    ]
}

fn client(host: u16, port: u16) -> Inside {
    inside(&format!("2001:db8:0:{host}::1"), 5000 + port)
}

fn server(number: u16) -> Endpoint4 {
    v4(&format!("192.0.2.{}", number + 1), 53)
}

impl Process {
    fn new(cfg: &NatConfig) -> Self {
        Self {
            memory: Mortal {
                lines: memory(cfg),
                left: Cell::new(u32::MAX),
            },
            now: Instant(1_000_000),
            random: 1,
        }
    }

    fn act(&mut self, cfg: &NatConfig, step: Step) {
        let all = 0..cfg.layout.buckets();
        match step {
            Step::Out { host, port, remote } => {
                let _full = outbound(
                    self,
                    cfg,
                    Thorough,
                    &client(host, port),
                    server(remote),
                    Udp,
                );
            }
            Step::Hold { host, port } => {
                let _full = hold(self, cfg, Protocol::Udp, &client(host, port), None);
            }
            Step::Release { host, port } => {
                let held = bindings(&self.memory, cfg)
                    .find(|binding| binding.inside == client(host, port));
                if let Some(held) = held {
                    release(&self.memory, cfg, held.protocol, &held.inside, held.outside);
                }
            }
            Step::Fix { host, port } => {
                let binding = StaticBinding {
                    protocol: Protocol::Udp,
                    inside: client(host, port),
                    outside: v4("203.0.113.1", 900 + host * 4 + port),
                };
                let _taken = insert_static(&self.memory, cfg, self.now, &binding);
            }
            Step::End { remote } => {
                let keep = |session: &Session| session.remote != server(remote);
                retain(&self.memory, cfg, all, keep, |_| {});
            }
            Step::Pass { seconds } => {
                self.now = self.now + Span::from_secs(seconds);
                sweep(&self.memory, cfg, self.now, all, |_| {});
            }
        }
    }

    /// Whether it lived through all of it.
    fn run(&mut self, cfg: &NatConfig, steps: &[Step]) -> bool {
        let alive = |step: &Step| {
            let act = AssertUnwindSafe(|| self.act(cfg, *step));
            catch_unwind(act).map_err(|cause| {
                if !cause.is::<Killed>() {
                    resume_unwind(cause);
                }
            })
        };
        steps.iter().try_for_each(alive).is_ok()
    }

    fn sessions(&self, cfg: &NatConfig) -> Vec<(Inside, Endpoint4, Endpoint4)> {
        let mut list = Vec::new();
        let _ = sessions(
            &self.memory.lines[..],
            cfg,
            0..cfg.layout.buckets(),
            |session| {
                let Session {
                    binding, remote, ..
                } = session;
                list.push((binding.inside, remote, binding.outside));
                ControlFlow::Continue(())
            },
        );
        list
    }
}

fn setup(blocks: Blocks, filtering: Filtering) -> Setup {
    let mut setup = Setup {
        pool: vec![range("203.0.113.1", 1, 1024, 2047)],
        blocks,
        filtering,
        ..Setup::default()
    };
    setup.capacity.sessions = 60;
    setup.capacity.bindings = 60;
    setup.capacity.permissions = 60;
    setup.capacity.subscribers = 6;
    setup
}

fn words(lines: &[Line]) -> Vec<u64> {
    let words = lines.iter().flatten();
    words.map(|word| word.load(Ordering::Relaxed)).collect()
}

const BLOCKS: Blocks = Blocks::Dynamic {
    size: 8,
    per_subscriber: 2,
};

/// Kills a process after so many accesses, and judges what the next one has. Returns whether it was killed.
fn judge(setup: &Setup, steps: &[Step], accesses: u32) -> bool {
    let cfg = &setup.config();
    let mut process = Process::new(cfg);
    process.memory.left.set(accesses);
    let killed = !process.run(cfg, steps);
    process.memory.left.set(u32::MAX);
    let lines = &process.memory.lines[..];
    let before = process.sessions(cfg);

    let there = recover(lines, cfg);
    assert_eq!(process.sessions(cfg), before, "a whole session is lost");
    assert_eq!(there.sessions, before.len() as u64);
    assert_eq!(there.bindings, bindings(lines, cfg).count() as u64);
    assert_eq!(recover(lines, cfg), there, "there was something left to do");
    let tables = occupancy(lines, cfg);
    assert_eq!(u64::from(tables.returns), there.sessions);
    assert_eq!(u64::from(tables.bindings), there.bindings);
    assert!(tables.claims >= tables.bindings);
    if setup.blocks == Blocks::None {
        assert_eq!(tables.claims, tables.bindings);
    }
    for (inside, remote, outside) in before {
        let found = inbound(&mut process, cfg, Thorough, outside, remote, Udp);
        // Its time may be over.
        if let Ok(found) = found {
            assert_eq!(found, inside);
        }
    }

    // All of it ends, also what was static.
    for _ in 0..2 {
        process.act(cfg, Step::Pass { seconds: 301 });
    }
    let left = occupancy(&process.memory, cfg);
    assert_eq!(left, Occupancy::default(), "{accesses}");
    assert!(fills(&process.memory, cfg).all(|fill| fill.used == 0));
    let counted = words(&process.memory.lines);
    recover(&process.memory, cfg);
    assert_eq!(words(&process.memory.lines), counted, "a count was wrong");
    killed
}

#[test]
fn a_process_may_die_at_every_step() {
    let steps = [
        Step::Out {
            host: 0,
            port: 0,
            remote: 0,
        },
        Step::Out {
            host: 0,
            port: 1,
            remote: 0,
        },
        Step::Hold { host: 1, port: 0 },
        Step::Out {
            host: 1,
            port: 0,
            remote: 1,
        },
        Step::Fix { host: 2, port: 0 },
        Step::Out {
            host: 2,
            port: 0,
            remote: 2,
        },
        Step::Pass { seconds: 200 },
        Step::Out {
            host: 0,
            port: 0,
            remote: 0,
        },
        Step::Release { host: 1, port: 0 },
        Step::End { remote: 2 },
        Step::Pass { seconds: 150 },
        Step::Pass { seconds: 301 },
    ];
    for blocks in [Blocks::None, BLOCKS] {
        for filtering in [Filtering::EndpointIndependent, Filtering::AddressDependent] {
            let setup = setup(blocks, filtering);
            let deaths = (0..).find(|accesses| !judge(&setup, &steps, *accesses));
            assert!(deaths.is_some_and(|deaths| deaths > 300), "{deaths:?}");
        }
    }
}

#[test]
fn tables_in_order_stay_as_they_are() {
    for filtering in [Filtering::EndpointIndependent, Filtering::AddressDependent] {
        let cfg = &setup(BLOCKS, filtering).config();
        let mut process = Process::new(cfg);
        for (host, port) in [(0, 0), (0, 1), (1, 0), (2, 3)] {
            process.act(
                cfg,
                Step::Out {
                    host,
                    port,
                    remote: port,
                },
            );
        }
        process.act(cfg, Step::End { remote: 3 });
        let before = words(&process.memory.lines);
        let there = recover(&process.memory, cfg);
        assert_eq!((there.sessions, there.bindings), (3, 3));
        assert_eq!(words(&process.memory.lines), before);
    }
}

#[test]
fn static_bindings_are_those_of_the_configuration() {
    let mut nat = Setup::default().nat();
    let fixed = StaticBinding {
        protocol: Protocol::Udp,
        inside: client(0, 0),
        outside: v4("203.0.113.1", 900),
    };
    let memory = &nat.host.memory[..];
    insert_static(memory, &nat.cfg, nat.host.now, &fixed).unwrap();
    assert_eq!(recover(memory, &nat.cfg).bindings, 1);
    assert_eq!(
        remove_static(memory, &nat.cfg, &fixed),
        Err(StaticError::Missing)
    );
    // It can be made again, and is the same.
    insert_static(memory, &nat.cfg, nat.host.now, &fixed).unwrap();
    nat.sweep();
    assert_eq!(bindings(&nat.host.memory[..], &nat.cfg).count(), 1);
}

/// A word of the index for packets from outside that leads to a session, and is not the word of that session: another
/// packet could take it for its own.
#[test]
fn a_strangers_way_to_a_session_is_closed() {
    let capacity = Capacity {
        sessions: 8,
        bindings: 8,
        permissions: 8,
        subscribers: 8,
        fragments: 8,
        traffic: false,
    };
    let setup = Setup {
        capacity,
        ..Setup::default()
    };
    let mut nat = setup.nat();
    let outside = nat.out(client(0, 0), server(0), Udp).unwrap();
    let (lines, cfg) = (&nat.host.memory[..], &nat.cfg);
    let ways = || occupancy(lines, cfg).returns;
    assert_eq!(ways(), 1);
    let set = |word: &AtomicU64, value| word.store(value, Ordering::Relaxed);
    let is_way = |word: &&AtomicU64| {
        let value = word.load(Ordering::Relaxed);
        set(word, 0);
        let ways = ways();
        set(word, value);
        ways == 0
    };
    let way = lines.iter().flatten().find(is_way).unwrap();
    // Its highest bits are of a hash.
    let stray = way.load(Ordering::Relaxed) ^ 1 << 62;
    let is_room = |word: &&AtomicU64| {
        let free = word.load(Ordering::Relaxed) == 0;
        if free {
            set(word, stray);
        }
        let taken = free && ways() == 2;
        if free && !taken {
            set(word, 0);
        }
        taken
    };
    assert!(lines.iter().flatten().any(|word| is_room(&word)));
    assert_eq!(recover(lines, cfg).sessions, 1);
    assert_eq!(ways(), 1);
    assert_eq!(nat.back(outside, server(0), Udp), Ok(client(0, 0)));
}

#[test]
fn what_was_told_is_not_told_again() {
    let mut nat = setup(BLOCKS, Filtering::EndpointIndependent).nat();
    nat.out(client(0, 0), server(0), Udp).unwrap();
    assert_eq!(nat.sweep().len(), 3, "a session, its binding and its block");
    recover(&nat.host.memory[..], &nat.cfg);
    assert_eq!(nat.sweep(), []);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    #[test]
    fn a_process_may_die_at_any_step(
        steps in prop::collection::vec(step(), 1..60),
        accesses in 0..3000_u32,
        blocks in any::<bool>(),
        filters in any::<bool>(),
    ) {
        let blocks = if blocks { BLOCKS } else { Blocks::None };
        let filtering = if filters { Filtering::AddressDependent } else { Filtering::EndpointIndependent };
        judge(&setup(blocks, filtering), &steps, accesses);
    }
}
