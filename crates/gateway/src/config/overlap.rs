//! Networks that lie within each other: which of many do, in either family.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use isthmus_core::address::eam::Mapping;
use isthmus_core::address::rfc6052;

use super::document::Prefix;

/// Whether two networks have an address in common.
pub(super) fn overlap(a: IpNet, b: IpNet) -> bool {
    a.contains(&b) || b.contains(&a)
}

/// The network of addresses under a prefix.
pub(super) fn of_rfc6052(prefix: &rfc6052::Prefix) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::from(prefix.network()), prefix.length())
}

/// The network of addresses under a prefix of either format.
pub(super) fn of_prefix(prefix: &Prefix) -> Ipv6Net {
    match prefix {
        Prefix::Rfc6052(prefix) => of_rfc6052(prefix),
        Prefix::Ivi(prefix) => {
            Ipv6Net::new_assert(Ipv6Addr::from(prefix.network()), prefix.length())
        }
    }
}

/// The two networks of a mapping.
pub(super) fn of_mapping(mapping: &Mapping) -> (Ipv4Net, Ipv6Net) {
    let (v4, v4_length) = mapping.v4();
    let (v6, v6_length) = mapping.v6();
    (
        Ipv4Net::new_assert(Ipv4Addr::from(v4), v4_length),
        Ipv6Net::new_assert(Ipv6Addr::from(v6), v6_length),
    )
}

/// For each network, the index of the smallest other one that it lies in. Networks of equal extent
/// lie in each other: the later one in the earlier one. Takes n log n steps.
pub(super) fn parents(networks: &[IpNet]) -> Vec<Option<usize>> {
    let mut order: Vec<usize> = (0..networks.len()).collect();
    // Containing networks come before what they contain.
    order.sort_by_key(|&i| (networks[i].network(), networks[i].prefix_len(), i));
    let mut parents = vec![None; networks.len()];
    let mut open: Vec<usize> = Vec::new();
    for index in order {
        while open
            .last()
            .is_some_and(|&top| !networks[top].contains(&networks[index]))
        {
            open.pop();
        }
        parents[index] = open.last().copied();
        open.push(index);
    }
    parents
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_net() -> impl Strategy<Value = IpNet> {
        (any::<bool>(), 0u8..16, 0u8..=8).prop_map(|(v6, bits, length)| {
            let high = u32::from(bits) << 28;
            if v6 {
                let address = Ipv6Addr::from_bits(u128::from(high) << 96);
                Ipv6Net::new_assert(address, length).trunc().into()
            } else {
                Ipv4Net::new_assert(high.into(), length).trunc().into()
            }
        })
    }

    proptest! {
        /// Against all pairs.
        #[test]
        fn parents_are_the_smallest_that_contain(
            networks in proptest::collection::vec(any_net(), 0..12),
        ) {
            let found = parents(&networks);
            for (i, net) in networks.iter().enumerate() {
                let expected = (0..networks.len())
                    .filter(|&j| {
                        networks[j].contains(net) && (networks[j] != *net || j < i)
                    })
                    .max_by_key(|&j| (networks[j].prefix_len(), j));
                prop_assert_eq!(found[i], expected);
            }
        }
    }
}
