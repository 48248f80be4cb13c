//! The search for the instance that a packet belongs to, in global functions: see [`lookup`](crate::lookup).

use isthmus_abi::banks::InstanceWords;
use isthmus_core::address::{V4, V6};
use isthmus_core::config::Instance;
use isthmus_core::customer::Destination;
use isthmus_core::datagrams::FragmentKey;
use isthmus_core::host::{Established, Host};
use isthmus_core::mechanism::instances::{self, Found, MOST_INSTANCES};
use isthmus_core::mechanism::{self, Instances, Mechanism, Member, PacketV4};
use isthmus_core::packet::{Family, Packet};
use isthmus_core::wire::{ipv4, ipv6, protocol};
use isthmus_core::word::Word;

use crate::configured::Configured;
use crate::lookup::{NOTHING, number};
use crate::maps;
use crate::route::NoRoute;
use crate::services::Services;

/// In place of the result of a search: the gateway has one instance, which checks later whether it owns
/// the packet.
pub(crate) const ONLY: u64 = NOTHING - 1;

/// The one of several instances that a packet belongs to, for [`Chosen`]. `quoted` returns the quoted protocol of an ICMP
/// message.
#[inline(always)]
pub(crate) fn search<P: Packet>(
    configured: Configured,
    family: Family,
    packet: &P,
    quoted: impl Fn() -> u8,
) -> u64 {
    match family {
        Family::V4 => ipv4::Header::read(packet, 0).map_or(NOTHING, |header| {
            let protocol = match header.protocol() {
                protocol::ICMP => quoted(),
                other => other,
            };
            find_v4(configured, header.source(), header.destination(), protocol)
        }),
        Family::V6 => ipv6::Header::read(packet, 0).map_or(NOTHING, |header| {
            find_v6(configured, header.source(), header.destination())
        }),
    }
}

#[inline(always)]
fn find_v4(configured: Configured, source: V4, destination: V4, protocol: u8) -> u64 {
    instance_v4(source.0.0, destination.0.0, protocol, configured.number())
}

#[inline(always)]
fn find_v6(configured: Configured, source: V6, destination: V6) -> u64 {
    let (from, to) = (source.halves(), destination.halves());
    instance_v6(from.0, from.1, to.0, to.1, configured.number())
}

/// The number of the instance that a search found; `None` if it found none.
#[inline(always)]
pub(crate) fn index(searched: u64) -> Option<u32> {
    match searched {
        ONLY => Some(0),
        other => number(other),
    }
}

/// The instance that a search found; `None` if it found none.
#[inline(always)]
pub(crate) fn instance(configured: &Configured, searched: u64) -> Option<&Instance> {
    configured.get(index(searched)?)
}

impl Configured {
    /// The instance that a search found.
    #[inline(always)]
    fn numbered<M: Member>(&self, searched: u64) -> Option<Found<'_, M>> {
        let index = number(searched)?;
        Found::of(index, self.get(index)?)
    }
}

impl Instances for Configured {
    #[inline(always)]
    fn get(&self, index: u32) -> Option<&Instance> {
        Self::get(*self, index)
    }

    #[inline(always)]
    fn find_v4<M: Member, H: Host>(
        &self,
        _host: &H,
        packet: &PacketV4<impl Fn() -> u8>,
    ) -> Option<Found<'_, M>> {
        let protocol = (packet.protocol)();
        self.numbered(find_v4(*self, packet.source, packet.destination, protocol))
    }

    #[inline(always)]
    fn find_v6<M: Member, H: Host>(
        &self,
        _host: &H,
        source: V6,
        destination: V6,
    ) -> Option<Found<'_, M>> {
        self.numbered(find_v6(*self, source, destination))
    }
}

/// The instances, when the one that the packet belongs to has been searched for already: the search
/// is not called from where the stack is full.
pub(crate) struct Chosen<'i> {
    /// The result of [`search`], or [`ONLY`].
    searched: u64,
    /// The [`instance`] of that.
    instance: &'i Instance,
}

impl<'i> Chosen<'i> {
    /// The same as numbers, from the program that has searched: a global function takes nothing else, and pointers to
    /// memory of a known size, which may be null.
    ///
    /// # Safety
    /// `instance` points to an [`Instance`] of the configuration, or is null.
    #[inline(always)]
    pub(crate) unsafe fn new(instance: *const InstanceWords, searched: u64) -> Option<Self> {
        Some(Self {
            searched,
            // SAFETY: as the caller says; see `Configured::get`.
            instance: unsafe { instance.cast::<Instance>().as_ref() }?,
        })
    }
}

impl Chosen<'_> {
    /// The instance, if a packet belongs to it: that was not looked at if it is the only one.
    #[inline(always)]
    fn found<M: Member>(&self, owns: impl Fn(&M) -> bool) -> Option<Found<'_, M>> {
        if self.searched != ONLY {
            return Found::of(self.searched as u32, self.instance);
        }
        Found::of(0, self.instance).filter(|found| owns(found.mechanism))
    }
}

impl Instances for Chosen<'_> {
    #[inline(always)]
    fn get(&self, index: u32) -> Option<&Instance> {
        Configured::now().get(index)
    }

    #[inline(always)]
    fn find_v4<M: Member, H: Host>(
        &self,
        host: &H,
        packet: &PacketV4<impl Fn() -> u8>,
    ) -> Option<Found<'_, M>> {
        self.found(|mechanism: &M| mechanism.owns_v4(host, packet))
    }

    #[inline(always)]
    fn find_v6<M: Member, H: Host>(
        &self,
        host: &H,
        source: V6,
        destination: V6,
    ) -> Option<Found<'_, M>> {
        self.found(|mechanism: &M| mechanism.owns_v6(host, source, destination))
    }

    #[inline(always)]
    fn pools_own<M: Mechanism>(&self, own: &M, destination: V4) -> bool {
        if self.searched == ONLY
            && own
                .pool_of_v6()
                .is_none_or(|pool| !pool.is_near(destination))
        {
            return false;
        }
        pools_own(destination.0.0) != 0
    }
}

/// The instance that a packet between two IPv4 addresses belongs to, each given as it lies in the
/// packet; `active` is [`Configured::number`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn instance_v4(source: u32, destination: u32, protocol: u8, active: u64) -> u64 {
    first(|index| owns_v4(source, destination, protocol, active, index))
}

/// The instance that a packet between two IPv6 addresses belongs to, each given as two numbers.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn instance_v6(
    source_high: u64,
    source_low: u64,
    high: u64,
    low: u64,
    active: u64,
) -> u64 {
    first(|index| {
        // There are five arguments at most. Numbers of instances take eight bits.
        let which = active << 8 | u64::from(index);
        owns_v6(source_high, source_low, high, low, which)
    })
}

/// The number of the first instance that owns something, each of which is asked; [`NOTHING`] if none does.
#[inline(always)]
fn first(owns: impl Fn(u32) -> u64) -> u64 {
    for index in 0..MOST_INSTANCES {
        match owns(index) {
            NO => {}
            YES => return u64::from(index),
            _ => break,
        }
    }
    NOTHING
}

/// A packet does not belong to an instance.
const NO: u64 = 0;
/// A packet belongs to an instance.
const YES: u64 = 1;
/// There is no such instance.
const PAST_THE_LAST: u64 = 2;

/// Whether a packet between two IPv4 addresses belongs to an instance.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn owns_v4(
    source: u32,
    destination: u32,
    protocol: u8,
    active: u64,
    index: u32,
) -> u64 {
    let services = Services::<Established, _, ()>::new(NoRoute);
    let configured = Configured::from_number(active);
    configured.get(index).map_or(PAST_THE_LAST, |instance| {
        let packet = PacketV4 {
            source: V4(Word(source)),
            destination: V4(Word(destination)),
            protocol: || protocol,
        };
        u64::from(instance.mechanism.owns_v4(&services, &packet))
    })
}

/// Whether a packet between two IPv6 addresses belongs to an instance. `which` is
/// [`Configured::number`] shifted by eight bits, and the instance.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn owns_v6(
    source_high: u64,
    source_low: u64,
    high: u64,
    low: u64,
    which: u64,
) -> u64 {
    let services = Services::<Established, _, ()>::new(NoRoute);
    let source = V6::from_halves(source_high, source_low);
    let destination = V6::from_halves(high, low);
    let configured = Configured::from_number(which >> 8);
    configured
        .get(which as u32 & 0xff)
        .map_or(PAST_THE_LAST, |instance| {
            u64::from(instance.mechanism.owns_v6(&services, source, destination))
        })
}

/// Whether an IPv4 address, given as it lies in the packet, is in the pool of an instance; 0: no.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn pools_own(destination: u32) -> u64 {
    let active = Configured::now().number();
    let found = first(|index| pool_owns(destination, active, index));
    u64::from(found != NOTHING)
}

/// The same of one instance.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn pool_owns(destination: u32, active: u64, index: u32) -> u64 {
    let configured = Configured::from_number(active);
    configured.get(index).map_or(PAST_THE_LAST, |instance| {
        let destination = V4(Word(destination));
        u64::from(instances::pool_owns(&instance.mechanism, destination))
    })
}

/// Whether an instance knows the customer that has an IPv4 address, given as it lies in the packet, and a port of a protocol, or
/// no port if `has_port` is 0; 0: no. The customer's words are in [`Kept`](maps::Kept) then.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn receiver(
    address: u32,
    port: u32,
    has_port: u32,
    protocol: u8,
    instance: u32,
) -> u32 {
    let services = Services::<Established, _, ()>::new(NoRoute);
    let configured = Configured::now();
    let destination = Destination {
        address: V4(Word(address)),
        protocol,
        port: if has_port == 0 {
            None
        } else {
            Some(port as u16)
        },
    };
    let found = configured.get(instance).and_then(|found| {
        let receiver = found.mechanism.receiver(&services, &destination)?;
        Some(receiver.words(found.policy.customer_prefix))
    });
    match (found, maps::kept()) {
        (Some(words), Some(kept)) => {
            kept.receiver.set(words);
            1
        }
        _ => 0,
    }
}

/// The destination port of a datagram that an instance remembers, between two IPv4 addresses as they lie in the packet, with its
/// identification in the upper half of `datagram` and its protocol below; [`UNKNOWN`] if it does not.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn datagram_port(
    source: u32,
    destination: u32,
    datagram: u32,
    instance: u32,
) -> u32 {
    let services = Services::<Established, _, ()>::new(NoRoute);
    let ends = (V4(Word(source)), V4(Word(destination)));
    let key = FragmentKey::between(ends, (datagram >> 16) as u16, datagram as u8);
    let found = Configured::now().get(instance);
    found
        .and_then(|found| mechanism::port_of(&services, found.mechanism.datagrams(), &key))
        .map_or(UNKNOWN, u32::from)
}

/// No port.
const UNKNOWN: u32 = 1 << 16;

/// The destination port of the datagram that a later fragment belongs to; see [`datagram_port`].
#[inline(always)]
pub(crate) fn port_of(later: &ipv4::Header, instance: u32) -> Option<u16> {
    let (source, destination) = (later.source().0.0, later.destination().0.0);
    let datagram = u32::from(later.identification()) << 16 | u32::from(later.protocol());
    match datagram_port(source, destination, datagram, instance) {
        UNKNOWN => None,
        port => Some(port as u16),
    }
}

/// The words of the customer that a destination belongs to; see [`receiver`].
#[inline(always)]
pub(crate) fn words_of(to: &Destination, instance: u32) -> Option<[u64; 2]> {
    let (port, has_port) = match to.port {
        Some(port) => (u32::from(port), 1),
        None => (0, 0),
    };
    if receiver(to.address.0.0, port, has_port, to.protocol, instance) == 0 {
        return None;
    }
    Some(maps::kept()?.receiver.get())
}
