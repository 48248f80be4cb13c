//! The services that the machine lends to the core for one packet.

use core::marker::PhantomData;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use chacha20::ChaCha8Rng;
use chacha20::rand_core::Rng;
use isthmus_core::host::{Destination, Effort, Host, Route, Thorough};
use isthmus_core::mechanism::instances::MOST_INSTANCES;
use isthmus_core::reason::Counter;
use isthmus_core::table::Line;
use isthmus_core::time::Instant;
use isthmus_core::verdict::Slow;
use isthmus_image::{Address, Hop, Image};

/// Counters of each instance, and in the last row those of packets that no instance has.
pub type Counts = [[u64; Counter::ALL.len()]; MOST_INSTANCES as usize + 1];
/// The row of packets that no instance has.
pub const NOBODY: usize = MOST_INSTANCES as usize;

/// Where a packet goes next.
#[derive(Clone, Copy)]
pub struct Way {
    /// The number of the card.
    pub card: usize,
    /// The neighbour there.
    pub next: Address,
}

impl Way {
    /// The way over a hop to this destination.
    #[inline]
    pub const fn over(hop: &Hop, destination: Address) -> Self {
        let next = match hop.via {
            Address::NONE => destination,
            via => via,
        };
        Self {
            card: hop.to.card as usize,
            next,
        }
    }
}

/// The hop to a destination; `None` without a route.
#[inline]
pub fn hop(hops: &[Hop], destination: Address) -> Option<&Hop> {
    hops.iter().find(|hop| hop.to.contains(destination))
}

/// The services for one packet, with [as much effort](Host::Effort) as `E` says.
pub struct Services<'a, E = Thorough> {
    pub image: &'a Image<'static>,
    pub state: &'static [Line],
    /// Nanoseconds of a monotonic clock.
    pub now: u64,
    /// They are unpredictable where ports are chosen (RFC 6056).
    pub random: &'a mut ChaCha8Rng,
    pub counts: &'a mut Counts,
    /// The instance of the packet, or [`NOBODY`].
    pub owner: usize,
    /// The hop that the core asked for last.
    pub hop: Option<&'static Hop>,
    pub effort: PhantomData<E>,
}

impl<'a, E> Services<'a, E> {
    /// The same with all effort.
    #[inline(always)]
    pub fn thorough(self) -> Services<'a> {
        Services {
            image: self.image,
            state: self.state,
            now: self.now,
            random: self.random,
            counts: self.counts,
            owner: self.owner,
            hop: self.hop,
            effort: PhantomData,
        }
    }
}

impl<E: Effort> Host for Services<'_, E> {
    type Effort = E;
    type State = [Line];
    type Rules = [Line];

    #[inline(always)]
    fn state(&self) -> &[Line] {
        self.state
    }

    #[inline(always)]
    fn rules(&self) -> &[Line] {
        self.image.rules
    }

    #[inline(always)]
    fn now(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    fn random(&mut self) -> u32 {
        self.random.next_u32()
    }

    #[inline(always)]
    fn select(&mut self, instance: u32) {
        self.owner = instance as usize;
    }

    #[inline(always)]
    fn count(&mut self, counter: Counter) {
        if let Some(row) = self.counts.get_mut(self.owner) {
            row[counter as usize] += 1;
        }
    }

    #[inline(always)]
    fn route(&mut self, to: Destination) -> Result<Option<Route>, Slow> {
        let address: IpAddr = match to {
            Destination::V4 { destination, .. } => Ipv4Addr::from(destination).into(),
            Destination::V6 { destination, .. } => Ipv6Addr::from(destination).into(),
        };
        let hop = hop(self.image.hops, address.into()).ok_or(Slow::Route)?;
        self.hop = Some(hop);
        let mtu = hop.to.mtu as u16;
        Ok(Some(Route { mtu }))
    }
}
