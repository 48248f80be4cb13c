//! Writes the Ethernet addresses at which this machine listens to the programs' maps (`isthmus_abi::links`): XDP
//! sees every frame that a card receives, also those to others (RFC 1812 section 5.3.4).
//!
//! A link listens at its own address, at that of the bridge or bond that it is a part of, and at those of the
//! `macvlan` devices above it in this network namespace, which VRRP has. The device of a VLAN may have an address
//! of its own. Links without addresses (TUN, tunnels) are in no map.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use aya::maps::{Array, HashMap, Map, MapData, MapError};
use isthmus_abi::links::{self as abi, Station};
use netlink_packet_route::link::InfoKind;

use super::links::Link;

/// The maps and their current contents.
pub(super) struct Stations {
    stations: HashMap<MapData, [u64; 2], u32>,
    own: Array<MapData, u64>,
    written: Contents,
}

impl fmt::Debug for Stations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.written.fmt(f)
    }
}

/// The contents of both maps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Contents {
    stations: BTreeSet<Station>,
    /// Words of links by their places.
    own: BTreeMap<u32, u64>,
}

impl Stations {
    pub(super) fn new(stations: Map, own: Map) -> Result<Self, MapError> {
        Ok(Self {
            stations: stations.try_into()?,
            own: own.try_into()?,
            written: Contents::default(),
        })
    }

    /// Writes the addresses of these links. A new address is there before an old one is gone, and a link is marked
    /// when all its addresses are there.
    pub(super) fn update(&mut self, links: &[Link]) -> Result<(), MapError> {
        let current = Contents::of(links);
        let key = |station: &Station| [station.link, station.address];
        let new = current.stations.difference(&self.written.stations);
        let (marks, addresses): (Vec<_>, Vec<_>) = new.copied().partition(|new| new.address == 0);
        for station in addresses.into_iter().chain(marks) {
            self.stations.insert(key(&station), 0, 0)?;
            self.written.stations.insert(station);
        }
        let places: BTreeSet<u32> = current
            .own
            .keys()
            .chain(self.written.own.keys())
            .copied()
            .collect();
        for place in places {
            let word = current.own.get(&place).copied();
            if self.written.own.get(&place).copied() != word {
                self.own.set(place, word.unwrap_or(0), 0)?;
            }
        }
        for station in self.written.stations.difference(&current.stations) {
            self.stations.remove(&key(station))?;
        }
        self.written = current;
        Ok(())
    }
}

impl Contents {
    fn of(links: &[Link]) -> Self {
        let address = |link: &Link| Some((link.number, link.address?));
        let addresses: BTreeMap<u32, [u8; 6]> = links.iter().filter_map(address).collect();
        let mut current = Self::default();
        for link in links {
            let Some(address) = link.address else {
                continue;
            };
            current.add(link.number, [0; 6]);
            current.add(link.number, address);
            if let Some(address) = link.master.and_then(|master| addresses.get(&master)) {
                current.add(link.number, *address);
            }
            if let (Some(InfoKind::MacVlan), Some(below), true) = (&link.kind, link.below, link.up)
            {
                current.add(below, address);
            }
        }
        // Frames of a VLAN come in on the link below: its device needs a place the least.
        let is_vlan = |link: &&Link| link.kind == Some(InfoKind::Vlan);
        let (vlans, others): (Vec<_>, Vec<_>) = links.iter().partition(is_vlan);
        for link in others.into_iter().chain(vlans) {
            if let Some(address) = link.address
                && link.number < abi::OWN_END
            {
                let place = abi::own_place(link.number);
                let word = abi::own_word(link.number, number_of(address));
                current.own.entry(place).or_insert(word);
            }
        }
        current
    }

    fn add(&mut self, link: u32, address: [u8; 6]) {
        self.stations.insert(Station {
            link: link.into(),
            address: number_of(address),
        });
    }
}

/// The address as the programs read it: its first byte is the lowest.
fn number_of([a, b, c, d, e, f]: [u8; 6]) -> u64 {
    u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
    const B: [u8; 6] = [2, 0, 0, 0, 0, 0xb];

    fn link(number: u32, address: [u8; 6]) -> Link {
        Link {
            number,
            up: true,
            address: Some(address),
            ..Link::default()
        }
    }

    /// The addresses at which a link listens, without its mark.
    fn listens(links: &[Link], number: u64) -> Vec<u64> {
        let current = Contents::of(links);
        let of_link = current
            .stations
            .iter()
            .filter(|station| station.link == number);
        let addresses: Vec<u64> = of_link.map(|station| station.address).collect();
        assert_eq!(addresses[..1], [0], "there is no mark");
        addresses[1..].to_vec()
    }

    #[test]
    fn a_link_listens_at_its_own_address() {
        assert_eq!(listens(&[link(2, A), link(3, B)], 2), [0x0a00_0000_0002]);
        let own = Contents::of(&[link(2, A), link(1026, B)]).own;
        // Both have one place, which the first one takes.
        assert_eq!(own, BTreeMap::from([(2, 1 << 48 | 0x0a00_0000_0002)]));
    }

    #[test]
    fn a_part_of_a_bridge_or_bond_listens_for_the_whole() {
        let part = Link {
            master: Some(9),
            ..link(2, A)
        };
        assert_eq!(listens(&[part, link(9, B)], 2), [A, B].map(number_of));
    }

    #[test]
    fn a_link_listens_for_its_macvlan_as_long_as_that_is_up() {
        let above = |up| Link {
            kind: Some(InfoKind::MacVlan),
            below: Some(2),
            up,
            ..link(9, B)
        };
        assert_eq!(
            listens(&[link(2, A), above(true)], 2),
            [A, B].map(number_of)
        );
        assert_eq!(listens(&[link(2, A), above(false)], 2), [number_of(A)]);
    }

    #[test]
    fn a_link_without_addresses_is_in_no_map() {
        let tun = Link {
            address: None,
            ..link(5, A)
        };
        assert_eq!(Contents::of(&[tun]), Contents::default());
    }

    #[test]
    fn the_device_of_a_vlan_gives_its_place_to_others() {
        let vlan = Link {
            kind: Some(InfoKind::Vlan),
            ..link(2, A)
        };
        let own = Contents::of(&[vlan, link(1026, B)]).own;
        assert_eq!(own, BTreeMap::from([(2, 2 << 48 | number_of(B))]));
    }
}
