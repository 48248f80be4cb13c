//! Any bytes as DHCPv6 options: what is read is consistent, and what is not has a place.

use isthmus_core::address::map::MapRule;
use isthmus_gateway::softwire46::{self, Reason};

/// Reads options; what their rules give a customer must come back to it.
pub(crate) fn run(input: &[u8]) {
    let found = match softwire46::read(input) {
        Ok(found) => found,
        Err(error) => {
            assert!(error.offset <= input.len(), "no such place: {error}");
            return;
        }
    };
    for ignored in &found.ignored {
        if let Reason::Invalid(error) = &ignored.reason {
            let within = ignored.offset..=input.len();
            assert!(within.contains(&error.offset), "no such place: {error}");
        }
    }
    for rule in found.domains.iter().flat_map(|domain| domain.rules()) {
        let (v6, n) = rule.rule.v6();
        for prefix in &found.prefixes {
            customer(&rule.rule, (prefix.network().into(), prefix.prefix_len()));
        }
        if rule.rule.ea_bits() == 0 {
            customer(&rule.rule, (v6, n));
        }
    }
}

/// Each end of the customer's ports leads to it, and may come from it.
fn customer(rule: &MapRule, end_user: (isthmus_core::address::V6, u8)) {
    let Ok(found) = rule.ce(end_user) else {
        return;
    };
    for index in [0, found.ports.count() - 1] {
        let port = found.ports.nth(index).expect("is below the count");
        assert_eq!(rule.address_of(found.v4, port), Some(found.address));
        assert_eq!(rule.check(found.address, found.v4, port), Ok(()));
    }
}
