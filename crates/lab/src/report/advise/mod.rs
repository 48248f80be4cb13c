//! The choice of a mechanism for a network.
//!
//! [`Needs`] describe the network and what it is for; [`MECHANISMS`] have requirements and merits. [`advise`]
//! combines the two with the figures of a run of the laboratory, if there is one. The advice follows the rules of
//! `mechanisms.rs`, and no more.

mod choice;
mod measured;
mod mechanisms;
mod needs;

pub use choice::Choice;
pub use measured::{Measured, measured};
pub use mechanisms::{MECHANISMS, Mechanism};
pub use needs::{BrState, CeRouters, Core, Hosts, Inbound, Needs, Peers};

use crate::figures::results::Directory;

/// The advice on a mechanism.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// Its name.
    pub mechanism: &'static str,
    /// The requirements that are not met; empty if the mechanism is possible.
    pub against: Vec<&'static str>,
    /// The merits, the weightiest first.
    pub reasons: Vec<&'static str>,
    /// The drawbacks.
    pub doubts: Vec<&'static str>,
    /// The figures of a run.
    pub measured: Vec<Measured>,
}

impl Advice {
    /// Returns whether all requirements are met.
    pub fn is_possible(&self) -> bool {
        self.against.is_empty()
    }
}

/// Returns the advice on all mechanisms: possible ones first, the best of them first.
pub fn advise(needs: &Needs, run: Option<&Directory>) -> Vec<Advice> {
    let mut all: Vec<(i32, Advice)> = MECHANISMS
        .iter()
        .map(|mechanism| {
            let mut advice = Advice {
                mechanism: mechanism.name,
                against: mechanism.against(needs),
                reasons: Vec::new(),
                doubts: Vec::new(),
                measured: run.map_or_else(Vec::new, |run| measured(run, mechanism.name)),
            };
            let mut weight = 0;
            for merit in mechanism
                .merits
                .iter()
                .filter(|merit| (merit.applies)(needs))
            {
                weight += merit.weight;
                if merit.weight > 0 {
                    advice.reasons.push(merit.says);
                } else {
                    advice.doubts.push(merit.says);
                }
            }
            (weight, advice)
        })
        .collect();
    all.sort_by_key(|(weight, advice)| (!advice.is_possible(), -weight));
    all.into_iter().map(|(_, advice)| advice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the possible mechanisms, in their order.
    fn possible(needs: &Needs) -> Vec<&'static str> {
        let all = advise(needs, None).into_iter();
        all.filter(Advice::is_possible)
            .map(|advice| advice.mechanism)
            .collect()
    }

    /// A provider whose customers have IPv4 at home, with an IPv6-only core.
    fn provider() -> Needs {
        Needs {
            hosts: Hosts::Dual,
            core: Core::V6,
            peers: Peers::V4,
            customers_per_address: 64,
            inbound: Inbound::Unneeded,
            ce: CeRouters::Ours,
            br: BrState::State,
        }
    }

    #[test]
    fn an_ipv6_only_network_translates() {
        let needs = Needs {
            hosts: Hosts::V6Only,
            ce: CeRouters::None,
            ..provider()
        };
        assert_eq!(possible(&needs).first(), Some(&"NAT64"));
        assert!(!possible(&needs).contains(&"DS-Lite"));
    }

    #[test]
    fn programs_that_know_ipv4_only_need_more_than_nat64() {
        let best = possible(&provider());
        assert!(!best.contains(&"NAT64"), "{best:?}");
        for mechanism in ["464XLAT", "DS-Lite", "lw4o6", "MAP-E", "MAP-T"] {
            assert!(best.contains(&mechanism), "{best:?}");
        }
    }

    #[test]
    fn without_state_at_the_br_it_is_in_the_ce() {
        let needs = Needs {
            br: BrState::Stateless,
            ..provider()
        };
        let best = possible(&needs);
        assert!(["lw4o6", "MAP-E", "MAP-T"].contains(&best[0]), "{best:?}");
        assert!(!best.contains(&"DS-Lite") && !best.contains(&"464XLAT"));
    }

    #[test]
    fn islands_of_ipv6_in_ipv4_are_tunnelled() {
        let needs = Needs {
            hosts: Hosts::V6Only,
            core: Core::V4,
            peers: Peers::V6,
            customers_per_address: 1,
            ..provider()
        };
        let best = possible(&needs);
        assert_eq!(best.first(), Some(&"6rd"), "{best:?}");
        assert!(best.contains(&"6in4"));
        assert!(!best.contains(&"NAT64"));
    }

    #[test]
    fn servers_with_ipv6_only_have_an_address_of_their_own() {
        let needs = Needs {
            hosts: Hosts::V6Only,
            inbound: Inbound::EveryPort,
            customers_per_address: 1,
            ce: CeRouters::None,
            ..provider()
        };
        assert_eq!(possible(&needs).first(), Some(&"SIIT"));
    }
}
