//! ISATAP: the IPv4 network of a site is an IPv6 link, whose addresses embed the IPv4 address of each node
//! (RFC 5214).

use crate::address::isatap::{self, Unique};
use crate::address::networks::V6Networks;
use crate::address::{V4, V6, special};
use crate::reason::Counter;
use crate::verdict::{IcmpError, Refusal};
use crate::wire::ipv6;

/// A node of an ISATAP link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Isatap {
    /// The routers that there may be.
    pub routers: Routers,
    /// The role of the node.
    pub role: IsatapRole,
    /// The prefix of 64 bits that a router announces.
    pub prefix: V6,
    /// The lifetimes of the prefix.
    pub lifetimes: Lifetimes,
}

/// The role of a node of an ISATAP link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum IsatapRole {
    /// It sends packets for other links to a router.
    Host,
    /// It forwards, and announces a prefix.
    Router,
}

/// Seconds that what a router announces holds (RFC 4861 section 6.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Lifetimes {
    /// That the router is there for all that is elsewhere; 0: it is not.
    pub router: u16,
    /// Of addresses under the prefix.
    pub valid: u32,
    /// Of addresses that new connections use.
    pub preferred: u32,
}

/// The Potential Router List (RFC 5214 section 8.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Routers {
    addresses: [V4; Self::MOST],
    count: u32,
}

impl Routers {
    /// The most routers that fit.
    pub const MOST: usize = 4;

    /// Adds a router. Returns it if there is no room.
    ///
    /// # Errors
    /// There are [`MOST`](Self::MOST) already.
    pub fn push(&mut self, router: V4) -> Result<(), V4> {
        let slot = self.addresses.get_mut(self.count as usize).ok_or(router)?;
        *slot = router;
        self.count += 1;
        Ok(())
    }

    /// The router that is preferred; zeros if there is none.
    #[inline(always)]
    #[must_use]
    pub const fn first(&self) -> V4 {
        self.addresses[0]
    }

    /// Whether an address is a router's. No router is at the address of zeros, which stands in empty places.
    #[inline(always)]
    #[must_use]
    pub fn contains(&self, address: V4) -> bool {
        let [a, b, c, d] = &self.addresses;
        let is = |router: &V4| router.0.0 == address.0.0;
        address.0.0 != 0 && (is(a) | is(b) | is(c) | is(d))
    }
}

/// The prefix of link-local addresses.
const LINK_LOCAL: u64 = 0xfe80 << 48;

/// Returns the tunnel endpoint for a packet: the node with the destination address, if that is on the
/// link, else the router (RFC 5214 section 7.1). For a host its own prefixes are on the link, which its
/// source tells.
///
/// # Errors
/// No node of the site has this address.
#[inline(always)]
pub fn next_hop(isatap: &Isatap, source: V6, destination: V6) -> Result<V4, Refusal> {
    let on_link = match isatap.role {
        IsatapRole::Router => true,
        IsatapRole::Host => source.halves().0 == destination.halves().0,
    };
    if on_link && let Some(node) = isatap::extract(destination) {
        if special::is_illegal_source_v4(node) {
            return Err(Refusal::Drop(Counter::TunnelDestination));
        }
        return Ok(node);
    }
    match isatap.role {
        IsatapRole::Host => Ok(isatap.routers.first()),
        // RFC 4443 section 3.1.
        IsatapRole::Router => Err(Refusal::Reply(
            IcmpError::AddressUnreachable,
            Counter::TunnelDestination,
        )),
    }
}

/// The check of RFC 5214 section 7.3: the inner source embeds the outer one, or that is a router's.
///
/// # Errors
/// It is not so.
#[inline(always)]
pub fn check(isatap: &Isatap, sender: V4, source: V6) -> Result<(), Refusal> {
    // RFC 3964 section 4: such a sender is no host.
    if special::is_illegal_source_v4(sender) {
        return Err(Refusal::Drop(Counter::TunnelSource));
    }
    if isatap::is_consistent(source, sender) || isatap.routers.contains(sender) {
        return Ok(());
    }
    Err(Refusal::Drop(match isatap::extract(source) {
        Some(_) => Counter::TunnelSpoofed,
        None => Counter::TunnelSource,
    }))
}

/// Whether `sender` may send a packet with this header to this node. A host accepts packets for itself
/// only. A router does not send back into the site, where nodes reach each other (RFC 6324 section 3).
///
/// # Errors
/// It may not.
#[inline(always)]
pub fn accept(
    isatap: &Isatap,
    local: V4,
    destinations: &V6Networks,
    sender: V4,
    header: &ipv6::Header,
) -> Result<(), Refusal> {
    check(isatap, sender, header.source())?;
    let stays = match isatap.role {
        IsatapRole::Host => isatap::is_consistent(header.destination(), local),
        IsatapRole::Router => !destinations.contains(header.destination()),
    };
    if stays {
        Ok(())
    } else {
        Err(Refusal::Drop(Counter::Loop))
    }
}

/// Whether an address is one of the link itself: link-local, or of all nodes or routers on it.
#[inline(always)]
#[must_use]
pub fn is_of_link(address: V6) -> bool {
    let (high, _) = address.halves();
    high == LINK_LOCAL || high >> 48 == 0xff02
}

/// The link-local address of this node (RFC 5214 section 6.2).
#[must_use]
pub fn link_local(local: V4) -> V6 {
    V6::from_halves(LINK_LOCAL, isatap::identifier(local, Unique::of(local)))
}

/// Whether an address is the link-local one of this node, whatever it says about how unique it is.
#[must_use]
pub fn is_link_local(address: V6, local: V4) -> bool {
    address.halves().0 == LINK_LOCAL && isatap::is_consistent(address, local)
}
