//! The [`Host`] that the maps and the kernel make up, for one packet.

use core::cell::Cell;
use core::marker::PhantomData;

use aya_ebpf::helpers::bpf_get_prandom_u32;
use isthmus_abi::counts;
use isthmus_core::address::eam::{EamTable, MappedV4};
use isthmus_core::address::softwire::{B4Key, SoftwireTable};
use isthmus_core::address::{V4, V6};
use isthmus_core::host::{Destination, Effort, Host, Route};
use isthmus_core::reason::Counter;
use isthmus_core::table::Place;
use isthmus_core::time::Instant;
use isthmus_core::verdict::Slow;

use crate::lookup;
use crate::maps::{self, CLOCK, Kept, Rules, State, count_in, offline};
use crate::route::Egress;

/// The answer of the last search for an explicit mapping. The search for the instance asks for the same as the
/// translation. It takes stack, which a program that makes sessions does not have.
pub(crate) trait LastSearch: Default {
    /// The answer, if the search was the same.
    fn recall(&self, _table: u64, _address: V4) -> Option<u64> {
        None
    }

    /// Keeps an answer.
    fn keep(&self, _table: u64, _address: V4, _answer: u64) {}
}

/// Keeps nothing.
impl LastSearch for () {}

/// Keeps the table (0: there was no search; [`lookup::at`] never is), the address and the answer.
#[derive(Default)]
pub(crate) struct Last(Cell<(u64, V4, u64)>);

impl LastSearch for Last {
    #[inline(always)]
    fn recall(&self, table: u64, address: V4) -> Option<u64> {
        let (last_table, last_address, answer) = self.0.get();
        (last_table == table && last_address.0.0 == address.0.0).then_some(answer)
    }

    #[inline(always)]
    fn keep(&self, table: u64, address: V4, answer: u64) {
        self.0.set((table, address, answer));
    }
}

/// The services of a program for one packet. It makes sessions with the effort `S`.
pub(crate) struct Services<S, E, L> {
    /// The route lookup of the packet.
    pub(crate) egress: E,
    row: u32,
    /// The time of the packet, after the first call; 0 before.
    now: Cell<u64>,
    /// The [`Kept`] of this processor, after the first use.
    kept: Cell<Option<&'static Kept>>,
    last: L,
    sessions: PhantomData<S>,
}

impl<S, E, L: LastSearch> Services<S, E, L> {
    #[inline(always)]
    pub(crate) fn new(egress: E) -> Self {
        Self {
            egress,
            row: counts::OF_GATEWAY,
            now: Cell::new(0),
            kept: Cell::new(None),
            last: L::default(),
            sessions: PhantomData,
        }
    }

    /// [`new`](Self::new), with the [`Kept`] at hand, for a program that needs it in any case and passes these services to
    /// functions: the compiler would call another one to clear what is not known yet.
    #[inline(always)]
    pub(crate) fn prepared(egress: E) -> Self {
        let services = Self::new(egress);
        services.kept.set(maps::kept());
        services
    }

    #[inline(always)]
    fn kept(&self) -> Option<&'static Kept> {
        if self.kept.get().is_none() {
            self.kept.set(maps::kept());
        }
        self.kept.get()
    }
}

impl<S, E, L> Services<S, E, L> {
    /// The instance of the packet, as a [search](crate::owner::search) gives it.
    #[inline(always)]
    pub(crate) fn searched(&self) -> u64 {
        match self.row {
            counts::OF_GATEWAY => lookup::NOTHING,
            row => u64::from(row / counts::ROW),
        }
    }
}

impl<S: Effort, E: Egress, L: LastSearch> Host for Services<S, E, L> {
    type Effort = S;
    type State = State;
    type Rules = Rules;

    #[inline(always)]
    fn state(&self) -> &State {
        &State
    }

    #[inline(always)]
    fn rules(&self) -> &Rules {
        &Rules
    }

    #[inline(always)]
    fn find_eam_v4(&self, table: &EamTable, address: V4) -> Option<Place> {
        if !table.may_cover(address) {
            return None;
        }
        let at = lookup::at(table);
        let place = match self.last.recall(at, address) {
            Some(place) => place,
            None => match table.v4_length {
                EamTable::SEVERAL => lookup::eam_v4(at, table.v4_lengths, address.0.0),
                length => lookup::eam_v4_probe(at, address.0.0, length),
            },
        };
        self.last.keep(at, address, place);
        lookup::number(place).map(Place)
    }

    #[inline(always)]
    fn map_eam_v6(&self, table: &EamTable, address: V6) -> Option<MappedV4> {
        if table.lines == 0 {
            return None;
        }
        let [short, long, _] = table.v6_lengths;
        let (high, low) = address.halves();
        lookup::mapped(lookup::eam_v6(lookup::at(table), short, long, high, low))
    }

    #[inline(always)]
    fn find_softwire(&self, table: &SoftwireTable, key: B4Key) -> Option<Place> {
        let found = lookup::softwire(table.base, table.lines, key.0);
        lookup::number(found).map(Place)
    }

    #[inline(always)]
    fn now(&self) -> Instant {
        if offline() {
            // SAFETY: a word that nobody changes while the program runs.
            let now = CLOCK.get_ptr(0).map_or(0, |clock| unsafe { (*clock).now });
            return Instant::from_nanos(now);
        }
        if self.now.get() == 0 {
            self.now.set(self.kept().map_or(0, Kept::now));
        }
        Instant::from_nanos(self.now.get())
    }

    #[inline(always)]
    fn random(&mut self) -> u32 {
        if offline() {
            let Some(clock) = CLOCK.get_ptr_mut(0) else {
                return 0;
            };
            // A linear congruential generator (Knuth's MMIX); its upper half is good enough here.
            // SAFETY: offline there is one packet at a time.
            unsafe {
                (*clock).random = (*clock)
                    .random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                return ((*clock).random >> 32) as u32;
            }
        }
        if S::OPENS {
            // SAFETY: a helper without arguments.
            unsafe { bpf_get_prandom_u32() }
        } else {
            // Identifications are no secrets.
            self.kept().map_or(0, Kept::random)
        }
    }

    #[inline(always)]
    fn has<const MECHANISM: usize>() -> bool {
        maps::takes::<MECHANISM>()
    }

    #[inline(always)]
    fn obscure<const N: usize>(&self, words: [u64; N]) -> [u64; N] {
        let zero = self.kept().map_or(0, Kept::zero);
        words.map(|word| word ^ zero)
    }

    #[inline(always)]
    fn select(&mut self, instance: u32) {
        self.row = counts::of_instance(instance);
    }

    #[inline(always)]
    fn count(&mut self, counter: Counter) {
        count_in(self.row, counter);
    }

    #[inline(always)]
    fn is_local(&self, address: V4) -> bool {
        self.egress.is_local(address)
    }

    #[inline(always)]
    fn route(&mut self, to: Destination) -> Result<Option<Route>, Slow> {
        self.egress.find(to)
    }
}
