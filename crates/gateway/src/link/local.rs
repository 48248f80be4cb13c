//! An IPv6 address of the machine's own CLAT, in a network of its uplink: chosen anew for each network, tried by
//! duplicate address detection, and told to switches that look for listeners.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv6Addr, UdpSocket};
use std::time::Duration;

use futures_util::TryStreamExt;
use ipnet::Ipv6Net;
use isthmus_core::table::{Secret, prf};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage, CacheInfo,
};
use netlink_packet_route::link::LinkAttribute;
use rtnetlink::Handle;
use socket2::{Domain, Socket, Type};
use tokio::time::sleep;

use super::netlink::{LinkError, find, mark};
use crate::hash;

/// Addresses that are tried in a network, one after the other (RFC 7217 section 7, IDGEN_RETRIES).
const TRIES: u64 = 3;
/// The length of networks whose hosts choose addresses (RFC 4291 section 2.5.1).
const LENGTH: u8 = 64;
/// Seconds after which the kernel takes back an address that is tried, if this process does not.
const TRIAL: u32 = 30;

/// The address, for as long as this lives.
#[derive(Debug)]
pub struct Local {
    /// The address.
    pub address: Ipv6Addr,
    network: Ipv6Net,
    link: u32,
    /// Keeps the link in the group of those who ask for the address.
    _member: UdpSocket,
}

/// A link and its networks, as far as hosts choose their addresses there.
#[derive(Debug)]
pub struct Uplink {
    number: u32,
    mac: u64,
    /// The best first.
    networks: Vec<Network>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Network {
    is_deprecated: bool,
    is_local: bool,
    network: Ipv6Net,
}

impl Local {
    /// Whether it is in this network of this link.
    #[must_use]
    pub fn is_of(&self, uplink: &Uplink, network: Ipv6Net) -> bool {
        self.link == uplink.number && self.network == network
    }
}

impl Uplink {
    /// Looks at the link of this name. `None`: there is none.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub async fn look(handle: &Handle, name: &str) -> Result<Option<Self>, LinkError> {
        let link = match find(handle, name).await {
            Err(LinkError::Missing(_)) => return Ok(None),
            link => link?,
        };
        let mac = link
            .attributes
            .iter()
            .find_map(|attribute| match attribute {
                LinkAttribute::Address(bytes) => {
                    let number = bytes.iter().take(8);
                    Some(number.fold(0, |all, byte| all << 8 | u64::from(*byte)))
                }
                _ => None,
            });
        let number = link.header.index;
        let addresses = addresses(handle, number).await?;
        let mut networks: Vec<_> = addresses.iter().filter_map(network).collect();
        networks.sort_unstable();
        Ok(Some(Self {
            number,
            mac: mac.unwrap_or_default(),
            networks,
        }))
    }

    /// The network to have an address in: that which there is one in already, unless it ends and another does not.
    #[must_use]
    pub fn network(&self, local: Option<&Local>) -> Option<Ipv6Net> {
        self.choose(local.map(|local| local.network))
    }

    fn choose(&self, current: Option<Ipv6Net>) -> Option<Ipv6Net> {
        let known = |known: &&Network| Some(known.network) == current;
        let (best, current) = (self.networks.first()?, self.networks.iter().find(known));
        let kept = current.filter(|current| !current.is_deprecated || best.is_deprecated);
        Some(kept.unwrap_or(best).network)
    }

    /// Finds an address in a network that nobody has. `None`: several were taken.
    ///
    /// # Errors
    /// The kernel refuses something.
    pub async fn claim(
        &self,
        handle: &Handle,
        network: Ipv6Net,
        instance: &str,
    ) -> Result<Option<Local>, LinkError> {
        let secret = secret().map_err(LinkError::Socket)?;
        for attempt in 0..TRIES {
            let address = self.address(&secret, network, instance, attempt);
            if is_reserved(address) {
                continue;
            }
            // The kernel ends its own membership with the trial.
            let member = join(self.number, address).map_err(LinkError::Socket)?;
            if is_free(handle, self.number, address).await? {
                return Ok(Some(Local {
                    address,
                    network,
                    link: self.number,
                    _member: member,
                }));
            }
            tracing::warn!(%address, "another node has this address");
        }
        Ok(None)
    }

    /// RFC 7217 section 5: the same in a network each time, another in another network, and unknown to others.
    fn address(&self, secret: &Secret, network: Ipv6Net, instance: &str, attempt: u64) -> Ipv6Addr {
        let prefix = (u128::from(network.network()) >> 64) as u64;
        let words = [
            prefix,
            self.mac,
            u64::from(hash::of_name(instance)),
            attempt,
        ];
        let identifier = u128::from(prf(secret, &words));
        (u128::from(network.network()) | identifier).into()
    }
}

/// Whether an address means something else (RFC 5453): that of all routers, and those of anycast (RFC 2526).
fn is_reserved(address: Ipv6Addr) -> bool {
    const ANYCAST: u64 = 0xfdff_ffff_ffff_ff80;
    let identifier = u128::from(address) as u64;
    identifier == 0 || identifier & ANYCAST == ANYCAST && identifier >> 57 == ANYCAST >> 57
}

/// The key of addresses, the same for as long as the machine is installed.
fn secret() -> io::Result<Secret> {
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let id = match u128::from_str_radix(id.trim(), 16) {
        Ok(id) => id,
        Err(_) => {
            let mut bytes = [0; 16];
            getrandom::fill(&mut bytes)?;
            u128::from_ne_bytes(bytes)
        }
    };
    Ok([(id >> 64) as u64, id as u64])
}

/// Has the kernel ask whether somebody has the address (RFC 4862 section 5.4).
async fn is_free(handle: &Handle, link: u32, address: Ipv6Addr) -> Result<bool, LinkError> {
    let mut add = handle.address().add(link, address.into(), 128);
    // No program shall choose it for its source: it is not preferred at any time.
    let mut lifetime = CacheInfo::default();
    lifetime.ifa_valid = TRIAL;
    let attributes = &mut add.message_mut().attributes;
    attributes.push(AddressAttribute::CacheInfo(lifetime));
    attributes.push(AddressAttribute::Flags(AddressFlags::Noprefixroute));
    attributes.push(mark());
    let tried = add.message_mut().clone();
    add.execute()
        .await
        .map_err(LinkError::refused(format!("trial of address {address}")))?;
    let mut is_free = false;
    for _ in 0..10 * TRIAL {
        sleep(Duration::from_millis(100)).await;
        let known = addresses(handle, link).await?;
        // An address that another node has is gone.
        let Some(there) = known.iter().find(|one| of(one) == Some(address)) else {
            break;
        };
        let flags = flags(there);
        if !flags.contains(AddressFlags::Tentative) {
            is_free = !flags.contains(AddressFlags::Dadfailed);
            break;
        }
    }
    // It may be gone already, and goes in any case.
    let _ = handle.address().del(tried).execute().await;
    Ok(is_free)
}

async fn addresses(handle: &Handle, link: u32) -> Result<Vec<AddressMessage>, LinkError> {
    let all = handle.address().get().set_link_index_filter(link).execute();
    let mut all: Vec<AddressMessage> = all
        .try_collect()
        .await
        .map_err(LinkError::refused("list of addresses"))?;
    all.retain(|one| one.header.family == AddressFamily::Inet6);
    Ok(all)
}

fn of(message: &AddressMessage) -> Option<Ipv6Addr> {
    message
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            AddressAttribute::Address(IpAddr::V6(address)) => Some(*address),
            _ => None,
        })
}

fn flags(message: &AddressMessage) -> AddressFlags {
    let of = |header: AddressHeaderFlags| AddressFlags::from_bits_retain(header.bits().into());
    let all = message
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            AddressAttribute::Flags(flags) => Some(*flags),
            _ => None,
        });
    all.unwrap_or_else(|| of(message.header.flags))
}

fn network(message: &AddressMessage) -> Option<Network> {
    let (address, flags) = (of(message)?, flags(message));
    let is_usable = message.header.prefix_len == LENGTH
        && !address.is_unicast_link_local()
        && !flags.intersects(AddressFlags::Tentative | AddressFlags::Dadfailed);
    is_usable.then(|| Network {
        is_deprecated: flags.contains(AddressFlags::Deprecated),
        is_local: address.is_unique_local(),
        network: Ipv6Net::new_assert(address, LENGTH).trunc(),
    })
}

/// Joins the group that is asked for an address (RFC 4291 section 2.7.1). Switches that snoop send questions to
/// members only.
fn join(link: u32, address: Ipv6Addr) -> io::Result<UdpSocket> {
    let group = 0xff02_0000_0000_0000_0000_0001_ff00_0000 | u128::from(address) & 0x00ff_ffff;
    let socket = Socket::new(Domain::IPV6, Type::DGRAM, None)?;
    socket.join_multicast_v6(&group.into(), link)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uplink(networks: &[(&str, bool)]) -> Uplink {
        let of = |(text, is_deprecated): &(&str, bool)| Network {
            is_deprecated: *is_deprecated,
            is_local: text.starts_with("fd"),
            network: text.parse().unwrap(),
        };
        let mut networks: Vec<_> = networks.iter().map(of).collect();
        networks.sort_unstable();
        Uplink {
            number: 1,
            mac: 0x0200_0000_0001,
            networks,
        }
    }

    #[test]
    fn a_network_is_kept_until_it_ends() {
        let (a, b, local) = ("2001:db8:a::/64", "2001:db8:b::/64", "fd00::/64");
        let net = |text: &str| Some(text.parse().unwrap());
        assert_eq!(uplink(&[]).choose(net(a)), None);
        assert_eq!(uplink(&[(local, false), (b, false)]).choose(None), net(b));
        let both = uplink(&[(a, false), (b, false)]);
        assert_eq!(both.choose(net(b)), net(b));
        // The router has announced another, and this one not any more.
        assert_eq!(uplink(&[(a, true), (b, false)]).choose(net(a)), net(b));
        assert_eq!(uplink(&[(a, true)]).choose(net(a)), net(a));
        assert_eq!(uplink(&[(b, false)]).choose(net(a)), net(b));
    }

    #[test]
    fn an_address_is_the_same_in_a_network_and_another_elsewhere() {
        let of = |net: &str, attempt| {
            uplink(&[]).address(&[1, 2], net.parse().unwrap(), "clat", attempt)
        };
        let here = of("2001:db8:a::/64", 0);
        assert!(
            "2001:db8:a::/64"
                .parse::<Ipv6Net>()
                .unwrap()
                .contains(&here)
        );
        assert_eq!(here, of("2001:db8:a::/64", 0));
        let identifier = |address: Ipv6Addr| u128::from(address) as u64;
        for other in [of("2001:db8:b::/64", 0), of("2001:db8:a::/64", 1)] {
            assert_ne!(identifier(here), identifier(other));
        }
    }

    #[test]
    fn reserved_identifiers_are_left_out() {
        let is_reserved = |text: &str| super::is_reserved(text.parse().unwrap());
        assert!(is_reserved("2001:db8::"));
        assert!(is_reserved("2001:db8::fdff:ffff:ffff:ff80"));
        assert!(is_reserved("2001:db8::fdff:ffff:ffff:ffff"));
        assert!(!is_reserved("2001:db8::fdff:ffff:ffff:ff7f"));
        assert!(!is_reserved("2001:db8::ffff:ffff:ffff:ffff"));
    }
}
