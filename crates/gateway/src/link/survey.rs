//! The links and addresses of the machine, as far as they matter for what the gateway adds to them.

use futures_util::TryStreamExt;
use ipnet::IpNet;
use isthmus_core::wire::resolution::Mac;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkLayerType, LinkMessage};
use rtnetlink::Handle;

use super::netlink::LinkError;

/// The machine at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Links where neighbours ask for addresses.
    pub(super) links: Vec<Ethernet>,
    /// Addresses on other links.
    pub(super) others: Vec<IpNet>,
}

/// A link whose nodes have Ethernet addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ethernet {
    /// Its number.
    pub(super) number: u32,
    /// Its name.
    pub(super) name: String,
    /// Its own Ethernet address.
    pub(super) mac: Mac,
    /// Its IP addresses, with the networks that are on it.
    pub(super) addresses: Vec<IpNet>,
}

impl Survey {
    /// Looks at the machine.
    pub(super) async fn take(handle: &Handle) -> Result<Self, LinkError> {
        let links = handle.link().get().execute().try_collect();
        let links: Vec<LinkMessage> = links.await.map_err(LinkError::refused("list of links"))?;
        let mut survey = Self::default();
        survey.links.extend(links.iter().filter_map(ethernet));
        let addresses = handle.address().get().execute().try_collect();
        let addresses: Vec<AddressMessage> = addresses
            .await
            .map_err(LinkError::refused("list of addresses"))?;
        for message in addresses {
            let Some(address) = address(&message) else {
                continue;
            };
            let mut links = survey.links.iter_mut();
            match links.find(|link| link.number == message.header.index) {
                Some(link) => link.addresses.push(address),
                None => survey.others.push(address),
            }
        }
        Ok(survey)
    }

    /// All addresses of the machine.
    pub fn addresses(&self) -> impl Iterator<Item = &IpNet> {
        let of_links = self.links.iter().flat_map(|link| &link.addresses);
        of_links.chain(&self.others)
    }

    /// Links where neighbours ask for addresses.
    pub(super) fn ethernets(&self) -> impl Iterator<Item = &Ethernet> {
        self.links.iter()
    }
}

fn ethernet(message: &LinkMessage) -> Option<Ethernet> {
    let header = &message.header;
    let asks = header.link_layer_type == LinkLayerType::Ether
        && header.flags.contains(LinkFlags::Up)
        && !header.flags.contains(LinkFlags::Noarp);
    if !asks {
        return None;
    }
    let mut attributes = message.attributes.iter();
    let mac = attributes.find_map(|attribute| match attribute {
        LinkAttribute::Address(bytes) => Mac::try_from(bytes.as_slice()).ok(),
        _ => None,
    })?;
    let mut attributes = message.attributes.iter();
    let name = attributes.find_map(|attribute| match attribute {
        LinkAttribute::IfName(name) => Some(name.clone()),
        _ => None,
    })?;
    Some(Ethernet {
        number: header.index,
        name,
        mac,
        addresses: Vec::new(),
    })
}

/// The address of a message: its own, not that of the other end of a link.
fn address(message: &AddressMessage) -> Option<IpNet> {
    let of = |wanted: fn(&AddressAttribute) -> Option<std::net::IpAddr>| {
        message.attributes.iter().find_map(wanted)
    };
    let local = of(|attribute| match attribute {
        AddressAttribute::Local(address) => Some(*address),
        _ => None,
    });
    let address = local.or_else(|| {
        of(|attribute| match attribute {
            AddressAttribute::Address(address) => Some(*address),
            _ => None,
        })
    })?;
    IpNet::new(address, message.header.prefix_len).ok()
}
