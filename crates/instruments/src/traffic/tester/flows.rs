//! Flows of test traffic: addresses by RFC 2544 and RFC 5180, ports by RFC 4814.

use std::{
    net::{Ipv4Addr, Ipv6Addr},
    ops::RangeInclusive,
};

use crate::{
    network::random::Random,
    traffic::packet::{Ends, Packet},
};

/// Source ports (RFC 4814 section 4.5).
const SOURCES: RangeInclusive<u16> = 1024..=65_535;
/// Destination ports.
const DESTINATIONS: RangeInclusive<u16> = 1..=49_151;
/// Networks of a test with many (RFC 2544 section 12).
const NETWORKS: u64 = 256;

/// The ports of flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ports {
    /// Pseudorandom ports of the ranges of RFC 4814 section 4.5, the same from run to run.
    Random,
    /// Each pair of a source and a destination port of these ranges once, in pseudorandom order, for devices with
    /// state (RFC 9693 section 4.4).
    Permuted(RangeInclusive<u16>, RangeInclusive<u16>),
}

/// The networks of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Networks {
    /// One network at each end.
    One,
    /// 256 networks at each end, pseudorandom.
    Many,
}

/// Flows between two sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flows {
    /// Their number, 1 to 1,000,000; fewer if there are fewer pairs of ports to permute.
    pub count: u32,
    /// Their networks.
    pub networks: Networks,
    /// Their ports.
    pub ports: Ports,
}

impl Flows {
    /// Returns one flow between one pair of networks.
    pub fn one() -> Self {
        Self::many(1)
    }

    /// Returns this many flows between one pair of networks, with pseudorandom ports.
    pub fn many(count: u32) -> Self {
        Self {
            count,
            networks: Networks::One,
            ports: Ports::Random,
        }
    }

    /// Returns a packet of each flow; `ends` gives the ends in the network of a number.
    pub fn packets(&self, ends: impl Fn(u8) -> Ends) -> Vec<Packet> {
        let mut random = Random::default();
        let mut network = move || match self.networks {
            Networks::One => 0,
            Networks::Many => random.below(NETWORKS) as u8,
        };
        let flow = |ports| Packet::new(ends(network()), ports);
        self.ports
            .list(self.count as usize)
            .into_iter()
            .map(flow)
            .collect()
    }
}

impl Ports {
    /// Returns this many pairs of ports.
    fn list(&self, count: usize) -> Vec<(u16, u16)> {
        let mut random = Random::new(1);
        match self {
            Self::Random => {
                let pair = |()| (random.within(&SOURCES), random.within(&DESTINATIONS));
                std::iter::repeat_n((), count).map(pair).collect()
            }
            Self::Permuted(sources, destinations) => {
                let of = |source| destinations.clone().map(move |port| (source, port));
                let mut pairs: Vec<(u16, u16)> = sources.clone().flat_map(of).collect();
                // The shuffle of Fisher and Yates.
                for last in (1..pairs.len()).rev() {
                    pairs.swap(last, random.below(last as u64 + 1) as usize);
                }
                pairs.truncate(count);
                pairs
            }
        }
    }
}

/// Returns the IPv4 ends of a network: 198.18.0.0/16 and 198.19.0.0/16 (RFC 2544 appendix C.2.2).
pub fn ipv4(network: u8) -> Ends {
    let end = |half| Ipv4Addr::new(198, half, network, 2);
    Ends::V4(end(18), end(19))
}

/// Returns the IPv6 ends of a network: the halves of 2001:2::/48 (RFC 5180 section 8).
pub fn ipv6(network: u8) -> Ends {
    let end = |half| Ipv6Addr::new(0x2001, 2, 0, half | u16::from(network), 0, 0, 0, 2);
    Ends::V6(end(0), end(0x8000))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn random_ports_are_uniform_in_their_ranges() {
        let packets = Flows::many(100_000).packets(ipv4);
        let sources: Vec<f64> = packets
            .iter()
            .map(|packet| f64::from(packet.ports.0))
            .collect();
        let others: Vec<f64> = packets
            .iter()
            .map(|packet| f64::from(packet.ports.1))
            .collect();
        for (values, range) in [(sources, SOURCES), (others, DESTINATIONS)] {
            let (least, most) = (f64::from(*range.start()), f64::from(*range.end()));
            assert!(values.iter().all(|port| (least..=most).contains(port)));
            // Ten parts with 10,000 each; six standard deviations of such a count are 570.
            for part in 0..10 {
                let from = least + (most - least) * f64::from(part) / 10.0;
                let to = least + (most - least) * f64::from(part + 1) / 10.0;
                let count = values
                    .iter()
                    .filter(|port| (from..to).contains(*port))
                    .count();
                assert!(count.abs_diff(10_000) < 570, "part {part}: {count}");
            }
        }
    }

    #[test]
    fn permuted_ports_occur_once_each() {
        let ports = Ports::Permuted(1024..=1123, 1..=50);
        let list = ports.list(usize::MAX);
        let all: BTreeSet<(u16, u16)> = list.iter().copied().collect();
        assert_eq!((list.len(), all.len()), (5000, 5000));
        assert!(!list.is_sorted());
        assert_eq!(ports.list(7), list[..7]);
    }

    #[test]
    fn many_networks_are_256() {
        let flows = Flows {
            networks: Networks::Many,
            ..Flows::many(10_000)
        };
        let networks: BTreeSet<Ends> = flows.packets(ipv6).iter().map(|p| p.ends).collect();
        assert_eq!(networks.len(), 256);
        let one: BTreeSet<Ends> = Flows::many(100)
            .packets(ipv4)
            .iter()
            .map(|p| p.ends)
            .collect();
        assert_eq!(one.into_iter().collect::<Vec<_>>(), [ipv4(0)]);
    }

    #[test]
    fn ends_are_in_the_benchmarking_ranges() {
        let Ends::V6(source, destination) = ipv6(255) else {
            panic!("not IPv6");
        };
        assert_eq!(source.to_string(), "2001:2:0:ff::2");
        assert_eq!(destination.to_string(), "2001:2:0:80ff::2");
    }
}
