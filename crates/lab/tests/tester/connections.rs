//! The two phases of RFC 9693.

use std::time::Duration;

use isthmus_lab::{
    LabError, Result,
    device::{Device, Started},
    experiment::{
        Profile,
        definition::How,
        experiments,
        subject::{Middle, Setup},
        subjects,
    },
    generator::FrameSize,
    isthmus::{Dns64, Engine, Isthmus, Mechanism},
    packet::{Ends, Form},
    peers::{Nftables, Redirect},
    plan, process,
    tester::{
        Established, Flows, Ports, Stateful, Traffic, flows,
        search::connections::{CapacitySearch, Completeness, RateSearch},
    },
    topology::Network,
};

use crate::{PATIENT, TIMEOUT, alone, ipv4, only, phases, whole};

/// The responder answers the arrivals, and the device forwards the answers to the initiator.
#[test]
fn connections_through_a_masquerade() {
    alone(|| {
        let inside = Ends::V4(plan::HOST6_AS_IPV4, plan::HOST4);
        let flows = Flows {
            ports: Ports::Permuted(2000..=2999, 1..=3),
            ..Flows::many(3000)
        };
        let test = Stateful {
            device: &Nftables::Masquerade,
            initiated: Traffic {
                packets: flows.packets(|_| inside),
                ..ipv4(1, 64)
            },
            phases: phases(),
            tolerance: PATIENT,
            timeout: TIMEOUT,
        };
        let mut established = test.build()?.establish(3000, 20_000.0)?;
        assert_eq!(
            established.completeness(),
            Completeness::All,
            "{:?}",
            established.result
        );
        let answers = established.answers()?;
        assert_eq!(answers.len(), 3000);
        for answer in &answers {
            assert_eq!(answer.ends, Ends::V4(plan::HOST4, plan::GATEWAY4));
            assert!((1..=3).contains(&answer.ports.0));
        }
        let back = established.validate(20_000.0)?.unwrap();
        whole(&only(back), 3000);
        Ok(())
    });
}

/// Without a NAT, answers come from the addresses to which the frames went.
#[test]
fn answers_to_ipv6() {
    alone(|| {
        let sent = Flows::many(100).packets(flows::ipv6);
        let test = Stateful {
            device: &Redirect,
            initiated: Traffic {
                packets: sent.clone(),
                size: FrameSize::least(Form::V6),
                arrives: Form::V6,
            },
            phases: phases(),
            tolerance: PATIENT,
            timeout: TIMEOUT,
        };
        let mut established = test.build()?.establish(100, 10_000.0)?;
        for (answer, sent) in established.answers()?.iter().zip(&sent) {
            let Ends::V6(from, to) = sent.ends else {
                panic!("not IPv6");
            };
            assert_eq!(answer.ends, Ends::V6(to, from));
            assert_eq!(answer.ports, (sent.ports.1, sent.ports.0));
        }
        whole(&only(established.validate(10_000.0)?.unwrap()), 100);
        Ok(())
    });
}

/// Returns flows with a source port of their own each.
fn masqueraded(count: u16) -> Traffic {
    let flows = Flows {
        ports: Ports::Permuted(2000..=1999 + count, 1..=1),
        ..Flows::many(count.into())
    };
    Traffic {
        packets: flows.packets(|_| Ends::V4(plan::HOST6_AS_IPV4, plan::HOST4)),
        ..ipv4(1, 64)
    }
}

/// Returns the kernel's own count of tracked connections in the gateway's namespace.
fn tracked(established: &Established<'_>) -> Result<u64> {
    let count = "cat /proc/sys/net/netfilter/nf_conntrack_count";
    let output = established.network().gateway()?.run(count)?;
    Ok(output.trim().parse().unwrap())
}

/// The referee of both phases' table is the kernel's own count.
#[test]
fn the_table_is_filled_and_emptied() {
    alone(|| {
        let test = Stateful {
            device: &Nftables::Masquerade,
            initiated: masqueraded(3000),
            phases: phases(),
            tolerance: PATIENT,
            timeout: TIMEOUT,
        };
        let mut device = test.build()?;
        for connections in [2000, 3000] {
            let established = device.establish(connections, 20_000.0)?;
            assert_eq!(established.completeness(), Completeness::All);
            assert_eq!(tracked(&established)?, connections);
            device = established.tear_down()?.0;
        }
        let one = device.establish(1, 20_000.0)?;
        assert_eq!(tracked(&one)?, 1);
        Ok(())
    });
}

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
            let points = match measure(&subject, Profile::Smoke) {
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
