//! Two banks of instances: one is in force, the other is free for the next configuration.
//!
//! An [`Instance`] has padding, between fields and behind the fields of a mechanism that is smaller than
//! the largest. Padding is not initialised, so an instance must not be read as words or bytes. It need
//! not be: user space maps the array and moves the value there as an `Instance`, and programs read it as
//! an `Instance`. Such a move does not read padding; what lies there afterwards is unspecified, and nobody
//! looks. Both sides compile the same `repr(C)` types, whose alignment is at most 8 on both.

use core::mem::offset_of;

use bytemuck::{Pod, Zeroable};
use isthmus_core::config::Instance;
use isthmus_core::mechanism::instances::MOST_INSTANCES;

/// The map of the instances of both banks.
pub const INSTANCES: &str = "INSTANCES";
/// The map of one [`Active`].
pub const ACTIVE: &str = "ACTIVE";

/// How many banks there are.
pub const BANKS: u32 = 2;
/// Entries of `INSTANCES`.
pub const ENTRIES: u32 = BANKS * MOST_INSTANCES;

/// The size of an instance in words, for the type of the map: BTF need not know more. The words
/// themselves must not be read.
pub type InstanceWords = [u64; size_of::<Instance>() / 8];

// The kernel places values at multiples of 8 octets.
const _: () = {
    assert!(size_of::<Instance>().is_multiple_of(8));
    assert!(size_of::<InstanceWords>() == size_of::<Instance>());
    assert!(align_of::<Instance>() == 8);
    assert!(offset_of!(Instance, mechanism) == 0);
};

/// Returns the place in `INSTANCES` of an instance of a bank.
#[inline(always)]
#[must_use]
pub const fn place(bank: u32, index: u32) -> u32 {
    bank * MOST_INSTANCES + index
}

/// The bank in force and how many instances it holds: one word, so that both change at once. The bank is
/// the upper half, the number of instances the lowest octet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Active(pub u64);

const _: () = assert!(MOST_INSTANCES <= u8::MAX as u32);

impl Active {
    /// The word of a bank with so many instances.
    #[must_use]
    pub const fn new(bank: u32, count: u8) -> Self {
        Self((bank as u64) << 32 | count as u64)
    }

    /// The bank in force.
    #[inline(always)]
    #[must_use]
    pub const fn bank(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// How many instances it holds.
    #[inline(always)]
    #[must_use]
    pub const fn count(self) -> u8 {
        self.0 as u8
    }
}
