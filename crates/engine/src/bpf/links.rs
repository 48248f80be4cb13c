//! Writes the properties of links to the programs' maps (`isthmus_abi::links`): the devices of VLANs, links that
//! take no frames from XDP, links whose packets the kernel forwards, and their [addresses](super::stations).

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use aya::Ebpf;
use aya::maps::{HashMap, MapData, MapError};
use isthmus_abi::links::{self as abi, Link as Properties};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoPortKind, InfoVlan, LinkAttribute, LinkExtentMask, LinkFlags, LinkInfo,
    LinkLayerType, LinkMessage, VlanProtocol,
};

use super::Error;
use super::dump::dump;
use super::frames::{self, Abilities};
use super::stations::Stations;

/// The maps and their current contents.
#[derive(Debug)]
pub(super) struct Links {
    links: HashMap<MapData, u32, u64>,
    vlans: HashMap<MapData, u64, u32>,
    named: Named<String>,
    written: Contents,
    stations: Stations,
    /// The abilities of drivers at the last update.
    abilities: Option<Abilities>,
}

/// Links with properties that the configuration gives them.
#[derive(Clone, Debug, Default)]
pub(super) struct Named<N> {
    /// Those whose packets the kernel forwards.
    pub(super) by_kernel: BTreeSet<N>,
    /// Those where no inside host is.
    pub(super) outside: BTreeSet<N>,
}

impl Named<String> {
    /// The same by their numbers.
    fn numbers(&self, links: &[Link]) -> Named<u32> {
        let numbers = |names: &BTreeSet<String>| {
            let named = links.iter().filter(|link| names.contains(&link.name));
            named.map(|link| link.number).collect()
        };
        Named {
            by_kernel: numbers(&self.by_kernel),
            outside: numbers(&self.outside),
        }
    }
}

/// The contents of both maps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Contents {
    /// The words of links with properties, by link number.
    links: BTreeMap<u32, u64>,
    /// Numbers of VLAN devices, by the number of the lower link and the tag.
    vlans: BTreeMap<u64, u32>,
}

impl Links {
    /// Takes the maps from the object. `named` are the links with properties of the configuration.
    pub(super) fn new(ebpf: &mut Ebpf, named: Named<String>) -> Result<Self, Error> {
        let mut take = |name| ebpf.take_map(name).ok_or(Error::Missing(name));
        Ok(Self {
            links: take(abi::LINKS)?.try_into()?,
            vlans: take(abi::VLANS)?.try_into()?,
            named,
            written: Contents::default(),
            stations: Stations::new(take(abi::STATIONS)?, take(abi::OWN)?)?,
            abilities: None,
        })
    }

    /// Whether drivers can do something else than at the last update, which the kernel does not announce with the
    /// links.
    pub(super) fn drivers_changed(&self) -> bool {
        frames::abilities().ok().flatten() != self.abilities
    }

    /// Writes the current links of the calling thread's network namespace to the maps.
    pub(super) fn update(&mut self) -> io::Result<()> {
        let mut links = all()?;
        // Who does not learn it takes all drivers to be able.
        self.abilities = frames::abilities().ok().flatten();
        if let Some(abilities) = &self.abilities {
            for link in &mut links {
                let ability = abilities.get(&link.number);
                link.refuses_frames = ability.is_some_and(|ability| !ability.takes_frames);
            }
        }
        let current = Contents::of(&links, &self.named.numbers(&links));
        let refused = |error: MapError| io::Error::other(error);
        // The addresses come first: a VLAN whose device has one of its own is taken as soon as it is known.
        self.stations.update(&links).map_err(refused)?;
        // The order of the writes: at no time may packets of a VLAN bypass the kernel's filters.
        for (number, word) in &current.links {
            if self.written.links.get(number) != Some(word) {
                self.links.insert(number, word, 0).map_err(refused)?;
                self.written.links.insert(*number, *word);
            }
        }
        for (tag, number) in &current.vlans {
            if self.written.vlans.get(tag) != Some(number) {
                self.vlans.insert(tag, number, 0).map_err(refused)?;
                self.written.vlans.insert(*tag, *number);
            }
        }
        let gone = |tag: &u64| !current.vlans.contains_key(tag);
        for tag in self.written.vlans.keys().copied().filter(gone) {
            self.vlans.remove(&tag).map_err(refused)?;
        }
        let gone = |number: &u32| !current.links.contains_key(number);
        for number in self.written.links.keys().copied().filter(gone) {
            self.links.remove(&number).map_err(refused)?;
        }
        self.written = current;
        Ok(())
    }
}

/// The properties of a link that are needed here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) number: u32,
    pub(super) name: String,
    pub(super) up: bool,
    pub(super) ethernet: bool,
    pub(super) kind: Option<InfoKind>,
    /// The Ethernet address.
    pub(super) address: Option<[u8; 6]>,
    /// The lower link, in the same network namespace.
    pub(super) below: Option<u32>,
    /// The bridge or bond that this link is a part of.
    pub(super) master: Option<u32>,
    pub(super) vlan: Option<u16>,
    pub(super) protocol: VlanProtocol,
    pub(super) bridged: bool,
    /// Its driver takes no frames from XDP now, as it says itself. Kernels before 6.3 do not know.
    pub(super) refuses_frames: bool,
}

impl Link {
    fn of(message: &LinkMessage) -> Self {
        let mut link = Self {
            number: message.header.index,
            up: message.header.flags.contains(LinkFlags::Up),
            ethernet: message.header.link_layer_type == LinkLayerType::Ether,
            ..Self::default()
        };
        let mut elsewhere = false;
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name.clone_from(name),
                LinkAttribute::Link(below) => link.below = Some(*below),
                LinkAttribute::Controller(master) => link.master = Some(*master),
                LinkAttribute::Address(address) if link.ethernet => {
                    link.address = address.as_slice().try_into().ok();
                }
                LinkAttribute::LinkNetNsId(_) => elsewhere = true,
                LinkAttribute::LinkInfo(infos) => link.learn(infos),
                _ => {}
            }
        }
        if elsewhere {
            link.below = None;
        }
        link
    }

    fn learn(&mut self, infos: &[LinkInfo]) {
        for info in infos {
            match info {
                LinkInfo::Kind(kind) => self.kind = Some(kind.clone()),
                LinkInfo::PortKind(kind) => self.bridged = *kind == InfoPortKind::Bridge,
                LinkInfo::Data(InfoData::Vlan(data)) => {
                    for entry in data {
                        match entry {
                            InfoVlan::Id(number) => self.vlan = Some(*number),
                            InfoVlan::Protocol(protocol) => self.protocol = *protocol,
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether XDP can send to it. Most drivers can, and few virtual links.
    fn takes_frames(&self) -> bool {
        self.ethernet
            && !self.refuses_frames
            && matches!(
                self.kind,
                None | Some(InfoKind::Veth | InfoKind::Tun | InfoKind::Bond)
            )
    }

    /// Returns the number of the lower link and the tag, if this is the device of a VLAN.
    fn as_vlan(&self) -> Option<(u32, u16)> {
        let service = self.protocol == VlanProtocol::Ieee8021Ad;
        match (&self.kind, self.below, self.vlan) {
            // Number 0 is for frames that only have a priority.
            (Some(InfoKind::Vlan), Some(below), Some(number @ 1..4095)) => {
                Some((below, abi::tag_number(number, service)))
            }
            _ => None,
        }
    }
}

impl Contents {
    fn of(links: &[Link], named: &Named<u32>) -> Self {
        let mut current = Self::default();
        let takes_frames: BTreeSet<u32> = links
            .iter()
            .filter(|link| link.takes_frames())
            .map(|link| link.number)
            .collect();
        for link in links {
            let mut properties = Properties::PLAIN;
            let mut from = link.number;
            match link.as_vlan() {
                Some((below, tag)) => {
                    from = below;
                    properties = Properties::of_vlan(below, tag);
                    if !takes_frames.contains(&below) {
                        properties = properties.without_frames();
                    }
                    // Packets from a bridge's ports are not routed here.
                    if link.up && !link.bridged {
                        let key = abi::vlan_key(below, tag.into());
                        current.vlans.insert(key, link.number);
                    }
                }
                None if !link.takes_frames() => properties = properties.without_frames(),
                None => {}
            }
            let is = |some: &BTreeSet<u32>| some.contains(&from) || some.contains(&link.number);
            if is(&named.by_kernel) {
                properties = properties.forwarded_by_kernel();
            }
            if is(&named.outside) {
                properties = properties.to_the_outside();
            }
            if properties != Properties::PLAIN {
                current.links.insert(link.number, properties.0);
            }
        }
        current
    }
}

/// Returns all links of the network namespace of the calling thread.
fn all() -> io::Result<Vec<Link>> {
    let mut request = LinkMessage::default();
    request
        .attributes
        .push(LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]));
    let mut links = Vec::new();
    dump(RouteNetlinkMessage::GetLink(request), |message| {
        if let RouteNetlinkMessage::NewLink(link) = message {
            links.push(Link::of(&link));
        }
        Ok(())
    })?;
    Ok(links)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn physical(number: u32) -> Link {
        Link {
            number,
            up: true,
            ethernet: true,
            ..Link::default()
        }
    }

    fn vlan(number: u32, below: u32, tag: u16) -> Link {
        Link {
            kind: Some(InfoKind::Vlan),
            below: Some(below),
            vlan: Some(tag),
            ..physical(number)
        }
    }

    fn contents(links: &[Link], by_kernel: &[u32]) -> Contents {
        let named = Named {
            by_kernel: by_kernel.iter().copied().collect(),
            outside: BTreeSet::new(),
        };
        Contents::of(links, &named)
    }

    const fn key(below: u64, tag: u64) -> u64 {
        below << 32 | tag
    }

    #[test]
    fn a_vlan_is_known_from_both_sides() {
        let current = contents(&[physical(2), vlan(7, 2, 10)], &[]);
        assert_eq!(current.links, BTreeMap::from([(7, 10 << 32 | 2)]));
        assert_eq!(current.vlans, BTreeMap::from([(key(2, 10), 7)]));
    }

    #[test]
    fn the_same_number_in_a_service_tag_is_another_vlan() {
        let service = Link {
            protocol: VlanProtocol::Ieee8021Ad,
            ..vlan(8, 2, 10)
        };
        let current = contents(&[physical(2), vlan(7, 2, 10), service], &[]);
        assert_eq!(current.links[&8], (1 << 12 | 10) << 32 | 2);
        let vlans = [(key(2, 10), 7), (key(2, 1 << 12 | 10), 8)];
        assert_eq!(current.vlans, BTreeMap::from(vlans));
    }

    #[test]
    fn no_packets_come_from_a_vlan_that_is_down_bridged_or_without_a_number() {
        let down = Link {
            up: false,
            ..vlan(7, 2, 10)
        };
        let bridged = Link {
            bridged: true,
            ..vlan(8, 2, 11)
        };
        let current = contents(&[physical(2), down, bridged, vlan(9, 2, 0)], &[]);
        assert_eq!(current.vlans, BTreeMap::new());
    }

    #[test]
    fn links_that_take_no_frames_are_marked() {
        let of_kind = |number, kind| Link {
            kind: Some(kind),
            ..physical(number)
        };
        let without_ethernet = Link {
            ethernet: false,
            ..of_kind(5, InfoKind::Tun)
        };
        let deaf = Link {
            refuses_frames: true,
            ..of_kind(10, InfoKind::Veth)
        };
        let links = [
            physical(2),
            of_kind(3, InfoKind::Veth),
            of_kind(4, InfoKind::Bridge),
            without_ethernet,
            vlan(7, 4, 10),
            vlan(8, 2, 10),
            vlan(9, 8, 11),
            deaf,
            vlan(11, 10, 10),
        ];
        let current = contents(&links, &[]);
        let no_frames: Vec<u32> = current
            .links
            .iter()
            .filter(|(_, word)| !Properties(**word).takes_frames())
            .map(|(number, _)| *number)
            .collect();
        assert_eq!(no_frames, [4, 5, 7, 9, 10, 11]);
    }

    #[test]
    fn the_kernel_forwards_for_the_vlans_of_a_link_too() {
        let current = contents(
            &[physical(2), physical(3), vlan(7, 2, 10), vlan(8, 3, 10)],
            &[2],
        );
        let by_kernel: Vec<u32> = current
            .links
            .iter()
            .filter(|(_, word)| Properties(**word).forwards_by_kernel())
            .map(|(number, _)| *number)
            .collect();
        assert_eq!(by_kernel, [2, 7]);
    }

    #[test]
    fn a_vlan_on_a_link_of_another_namespace_is_nobodys() {
        let mut message = LinkMessage::default();
        message.header.index = 7;
        message.attributes = vec![
            LinkAttribute::Link(2),
            LinkAttribute::LinkNetNsId(0),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Vlan),
                LinkInfo::Data(InfoData::Vlan(vec![InfoVlan::Id(10)])),
            ]),
        ];
        assert_eq!(Link::of(&message).as_vlan(), None);
    }
}
