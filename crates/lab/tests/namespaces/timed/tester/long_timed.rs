//! Searches that take minutes: `make test-long PARTS=measurements` runs them.

use std::time::Duration;

use isthmus_lab::{
    LabError, Result,
    experiments::{
        Journal, Profile,
        definition::How,
        experiments,
        subject::{Middle, Setup},
        subjects,
    },
    network::{
        device::{Device, Started},
        process,
        topology::Network,
    },
    subjects::{
        isthmus::{Dns64, Engine, Isthmus, Mechanism},
        peers::{Fault, Faulty, Nftables},
    },
    traffic::tester::{
        Extent, Phases, SingleDevice, Stateful, Streams, Summary, Tolerance, Trial,
        search::{
            Limit, Range,
            connections::{CapacitySearch, RateSearch},
            mlr::{self, Goal},
        },
    },
};

use super::{
    PATIENT, alone,
    connections::{masqueraded, tracked},
    ipv4, phases,
    standards::{LEAST, SHORT},
};

/// A masquerade whose ruleset allows this many connections.
struct Limited(u32);

impl Limited {
    /// The filter counts connections and removes dead ones only now and then: a new one begins at zero.
    fn filter(&self, network: &Network) -> Result<()> {
        let rules = format!(
            "table ip bounded\ndelete table ip bounded\ntable ip bounded {{\nchain seen {{\n\
             type filter hook forward priority filter\nct state new ct count over {} drop\n}}\n}}\n",
            self.0
        );
        process::run(network.gateway()?.command("nft").arg(rules)).map(drop)
    }
}

impl Device for Limited {
    fn name(&self) -> String {
        format!("{} of {} connections", Nftables::Masquerade.name(), self.0)
    }

    fn start(&self, network: &Network, cpu: usize) -> Result<Started> {
        self.filter(network)?;
        Nftables::Masquerade.start(network, cpu)
    }

    fn tear_down(&self, network: &Network, cpu: usize, started: &mut Started) -> Result<Duration> {
        let took = Nftables::Masquerade.tear_down(network, cpu, started)?;
        self.filter(network)?;
        Ok(took)
    }
}

/// The capacity that is found is the one that the kernel's packet filter was configured for.
#[test]
fn a_limited_table_holds_what_it_may() {
    alone(|| {
        const LIMIT: u64 = 1234;
        let device = &Limited(LIMIT as u32);
        let test = Stateful {
            device,
            initiated: masqueraded(4000),
            phases: phases(),
            tolerance: PATIENT,
            timeout: Duration::from_millis(200),
        };
        let search = CapacitySearch {
            initial: 500,
            most: 4000,
            error: 1,
            ..CapacitySearch::default()
        };
        let mut device = Some(test.build()?);
        let found = search.run(|connections, known| {
            let most = known.unwrap_or(20_000.0);
            let rates = RateSearch {
                most,
                error: most * 0.1,
            };
            rates.run(|rate| {
                let established = device.take().unwrap().establish(connections, rate)?;
                let outcome = established.completeness();
                assert_eq!(tracked(&established)?, connections.min(LIMIT));
                device = Some(established.tear_down()?.0);
                Ok(outcome)
            })
        })?;
        assert_eq!((found.connections, found.is_at_the_end), (LIMIT, false));
        Ok(())
    });
}

/// The experiment finds the capacity that a NAT64 was configured for, in user space, which restarts quickly. On a
/// busy machine the trial may be void.
#[test]
fn the_capacity_of_a_nat64_is_its_configuration() {
    alone(|| {
        let experiment = experiments().find(|experiment| experiment.name == "rfc9693/capacity");
        let How::Apart(measure) = experiment.unwrap().how else {
            panic!("in the network of others");
        };
        for mut subject in subjects() {
            let Setup::Middle(Middle::Isthmus(isthmus), address) = subject.setup else {
                continue;
            };
            let is_asked = isthmus.engine == Engine::User && isthmus.mechanism == Mechanism::Nat64;
            if !is_asked || isthmus.dns64 != Dns64::Off {
                continue;
            }
            let sessions = 1500;
            let limited = Isthmus {
                sessions,
                ..isthmus
            };
            subject.setup = Setup::Middle(Middle::Isthmus(limited), address);
            let points = match measure(&subject, Profile::Smoke, &Journal::default()) {
                Err(LabError::Tester(void)) => {
                    println!("{subject}: void: {void}");
                    continue;
                }
                other => other?,
            };
            let [point] = <[_; 1]>::try_from(points).unwrap();
            // The width of the search is 100 connections.
            assert!(
                (1400.0..=1500.0).contains(&point.value),
                "{subject}: {point:?}"
            );
            assert_eq!(point.ceiling, None, "{subject}");
        }
        Ok(())
    });
}

/// A policer has a rate that is known and does not hang on the machine's mood: five searches find it, and within 3 %
/// of each other.
#[test]
fn the_rate_of_a_policer_is_found_again() {
    const RATE: u32 = 100_000;
    alone(|| {
        // What comes later, and then at once, is too much for the policer.
        let punctual = Tolerance {
            by: Duration::from_micros(500),
            share: 0.01,
            rate: 0.01,
        };
        let phases = Phases {
            learning: 0,
            ..Phases::shortened(200)
        };
        let policer = Faulty(Fault::Police(RATE));
        let streams = Streams::Rightward(ipv4(100, 64));
        let mut path = SingleDevice::build(&policer, streams, phases, punctual)?;
        let range = Range {
            least: LEAST / 10.0,
            most: 4.0 * f64::from(RATE),
        };
        let goal = Goal {
            width: 0.01,
            full: SHORT,
            initial: SHORT,
            ..Goal::ndr().shortened(40)
        };
        let mut rates = Vec::new();
        // A search that ends because other work had made frames late says nothing of the policer.
        for _ in 0..10 {
            let (found, _) = mlr::search(range, &[goal], |offer| {
                path.run(&Trial {
                    rate: offer.rate,
                    extent: Extent::Time(offer.duration),
                    timeout: SHORT,
                })
            })?;
            match found[0].limit {
                Limit::Sender => {}
                limit => {
                    assert_eq!(limit, Limit::Loss);
                    rates.extend(found[0].rate);
                }
            }
            if rates.len() == 5 {
                break;
            }
        }
        println!("{rates:?}");
        if rates.len() < 5 {
            println!("skipped: other work on the machine made frames late");
            return Ok(());
        }
        for rate in &rates {
            let share = rate / f64::from(RATE);
            assert!((0.97..1.03).contains(&share), "{rates:?}");
        }
        assert!(Summary::spread(&rates).unwrap() < 0.03, "{rates:?}");
        Ok(())
    });
}
