//! Lists of networks, as the packet path searches them.

use super::family::Address;
use super::{V4, V6};

/// A network: an address and a mask, both as they lie in a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Network<A> {
    address: A,
    mask: A,
}

impl<A: Address> Network<A> {
    /// A network that no address lies in: of an address without any of its bits, the first one would have to be set.
    fn nothing() -> Self {
        Self {
            address: A::mask(1),
            mask: A::mask(0),
        }
    }

    /// The network of `length` bits (up to 32 or 128) that `address` lies in.
    #[must_use]
    pub fn new(address: A, length: u8) -> Self {
        let mask = A::mask(length);
        Self {
            address: address.and(mask),
            mask,
        }
    }

    /// Whether an address lies in it.
    #[inline(always)]
    #[must_use]
    pub fn contains(&self, address: A) -> bool {
        self.differs(address) == 0
    }

    /// The bits by which an address does not lie in it.
    #[inline(always)]
    pub(crate) fn differs(&self, address: A) -> u32 {
        address.differs(&self.mask, &self.address)
    }
}

/// An IPv4 network.
pub type V4Network = Network<V4>;
/// An IPv6 network.
pub type V6Network = Network<V6>;

/// A few networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Networks<A, const MOST: usize> {
    networks: [Network<A>; MOST],
    /// 1 for the last place that is taken, or for the first if none is.
    is_last: [u8; MOST],
    count: u32,
}

/// A few IPv4 networks.
pub type V4Networks = Networks<V4, 16>;
/// A few IPv6 networks.
pub type V6Networks = Networks<V6, 8>;

impl<A: Address, const MOST: usize> Default for Networks<A, MOST> {
    fn default() -> Self {
        let mut is_last = [0; MOST];
        is_last[0] = 1;
        Self {
            networks: [Network::nothing(); MOST],
            is_last,
            count: 0,
        }
    }
}

impl<A: Address, const MOST: usize> Networks<A, MOST> {
    /// The most networks that fit.
    pub const MOST: usize = MOST;

    /// Adds a network. Returns it if there is no room.
    ///
    /// # Errors
    /// There are [`MOST`](Self::MOST) networks already.
    pub fn push(&mut self, network: Network<A>) -> Result<(), Network<A>> {
        let slot = self.networks.get_mut(self.count as usize).ok_or(network)?;
        *slot = network;
        self.is_last = [0; MOST];
        self.is_last[self.count as usize] = 1;
        self.count += 1;
        Ok(())
    }

    /// Whether a packet leaves them: from an address in one of them to one in none.
    #[inline(always)]
    #[must_use]
    pub fn are_left(&self, source: A, destination: A) -> bool {
        self.contains(source) && !self.contains(destination)
    }

    /// Whether an address lies in one of them. The last one says that it is: to the kernel's verifier, a flag in memory is one way
    /// to the next place and one out, and a count another way for each of its values.
    #[inline(always)]
    #[must_use]
    pub fn contains(&self, address: A) -> bool {
        for (network, &is_last) in self.networks.iter().zip(&self.is_last) {
            if network.contains(address) {
                return true;
            }
            if is_last != 0 {
                break;
            }
        }
        false
    }
}

impl V6Networks {
    /// Whether an address lies in one of them, or there are none to lie in.
    #[inline(always)]
    #[must_use]
    pub fn admit(&self, address: V6) -> bool {
        let (high, low) = address.halves();
        self.admit_halves(high, low)
    }

    /// A function of its own, of numbers: it is called where a BPF program has no stack left.
    #[inline(never)]
    fn admit_halves(&self, high: u64, low: u64) -> bool {
        self.count == 0 || self.contains(V6::from_halves(high, low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No address lies in a place that is free, and the last place of a full list ends the search.
    #[test]
    fn addresses_lie_in_the_networks_of_a_list_of_any_length() {
        let address = |number: usize| V4::from_number((number as u32) << 24 | 7);
        for count in 0..=V4Networks::MOST {
            let mut list = V4Networks::default();
            for number in 1..=count {
                list.push(Network::new(address(number), 8)).unwrap();
            }
            for number in 0..=V4Networks::MOST + 1 {
                let lies = (1..=count).contains(&number);
                assert_eq!(list.contains(address(number)), lies, "{number} of {count}");
            }
        }
        let mut all = V6Networks::default();
        assert!(!all.contains(V6::from_halves(0, 0)));
        all.push(Network::new(V6::from_halves(1, 1), 128)).unwrap();
        assert!(!all.contains(V6::from_halves(0, 0)));
        all.push(Network::new(V6::from_halves(0, 0), 0)).unwrap();
        assert!(all.contains(V6::from_halves(0, 0)) && all.contains(V6::from_halves(2, 3)));
    }
}
