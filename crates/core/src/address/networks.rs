//! Lists of networks, as the packet path searches them.

use super::{V4, V6};
use crate::word::Word;

/// A few IPv4 networks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct V4Networks {
    networks: [V4Network; Self::MOST],
    count: u32,
}

/// An IPv4 network: an address and a mask, both as they lie in a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct V4Network {
    address: V4,
    mask: V4,
}

impl V4Network {
    /// The network of `length` bits (0..=32) that `address` lies in.
    #[must_use]
    pub const fn new(address: V4, length: u8) -> Self {
        let mask = if length == 0 {
            0
        } else {
            u32::MAX << (32 - length as u32)
        };
        Self {
            address: V4::from_number(address.number() & mask),
            mask: V4::from_number(mask),
        }
    }

    /// Whether an address lies in it.
    #[inline(always)]
    #[must_use]
    pub const fn contains(&self, address: V4) -> bool {
        self.differs(address) == 0
    }

    /// The bits by which an address does not lie in it.
    #[inline(always)]
    pub(crate) const fn differs(&self, address: V4) -> u32 {
        address.0.0 & self.mask.0.0 ^ self.address.0.0
    }
}

impl V4Networks {
    /// The most networks that fit.
    pub const MOST: usize = 16;

    /// Adds a network. Returns it if there is no room.
    ///
    /// # Errors
    /// There are [`MOST`](Self::MOST) networks already.
    pub fn push(&mut self, network: V4Network) -> Result<(), V4Network> {
        let slot = self.networks.get_mut(self.count as usize).ok_or(network)?;
        *slot = network;
        self.count += 1;
        Ok(())
    }

    /// Whether a packet leaves them: from an address in one of them to one in none.
    #[inline(always)]
    #[must_use]
    pub fn are_left(&self, source: V4, destination: V4) -> bool {
        self.contains(source) && !self.contains(destination)
    }

    /// Whether an address lies in one of them.
    #[inline(always)]
    #[must_use]
    pub fn contains(&self, address: V4) -> bool {
        for (index, network) in self.networks.iter().enumerate() {
            if index as u32 >= self.count {
                return false;
            }
            if network.contains(address) {
                return true;
            }
        }
        false
    }
}

/// A few IPv6 networks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct V6Networks {
    networks: [V6Network; Self::MOST],
    count: u32,
}

/// An IPv6 network: an address and a mask, both as they lie in a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct V6Network {
    address: V6,
    mask: V6,
}

impl V6Network {
    /// The network of `length` bits (0..=128) that `address` lies in.
    #[must_use]
    pub const fn new(address: V6, length: u8) -> Self {
        let ones = if length == 0 {
            0
        } else {
            u128::MAX << (128 - length as u32)
        };
        let mask = V6::from_halves((ones >> 64) as u64, ones as u64);
        Self {
            address: V6([
                Word(address.0[0].0 & mask.0[0].0),
                Word(address.0[1].0 & mask.0[1].0),
                Word(address.0[2].0 & mask.0[2].0),
                Word(address.0[3].0 & mask.0[3].0),
            ]),
            mask,
        }
    }

    /// Whether an address lies in it. Without branches: a BPF verifier follows each.
    #[inline(always)]
    #[must_use]
    pub const fn contains(&self, address: V6) -> bool {
        let (a, m, n) = (&address.0, &self.mask.0, &self.address.0);
        let differs = (a[0].0 & m[0].0 ^ n[0].0)
            | (a[1].0 & m[1].0 ^ n[1].0)
            | (a[2].0 & m[2].0 ^ n[2].0)
            | (a[3].0 & m[3].0 ^ n[3].0);
        differs == 0
    }
}

impl V6Networks {
    /// The most networks that fit.
    pub const MOST: usize = 8;

    /// Adds a network. Returns it if there is no room.
    ///
    /// # Errors
    /// There are [`MOST`](Self::MOST) networks already.
    pub fn push(&mut self, network: V6Network) -> Result<(), V6Network> {
        let slot = self.networks.get_mut(self.count as usize).ok_or(network)?;
        *slot = network;
        self.count += 1;
        Ok(())
    }

    /// Whether an address lies in one of them.
    #[inline(always)]
    #[must_use]
    pub fn contains(&self, address: V6) -> bool {
        for (index, network) in self.networks.iter().enumerate() {
            if index as u32 >= self.count {
                return false;
            }
            if network.contains(address) {
                return true;
            }
        }
        false
    }
}
