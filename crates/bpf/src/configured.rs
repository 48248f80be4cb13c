//! The configuration in force.

use isthmus_core::config::Instance;
use isthmus_core::mechanism::instances::MOST_INSTANCES;

use crate::maps::{ACTIVE, Active, INSTANCES};

/// The instances that were in force when the packet came.
#[derive(Clone, Copy)]
pub(crate) struct Configured {
    active: Active,
}

impl Configured {
    /// The configuration in force.
    #[inline(always)]
    pub(crate) fn now() -> Self {
        // SAFETY: an aligned word that the daemon writes at once.
        let active = ACTIVE
            .get_ptr(0)
            .map_or(0, |active| unsafe { active.read_volatile() });
        Self { active }
    }

    /// The instance with this number; `None` past the last.
    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> Option<&Instance> {
        if index >= u32::from(self.active as u8) {
            return None;
        }
        let bank = (self.active >> 32) as u32;
        let words = INSTANCES.get_ptr(bank * MOST_INSTANCES + index)?;
        // SAFETY: the daemon writes valid instances into a bank before it puts it in force, and
        // changes none before every program that may have seen it has ended.
        Some(unsafe { &*words.cast::<Instance>() })
    }

    /// The instance of a gateway that has one, as most have.
    #[inline(always)]
    pub(crate) fn only(&self) -> Option<&Instance> {
        if self.active as u8 == 1 {
            self.get(0)
        } else {
            None
        }
    }

    /// The same as a number, for a search.
    #[inline(always)]
    pub(crate) fn number(self) -> u64 {
        self.active
    }

    /// What [`number`](Self::number) gave.
    #[inline(always)]
    pub(crate) fn from_number(active: u64) -> Self {
        Self { active }
    }
}
