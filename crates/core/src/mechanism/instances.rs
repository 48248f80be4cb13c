//! The instances of a configuration, and the search for the one that a packet belongs to.

use super::{AnyMechanism, Instance, Mechanism, Member, PacketV4};
use crate::address::{V4, V6};
use crate::host::Host;
use crate::policy::Policy;

/// The most instances that one gateway has.
pub const MOST_INSTANCES: u32 = 16;

/// The instance that a packet belongs to.
#[derive(Debug)]
pub struct Found<'i, M> {
    /// Its number.
    pub index: u32,
    /// Its mechanism.
    pub mechanism: &'i M,
    /// How it treats headers.
    pub policy: &'i Policy,
}

impl<'i, M: Member> Found<'i, M> {
    /// An instance with this number; `None` if its mechanism is of another kind.
    #[inline(always)]
    #[must_use]
    pub fn of(index: u32, instance: &'i Instance) -> Option<Self> {
        Some(Self {
            index,
            mechanism: M::of(&instance.mechanism)?,
            policy: &instance.policy,
        })
    }
}

/// The instances of a configuration, as an engine keeps them.
pub trait Instances {
    /// The instance with this number; `None` past the last.
    fn get(&self, index: u32) -> Option<&Instance>;

    /// The first instance of a kind that an IPv4 packet belongs to. An engine may call the
    /// search in its own way, but has no other search.
    fn find_v4<M: Member, H: Host>(
        &self,
        host: &H,
        packet: &PacketV4<impl Fn() -> u8>,
    ) -> Option<Found<'_, M>> {
        first(self, |any| {
            M::of(any).filter(|one| one.owns_v4(host, packet))
        })
    }

    /// The first instance of a kind that a packet between two IPv6 addresses belongs to.
    fn find_v6<M: Member, H: Host>(
        &self,
        host: &H,
        source: V6,
        destination: V6,
    ) -> Option<Found<'_, M>> {
        first(self, |any| {
            M::of(any).filter(|one| one.owns_v6(host, source, destination))
        })
    }

    /// Whether an IPv4 address is in the pool of one of the instances, of which `own` is one (RFC 6146
    /// section 3.8).
    fn pools_own<M: Mechanism>(&self, _own: &M, destination: V4) -> bool {
        first(self, |any| pool_owns(any, destination).then_some(any)).is_some()
    }
}

/// No instance but the one that asks: for a part of an engine that takes packets from one host of an instance to another.
#[derive(Debug)]
pub struct Own;

impl Instances for Own {
    fn get(&self, _index: u32) -> Option<&Instance> {
        None
    }

    #[inline(always)]
    fn pools_own<M: Mechanism>(&self, own: &M, destination: V4) -> bool {
        own.pool_of_v6()
            .is_some_and(|pool| pool.contains(destination))
    }
}

/// Whether an IPv4 address is in the pool of a mechanism (RFC 6146 section 3.8).
#[inline(always)]
#[must_use]
pub fn pool_owns(mechanism: &AnyMechanism, destination: V4) -> bool {
    let pool = mechanism.pool_of_v6();
    pool.is_some_and(|pool| pool.contains(destination))
}

#[inline(always)]
fn first<'i, M, I: Instances + ?Sized>(
    instances: &'i I,
    owner: impl Fn(&'i AnyMechanism) -> Option<&'i M>,
) -> Option<Found<'i, M>> {
    for index in 0..MOST_INSTANCES {
        let instance = instances.get(index)?;
        if let Some(mechanism) = owner(&instance.mechanism) {
            return Some(Found {
                index,
                mechanism,
                policy: &instance.policy,
            });
        }
    }
    None
}

impl Instances for [Instance] {
    #[inline(always)]
    fn get(&self, index: u32) -> Option<&Instance> {
        <[Instance]>::get(self, index as usize)
    }
}
