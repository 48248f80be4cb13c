//! The table of the datagrams whose ports a NAT knows by their first fragments.

use crate::datagrams::Datagrams;
use crate::table::{Memory, Seed, Slots};
use crate::time::Span;

use super::bound::Counted;
use super::config::NatConfig;

impl Datagrams for NatConfig {
    #[inline(always)]
    fn table(&self) -> Slots {
        self.layout.fragments
    }

    #[inline(always)]
    fn seed(&self) -> &Seed {
        &self.seed
    }

    #[inline(always)]
    fn lifetime(&self) -> Span {
        self.timers.fragment
    }

    #[inline(always)]
    fn made<M: Memory + ?Sized>(&self, memory: &M) {
        self.layout.bound.count(memory, Counted::Fragments);
    }

    #[inline(always)]
    fn gone<M: Memory + ?Sized>(&self, memory: &M) {
        self.layout.bound.give(memory, Counted::Fragments);
    }

    #[inline(always)]
    fn gave_way<M: Memory + ?Sized>(&self, memory: &M) {
        self.layout.bound.refuse(memory, Counted::Fragments);
    }
}
