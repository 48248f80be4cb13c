//! The configuration in force.

use isthmus_abi::banks::{self, Active};
use isthmus_core::config::Instance;

use crate::maps::{ACTIVE, INSTANCES};

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
            .map_or(Active(0), |active| unsafe { active.read_volatile() });
        Self { active }
    }

    /// The instance with this number; `None` past the last.
    #[inline(always)]
    pub(crate) fn get(self, index: u32) -> Option<&'static Instance> {
        if index >= u32::from(self.active.count()) {
            return None;
        }
        let words = INSTANCES.get_ptr(banks::place(self.active.bank(), index))?;
        // SAFETY: the daemon writes valid instances into a bank before it puts it in force, and
        // changes none before every program that may have seen it has ended. The words are read as
        // an instance only: nobody looks at padding.
        Some(unsafe { &*words.cast::<Instance>() })
    }

    /// Whether the gateway has one instance, as most have.
    #[inline(always)]
    pub(crate) fn has_one(self) -> bool {
        self.active.count() == 1
    }

    /// The same as a number, for a search.
    #[inline(always)]
    pub(crate) fn number(self) -> u64 {
        self.active.0
    }

    /// The configuration with this [`number`](Self::number).
    #[inline(always)]
    pub(crate) fn from_number(active: u64) -> Self {
        Self {
            active: Active(active),
        }
    }
}
