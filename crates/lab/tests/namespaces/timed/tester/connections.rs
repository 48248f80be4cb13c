//! The two phases of RFC 9693.

use isthmus_lab::{
    Result,
    network::plan,
    subjects::peers::Nftables,
    traffic::{
        generator::FrameSize,
        packet::{Ends, Form},
        redirect::Redirect,
        tester::{
            Established, Flows, Ports, Stateful, Traffic, flows, search::connections::Completeness,
        },
    },
};

use super::{PATIENT, TIMEOUT, alone, ipv4, only, phases, whole};

/// The responder answers by what arrived, and the device knows where the answers belong.
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

/// Without a device that changes them, answers come from where the frames went.
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

/// Flows of which each has a source port of its own.
pub(super) fn masqueraded(count: u16) -> Traffic {
    let flows = Flows {
        ports: Ports::Permuted(2000..=1999 + count, 1..=1),
        ..Flows::many(count.into())
    };
    Traffic {
        packets: flows.packets(|_| Ends::V4(plan::HOST6_AS_IPV4, plan::HOST4)),
        ..ipv4(1, 64)
    }
}

/// How many connections the kernel tracks in the gateway's namespace, as it says itself.
pub(super) fn tracked(established: &Established<'_>) -> Result<u64> {
    let count = "cat /proc/sys/net/netfilter/nf_conntrack_count";
    let output = established.network().gateway()?.run(count)?;
    Ok(output.trim().parse().unwrap())
}

/// The kernel's own count is the referee of both phases' table.
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
