//! The services that user space lends to the core for one packet.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::Rng;
use isthmus_core::address::V4;
use isthmus_core::host::{Destination, Host, Route, Thorough};
use isthmus_core::reason::Counter;
use isthmus_core::time::Instant;
use isthmus_core::verdict::Slow;

use crate::counters::{Counters, Owner};
use crate::memory::Region;
use crate::ruleset::Ruleset;

/// The services of the user-space engine.
#[derive(Debug)]
pub struct UserHost<'a> {
    /// The configuration for this packet.
    pub ruleset: &'a Ruleset,
    /// Bindings, sessions and fragments.
    pub state: &'a Region,
    /// The time of the packet: nanoseconds of a monotonic clock.
    pub now: u64,
    /// Source of random numbers. They are unpredictable where ports are chosen (RFC 6056), yet a seed repeats
    /// them with every version of the library.
    pub random: &'a mut ChaCha8Rng,
    /// Counters of this thread.
    pub counters: &'a Counters,
    /// The owner of the packet.
    pub owner: Owner,
}

impl Host for UserHost<'_> {
    type Effort = Thorough;
    type State = Region;
    type Rules = Region;

    #[inline(always)]
    fn state(&self) -> &Region {
        self.state
    }

    #[inline(always)]
    fn rules(&self) -> &Region {
        self.ruleset.tables()
    }

    #[inline(always)]
    fn now(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    #[inline(always)]
    fn random(&mut self) -> u32 {
        self.random.next_u32()
    }

    #[inline(always)]
    fn select(&mut self, instance: u32) {
        self.owner = Owner::Instance(instance);
    }

    #[inline(always)]
    fn count(&mut self, counter: Counter) {
        self.counters.add(self.owner, counter, 1);
    }

    #[inline]
    fn is_local(&self, address: V4) -> bool {
        self.ruleset.is_local(address)
    }

    /// The next hop is unknown here. The kernel routes the packets that leave the TUN device. If its next link
    /// has a smaller MTU than configured, it sends the ICMP error itself, which is translated on its way back.
    #[inline(always)]
    fn route(&mut self, _: Destination) -> Result<Option<Route>, Slow> {
        Ok(None)
    }
}
