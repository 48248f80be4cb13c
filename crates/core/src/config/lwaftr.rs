//! The lwAFTR of lw4o6 (RFC 7596), as the packet path sees it.

use crate::address::V6;
use crate::address::softwire::SharedNetworks;

/// An lwAFTR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct LwAftr {
    /// The addresses of this end of softwires.
    pub borders: Borders,
    /// The IPv4 addresses that customers have, and how their ports are divided.
    pub shared: SharedNetworks,
    /// Who has which of them.
    pub softwires: SoftwireTable,
    /// What is forwarded and answered beyond what has to be.
    pub policy: LwAftrPolicy,
}

/// What RFC 7596 leaves to the operator of an lwAFTR (sections 6.2 and 8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct LwAftrPolicy {
    /// Whether packets go from one softwire to another.
    pub hairpin: Permission,
    /// Whether ICMPv4 messages go into softwires.
    pub incoming_icmp: Permission,
    /// What becomes of a packet from IPv4 that no softwire is there for.
    pub unbound_v4: Unbound,
    /// What becomes of a packet that somebody sends who has no softwire with its source.
    pub unbound_v6: Unbound,
}

/// Whether something may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Permission {
    /// It may.
    Allow,
    /// It is dropped.
    Drop,
}

/// What becomes of a packet that nobody is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Unbound {
    /// Its sender is told.
    Answer,
    /// Nothing.
    Drop,
}

/// Where the softwires lie in the rules memory; see [`crate::address::softwire`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SoftwireTable {
    /// First line.
    pub base: u32,
    /// Lines for finding blocks of customers, a power of two; 0 if there are no softwires.
    pub lines: u32,
}

/// A few addresses of this end of softwires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Borders {
    addresses: [V6; Self::MOST],
    count: u32,
}

impl Borders {
    /// The most addresses that fit.
    pub const MOST: usize = 8;

    /// Adds an address, if it is not there yet, and gives its number; `None` if there is no room.
    pub fn push(&mut self, address: V6) -> Option<u8> {
        let there = self.iter().position(|other| other == address);
        let number = there.unwrap_or(self.count as usize);
        *self.addresses.get_mut(number)? = address;
        self.count = self.count.max(number as u32 + 1);
        u8::try_from(number).ok()
    }

    /// The addresses in their order.
    pub fn iter(&self) -> impl Iterator<Item = V6> {
        self.addresses.iter().copied().take(self.count as usize)
    }

    /// The address with this number.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, number: u8) -> V6 {
        // The remainder is for the verifier of BPF, which does not know that numbers are below it.
        self.addresses[usize::from(number) % Self::MOST]
    }

    /// Whether an address is one of them.
    #[inline(always)]
    #[must_use]
    pub fn contains(&self, address: V6) -> bool {
        for (index, border) in self.addresses.iter().enumerate() {
            if index as u32 >= self.count {
                return false;
            }
            if border.is(address) {
                return true;
            }
        }
        false
    }
}
