//! The mechanisms: each says which packets are its own and how it maps their addresses and ports.
//! Everything else — headers, sizes, ICMP — is the same for all of them, in
//! [`translate`](crate::translate).

pub mod aftr;
pub mod four_in_six;
pub mod isatap;
pub mod lwaftr;
pub mod map_t;
pub mod nat44;
pub mod nat64;
pub mod passage;
pub mod siit;
pub mod six_in_four;
pub mod softwire;
mod stateful;

use crate::address::{V4, V6};
use crate::config::{
    Aftr, FourInSix, Hairpin, Instance, LwAftr, MapTBorder, MapTCustomer, Mechanism, Nat44, Nat64,
    Siit, SixInFour, SoftwireBorder, SoftwireCustomer,
};
use crate::host::{Host, Instances, Mechanisms};
use crate::nat::{FragmentKey, Ports};
use crate::reason::Counter;
use crate::translate::Tuple;
use crate::translate::transport::{Messages, Transport};
use crate::verdict::{Refusal, Slow};

/// The mechanism of an instance, as far as a host sees it ([`Host::MECHANISMS`]).
enum Seen<'a> {
    Siit(&'a Siit),
    Nat64(&'a Nat64),
    Nat44(&'a Nat44),
    SixInFour(&'a SixInFour),
    FourInSix(&'a FourInSix),
    Aftr(&'a Aftr),
    SoftwireBorder(&'a SoftwireBorder),
    LwAftr(&'a LwAftr),
    SoftwireCustomer(&'a SoftwireCustomer),
    MapTBorder(&'a MapTBorder),
    MapTCustomer(&'a MapTCustomer),
    /// One that the host does not do.
    Other,
}

impl<'a> Seen<'a> {
    #[inline(always)]
    fn of<H: Host>(instance: &'a Instance) -> Self {
        let has = |mechanism| H::MECHANISMS.has(mechanism);
        match &instance.mechanism {
            Mechanism::Siit(siit) if has(Mechanisms::SIIT) => Self::Siit(siit),
            Mechanism::Nat64(nat64) if has(Mechanisms::NAT64) => Self::Nat64(nat64),
            Mechanism::Nat44(nat44) if has(Mechanisms::NAT44) => Self::Nat44(nat44),
            Mechanism::SixInFour(tunnel) if has(Mechanisms::TUNNELS) => Self::SixInFour(tunnel),
            Mechanism::FourInSix(tunnel) if has(Mechanisms::TUNNELS) => Self::FourInSix(tunnel),
            Mechanism::Aftr(aftr) if has(Mechanisms::AFTR) => Self::Aftr(aftr),
            Mechanism::SoftwireBorder(border) if has(Mechanisms::SOFTWIRE_BORDER) => {
                Self::SoftwireBorder(border)
            }
            Mechanism::LwAftr(aftr) if has(Mechanisms::LW_AFTR) => Self::LwAftr(aftr),
            Mechanism::SoftwireCustomer(edge) if has(Mechanisms::SOFTWIRE_CUSTOMER) => {
                Self::SoftwireCustomer(edge)
            }
            Mechanism::MapTBorder(border) if has(Mechanisms::MAP_T_BORDER) => {
                Self::MapTBorder(border)
            }
            Mechanism::MapTCustomer(edge) if has(Mechanisms::MAP_T_CUSTOMER) => {
                Self::MapTCustomer(edge)
            }
            _ => Self::Other,
        }
    }
}

/// Which part of a packet a tuple belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The packet itself: may make and refresh state.
    Outer,
    /// The packet quoted in an ICMP error, with its tuple swapped so that it points the way of the
    /// error: only looks state up (RFC 6146 section 3.4).
    Quoted,
}

/// Whether a packet between two IPv4 addresses belongs to an instance (RFC 7915 section 4.6 for
/// those that translate). `protocol` is what
/// [`telling_protocol`](crate::encap::tunnel_error::telling_protocol) says; few ask.
#[inline(always)]
pub fn owns_v4<H: Host>(
    host: &H,
    instance: &Instance,
    source: V4,
    destination: V4,
    protocol: impl Fn() -> u8,
) -> bool {
    match Seen::of::<H>(instance) {
        Seen::Siit(siit) => siit::owns_v4(host, siit, destination),
        Seen::Nat64(nat64) => nat64.nat.owns(destination),
        Seen::Nat44(nat44) => nat44::owns(nat44, source, destination),
        Seen::SixInFour(tunnel) => six_in_four::owns_v4(tunnel, destination, protocol),
        Seen::FourInSix(tunnel) => four_in_six::owns_v4(tunnel, destination),
        Seen::Aftr(aftr) => aftr.nat.owns(destination),
        Seen::SoftwireBorder(border) => border.destinations.contains(destination),
        Seen::LwAftr(aftr) => aftr.shared.find(destination).is_some(),
        Seen::SoftwireCustomer(edge) => edge.inside.are_left(source, destination),
        Seen::MapTBorder(border) => border.destinations.contains(destination),
        Seen::MapTCustomer(edge) => edge.inside.are_left(source, destination),
        Seen::Other => false,
    }
}

/// What an instance does with a packet of its own.
#[derive(Clone, Copy)]
pub enum Task<'a> {
    /// The packet changes its family.
    Translate,
    /// An IPv4 packet stays one.
    Nat44(&'a Nat44),
    /// IPv4 packets come out of softwires if they come as IPv6, and go into them otherwise.
    Aftr(&'a Aftr),
    /// The same, at a border.
    SoftwireBorder(&'a SoftwireBorder),
    /// The same, at an lwAFTR.
    LwAftr(&'a LwAftr),
    /// The same, at a customer's edge.
    SoftwireCustomer(&'a SoftwireCustomer),
    /// A packet goes into the tunnel if it is IPv6, and comes out of it if it is IPv4.
    SixInFour(&'a SixInFour),
    /// A packet goes into the tunnel if it is IPv4, and comes out of it if it is IPv6.
    FourInSix(&'a FourInSix),
}

/// What an instance does.
#[inline(always)]
pub fn task<'a, H: Host>(_host: &H, instance: &'a Instance) -> Task<'a> {
    match Seen::of::<H>(instance) {
        Seen::Nat44(nat44) => Task::Nat44(nat44),
        Seen::Aftr(aftr) => Task::Aftr(aftr),
        Seen::SoftwireBorder(border) => Task::SoftwireBorder(border),
        Seen::LwAftr(aftr) => Task::LwAftr(aftr),
        Seen::SoftwireCustomer(edge) => Task::SoftwireCustomer(edge),
        Seen::SixInFour(tunnel) => Task::SixInFour(tunnel),
        Seen::FourInSix(tunnel) => Task::FourInSix(tunnel),
        Seen::Siit(_)
        | Seen::Nat64(_)
        | Seen::MapTBorder(_)
        | Seen::MapTCustomer(_)
        | Seen::Other => Task::Translate,
    }
}

/// The ICMPv4 messages that an instance knows.
#[inline(always)]
pub fn messages<H: Host>(host: &H, instance: &Instance) -> Messages {
    match task(host, instance) {
        Task::Translate => Messages::V4,
        _ => Messages::WithinV4,
    }
}

/// Whether an IPv4 address is one of the outside addresses of an instance for IPv6 hosts.
#[inline(always)]
#[must_use]
pub fn pool_owns(instance: &Instance, address: V4) -> bool {
    match &instance.mechanism {
        Mechanism::Nat64(nat64) => nat64.nat.owns(address),
        _ => false,
    }
}

/// Whether a packet between two IPv6 addresses belongs to an instance (RFC 7915 section 5.6 for
/// those that translate).
#[inline(always)]
pub fn owns_v6<H: Host>(host: &H, instance: &Instance, source: V6, destination: V6) -> bool {
    match Seen::of::<H>(instance) {
        Seen::Siit(siit) => siit::owns_v6(host, siit, source, destination),
        Seen::Nat64(nat64) => nat64.prefix.contains(destination),
        Seen::SixInFour(tunnel) => six_in_four::owns_v6(tunnel, destination),
        Seen::FourInSix(tunnel) => four_in_six::owns_v6(tunnel, destination),
        Seen::Aftr(aftr) => destination.is(aftr.local),
        Seen::SoftwireBorder(border) => destination.is(border.local),
        Seen::LwAftr(aftr) => aftr.borders.contains(destination),
        Seen::SoftwireCustomer(edge) => destination.is(edge.local),
        Seen::MapTBorder(border) => border.prefix.contains(destination),
        Seen::MapTCustomer(edge) => destination.is(edge.local),
        Seen::Nat44(_) | Seen::Other => false,
    }
}

/// The IPv6 tuple of an IPv4 packet.
///
/// # Errors
/// An address without counterpart (all of them, where there is no IPv6), or what the NAT decides.
#[inline(always)]
pub fn to_v6<H: Host>(
    host: &mut H,
    instance: &Instance,
    tuple: &Tuple<V4>,
    transport: &Transport,
    part: Part,
) -> Result<Tuple<V6>, Refusal> {
    match Seen::of::<H>(instance) {
        Seen::Siit(siit) => siit::to_v6(host, siit, &instance.policy, tuple),
        Seen::Nat64(nat64) => nat64::to_v6(host, nat64, &instance.policy, tuple, transport, part),
        Seen::MapTBorder(border) => map_t::down(border, tuple),
        Seen::MapTCustomer(edge) => map_t::out(host, edge, tuple, transport, part),
        _ => Err(Refusal::Drop(Counter::UntranslatableDestination)),
    }
}

/// The IPv4 tuple of an IPv6 packet.
///
/// # Errors
/// An address without counterpart, or what the NAT decides.
#[inline(always)]
pub fn to_v4<H: Host>(
    host: &mut H,
    instance: &Instance,
    tuple: &Tuple<V6>,
    transport: &Transport,
    part: Part,
) -> Result<Tuple<V4>, Refusal> {
    match Seen::of::<H>(instance) {
        Seen::Siit(siit) => siit::to_v4(host, siit, &instance.policy, tuple),
        Seen::Nat64(nat64) => nat64::to_v4(host, nat64, &instance.policy, tuple, transport, part),
        Seen::MapTBorder(border) => map_t::up(border, tuple),
        Seen::MapTCustomer(edge) => map_t::back(host, edge, tuple, transport, part),
        _ => Err(Refusal::Drop(Counter::UntranslatableDestination)),
    }
}

/// Whether a mechanism goes by the ports of a packet, which a fragment after the first has not.
#[inline(always)]
#[must_use]
pub fn needs_ports<H: Host>(_host: &H, instance: &Instance) -> bool {
    !matches!(Seen::of::<H>(instance), Seen::Siit(_) | Seen::Other)
}

/// The ports of the datagram that a fragment belongs to (RFC 6146 section 3.4): a first fragment is
/// remembered, the others are found by it.
///
/// Where nothing remembers, the datagram is put together.
///
/// # Errors
/// The first fragment is not known yet.
pub fn ports_of<H: Host>(
    host: &H,
    instance: &Instance,
    key: &FragmentKey,
    transport: &Transport,
) -> Result<Ports, Refusal> {
    match instance.mechanism.nat() {
        None => Err(Refusal::Slow(Slow::Reassemble)),
        Some(nat) => stateful::ports_of(host, nat, key, transport),
    }
}

/// Whether a packet that was mapped to IPv4 goes to another host behind this gateway
/// (RFC 6146 section 3.8, RFC 7757 section 4.2.2).
#[inline(always)]
pub fn hairpins<H: Host, I: Instances + ?Sized>(
    host: &H,
    instances: &I,
    instance: &Instance,
    destination: V4,
) -> bool {
    match Seen::of::<H>(instance) {
        Seen::Siit(siit) => {
            siit.hairpin == Hairpin::Intrinsic && siit::is_host(host, siit, destination)
        }
        Seen::Nat64(_) => instances.pools_own(destination),
        Seen::Nat44(nat44) => nat44.nat.owns(destination),
        Seen::MapTBorder(border) => border.destinations.contains(destination),
        _ => false,
    }
}

/// The IPv6 address of a router or host that sent an ICMPv4 error. Anything that has an IPv6 form
/// is translated, illegal and private addresses too, for trouble shooting (RFC 7915 section 4.1).
#[inline(always)]
pub fn error_source_v6<H: Host>(host: &H, instance: &Instance, source: V4) -> V6 {
    let mapped = match Seen::of::<H>(instance) {
        Seen::Siit(siit) => siit::any_to_v6(host, siit, source),
        Seen::Nat64(nat64) => Some(nat64.prefix.embed(source)),
        Seen::MapTBorder(border) => Some(border.prefix.embed(source)),
        // A router behind the edge has no address outside: it gets the edge's.
        Seen::MapTCustomer(edge) => Some(edge.local),
        _ => None,
    };
    mapped.unwrap_or(instance.policy.own_v6)
}

/// The IPv4 address of a router or host that sent an ICMPv6 error. One that has none gets one of
/// the pool of RFC 6791, always the same for the same router; behind a NAT it gets the address of
/// the binding, `outside` (RFC 6146 section 3.6.1).
#[inline(always)]
pub fn error_source_v4<H: Host>(host: &H, instance: &Instance, source: V6, outside: V4) -> V4 {
    match Seen::of::<H>(instance) {
        Seen::Siit(siit) => siit::any_to_v4(host, siit, source)
            .unwrap_or_else(|| pooled(instance.policy.icmp_pool, source)),
        Seen::Nat64(nat64) => nat64.prefix.extract(source).unwrap_or(outside),
        Seen::MapTBorder(border) => match border.rules.find_v6(source) {
            Some(rule) => rule.host_v4_in(source),
            None => pooled(instance.policy.icmp_pool, source),
        },
        Seen::MapTCustomer(edge) => match edge.prefix.extract(source) {
            Some(address) => address,
            None => match edge.rules.find_v6(source) {
                Some(rule) => rule.host_v4_in(source),
                None => pooled(instance.policy.icmp_pool, source),
            },
        },
        _ => outside,
    }
}

/// RFC 6791 section 3: an address of the pool for an IPv6-only router.
#[inline(always)]
fn pooled((first, count): (V4, u32), router: V6) -> V4 {
    let (high, low) = router.halves();
    let hash = (high ^ low.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let index = hash.wrapping_mul(count as u64) >> 32;
    V4::from_number(first.number().wrapping_add(index as u32))
}
